/*
 * What the fault shim (faults.c) shares with the test that uses it: which fault, and at which call.
 *
 * The shim is a library to be preloaded (LD_PRELOAD). A test in another process hands it a file of
 * sizeof(struct faults) bytes by the environment variable BALLAST_FAULTS, and may read and write it
 * at any time; a test in the same process finds the struct by dlsym("faults_here").
 *
 * Calls are counted that could fail in that way: allocations for FAULT_MEMORY, calls on files and
 * directories for the rest. Those that libzmq, libstdc++ and libuv make are neither counted nor
 * failed, because these libraries end the process when memory or descriptors run out.
 */
#ifndef BALLAST_TESTS_FAULTS_H
#define BALLAST_TESTS_FAULTS_H

#include <stdatomic.h>
#include <stdint.h>

enum fault {
    FAULT_NONE,
    FAULT_MEMORY,      /* malloc and its kin give NULL; mmap fails */
    FAULT_INTERRUPTED, /* EINTR: open, read, write, fsync */
    FAULT_SHORT,       /* read and write move one byte */
    FAULT_IO,          /* EIO: all of them, and rename, fstat, close, mmap */
    FAULT_FULL,        /* ENOSPC: what writes or creates */
    FAULT_DESCRIPTORS, /* EMFILE: what opens */
};

/* tests/integration/faults.py knows this layout too. */
struct faults {
    atomic_uint fault;    /* enum fault */
    atomic_uint goes_on;  /* not 0: every call from the chosen one on fails, else it alone */
    atomic_ullong at;     /* the call that fails, counted from 1; 0: none, they are counted */
    atomic_ullong count;  /* calls so far */
    atomic_ullong hits;   /* calls that failed */
    atomic_ullong thread; /* not 0: this thread's calls alone (gettid) */
};

typedef struct faults *faults_here_function(void);

#endif
