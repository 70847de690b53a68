/* park.h: block a thread until it has been unparked a given number of times; nothing more.
 *
 * A parker lives on the stack of the call that blocks. Every wake that is due to it comes exactly
 * once (rule of the waiter), so the call returns when it has come, and no late unpark can ever meet
 * a dead parker: the count it adds to is the last it touches. */
#ifndef VOLT_PARK_H
#define VOLT_PARK_H

#include <volt/atomic.h>
#include <volt/waker.h>

/* How often to look before sleeping, in volt_cpu_relax_() calls: for the lock of a queue, which is
 * held for a few dozen instructions; and for a wake, which is worth about what a sleep costs. More
 * helps two threads that hand over to each other, and burns what other threads could run on. */
#ifndef VOLT_SPIN
#define VOLT_SPIN 100
#endif
#ifndef VOLT_PARK_SPIN
#define VOLT_PARK_SPIN 200
#endif

/* word: bit 0 PARKED, the thread sleeps or is about to; bits 1..31: unparks so far. */
typedef struct volt_parker_ {
  VOLT_ATOMIC(uint32_t) word;
} volt_parker_;

/* Block until there have been so many unparks since init, or the deadline.
 * Returns VOLT_OK or VOLT_ETIMEDOUT. Survives EINTR and wakes for no reason. */
int volt_park_until_(volt_parker_ *p, uint32_t unparks, uint64_t deadline_ns);

/* Count one unpark and wake the thread if it sleeps. */
void volt_unpark_(volt_parker_ *p);

/* A waker that unparks. */
volt_waker volt_parker_waker_(volt_parker_ *p);

/* One turn of a spin loop. */
static inline void volt_cpu_relax_(void) {
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif
