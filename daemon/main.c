/*
 * ballastd: serves packed steps to trainer ranks until it is told to stop (ballastd(8)).
 *
 * In order: options, configuration, the addresses' locks, the shards, then the server. What fails
 * ends the program with one line on standard error and a sysexits status.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "observe/log.h"
#include "serve/notify.h"
#include "serve/server.h"
#include "serve/signals.h"
#include "state/accept.h"
#include "state/job_corpus.h"

#define OTHER_DESCRIPTORS 128    /* besides those of clients: shards, sockets, ZeroMQ's own */
#define PROGRESS_S 1             /* between two lines while shards are checked */
#define MOST_TOLD 20             /* shards that are bad, a line each */
#define START_ALLOWANCE_MS 60000 /* the service manager waits this long for the next such line */

struct options {
    const char *config;
    struct config_override *overrides; /* their keys are ours to free */
    size_t override_count, override_capacity;
    bool check_config, version, help;
    bool accept;          /* a change of the corpus, ... */
    uint64_t accept_step; /* ... up to this step */
};

static const char usage_text[] =
    "Usage: ballastd --config FILE [--set KEY=VALUE]... [--check-config]\n"
    "                [--accept-corpus-change[=STEP]]\n"
    "Serves packed training steps to trainer ranks over ZeroMQ.\n"
    "\n"
    "  --config FILE     the job's configuration (YAML)\n"
    "  --set KEY=VALUE   override one key, as in --set serve.steps_ahead=16; may be repeated\n"
    "  --check-config    print the effective configuration, or what is wrong with it, and exit\n"
    "  --accept-corpus-change[=STEP]\n"
    "                    go on with the job although its shards have changed, from the last\n"
    "                    snapshot (up to STEP) on; changed sources begin anew\n"
    "  --version         print the version and exit\n"
    "  --help            print this text and exit\n"
    "\n"
    "SIGTERM or SIGINT: answer what is under way, then exit with status 0.\n"
    "SIGHUP: read access.clients again.\n"
    "Exit status: 0 success, 64 usage, 65 bad data, 66 no such input, 69 address in use,\n"
    "70 internal error, 71 system, 74 I/O, 78 configuration. See ballastd(8).\n";

/* ---- options ---- */

static void options_fini(struct options *options)
{
    for (size_t i = 0; i < options->override_count; i++)
        free((char *)(size_t)options->overrides[i].key);
    free(options->overrides);
}

static int add_override(struct options *options, const char *argument, struct error *err)
{
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument)
        return error_set(err, EX_USAGE, "--set %s: expected KEY=VALUE", argument);
    if (!grow(options->overrides, &options->override_capacity, options->override_count + 1))
        return error_memory(err, "reading the options");
    char *key = strdup(argument);
    if (!key)
        return error_memory(err, "reading the options");
    key[equals - argument] = '\0';
    options->overrides[options->override_count++] =
        (struct config_override){ .key = key, .value = key + (equals - argument) + 1 };
    return 0;
}

static int take_accept(struct options *options, const char *text, struct error *err)
{
    char *end = NULL;
    options->accept = true;
    options->accept_step = ACCEPT_NEWEST;
    if (!text)
        return 0;
    errno = 0;
    options->accept_step = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return error_set(err, EX_USAGE,
                         "--accept-corpus-change=%s: expected a step, a whole number", text);
    return 0;
}

static int take_option(struct options *options, int option, struct error *err)
{
    switch (option) {
    case 'c':
        options->config = optarg;
        return 0;
    case 's':
        return add_override(options, optarg, err);
    case 'a':
        return take_accept(options, optarg, err);
    case 'k':
        options->check_config = true;
        return 0;
    case 'v':
        options->version = true;
        return 0;
    case 'h':
        options->help = true;
        return 0;
    default:
        return EX_USAGE;
    }
}

static int unknown_option(int option, char **argv, struct error *err)
{
    if (option == ':')
        return error_set(err, EX_USAGE, "%s needs a value", argv[optind - 1]);
    return error_set(err, EX_USAGE, "unknown option %s", argv[optind - 1]);
}

