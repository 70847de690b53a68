/* bypass_stress.c: mutexes and read-write locks that newcomers may take before the oldest waiter,
 * at most k times; k is 1, 2, 16 and 255 in turn. Threads and tasks wait in every way there is:
 * tries, blocking calls, raw waiters, futures polled by hand and moved between pollers, selects,
 * deadlines, cancels, waiters from a condition variable, fair unlocks, downgrades.
 *
 * The books, besides exclusion and that nothing is lost:
 * Wait     a waiter with p before it is passed by at most k for each of p + 1 heads. So it waits
 *          for at most (p + 1)(k + 1) turns. Counted for each future that asks for everything.
 * Line     a ticket is drawn as a waiter is linked. Tickets are served in their order, and between
 *          two of them at most k newcomers are.
 * Pollers  each registration is settled by one wake or one drop; until then its thread stays. */
#define _GNU_SOURCE /* pthread, sched_yield */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <volt/runtime.h>

#include "subject.h"

#define WHOLE VOLT_RWLOCK_WRITER_
#define ROUND_NS UINT64_C(40000000)

static const uint32_t bounds[] = {1, 2, 16, 255};
static uint32_t bypass; /* of all objects of a round */

/* ---- the object: a mutex or a read-write lock, and how often it was taken ---- */

typedef struct lock_object {
  union {
    volt_mutex mutex;
    volt_rwlock rwlock;
  } is;
  VOLT_ATOMIC(uint64_t) takes; /* each is counted soon after it */
} lock_object;

static volt_mutex *mutex_in(void *object) {
  return &((lock_object *)object)->is.mutex;
}
static volt_rwlock *rwlock_in(void *object) {
  return &((lock_object *)object)->is.rwlock;
}

static int taken(void *object, int result) {
  if (result == VOLT_OK) volt_fetch_add_relaxed(&((lock_object *)object)->takes, 1); /* a count */
  return result;
}

static void mutex_init(void *object, uint32_t total) {
  STRESS_CHECK(total == 1);
  volt_mutex_init_bypass(mutex_in(object), bypass);
  volt_store_relaxed(&((lock_object *)object)->takes, 0); /* not shared yet */
}
static void mutex_destroy(void *object) {
  volt_mutex_destroy(mutex_in(object));
}
static uint32_t mutex_waiters(void *object) {
  return volt_mutex_waiters(mutex_in(object));
}
static int mutex_try(void *object, uint32_t n) {
  (void)n;
  return taken(object, volt_mutex_try_lock(mutex_in(object)));
}
static int mutex_lock(void *object, volt_waiter *w, uint32_t n, volt_waker waker) {
  (void)n;
  return taken(object, volt_mutex_lock_waiter(mutex_in(object), w, waker));
}
static int mutex_lock_until(void *object, uint32_t n, uint64_t deadline_ns) {
  (void)n;
  return taken(object, volt_mutex_lock_until(mutex_in(object), deadline_ns));
}
static bool mutex_cancel(void *object, volt_waiter *w) {
  return volt_mutex_cancel(mutex_in(object), w);
}
static volt_future *mutex_future(volt_future *f, void *object, uint32_t n) {
  (void)n;
  return volt_mutex_lock_future(f, mutex_in(object));
}

/* Every eighth holder hands over. */
static void mutex_unlock(void *object, uint32_t n) {
  static _Thread_local unsigned turn;
  (void)n;
  if (++turn % 8 == 0) {
    volt_mutex_unlock_fair(mutex_in(object));
  } else {
    volt_mutex_unlock(mutex_in(object));
  }
}

/* Once nobody waits: nothing is left in the word. */
static uint32_t mutex_available(void *object) {
  STRESS_CHECK(volt_load_relaxed(&mutex_in(object)->queue.word) == 0);
  return volt_mutex_is_locked(mutex_in(object)) ? 0 : 1;
}

