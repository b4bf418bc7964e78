/*
 * Preloaded into a program (LD_PRELOAD): makes chosen file operations on chosen files fail, stall, or end the process and
 * lose what was not flushed, as a power cut does. FAULTY_FILES names a file that the program and its test share as memory,
 * with the rule in force; it is empty until the test writes one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, READ = 2, WRITE = 4, FLUSH = 8, TRUNCATE = 16, RENAME = 32, STAT = 64, UNLINK = 128 };
enum { FAIL = 1, STALL = 2, CUT = 3 };

/* In the order of `faulty-files.ts`, little-endian. */
struct rule {
  uint32_t effect; /* 0: none */
  uint32_t operations;
  uint32_t error; /* errno, of FAIL */
  uint32_t stall_ms;
  double for_ms, first_ms; /* how long from the first hit on, and when that was: since 1970, 0 before it */
  uint32_t max_hits;
  uint32_t hits;
  uint32_t kept_sectors; /* of CUT: bit n for the sectors n, n + 32... of what was not flushed */
  uint32_t seen; /* operations on the files, whether or not they are of the rule */
  char pattern[256]; /* fnmatch, extended, of the path */
};

/* Bytes that a write replaced, until they are flushed. */
struct undo {
  struct undo *before;
  char *path;
  off_t offset, old_size;
  size_t length;
  char old[];
};

#define MAX_FILES 4096
static struct rule *rule;
static char *paths[MAX_FILES];
static struct undo *unflushed;
static int is_to_be_cut; /* FAULTY_FILES_CUT: what is not flushed is remembered, for CUT */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

