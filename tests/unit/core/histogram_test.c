/* histogram_test.c: histograms of volt/counts.h against sorted lists. */
#include <stdlib.h>
#include <volt/counts.h>

#include "core/hooks/histogram.h"
#include "thread_team.h"
#include "unit.h"

enum { MANY = 5000 };

static volt_shared_histogram_ tallied;
static volt_histogram h;
static uint64_t list[MANY];

static void begin(void **state) {
  (void)state;
  volt_shared_histogram_clear_(&tallied);
}

static void read_it(void) {
  memset(&h, 0, sizeof h);
  volt_shared_histogram_read_(&tallied, &h);
}

static void nothing(void **state) {
  begin(state);
  read_it();
  assert_int_equal(h.count, 0);
  assert_int_equal(volt_histogram_at_ns(&h, 0.5), 0);
  assert_int_equal(volt_histogram_below(&h, UINT64_MAX), 0);
}

/* Each step begins where the one before it ends, 8 an octave; none is left out. */
static void steps(void **state) {
  begin(state);
  unsigned step = 0;
  for (uint64_t octave = 16; octave < UINT64_C(1) << 40; octave *= 2) {
    for (uint64_t i = 0; i < 8; i++, step++) {
      uint64_t first = octave + octave / 8 * i, end = octave + octave / 8 * (i + 1);
      begin(state);
      volt_shared_histogram_add_(&tallied, first, 1);
      volt_shared_histogram_add_(&tallied, end - 1, 1);
      read_it();
      assert_int_equal(h.step[step], 2);
      assert_int_equal(h.longest_ns, end - 1);
      assert_int_equal(volt_histogram_below(&h, end - 1), 0);
      if (step < VOLT_HISTOGRAM_STEPS - 1) assert_int_equal(volt_histogram_below(&h, end), 2);
    }
  }
  assert_int_equal(step, VOLT_HISTOGRAM_STEPS);
}

static void shortest_and_longest(void **state) {
  begin(state);
  volt_shared_histogram_add_(&tallied, 0, 1);
  volt_shared_histogram_add_(&tallied, 15, 1);
  volt_shared_histogram_add_(&tallied, UINT64_C(1) << 40, 1);
  volt_shared_histogram_add_(&tallied, UINT64_C(1) << 50, 1);
  read_it();
  assert_int_equal(h.count, 4);
  assert_int_equal(h.step[0], 2);
  assert_int_equal(h.step[VOLT_HISTOGRAM_STEPS - 1], 2);
  assert_int_equal(volt_histogram_at_ns(&h, 1), UINT64_C(1) << 50);
  assert_int_equal(volt_histogram_at_ns(&h, 0.25), 17);
  assert_int_equal(volt_histogram_below(&h, 18), 2);
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void assert_is_close(uint64_t got, uint64_t exact) {
  assert_true(got >= exact);
  assert_true(got <= (exact < 16 ? 17 : exact + exact / 8));
}

static void against(unsigned count) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < count; i++) {
    volt_shared_histogram_add_(&tallied, list[i], 1);
    sum += list[i];
  }
  read_it();
  qsort(list, count, sizeof list[0], by_size);
  assert_int_equal(h.count, count);
  assert_int_equal(h.sum_ns, sum);
  assert_int_equal(h.longest_ns, list[count - 1]);
  for (unsigned i = 1; i <= 1000; i++) {
    uint64_t rank = ((uint64_t)i * count + 999) / 1000; /* the i-th thousandth, rounded up */
    assert_is_close(volt_histogram_at_ns(&h, (double)i / 1000), list[rank - 1]);
  }
  assert_int_equal(volt_histogram_at_ns(&h, 1), list[count - 1]);
  assert_int_equal(volt_histogram_at_ns(&h, 2), list[count - 1]);
  assert_is_close(volt_histogram_at_ns(&h, 0), list[0]);
  assert_is_close(volt_histogram_at_ns(&h, -1), list[0]);
  for (uint64_t ns = 32; ns < UINT64_C(1) << 40; ns *= 2) {
    uint64_t below = 0;
    while (below < count && list[below] < ns) below++;
    assert_int_equal(volt_histogram_below(&h, ns), below);
  }
}

static void against_a_sorted_list(void **state) {
  uint64_t random = 1;
  for (unsigned bits = 1; bits < 40; bits++) { /* of all sizes up to this one */
    begin(state);
    for (unsigned i = 0; i < MANY; i++) {
      random = random * UINT64_C(6364136223846793005) + 1;
      list[i] = random >> 24 >> (40 - bits) >> (random >> 20 & 15) % bits;
    }
    against(MANY);
  }
  begin(state);
  list[0] = 1000;
  against(1);
}

static void weights(void **state) {
  begin(state);
  volt_shared_histogram_add_(&tallied, 100, 64);
  volt_shared_histogram_add_(&tallied, 1000, 1);
  read_it();
  assert_int_equal(h.count, 65);
  assert_int_equal(h.sum_ns, 7400);
  assert_is_close(volt_histogram_at_ns(&h, 0.98), 100);
  assert_int_equal(volt_histogram_at_ns(&h, 0.99), 1000);
}

/* A step of a lock that is taken all the time has them after minutes. */
static void more_than_32_bits_of_one_step(void **state) {
  begin(state);
  for (int i = 0; i < 3; i++) volt_shared_histogram_add_(&tallied, 100, UINT32_MAX);
  read_it();
  assert_int_equal(h.count, UINT64_C(3) * UINT32_MAX);
  assert_int_equal(volt_histogram_below(&h, 128), UINT64_C(3) * UINT32_MAX);
}

static void several_add_up(void **state) {
  begin(state);
  volt_shared_histogram_add_(&tallied, 2000, 1);
  read_it();
  volt_shared_histogram_read_(&tallied, &h);
  assert_int_equal(h.count, 2);
  assert_int_equal(h.sum_ns, 4000);
  assert_int_equal(h.longest_ns, 2000);
}

/* Also what took no time at all, which is in no sum. */
static void cleared(void **state) {
  const uint64_t times[] = {0, 1, 5000, UINT64_MAX};
  for (unsigned i = 0; i < 4; i++) {
    begin(state);
    volt_shared_histogram_add_(&tallied, times[i], 1);
    read_it();
    assert_int_equal(h.count, 1);
    volt_shared_histogram_clear_(&tallied);
    read_it();
    assert_int_equal(h.count, 0);
    assert_int_equal(h.sum_ns, 0);
    assert_int_equal(h.longest_ns, 0);
  }
}

static void add_many(void *arg, uint32_t index) {
  (void)arg;
  for (unsigned i = 0; i < 10000; i++) volt_shared_histogram_add_(&tallied, i * (index + 1), 3);
}

static void by_threads_at_once(void **state) {
  begin(state);
  thread_team_run(4, add_many, NULL);
  read_it();
  assert_int_equal(h.count, 4 * 10000 * 3);
  assert_int_equal(h.sum_ns, UINT64_C(49995000) * (1 + 2 + 3 + 4) * 3);
  assert_int_equal(h.longest_ns, 9999 * 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing),
      cmocka_unit_test(steps),
      cmocka_unit_test(shortest_and_longest),
      cmocka_unit_test(against_a_sorted_list),
      cmocka_unit_test(weights),
      cmocka_unit_test(more_than_32_bits_of_one_step),
      cmocka_unit_test(several_add_up),
      cmocka_unit_test(cleared),
      cmocka_unit_test(by_threads_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
