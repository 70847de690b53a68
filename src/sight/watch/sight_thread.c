/* sight_thread.c: the thread "volt-sight". It is no worker and runs no task: it sleeps in poll(2)
 * until a time has come, a descriptor is ready, or its eventfd is.
 *
 * Invariants, whenever the mutex is free
 *   I1  what is in the list or in the table is its owner's to keep; what is in neither is not used
 *   I2  `runs` is what the thread calls at the moment; NULL: nothing
 *   I3  the eventfd, once made, stays until the process ends: a signal handler may use it
 *
 * Races
 *   R1  Interleaving: a duty is removed while the thread runs it, and its memory is freed. Prevented
 *       by: remove waits until the thread runs something else.
 *   R2  Interleaving: a duty is woken as the thread is about to sleep. Prevented by: the word of the
 *       duty is set before the eventfd, and the thread reads it after it has cleared the eventfd.
 *   R3  Interleaving: the last duty is removed and the thread is about to end; another is added, and
 *       waits for a thread that is not there. Prevented by: the thread decides under the mutex; a
 *       thread that adds joins one that has ended, and starts another.
 *   R4  Interleaving: a fork() while the mutex is held. Prevented by: fork() takes it before
 *       (at_fork.h). The child forgets everything, and has an eventfd of its own when it needs one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np */
#endif
#include "sight_thread.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "../../core/os/at_fork.h"
#include "../../rt/sched/thread.h"
#include "sight_enable.h"

enum { SIGHT_NONE, SIGHT_RUNS, SIGHT_ENDED };

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* `runs` or `stage` */
  int stage;
  volt_thread_ thread; /* unless NONE */
  volt_duty_ *first;   /* in the order in which they were added, or run last */
  volt_sight_fd_ *fds[VOLT_SIGHT_FDS_];
  const void *runs;          /* I2 */
  VOLT_ATOMIC(int) doorbell; /* the eventfd + 1; 0: none yet. I3 */
} sight = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Whether this thread is it. A word, as every variable of a thread here: glibc takes the memory of two
 * libraries that are unloaded together back only if no gap is between them. Kept: clang makes a byte of a word that is
 * only set to 0 and 1. */
static _Thread_local uint64_t sight_is_here VOLT_KEPT_;

bool volt_sight_is_here_(void) {
  return sight_is_here;
}

static void sight_lock(void) {
  pthread_mutex_lock(&sight.mutex);
}

static void sight_unlock(void) {
  pthread_mutex_unlock(&sight.mutex);
}

static void sight_ring(void) {
  int doorbell = volt_load_relaxed(&sight.doorbell); /* it orders nothing: the mutex, or R2 */
  if (doorbell != 0) volt_eventfd_add_(doorbell - 1);
}

void volt_sight_wake_(volt_duty_ *d) {
  /* sight_thread:W1 -> sight_thread:T1: the duty sees what was done before it was woken; R2 */
  volt_store_release(&d->is_woken, 1);
  sight_ring();
}

/* ---- the list and the table, under the mutex ---- */

static bool sight_is_idle(void) {
  for (unsigned i = 0; i < VOLT_SIGHT_FDS_; i++) {
    if (sight.fds[i]) return false;
  }
  return !sight.first;
}

static void sight_append(volt_duty_ *d) {
  volt_duty_ **at = &sight.first;
  while (*at) at = &(*at)->next;
  d->next = NULL;
  *at = d;
}

/* Returns whether it was there. */
static bool sight_unlink(volt_duty_ *d) {
  volt_duty_ **at = &sight.first;
  while (*at && *at != d) at = &(*at)->next;
  if (!*at) return false;
  *at = d->next;
  return true;
}

/* The place of f, or with NULL a free one; VOLT_SIGHT_FDS_: none. */
static unsigned sight_place(const volt_sight_fd_ *f) {
  unsigned i = 0;
  while (i < VOLT_SIGHT_FDS_ && sight.fds[i] != f) i++;
  return i;
}

/* ---- the thread ---- */

static void sight_begin(const void *what) {
  sight.runs = what;
  sight_unlock();
}

static void sight_end(void) {
  sight_lock();
  sight.runs = NULL;
  pthread_cond_broadcast(&sight.changed);
}

static bool sight_is_due(volt_duty_ *d, uint64_t now_ns) {
  /* sight_thread:T1 <- sight_thread:W1: the duty sees what was done before it was woken */
  return volt_exchange_acquire(&d->is_woken, 0) != 0 || d->at_ns <= now_ns;
}

/* Run the first duty that is due. It is the last of the list then, so none keeps another from running.
 * Returns whether there was one. */
static bool sight_run_one(void) {
  uint64_t now_ns = volt_now_ns();
  volt_duty_ *d = sight.first;
  while (d && !sight_is_due(d, now_ns)) d = d->next;
  if (!d) return false;
  sight_unlink(d);
  sight_append(d);
  d->at_ns = VOLT_NO_DEADLINE;
  sight_begin(d);
  d->run(d, now_ns);
  sight_end();
  return true;
}

/* In milliseconds, as poll(2) has it: until the first duty is due. */
static int sight_timeout(void) {
  uint64_t at_ns = VOLT_NO_DEADLINE;
  for (volt_duty_ *d = sight.first; d; d = d->next) {
    if (d->at_ns < at_ns) at_ns = d->at_ns;
  }
  uint64_t now_ns = volt_now_ns();
  if (at_ns <= now_ns) return 0;
  uint64_t ms = (at_ns - now_ns + 999999) / 1000000;
  return ms < 3600000 ? (int)ms : 3600000;
}

