/* A disk that fails on purpose: preloaded in front of libc, it counts what a process does to the files under
 * one folder and, at one chosen step, kills the process or answers with an error.
 *
 * fault_begin(root, at, does, lasts, undo) begins anew: the folder; the step at which it happens, counted from
 * 1 (0: never, only count); -1 to kill or the number of an error (28: no space, 5: I/O, 30: read-only, 122:
 * quota); whether every later step fails too; and a file that is told, before every write, what stood there,
 * which is what a power cut may take back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long steps = 0, at = 0, lasts = 0;
static int error = 0, kills = 0, undo = -1;
static char root[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fault_begin(const char *folder, long step, int does, int stays, const char *log) {
    snprintf(root, sizeof root, "%s", folder);
    at = step;
    lasts = stays;
    kills = does < 0;
    error = kills ? 0 : does;
    steps = 0;
    if (undo >= 0) close(undo);
    undo = log && log[0] ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

long fault_steps(void) { return steps; }

static int is_ours(const char *path) { return root[0] && !strncmp(path, root, strlen(root)); }

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return is_ours(path);
}

/* Count a step; return the error it must fail with, or 0. */
static int step(void) {
    pthread_mutex_lock(&lock);
    long mine = ++steps;
    pthread_mutex_unlock(&lock);
    if (!at || mine < at || (mine > at && !lasts)) return 0;
    if (kills) kill(getpid(), SIGKILL);
    return error;
}

/* Tell what stands where a write is about to go: path, offset, length, size of the file, bytes. */
static void remember(const char *path, off_t offset, size_t length, int fd) {
    if (undo < 0) return;
    struct stat stat;
    if (fstat(fd, &stat)) return;
    size_t old = offset >= stat.st_size ? 0 : (size_t)(stat.st_size - offset);
    if (old > length) old = length;
    char *bytes = malloc(old + 1);
    ssize_t (*really)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
    int reader = open(path, O_RDONLY | O_CLOEXEC); /* the writer's own may not be readable */
    ssize_t got = reader < 0 ? 0 : really(reader, bytes, old, offset);
    if (reader >= 0) close(reader);
    char head[PATH_MAX + 128];
    int size = snprintf(head, sizeof head, "write %zd %lld %zu %lld %s\n", got < 0 ? 0 : got, (long long)offset,
                        length, (long long)stat.st_size, path);
    ssize_t (*put)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    put(undo, head, size);
    if (got > 0) put(undo, bytes, got);
    free(bytes);
}

static void synced(const char *path) {
    if (undo < 0) return;
    char head[PATH_MAX + 16];
    int size = snprintf(head, sizeof head, "sync %s\n", path);
    ssize_t (*put)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    put(undo, head, size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) {
    ssize_t (*really)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    char path[PATH_MAX];
    if (path_of(fd, path)) {
        int failed = step();
        if (failed) {
            errno = failed;
            return -1;
        }
        remember(path, offset, size, fd);
    }
    return really(fd, bytes, size, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) { return pwrite64(fd, bytes, size, offset); }

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*really)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    char path[PATH_MAX];
    if (fd != undo && path_of(fd, path)) {
        int failed = step();
        if (failed) {
            errno = failed;
            return -1;
        }
        remember(path, lseek(fd, 0, SEEK_CUR), size, fd);
    }
    return really(fd, bytes, size);
}

#define BY_FD(name)                                              \
    int name(int fd) {                                           \
        int (*really)(int) = dlsym(RTLD_NEXT, #name);            \
        char path[PATH_MAX];                                     \
        if (!path_of(fd, path)) return really(fd);               \
        int failed = step();                                     \
        if (failed) {                                            \
            errno = failed;                                      \
            return -1;                                           \
        }                                                        \
        int done = really(fd);                                   \
        if (!done) synced(path);                                 \
        return done;                                             \
    }
BY_FD(fsync)
BY_FD(fdatasync)

int ftruncate64(int fd, off_t size) {
    int (*really)(int, off_t) = dlsym(RTLD_NEXT, "ftruncate64");
    char path[PATH_MAX];
    int failed = path_of(fd, path) ? step() : 0;
    if (failed) {
        errno = failed;
        return -1;
    }
    return really(fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int unlink(const char *path) {
    int (*really)(const char *) = dlsym(RTLD_NEXT, "unlink");
    int failed = is_ours(path) ? step() : 0;
    if (failed) {
        errno = failed;
        return -1;
    }
    return really(path);
}

int rename(const char *from, const char *to) {
    int (*really)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    int failed = is_ours(to) ? step() : 0;
    if (failed) {
        errno = failed;
        return -1;
    }
    return really(from, to);
}
