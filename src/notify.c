/* notify.c: turns (turn.h) on one stored notification and a FIFO.
 *
 * Algorithm: sequential, but for the turns. A future remembers how often the queue had been opened
 * when it was made. A waiter that was notified alone is marked, so that a future that is dropped
 * then can pass it on. */
#include <volt/notify.h>

#include "future.h"
#include "turn.h"

static const char name[] = "volt_notify";

void volt_notify_init(volt_notify *n) {
  volt_wait_queue_init_(&n->queue, 0);
  n->stored = false;
}

void volt_notify_destroy(volt_notify *n) {
  volt_turn_destroy_(&n->queue, name);
}

void volt_notify_one(volt_notify *n) {
  volt_turn_ t;
  volt_turn_begin_(&t, &n->queue);
  volt_waiter *w = volt_turn_oldest_(&t);
  if (w) {
    w->data = w; /* alone */
    volt_turn_serve_(&t, w);
  } else {
    n->stored = true;
  }
  volt_turn_end_(&t);
}

void volt_notify_all(volt_notify *n) {
  volt_turn_ t;
  volt_turn_begin_(&t, &n->queue);
  volt_turn_open_(&t);
  volt_turn_end_(&t);
}

static int wait(volt_turn_ *t, volt_notify *n, volt_waiter *w, volt_waker waker) {
  w->data = n->stored ? w : NULL;
  if (n->stored) {
    n->stored = false;
    return VOLT_OK;
  }
  return volt_turn_append_(t, w, waker);
}

int volt_notify_wait(volt_notify *n, volt_waiter *w, volt_waker waker) {
  volt_waiter_check_unused_(name, w);
  volt_turn_ t;
  volt_turn_look_(&t, &n->queue);
  int result = wait(&t, n, w, waker);
  volt_turn_leave_(&t);
  return result;
}

bool volt_notify_cancel(volt_notify *n, volt_waiter *w) {
  return volt_turn_cancel_(&n->queue, name, w);
}

bool volt_notify_set_waker(volt_notify *n, volt_waiter *w, volt_waker waker) {
  return volt_linked_set_waker_(&n->queue, name, w, waker);
}

uint32_t volt_notify_waiters(volt_notify *n) {
  return volt_linked_count_(&n->queue);
}

/* ---- future ---- */

static volt_notify *notify_of(volt_future *f) {
  return volt_container_of(f->object, volt_notify, queue);
}

static int start(volt_future *f, volt_waker waker) {
  volt_notify *n = notify_of(f);
  volt_turn_ t;
  volt_turn_look_(&t, &n->queue);
  bool opened = volt_turn_openings_(&t) != f->n;
  int result = opened ? (int)VOLT_OK : wait(&t, n, &f->waiter, waker);
  volt_turn_leave_(&t);
  return result;
}

static void give_back(volt_future *f) {
  if (f->waiter.data) volt_notify_one(notify_of(f));
}

static const volt_future_ops_ ops = {.name = name,
                                     .start = start,
                                     .cancel = volt_turn_future_cancel_,
                                     .set_waker = volt_turn_future_set_waker_,
                                     .give_back = give_back};

volt_future *volt_notify_future(volt_future *f, volt_notify *n) {
  volt_turn_ t;
  volt_turn_look_(&t, &n->queue);
  uint32_t openings = volt_turn_openings_(&t);
  volt_turn_leave_(&t);
  f->waiter.data = NULL;
  return volt_future_make_(f, &ops, &n->queue, openings);
}

int volt_notify_wait_blocking(volt_notify *n, uint64_t deadline_ns) {
  volt_future f;
  return volt_block_on(volt_notify_future(&f, n), deadline_ns);
}
