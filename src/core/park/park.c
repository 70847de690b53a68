/* park.c: block a thread, or suspend a fiber, until it is unparked; how the library's own waits
 * spin, yield and nap.
 *
 * Races
 *   R1  Interleaving: the parking thread reads the count; another thread unparks it, and sees no
 *       parked thread to wake; the first thread sleeps. Prevented by: PARKED and the count are in
 *       one word. The thread sets PARKED by a compare-and-swap on the count that it has read, and
 *       the futex compares the word again before the thread sleeps.
 *   R2  Interleaving: the count wraps after 2^30 unparks, and a count that is behind looks ahead.
 *       Prevented by: counts are compared by their difference: half of all values are ahead of a
 *       count, half are behind it. (Setting the count back instead would lose unparks that are
 *       under way.)
 *   R3  Interleaving: a thread is about to sleep elsewhere than on its parker; another unparks it,
 *       and does not know where to wake it. Prevented by: ELSEWHERE and the count are in one word.
 *       Each of the two changes it by one RMW that returns what it was. If the unpark is first, the
 *       thread does not sleep; else the unparking thread sees the bit. When something else has
 *       ended the sleep, the thread takes the bit off by an RMW: an unpark after that wakes no thread
 *       elsewhere.
 *   R4  Interleaving: a fiber reads the count; a thread unparks it, and sees no fiber to wake; the
 *       fiber is suspended. Prevented by: as in R1, with SUSPENDED for PARKED, and fiber_futex.c
 *       for the futex. The fiber takes SUSPENDED off before the call returns, so where only threads
 *       park, an unpark takes no lock: a signal handler may call it. */
#include "spin.h"

#include "../os/check.h"
#include "../os/futex.h"
#include "blocker.h"
#include "call.h"
#include "fiber_futex.h"

#define PARKED VOLT_PARKER_PARKED_
#define SUSPENDED VOLT_PARKER_SUSPENDED_
#define UNPARK VOLT_PARKER_UNPARK_

uint32_t volt_unparks_since_(volt_parker *p, uint32_t before) {
  /* park:P1 <- park:U1: the unparked thread sees what the unparker did before */
  uint32_t word = volt_load_acquire(&p->word);
  return (word - before * UNPARK) / UNPARK;
}

/* Whether so many unparks have come (R2). The bits below the count make no difference. */
static bool park_has_come(uint32_t word, uint32_t unparks) {
  return (word - unparks * UNPARK) < UINT32_C(1) << 31;
}

/* Sleep while the word is `seen`, which has PARKED. Returns VOLT_OK, VOLT_ETIMEDOUT, or
 * VOLT_PENDING: look again. */
static int park_sleep(volt_parker *p, uint32_t seen, uint32_t unparks, uint64_t deadline_ns) {
  if (volt_futex_wait32_(&p->word, seen, deadline_ns) != VOLT_ETIMEDOUT) return VOLT_PENDING;
  /* park:P1 <- park:U1: the unparked thread sees what the unparker did before */
  return park_has_come(volt_load_acquire(&p->word), unparks) ? VOLT_OK : VOLT_ETIMEDOUT;
}

/* The same, and an inspector sees it, unless call is NULL. */
static VOLT_NOINLINE int park_sleep_in(const volt_call_ *call, volt_parker *p, uint32_t seen,
                                       uint32_t unparks, uint64_t deadline_ns) {
  if (!call) return park_sleep(p, seen, unparks, deadline_ns);
  volt_sleep_begin_(call, deadline_ns);
  int result = park_sleep(p, seen, unparks, deadline_ns);
  volt_sleep_end_();
  return result;
}

