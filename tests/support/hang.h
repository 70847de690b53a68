/* hang.h: a test case that hangs says so. One that has not ended after 120 seconds, which is 20 times what the slowest
 * takes, is named on stderr, with what volt_dump() says of all that waits; then the process aborts. So a busy
 * machine fails no test, and the log of one that hangs has more than its timeout. In builds that are slow it is 240 seconds.
 *
 * The cases of cmocka and those of unit.hpp begin it by themselves. In a debugger nothing is aborted. Under
 * ThreadSanitizer it does not work, because that puts off a signal while a thread waits in volt.
 *
 * VOLT_TEST_HANG_SECONDS in the environment: after how long; 0: never. */
#ifndef VOLT_TEST_HANG_H
#define VOLT_TEST_HANG_H

#ifdef __cplusplus
extern "C" {
#endif

/* The test case of this name begins; the one before has ended. name: it stays where it is until the next begins. Not in
 * two threads at once. */
void hang_begin(const char *name);

/* Before the first: this program runs for as long as it was asked to by hand. */
void hang_never(void);

#ifdef __cplusplus
}
#endif

#endif
