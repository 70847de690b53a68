/* fake_waker.h: wakers that remember.
 *
 * A fake waker counts its calls and, if it is given a log, writes its name there: the order of
 * wakes over many waiters. A hostile waker does that and then runs an action of the test's, which
 * calls back into the object that is just waking: wakers run with nothing held. */
#ifndef VOLT_TEST_FAKE_WAKER_H
#define VOLT_TEST_FAKE_WAKER_H

#include <volt/detail/atomic.h>
#include <volt/waiter.h>
#include <volt/waker.h>

#define WAKE_LOG_MAX 1024

typedef struct wake_log {
  VOLT_ATOMIC(uint32_t) count;
  VOLT_ATOMIC(uint32_t) names[WAKE_LOG_MAX];
} wake_log;

/* Empty the log. */
void wake_log_init(wake_log *log);

/* Write name at the end. Any thread. Aborts if the log is full. */
void wake_log_add(wake_log *log, uint32_t name);

uint32_t wake_log_count(wake_log *log);
uint32_t wake_log_at(wake_log *log, uint32_t i);

/* Whether the log is first, first + 1, ... first + count - 1 and nothing else. */
bool wake_log_is_run(wake_log *log, uint32_t first, uint32_t count);

typedef struct fake_waker {
  VOLT_ATOMIC(uint32_t) calls;
  uint32_t name;
  wake_log *log; /* or NULL */
} fake_waker;

void fake_waker_init(fake_waker *f, uint32_t name, wake_log *log);
volt_waker fake_waker_of(fake_waker *f);

/* How often it has been called. Order: acquires what the waking threads did before. */
uint32_t fake_waker_calls(fake_waker *f);

typedef struct hostile_waker {
  fake_waker seen;
  void (*act)(struct hostile_waker *self); /* runs inside wake(); or NULL */
  void *object;                            /* the rest is for act() */
  volt_waiter *other;
  uint32_t n;
  int result;
} hostile_waker;

void hostile_waker_init(hostile_waker *h, uint32_t name, wake_log *log,
                        void (*act)(hostile_waker *), void *object);
volt_waker hostile_waker_of(hostile_waker *h);
uint32_t hostile_waker_calls(hostile_waker *h);

#endif
