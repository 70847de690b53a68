/* thread_seen.c: see sleepers.h.
 *
 * Algorithm: a thread that sleeps cannot be held back, as a task is: it may go on at any moment,
 * and the object that it waits for may be gone. So a copy of the object is made by the kernel:
 * where there is no memory, or none that may be read, the call fails, and nothing is known. What an
 * object says of itself is asked of the copy. It counts if the thread is found in the same wait
 * afterwards.
 *
 * Invariant
 *   I1  a thread was seen in a wait before its object was copied, and is in the same one afterwards
 *   => the
 *       object lived meanwhile, because the wait accesses it (volt/future.h), and the copy is of it */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "thread_seen.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <volt/channel.h>
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/semaphore.h>

bool volt_copy_(void *to, const void *from, size_t bytes) {
  struct iovec here = {to, bytes};
  struct iovec there = {(void *)(uintptr_t)from, bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

typedef union thread_copy_object {
  volt_fifo_ queue; /* with which each begins */
  volt_mutex mutex;
  volt_rwlock rwlock;
  volt_sem sem;
  volt_chan chan;
} thread_copy_object;

/* A future that would wait for the copy, as it is asked what it waits for. The names are in
 * brackets, so no macro notes this place as one of the caller's locks. */
static volt_future *dump_thread_future(volt_future *f, const volt_description_ *description,
                                       thread_copy_object *copy) {
  if (description->kind == VOLT_KIND_MUTEX_) return (volt_mutex_lock_future)(f, &copy->mutex);
  if (description->kind == VOLT_KIND_SEMAPHORE_) return (volt_sem_acquire_future)(f, &copy->sem, 1);
  if (description->kind == VOLT_KIND_CHANNEL_) return (volt_chan_recv_future)(f, &copy->chan, NULL);
  return description->for_write ? (volt_rwlock_write_future)(f, &copy->rwlock)
                                : (volt_rwlock_read_future)(f, &copy->rwlock);
}

/* How large an object is of which more may be known; 0: none. */
static size_t dump_thread_object_bytes(const volt_description_ *description) {
  static const size_t bytes[VOLT_KINDS_] = {[VOLT_KIND_MUTEX_] = sizeof(volt_mutex),
                                            [VOLT_KIND_RWLOCK_] = sizeof(volt_rwlock),
                                            [VOLT_KIND_SEMAPHORE_] = sizeof(volt_sem),
                                            [VOLT_KIND_CHANNEL_] = sizeof(volt_chan)};
  return description->object ? bytes[description->kind] : 0;
}

static void dump_thread_see_object(volt_thread_seen_ *s) {
  thread_copy_object copy;
  volt_future f;
  volt_description_ description;
  size_t bytes = dump_thread_object_bytes(&s->thread.description);
  if (bytes == 0 || !volt_copy_(&copy, s->thread.description.object, bytes)) return;
  volt_describe_(dump_thread_future(&f, &s->thread.description, &copy), &description);
  memcpy(s->thread.description.state, description.state, sizeof description.state);
  bool is_queued = volt_load_relaxed(&copy.queue.word) & VOLT_WORD_QUEUED_; /* a copy */
  s->thread.description.waiters = is_queued ? copy.queue.waiters : 0;
  (void)volt_holder_see_(&description, &s->holder);
}

static void dump_thread_forget_object(volt_thread_seen_ *s) {
  s->thread.description.state[0] = 0;
  s->thread.description.waiters = 0;
  s->holder = (volt_holder_seen_){.who = 0};
}

static bool dump_thread_sleeps_on(const volt_thread_seen_ *s, const volt_sleeper_seen_ *again,
                                  unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (again[i].number == s->thread.number) return again[i].wait == s->thread.wait;
  }
  return false;
}

unsigned volt_threads_see_(volt_thread_seen_ seen[VOLT_THREADS_SEEN_], uint64_t *cursor) {
  volt_sleeper_seen_ threads[VOLT_THREADS_SEEN_];
  uint64_t from = *cursor;
  unsigned count = volt_sleepers_copy_(threads, VOLT_THREADS_SEEN_, cursor);
  for (unsigned i = 0; i < count; i++) {
    seen[i] = (volt_thread_seen_){.thread = threads[i]};
    dump_thread_see_object(&seen[i]);
  }
  if (count == 0) return 0;
  unsigned again = volt_sleepers_copy_(threads, VOLT_THREADS_SEEN_, &from);
  for (unsigned i = 0; i < count; i++) {
    if (!dump_thread_sleeps_on(&seen[i], threads, again))
      dump_thread_forget_object(&seen[i]); /* I1 */
  }
  return count;
}
