/* tenant_test.c: tenants that come and are forgotten. Whose turn it is: admission_test.c. */
#include <pthread.h>
#include <stdio.h>

#include "gate/tenant.h"
#include "unit.h"

static struct gate_settings settings;
static volt_sem permits;
static struct turns turns;
static struct tenants *tenants;

static void begin(uint32_t most, struct tenant_settings *sections, size_t count) {
  settings = (struct gate_settings){.tenant_default = {.limit = 7, .weight = 1, .cost = 1},
                                    .tenant_max = most,
                                    .tenants = sections,
                                    .tenant_count = count};
  volt_sem_init(&permits, 10);
  memset(&turns, 0, sizeof turns);
  turns_init(&turns, &permits);
  tenants = tenants_new(&turns, &settings);
  assert_non_null(tenants);
}

static struct tenant *enter(const char *name) {
  struct tenant *one = tenants_enter(tenants, name);
  assert_non_null(one);
  return one;
}

static void count_one(void *count, struct tenant *tenant) {
  (void)tenant;
  *(int *)count += 1;
}
static int how_many(void) {
  int count = 0;
  tenants_each(tenants, count_one, &count);
  return count;
}

static void a_name_is_one_tenant(void **state) {
  (void)state;
  begin(10, NULL, 0);
  struct tenant *a = enter("a");
  assert_string_equal(a->name, "a");
  assert_ptr_equal(enter("a"), a);
  assert_int_equal(a->clients, 2);
  assert_ptr_not_equal(enter("b"), a);
  assert_int_equal(how_many(), 3); /* and "other" */
  assert_int_equal(tenant_limit(a), 7);
  tenant_leave(tenants, a);
  tenant_leave(tenants, a);
  assert_ptr_equal(enter("a"), a); /* not forgotten: there is room */
  tenants_free(tenants);
}

static void those_beyond_the_most_are_one(void **state) {
  (void)state;
  begin(2, NULL, 0);
  struct tenant *a = enter("a"), *b = enter("b");
  struct tenant *other = enter("c");
  assert_string_equal(other->name, "other");
  assert_ptr_equal(enter("d"), other);
  assert_ptr_equal(enter("a"), a);
  assert_int_equal(how_many(), 3);
  tenant_leave(tenants, b); /* it has no client now, so it is forgotten */
  volt_shared_histogram_add_(&b->wait, 5000, 1);
  b->refused = 3;
  struct tenant *e = enter("e");
  assert_string_equal(e->name, "e");
  assert_int_equal(e->clients, 1);
  assert_int_equal(tenant_admitted(e), 0);
  assert_int_equal(e->refused, 0);
  assert_int_equal(how_many(), 3);
  assert_ptr_equal(enter("b"), other);
  tenants_free(tenants);
}

static void a_tenant_with_a_section_is_kept(void **state) {
  (void)state;
  struct tenant_settings sections[] = {{.name = "app", .limit = 3, .weight = 2, .cost = 4},
                                       {.name = "batch", .weight = 1, .cost = 1}};
  begin(1, sections, 2);
  assert_int_equal(how_many(), 3);
  struct tenant *app = enter("app");
  assert_int_equal(tenant_limit(app), 3);
  assert_int_equal(app->turns.weight, 2);
  assert_int_equal(app->turns.cost_set, 4);
  assert_int_equal(app->turns.cost, 3); /* not more than its limit */
  tenant_leave(tenants, app);
  struct tenant *a = enter("a");
  assert_string_equal(enter("b")->name, "other");
  tenant_leave(tenants, a);
  assert_string_equal(enter("b")->name, "b");
  assert_ptr_equal(enter("app"), app);
  assert_int_equal(tenant_limit(enter("batch")), 0);
  tenants_free(tenants);
}

static void settings_change_for_those_that_are_there(void **state) {
  (void)state;
  struct tenant_settings sections[] = {{.name = "app", .limit = 3, .weight = 2, .cost = 1}};
  begin(10, NULL, 0);
  struct tenant *app = enter("app"), *a = enter("a");
  struct gate_settings changed = settings;
  changed.tenants = sections;
  changed.tenant_count = 1;
  changed.tenant_default.limit = 5;
  tenants_set(tenants, &changed);
  assert_int_equal(tenant_limit(app), 3);
  assert_int_equal(app->turns.weight, 2);
  assert_int_equal(tenant_limit(a), 5);
  assert_true(tenants_set_limit(tenants, "a", 0));
  assert_int_equal(tenant_limit(a), 0);
  assert_false(tenants_set_limit(tenants, "b", 1));
  tenants_set(tenants, &settings);
  assert_int_equal(tenant_limit(app), 7);
  assert_int_equal(tenant_limit(a), 7);
  tenants_free(tenants);
}

static void a_long_name_is_cut_with_a_hash(void **state) {
  (void)state;
  char one[200], other[200], kept[TENANT_NAME_MAX];
  memset(one, 'x', sizeof one);
  one[sizeof one - 1] = '\0';
  memcpy(other, one, sizeof one);
  other[150] = 'y';
  struct tenant_settings sections[] = {{.name = one, .limit = 2, .weight = 1, .cost = 1}};
  begin(10, sections, 1);
  struct tenant *first = enter(one), *second = enter(other);
  assert_ptr_not_equal(first, second);
  assert_int_equal(strlen(first->name), TENANT_NAME_MAX - 1);
  assert_ptr_equal(enter(one), first);
  assert_int_equal(tenant_limit(first), 2);
  assert_int_equal(tenant_limit(second), 7);
  tenants_set(tenants, &settings); /* found again by its whole name */
  assert_int_equal(tenant_limit(first), 2);
  one[TENANT_NAME_MAX - 1] = '\0'; /* the longest that is kept whole */
  tenant_name(kept, one);
  assert_string_equal(kept, one);
  char accents[101];
  for (size_t i = 0; i + 1 < sizeof accents; i += 2) memcpy(accents + i, "\xc3\xa4", 3);
  tenant_name(kept, accents); /* not within a character */
  assert_int_equal(strcspn(kept, "~") % 2, 0);
  tenants_free(tenants);
}

static void *come_and_go(void *seed) {
  for (unsigned i = 0; i < 20000; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%u", (i * 7 + *(unsigned *)seed) % 40);
    struct tenant *one = tenants_enter(tenants, name);
    if (strcmp(one->name, name) != 0 && strcmp(one->name, "other") != 0) return seed;
    tenant_leave(tenants, one);
  }
  return NULL;
}

static void threads_may_come_and_go(void **state) {
  (void)state;
  begin(10, NULL, 0);
  pthread_t threads[4];
  unsigned seeds[] = {0, 11, 22, 33};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &seeds[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  assert_int_equal(how_many(), 11);
  tenants_free(tenants);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_is_one_tenant),
      cmocka_unit_test(those_beyond_the_most_are_one),
      cmocka_unit_test(a_tenant_with_a_section_is_kept),
      cmocka_unit_test(settings_change_for_those_that_are_there),
      cmocka_unit_test(a_long_name_is_cut_with_a_hash),
      cmocka_unit_test(threads_may_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
