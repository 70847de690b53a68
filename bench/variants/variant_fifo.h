/* variant_fifo.h: the list of a variant: intrusive, doubly linked. Sequential; the lock is held. */
#ifndef VOLT_VARIANTS_VARIANT_FIFO_H
#define VOLT_VARIANTS_VARIANT_FIFO_H

#include "core/check.h"
#include "state.h"

static inline void volt_variant_fifo_push_back_(volt_variant_fifo_ *fifo, volt_waiter *w) {
  w->next = NULL;
  w->prev = fifo->tail;
  if (fifo->tail) {
    fifo->tail->next = w;
  } else {
    fifo->head = w;
  }
  fifo->tail = w;
  fifo->waiters += 1;
}

static inline void volt_variant_fifo_push_front_(volt_variant_fifo_ *fifo, volt_waiter *w) {
  w->prev = NULL;
  w->next = fifo->head;
  if (fifo->head) {
    fifo->head->prev = w;
  } else {
    fifo->tail = w;
  }
  fifo->head = w;
  fifo->waiters += 1;
}

static inline void volt_variant_fifo_remove_(volt_variant_fifo_ *fifo, volt_waiter *w) {
  if (w->prev) {
    w->prev->next = w->next;
  } else {
    fifo->head = w->next;
  }
  if (w->next) {
    w->next->prev = w->prev;
  } else {
    fifo->tail = w->prev;
  }
  fifo->waiters -= 1;
#if VOLT_DEBUG
  w->next = w->prev = (volt_waiter *)(uintptr_t)0xdeadbeef; /* whoever follows it now faults */
#endif
}

#endif
