/* base_test.c: result codes, the clock, the version, the macros. */
#define _GNU_SOURCE /* clock_gettime */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "death.h"
#include "unit.h"

static void codes_have_their_values(void **state) {
  (void)state;
  assert_int_equal(VOLT_OK, 0);
  assert_int_equal(VOLT_PENDING, 1);
  assert_int_equal(VOLT_LEADER, 2);
  assert_int_equal(VOLT_DONE, 3);
  const int errors[] = {VOLT_EAGAIN, VOLT_ECLOSED,  VOLT_ETIMEDOUT, VOLT_ECANCELED, VOLT_EINVAL,
                        VOLT_ENOMEM, VOLT_ESTALLED, VOLT_ELAGGED,   VOLT_EEMPTY};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    assert_true(errors[i] < 0);
    for (size_t j = 0; j < i; j++) assert_int_not_equal(errors[i], errors[j]);
  }
  assert_int_equal(VOLT_ESTALLED, -7);
}

/* VOLT_OK and what says more than that; nothing has succeeded that is pending or has failed. */
static void successes_are_told_by_one_test(void **state) {
  (void)state;
#define EXPECT_OK(code, value, text) \
  assert_int_equal(volt_is_ok(code), code == VOLT_OK || code == VOLT_LEADER || code == VOLT_DONE);
  VOLT_RESULTS(EXPECT_OK)
#undef EXPECT_OK
  assert_true(volt_is_ok(4711)); /* of an async function of one's own */
  assert_false(volt_is_ok(-4711));
}

static void codes_have_texts(void **state) {
  (void)state;
  assert_string_equal(volt_strerror(VOLT_OK), "success");
  assert_string_equal(volt_strerror(VOLT_ECLOSED), "closed");
  const char *unknown = volt_strerror(-1000);
  assert_string_equal(unknown, "unknown result");
  assert_string_equal(volt_strerror(1000), unknown);
#define KNOWN(code, value, text)                   \
  assert_int_equal(code, value);                   \
  assert_string_equal(volt_strerror(value), text); \
  assert_string_not_equal(volt_strerror(value), unknown);
  VOLT_RESULTS(KNOWN)
#undef KNOWN
}

static void codes_have_names(void **state) {
  (void)state;
#define NAMED(code, value, text) assert_string_equal(volt_strresult(value), #code);
  VOLT_RESULTS(NAMED)
#undef NAMED
  assert_string_equal(volt_strresult(1000), "?");
  assert_string_equal(volt_strresult(-1000), "?");
}

static uint64_t monotonic_ns(void) {
  struct timespec t;
  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void now_is_the_monotonic_clock(void **state) {
  (void)state;
  uint64_t before = monotonic_ns();
  uint64_t now = volt_now_ns();
  uint64_t after = monotonic_ns();
  assert_true(before <= now && now <= after);
}

static void a_deadline_is_now_and_the_delay(void **state) {
  (void)state;
  const uint64_t delays[] = {0, 1, 1000000000, UINT64_C(1) << 62};
  for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
    uint64_t before = volt_now_ns();
    uint64_t deadline_ns = volt_deadline_ns(delays[i]);
    uint64_t after = volt_now_ns();
    assert_true(before + delays[i] <= deadline_ns && deadline_ns <= after + delays[i]);
  }
}

static void a_deadline_saturates(void **state) {
  (void)state;
  assert_true(volt_deadline_ns(UINT64_MAX) == VOLT_NO_DEADLINE - 1);
  assert_true(volt_deadline_ns(UINT64_MAX - 1) == VOLT_NO_DEADLINE - 1);
  uint64_t close_to_it = VOLT_NO_DEADLINE - volt_now_ns();
  assert_true(volt_deadline_ns(close_to_it) == VOLT_NO_DEADLINE - 1);
}

static void a_deadline_has_units(void **state) {
  (void)state;
  const struct {
    uint64_t (*deadline)(uint64_t delay);
    uint64_t unit_ns;
  } units[] = {
      {volt_deadline_us, 1000}, {volt_deadline_ms, 1000000}, {volt_deadline_s, 1000000000}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    uint64_t delay_ns = 7 * units[i].unit_ns;
    uint64_t before = volt_now_ns();
    uint64_t deadline_ns = units[i].deadline(7);
    uint64_t after = volt_now_ns();
    assert_true(before + delay_ns <= deadline_ns && deadline_ns <= after + delay_ns);
    assert_true(units[i].deadline(UINT64_MAX) == VOLT_NO_DEADLINE - 1);
    assert_true(units[i].deadline(UINT64_MAX / units[i].unit_ns) == VOLT_NO_DEADLINE - 1);
    assert_true(units[i].deadline(UINT64_MAX / units[i].unit_ns + 1) == VOLT_NO_DEADLINE - 1);
  }
}

