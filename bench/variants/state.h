/* state.h: what the variants are made of, and the one fast path that three of them share.
 *
 * Every variant is a struct that begins with a line: a FIFO, and the lock in front of it. Which
 * waiters there are outside the FIFO differs from variant to variant: see the .c of each.
 *
 * Labels: serve */
#ifndef VOLT_VARIANTS_STATE_H
#define VOLT_VARIANTS_STATE_H

#include <volt/detail/short_lock.h>
#include <volt/semaphore.h> /* VOLT_SEM_MAX: the variants have the limits of the library */

/* Intrusive, doubly linked, oldest first. Used with the lock held only. */
typedef struct volt_variant_fifo_ {
  VOLT_PLAIN(volt_waiter *) head;
  VOLT_PLAIN(volt_waiter *) tail;
  VOLT_PLAIN(uint32_t) waiters; /* how many it holds */
} volt_variant_fifo_;

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
#if defined(VOLT_DEBUG) && VOLT_DEBUG
  w->next = w->prev = (volt_waiter *)(uintptr_t)0xdeadbeef; /* a use of it now faults */
#endif
}

/* The first member of every variant. */
typedef struct volt_line_ {
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) returning; /* operations that wake a batch and will come back */
  volt_variant_fifo_ fifo;
} volt_line_;

#define VOLT_LINE_INIT_ \
  {                     \
    {0}, 0, {           \
      NULL, NULL, 0     \
    }                   \
  }

/* A line with the free permits in a word of their own; its highest bit says that the semaphore is
 * closed. The first member of three variants. */
typedef struct volt_variant_pool_ {
  volt_line_ line;
  VOLT_ATOMIC(uint32_t) permits;
} volt_variant_pool_;

#define VOLT_VARIANT_POOL_INIT_(permits) \
  { VOLT_LINE_INIT_, (permits) }

#define VOLT_VARIANT_POOL_CLOSED_ UINT32_C(0x80000000)

/* What a try_acquire() of n permits that found too few returns. n = 0 succeeds. */
static inline int volt_refused_(uint32_t n, bool closed) {
  if (n == 0) return VOLT_OK;
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  return closed ? VOLT_ECLOSED : VOLT_EAGAIN;
}

/* The try_acquire() of these three. It needs no lock, because the pool is empty while any thread
 * waits. */
static inline int volt_variant_pool_try_acquire_(volt_variant_pool_ *pool, uint32_t n) {
  uint32_t seen = volt_load_relaxed(&pool->permits); /* a guess: the CAS decides */
  while (!(seen & VOLT_VARIANT_POOL_CLOSED_) && seen >= n) {
    /* serve:T1 <- serve:F1: permits carry their releasers' past */
    if (volt_cas_weak_acquire(&pool->permits, &seen, seen - n)) return VOLT_OK;
  }
  return volt_refused_(n, (seen & VOLT_VARIANT_POOL_CLOSED_) != 0);
}

#endif
