/* spin.h: what the library's own waits share with volt/park.h: how long to look before sleeping. */
#ifndef VOLT_CORE_SPIN_H
#define VOLT_CORE_SPIN_H

#include <volt/park.h>

/* How often to look before sleeping, in volt_cpu_relax_() calls: for the lock of a queue, which is
 * held for a few dozen instructions; and for a wake, which is worth about what a sleep costs. More
 * helps two threads that hand over to each other, and burns what other threads could run on. */
#ifndef VOLT_SPIN
#define VOLT_SPIN 100
#endif
#ifndef VOLT_PARK_SPIN
#define VOLT_PARK_SPIN 200
#endif

/* After so many looks others may run so often, and then each nap takes so long. */
#ifndef VOLT_YIELDS
#define VOLT_YIELDS 20
#endif
#ifndef VOLT_NAP_NS
#define VOLT_NAP_NS 50000
#endif

/* How a thread looks whether it need queue at all: so often after 1, 2, 4, ... volt_cpu_relax_(),
 * and then so often after letting others run, but only for as long as a wake costs: a thread that
 * lets others run may be away for a whole time slice. A place in the queue means that every turn
 * from now on waits for a thread to wake up; what is held for less is better waited for here. */
#ifndef VOLT_LOOKS
#define VOLT_LOOKS 6
#endif
#ifndef VOLT_LOOK_YIELDS
#define VOLT_LOOK_YIELDS 8
#endif
#ifndef VOLT_LOOK_NS
#define VOLT_LOOK_NS 10000
#endif

/* A call is about to block this thread: if that runs tasks, whoever runs them is told. */
VOLT_API void volt_check_may_block_(const char *call);

/* As volt_park_until(), for a call of that name. */
int volt_park_in_(const char *call, volt_parker *p, uint32_t unparks, uint64_t deadline_ns);

/* All-zero: it has not looked yet. */
typedef struct volt_spin_ {
  unsigned count;
  uint64_t until_ns;
} volt_spin_;

/* Wait a little. Returns true: look again; false: it has looked enough, or the deadline is over. */
bool volt_spin_again_(volt_spin_ *looks, uint64_t deadline_ns);

/* Whether the thread sleeps or is about to. A hint. */
static inline bool volt_is_parked_(volt_parker *p) {
  return volt_load_relaxed(&p->word) & 1; /* hint only: nothing is concluded from it */
}

/* How many unparks have come since there were so many, modulo 2^31. Order: acquires what the
 * unparking threads did before. */
uint32_t volt_unparks_since_(volt_parker *p, uint32_t before);

/* As if so many unparks had come. Nobody is going to unpark it yet. */
static inline void volt_unparks_set_(volt_parker *p, uint32_t unparks) {
  volt_store_relaxed(&p->word, unparks * 2u); /* not shared yet */
}

/* As volt_park_until(), with so many looks before sleeping, and after those so many more between
 * which other threads may run. */
VOLT_API int volt_park_spin_(volt_parker *p, uint32_t unparks, uint64_t deadline_ns, unsigned looks,
                             unsigned yields);

/* Wait a little for somebody who will not tell: he is in the middle of a few dozen instructions, or
 * away and coming back. Looks on at first; then lets others run, for he may be preempted; then naps,
 * for he may be of a lower priority. *looks: 0 before the first. */
VOLT_API void volt_pause_(unsigned *looks);

/* One turn of a spin loop. */
static inline void volt_cpu_relax_(void) {
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif
