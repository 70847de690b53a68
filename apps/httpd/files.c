/* files.c: the files of a site, and a cache of those that are open.
 *
 * The cache is a table of small sets, under a mutex that is held for a few comparisons. An entry is
 * one reference to its file; each connection that sends it is another. The owner of the last one
 * closes the file, which may be after the cache has dropped it. There are as many pieces of memory
 * as the cache and all connections can refer to, so one is always free. */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "beneath.h"
#include "common/program.h"
#include "mime.h"

#define FILES_PER_SET 4

int files_open(struct files *files, volt_rt *rt, const char *root, uint32_t keep, uint32_t busy,
               uint64_t keep_ns) {
  *files = (struct files){.rt = rt, .keep_ns = keep_ns};
  files->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (files->root < 0) return VOLT_ERRNO(errno);
  files->sets = (keep + FILES_PER_SET - 1) / FILES_PER_SET;
  uint32_t entries = files->sets * FILES_PER_SET;
  files->kept = must_allocate(entries, sizeof *files->kept);
  volt_mutex_init(&files->lock);
  volt_notify_init(&files->filled);
  pool_init(&files->memory, entries + busy, sizeof(struct file));
  return VOLT_OK;
}

void file_release(struct files *files, struct file *file) {
  if (file == NULL) return;
  if (atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) > 1) return;
  volt_fd_close(&file->fd);
  pool_give(&files->memory, file);
}

/* Reads a part of a file once, with BENEATH_NOW only what the system has in memory. Returns how many
 * bytes, or a negative errno; -EAGAIN: it would have to be waited for. */
static ssize_t read_part(int fd, void *to, size_t size, uint64_t at, enum beneath_how how) {
  struct iovec part = {to, size};
  for (;;) {
    ssize_t n = preadv2(fd, &part, 1, (off_t)at, how == BENEATH_NOW ? RWF_NOWAIT : 0);
    if (n >= 0) return n;
    if (errno != EINTR) return errno == EOPNOTSUPP ? -EAGAIN : -errno;
  }
}

int file_try_read(struct file *file, void *to, size_t size, uint64_t at, size_t *n) {
  ssize_t got = read_part(volt_fd_number(&file->fd), to, size, at, BENEATH_NOW);
  *n = got > 0 ? (size_t)got : 0;
  return got == -EAGAIN ? VOLT_EAGAIN : got < 0 ? VOLT_ERRNO((int)-got) : VOLT_OK;
}

void files_close(struct files *files) {
  for (uint32_t i = 0; i < files->sets * FILES_PER_SET; i++) file_release(files, files->kept[i]);
  volt_notify_destroy(&files->filled);
  volt_mutex_destroy(&files->lock);
  pool_destroy(&files->memory);
  free(files->kept);
  close(files->root);
}

/* ---- the cache, under its lock ---- */

static struct file **set_of(struct files *files, const char *path) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (; *path != '\0'; path++) hash = (hash ^ (unsigned char)*path) * 16777619u;
  return files->kept + hash % files->sets * FILES_PER_SET;
}

/* Finds a file that is kept, with a reference for the caller. */
static struct file *look(struct files *files, const char *path, uint64_t now_ns) {
  if (files->sets == 0) return NULL;
  struct file **set = set_of(files, path);
  for (int i = 0; i < FILES_PER_SET; i++) {
    if (set[i] == NULL || strcmp(set[i]->path, path) != 0) continue;
    if (now_ns >= set[i]->until_ns) return NULL;
    atomic_fetch_add_explicit(&set[i]->references, 1, memory_order_relaxed);
    return set[i];
  }
  return NULL;
}

/* Keeps a file, in the place of the same path, of none, or of the one that was opened first.
 * Returns what was there, for the caller to release. */
static struct file *keep(struct files *files, struct file *file) {
  if (files->sets == 0 || file->path[0] == '\0' || files->keep_ns == 0) return NULL;
  struct file **set = set_of(files, file->path), **place = set;
  for (int i = 0; i < FILES_PER_SET; i++) {
    if (set[i] != NULL && strcmp(set[i]->path, file->path) == 0) {
      place = &set[i];
      break;
    }
    if (*place == NULL) continue;
    if (set[i] == NULL || set[i]->until_ns < (*place)->until_ns) place = &set[i];
  }
  struct file *before = *place;
  if (before == NULL && files->kept_count++ == 0) volt_notify_one(&files->filled);
  atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
  *place = file;
  return before;
}

