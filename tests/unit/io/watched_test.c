/* watched_test.c: the table of what is watched (watched.h), whose marks and stamps come round after 2^32
 * and 2^31 uses of one number.
 * BACK ENDS: none */
#include "io/op/watched.h"

#include "unit.h"

enum { NUMBER = 5 };

static volt_watch_table table;

static int set_up(void **state) {
  (void)state;
  volt_watched_init_(&table);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_watched_free_(&table);
  return 0;
}

static volt_watch_slot *slot(void) {
  volt_watch_slot *slots = volt_load_relaxed(&table.chunks[0]);
  assert_non_null(slots);
  return &slots[NUMBER];
}

static uint32_t next_mark(void) {
  volt_fd d = {.number = NUMBER};
  uint32_t mark = volt_watched_add_(&table, &d);
  volt_watched_remove_(&table, &d);
  return mark;
}

/* 0 says that there is no memory; UINT32_MAX, of a volt_fd, that its thread is about to have it watched. */
static void marks_come_round(void **state) {
  (void)state;
  assert_int_equal(next_mark(), 1);
  assert_int_equal(next_mark(), 2);
  slot()->mark = UINT32_MAX - 2;
  assert_int_equal(next_mark(), UINT32_MAX - 1);
  assert_int_equal(next_mark(), 1);
  assert_int_equal(next_mark(), 2);
}

static uint32_t next_stamp(void) {
  uint32_t stamp = volt_watched_own_(&table, NUMBER);
  assert_true(volt_watched_is_of_(&table, NUMBER, stamp));
  assert_true(volt_watched_is_owned_(&table, NUMBER) && volt_watched_owns_any_(&table));
  assert_true(volt_watched_disown_(&table, NUMBER, stamp));
  assert_false(volt_watched_disown_(&table, NUMBER, stamp));
  assert_false(volt_watched_is_owned_(&table, NUMBER) || volt_watched_owns_any_(&table));
  return stamp;
}

/* A stamp is odd, and VOLT_WATCH_UNMARKED_ is none. */
static void stamps_come_round(void **state) {
  (void)state;
  assert_int_equal(next_stamp(), 3);
  volt_store_relaxed(&slot()->owner, UINT32_MAX - 3);
  assert_int_equal(next_stamp(), UINT32_MAX);
  assert_int_equal(next_stamp(), 3);
  assert_int_equal(next_stamp(), 5);
}

/* Of each chunk the first number and the last. */
static void each_number_has_a_place_of_its_own(void **state) {
  (void)state;
  static const struct {
    int number;
    unsigned chunk, place;
  } known[] = {{0, 0, 0},   {63, 0, 63},   {64, 1, 0}, {191, 1, 127},
               {192, 2, 0}, {447, 2, 255}, {448, 3, 0}};
  assert_int_equal(VOLT_WATCH_FIRST, 64);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t stamp = volt_watched_own_(&table, known[i].number);
    volt_watch_slot *slots = volt_load_relaxed(&table.chunks[known[i].chunk]);
    assert_non_null(slots);
    assert_int_equal(volt_load_relaxed(&slots[known[i].place].owner), stamp);
    assert_true(volt_watched_disown_(&table, known[i].number, stamp));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(marks_come_round, set_up, tear_down),
      cmocka_unit_test_setup_teardown(stamps_come_round, set_up, tear_down),
      cmocka_unit_test_setup_teardown(each_number_has_a_place_of_its_own, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
