/* The fault shim: see faults.h. Stands before libc, and behind nobody. */
#include "support/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <ifaddrs.h>
#include <link.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define BIT(fault) (1u << (fault))
#define OPENS (BIT(FAULT_INTERRUPTED) | BIT(FAULT_IO) | BIT(FAULT_DESCRIPTORS))
#define MOST_RANGES 64
#define EARLY_BYTES 8192

static struct faults own, *faults = &own;

/* ---- whose calls are left alone ---- */

static struct {
    uintptr_t begin, end;
} spared[MOST_RANGES];
static int spared_count;

static bool is_spared(const char *path)
{
    static const char *const names[] = { "/libzmq.",   "/libstdc++.", "/libuv.",  "/ld-linux",
                                         "/libsodium", "/libpgm",     "/libnorm", "/libcriterion",
                                         "san.so",     "libfaults" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(path, names[i]))
            return true;
    return false;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; is_spared(info->dlpi_name) && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && spared_count < MOST_RANGES) {
            spared[spared_count].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            spared[spared_count].end = spared[spared_count].begin + info->dlpi_phdr[i].p_memsz;
            spared_count++;
        }
    return 0;
}

/*
 * glibc's glob frees twice what it finds no memory to extend, and fts_open and getprotobyname read
 * through NULL; libzmq ends the process when getaddrinfo or getifaddrs finds none. They fail as a
 * whole or not.
 */
static __thread bool inside;

static bool spares(uintptr_t caller)
{
    if (inside)
        return true;
    for (int i = 0; i < spared_count; i++)
        if (caller >= spared[i].begin && caller < spared[i].end)
            return true;
    return false;
}

/* ---- the choice ---- */

static bool matters(unsigned possible, uintptr_t caller)
{
    if (!(BIT(atomic_load(&faults->fault)) & possible))
        return false;
    unsigned long long thread = atomic_load(&faults->thread);
    return (thread == 0 || thread == (unsigned long long)syscall(SYS_gettid)) && !spares(caller);
}

/* Counts a call that matters; true when it is to fail. */
static bool chosen(void)
{
    unsigned long long call = atomic_fetch_add(&faults->count, 1) + 1;
    unsigned long long at = atomic_load(&faults->at);
    if (at == 0 || call < at || (call > at && !atomic_load(&faults->goes_on)))
        return false;
    atomic_fetch_add(&faults->hits, 1);
    return true;
}

/* True, with errno set, when a call that can fail in these ways is to fail. */
static bool fails(unsigned possible, uintptr_t caller)
{
    static const int errors[] = {
        [FAULT_MEMORY] = ENOMEM, [FAULT_INTERRUPTED] = EINTR, [FAULT_SHORT] = EINTR,
        [FAULT_IO] = EIO,        [FAULT_FULL] = ENOSPC,       [FAULT_DESCRIPTORS] = EMFILE
    };
    if (!matters(possible, caller) || !chosen())
        return false;
    errno = errors[atomic_load(&faults->fault)];
    return true;
}

/* Sockets, pipes and event counters are libraries' business. */
static bool is_file(int fd)
{
    struct stat facts;
    int before = errno;
    bool file =
        syscall(SYS_fstat, fd, &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode));
    errno = before;
    return file;
}

static bool file_fails(unsigned possible, uintptr_t caller, int fd)
{
    return (BIT(atomic_load(&faults->fault)) & possible) && is_file(fd) && fails(possible, caller);
}

static size_t cut(size_t count, uintptr_t caller, int fd)
{
    bool cuts = count > 1 && file_fails(BIT(FAULT_SHORT), caller, fd);
    return cuts ? 1 : count;
}

SHIM struct faults *faults_here(void);
struct faults *faults_here(void)
{
    return faults;
}

__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(note_library, NULL);
    const char *path = getenv("BALLAST_FAULTS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    /* The seventh argument goes by the stack, where an int would leave half of it as it was. */
    void *shared = (void *)syscall(SYS_mmap, NULL, sizeof own, (long)(PROT_READ | PROT_WRITE),
                                   (long)MAP_SHARED, (long)fd, 0L);
    if (shared != MAP_FAILED)
        faults = shared;
    syscall(SYS_close, fd);
}

/* ---- memory ---- */

/* The definition behind this one. POSIX lets a function's address pass through a data pointer. */
#define NEXT(type, name)                                                                           \
    static type *next;                                                                             \
    if (!next) {                                                                                   \
        void *found = dlsym(RTLD_NEXT, name);                                                      \
        memcpy(&next, &found, sizeof next);                                                        \
    }

/* Before the allocator behind can be found, the loader and a sanitizer that starts take these. */
static _Alignas(16) unsigned char early[EARLY_BYTES];
static size_t early_used;

