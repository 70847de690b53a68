/* death.h: what must abort, and what it must say before it does. */
#ifndef VOLT_TEST_DEATH_H
#define VOLT_TEST_DEATH_H

#include <stdbool.h>

/* Run act(arg) in a child process. Returns true if it died of SIGABRT and its standard error
 * contains every needle (the last one is followed by NULL); else says why not, returns false.
 * No other thread may be running. */
bool death_of(void (*act)(void *arg), void *arg, const char *const needles[]);

/* The same of another signal. */
bool death_by(int number, void (*act)(void *arg), void *arg, const char *const needles[]);

/* Before a needle: it must not be there. */
#define DEATH_NOT "\1"

/* The address as "%p" prints it: a needle. Static memory, good for the next fifteen calls. */
const char *death_address(const void *p);

/* For unit tests: act(arg) must abort saying all of these strings. */
#define assert_death(act, arg, ...) \
  assert_true(death_of((act), (arg), (const char *const[]){__VA_ARGS__, NULL}))

/* For unit tests: the same of another signal. */
#define assert_death_by(number, act, arg, ...) \
  assert_true(death_by((number), (act), (arg), (const char *const[]){__VA_ARGS__, NULL}))

#endif