static void rwlock_init(void *object, uint32_t total) {
  STRESS_CHECK(total == WHOLE);
  volt_rwlock_init_bypass(rwlock_in(object), bypass);
  volt_store_relaxed(&((lock_object *)object)->takes, 0); /* not shared yet */
}
static void rwlock_destroy(void *object) {
  volt_rwlock_destroy(rwlock_in(object));
}
static uint32_t rwlock_waiters(void *object) {
  return volt_rwlock_waiters(rwlock_in(object));
}
static int rwlock_try(void *object, uint32_t n) {
  volt_rwlock *rw = rwlock_in(object);
  return taken(object, n == WHOLE ? volt_rwlock_try_write(rw) : volt_rwlock_try_read(rw));
}
static int rwlock_lock(void *object, volt_waiter *w, uint32_t n, volt_waker waker) {
  volt_rwlock *rw = rwlock_in(object);
  return taken(object, n == WHOLE ? volt_rwlock_write_waiter(rw, w, waker)
                                  : volt_rwlock_read_waiter(rw, w, waker));
}
static int rwlock_lock_until(void *object, uint32_t n, uint64_t deadline_ns) {
  volt_rwlock *rw = rwlock_in(object);
  return taken(object, n == WHOLE ? volt_rwlock_write_until(rw, deadline_ns)
                                  : volt_rwlock_read_until(rw, deadline_ns));
}
static bool rwlock_cancel(void *object, volt_waiter *w) {
  return volt_rwlock_cancel(rwlock_in(object), w);
}
static volt_future *rwlock_future(volt_future *f, void *object, uint32_t n) {
  volt_rwlock *rw = rwlock_in(object);
  return n == WHOLE ? volt_rwlock_write_future(f, rw) : volt_rwlock_read_future(f, rw);
}

/* Every eighth writer leaves as a reader, and every eighth hands over. */
static void rwlock_unlock(void *object, uint32_t n) {
  static _Thread_local unsigned turn;
  volt_rwlock *rw = rwlock_in(object);
  if (n != WHOLE) {
    volt_rwlock_read_unlock(rw);
  } else if (++turn % 8 == 0) {
    volt_rwlock_downgrade(rw);
    volt_rwlock_read_unlock(rw);
  } else if (turn % 8 == 4) {
    volt_rwlock_write_unlock_fair(rw);
  } else {
    volt_rwlock_write_unlock(rw);
  }
}

static uint32_t rwlock_available(void *object) {
  volt_rwlock *rw = rwlock_in(object);
  STRESS_CHECK(volt_load_relaxed(&rw->queue.word) == 0);
  if (volt_rwlock_try_write(rw) != VOLT_OK) return 0;
  volt_rwlock_write_unlock(rw);
  return WHOLE;
}

static bool set_waker(void *object, volt_waiter *w, volt_waker waker) {
  (void)object;
  return volt_waiter_set_waker(w, waker);
}

/* ---- how long a future waits ---- */

enum { VISITORS = 3, MOST_AT_ONCE = STRESS_MAX_THREADS * (VISITORS + 1) };

typedef struct wait_begin {
  uint64_t takes;
  uint32_t before; /* at most so many waiters are before this one */
} wait_begin;

/* A future has just been linked. */
static wait_begin note_wait(const stress_subject *s, void *object) {
  uint32_t waiters = s->waiters(object); /* first: who leaves now is counted twice, not never */
  wait_begin begin = {.before = waiters > 0 ? waiters - 1 : 0};
  begin.takes = volt_load_relaxed(&((lock_object *)object)->takes);
  return begin;
}

/* It has everything now, so nobody else takes anything; its take is counted. Others may have taken
 * something before it was linked and counted that after it. */
static void check_wait(const stress_subject *s, void *object, uint32_t n, wait_begin begin) {
  bool is_mutex = s->totals[0] == 1;
  if (!is_mutex && n != WHOLE) return;
  uint64_t takes = volt_load_relaxed(&((lock_object *)object)->takes) - begin.takes;
  uint64_t late = is_mutex ? 1 : MOST_AT_ONCE;
  STRESS_CHECK(takes <= (begin.before + UINT64_C(1)) * (bypass + UINT64_C(1)) + late);
}

/* ---- ways to take it ---- */

/* Two for each thread: a future may move from one to the other. */
typedef struct poller {
  volt_ctx ctx;
  VOLT_ATOMIC(uint32_t) told; /* wakes and drops */
} poller;

static poller pollers[STRESS_MAX_THREADS][2];
static volt_sem side; /* what a select waits for beside the lock */

static void tell(void *ctx) {
  volt_fetch_add_release(&((poller *)ctx)->told, 1);
}

