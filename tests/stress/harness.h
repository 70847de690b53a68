/* harness.h: what every stress test stands on: a seed, threads, a clock, a watchdog, a report.
 *
 * A stress test is many short rounds. In a round, some threads run one body until they are told to
 * stop; then every thread has ended, nothing is in flight, and the books must balance. The main
 * thread is the watchdog: if no thread has finished an operation for 20 seconds it prints what
 * each of them is doing, and aborts.
 *
 * With VOLT_STRESS_INSPECT=1 in the environment a thread looks at all tasks meanwhile (inspector.h).
 *
 * VOLT_TEST_SECONDS (default 0.5), VOLT_TEST_SEED (default: the clock), VOLT_TEST_THREADS (default
 * 6) come from the environment; all three are printed. */
#ifndef VOLT_STRESS_HARNESS_H
#define VOLT_STRESS_HARNESS_H

#include <volt/volt.h>

#include "histogram.h"
#include "rng.h"

enum { STRESS_MAX_THREADS = 32, STRESS_SLOTS = 16 };

/* A thread is away now and then before each atomic operation: a test does less at a time. */
#ifdef VOLT_CHAOS
enum { STRESS_IS_CHAOS = 1 };
#else
enum { STRESS_IS_CHAOS = 0 };
#endif

/* What a waker points at. It outlives every waiter: it lives as long as the test. */
typedef struct stress_slot {
  VOLT_ATOMIC(uint64_t) woken;
  uint64_t expected;       /* written by its owner */
  void (*also)(void *arg); /* called by the waker, if there is one */
  void *arg;
} stress_slot;

typedef struct stress_worker {
  unsigned index;
  rng random;
  VOLT_ATOMIC(uint64_t) operations; /* finished; the watchdog reads it */
  VOLT_ATOMIC(const char *) doing;  /* the watchdog reads it */
  uint64_t acquired;                /* in mixed rounds */
  uint64_t gave_up;                 /* cancelled, or timed out */
  histogram waits[2];               /* ns; [1]: those that asked for everything there is */
  stress_slot slots[STRESS_SLOTS];
  volt_waiter *spare; /* waiter memory that will be used again */
  uint32_t whole;     /* how much the object in use has */
} stress_worker;

typedef void stress_body(stress_worker *w, void *arg);

/* Read the environment and say what will run. what: the object under test. small, large: what the
 * waits of a part and of the whole are called in the report; large may be NULL. */
void stress_begin(const char *what, const char *small, const char *large);

/* How many threads a round should have, unless it needs another number. */
unsigned stress_threads(void);

/* Whether there is time for another round; between rounds. There is also if no thread has acquired
 * anything yet: on a machine with much else to do, a thread may begin when its round is over. Within
 * 20 seconds of the end it must have. */
bool stress_time_left(void);

/* Run body on so many threads; tell them to stop after duration_ns; return when all have ended.
 * Then every waker must have been called exactly as often as its owner expects. */
void stress_round(unsigned threads, uint64_t duration_ns, stress_body *body, void *arg);

/* In a body: whether to come to an end. */
bool stress_stopping(void);

/* In a body: an operation is over, another begins. doing: static text. */
void stress_progress(stress_worker *w, const char *doing);

/* Print the report. Returns main's exit status. */
int stress_end(void);

/* Count that something was taken, by any thread or task, which the watchdog takes for progress, too; and
 * how often that was, so far. */
void stress_count_entry(void);
uint64_t stress_entries(void);

/* A random number below bound (above 0). */
uint32_t stress_below(stress_worker *w, uint32_t bound);

/* One of the worker's slots, at random, and the waker that counts in a slot. */
stress_slot *stress_any_slot(stress_worker *w);
volt_waker stress_waker(stress_slot *slot);

/* At the start of a body: what some of this worker's wakers will do besides counting; NULL: none
 * does anything. whole: how much the object has that the body will use. */
void stress_arm(stress_worker *w, uint32_t whole, void (*also)(void *arg), void *arg);

/* Let time pass: nothing, a few cycles, or the rest of the time slice. */
void stress_dawdle(stress_worker *w);

/* Print what is wrong, the seed and every thread's state, and abort. */
VOLT_NORETURN void stress_fail(const char *file, int line, const char *what);
#define STRESS_CHECK(condition) \
  (VOLT_LIKELY(condition) ? (void)0 : stress_fail(__FILE__, __LINE__, #condition))

#endif
