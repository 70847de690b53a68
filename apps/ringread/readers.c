/* readers.c: threads that read random blocks through one ring.
 *
 * The operations have numbers, and the number says which block it is: the same seed reads the same
 * blocks, whatever thread reads them. The threads take numbers from a common counter, so that how
 * many each of them has done shows how fairly the ring serves them. */
#define _GNU_SOURCE /* pread, posix_memalign; liburing.h */
#include "common/program.h"
#include "ringread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 4096 /* what O_DIRECT needs at most */

/* What the threads share. */
struct readers {
  struct ring *ring;
  const struct files *files;
  const struct options *options;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) taken; /* operations that have begun */
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) failed;
  volt_sem start;
  volt_sem finished;
  volt_sem leave;
};

struct reader {
  VOLT_CACHE_ALIGNED struct readers *shared;
  pthread_t thread;
  unsigned char *buffer;
  unsigned char *expected;
  struct block block; /* what the current operation reads */
  uint64_t operations;
  uint64_t bytes;
};

/* A number of 64 random bits for each number (splitmix64). */
static uint64_t scramble(uint64_t number) {
  number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
  return number ^ number >> 31;
}

/* On the thread that submits, which may be another one. */
static void fill(struct io_uring_sqe *sqe, void *ctx) {
  const struct reader *reader = ctx;
  /* always a whole block: O_DIRECT takes no other size */
  io_uring_prep_read(sqe, reader->block.file->fd, reader->buffer,
                     reader->shared->options->block_bytes, reader->block.offset);
}

static bool wrong(const struct block *block, const char *what) {
  complain("%s: at %" PRIu64 ": %s", block->file->name, block->offset, what);
  return false;
}

static bool is_what_pread_reads(const struct reader *reader) {
  const struct block *block = &reader->block;
  ssize_t bytes =
      pread(block->file->plain_fd, reader->expected, block->size_bytes, (off_t)block->offset);
  if (bytes < 0) return wrong(block, strerror(errno));
  if ((size_t)bytes == block->size_bytes &&
      memcmp(reader->buffer, reader->expected, block->size_bytes) == 0) {
    return true;
  }
  return wrong(block, "pread reads something else");
}

static bool read_block(struct reader *reader) {
  const struct block *block = &reader->block;
  bool verify = reader->shared->options->verify;
  if (verify)
    memset(reader->buffer, 0xa5, block->size_bytes); /* nothing of the last block remains */
  int bytes = ring_run(reader->shared->ring, fill, reader);
  if (bytes < 0) return wrong(block, strerror(-bytes));
  if ((unsigned)bytes != block->size_bytes) {
    complain("%s: at %" PRIu64 ": short read: %d of %u bytes", block->file->name, block->offset,
             bytes, block->size_bytes);
    return false;
  }
  if (verify && !is_what_pread_reads(reader)) return false;
  reader->operations += 1;
  reader->bytes += (unsigned)bytes;
  return true;
}

static void read_blocks(struct reader *reader) {
  struct readers *shared = reader->shared;
  uint64_t first = scramble(shared->options->seed);
  /* relaxed: a hint to stop; nothing is read because of it */
  while (volt_load_relaxed(&shared->failed) == 0) {
    /* relaxed: numbers only, each given once */
    uint64_t number = volt_fetch_add_relaxed(&shared->taken, 1);
    if (number >= shared->options->operations) return;
    reader->block = files_block(shared->files, scramble(first + number) % shared->files->blocks);
    if (!read_block(reader)) volt_store_relaxed(&shared->failed, 1); /* joined before it is read */
  }
}

static void take(volt_sem *sem, uint32_t permits) {
  int result = volt_sem_acquire(sem, permits);
  if (result != VOLT_OK) fatal("volt_sem_acquire_until: %s", volt_strerror(result));
}

static void *run(void *ctx) {
  struct reader *reader = ctx;
  struct readers *shared = reader->shared;
  take(&shared->start, 1);
  read_blocks(reader);
  volt_sem_release(&shared->finished, 1);
  /* what others wait for may have been submitted by this thread, and would end with it */
  take(&shared->leave, 1);
  return NULL;
}

static unsigned char *allocate(size_t count, size_t size_bytes) {
  void *memory;
  if (posix_memalign(&memory, ALIGNMENT, count * size_bytes) != 0) fatal("out of memory");
  memset(memory, 0, count * size_bytes);
  return memory;
}

static struct reader *start_all(struct readers *shared) {
  unsigned count = shared->options->threads;
  size_t block_bytes = shared->options->block_bytes;
  struct reader *readers = (void *)allocate(count, sizeof *readers);
  for (unsigned i = 0; i < count; i++) {
    readers[i].shared = shared;
    readers[i].buffer = allocate(1, block_bytes);
    if (shared->options->verify) readers[i].expected = allocate(1, block_bytes);
    int error = pthread_create(&readers[i].thread, NULL, run, &readers[i]);
    if (error != 0) fatal("a thread could not be started: %s", strerror(error));
  }
  return readers;
}

static void add_up(struct readers_report *report, const struct reader *reader) {
  report->operations += reader->operations;
  report->bytes += reader->bytes;
  if (reader->operations < report->least) report->least = reader->operations;
  if (reader->operations > report->most) report->most = reader->operations;
}

struct readers_report readers_run(struct ring *ring, const struct files *files,
                                  const struct options *options) {
  struct readers shared = {.ring = ring, .files = files, .options = options};
  struct reader *readers = start_all(&shared);
  uint64_t start_ns = volt_now_ns();
  volt_sem_release(&shared.start, options->threads);
  take(&shared.finished, options->threads);
  struct readers_report report = {.least = UINT64_MAX, .elapsed_ns = volt_now_ns() - start_ns};
  volt_sem_release(&shared.leave, options->threads);
  for (unsigned i = 0; i < options->threads; i++) {
    pthread_join(readers[i].thread, NULL);
    add_up(&report, &readers[i]);
    free(readers[i].buffer);
    free(readers[i].expected);
  }
  report.failed = volt_load_relaxed(&shared.failed) != 0; /* all have been joined */
  free(readers);
  volt_sem_destroy(&shared.start);
  volt_sem_destroy(&shared.finished);
  volt_sem_destroy(&shared.leave);
  return report;
}