static void make_pollers(void) {
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    for (unsigned j = 0; j < 2; j++) {
      poller *p = &pollers[i][j];
      volt_waker waker = {tell, p};
      p->ctx = (volt_ctx)VOLT_CTX_INIT(waker);
      p->ctx.drop = tell;
      p->ctx.budget = VOLT_CTX_BUDGET_MAX_;
    }
  }
}

/* Nothing refers to this thread's pollers any more, soon. */
static void settle(stress_worker *w) {
  for (unsigned j = 0; j < 2; j++) {
    poller *p = &pollers[w->index][j];
    while (volt_load_acquire(&p->told) != p->ctx.registered) sched_yield();
  }
}

static int way_try(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  (void)w;
  return s->try_acquire(object, n);
}

static int way_blocking(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  (void)w;
  return s->acquire_until(object, n, VOLT_NO_DEADLINE);
}

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 4) == 0 ? 0 : stress_below(w, 20000));
}

static int way_timed(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  return s->acquire_until(object, n, soon(w));
}

/* A raw waiter: its wake comes once, and means that it has the lock. */
static int way_raw(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  stress_slot *slot = stress_any_slot(w), *other = stress_any_slot(w);
  int result = s->acquire(object, &waiter, n, stress_waker(slot));
  if (result != VOLT_PENDING) return result;
  stress_dawdle(w);
  if (stress_below(w, 4) == 0 && s->set_waker(object, &waiter, stress_waker(other))) slot = other;
  slot->expected += 1;
  uint32_t patience = stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 32);
  while (patience-- > 0 && volt_waiter_result(&waiter) == VOLT_PENDING) stress_dawdle(w);
  if (s->cancel(object, &waiter)) slot->expected -= 1;
  result = volt_waiter_result(&waiter);
  memset((void *)&waiter, 0xa5, sizeof waiter);
  return taken(object, result);
}

static volt_future *new_future(const stress_subject *s, void *object, uint32_t n) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  memset((void *)f, 0xee, sizeof *f);
  return s->future(f, object, n);
}

static int end_future(stress_worker *w, volt_future *f, int result) {
  if (result == VOLT_PENDING) {
    volt_future_cancel(f);
    result = VOLT_ECANCELED;
  }
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
  settle(w);
  return result;
}

static int poll_once(stress_worker *w, volt_future *f, unsigned which) {
  poller *p = &pollers[w->index][which];
  p->ctx.budget = VOLT_CTX_BUDGET_MAX_;
  return volt_future_poll_ctx(f, &p->ctx);
}

/* Poll, with one poller or the other, as it is told or for no reason; perhaps block in the end. */
static int way_polled(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_future *f = new_future(s, object, n);
  unsigned which = 0;
  int result = poll_once(w, f, which);
  bool waited = result == VOLT_PENDING;
  wait_begin begin = {0, 0};
  if (waited) begin = note_wait(s, object);
  bool blocks = stress_below(w, 3) == 0;
  uint32_t patience = stress_below(w, 3) == 0 && !blocks ? UINT32_MAX : stress_below(w, 16);
  for (; patience > 0 && result == VOLT_PENDING; patience--) {
    uint32_t told = volt_load_acquire(&pollers[w->index][which].told);
    for (uint32_t naps = stress_below(w, 16);
         naps > 0 && volt_load_acquire(&pollers[w->index][which].told) == told; naps--) {
      sched_yield();
    }
    if (stress_below(w, 8) == 0) which = 1 - which;
    result = poll_once(w, f, which);
  }
  if (result == VOLT_PENDING && blocks) {
    result = volt_future_wait_until(f, stress_below(w, 2) ? VOLT_NO_DEADLINE : soon(w));
  }
  if (taken(object, result) == VOLT_OK && waited) check_wait(s, object, n, begin);
  return end_future(w, f, result);
}

static int way_block_on(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_future *f = new_future(s, object, n);
  uint64_t deadline_ns = stress_below(w, 2) ? VOLT_NO_DEADLINE : soon(w);
  return end_future(w, f, taken(object, volt_future_wait_until(f, deadline_ns)));
}

/* The first of the lock and something else; what has lost is cancelled, or kept without a waker and
 * then cancelled or waited for. */
