/* cluster_share_test.c: a lease alone, for a program that counts by itself. The test is the driver. */
#include <volt/cluster.h>

#include "fake_lease.h"
#include "unit.h"

static volt_cluster_lease *lease;
static struct {
  uint32_t held, wanted, limit, limits, losses;
  uint32_t held_at_loss; /* the limit when lost() was called */
} program;

static uint32_t program_wanted(void *ctx) {
  assert_ptr_equal(ctx, &program);
  return program.wanted;
}

static uint32_t program_held(void *ctx) {
  assert_ptr_equal(ctx, &program);
  return program.held;
}

static void program_set_limit(uint32_t limit, void *ctx) {
  assert_ptr_equal(ctx, &program);
  program.limit = limit;
  program.limits += 1;
}

static void program_lost(void *ctx) {
  assert_ptr_equal(ctx, &program);
  program.losses += 1;
  program.held_at_loss = program.limit;
}

static const volt_cluster_lease_user user = {program_wanted, program_held, program_set_limit,
                                             program_lost, &program};

static const cluster_local *local(void) {
  return fake_local();
}

static void *ctx(void) {
  return lease_ctx_(lease);
}

static int set_up(void **state) {
  (void)state;
  const volt_cluster_sem_config config = {.capacity = 8};
  memset(&program, 0, sizeof program);
  assert_result(volt_cluster_lease_open(&lease, &fake_cluster, "it", &config, &user), VOLT_OK);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  local()->destroy(ctx());
  return 0;
}

static void add(uint32_t first, uint32_t count) {
  cluster_slot slots[8];
  for (uint32_t i = 0; i < count; i++)
    slots[i] = (cluster_slot){.slot = first + i, .era = 1, .epoch = 100};
  local()->add(ctx(), slots, count);
}

/* Returns the numbers as bits. */
static uint32_t collect(void) {
  cluster_slot slots[8];
  uint32_t numbers = 0, count = local()->collect(ctx(), slots, 8);
  for (uint32_t i = 0; i < count; i++) {
    assert_false(numbers >> slots[i].slot & 1);
    numbers |= 1u << slots[i].slot;
  }
  return numbers;
}

static void the_limit_is_what_is_leased(void **state) {
  (void)state;
  assert_int_equal(program.limit, 0);
  add(0, 3);
  assert_int_equal(program.limit, 3);
  program.held = 1;
  program.wanted = 5;
  assert_int_equal(local()->wanted(ctx()), 5);
  assert_int_equal(local()->idle(ctx()), 2);
  assert_int_equal(local()->room(ctx()), 5);
  program.held = 4; /* more than the limit, for whatever reason */
  assert_int_equal(local()->idle(ctx()), 0);
  assert_true(local()->is_free(ctx()));
}

static void free_slots_come_back_at_once(void **state) {
  (void)state;
  add(0, 4);
  program.held = 2;
  local()->take_back(ctx(), 2);
  assert_int_equal(program.limit, 2);
  assert_int_equal(__builtin_popcount(collect()), 2);
  assert_int_equal(program.limit, 2);
  assert_int_equal(collect(), 0);
  assert_false(volt_cluster_lease_is_waiting(lease));
}

static void held_slots_come_back_as_they_are_released(void **state) {
  (void)state;
  add(0, 3);
  program.held = 3;
  local()->take_back(ctx(), 2);
  assert_int_equal(program.limit, 1);
  assert_int_equal(collect(), 0);
  assert_true(volt_cluster_lease_is_waiting(lease));
  program.held = 2;
  assert_int_equal(__builtin_popcount(collect()), 1);
  assert_true(volt_cluster_lease_is_waiting(lease));
  program.held = 0;
  assert_int_equal(__builtin_popcount(collect()), 1);
  assert_false(volt_cluster_lease_is_waiting(lease));
  assert_int_equal(program.limit, 1);
  local()->take_back(ctx(), 7); /* no more than there are */
  assert_int_equal(program.limit, 0);
  assert_int_equal(__builtin_popcount(collect()), 1);
}

static void those_with_high_numbers_come_back_first(void **state) {
  (void)state;
  add(2, 2);
  add(0, 2);
  program.held = 4;
  assert_int_equal(local()->take_back_from(ctx(), 3), 1);
  assert_int_equal(local()->take_back_from(ctx(), 2), 2);
  assert_int_equal(local()->take_back_from(ctx(), 2), 2);
  assert_int_equal(program.limit, 2);
  add(4, 1); /* it was under way */
  assert_int_equal(program.limit, 3);
  program.held = 3;
  assert_int_equal(local()->take_back_from(ctx(), 2), 3);
  assert_int_equal(collect() & ~0x1cu, 0);
  program.held = 0;
  (void)collect();
  assert_int_equal(local()->take_back_from(ctx(), 2), 0);
  local()->take_back(ctx(), 2);
  assert_int_equal(collect(), 3);
}