static void *take_early(size_t bytes)
{
    size_t begin = early_used;
    if (bytes > sizeof early - begin)
        return NULL;
    early_used += (bytes + 15) / 16 * 16;
    return early + begin;
}

static bool is_early(const void *memory)
{
    uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)early;
    return at >= begin && at < begin + sizeof early;
}

typedef void *malloc_function(size_t);
typedef void *calloc_function(size_t, size_t);
typedef void *realloc_function(void *, size_t);
typedef void free_function(void *);

static struct {
    malloc_function *malloc;
    calloc_function *calloc;
    realloc_function *realloc;
    free_function *free;
} behind;

static bool find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* False as long as there is nobody behind; looking for them may allocate. */
static bool found_behind(void)
{
    static __thread bool looking;
    if (behind.free)
        return true;
    if (looking)
        return false;
    looking = true;
    bool found = find(&behind.malloc, "malloc") && find(&behind.calloc, "calloc") &&
                 find(&behind.realloc, "realloc") && find(&behind.free, "free");
    looking = false;
    return found;
}

SHIM void *malloc(size_t bytes)
{
    if (!found_behind())
        return take_early(bytes);
    return fails(BIT(FAULT_MEMORY), CALLER) ? NULL : behind.malloc(bytes);
}

SHIM void *calloc(size_t count, size_t bytes)
{
    if (!found_behind())
        return take_early(count * bytes);
    return fails(BIT(FAULT_MEMORY), CALLER) ? NULL : behind.calloc(count, bytes);
}

SHIM void *realloc(void *memory, size_t bytes)
{
    if (is_early(memory)) {
        void *moved = malloc(bytes);
        size_t most = (size_t)(early + sizeof early - (unsigned char *)memory);
        return moved ? memcpy(moved, memory, bytes < most ? bytes : most) : NULL;
    }
    if (!found_behind())
        return take_early(bytes);
    return fails(BIT(FAULT_MEMORY), CALLER) ? NULL : behind.realloc(memory, bytes);
}

SHIM void free(void *memory)
{
    if (memory && !is_early(memory) && found_behind())
        behind.free(memory);
}

SHIM void *aligned_alloc(size_t alignment, size_t bytes)
{
    NEXT(calloc_function, "aligned_alloc")
    return fails(BIT(FAULT_MEMORY), CALLER) ? NULL : next(alignment, bytes);
}

SHIM int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
    typedef int function(void **, size_t, size_t);
    NEXT(function, "posix_memalign")
    return fails(BIT(FAULT_MEMORY), CALLER) ? ENOMEM : next(ret_memory, alignment, bytes);
}

SHIM void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    typedef void *function(void *, size_t, int, int, int, off_t);
    NEXT(function, "mmap")
    if (!(flags & MAP_ANONYMOUS) && fails(BIT(FAULT_MEMORY) | BIT(FAULT_IO), CALLER))
        return MAP_FAILED;
    return next(address, bytes, protection, flags, fd, offset);
}

SHIM int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    typedef int function(const char *, int, int (*)(const char *, int), glob_t *);
    NEXT(function, "glob")
    if (fails(BIT(FAULT_MEMORY), CALLER))
        return GLOB_NOSPACE;
    inside = true;
    int result = next(pattern, flags, failed, found);
    inside = false;
    return result;
}

SHIM FTS *fts_open(char *const *paths, int options, int (*order)(const FTSENT **, const FTSENT **))
{
    typedef FTS *function(char *const *, int, int (*)(const FTSENT **, const FTSENT **));
    NEXT(function, "fts_open")
    if (fails(BIT(FAULT_MEMORY), CALLER))
        return NULL;
    inside = true;
    FTS *tree = next(paths, options, order);
    inside = false;
    return tree;
}

SHIM int getprotobyname_r(const char *name, struct protoent *entry, char *buffer, size_t bytes,
                          struct protoent **ret_entry)
{
    typedef int function(const char *, struct protoent *, char *, size_t, struct protoent **);
    NEXT(function, "getprotobyname_r")
    inside = true;
    int result = next(name, entry, buffer, bytes, ret_entry);
    inside = false;
    return result;
}

