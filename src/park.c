/* park.c
 *
 * Race R1: the parker reads the count, the unparker adds to it and sees nobody parked, the parker
 *   sleeps. Closed by PARKED and the count sharing one word: the parker sets PARKED by a CAS on the
 *   count it has seen, and the futex compares the whole word again.
 * Pairs: U1 (release) -> P1 (acquire): whoever is unparked sees what the unparker did. */
#include "park.h"

#include "futex.h"

#define PARKED 1u
#define UNPARK 2u

int volt_park_until_(volt_parker_ *p, uint32_t unparks, uint64_t deadline_ns) {
  unsigned spins = 0;
  for (;;) {
    uint32_t word = volt_load_acquire(&p->word); /* P1: pairs U1 */
    if (word / UNPARK >= unparks) return VOLT_OK;
    if (spins < VOLT_PARK_SPIN) {
      spins += 1;
      volt_cpu_relax_();
      continue;
    }
    /* relaxed: PARKED carries no data; the futex compares the word again */
    if (!(word & PARKED) && !volt_cas_relaxed(&p->word, &word, word | PARKED)) continue;
    if (volt_futex_wait32_(&p->word, word | PARKED, deadline_ns) == VOLT_ETIMEDOUT) {
      word = volt_load_acquire(&p->word); /* P1 */
      return word / UNPARK >= unparks ? VOLT_OK : VOLT_ETIMEDOUT;
    }
  }
}

void volt_unpark_(volt_parker_ *p) {
  uint32_t before = volt_fetch_add_release(&p->word, UNPARK); /* U1: the last access to *p */
  if (before & PARKED) volt_futex_wake32_(&p->word, 1);       /* by address only */
}

static void wake_parker(void *ctx) {
  volt_unpark_((volt_parker_ *)ctx);
}

volt_waker volt_parker_waker_(volt_parker_ *p) {
  volt_waker waker = {wake_parker, p};
  return waker;
}
