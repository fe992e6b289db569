/* Makes system calls of one process fail, for failing_calls.py: loaded by LD_PRELOAD.

   FAULT_CALL   the call: open, read, write, truncate, fsync, rename, unlink, mkdir, flock, socket, connect, send, recv,
                mmap, thread or fork
   FAULT_PATH   only calls on a file whose path has this part; empty for all
   FAULT_SINCE  only calls after this file exists; empty from the start
   FAULT_FIRST  the number of the first such call that fails, from 1
   FAULT_TIMES  how many fail; 0 for all from then on
   FAULT_ERRNO  the error that they return
   FAULT_LOG    a file that gets a byte for each call that failed
   FAULT_IN     a part of the command line of the process; empty for the first one

   Processes that this process starts are not affected. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *call, *part, *since;
static long first, times;
static int number, report = -1;
static atomic_long seen;
static atomic_int begun;

static char *option(const char *name) {
    const char *value = getenv(name);
    return strdup(value ? value : "");
}

/* Whether the calls of this process are to fail, by its command line. */
static int is_meant(const char *words) {
    char line[4096];
    int file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    long length = file < 0 ? 0 : syscall(SYS_read, file, line, sizeof line);
    if (file >= 0) syscall(SYS_close, file);
    return !*words || (length > 0 && memmem(line, length, words, strlen(words)));
}

__attribute__((constructor)) static void begin(void) {
    if (!is_meant(option("FAULT_IN"))) return;
    call = option("FAULT_CALL");
    part = option("FAULT_PATH");
    since = option("FAULT_SINCE");
    first = atol(option("FAULT_FIRST"));
    times = atol(option("FAULT_TIMES"));
    number = atoi(option("FAULT_ERRNO"));
    report = syscall(SYS_openat, AT_FDCWD, option("FAULT_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    unsetenv("LD_PRELOAD");
    begun = 1;
}

/* Whether this call of a kind, on a path or else on a descriptor, fails. */
static int fails(const char *kind, const char *path, int descriptor) {
    if (!begun || strcmp(kind, call) != 0) return 0;
    char link[64], place[4096] = "";
    if (*part) {
        if (!path && descriptor >= 0) {
            snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
            long length = syscall(SYS_readlinkat, AT_FDCWD, link, place, sizeof place - 1);
            place[length < 0 ? 0 : length] = 0;
            path = place;
        }
        if (!path || !strstr(path, part)) return 0;
    }
    if (*since && syscall(SYS_faccessat, AT_FDCWD, since, F_OK) != 0) return 0;
    long now = ++seen;
    if (now < first || (times && now >= first + times)) return 0;
    syscall(SYS_write, report, ".", 1);
    errno = number;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name, parameters, ...)                                     \
    int name parameters {                                               \
        va_list more;                                                   \
        va_start(more, flags);                                          \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
        va_end(more);                                                   \
        return fails("open", path, -1) ? -1 : NEXT(name)(__VA_ARGS__, mode); \
    }
OPEN(open, (const char *path, int flags, ...), path, flags)
OPEN(open64, (const char *path, int flags, ...), path, flags)
OPEN(openat, (int at, const char *path, int flags, ...), at, path, flags)
OPEN(openat64, (int at, const char *path, int flags, ...), at, path, flags)

ssize_t write(int to, const void *data, size_t size) { return fails("write", NULL, to) ? -1 : NEXT(write)(to, data, size); }
ssize_t pwrite(int to, const void *data, size_t size, off_t at) {
    return fails("write", NULL, to) ? -1 : NEXT(pwrite)(to, data, size, at);
}
ssize_t pwrite64(int to, const void *data, size_t size, off64_t at) {
    return fails("write", NULL, to) ? -1 : NEXT(pwrite64)(to, data, size, at);
}
ssize_t read(int from, void *data, size_t size) { return fails("read", NULL, from) ? -1 : NEXT(read)(from, data, size); }
ssize_t pread(int from, void *data, size_t size, off_t at) {
    return fails("read", NULL, from) ? -1 : NEXT(pread)(from, data, size, at);
}
ssize_t pread64(int from, void *data, size_t size, off64_t at) {
    return fails("read", NULL, from) ? -1 : NEXT(pread64)(from, data, size, at);
}
int ftruncate(int file, off_t size) { return fails("truncate", NULL, file) ? -1 : NEXT(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return fails("truncate", NULL, file) ? -1 : NEXT(ftruncate64)(file, size); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path, -1) ? -1 : NEXT(mkdir)(path, mode); }
int unlink(const char *path) { return fails("unlink", path, -1) ? -1 : NEXT(unlink)(path); }
int unlinkat(int at, const char *path, int flags) {
    return fails("unlink", *path == '/' ? path : NULL, at) ? -1 : NEXT(unlinkat)(at, path, flags);
}
int rmdir(const char *path) { return fails("unlink", path, -1) ? -1 : NEXT(rmdir)(path); }
int flock(int file, int how) { return fails("flock", NULL, file) ? -1 : NEXT(flock)(file, how); }

/* SQLite locks by fcntl. */
static int is_lock(int command) { return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW; }
#define FCNTL(name)                                                                       \
    int name(int file, int command, ...) {                                                \
        va_list more;                                                                     \
        va_start(more, command);                                                          \
        void *argument = va_arg(more, void *);                                            \
        va_end(more);                                                                     \
        return is_lock(command) && fails("flock", NULL, file) ? -1 : NEXT(name)(file, command, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int fsync(int file) { return fails("fsync", NULL, file) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return fails("fsync", NULL, file) ? -1 : NEXT(fdatasync)(file); }
int rename(const char *from, const char *to) { return fails("rename", to, -1) ? -1 : NEXT(rename)(from, to); }
int socket(int family, int kind, int protocol) { return fails("socket", NULL, -1) ? -1 : NEXT(socket)(family, kind, protocol); }
int connect(int from, const struct sockaddr *to, socklen_t size) {
    return fails("connect", NULL, from) ? -1 : NEXT(connect)(from, to, size);
}
ssize_t send(int to, const void *data, size_t size, int flags) {
    return fails("send", NULL, to) ? -1 : NEXT(send)(to, data, size, flags);
}
ssize_t recv(int from, void *data, size_t size, int flags) {
    return fails("recv", NULL, from) ? -1 : NEXT(recv)(from, data, size, flags);
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    return fails("mmap", NULL, file) ? MAP_FAILED : NEXT(mmap)(at, size, protection, flags, file, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) {
    return fails("mmap", NULL, file) ? MAP_FAILED : NEXT(mmap64)(at, size, protection, flags, file, offset);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    return fails("thread", NULL, -1) ? number : NEXT(pthread_create)(thread, attributes, body, argument);
}
pid_t fork(void) { return fails("fork", NULL, -1) ? -1 : NEXT(fork)(); }
pid_t vfork(void) { return fork(); }