static int way_select(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_future permit, *f = new_future(s, object, n);
  volt_future *branches[] = {f, volt_sem_acquire_future(&permit, &side, 1)};
  bool keeps = stress_below(w, 2) == 0;
  volt_select select;
  volt_future_made(volt_select_future(
      &select, branches, 2, keeps ? VOLT_SELECT_FAIR | VOLT_SELECT_KEEP : VOLT_SELECT_FAIR));
  int result = volt_future_wait_until(&select.future, soon(w));
  if (result == VOLT_OK && volt_select_winner(&select) == 1) {
    volt_sem_release(&side, 1);
    result = keeps ? VOLT_PENDING : VOLT_EAGAIN;
  } else if (keeps) {
    volt_future_cancel(&permit);
    if (result != VOLT_OK) result = VOLT_PENDING;
  }
  if (result == VOLT_PENDING && stress_below(w, 2)) {
    stress_dawdle(w);
    result = stress_below(w, 2) ? poll_once(w, f, 0) : volt_future_wait(f);
  }
  return end_future(w, f, taken(object, result));
}

static const stress_named_way ways[] = {
    {"try", way_try},           {"blocking", way_blocking},
    {"blocking", way_blocking}, {"blocking with a deadline", way_timed},
    {"raw", way_raw},           {"polled", way_polled},
    {"polled", way_polled},     {"block_on", way_block_on},
    {"select", way_select},
};
static const uint32_t mutex_totals[] = {1};
static const uint32_t rwlock_totals[] = {WHOLE};

#define COMMON                                                                          \
  .bytes = sizeof(lock_object), .set_waker = set_waker, .ways = ways, .total_count = 1, \
  .way_count = sizeof ways / sizeof *ways
static const stress_subject mutex_subject = {.init = mutex_init,
                                             .destroy = mutex_destroy,
                                             .try_acquire = mutex_try,
                                             .acquire = mutex_lock,
                                             .acquire_until = mutex_lock_until,
                                             .cancel = mutex_cancel,
                                             .release = mutex_unlock,
                                             .available = mutex_available,
                                             .waiters = mutex_waiters,
                                             .future = mutex_future,
                                             .totals = mutex_totals,
                                             COMMON};
static const stress_subject rwlock_subject = {.init = rwlock_init,
                                              .destroy = rwlock_destroy,
                                              .try_acquire = rwlock_try,
                                              .acquire = rwlock_lock,
                                              .acquire_until = rwlock_lock_until,
                                              .cancel = rwlock_cancel,
                                              .release = rwlock_unlock,
                                              .available = rwlock_available,
                                              .waiters = rwlock_waiters,
                                              .future = rwlock_future,
                                              .totals = rwlock_totals,
                                              COMMON};

/* ---- a line: tickets ---- */

static struct {
  const stress_subject *subject;
  uint32_t whole; /* what those who queue ask for: the mutex, or the lock for writing */
  lock_object lock;
  bool gives_up;               /* whether waiters leave the line */
  pthread_mutex_t door;        /* held from before a waiter is linked until its ticket is drawn */
  VOLT_ATOMIC(uint64_t) drawn; /* tickets */
  /* who gives up, or may: before and after the attempt. One that is served instead is taken back
   * from the first */
  VOLT_ATOMIC(uint64_t) giving_up;
  VOLT_ATOMIC(uint64_t) gave_up;
  VOLT_ATOMIC(uint64_t) passed; /* newcomers since the last was served; readers count together */
  /* written by who has the whole */
  uint64_t served;
  uint64_t last_ticket;
  uint64_t gave_up_before; /* when the last was served */
} line;

/* The holder, which has not queued. drawn: what line.drawn was before it tried. If more tickets
 * were drawn by then than have been served, or may have left, a waiter was queued all the time. */
static void line_passed(uint64_t drawn) {
  uint64_t giving_up = volt_load_acquire(&line.giving_up);
  if (drawn <= line.served + giving_up) return;
  uint64_t passed = volt_fetch_add_relaxed(&line.passed, 1) + 1; /* a count, reset under the lock */
  /* a head that leaves takes its count with it */
  STRESS_CHECK(passed <= bypass * (1 + giving_up - line.gave_up_before));
}

/* The holder, which has queued. */
static void line_served(uint64_t ticket) {
  taken(&line.lock, VOLT_OK);
  STRESS_CHECK(line.gives_up ? ticket > line.last_ticket : ticket == line.last_ticket + 1);
  line.last_ticket = ticket;
  line.served += 1;
  volt_store_relaxed(&line.passed, 0); /* the lock orders it */
  line.gave_up_before = volt_load_acquire(&line.gave_up);
}