#if VOLT_DEBUG

static uint64_t began_ns; /* main() */

static void block_until(void *deadline_ns) {
  volt_parker parker = VOLT_PARKER_INIT;
  volt_park_until(&parker, 1, *(uint64_t *)deadline_ns);
}

static void acquire_until(void *deadline_ns) {
  volt_sem sem = VOLT_SEM_INIT(0);
  ignore_result(volt_sem_acquire_until(&sem, 1, *(uint64_t *)deadline_ns));
}

static void a_duration_is_no_deadline(void **state) {
  (void)state;
  uint64_t second_ns = 1000000000;
  if (volt_now_ns() / 2 < second_ns) skip(); /* the machine has just begun */
  assert_death(block_until, &second_ns, "volt_park_until", "1000000000", "volt_deadline_ns");
  assert_death(acquire_until, &second_ns, "1000000000", "volt_deadline_ns");
  uint64_t small[] = {1, 50, 500, 1000}; /* in any unit */
  for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
    char number[40];
    (void)snprintf(number, sizeof number, "deadline_ns is %u,", (unsigned)small[i]);
    assert_death(block_until, &small[i], number, "volt_deadline_ms(", "0: do not wait");
    assert_death(acquire_until, &small[i], number);
  }
  uint64_t passed_ns[] = {0, began_ns, volt_now_ns() - 1}; /* from this program's own time */
  for (size_t i = 0; i < sizeof passed_ns / sizeof passed_ns[0]; i++) {
    block_until(&passed_ns[i]);
    acquire_until(&passed_ns[i]);
  }
}

#endif

static void the_version_is_the_headers(void **state) {
  (void)state;
  char version[32];
  (void)snprintf(version, sizeof version, "%d.%d.%d", VOLT_VERSION_MAJOR, VOLT_VERSION_MINOR,
                 VOLT_VERSION_PATCH);
  assert_string_equal(volt_version(), version);
}

struct outer {
  int first;
  VOLT_CACHE_ALIGNED char line[VOLT_CACHE_LINE];
  int last;
};

static void container_of_finds_the_struct(void **state) {
  (void)state;
  struct outer o;
  assert_ptr_equal(volt_container_of(&o.first, struct outer, first), &o);
  assert_ptr_equal(volt_container_of(&o.line, struct outer, line), &o);
  assert_ptr_equal(volt_container_of(&o.last, struct outer, last), &o);
}

static void cache_aligned_is_a_line_of_its_own(void **state) {
  (void)state;
  struct outer o;
  assert_int_equal((uintptr_t)&o.line % VOLT_CACHE_LINE, 0);
  assert_int_equal(offsetof(struct outer, last) % VOLT_CACHE_LINE, 0);
}

static void errno_is_never_set(void **state) {
  (void)state;
  errno = 4711;
  (void)volt_strerror(-1000);
  (void)volt_strresult(-1000);
  (void)volt_now_ns();
  (void)volt_deadline_ns(UINT64_MAX);
  (void)volt_version();
  assert_int_equal(errno, 4711);
}

int main(void) {
#if VOLT_DEBUG
  began_ns = volt_now_ns();
#endif
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(codes_have_their_values),
    cmocka_unit_test(successes_are_told_by_one_test),
    cmocka_unit_test(codes_have_texts),
    cmocka_unit_test(codes_have_names),
    cmocka_unit_test(now_is_the_monotonic_clock),
    cmocka_unit_test(a_deadline_is_now_and_the_delay),
    cmocka_unit_test(a_deadline_saturates),
    cmocka_unit_test(a_deadline_has_units),
#if VOLT_DEBUG
    cmocka_unit_test(a_duration_is_no_deadline),
#endif
    cmocka_unit_test(the_version_is_the_headers),
    cmocka_unit_test(container_of_finds_the_struct),
    cmocka_unit_test(cache_aligned_is_a_line_of_its_own),
    cmocka_unit_test(errno_is_never_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
