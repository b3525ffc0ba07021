/*
 * A real ballastd over a small corpus, in a process of its own. Helpers abort with a message when
 * the system fails them; what the daemon does is for the test to judge.
 */
#ifndef BALLAST_TESTS_DAEMON_PROCESS_H
#define BALLAST_TESTS_DAEMON_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/temp_dir.h"

/* The job: dp 2, cp 2, 2 micro-batches a replica, S 512, over one shard of 400 documents. */
#define DAEMON_MICROBATCHES 4
#define DAEMON_CP 2
#define DAEMON_DOCUMENTS 400
#define DAEMON_MOST_TOKENS 700 /* of a document */
#define DAEMON_VOCABULARY 1000

struct daemon_process {
    struct temp_dir dir;
    char config[TEMP_PATH_BYTES], endpoint[64];
    uint16_t port;
    pid_t pid; /* 0: not running */
};

/* Writes shard and configuration; `yaml` is added to the latter. Starts nothing. */
void daemon_prepare(struct daemon_process *daemon, const char *yaml);

/* Starts the daemon, or another one over the same configuration: returns its process id. */
pid_t daemon_spawn(const struct daemon_process *daemon);

/* Prepares and starts. It listens some time later: a peer's first answer tells. */
void daemon_start(struct daemon_process *daemon, const char *yaml);

/* Waits for a process to end: its exit status, or 128 + the signal that ended it. */
int process_wait(pid_t pid);

/* Sends `signal`, waits for the end, and returns as process_wait. */
int daemon_end(struct daemon_process *daemon, int signal);

/* Ends the daemon by SIGTERM unless it has ended, and removes its files. Returns as daemon_end. */
int daemon_close(struct daemon_process *daemon);

size_t process_resident_kib(pid_t pid);

#endif
