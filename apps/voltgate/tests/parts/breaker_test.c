/* breaker_test.c: failures in a row open it, a connection closes it. */
#include <string.h>

#include "gate/breaker.h"
#include "unit.h"

static void it_opens_after_so_many_failures_in_a_row(void **state) {
  (void)state;
  struct breaker b;
  char why[BREAKER_REASON_MAX];
  breaker_init(&b);
  assert_false(breaker_failed(&b, 3, 10, "one", 0));
  assert_false(breaker_failed(&b, 3, 11, "two", 0));
  assert_int_equal(breaker_succeeded(&b), BREAKER_NO_NEWS); /* it was not open */
  assert_false(breaker_failed(&b, 3, 12, "one", 0));
  assert_false(breaker_failed(&b, 3, 13, "two", 0));
  assert_false(breaker_is_open(&b));
  assert_int_equal(breaker_reason(&b, why), 0);
  assert_true(breaker_failed(&b, 3, 14, "refused", 0));
  assert_true(breaker_is_open(&b));
  assert_int_equal(breaker_reason(&b, why), 14);
  assert_string_equal(why, "refused");
  assert_false(breaker_failed(&b, 3, 15, "still", 0)); /* once */
  assert_int_equal(breaker_reason(&b, why), 14);
  assert_string_equal(why, "still");
  assert_int_equal(breaker_succeeded(&b), BREAKER_CLOSES);
  assert_false(breaker_is_open(&b));
  assert_int_equal(breaker_succeeded(&b), BREAKER_NO_NEWS);
  assert_int_equal(breaker_reason(&b, why), 0);
  assert_true(breaker_failed(&b, 1, 20, "again", 0));
  breaker_destroy(&b);
}

static void zero_never_opens_it(void **state) {
  (void)state;
  struct breaker b;
  breaker_init(&b);
  for (int i = 0; i < 100; i++) assert_false(breaker_failed(&b, 0, 10, "away", 0));
  assert_false(breaker_is_open(&b));
  breaker_destroy(&b);
}

static void a_server_is_silent_since_the_first_that_was_not_answered(void **state) {
  (void)state;
  struct breaker b;
  breaker_init(&b);
  assert_false(breaker_is_in_doubt(&b));
  assert_false(breaker_failed(&b, 3, 10, "silent", 5));
  assert_false(breaker_failed(&b, 3, 11, "silent", 7));
  assert_int_equal(breaker_silent_ns(&b), 5);
  assert_true(breaker_is_in_doubt(&b));
  assert_int_equal(breaker_succeeded(&b), BREAKER_ANSWERS);
  assert_int_equal(breaker_silent_ns(&b), 0);
  assert_false(breaker_failed(&b, 2, 12, "silent", 8));
  assert_true(breaker_failed(&b, 2, 13, "silent", 9));
  assert_int_equal(breaker_silent_ns(&b), 8);
  assert_false(breaker_failed(&b, 2, 14, "refused", 0)); /* it does not even accept */
  assert_int_equal(breaker_silent_ns(&b), 0);
  assert_int_equal(breaker_succeeded(&b), BREAKER_CLOSES);
  assert_false(breaker_is_in_doubt(&b));
  breaker_destroy(&b);
}

static void a_long_reason_is_cut(void **state) {
  (void)state;
  struct breaker b;
  char longer[2 * BREAKER_REASON_MAX], why[BREAKER_REASON_MAX];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  breaker_init(&b);
  assert_true(breaker_failed(&b, 1, 10, longer, 0));
  (void)breaker_reason(&b, why);
  assert_int_equal(strlen(why), BREAKER_REASON_MAX - 1);
  breaker_destroy(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_opens_after_so_many_failures_in_a_row),
      cmocka_unit_test(zero_never_opens_it),
      cmocka_unit_test(a_server_is_silent_since_the_first_that_was_not_answered),
      cmocka_unit_test(a_long_reason_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