#define REAL(name)                                                            \
  ({                                                                          \
    static __typeof__(&name) found;                                           \
    if (!found) found = dlsym(RTLD_NEXT, #name);                              \
    found;                                                                    \
  })

static void take_lock(void) { pthread_mutex_lock(&lock); }

static void give_lock(void) { pthread_mutex_unlock(&lock); }

/* Not unlocked: the thread that locked it has another number here. */
static void renew_lock(void) { lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; }

__attribute__((constructor)) static void share_rule(void) {
  /* A child of fork has only the thread that forked: a lock that another one held would stay locked. */
  pthread_atfork(take_lock, give_lock, renew_lock);
  const char *path = getenv("FAULTY_FILES");
  int fd = path ? REAL(open64)(path, O_RDWR | O_CLOEXEC) : -1;
  void *memory = mmap(NULL, sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || memory == MAP_FAILED) abort();
  rule = memory;
  is_to_be_cut = getenv("FAULTY_FILES_CUT") != NULL;
  close(fd);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static const char *path_of(int fd) { return fd >= 0 && fd < MAX_FILES ? paths[fd] : NULL; }

static void lose_unflushed(void) {
  for (struct undo *one = unflushed; one; one = one->before) {
    int fd = REAL(open64)(one->path, O_RDWR);
    if (fd < 0) continue;
    off_t kept_end = one->old_size;
    for (off_t at = one->offset; at < one->offset + (off_t)one->length;) {
      off_t end = (at / 512 + 1) * 512;
      if (end > one->offset + (off_t)one->length) end = one->offset + one->length;
      if (rule->kept_sectors >> at / 512 % 32 & 1) {
        if (end > kept_end) kept_end = end;
      } else if (REAL(pwrite64)(fd, one->old + (at - one->offset), end - at, at) < 0)
        abort();
      at = end;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    if (end > kept_end && REAL(ftruncate64)(fd, kept_end) < 0) abort();
    close(fd);
  }
  _exit(99);
}

/* Whether the operation is to fail, with errno; stalls before. */
static int meets_fault(uint32_t operation, const char *path) {
  if (!rule || !rule->effect || !path || fnmatch(rule->pattern, path, FNM_EXTMATCH) != 0) return 0;
  __atomic_fetch_or(&rule->seen, operation, __ATOMIC_SEQ_CST);
  double now = now_ms(), first = rule->first_ms;
  if (!(rule->operations & operation) || (first && now >= first + rule->for_ms)) return 0;
  uint32_t hits = __atomic_fetch_add(&rule->hits, 1, __ATOMIC_SEQ_CST);
  if (hits == 0) rule->first_ms = now;
  if (hits >= rule->max_hits) return 0;
  if (rule->effect == CUT) {
    pthread_mutex_lock(&lock);
    lose_unflushed();
  }
  if (rule->effect == STALL) {
    usleep(rule->stall_ms * 1000);
    return 0;
  }
  errno = rule->error;
  return 1;
}

/* Called with the lock, before the bytes are replaced. */
static void remember(int fd, off_t offset, size_t length) {
  struct stat64 found;
  if (REAL(fstat64)(fd, &found) != 0 || !S_ISREG(found.st_mode)) return;
  struct undo *one = calloc(1, sizeof *one + length);
  one->path = strdup(path_of(fd));
  one->offset = offset;
  one->old_size = found.st_size;
  one->length = length;
  /* Closing another descriptor of a file of SQLite would release its locks, and SQLite opens its files to read as well. */
  if (REAL(pread64)(fd, one->old, length, offset) < 0) {
    int readable = REAL(open64)(path_of(fd), O_RDONLY | O_CLOEXEC);
    if (readable < 0 || REAL(pread64)(readable, one->old, length, offset) < 0) abort();
    close(readable);
  }
  one->before = unflushed;
  unflushed = one;
}

static void forget(const char *path) {
  for (struct undo **place = &unflushed; *place;) {
    struct undo *one = *place;
    if (strcmp(one->path, path) != 0) place = &one->before;
    else {
      *place = one->before;
      free(one->path);
      free(one);
    }
  }
}

static int opened(int fd, const char *path) {
  if (fd < 0 || fd >= MAX_FILES) return fd;
  char whole[PATH_MAX];
  pthread_mutex_lock(&lock);
  paths[fd] = realpath(path, whole) ? strdup(whole) : NULL; /* The one before may be in use: it leaks. */
  pthread_mutex_unlock(&lock);
  return fd;
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (meets_fault(OPEN, path)) return -1;
  return opened(REAL(open64)(path, flags, mode), path);
}

int close(int fd) {
  if (fd >= 0 && fd < MAX_FILES) paths[fd] = NULL;
  return REAL(close)(fd);
}

#define READS(result, name, declared, ...)                                    \
  result name declared {                                                      \
    return meets_fault(READ, path_of(fd)) ? -1 : REAL(name)(__VA_ARGS__);     \
  }
READS(ssize_t, read, (int fd, void *to, size_t size), fd, to, size)
READS(ssize_t, readv, (int fd, const struct iovec *to, int count), fd, to, count)
READS(ssize_t, pread64, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
READS(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off_t at), fd, to, count, at)

static size_t size_of(const struct iovec *parts, int count) {
  size_t size = 0;
  for (int index = 0; index < count; index += 1) size += parts[index].iov_len;
  return size;
}

static off_t end_of(int fd) {
  return REAL(fcntl64)(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
}

#define WRITES(result, name, declared, offset, size, ...)                     \
  result name declared {                                                      \
    if (meets_fault(WRITE, path_of(fd))) return -1;                           \
    if (!path_of(fd) || !is_to_be_cut) return REAL(name)(__VA_ARGS__);        \
    pthread_mutex_lock(&lock);                                                \
    remember(fd, offset, size);                                               \
    result written = REAL(name)(__VA_ARGS__);                                 \
    pthread_mutex_unlock(&lock);                                              \
    return written;                                                           \
  }
WRITES(ssize_t, write, (int fd, const void *from, size_t size), end_of(fd), size, fd, from, size)
WRITES(ssize_t, writev, (int fd, const struct iovec *from, int count), end_of(fd), size_of(from, count), fd, from, count)
WRITES(ssize_t, pwrite64, (int fd, const void *from, size_t size, off_t at), at, size, fd, from, size, at)
WRITES(ssize_t, pwritev64, (int fd, const struct iovec *from, int count, off_t at), at, size_of(from, count), fd, from, count, at)

#define FLUSHES(name)                                                         \
  int name(int fd) {                                                          \
    const char *path = path_of(fd);                                           \
    if (meets_fault(FLUSH, path)) return -1;                                  \
    pthread_mutex_lock(&lock);                                                \
    int result = REAL(name)(fd);                                              \
    if (result == 0 && path) forget(path);                                    \
    pthread_mutex_unlock(&lock);                                              \
    return result;                                                            \
  }
FLUSHES(fsync)
FLUSHES(fdatasync)

int ftruncate64(int fd, off_t size) {
  return meets_fault(TRUNCATE, path_of(fd)) ? -1 : REAL(ftruncate64)(fd, size);
}

int rename(const char *from, const char *to) { return meets_fault(RENAME, to) ? -1 : REAL(rename)(from, to); }

int unlink(const char *path) { return meets_fault(UNLINK, path) ? -1 : REAL(unlink)(path); }

int stat64(const char *path, struct stat64 *found) {
  return meets_fault(STAT, path) ? -1 : REAL(stat64)(path, found);
}

int lstat64(const char *path, struct stat64 *found) {
  return meets_fault(STAT, path) ? -1 : REAL(lstat64)(path, found);
}

int access(const char *path, int mode) { return meets_fault(STAT, path) ? -1 : REAL(access)(path, mode); }

int fstat64(int fd, struct stat64 *found) {
  return meets_fault(STAT, path_of(fd)) ? -1 : REAL(fstat64)(fd, found);
}

/* Of folders. */
int scandir64(const char *path, struct dirent64 ***names, int (*filter)(const struct dirent64 *),
              int (*compare)(const struct dirent64 **, const struct dirent64 **)) {
  return meets_fault(OPEN, path) ? -1 : REAL(scandir64)(path, names, filter, compare);
}

DIR *opendir(const char *path) { return meets_fault(OPEN, path) ? NULL : REAL(opendir)(path); }

ssize_t sendfile64(int to, int from, off_t *offset, size_t size) {
  if (meets_fault(READ, path_of(from)) || meets_fault(WRITE, path_of(to))) return -1;
  return REAL(sendfile64)(to, from, offset, size);
}

/* Node.js calls statx, close and copy_file_range so. */
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long args[6];
  for (int index = 0; index < 6; index += 1) args[index] = va_arg(more, long);
  va_end(more);
  if (number == SYS_close && args[0] >= 0 && args[0] < MAX_FILES) paths[args[0]] = NULL;
  if (number == SYS_statx) {
    const char *path = (const char *)args[1];
    if (meets_fault(STAT, path && *path ? path : path_of(args[0]))) return -1;
  }
  if (number == SYS_copy_file_range && (meets_fault(READ, path_of(args[0])) || meets_fault(WRITE, path_of(args[2]))))
    return -1;
  return REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
