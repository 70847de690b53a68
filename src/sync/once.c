/* once.c: three states in the word, on the monitor (monitor.h).
 *
 * Algorithm: sequential, under the monitor's lock. The state is the value of the word, so one load
 * says whether it is done. A waiter that completes is marked if its owner has become the
 * initialiser. So a grant has two outcomes, also for a future that is dropped then.
 *
 * Invariant I1, whenever the lock is free: a waiter is in the FIFO => the state is BEGUN, or the
 *   waiter has been released. */
#include <volt/once.h>

#include "../core/future/future_ops.h"
#include "../core/os/check.h"
#include "../core/os/futex.h"
#include "../core/park/blocker.h"
#include "../core/park/spin.h"
#include "../core/wait/monitor.h"

extern inline bool volt_once_is_done(const volt_once *);
extern inline int volt_once_call(volt_once *, volt_once_fn *, void *);
extern inline int volt_once_begin(volt_once *);

void volt_once_init(volt_once *o) {
  volt_fifo_init_(&o->queue, VOLT_ONCE_FRESH_);
}

void volt_once_destroy(volt_once *o) {
  volt_unname_at_end_(o);
  volt_monitor_destroy_(&o->queue, VOLT_KIND_ONCE_);
  uint64_t word = volt_load_relaxed(&o->queue.word); /* no other thread uses it */
  VOLT_CHECK(VOLT_WORD_VALUE_(word) != VOLT_ONCE_BEGUN_, volt_kind_api_(VOLT_KIND_ONCE_),
             "%p: destroyed while it is begun", (void *)o);
}

/* w->data of a waiter says whether its owner is the initialiser. */
static void once_appoint(volt_waiter *w) {
  w->data = w;
}

static void once_clear_appointed(volt_waiter *w) {
  w->data = NULL;
}

static bool once_is_appointed(const volt_waiter *w) {
  return w->data != NULL;
}

static void once_set_state(volt_monitor_ *t, uint32_t state) {
  t->word = VOLT_WORD_FLAGS_(t->word) | VOLT_WORD_(state);
}

int volt_once_begin_waiter(volt_once *o, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_ONCE_, w);
  if (volt_once_is_done(o)) return VOLT_DONE;
  int result = VOLT_DONE;
  volt_monitor_ t;
  volt_monitor_lock_(&t, &o->queue, VOLT_KIND_ONCE_);
  uint32_t state = VOLT_WORD_VALUE_(t.word);
  if (state == VOLT_ONCE_FRESH_) {
    once_set_state(&t, VOLT_ONCE_BEGUN_);
    once_appoint(w);
    result = VOLT_OK;
  } else if (state == VOLT_ONCE_BEGUN_) {
    once_clear_appointed(w);
    result = volt_monitor_append_(&t, w, waker);
  }
  volt_monitor_unlock_(&t);
  return result;
}

int volt_once_result(volt_waiter *w) {
  int result = volt_waiter_result(w);
  return result == VOLT_OK && !once_is_appointed(w) ? (int)VOLT_DONE : result;
}

bool volt_once_cancel(volt_once *o, volt_waiter *w) {
  return volt_monitor_cancel_(&o->queue, VOLT_KIND_ONCE_, w);
}

static void once_begin_end(volt_monitor_ *t, volt_once *o) {
  volt_monitor_enter_(t, &o->queue, VOLT_KIND_ONCE_);
  VOLT_CHECK(VOLT_WORD_VALUE_(t->word) == VOLT_ONCE_BEGUN_, volt_kind_api_(VOLT_KIND_ONCE_),
             "%p: ended, but it is %s", (void *)o,
             VOLT_WORD_VALUE_(t->word) == VOLT_ONCE_DONE_ ? "done" : "not begun");
}

void volt_once_done(volt_once *o) {
  volt_monitor_ t;
  once_begin_end(&t, o);
  once_set_state(&t, VOLT_ONCE_DONE_);
  volt_monitor_release_all_(&t);
  volt_monitor_exit_(&t);
}

void volt_once_failed(volt_once *o) {
  volt_monitor_ t;
  once_begin_end(&t, o);
  volt_waiter *w = volt_monitor_oldest_(&t);
  if (w) {
    once_appoint(w);
    volt_monitor_release_(&t, w);
  } else {
    once_set_state(&t, VOLT_ONCE_FRESH_);
  }
  volt_monitor_exit_(&t);
}

uint32_t volt_once_waiters(const volt_once *o) {
  return volt_fifo_count_(&o->queue);
}

/* ---- future ---- */

static volt_once *once_of(volt_future *f) {
  return volt_container_of(f->object, volt_once, queue);
}

static int once_start(volt_future *f, volt_waker waker) {
  once_clear_appointed(&f->waiter); /* nothing to give back, unless it is appointed */
  return volt_once_begin_waiter(once_of(f), &f->waiter, waker);
}

static int once_outcome(volt_future *f) {
  return once_is_appointed(&f->waiter) ? VOLT_OK : VOLT_DONE;
}

static void once_give_back(volt_future *f) {
  if (once_is_appointed(&f->waiter)) volt_once_failed(once_of(f));
}

static bool once_due(volt_future *f) {
  return volt_once_is_done(once_of(f)) && volt_monitor_future_complete_(f);
}

static const volt_future_ops_ once_ops = {.operation = "volt_once_begin",
                                          .kind = VOLT_KIND_ONCE_,
                                          .start = once_start,
                                          .cancel = volt_monitor_future_cancel_,
                                          .set_waker = volt_monitor_future_set_waker_,
                                          .give_back = once_give_back,
                                          .outcome = once_outcome,
                                          .due = once_due,
                                          .poll_ctx = volt_future_poll_leaf_any_,
                                          .describe = volt_monitor_future_describe_};

volt_future *volt_once_begin_future(volt_future *f, volt_once *o) {
  return volt_future_make_(f, &once_ops, &o->queue, 0);
}

static VOLT_NOINLINE int once_block(volt_once *o, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_once_begin_future(&f, o), deadline_ns);
}

int volt_once_begin_until(volt_once *o, uint64_t deadline_ns) {
  volt_check_blocks_("volt_once_begin_until", deadline_ns);
  return volt_once_is_done(o) ? (int)VOLT_DONE : once_block(o, deadline_ns);
}

/* A call of an initialiser's function that has not returned; on the stack of its thread. */
typedef struct once_running {
  const volt_once *once;
  struct once_running *outer;
} once_running;

int volt_once_call_slow_(volt_once *o, volt_once_fn *fn, void *arg) {
  for (const once_running *r = (const once_running *)*volt_calls_(); r; r = r->outer) {
    VOLT_CHECK(r->once != o, "volt_once_call", "%p: called from its own function", (void *)o);
  }
  int result = volt_once_begin(o);
  if (result != VOLT_OK) return result == VOLT_DONE ? (int)VOLT_OK : result;
  once_running own = {.once = o, .outer = (once_running *)*volt_calls_()};
  *volt_calls_() = &own;
  result = fn(arg);
  *volt_calls_() = own.outer; /* asked again: a fiber may be on another thread */
  if (result == VOLT_OK) {
    volt_once_done(o);
  } else {
    volt_once_failed(o);
  }
  return result;
}
