/* spin.h: how the library's own waits spin, yield and nap before they sleep; beside volt/park.h.
 *
 * Labels: park */
#ifndef VOLT_CORE_PARK_SPIN_H
#define VOLT_CORE_PARK_SPIN_H

#include <volt/park.h>

#include "../hooks/counters.h"
#include "../os/check.h"

/* How often to spin, in volt_cpu_relax_() calls. VOLT_SPIN: for the lock of a FIFO, which is held
 * for a few dozen instructions. VOLT_PARK_SPIN: for a wake, about as long as a sleep costs. More
 * helps two threads that wake each other by turns, and takes the core from other threads. */
#ifndef VOLT_SPIN
#define VOLT_SPIN 100
#endif
#ifndef VOLT_PARK_SPIN
#define VOLT_PARK_SPIN 200
#endif

/* volt_pause_(), after VOLT_SPIN spins: how often to yield, and how long each nap is after that. */
#ifndef VOLT_YIELDS
#define VOLT_YIELDS 20
#endif
#ifndef VOLT_NAP_NS
#define VOLT_NAP_NS 50000
#endif

/* volt_spin_again_(): how a blocking call spins before it queues. First it tries VOLT_SPIN_TRIES times,
 * after 1, 2, 4, ... volt_cpu_relax_() calls. Then it tries up to VOLT_SPIN_YIELDS times, after a
 * yield each, until VOLT_SPIN_NS have passed: that is about what a wake costs. The time is limited
 * because sched_yield() may cost a whole time slice; a caller spends that at most once.
 * Once threads queue, each of them gets the object only when it has woken up. So for an object that
 * is held for less time than a wake takes it is better to spin. */
#ifndef VOLT_SPIN_TRIES
#define VOLT_SPIN_TRIES 6
#endif
#ifndef VOLT_SPIN_YIELDS
#define VOLT_SPIN_YIELDS 8
#endif
#ifndef VOLT_SPIN_NS
#define VOLT_SPIN_NS 10000
#endif

/* `call` is about to block this thread. If the thread runs tasks, report that (blocker.h). */
VOLT_API void volt_check_may_block_(const char *call);

/* A blocking call begins: debug builds refuse it in a task that is no fiber, also if it will not have
 * to wait; and on a thread a deadline that is a duration. */
VOLT_API void volt_check_blocks_in_debug_(const char *call, uint64_t deadline_ns);
static inline void volt_check_blocks_(const char *call, uint64_t deadline_ns) {
#if VOLT_DEBUG && !defined(VOLT_MODEL)
  volt_check_blocks_in_debug_(call, deadline_ns);
#else
  (void)call;
  (void)deadline_ns;
#endif
}

/* As volt_park_until(), in another call: an inspector sees that (sleepers.h). */
struct volt_call_;
VOLT_API int volt_park_in_(const struct volt_call_ *call, volt_parker *p, uint32_t unparks,
                           uint64_t deadline_ns);

/* Wait until *p has been unparked so often, which is certain to happen, and has to happen before *p
 * may go. No deadline and no cancel ends it. */
VOLT_API void volt_park_out_(volt_parker *p, uint32_t unparks);

/* What the waker of volt_parker_waker() calls. */
void volt_parker_wake_(void *parker);

/* One call that spins before it queues. All-zero at first. */
typedef struct volt_spin_ {
  unsigned count;
  uint64_t until_ns;
} volt_spin_;

/* Wait a little. Returns true: try again. Returns false: it is time to queue, or deadline_ns has
 * passed; or a fiber runs here, which lets others run as soon as it has to wait. */
bool volt_spin_again_(volt_spin_ *spin, uint64_t deadline_ns);

/* The word of a parker: a thread sleeps or is about to; a fiber does; one unpark. */
#define VOLT_PARKER_PARKED_ 1u
#define VOLT_PARKER_SUSPENDED_ 2u
#define VOLT_PARKER_UNPARK_ 4u

/* Whether the thread sleeps or is about to sleep. A hint: it may have changed since. */
static inline bool volt_is_parked_(volt_parker *p) {
  return volt_load_relaxed(&p->word) & VOLT_PARKER_PARKED_; /* relaxed: a hint */
}

/* How many unparks have come since the count was `before`, modulo 2^30. Order: acquires what the
 * unparking threads did before. */
VOLT_API uint32_t volt_unparks_since_(volt_parker *p, uint32_t before);

/* A thread may sleep elsewhere than on its parker, where the unparking thread has to wake it by other
 * means: a worker does (src/rt/host/driver.h). It says so in the parker's word, by the highest bit. So it
 * may await one unpark only, and parks only when it has taken the bit off again. park.c R3. */
#define VOLT_PARKER_ELSEWHERE_ (UINT32_C(1) << 31)

/* This thread is about to sleep elsewhere. Returns false: the unpark has come already, and *p is
 * not used again before it is new. */
static inline bool volt_park_elsewhere_(volt_parker *p) {
  /* park:P1 <- park:U1: the unparked thread sees what the unparker did before */
  return volt_fetch_or_acq_rel(&p->word, VOLT_PARKER_ELSEWHERE_) == 0;
}

/* It does not sleep there any more, whatever has ended that. Returns whether the unpark has come. */
static inline bool volt_park_was_elsewhere_(volt_parker *p) {
  /* park:P1 <- park:U1: the unparked thread sees what the unparker did before */
  return volt_fetch_and_acq_rel(&p->word, ~VOLT_PARKER_ELSEWHERE_) != VOLT_PARKER_ELSEWHERE_;
}

/* As volt_unpark(). Returns whether the thread sleeps elsewhere: then the caller has to wake it. To
 * count is the last access to *p. */
VOLT_API VOLT_NODISCARD bool volt_unpark_elsewhere_(volt_parker *p);

/* Set the count of unparks, before any other thread knows of *p. */
static inline void volt_unparks_set_(volt_parker *p, uint32_t unparks) {
  volt_store_relaxed(&p->word, unparks * VOLT_PARKER_UNPARK_); /* not shared yet */
}

/* As volt_park_until(). It tries `spins` times, and `yields` times with a yield in between, before
 * it sleeps. kind: as which its sleeps are counted. No inspector sees it: for a thread that waits
 * for work. */
VOLT_API int volt_park_spin_(volt_kind_ kind, volt_parker *p, uint32_t unparks,
                             uint64_t deadline_ns, unsigned spins, unsigned yields);

/* The same, for a call that an inspector sees. */
int volt_park_spin_in_(const struct volt_call_ *call, volt_parker *p, uint32_t unparks,
                       uint64_t deadline_ns, unsigned spins, unsigned yields);

/* Wait a little for another thread that will not wake this one: it holds a lock for a few dozen
 * instructions, or will take one again. Spins at first. Then yields, because that thread may be
 * preempted. Then naps, because it may have a lower priority. *spins: 0 before the first call. */
VOLT_API void volt_pause_(unsigned *spins);

/* One iteration of a spin loop. */
static inline void volt_cpu_relax_(void) {
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif
