/* name_test.c: every sentence of volt/name.h. */
#include "core/hooks/named.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

#include <stdio.h>

enum { MOST = VOLT_NAMES_MAX_ };

static uint64_t objects[MOST + 1];

static void assert_name(const void *object, const char *want) {
  const char *name = volt_name_of(object);
  if (want) {
    assert_non_null(name);
    assert_string_equal(name, want);
  } else {
    assert_null(name);
  }
}

static void named_renamed_unnamed(void **state) {
  (void)state;
  assert_name(&objects[0], NULL);
  assert_result(volt_name(&objects[0], "pool"), VOLT_OK);
  assert_name(&objects[0], "pool");
  assert_name(&objects[1], NULL);
  assert_result(volt_name(&objects[1], "cache"), VOLT_OK);
  assert_result(volt_name(&objects[0], "lake"), VOLT_OK);
  assert_name(&objects[0], "lake");
  assert_name(&objects[1], "cache");
  volt_unname(&objects[0]);
  volt_unname(&objects[0]);
  assert_name(&objects[0], NULL);
  assert_name(&objects[1], "cache");
  volt_unname(&objects[1]);
  volt_unname(NULL);
}

static void refused(void **state) {
  (void)state;
  assert_result(volt_name(NULL, "pool"), VOLT_EINVAL);
  assert_result(volt_name(&objects[0], NULL), VOLT_EINVAL);
  assert_result(volt_name_nested(&objects[0], "node", 256), VOLT_EINVAL);
  assert_name(NULL, NULL);
  assert_name(&objects[0], NULL);
}

static void levels(void **state) {
  (void)state;
  volt_named_ named;
  assert_false(volt_name_find_(&objects[0], &named));
  assert_result(volt_name_nested(&objects[0], "node", 255), VOLT_OK);
  assert_true(volt_name_find_(&objects[0], &named));
  assert_int_equal(named.level, 255);
  unsigned slot = named.slot;
  assert_true(slot < VOLT_NAME_SLOTS_);
  assert_result(volt_name(&objects[0], "root"), VOLT_OK);
  assert_true(volt_name_find_(&objects[0], &named));
  assert_int_equal(named.level, 0);
  assert_int_equal(named.slot, slot);
  volt_unname(&objects[0]);
}

/* Each finds its own, however many there are, also after others have gone. */
static void as_many_as_there_is_room_for(void **state) {
  static char names[MOST][8];
  (void)state;
  for (unsigned i = 0; i < MOST; i++) {
    snprintf(names[i], sizeof names[i], "%u", i);
    assert_result(volt_name(&objects[i], names[i]), VOLT_OK);
  }
  assert_result(volt_name(&objects[MOST], "one too many"), VOLT_ENOMEM);
  assert_name(&objects[MOST], NULL);
  assert_result(volt_name(&objects[7], "seven"), VOLT_OK); /* it has one */
  volt_unname(&objects[9]);
  assert_result(volt_name(&objects[MOST], "room again"), VOLT_OK);
  for (unsigned i = 0; i < MOST; i++) {
    assert_name(&objects[i], i == 7 ? "seven" : i == 9 ? NULL : names[i]);
  }
  assert_name(&objects[MOST], "room again");
  for (unsigned i = 0; i <= MOST; i++) volt_unname(&objects[i]);
  for (unsigned i = 0; i <= MOST; i++) assert_name(&objects[i], NULL);
}

static void an_object_loses_it_when_it_is_destroyed(void **state) {
  (void)state;
  volt_mutex m = VOLT_MUTEX_INIT;
  volt_latch l = VOLT_LATCH_INIT(1);
  volt_chan c;
  uint64_t ring[64];
  assert_result(volt_chan_init(&c, 4, sizeof(uint64_t), ring, sizeof ring), VOLT_OK);
  assert_result(volt_name(&m, "m"), VOLT_OK);
  assert_result(volt_name(&l, "l"), VOLT_OK);
  assert_result(volt_name(&c, "c"), VOLT_OK);
  volt_mutex_destroy(&m);
  assert_name(&m, NULL);
  assert_name(&l, "l");
  volt_latch_destroy(&l);
  assert_name(&l, NULL);
  volt_chan_close(&c);
  volt_chan_destroy(&c, NULL, NULL);
  assert_name(&c, NULL);
}

/* A reader never sees the name of another object, while slots change hands. */
static VOLT_ATOMIC(uint32_t) readers_left;

static void name_or_read(void *arg, uint32_t index) {
  (void)arg;
  static const char *const names[] = {"a", "b"};
  uint64_t *mine = &objects[index % 2];
  const char *its = names[index % 2];
  if (index < 2) {
    while (volt_load_relaxed(&readers_left) > 0) { /* the test's own count */
      REQUIRE(volt_name(mine, its) == VOLT_OK);
      volt_unname(mine);
    }
    return;
  }
  for (unsigned i = 0; i < 20000; i++) {
    const char *seen = volt_name_of(mine);
    REQUIRE(!seen || seen == its);
  }
  volt_fetch_add_relaxed(&readers_left, UINT32_MAX); /* as above */
}

static void read_while_slots_change(void **state) {
  (void)state;
  volt_store_relaxed(&readers_left, 2); /* not shared yet */
  thread_team_run(4, name_or_read, NULL);
  assert_name(&objects[0], NULL);
  assert_name(&objects[1], NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(named_renamed_unnamed),
      cmocka_unit_test(refused),
      cmocka_unit_test(levels),
      cmocka_unit_test(as_many_as_there_is_room_for),
      cmocka_unit_test(an_object_loses_it_when_it_is_destroyed),
      cmocka_unit_test(read_while_slots_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