static void all_leases_are_lost(void **state) {
  (void)state;
  local()->lose(ctx(), NULL);
  assert_int_equal(program.losses, 0); /* there were none */
  add(0, 3);
  program.held = 2;
  local()->take_back(ctx(), 2);
  local()->lose(ctx(), NULL);
  assert_int_equal(program.losses, 1);
  assert_int_equal(program.held_at_loss, 0); /* the limit was set before */
  assert_int_equal(collect(), 0);
  assert_false(volt_cluster_lease_is_waiting(lease));
  add(0, 1);
  assert_int_equal(program.limit, 1);
}

static void one_lease_is_lost(void **state) {
  (void)state;
  add(0, 4);
  program.held = 4;
  assert_int_equal(local()->take_back_from(ctx(), 2), 2);
  local()->lose(ctx(), &(cluster_slot){.slot = 3});
  assert_int_equal(program.limit, 1 + 1);
  local()->lose(ctx(), &(cluster_slot){.slot = 3}); /* it is gone */
  local()->lose(ctx(), &(cluster_slot){.slot = 1});
  assert_int_equal(program.limit, 1);
  assert_int_equal(program.losses, 0);
  program.held = 0;
  assert_int_equal(collect(), 4);
  local()->lose(ctx(), &(cluster_slot){.slot = 0});
  assert_int_equal(program.limit, 0);
  assert_int_equal(local()->room(ctx()), 8);
}

static void closing_asks_all_back(void **state) {
  (void)state;
  add(0, 2);
  program.held = 1;
  program.wanted = 4;
  local()->close(ctx());
  assert_int_equal(program.limit, 0);
  assert_int_equal(local()->wanted(ctx()), 0);
  assert_int_equal(__builtin_popcount(collect()), 1);
  program.held = 0;
  assert_int_equal(__builtin_popcount(collect()), 1);
}

/* By any thread: what the driver has seen last. */
static void it_is_counted(void **state) {
  (void)state;
  add(0, 2);
  program.held = 2;
  program.wanted = 5;
  (void)local()->wanted(ctx());
  local()->take_back(ctx(), 1);
  program.wanted = 7;
  volt_cluster_lease_stats stats;
  volt_cluster_lease_stats_get(lease, &stats);
  assert_int_equal(stats.used, 2);
  assert_int_equal(stats.waiting, 3);
  assert_int_equal(stats.owed, 1);
  assert_int_equal(stats.lost, 0);
}

static void opening_can_fail(void **state) {
  (void)state;
  volt_cluster_lease *l = lease;
  const volt_cluster_sem_config much = {.capacity = UINT32_MAX};
  const volt_cluster_lease_user incomplete = {.wanted = program_wanted, .held = program_held};
  assert_result(volt_cluster_lease_open(&l, NULL, "it", NULL, &user), VOLT_EINVAL);
  assert_null(l);
  assert_result(volt_cluster_lease_open(&l, &fake_cluster, "it", &much, &user), VOLT_EINVAL);
  assert_result(volt_cluster_lease_open(&l, &fake_cluster, "it", NULL, NULL), VOLT_EINVAL);
  assert_result(volt_cluster_lease_open(&l, &fake_cluster, "it", NULL, &incomplete), VOLT_EINVAL);
  fake_lease.opens_with = VOLT_ENOMEM;
  assert_result(volt_cluster_lease_open(&l, &fake_cluster, "it", NULL, &user), VOLT_ENOMEM);
  fake_lease.opens_with = VOLT_OK;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_limit_is_what_is_leased, set_up, tear_down),
      cmocka_unit_test_setup_teardown(free_slots_come_back_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(held_slots_come_back_as_they_are_released, set_up, tear_down),
      cmocka_unit_test_setup_teardown(those_with_high_numbers_come_back_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(all_leases_are_lost, set_up, tear_down),
      cmocka_unit_test_setup_teardown(one_lease_is_lost, set_up, tear_down),
      cmocka_unit_test_setup_teardown(closing_asks_all_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(it_is_counted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(opening_can_fail, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("volt_cluster_lease", tests, NULL, NULL);
}