/* Sleep, if nothing is due, and call what is ready. */
static void sight_poll(int timeout_ms) {
  struct pollfd asked[1 + VOLT_SIGHT_FDS_];
  volt_sight_fd_ *of[VOLT_SIGHT_FDS_];
  nfds_t count = 1;
  int doorbell = volt_load_relaxed(&sight.doorbell) - 1; /* under the mutex */
  asked[0] = (struct pollfd){.fd = doorbell, .events = POLLIN};
  for (unsigned i = 0; i < VOLT_SIGHT_FDS_; i++) {
    if (!sight.fds[i]) continue;
    of[count - 1] = sight.fds[i];
    asked[count++] = (struct pollfd){.fd = sight.fds[i]->fd, .events = sight.fds[i]->events};
  }
  sight_unlock();
  int ready = poll(asked, count, timeout_ms);
  if (ready > 0 && asked[0].revents) volt_eventfd_clear_(doorbell); /* R2 */
  sight_lock();
  if (ready <= 0) return;
  for (nfds_t i = 1; i < count; i++) {
    volt_sight_fd_ *f = of[i - 1];
    bool is_there = sight_place(f) < VOLT_SIGHT_FDS_ && f->fd == asked[i].fd; /* I1 */
    if (!is_there || !asked[i].revents) continue;
    sight_begin(f);
    f->ready(f, asked[i].revents);
    sight_end();
  }
}

static void *sight_main(void *unused) {
  (void)unused;
  sight_is_here = true;
  pthread_setname_np(pthread_self(), "volt-sight");
  sight_lock();
  while (!sight_is_idle()) {
    bool again = sight_run_one();
    sight_poll(again ? 0 : sight_timeout());
  }
  if (sight.stage == SIGHT_RUNS) sight.stage = SIGHT_ENDED; /* R3; R4: else it is in a child */
  pthread_cond_broadcast(&sight.changed);
  sight_unlock();
  return NULL;
}

/* ---- fork ---- */

static void sight_forget(void) {
  pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  volt_duty_ *d = sight.first;
  sight.changed = fresh;
  sight.stage = SIGHT_NONE;
  sight.first = NULL;
  sight.runs = NULL;
  sight_is_here = false;
  int doorbell = volt_load_relaxed(&sight.doorbell); /* one thread is here */
  volt_store_relaxed(&sight.doorbell, 0);            /* as above */
  if (doorbell != 0) close(doorbell - 1);            /* the parent has it, too */
  for (volt_duty_ *next; d; d = next) {
    next = d->next;
    if (d->forget) d->forget(d);
  }
  for (unsigned i = 0; i < VOLT_SIGHT_FDS_; i++) {
    volt_sight_fd_ *f = sight.fds[i];
    sight.fds[i] = NULL;
    if (f && f->forget) f->forget(f);
  }
  volt_sight_enable_forget_();
  sight_unlock();
}

/* R4 */
static VOLT_AT_LOAD_(VOLT_FORK_SIGHT_) void sight_load(void) {
  volt_at_fork_(sight_lock, sight_unlock, sight_forget);
}

/* ---- add and remove ---- */

static bool sight_has_doorbell(void) {
  if (volt_load_relaxed(&sight.doorbell) == 0) {                   /* under the mutex */
    volt_store_relaxed(&sight.doorbell, volt_eventfd_open_() + 1); /* as above */
  }
  return volt_load_relaxed(&sight.doorbell) != 0; /* as above */
}

static void sight_join(void) {
  if (sight.stage != SIGHT_ENDED) return;
  volt_thread_join_(sight.thread); /* it needs the mutex no more */
  sight.stage = SIGHT_NONE;
}

/* Something was added. Returns whether the thread is there. */
static bool sight_start(void) {
  sight_join(); /* R3 */
  if (!sight_has_doorbell()) return false;
  sight_ring();
  if (sight.stage == SIGHT_RUNS) return true;
  if (!volt_thread_start_(&sight.thread, sight_main, NULL)) return false;
  sight.stage = SIGHT_RUNS;
  return true;
}

/* Something was removed. Wait until it does not run (R1); and, if nothing is left, until the thread
 * has ended. */
static void sight_settle(const void *removed) {
  if (sight_is_here) return;
  while (sight.runs == removed) pthread_cond_wait(&sight.changed, &sight.mutex);
  if (sight_is_idle()) sight_ring();
  while (sight_is_idle() && sight.stage == SIGHT_RUNS) {
    pthread_cond_wait(&sight.changed, &sight.mutex);
  }
  sight_join();
}

int volt_sight_add_(volt_duty_ *d) {
  sight_lock();
  sight_append(d);
  bool started = sight_start();
  if (!started) sight_unlink(d);
  sight_unlock();
  return started ? VOLT_OK : VOLT_EAGAIN;
}

int volt_sight_add_fd_(volt_sight_fd_ *f) {
  sight_lock();
  unsigned place = sight_place(NULL);
  bool started = place < VOLT_SIGHT_FDS_;
  if (started) {
    sight.fds[place] = f;
    started = sight_start();
    if (!started) sight.fds[place] = NULL;
  }
  sight_unlock();
  return started ? VOLT_OK : VOLT_EAGAIN;
}

void volt_sight_remove_(volt_duty_ *d) {
  sight_lock();
  (void)sight_unlink(d);
  sight_settle(d);
  sight_unlock();
}

void volt_sight_remove_fd_(volt_sight_fd_ *f) {
  sight_lock();
  unsigned place = sight_place(f);
  if (place < VOLT_SIGHT_FDS_) sight.fds[place] = NULL;
  sight_settle(f);
  sight_unlock();
}
