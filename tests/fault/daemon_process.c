#include "fault/daemon_process.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/shards.h"

static void fail(const char *what)
{
    perror(what);
    abort();
}

static uint16_t free_port(void)
{
    int probe = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;
    if (probe < 0 || bind(probe, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(probe, (struct sockaddr *)&address, &bytes) != 0)
        fail("finding a free port");
    close(probe);
    return ntohs(address.sin_port);
}

static void write_shard(const struct daemon_process *daemon)
{
    int32_t lengths[DAEMON_DOCUMENTS];
    char prefix[TEMP_PATH_BYTES];
    for (int i = 0; i < DAEMON_DOCUMENTS; i++)
        lengths[i] = 1 + i * 7919 % DAEMON_MOST_TOKENS;
    write_megatron(temp_path(&daemon->dir, "shard", prefix), MEGATRON_U16, lengths,
                   DAEMON_DOCUMENTS);
}

void daemon_prepare(struct daemon_process *daemon, const char *yaml)
{
    *daemon = (struct daemon_process){ .dir = temp_dir_make(), .port = free_port() };
    snprintf(daemon->endpoint, sizeof daemon->endpoint, "tcp://127.0.0.1:%u", daemon->port);
    temp_path(&daemon->dir, "job.yaml", daemon->config);
    write_shard(daemon);
    FILE *file = fopen(daemon->config, "w");
    if (!file)
        fail(daemon->config);
    fprintf(file,
            "job: fault\nseed: 5\n"
            "sources: [{ name: a, format: megatron, paths: [\"%s/shard.idx\"], weight: 1 }]\n"
            "vocab_size: %d\nparallel: { dp: 2, cp: %d, microbatches: %d }\ncontext_window: 512\n"
            "cost: { crossover_tokens: 1024 }\n%s\n"
            "serve: { endpoint: \"%s\", admin: \"ipc://%s/admin\", steps_ahead: 4 }\n",
            daemon->dir.path, DAEMON_VOCABULARY, DAEMON_CP, DAEMON_MICROBATCHES / 2, yaml,
            daemon->endpoint, daemon->dir.path);
    if (fclose(file) != 0)
        fail(daemon->config);
}

/* A test that fails leaves its daemon behind: the kernel then ends it. */
static void become_daemon(const char *config)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(BALLASTD_PROGRAM, BALLASTD_PROGRAM, "--config", config, (char *)NULL);
    _exit(127);
}

pid_t daemon_spawn(const struct daemon_process *daemon)
{
    pid_t pid = fork();
    if (pid < 0)
        fail("starting ballastd");
    if (pid == 0)
        become_daemon(daemon->config);
    return pid;
}

void daemon_start(struct daemon_process *daemon, const char *yaml)
{
    daemon_prepare(daemon, yaml);
    daemon->pid = daemon_spawn(daemon);
}

int process_wait(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        fail("waiting for ballastd");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int daemon_end(struct daemon_process *daemon, int signal)
{
    if (kill(daemon->pid, signal) != 0)
        fail("signalling ballastd");
    int status = process_wait(daemon->pid);
    daemon->pid = 0;
    return status;
}

int daemon_close(struct daemon_process *daemon)
{
    int status = daemon->pid ? daemon_end(daemon, SIGTERM) : 0;
    temp_dir_remove(&daemon->dir);
    return status;
}

size_t process_resident_kib(pid_t pid)
{
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    fclose(file);
    return kib;
}
