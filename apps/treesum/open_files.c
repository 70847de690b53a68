/* open_files.c: a semaphore, a count under a mutex, and the comparison of the two; a histogram of
 * the waits on a logarithmic scale.
 *
 * Buckets 0..7 of the histogram hold the times 0..7 exactly. From there on the position of the
 * highest bit says which group of eight, and the three bits below it which one of the eight. */
#define _GNU_SOURCE
#include "open_files.h"

#include "common/program.h"

/* ---- how long waits took ---- */

static unsigned bucket_of(uint64_t ns) {
  if (ns < 8) return (unsigned)ns;
  unsigned high = 63 - (unsigned)__builtin_clzll(ns); /* 3..63 */
  return (high - 2) * 8 + (unsigned)(ns >> (high - 3) & 7);
}

/* The longest time that falls into a bucket. */
static uint64_t bucket_end_ns(unsigned bucket) {
  if (bucket < 8) return bucket;
  unsigned shift = bucket / 8 - 1;
  uint64_t first = (UINT64_C(8) + bucket % 8) << shift;
  return first + ((UINT64_C(1) << shift) - 1);
}

/* Count one wait. */
static void wait_times_add(struct wait_times *times, uint64_t wait_ns) {
  times->count += 1;
  times->total_ns += wait_ns;
  if (wait_ns > times->max_ns) times->max_ns = wait_ns;
  times->buckets[bucket_of(wait_ns)] += 1;
}

uint64_t wait_times_percentile_ns(const struct wait_times *times, unsigned percent) {
  uint64_t wanted = (times->count * percent + 99) / 100;
  uint64_t seen = 0;
  for (unsigned i = 0; i < WAIT_TIMES_BUCKETS; i++) {
    seen += times->buckets[i];
    if (seen < wanted || seen == 0) continue;
    uint64_t end_ns = bucket_end_ns(i);
    return end_ns < times->max_ns ? end_ns : times->max_ns;
  }
  return 0;
}

/* ---- the bound ---- */

void open_files_init(struct open_files *files, uint32_t bound) {
  *files = (struct open_files){.bound = bound};
  volt_sem_init(&files->permits, bound);
  volt_mutex_init(&files->lock);
}

static void count_in(struct open_files *files) {
  files->use.entered += 1;
  files->open += 1;
  if (files->open > files->use.most) files->use.most = files->open;
  if (files->open > files->bound) fatal("%u files open: above the bound", files->open);
}

void open_files_enter_with(struct open_files_entry *e) {
  struct open_files *files = e->files;
  if (e->counted) return;
  e->counted = true;
  volt_mutex_lock(&files->lock);
  if (e->start_ns != 0) wait_times_add(&files->use.waits, e->end_ns - e->start_ns);
  if (e->has_permit) count_in(files);
  volt_mutex_unlock(&files->lock);
}

void open_files_leave_with(struct open_files_entry *e) {
  if (e->files == NULL) return;
  open_files_enter_with(e);
  if (e->has_permit) open_files_leave(e->files);
  *e = (struct open_files_entry){.files = NULL};
}

/* Only entries that have to wait read the clock. */
int open_files_enter(struct open_files *files) {
  struct open_files_entry e = {.files = files};
  int result = VOLT_OK;
  if (volt_sem_try_acquire(&files->permits, 1) != VOLT_OK) {
    e.start_ns = volt_now_ns();
    result = volt_sem_acquire(&files->permits, 1);
    e.end_ns = volt_now_ns();
  }
  e.has_permit = result == VOLT_OK;
  open_files_enter_with(&e);
  return result;
}

static int permit_poll(volt_async *a, volt_ctx *ctx) {
  struct open_files_entry *self = volt_container_of(a, struct open_files_entry, async);
  volt_sem *permits = &self->files->permits;
  int result = VOLT_OK;
  VOLT_ASYNC_BEGIN(self);
  if (volt_sem_try_acquire(permits, 1) != VOLT_OK) {
    self->start_ns = volt_now_ns();
    VOLT_AWAIT_RESULT(self, result, volt_sem_acquire_future(&self->permit, permits, 1));
    self->end_ns = volt_now_ns();
  }
  self->has_permit = result == VOLT_OK;
  VOLT_RETURN(self, result);
  VOLT_ASYNC_END(self);
}

volt_future *open_files_permit(struct open_files_entry *e, struct open_files *files) {
  *e = (struct open_files_entry){.files = files};
  return volt_async_future(&e->async, permit_poll);
}

void open_files_leave(struct open_files *files) {
  volt_mutex_lock(&files->lock);
  files->open -= 1;
  volt_mutex_unlock(&files->lock);
  volt_sem_release(&files->permits, 1);
}

void open_files_close(struct open_files *files) {
  volt_sem_close(&files->permits);
}

bool open_files_closed(struct open_files *files) {
  return volt_sem_is_closed(&files->permits);
}

struct open_files_use open_files_measured(struct open_files *files) {
  volt_mutex_lock(&files->lock);
  struct open_files_use use = files->use;
  volt_mutex_unlock(&files->lock);
  return use;
}

void open_files_destroy(struct open_files *files) {
  volt_sem_destroy(&files->permits);
  volt_mutex_destroy(&files->lock);
}
