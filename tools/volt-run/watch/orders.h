/* orders.h: in which order threads take locks. */
#ifndef WATCH_ORDERS_H
#define WATCH_ORDERS_H

#include "watch/books.h"

void orders_note(struct books_thread *self, uint32_t held, uint32_t lock, enum books_how how,
                 uintptr_t at);

/* Before the thread takes this lock by a call that waits without an end. at: where that call returns to. */
static inline void orders_before(struct books_thread *self, uint32_t lock, enum books_how how,
                                 uintptr_t at) {
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (__builtin_expect(held > 0, 0)) orders_note(self, held, lock, how, at);
}

/* The thread takes this lock, of which an order wants to know with which stack it is taken. Returns its number,
 * or 0: there is no room. */
uint32_t orders_take_stack(struct books_lock *l, uintptr_t at);

/* Called once, at start: --orders. */
void orders_begin(void);

#endif