static void line_leave(stress_worker *w, uint32_t n) {
  stress_dawdle(w);
  line.subject->release(&line.lock, n);
  w->acquired += 1;
}

static void line_try(stress_worker *w) {
  uint32_t n = stress_pick(w, line.subject, line.whole);
  uint64_t drawn = volt_load_acquire(&line.drawn);
  if (line.subject->try_acquire(&line.lock, n) != VOLT_OK) return;
  line_passed(drawn);
  line_leave(w, n);
}

/* It is queued. Returns whether it was served. */
static bool line_wait(stress_worker *w, volt_future *f, uint64_t ticket) {
  bool gives_up = line.gives_up && stress_below(w, 4) == 0;
  int result = VOLT_PENDING;
  if (gives_up) {
    volt_fetch_add_release(&line.giving_up, 1);
    if (stress_below(w, 2)) result = volt_future_wait_until(f, soon(w));
    if (result != VOLT_OK) {
      volt_future_cancel(f);
      volt_fetch_add_release(&line.gave_up, 1);
      return false;
    }
  } else if (stress_below(w, 2)) {
    result = volt_future_wait(f);
  }
  while (result == VOLT_PENDING) {
    uint32_t naps = 64, told = volt_load_acquire(&pollers[w->index][0].told);
    while (--naps > 0 && volt_load_acquire(&pollers[w->index][0].told) == told) sched_yield();
    result = poll_once(w, f, 0);
  }
  STRESS_CHECK(result == VOLT_OK);
  if (gives_up) volt_fetch_add_release(&line.giving_up, UINT64_MAX);
  line_served(ticket);
  return true;
}

static void line_queue(stress_worker *w) {
  uint64_t drawn = volt_load_acquire(&line.drawn), ticket = 0;
  volt_future *f = new_future(line.subject, &line.lock, line.whole);
  STRESS_CHECK(pthread_mutex_lock(&line.door) == 0);
  int result = poll_once(w, f, 0);
  if (result == VOLT_PENDING) ticket = volt_fetch_add_release(&line.drawn, 1) + 1;
  STRESS_CHECK(pthread_mutex_unlock(&line.door) == 0);
  if (result == VOLT_OK) {
    taken(&line.lock, VOLT_OK);
    line_passed(drawn);
  } else {
    wait_begin begin = note_wait(line.subject, &line.lock);
    if (line_wait(w, f, ticket)) {
      result = VOLT_OK;
      check_wait(line.subject, &line.lock, line.whole, begin);
    }
  }
  if (result == VOLT_OK) line_leave(w, line.whole);
  w->gave_up += result != VOLT_OK;
  if (result != VOLT_OK) result = VOLT_ECANCELED;
  (void)end_future(w, f, result);
}

static void line_body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    stress_progress(w, "queueing with a ticket");
    if (stress_below(w, 2)) line_queue(w);
    for (uint32_t tries = stress_below(w, 16); tries > 0; tries--) line_try(w);
    stress_count_entry();
  }
}

static void line_round(const stress_subject *s, bool gives_up) {
  line.subject = s;
  line.whole = s->totals[0];
  s->init(&line.lock, line.whole);
  line.gives_up = gives_up;
  volt_store_relaxed(&line.drawn, 0); /* published by the threads' start, as all of it */
  volt_store_relaxed(&line.giving_up, 0);
  volt_store_relaxed(&line.gave_up, 0);
  volt_store_relaxed(&line.passed, 0);
  line.served = line.last_ticket = line.gave_up_before = 0;
  STRESS_CHECK(pthread_mutex_init(&line.door, NULL) == 0);
  stress_round(stress_threads(), ROUND_NS, line_body, NULL);
  STRESS_CHECK(volt_load_relaxed(&line.drawn) == line.served + volt_load_relaxed(&line.giving_up));
  STRESS_CHECK(s->waiters(&line.lock) == 0 && s->available(&line.lock) == line.whole);
  s->destroy(&line.lock);
  pthread_mutex_destroy(&line.door);
}

/* ---- a crowd: threads and tasks, on one mutex and one read-write lock ---- */

