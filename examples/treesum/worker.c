/* worker.c: a worker.
 *
 * What a sum is worth depends on the file staying as it is while it is read, so its status is
 * looked at before and after: a file that has shrunk, grown or been written to is an error, not a
 * sum of something that never existed. The file may also have become something else since the
 * walker saw it; it is opened so that neither a symbolic link nor a fifo does harm. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "open_path.h"

#define BUFFER_BYTES ((size_t)128 * 1024)

/* What has become of one file. */
struct outcome {
  enum { SUMMED, REPEATED, FAILED, LIST_ITSELF, STOPPED } kind;
  const char *reason; /* FAILED */
  struct stat status;
  struct sha256_sum sum; /* SUMMED, REPEATED */
};

void worker_init(struct worker *worker, struct scan *scan) {
  worker->scan = scan;
  worker->buffer = must_allocate(BUFFER_BYTES, 1);
  sha256_init(&worker->hash);
}

void worker_destroy(struct worker *worker) {
  sha256_destroy(&worker->hash);
  free(worker->buffer);
}

static void fail(struct outcome *outcome, const char *reason) {
  outcome->kind = FAILED;
  outcome->reason = reason;
}

static bool changed(const struct stat *before, const struct stat *after) {
  return before->st_size != after->st_size || before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
         before->st_mtim.tv_nsec != after->st_mtim.tv_nsec;
}

/* Read to the end and sum. outcome: the status is known. */
static void read_file(struct worker *worker, int fd, struct outcome *outcome) {
  sha256_begin(&worker->hash);
  for (;;) {
    if (open_files_closed(&worker->scan->open_files)) {
      outcome->kind = STOPPED;
      return;
    }
    ssize_t bytes = read(fd, worker->buffer, BUFFER_BYTES);
    if (bytes == 0) break;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      fail(outcome, strerror(errno));
      return;
    }
    sha256_add(&worker->hash, worker->buffer, (size_t)bytes);
    tally_add(&worker->scan->tally, (struct counts){.bytes = (uint64_t)bytes});
  }
  struct stat after;
  if (fstat(fd, &after) != 0) {
    fail(outcome, strerror(errno));
  } else if (changed(&outcome->status, &after)) {
    fail(outcome, "changed while it was read");
  } else {
    outcome->kind = SUMMED;
    outcome->sum = sha256_end(&worker->hash);
  }
}

static void sum_open_file(struct worker *worker, int fd, struct outcome *outcome) {
  const struct stat *list = &worker->scan->list;
  if (fstat(fd, &outcome->status) != 0) {
    fail(outcome, strerror(errno));
  } else if (!S_ISREG(outcome->status.st_mode)) {
    fail(outcome, "is no regular file any more");
  } else if (outcome->status.st_ino == list->st_ino && outcome->status.st_dev == list->st_dev) {
    outcome->kind = LIST_ITSELF;
  } else if (results_find(&worker->scan->results, &outcome->status, &outcome->sum)) {
    outcome->kind = REPEATED;
  } else {
    read_file(worker, fd, outcome);
  }
}

static void sum_file(struct worker *worker, const char *path, struct outcome *outcome) {
  struct open_files *open_files = &worker->scan->open_files;
  if (open_files_enter(open_files) != VOLT_OK) {
    outcome->kind = STOPPED;
    return;
  }
  struct slow_watch watch;
  slow_watch_begin(&watch, &worker->scan->slow, path);
  int fd = open_path(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) {
    sum_open_file(worker, fd, outcome);
    close(fd);
  } else {
    fail(outcome, strerror(errno));
  }
  if (slow_watch_end(&watch)) tally_add(&worker->scan->tally, (struct counts){.slow = 1});
  open_files_leave(open_files);
}

/* Record the outcome. path: belongs to the results or is freed. */
static void record(struct scan *scan, char *path, const struct outcome *outcome) {
  switch (outcome->kind) {
    case SUMMED:
      results_add(&scan->results, path, &outcome->status, &outcome->sum);
      tally_add(&scan->tally, (struct counts){.summed = 1});
      return;
    case REPEATED:
      results_add(&scan->results, path, &outcome->status, &outcome->sum);
      tally_add(&scan->tally, (struct counts){.summed = 1, .repeated = 1});
      return;
    case FAILED:
      console_complain(scan->console, path, outcome->reason);
      tally_add(&scan->tally, (struct counts){.skipped = 1});
      break;
    case LIST_ITSELF:
      console_mention(scan->console, path, "is the list itself: left out");
      tally_add(&scan->tally, (struct counts){.skipped = 1});
      break;
    case STOPPED: break;
  }
  free(path);
}

void *worker_run(void *ctx) {
  struct worker *worker = ctx;
  struct outcome outcome = {.kind = SUMMED};
  while (outcome.kind != STOPPED) {
    char *path = path_queue_pop(&worker->scan->queue);
    if (path == NULL) break;
    sum_file(worker, path, &outcome);
    record(worker->scan, path, &outcome);
  }
  return NULL;
}
