/* scan.c: what the parallel part works on; opens, reads, hashes and judges a file.
 *
 * What a sum is worth depends on the file staying as it is while it is read, so its status is
 * looked at before and after: a file that has shrunk, grown or been written to is an error, not a
 * sum of something that never existed. The file may also have become something else since the
 * walker saw it; it is opened so that neither a symbolic link, wherever on its way, nor a fifo does
 * harm. */
#define _GNU_SOURCE
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"

void scan_init(struct scan *scan, char *const *roots, unsigned open_files, unsigned slow_after_ms,
               struct console *console) {
  *scan = (struct scan){.console = console};
  scan->slow = (struct slow){slow_after_ms, console, &scan->tally};
  roots_init(&scan->roots, roots);
  open_files_init(&scan->open_files, open_files);
  results_init(&scan->results);
  tally_init(&scan->tally);
}

void scan_destroy(struct scan *scan) {
  open_files_destroy(&scan->open_files);
  results_destroy(&scan->results);
  tally_destroy(&scan->tally);
  roots_destroy(&scan->roots);
}

/* ---- the sum of one file ---- */

/* A small file takes two, of which one finds the end: so it is done in one step. */
#define READS_AT_ONCE 8

void file_sum_begin(struct file_sum *f, struct scan *scan, char *path) {
  *f = (struct file_sum){.scan = scan, .state = FILE_SUM_UNREAD, .path = path};
}

bool file_sum_is_open(const struct file_sum *f) {
  return f->state == FILE_SUM_READING;
}

void file_sum_close(struct file_sum *f) {
  if (!file_sum_is_open(f)) return;
  close(f->fd);
  f->state = FILE_SUM_NONE;
}

static void leave_out(struct file_sum *f) {
  f->state = FILE_SUM_NONE;
  tally_add(&f->scan->tally, (struct counts){.skipped = 1});
}

static void fail(struct file_sum *f, const char *reason) {
  leave_out(f);
  console_complain(f->scan->console, f->path, reason);
}

static bool changed(const struct stat *before, const struct stat *after) {
  return before->st_size != after->st_size || before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
         before->st_mtim.tv_nsec != after->st_mtim.tv_nsec;
}

/* Every byte of it has been read. */
static void judge(struct file_sum *f) {
  struct stat after;
  if (fstat(f->fd, &after) != 0) {
    fail(f, strerror(errno));
  } else if (changed(&f->status, &after)) {
    fail(f, "changed while it was read");
  } else {
    f->state = FILE_SUM_READ;
  }
}

static void read_part(struct file_sum *f, struct hasher *hasher) {
  ssize_t bytes = read(f->fd, hasher->buffer, HASHER_BYTES);
  if (bytes > 0) {
    sha256_add(&hasher->hash, hasher->buffer, (size_t)bytes);
    tally_add(&f->scan->tally, (struct counts){.bytes = (uint64_t)bytes});
  } else if (bytes == 0) {
    judge(f);
  } else if (errno != EINTR) {
    fail(f, strerror(errno));
  }
}

/* It has just been opened. */
static void look_at(struct file_sum *f) {
  const struct stat *list = &f->scan->list;
  if (fstat(f->fd, &f->status) != 0) {
    fail(f, strerror(errno));
  } else if (!S_ISREG(f->status.st_mode)) {
    fail(f, "is no regular file any more");
  } else if (f->status.st_ino == list->st_ino && f->status.st_dev == list->st_dev) {
    leave_out(f);
    console_mention(f->scan->console, f->path, "is the list itself: left out");
  } else if (results_find(&f->scan->results, &f->status, &f->sum)) {
    f->state = FILE_SUM_REPEATED;
  } else {
    f->state = FILE_SUM_READING;
  }
}

/* Returns false if it cannot be opened. */
static bool open_file(struct file_sum *f, struct hasher *hasher) {
  f->fd = roots_open(&f->scan->roots, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (f->fd < 0) {
    fail(f, strerror(errno));
    return false;
  }
  look_at(f);
  sha256_begin(&hasher->hash);
  return true;
}

void file_sum_step(struct file_sum *f, struct hasher *hasher) {
  if (f->state == FILE_SUM_UNREAD && !open_file(f, hasher)) return;
  for (unsigned i = 0; i < READS_AT_ONCE && file_sum_is_open(f); i++) read_part(f, hasher);
  if (!file_sum_is_open(f)) close(f->fd);
}

void file_sum_end(struct file_sum *f, struct hasher *hasher) {
  bool repeated = f->state == FILE_SUM_REPEATED;
  if (f->state == FILE_SUM_READ) f->sum = sha256_end(&hasher->hash);
  if (repeated || f->state == FILE_SUM_READ) {
    results_add(&f->scan->results, f->path, &f->status, &f->sum);
    tally_add(&f->scan->tally, (struct counts){.summed = 1, .repeated = repeated});
  } else {
    free(f->path);
  }
  f->path = NULL;
}