/* As volt_park_spin_(). call: NULL: no inspector sees it. */
static int park_thread(const volt_call_ *call, volt_kind_ kind, volt_parker *p, uint32_t unparks,
                       uint64_t deadline_ns, unsigned spins, unsigned yields) {
  unsigned spun = 0;
  for (;;) {
    /* park:P1 <- park:U1: the unparked thread sees what the unparker did before */
    uint32_t word = volt_load_acquire(&p->word);
    if (park_has_come(word, unparks)) {
      /* relaxed, no data: a hint, so that the next unpark makes no system call */
      if (word & PARKED) volt_fetch_and_relaxed(&p->word, ~(uint32_t)PARKED);
      return VOLT_OK;
    }
    if (spun < spins) {
      spun += 1;
      volt_cpu_relax_();
      continue;
    }
    if (yields > 0) {
      yields -= 1;
      volt_yield_();
      continue;
    }
    /* relaxed, no data: the futex compares the word again */
    if (!(word & PARKED) && !volt_cas_relaxed(&p->word, &word, word | PARKED)) continue;
    volt_count_here_();
    volt_count_(call && call->future ? volt_kind_of_(call->future) : volt_kind_counted_(kind),
                VOLT_COUNTER_SLEEPS_);
    int result = park_sleep_in(call, p, word | PARKED, unparks, deadline_ns);
    if (result != VOLT_PENDING) return result;
  }
}

int volt_park_spin_(volt_kind_ kind, volt_parker *p, uint32_t unparks, uint64_t deadline_ns,
                    unsigned spins, unsigned yields) {
  return park_thread(NULL, kind, p, unparks, deadline_ns, spins, yields);
}

int volt_park_spin_in_(const volt_call_ *call, volt_parker *p, uint32_t unparks,
                       uint64_t deadline_ns, unsigned spins, unsigned yields) {
  return park_thread(call, call->kind, p, unparks, deadline_ns, spins, yields);
}

/* A fiber parks: as volt_park_spin_(), but it is suspended, at once (R4). */
static int park_fiber(volt_blocker_ *fiber, const volt_call_ *call, volt_parker *p,
                      uint32_t unparks, uint64_t deadline_ns) {
  for (int result = VOLT_OK;;) {
    /* park:P1 <- park:U1: the unparked fiber sees what the unparker did before */
    uint32_t word = volt_load_acquire(&p->word);
    bool has_come = park_has_come(word, unparks);
    if (has_come || result != VOLT_OK) {
      /* relaxed, no data: a hint, so that the next unpark looks for no fiber */
      if (word & SUSPENDED) volt_fetch_and_relaxed(&p->word, ~(uint32_t)SUSPENDED);
      if (!has_come) return result;
      volt_keep_cancel_(result);
      return VOLT_OK;
    }
    /* relaxed, no data: the futex for fibers compares the word again */
    if (!(word & SUSPENDED) && !volt_cas_relaxed(&p->word, &word, word | SUSPENDED)) continue;
    result = volt_fiber_futex_wait_(fiber, call, &p->word, word | SUSPENDED, deadline_ns);
  }
}

/* Not inlined, so that a thread that finds a lock free has no frame for this. */
VOLT_NOINLINE void volt_pause_(unsigned *spins) {
  *spins += 1;
  if (*spins <= VOLT_SPIN) {
    volt_cpu_relax_();
  } else if (*spins <= VOLT_SPIN + VOLT_YIELDS) {
    volt_yield_();
  } else { /* nap: sleep on a word that no thread wakes */
    VOLT_ATOMIC(uint32_t) nap = 0;
    volt_count_(VOLT_KIND_LOCK_, VOLT_COUNTER_NAPS_);
    volt_futex_wait32_(&nap, 0, volt_now_ns() + VOLT_NAP_NS);
  }
}

void volt_check_may_block_(const char *call) {
  volt_blocker_ **here = volt_thread_blocker_();
  volt_blocker_ *reason = *here;
  if (VOLT_LIKELY(!reason || !reason->blocks)) return;
  *here = NULL; /* blocks() may write a message, and that may block */
  reason->blocks(reason, call);
  *here = reason;
}

void volt_check_blocks_in_debug_(const char *call, uint64_t deadline_ns) {
  if (volt_fiber_blocker_()) return; /* its deadlines are on the clock of its runtime */
  volt_check_may_block_(call);
  volt_check_deadline_(call, deadline_ns);
}

