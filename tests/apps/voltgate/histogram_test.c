/* histogram_test.c: edges, quantiles, differences. */
#include "gate/histogram.h"
#include "unit.h"

static struct histogram h;

static struct histogram_values read_all(void) {
  struct histogram_values values = {.count = 0};
  histogram_read(&h, &values);
  return values;
}

static unsigned bucket_of(uint64_t ns) {
  histogram_clear(&h);
  histogram_add(&h, ns);
  struct histogram_values values = read_all();
  assert_int_equal(values.count, 1);
  unsigned at = 0;
  while (values.buckets[at] == 0) at++;
  return at;
}

static void a_bucket_ends_at_its_edge(void **state) {
  (void)state;
  for (unsigned i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
    uint64_t edge = histogram_edge_ns(i);
    assert_int_equal(bucket_of(edge), i);
    assert_int_equal(bucket_of(edge + 1), i + 1);
    /* at most 1/8 wide */
    if (i > 0) assert_true((edge - histogram_edge_ns(i - 1)) * 8 <= edge);
  }
  assert_int_equal(bucket_of(0), 0);
  assert_int_equal(bucket_of(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
  assert_int_equal(histogram_edge_ns(HISTOGRAM_BUCKETS - 1), UINT64_C(1) << 40);
}

static void a_power_of_two_is_an_edge(void **state) {
  (void)state;
  for (unsigned power = 11; power < 40; power++) {
    uint64_t ns = UINT64_C(1) << power;
    histogram_clear(&h);
    histogram_add(&h, ns - 1);
    histogram_add(&h, ns);
    histogram_add(&h, ns + 1);
    struct histogram_values values = read_all();
    assert_int_equal(histogram_at_most(&values, ns), 2);
    assert_int_equal(values.sum_ns, 3 * ns);
    assert_int_equal(values.max_ns, ns + 1);
  }
}

static void quantiles_are_at_most_an_eighth_too_high(void **state) {
  (void)state;
  histogram_clear(&h);
  for (uint64_t i = 1; i <= 1000; i++) histogram_add(&h, i * 10000);
  struct histogram_values values = read_all();
  const double shares[] = {0.001, 0.5, 0.9, 0.99, 0.999, 1};
  for (size_t i = 0; i < 6; i++) {
    double exact = shares[i] * 1e7;
    double got = (double)histogram_quantile_ns(&values, shares[i]);
    assert_true(got >= exact && got <= exact * 1.125);
  }
  assert_int_equal(histogram_quantile_ns(&values, 1), 10000000); /* the highest, exactly */
  assert_true(histogram_quantile_ns(&values, 0) >= 10000);
  struct histogram_values none = {.count = 0};
  assert_int_equal(histogram_quantile_ns(&none, 0.5), 0);
}

static void what_is_beyond_the_last_edge_is_said_by_the_highest(void **state) {
  (void)state;
  histogram_clear(&h);
  histogram_add(&h, UINT64_C(1) << 50);
  struct histogram_values values = read_all();
  assert_int_equal(histogram_quantile_ns(&values, 0.5), UINT64_C(1) << 50);
  assert_int_equal(histogram_at_most(&values, UINT64_C(1) << 50), 0);
}

static void a_difference_is_what_came_between(void **state) {
  (void)state;
  histogram_clear(&h);
  histogram_add(&h, 50000000);
  struct histogram_values older = read_all();
  histogram_add(&h, 3000);
  histogram_add(&h, 5000);
  struct histogram_values newer = read_all();
  histogram_subtract(&newer, &older);
  assert_int_equal(newer.count, 2);
  assert_int_equal(newer.sum_ns, 8000);
  assert_true(newer.max_ns >= 5000 && newer.max_ns <= 5000 * 9 / 8);
  struct histogram_values same = read_all(), again = read_all();
  histogram_subtract(&same, &again);
  assert_int_equal(same.count, 0);
  assert_int_equal(same.max_ns, 0);
  histogram_add(&h, 90000000); /* the highest of all: known exactly */
  newer = read_all();
  histogram_subtract(&newer, &older);
  assert_int_equal(newer.max_ns, 90000000);
}

static void several_add_up(void **state) {
  (void)state;
  histogram_clear(&h);
  histogram_add(&h, 2000);
  struct histogram_values values = read_all();
  histogram_read(&h, &values);
  assert_int_equal(values.count, 2);
  assert_int_equal(values.sum_ns, 4000);
  assert_int_equal(values.max_ns, 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bucket_ends_at_its_edge),
      cmocka_unit_test(a_power_of_two_is_an_edge),
      cmocka_unit_test(quantiles_are_at_most_an_eighth_too_high),
      cmocka_unit_test(what_is_beyond_the_last_edge_is_said_by_the_highest),
      cmocka_unit_test(a_difference_is_what_came_between),
      cmocka_unit_test(several_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
