/* hang_test.c: a test case that hangs is named, with what waits, and the process aborts. */
#define _GNU_SOURCE /* setenv */
#include "hang.h"

#include <stdlib.h>

#include "death.h"
#include "require.h"
#include "sanitizer.h"
#include "unit.h"

static volt_sem never = VOLT_SEM_INIT(0);

static void the_one_before(void **state) {
  (void)state;
}

static void the_one_that_hangs(void **state) {
  (void)state;
  REQUIRE(volt_sem_acquire(&never, 1) != VOLT_OK);
}

static void run_both(void *arg) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_one_before),
                                     cmocka_unit_test(the_one_that_hangs)};
  (void)arg;
  setenv("VOLT_TEST_HANG_SECONDS", "1", 1);
  (void)cmocka_run_group_tests(tests, NULL, NULL);
}

static void a_case_that_hangs_is_named(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  assert_death(run_both, NULL, "HANGS: the test case the_one_that_hangs has not ended after 1 s",
               "volt_sem_acquire", DEATH_NOT "the_one_before");
}

/* As unit.hpp says that a case begins. */
static void begin_and_hang(void *arg) {
  setenv("VOLT_TEST_HANG_SECONDS", "1", 1);
  hang_begin("of C++");
  REQUIRE(volt_sem_acquire(arg, 1) != VOLT_OK);
}

static void a_case_of_cpp_is_named(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  assert_death(begin_and_hang, &never, "HANGS: the test case of C++ has not", "volt_sem_acquire");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_case_that_hangs_is_named),
      cmocka_unit_test(a_case_of_cpp_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
