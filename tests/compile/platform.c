/* What differs between machines of 32 and 64 bits and between libcs: sleeping on an address until a
 * time. Uses the library's own futex.h. Exits with 0 if all answers are right. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "core/futex.h"

static int failures;

static void expect(int got, int wanted, const char *what) {
  if (got == wanted) return;
  fprintf(stderr, "wrong: %s: %d, not %d\n", what, got, wanted);
  failures += 1;
}

int main(void) {
  VOLT_ATOMIC(uint32_t) word = 1;
  errno = 77;
  expect(volt_futex_wait32_(&word, 1, 1), VOLT_ETIMEDOUT, "a deadline that has passed");
  expect(volt_futex_wait32_(&word, 1, volt_deadline_ns(2000000)), VOLT_ETIMEDOUT,
         "one that passes");
  expect(volt_futex_wait32_(&word, 2, VOLT_NO_DEADLINE), VOLT_OK, "another value");
  /* beyond what a time_t of 32 bits can say */
  expect(volt_futex_wait32_(&word, 2, UINT64_C(3000000000) * 1000000000u), VOLT_OK, "in 95 years");
  expect(volt_futex_wait32_(&word, 2, VOLT_NO_DEADLINE - 1), VOLT_OK, "the last deadline");
  volt_futex_wake32_(&word, 1);
  expect(errno, 77, "errno");
  expect(failures, 0, "all of them");
  printf("pointers of %d bits, time_t of %d\n", (int)sizeof(void *) * 8, (int)sizeof(time_t) * 8);
  return failures;
}