SHIM int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                     struct addrinfo **ret_addresses)
{
    typedef int function(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    NEXT(function, "getaddrinfo")
    inside = true;
    int result = next(node, service, hints, ret_addresses);
    inside = false;
    return result;
}

SHIM int getifaddrs(struct ifaddrs **ret_addresses)
{
    typedef int function(struct ifaddrs **);
    NEXT(function, "getifaddrs")
    inside = true;
    int result = next(ret_addresses);
    inside = false;
    return result;
}

/* What a sanitizer asks of every thread that begins. */
SHIM int pthread_getattr_np(pthread_t thread, pthread_attr_t *ret_attributes)
{
    typedef int function(pthread_t, pthread_attr_t *);
    NEXT(function, "pthread_getattr_np")
    inside = true;
    int result = next(thread, ret_attributes);
    inside = false;
    return result;
}

/* ---- opening ---- */

static unsigned opening(int flags)
{
    return OPENS | (flags & O_CREAT ? BIT(FAULT_FULL) : 0);
}

SHIM int open(const char *path, int flags, ...)
{
    typedef int function(const char *, int, ...);
    NEXT(function, "open")
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(opening(flags), CALLER) ? -1 : next(path, flags, mode);
}

SHIM int open64(const char *path, int flags, ...)
{
    typedef int function(const char *, int, ...);
    NEXT(function, "open64")
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(opening(flags), CALLER) ? -1 : next(path, flags, mode);
}

SHIM int openat(int directory, const char *path, int flags, ...)
{
    typedef int function(int, const char *, int, ...);
    NEXT(function, "openat")
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(opening(flags), CALLER) ? -1 : next(directory, path, flags, mode);
}

SHIM FILE *fopen(const char *path, const char *mode)
{
    typedef FILE *function(const char *, const char *);
    NEXT(function, "fopen")
    return fails(OPENS, CALLER) ? NULL : next(path, mode);
}

SHIM FILE *fdopen(int fd, const char *mode)
{
    typedef FILE *function(int, const char *);
    NEXT(function, "fdopen")
    return fails(BIT(FAULT_MEMORY), CALLER) ? NULL : next(fd, mode);
}

SHIM int mkostemp(char *name, int flags)
{
    typedef int function(char *, int);
    NEXT(function, "mkostemp")
    return fails(OPENS | BIT(FAULT_FULL), CALLER) ? -1 : next(name, flags);
}

/* ---- moving bytes ---- */

SHIM ssize_t read(int fd, void *bytes, size_t count)
{
    typedef ssize_t function(int, void *, size_t);
    NEXT(function, "read")
    if (file_fails(BIT(FAULT_INTERRUPTED) | BIT(FAULT_IO), CALLER, fd))
        return -1;
    return next(fd, bytes, cut(count, CALLER, fd));
}

SHIM ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
    typedef ssize_t function(int, void *, size_t, off_t);
    NEXT(function, "pread")
    if (file_fails(BIT(FAULT_INTERRUPTED) | BIT(FAULT_IO), CALLER, fd))
        return -1;
    return next(fd, bytes, cut(count, CALLER, fd), offset);
}

SHIM ssize_t write(int fd, const void *bytes, size_t count)
{
    typedef ssize_t function(int, const void *, size_t);
    NEXT(function, "write")
    if (file_fails(BIT(FAULT_INTERRUPTED) | BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER, fd))
        return -1;
    return next(fd, bytes, cut(count, CALLER, fd));
}

/* ---- making it last ---- */

SHIM int fsync(int fd)
{
    typedef int function(int);
    NEXT(function, "fsync")
    unsigned possible = BIT(FAULT_INTERRUPTED) | BIT(FAULT_IO) | BIT(FAULT_FULL);
    return file_fails(possible, CALLER, fd) ? -1 : next(fd);
}

/* What is closed is closed, whatever it says. */
SHIM int close(int fd)
{
    typedef int function(int);
    NEXT(function, "close")
    bool failed = file_fails(BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER, fd);
    int why = errno, result = next(fd);
    if (!failed)
        return result;
    errno = why;
    return -1;
}

SHIM int rename(const char *from, const char *to)
{
    typedef int function(const char *, const char *);
    NEXT(function, "rename")
    return fails(BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER) ? -1 : next(from, to);
}

SHIM int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    typedef int function(int, const char *, int, const char *);
    NEXT(function, "renameat")
    return fails(BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER)
               ? -1
               : next(from_directory, from, to_directory, to);
}

SHIM int link(const char *from, const char *to)
{
    typedef int function(const char *, const char *);
    NEXT(function, "link")
    return fails(BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER) ? -1 : next(from, to);
}

SHIM int mkdir(const char *path, mode_t mode)
{
    typedef int function(const char *, mode_t);
    NEXT(function, "mkdir")
    return fails(BIT(FAULT_IO) | BIT(FAULT_FULL), CALLER) ? -1 : next(path, mode);
}

SHIM int fstat(int fd, struct stat *ret_facts)
{
    typedef int function(int, struct stat *);
    NEXT(function, "fstat")
    return fails(BIT(FAULT_IO), CALLER) ? -1 : next(fd, ret_facts);
}

SHIM int flock(int fd, int operation)
{
    typedef int function(int, int);
    NEXT(function, "flock")
    return fails(BIT(FAULT_IO), CALLER) ? -1 : next(fd, operation);
}