VOLT_NOINLINE bool volt_spin_again_(volt_spin_ *spin, uint64_t deadline_ns) {
  if (volt_fiber_blocker_()) return false;
#if VOLT_SPIN_TRIES + VOLT_SPIN_YIELDS > 0
  unsigned count = spin->count++;
  uint64_t now_ns = volt_now_ns();
  if (count >= VOLT_SPIN_TRIES + VOLT_SPIN_YIELDS || now_ns >= deadline_ns) return false;
  if (count + 1 <= VOLT_SPIN_TRIES) {
    for (unsigned i = 0; i < 1u << count; i++) volt_cpu_relax_();
    return true;
  }
  if (count == VOLT_SPIN_TRIES) spin->until_ns = now_ns + VOLT_SPIN_NS;
  if (now_ns > spin->until_ns) return false;
  volt_yield_();
  return true;
#else
  (void)spin;
  (void)deadline_ns;
  return false;
#endif
}

int volt_park_in_(const volt_call_ *call, volt_parker *p, uint32_t unparks, uint64_t deadline_ns) {
  volt_blocker_ *here = *volt_thread_blocker_();
  if (here && !here->blocks) return park_fiber(here, call, p, unparks, deadline_ns);
  if (here) {
    /* relaxed: a hint, for the message; a thread that need not sleep is not reported */
    bool is_due = park_has_come(volt_load_relaxed(&p->word), unparks);
    if (!is_due) volt_check_may_block_(call->name);
  }
  volt_check_deadline_(call->name, deadline_ns);
  return volt_park_spin_in_(call, p, unparks, deadline_ns, VOLT_PARK_SPIN, 0);
}

int volt_park_until(volt_parker *p, uint32_t unparks, uint64_t deadline_ns) {
  const volt_call_ call = {.name = "volt_park_until", .kind = VOLT_KIND_OTHER_, .object = p};
  return volt_park_in_(&call, p, unparks, deadline_ns);
}

void volt_park_out_(volt_parker *p, uint32_t unparks) {
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_park_until(p, unparks, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
}

/* Count an unpark. Returns the word before: where a wake has to follow. */
static uint32_t park_count_unpark(volt_parker *p) {
  /* park:U1 -> park:P1: the unparked thread sees what this one did before; the last access to *p */
  return volt_fetch_add_release(&p->word, UNPARK);
}

bool volt_unpark_elsewhere_(volt_parker *p) {
  uint32_t before = park_count_unpark(p);
  if (before & PARKED) volt_futex_wake32_(&p->word, 1); /* by its address, *p may be gone */
  return before & VOLT_PARKER_ELSEWHERE_;
}

/* before: the word as it was; SUSPENDED or PARKED is set. R4 */
static void park_wake_at(uint32_t before, VOLT_ATOMIC(uint32_t) *word) {
  if (before & SUSPENDED) volt_fiber_futex_wake_(word);
  if (before & PARKED) volt_futex_wake32_(word, 1);
}

void volt_unpark(volt_parker *p) {
  uint32_t before = park_count_unpark(p);
  if (before & (PARKED | SUSPENDED)) park_wake_at(before, &p->word); /* *p may be gone */
}

void volt_unpark_later(volt_parker *p, volt_unpark_list *list) {
  uint32_t before = park_count_unpark(p);
  if (!(before & (PARKED | SUSPENDED))) return;
  if (list->count == VOLT_UNPARK_LIST_MAX) volt_unpark_all(list);
  if (list->count == 0) list->suspended = 0;
  if (before & SUSPENDED) list->suspended |= UINT32_C(1) << list->count;
  list->asleep[list->count++] = &p->word;
}

void volt_unpark_all(volt_unpark_list *list) {
  for (unsigned i = 0; i < list->count; i++) {
    bool is_fiber = list->suspended >> i & 1;
    park_wake_at(is_fiber ? SUSPENDED : PARKED, list->asleep[i]);
  }
  list->count = 0;
}

void volt_parker_wake_(void *ctx) {
  volt_unpark((volt_parker *)ctx);
}

volt_waker volt_parker_waker(volt_parker *p) {
  volt_waker waker = {volt_parker_wake_, p};
  return waker;
}