typedef struct visitor {
  volt_task task;
  rng random;
  volt_future lock;
  volt_future other;
  volt_timeout timeout;
  volt_select select;
  volt_future *branches[2];
  volt_future *awaited;
  wait_begin begin;
  const stress_subject *wants;
  uint32_t n;
  const stress_subject *holds; /* NULL: nothing */
  int result;
  bool waited;
} visitor;

static struct {
  volt_rt *rt;
  lock_object mutex;
  lock_object rwlock;
  volt_cond cond;
  uint64_t in_mutex; /* plain: by the holder of the mutex, and by a writer */
  uint64_t written;
  uint64_t written_twice;
  visitor visitors[STRESS_MAX_THREADS][VISITORS];
} crowd;

static void *object_of(const stress_subject *s) {
  return s == &mutex_subject ? &crowd.mutex : &crowd.rwlock;
}

static void crowd_enter(const stress_subject *s, uint32_t n) {
  stress_count_entry();
  if (s == &mutex_subject) {
    STRESS_CHECK(crowd.in_mutex++ == 0);
  } else {
    STRESS_CHECK(crowd.written == crowd.written_twice);
    if (n == WHOLE) crowd.written += 1;
  }
}

static void crowd_leave(const stress_subject *s, uint32_t n) {
  if (s == &mutex_subject) {
    STRESS_CHECK(--crowd.in_mutex == 0);
  } else if (n == WHOLE) {
    crowd.written_twice += 1;
  }
  s->release(object_of(s), n);
}

/* What to await. It is polled once, so that it is queued when the turns are counted. */
static void visitor_begin(visitor *v, volt_ctx *ctx) {
  v->wants = rng_below(&v->random, 2) ? &mutex_subject : &rwlock_subject;
  v->n = v->wants == &mutex_subject ? 1 : rng_below(&v->random, 3) ? 1 : WHOLE;
  v->awaited = v->wants->future(&v->lock, object_of(v->wants), v->n);
  uint32_t kind = rng_below(&v->random, 8);
  uint32_t registered = ctx->registered;
  if (kind == 0) {
    v->awaited = volt_timeout_future(&v->timeout, &v->lock, volt_rt_timers(crowd.rt),
                                     volt_deadline_ns(rng_below(&v->random, 20000)));
  } else if (kind == 1) {
    v->branches[0] = &v->lock;
    v->branches[1] = volt_sem_acquire_future(&v->other, &side, 1);
    v->awaited = volt_select_future(&v->select, v->branches, 2, VOLT_SELECT_FAIR);
  } else {
    (void)volt_future_poll_ctx(&v->lock, ctx);
  }
  v->waited = ctx->registered != registered;
  if (v->waited) v->begin = note_wait(v->wants, object_of(v->wants));
}

static void visitor_enter(visitor *v) {
  if (v->result != VOLT_OK) return;
  if (v->awaited == &v->select.future && volt_select_winner(&v->select) == 1) {
    volt_sem_release(&side, 1);
    return;
  }
  taken(object_of(v->wants), VOLT_OK);
  if (v->waited) check_wait(v->wants, object_of(v->wants), v->n, v->begin);
  v->holds = v->wants;
  crowd_enter(v->holds, v->n);
}

static void visitor_leave(visitor *v) {
  if (v->holds) crowd_leave(v->holds, v->n);
  v->holds = NULL;
}

static int visits(volt_task *t, volt_ctx *ctx) {
  visitor *self = volt_container_of(t, visitor, task);
  VOLT_TASK_BEGIN(self);
  while (!stress_stopping()) {
    visitor_begin(self, ctx);
    VOLT_AWAIT_RESULT(self, self->result, self->awaited);
    visitor_enter(self);
    if (rng_below(&self->random, 4) == 0) VOLT_YIELD(self);
    visitor_leave(self);
    if (rng_below(&self->random, 4) == 0) VOLT_YIELD(self);
  }
  VOLT_FINALLY(self);
  visitor_leave(self);
  VOLT_TASK_END(self);
}

static void spawn_visitor(stress_worker *w, visitor *v) {
  memset((void *)v, 0, sizeof *v);
  v->random = rng_seeded(rng_next(&w->random));
  volt_task_init(&v->task, visits);
  STRESS_CHECK(volt_spawn(crowd.rt, &v->task) == VOLT_OK);
}

static void join_visitor(visitor *v) {
  int result = volt_task_join(&v->task);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED);
  volt_task_detach(&v->task);
}

