/* statistics_test.c: counters of many threads add up. */
#include <pthread.h>

#include "gate/statistics.h"
#include "unit.h"

enum { THREADS = 12, EACH = 5000 };
static struct statistics statistics;

static void *count(void *arg) {
  (void)arg;
  for (int i = 0; i < EACH; i++) {
    statistics_count(&statistics, COUNT_BYTES_UP, 3);
    statistics_refused(&statistics, REASON_SHED);
    volt_shared_histogram_add_(&statistics_mine(&statistics)->wait, 5000, 1);
    volt_shared_histogram_add_(&statistics_mine(&statistics)->hold, (uint64_t)i, 1);
  }
  return NULL;
}

static void nothing_is_lost(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  struct statistics_values values;
  statistics_read(&statistics, &values);
  assert_int_equal(values.counts[COUNT_BYTES_UP], 3 * THREADS * EACH);
  assert_int_equal(values.counts[COUNT_BYTES_DOWN], 0);
  assert_int_equal(values.refused[REASON_SHED], THREADS * EACH);
  assert_int_equal(values.counts[COUNT_ADMITTED], THREADS * EACH);
  assert_int_equal(values.wait.sum_ns, UINT64_C(5000) * THREADS * EACH);
  assert_int_equal(values.hold.longest_ns, EACH - 1);
}

static void parts_are_of_threads(void **state) {
  (void)state;
  assert_ptr_equal(statistics_mine(&statistics), statistics_mine(&statistics));
  assert_true((uintptr_t)statistics_mine(&statistics) % 64 == 0);
}

static void a_difference_is_what_was_counted_between(void **state) {
  (void)state;
  struct statistics_values older, newer;
  statistics_read(&statistics, &older);
  statistics_count(&statistics, COUNT_LEFT, 2);
  statistics_refused(&statistics, REASON_CLIENTS);
  volt_shared_histogram_add_(&statistics_mine(&statistics)->wait, 9000, 1);
  statistics_read(&statistics, &newer);
  statistics_subtract(&newer, &older);
  assert_int_equal(newer.counts[COUNT_LEFT], 2);
  assert_int_equal(newer.counts[COUNT_BYTES_UP], 0);
  assert_int_equal(newer.counts[COUNT_ADMITTED], 1);
  assert_int_equal(newer.refused[REASON_CLIENTS], 1);
  assert_int_equal(newer.refused[REASON_SHED], 0);
  assert_int_equal(newer.refused_all, 1);
  assert_int_equal(newer.wait.sum_ns, 9000);
  assert_int_equal(newer.wait.longest_ns, 9000); /* the longest of all, so it is known exactly */
  assert_int_equal(newer.hold.count, 0);
  assert_int_equal(newer.hold.longest_ns, 0);
  statistics_read(&statistics, &older);
  volt_shared_histogram_add_(&statistics_mine(&statistics)->wait, 3000, 1);
  statistics_read(&statistics, &newer);
  statistics_subtract(&newer, &older); /* not the longest of all: known by its step */
  assert_true(newer.wait.longest_ns >= 3000 && newer.wait.longest_ns <= 3000 * 9 / 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_lost),
      cmocka_unit_test(parts_are_of_threads),
      cmocka_unit_test(a_difference_is_what_was_counted_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
