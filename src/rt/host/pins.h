/* pins.h: how many inspectors have a runtime pinned, which must not be destroyed meanwhile. A word
 * of its own: runtimes.c has the list of runtimes, and its lock.
 *
 * A pin is made, and the word is closed, under that lock. So no pin comes after the word was
 * closed. The destroyer closes it, and then waits until no pin is left. */
#ifndef VOLT_RT_HOST_PINS_H
#define VOLT_RT_HOST_PINS_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

#define VOLT_PINS_CLOSED_ (UINT32_C(1) << 31)

typedef struct volt_pins_ {
  VOLT_ATOMIC(uint32_t) word; /* their number, and VOLT_PINS_CLOSED_ */
} volt_pins_;

/* Under the lock. Returns false: it is closed. */
static inline bool volt_pins_make_(volt_pins_ *pins) {
  bool is_open = volt_load_relaxed(&pins->word) < VOLT_PINS_CLOSED_; /* closed under the lock */
  if (is_open) volt_fetch_add_relaxed(&pins->word, 1);               /* as above */
  return is_open;
}

/* Under the lock. */
static inline void volt_pins_close_(volt_pins_ *pins) {
  volt_fetch_add_relaxed(&pins->word, VOLT_PINS_CLOSED_); /* the lock orders it with each new pin */
}

static inline void volt_pins_end_(volt_pins_ *pins) {
  /* pins:P1 -> pins:P2: the last use of the runtime */
  volt_fetch_add_release(&pins->word, UINT32_C(0) - 1);
}

/* It is closed. */
static inline bool volt_pins_are_left_(volt_pins_ *pins) {
  /* pins:P2 <- pins:P1: destroy is after all that an inspector did */
  return volt_load_acquire(&pins->word) != VOLT_PINS_CLOSED_;
}

#endif