/* The mutex is held before and after. */
static void wait_for_signal(stress_worker *w) {
  volt_mutex *m = mutex_in(&crowd.mutex);
  crowd.in_mutex -= 1;
  if (stress_below(w, 2)) {
    (void)volt_cond_wait_until(&crowd.cond, m, soon(w));
    taken(&crowd.mutex, VOLT_OK);
  } else {
    volt_waiter waiter = VOLT_WAITER_INIT;
    stress_slot *slot = stress_any_slot(w);
    (void)volt_cond_wait_waiter(&crowd.cond, m, &waiter, stress_waker(slot));
    stress_dawdle(w);
    if (volt_cond_cancel(&crowd.cond, &waiter)) {
      STRESS_CHECK(mutex_lock_until(&crowd.mutex, 1, VOLT_NO_DEADLINE) == VOLT_OK);
    } else {
      taken(&crowd.mutex, VOLT_OK);
      slot->expected += 1;
    }
  }
  STRESS_CHECK(crowd.in_mutex++ == 0);
}

static void visit_by_thread(stress_worker *w) {
  const stress_subject *s = stress_below(w, 2) ? &mutex_subject : &rwlock_subject;
  uint32_t n = s == &mutex_subject ? 1 : stress_pick(w, s, WHOLE);
  if (stress_take(w, s, object_of(s), n) != VOLT_OK) {
    w->gave_up += 1;
    return;
  }
  w->acquired += 1;
  crowd_enter(s, n);
  stress_dawdle(w);
  if (s == &mutex_subject && stress_below(w, 4) == 0) wait_for_signal(w);
  if (s == &mutex_subject && stress_below(w, 4) == 0) volt_cond_signal(&crowd.cond);
  crowd_leave(s, n);
  if (stress_below(w, 16) == 0) volt_cond_broadcast(&crowd.cond);
}

static void crowd_body(stress_worker *w, void *arg) {
  (void)arg;
  visitor *mine = crowd.visitors[w->index];
  stress_arm(w, 1, NULL, NULL);
  for (unsigned i = 0; i < VISITORS; i++) spawn_visitor(w, &mine[i]);
  while (!stress_stopping()) {
    visit_by_thread(w);
    if (stress_below(w, 64) != 0) continue;
    visitor *v = &mine[stress_below(w, VISITORS)];
    (void)volt_task_cancel(&v->task);
    join_visitor(v);
    spawn_visitor(w, v);
  }
  stress_progress(w, "joining tasks");
  for (unsigned i = 0; i < VISITORS; i++) join_visitor(&mine[i]);
}

static void crowd_round(unsigned workers) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = workers;
  STRESS_CHECK(volt_rt_create(&crowd.rt, &config) == VOLT_OK);
  mutex_init(&crowd.mutex, 1);
  rwlock_init(&crowd.rwlock, WHOLE);
  volt_cond_init(&crowd.cond);
  crowd.in_mutex = crowd.written = crowd.written_twice = 0;
  stress_round(stress_threads(), ROUND_NS, crowd_body, NULL);
  STRESS_CHECK(volt_rt_destroy(crowd.rt) == 0);
  STRESS_CHECK(mutex_waiters(&crowd.mutex) == 0 && mutex_available(&crowd.mutex) == 1);
  STRESS_CHECK(rwlock_waiters(&crowd.rwlock) == 0 && rwlock_available(&crowd.rwlock) == WHOLE);
  STRESS_CHECK(crowd.in_mutex == 0 && crowd.written == crowd.written_twice);
  volt_cond_destroy(&crowd.cond);
  mutex_destroy(&crowd.mutex);
  rwlock_destroy(&crowd.rwlock);
}

int main(void) {
  stress_begin("bypass (mutex, rwlock)", "locked, read", "written");
  make_pollers();
  volt_sem_init(&side, 1);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    bypass = bounds[turn % 4];
    crowd_round(1 + turn % 3);
    line_round(&mutex_subject, turn / 4 % 2 == 1);
    stress_rounds(turn % 2 ? &rwlock_subject : &mutex_subject, turn);
    line_round(&rwlock_subject, turn / 4 % 2 == 0);
    stress_rounds(turn % 2 ? &mutex_subject : &rwlock_subject, turn);
  }
  STRESS_CHECK(volt_sem_available(&side) == 1);
  return stress_end();
}