static int options_parse(int argc, char **argv, struct options *options, struct error *err)
{
    static const struct option known[] = {
        { "config", required_argument, NULL, 'c' },
        { "set", required_argument, NULL, 's' },
        { "accept-corpus-change", optional_argument, NULL, 'a' },
        { "check-config", no_argument, NULL, 'k' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;
    while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
        if (option == '?' || option == ':')
            return unknown_option(option, argv, err);
        int failed = take_option(options, option, err);
        if (failed)
            return failed;
    }
    if (optind < argc)
        return error_set(err, EX_USAGE, "unexpected argument %s", argv[optind]);
    if (!options->config && !options->version && !options->help)
        return error_set(err, EX_USAGE, "--config FILE is missing");
    return 0;
}

/* ---- surroundings ---- */

/* A closed standard stream's number would go to the next file opened: a shard or a socket. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDWR);
}

/* Every client takes a descriptor, and so does every shard. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Without descriptors no more clients are let in, and ZeroMQ's thread is busy trying. */
static void check_descriptor_limit(const struct config *config, struct log *log)
{
    struct rlimit limit;
    uint64_t needed = (uint64_t)config->serve.max_clients + OTHER_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    log_write(log, LOG_LEVEL_WARNING,
              "too few descriptors for serve.max_clients: raise the limit (ulimit -Hn, "
              "LimitNOFILE), or lower serve.max_clients",
              (struct log_field[]){ log_uint("limit", limit.rlim_cur), log_uint("needed", needed),
                                    log_end() });
}

static void tell_progress(void *context, const char *path, uint64_t done, uint64_t total)
{
    static time_t told;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (told && now.tv_sec - told < PROGRESS_S)
        return;
    told = now.tv_sec;
    char status[160];
    snprintf(status, sizeof status, "checking shards: %llu of %llu MiB of index",
             (unsigned long long)(done >> 20), (unsigned long long)(total >> 20));
    notify_starting(status, START_ALLOWANCE_MS);
    log_write(context, LOG_LEVEL_INFO, "checking shards",
              (struct log_field[]){ log_text("shard", path), log_uint("done_bytes", done),
                                    log_uint("total_bytes", total), log_end() });
}

/* ---- the two things it does ---- */

static int print_config(const struct config *config, struct error *err)
{
    char *text;
    int failed = config_print(config, &text, err);
    if (failed)
        return failed;
    bool written = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    free(text);
    return written
               ? 0
               : error_set(err, EX_IOERR, "cannot write the configuration: %s", strerror(errno));
}

/* As far as a person reads on. */
static void tell_each(const struct source *source, const struct shard_fault *shards, size_t count,
                      const char *message, size_t *told, struct log *log)
{
    for (size_t i = 0; i < count && *told < MOST_TOLD; i++, ++*told)
        log_write(log, LOG_LEVEL_WARNING, message,
                  (struct log_field[]){ log_text("source", source->name),
                                        log_text("shard", shards[i].path),
                                        log_text("reason", shards[i].reason), log_end() });
}

static void tell_bad_shards(const struct corpus *corpus, struct log *log)
{
    size_t told = 0;
    for (size_t i = 0; i < corpus->source_count; i++) {
        const struct source *source = &corpus->sources[i];
        tell_each(source, source->unread, source->unread_count,
                  "shard known by its index alone: a ledger drops it, and its tokens are bad",
                  &told, log);
        tell_each(source, source->left_out, source->left_out_count,
                  "shard left out (on_bad_shard: skip)", &told, log);
        if (source->left_out_count)
            log_write(log, LOG_LEVEL_WARNING, "a source goes on without some of its shards",
                      (struct log_field[]){ log_text("source", source->name),
                                            log_uint("left_out", source->left_out_count),
                                            log_uint("shards", source->shard_count), log_end() });
    }
}

/* The state directory need not be there yet; the server makes it. */
static int open_corpus(const struct config *config, struct log *log, struct corpus **ret_corpus,
                       struct error *err)
{
    struct state_directory directory = STATE_DIRECTORY_CLOSED(config->state.directory);
    int failed = directory.path ? state_directory_open_existing(&directory, err) : 0;
    if (!failed || failed == EX_NOINPUT)
        failed = job_corpus_open(config, &directory, tell_progress, log, ret_corpus, err);
    state_directory_close(&directory);
    return failed;
}

static int serve_corpus(const struct config *config, struct server *server, struct log *log,
                        struct error *err)
{
    struct corpus *corpus;
    int failed = open_corpus(config, log, &corpus, err);
    if (failed)
        return failed;
    log_write(log, LOG_LEVEL_INFO, "corpus open",
              (struct log_field[]){ log_uint("sources", corpus->source_count),
                                    log_uint("documents", corpus->documents),
                                    log_uint("tokens", corpus->tokens), log_end() });
    tell_bad_shards(corpus, log);
    failed = server_run(server, corpus, err);
    corpus_close(corpus);
    return failed;
}

/* Trainers must be able to rely on what is served: on its coming in time, and coming again. */
static int refuse_studies(const struct config *config, struct error *err)
{
    const struct pack_policy *policy = pack_policy_find(config->packing.policy);
    if (!policy || !policy->study_only)
        return 0;
    return error_set(err, EX_CONFIG,
                     "packing.policy: '%s' is for studies and is not served, because %s: plan with "
                     "it by ballastctl, serve another one",
                     policy->name, policy->study_only);
}

/* *ret_logged: what goes wrong from now on is in the log. */
static int serve(const struct options *given, const struct config *config, bool *ret_logged,
                 struct error *err)
{
    struct log_options options = { .fd = STDERR_FILENO,
                                   .json = config->observe.log == LOG_JSON,
                                   .level = LOG_LEVEL_INFO };
    struct log *log;
    int failed = log_new(&options, &log, err);
    if (failed)
        return failed;
    *ret_logged = true;
    log_write(log, LOG_LEVEL_INFO, "ballastd " BALLAST_VERSION " starting",
              (struct log_field[]){ log_text("job", config->job), log_end() });
    check_descriptor_limit(config, log);
    struct server *server = NULL;
    failed = server_new(config, log, &server, err);
    if (!failed && given->accept && !config->state.directory)
        failed = error_set(err, EX_USAGE,
                           "--accept-corpus-change goes on from a snapshot: set state.directory");
    if (!failed && given->accept)
        server_accept_corpus_change(server, given->accept_step);
    if (!failed)
        failed = serve_corpus(config, server, log, err);
    server_free(server);
    if (failed)
        log_write(log, LOG_LEVEL_ERROR, err->text, NULL);
    else
        log_write(log, LOG_LEVEL_INFO, "drained", NULL);
    log_free(log);
    return failed;
}

static int run(const struct options *options, bool *ret_logged, struct error *err)
{
    if (options->help || options->version) {
        fputs(options->help ? usage_text : "ballastd " BALLAST_VERSION "\n", stdout);
        return 0;
    }
    struct config *config;
    int failed =
        config_load(options->config, options->overrides, options->override_count, &config, err);
    if (failed)
        return failed;
    if (options->check_config) {
        failed = print_config(config, err);
    } else {
        failed = refuse_studies(config, err);
        if (!failed)
            failed = serve(options, config, ret_logged, err);
    }
    config_free(config);
    return failed;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signals_ignore();
    signals_exit_at_once(1);
    raise_descriptor_limit();
    struct options options = { 0 };
    struct error err = { 0 };
    bool logged = false;
    int status = options_parse(argc, argv, &options, &err);
    if (!status)
        status = run(&options, &logged, &err);
    if (status && !logged)
        fprintf(stderr, "ballastd: %s\n", err.text);
    if (status == EX_USAGE)
        fputs("Try 'ballastd --help'.\n", stderr);
    options_fini(&options);
    return status;
}
