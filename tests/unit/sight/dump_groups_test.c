/* dump_groups_test.c: tasks counted in groups: none is lost, whatever there is more than room for;
 * and what many wait for is found. */
#include "sight/dump/dump_groups.h"
#include "rng.h"
#include "unit.h"

static volt_dump_groups_ groups;
static volt_dump_group_ *order[VOLT_GROUPS_MAX_];

static int set_up(void **state) {
  (void)state;
  memset(&groups, 0, sizeof groups);
  return 0;
}

/* A task at this place that waits for this object, since then. */
static volt_dump_group_ *count(uint64_t place, uint64_t object, uint64_t since_ns) {
  volt_tree_sum_ sum = {.place = place, .object = object, .first = (void *)(uintptr_t)object};
  volt_aged_ aged = {.task = (void *)(uintptr_t)since_ns, .since_ns = since_ns};
  return volt_groups_count_(&groups, &sum, &aged);
}

static uint64_t counted(void) {
  uint64_t all = groups.elsewhere;
  for (unsigned i = 0; i < groups.count; i++) all += groups.group[i].count;
  return all;
}

static const volt_dump_group_ *group(uint64_t place, uint64_t object) {
  for (unsigned i = 0; i < groups.count; i++) {
    const volt_dump_group_ *g = &groups.group[i];
    if (g->count > 0 && g->place == place && g->object == object) return g;
  }
  return NULL;
}

static void one_place_without_objects(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) assert_non_null(count(1, 0, 1000 - i));
  volt_groups_fold_(&groups);
  assert_int_equal(volt_groups_sort_(&groups, 0, order), 1);
  assert_int_equal(order[0]->count, 1000);
  volt_group_sort_oldest_(order[0]);
  for (uint64_t i = 0; i < VOLT_GROUP_OLDEST_; i++) {
    assert_int_equal(order[0]->old[i].since_ns, 1 + i);
  }
}

/* More places than groups: those that have no group are counted. */
static void more_places_than_there_is_room_for(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 3 * VOLT_GROUPS_MAX_; i++) {
    volt_dump_group_ *g = count(1 + i, i % 2, 1 + i);
    assert_true(g != NULL || groups.count == VOLT_GROUPS_MAX_);
  }
  assert_int_equal(groups.count, VOLT_GROUPS_MAX_);
  assert_true(groups.elsewhere > 0);
  assert_int_equal(counted(), 3 * VOLT_GROUPS_MAX_);
  volt_groups_fold_(&groups);
  assert_int_equal(counted(), 3 * VOLT_GROUPS_MAX_);
}

/* Whatever comes in whatever order, none is lost, and each of the ten oldest of a group is one of
 * it. */
static void none_is_lost(void **state) {
  (void)state;
  rng random = rng_seeded(20);
  for (unsigned round = 0; round < 50; round++) {
    set_up(state);
    uint32_t places = 1 + rng_below(&random, 12), objects = 1 + rng_below(&random, 1000);
    uint64_t tasks = 1 + rng_below(&random, 20000);
    for (uint64_t i = 0; i < tasks; i++) {
      count(1 + rng_below(&random, places), rng_below(&random, objects), 1 + i);
    }
    assert_int_equal(counted(), tasks);
    volt_groups_fold_(&groups);
    assert_int_equal(counted(), tasks);
    uint64_t before = UINT64_MAX, sorted = groups.elsewhere;
    unsigned shown = volt_groups_sort_(&groups, 0, order);
    for (unsigned i = 0; i < shown; i++) {
      assert_true(order[i]->count > 0 && order[i]->count <= before);
      before = order[i]->count;
      sorted += before;
      assert_true(order[i]->oldest == (before < VOLT_GROUP_OLDEST_ ? before : VOLT_GROUP_OLDEST_));
    }
    assert_int_equal(sorted, tasks);
  }
}

/* A tenth of the tasks wait for one object, the others for one each: it is found wherever they
 * come. */
static void what_many_wait_for_has_a_group(void **state) {
  (void)state;
  for (uint64_t first = 0; first < 10; first++) {
    set_up(state);
    for (uint64_t i = 0; i < 20000; i++) count(7, i % 10 == first ? 5 : 1000 + i, 1 + i);
    volt_groups_fold_(&groups);
    const volt_dump_group_ *g = group(7, 5);
    assert_non_null(g);
    assert_true(g->count >= 2000 - 1);
    assert_int_equal(counted(), 20000);
    assert_int_equal(volt_groups_sort_(&groups, 0, order), 2);
  }
}

static void what_differs_is_known(void **state) {
  (void)state;
  volt_tree_sum_ sum = {.place = 1, .object = 2, .wanted = 3};
  volt_aged_ aged = {.since_ns = 1};
  volt_dump_group_ *g = volt_groups_count_(&groups, &sum, &aged);
  assert_false(g->of.many || g->of.wanted || g->of.objects);
  assert_ptr_equal(volt_groups_count_(&groups, &sum, &aged), g);
  assert_true(g->of.many && !g->of.wanted && !g->of.objects);
  sum.wanted = 4;
  (void)volt_groups_count_(&groups, &sum, &aged);
  assert_true(g->of.wanted);
}

int main(void) {
#define FRESH(test) cmocka_unit_test_setup(test, set_up)
  const struct CMUnitTest tests[] = {
      FRESH(one_place_without_objects),
      FRESH(more_places_than_there_is_room_for),
      FRESH(none_is_lost),
      FRESH(what_many_wait_for_has_a_group),
      FRESH(what_differs_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
