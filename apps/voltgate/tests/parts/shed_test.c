/* shed_test.c: which waits are too long. Target 10, intervals of 100. */
#include "gate/shed.h"
#include "unit.h"

static struct shed shed;

static bool decide(uint64_t now_ns, uint64_t wait_ns) {
  return shed_decide(&shed, 10, 100, now_ns, wait_ns);
}

static int begin(void **state) {
  (void)state;
  shed = (struct shed){.interval_end_ns = 0};
  assert_false(decide(1000, 0)); /* the first interval: until 1100 */
  return 0;
}

static void without_a_target_none_is_shed(void **state) {
  (void)state;
  for (uint64_t now = 1000; now < 2000; now += 10) {
    assert_false(shed_decide(&shed, 0, 100, now, 1000000));
  }
}

static void overload_is_an_interval_in_which_all_waited_longer(void **state) {
  (void)state;
  assert_false(decide(1050, 500));
  assert_false(decide(1100, 500)); /* the last one had an admission without a wait */
  assert_false(decide(1150, 11));
  assert_true(decide(1200, 21));  /* all of the last one waited longer than 10 */
  assert_false(decide(1210, 20)); /* but this one not longer than twice the target */
  assert_true(decide(1220, 21));
}

static void one_short_wait_ends_it(void **state) {
  (void)state;
  assert_false(decide(1100, 500));
  assert_true(decide(1200, 500));
  assert_false(decide(1250, 10)); /* not longer than the target */
  assert_true(decide(1260, 500)); /* but the overload lasts for this interval */
  assert_false(decide(1300, 500));
  assert_true(decide(1400, 500));
}

static void an_idle_time_ends_it(void **state) {
  (void)state;
  assert_false(decide(1100, 500));
  assert_true(decide(1200, 500));
  assert_false(decide(1500, 500)); /* nothing is known of the last one */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(without_a_target_none_is_shed, begin),
      cmocka_unit_test_setup(overload_is_an_interval_in_which_all_waited_longer, begin),
      cmocka_unit_test_setup(one_short_wait_ends_it, begin),
      cmocka_unit_test_setup(an_idle_time_ends_it, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
