/* list.h: the FIFO of a wait queue: an intrusive doubly linked list of waiters.
 * Sequential; the caller holds the queue's lock. If the neighbours of a waiter do not point to it,
 * it was moved, copied, or queued twice. That check reads only what is written next anyway. */
#ifndef VOLT_LIST_H
#define VOLT_LIST_H

#include <volt/wait_queue.h>

#include "check.h"

static inline void volt_fifo_push_back_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_CHECK(q->tail != w, "volt_waiter", "%p was made anew while it was queued on %p", (void *)w,
             (void *)q);
  w->next = NULL;
  w->prev = q->tail;
  if (q->tail) {
    q->tail->next = w;
  } else {
    q->head = w;
  }
  q->tail = w;
  q->waiters += 1;
}

static inline void volt_fifo_unlink_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_CHECK((w->prev ? w->prev->next == w : q->head == w) &&
                 (w->next ? w->next->prev == w : q->tail == w),
             "volt_waiter", "%p or its neighbour on %p was moved or made anew while it was queued",
             (void *)w, (void *)q);
  if (w->prev) {
    w->prev->next = w->next;
  } else {
    q->head = w->next;
  }
  if (w->next) {
    w->next->prev = w->prev;
  } else {
    q->tail = w->prev;
  }
  q->waiters -= 1;
}

/* Move the oldest waiters of one FIFO, count of them, up to *last, to the end of another. */
static inline void volt_fifo_move_(volt_fifo_ *to, volt_fifo_ *from, volt_waiter *last,
                                   uint32_t count) {
  volt_waiter *first = from->head;
  from->head = last->next;
  if (from->head) {
    from->head->prev = NULL;
  } else {
    from->tail = NULL;
  }
  from->waiters -= count;
  last->next = NULL;
  first->prev = to->tail;
  if (to->tail) {
    to->tail->next = first;
  } else {
    to->head = first;
  }
  to->tail = last;
  to->waiters += count;
}

#endif
