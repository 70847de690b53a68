/* orders.h: in which order threads take locks. */
#ifndef WATCH_ORDERS_H
#define WATCH_ORDERS_H

#include "watch/books.h"

/* The thread has taken this lock by a call that waits without an end, and has others. at: where that call returns to. */
void orders_note(struct books_thread *self, uint32_t held, uintptr_t at);

/* After held_add(). A lock that the thread has held before, and has taken once more, has no order. */
static inline void orders_taken(struct books_thread *self, uint32_t lock, uintptr_t at) {
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (__builtin_expect(held < 2, 1)) return;
  const struct books_held *last = &self->held[held - 1];
  if (last->lock == lock && last->times == 1) orders_note(self, held, at);
}

/* The thread takes this lock, of which an order wants to know with which stack it is taken. Returns its number,
 * or 0: there is no room. */
uint32_t orders_take_stack(struct books_lock *l, uintptr_t at);

/* Called once, at start: --orders. */
void orders_begin(void);

#endif