/* Gives up what is kept until before `now_ns`, and the descriptors with it. */
static void drop(struct files *files, uint64_t now_ns) {
  for (uint32_t i = 0; i < files->sets * FILES_PER_SET; i++) {
    if (files->kept[i] == NULL || files->kept[i]->until_ns > now_ns) continue;
    file_release(files, files->kept[i]);
    files->kept[i] = NULL;
    files->kept_count--;
  }
}

struct file *files_try(struct files *files, const char *path, uint64_t now_ns) {
  if (volt_mutex_try_lock(&files->lock) != VOLT_OK) return NULL;
  struct file *file = look(files, path, now_ns);
  volt_mutex_unlock(&files->lock);
  return file;
}

/* ---- opening ---- */

static int status_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV: return 404; /* the last: a link that leads out of the root */
    case EACCES:
    case EPERM: return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return 503;
    default: return 500;
  }
}

/* Strong, unless the file was changed so recently that it may change again within the same
 * timestamp. */
static void describe(struct file *file, const struct stat *status, int64_t now) {
  struct resource *resource = &file->resource;
  struct writer to = {resource->etag, resource->etag + sizeof resource->etag - 1, false};
  resource->size = (uint64_t)status->st_size;
  resource->modified = status->st_mtim.tv_sec < now ? status->st_mtim.tv_sec : now;
  if (status->st_mtim.tv_sec >= now - 1) PUT(&to, "W/");
  PUT(&to, "\"");
  put_hex(&to, (uint64_t)status->st_ino);
  PUT(&to, "-");
  put_hex(&to, (uint64_t)status->st_size);
  PUT(&to, "-");
  put_hex(&to, (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec);
  PUT(&to, "\"");
  *to.at = '\0';
}

/* Reads a small file whole. Returns 0, or an errno. A file that has changed since its size was
 * looked at has another end: it is taken as it is. */
static int read_content(struct file *file, int fd, enum beneath_how how) {
  if (file->resource.size > FILE_CONTENT_MAX) return 0;
  size_t size = 0;
  while (size < file->resource.size) {
    ssize_t n = read_part(fd, file->content + size, file->resource.size - size, size, how);
    if (n < 0) return (int)-n;
    if (n == 0) break;
    size += (size_t)n;
  }
  file->resource.size = size;
  file->is_in_memory = true;
  return 0;
}

/* Opens a regular file for reading. Returns its descriptor, or a negative errno; -EISDIR: it is a
 * directory; -EPERM: it is none of both. */
static int open_regular(struct files *files, const char *path, enum beneath_how how,
                        struct stat *status) {
  struct stat found;
  int look = beneath_open(files->root, path, O_PATH, how);
  if (look < 0) return look;
  int error = fstat(look, &found) == 0 ? 0 : errno;
  close(look);
  if (error != 0) return -error;
  if (S_ISDIR(found.st_mode)) return -EISDIR;
  if (!S_ISREG(found.st_mode)) return -EPERM;
  int fd = beneath_open(files->root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, how);
  if (fd < 0) return fd;
  if (fstat(fd, status) == 0 && S_ISREG(status->st_mode)) return fd;
  close(fd); /* it was replaced in between */
  return -ENOENT;
}

/* Returns an HTTP status, with 200 *result; or 0: it has to be waited for. */
static int open_file(struct files *files, const char *path, int64_t now, uint64_t now_ns,
                     enum beneath_how how, struct file **result) {
  struct stat status;
  int fd = open_regular(files, path, how, &status);
  if (fd < 0) return fd == -EAGAIN ? 0 : fd == -EISDIR ? 301 : status_of(-fd);
  struct file *file = pool_take(&files->memory);
  size_t size = strlen(path) + 1;
  file->is_in_memory = false;
  file->until_ns = now_ns + files->keep_ns;
  file->resource.type = mime_type(path);
  file->path[0] = '\0';
  if (size <= FILE_PATH_MAX) memcpy(file->path, path, size);
  atomic_init(&file->references, 1);
  describe(file, &status, now);
  int error = read_content(file, fd, how);
  int made = error == 0 ? volt_fd_init(&file->fd, files->rt, fd, 0) : VOLT_ERRNO(error);
  if (made == VOLT_OK) {
    *result = file;
    return 200;
  }
  close(fd);
  pool_give(&files->memory, file);
  return error == EAGAIN ? 0 : status_of(volt_errno(made));
}

/* ---- finding ---- */

/* On a thread of the blocking pool. */
static int open_blocking(void *arg) {
  struct find *f = arg;
  f->status = open_file(f->files, f->path, f->now, f->now_ns, BENEATH_WAIT, &f->file);
  if (f->status == 0) f->status = 500; /* a file system that would wait although it may */
  return VOLT_OK;
}

/* Each await is repeated if the connection's task is cancelled: it is a short one. */
static int find_poll(volt_async *a, volt_ctx *ctx) {
  struct find *self = volt_container_of(a, struct find, async);
  struct files *files = self->files;
  VOLT_ASYNC_BEGIN(self);
  do {
    VOLT_AWAIT_RESULT(self, self->locked, volt_mutex_lock_future(&self->as.lock, &files->lock));
  } while (self->locked != VOLT_OK);
  self->file = look(files, self->path, self->now_ns);
  volt_mutex_unlock(&files->lock);
  self->status = 200;
  if (self->file != NULL) VOLT_RETURN(self, VOLT_OK);

  self->status = open_file(files, self->path, self->now, self->now_ns, BENEATH_NOW, &self->file);
  if (self->status == 0 || self->status == 503) {
    if (self->status == 503) {
      do {
        VOLT_AWAIT_RESULT(self, self->locked, volt_mutex_lock_future(&self->as.lock, &files->lock));
      } while (self->locked != VOLT_OK);
      drop(files, UINT64_MAX); /* no descriptor is left */
      volt_mutex_unlock(&files->lock);
    }
    do {
      self->status = 503; /* if no thread can be started */
      VOLT_AWAIT_RESULT(self, self->locked,
                        volt_blocking_future(&self->as.call, files->rt, open_blocking, self));
    } while (self->locked == VOLT_ECANCELED);
  }
  if (self->status != 200) VOLT_RETURN(self, VOLT_OK);

  do {
    VOLT_AWAIT_RESULT(self, self->locked, volt_mutex_lock_future(&self->as.lock, &files->lock));
  } while (self->locked != VOLT_OK);
  struct file *before = keep(files, self->file);
  volt_mutex_unlock(&files->lock);
  file_release(files, before);
  VOLT_ASYNC_END(self);
}

volt_future *find_future(struct find *f, struct files *files, const char *path, int64_t now,
                         uint64_t now_ns) {
  f->files = files;
  f->path = path;
  f->file = NULL;
  f->now = now;
  f->now_ns = now_ns;
  return volt_async_future(&f->async, find_poll);
}

/* ---- closing what is not used any more ---- */

struct sweeper {
  volt_task task;
  struct files *files;
  volt_future waiting;
  volt_sleep_op sleep;
  bool is_empty;
};

static int sweeper_poll(volt_task *t, volt_ctx *ctx) {
  struct sweeper *self = volt_container_of(t, struct sweeper, task);
  struct files *files = self->files;
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_notify_wait_future(&self->waiting, &files->filled));
    do {
      VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(files->rt),
                                         volt_rt_now_ns(files->rt) + files->keep_ns));
      VOLT_AWAIT(self, volt_mutex_lock_future(&self->waiting, &files->lock));
      drop(files, volt_rt_now_ns(files->rt));
      self->is_empty = files->kept_count == 0;
      volt_mutex_unlock(&files->lock);
    } while (!self->is_empty);
  }
  VOLT_TASK_END(self);
}

volt_task *files_sweeper(struct files *files) {
  struct sweeper *s = VOLT_TASK_NEW(files->rt, struct sweeper, sweeper_poll);
  if (s == NULL) return NULL;
  s->files = files;
  return &s->task;
}
