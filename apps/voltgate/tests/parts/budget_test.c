/* budget_test.c: how many descriptors are kept back, and what is said if clients have too few. */
#include "program/budget.h"

#include <string.h>

#include "unit.h"

static struct gate_settings gates[2];
static struct settings settings = {.gates = gates};

static struct budget compute(uint64_t all) {
  struct budget b;
  char words[512];
  assert_true(fd_budget_compute(&b, &settings, all, words, sizeof words));
  return b;
}

static void set_up(void) {
  gates[0] = (struct gate_settings){
      .protocol = PROTOCOL_POSTGRES, .limit = 16, .clients = 10000, .listen_count = 1};
  gates[1] = (struct gate_settings){
      .protocol = PROTOCOL_TCP, .limit = 5, .clients = 100, .listen_count = 2};
  settings.gate_count = 2;
}

static void enough_needs_no_words(void **state) {
  (void)state;
  char words[512];
  set_up();
  struct budget b = compute(65536);
  assert_int_equal(b.kept, 24 + 64 + 1 + 2 * 5 + 2);
  assert_int_equal(b.wanted, 2 * 10000 + 100);
  gates[0].clients_given = true;
  assert_false(fd_budget_words(&b, words, sizeof words));
  assert_string_equal(words, "");
}

/* The preset of clients asks for nothing: so nothing has to be done. */
static void a_preset_is_no_wish(void **state) {
  (void)state;
  char words[512];
  set_up();
  struct budget b = compute(4096);
  assert_false(fd_budget_words(&b, words, sizeof words));
  assert_string_equal(words,
                      "descriptors: of 4096, 101 are kept back, and the rest is enough for 1997 "
                      "clients at once; more wait in the kernel until one leaves");
}

static void a_wish_is_computed(void **state) {
  (void)state;
  char words[512];
  set_up();
  gates[1].clients_given = true;
  struct budget b = compute(4096);
  assert_true(fd_budget_words(&b, words, sizeof words));
  assert_non_null(strstr(words, "enough for 1997 clients at once"));
  assert_non_null(strstr(words,
                         "For all 10100 that may come, set nofile (and the hard limit: "
                         "LimitNOFILE=, ulimit -Hn) to 20201, or lower clients"));
  struct budget all = compute(20201);
  assert_false(
      fd_budget_words(&all, words, sizeof words)); /* with what it says nothing is to be done */
  assert_string_equal(words, "");
}

static void few_descriptors_leave_the_admin_side_few_places(void **state) {
  (void)state;
  assert_int_equal(fd_budget_admin(64), 8);
  assert_int_equal(fd_budget_admin(512), 32);
  assert_int_equal(fd_budget_admin(1024), 64);
  assert_int_equal(fd_budget_admin(1 << 20), 64);
}

static void limits_that_do_not_fit(void **state) {
  (void)state;
  struct budget b;
  char words[512];
  set_up();
  assert_false(fd_budget_compute(&b, &settings, 40, words, sizeof words));
  assert_non_null(strstr(words, "raise nofile or lower the limit"));
}

/* A listener at which nobody comes keeps those of its next client, and must keep none from another. */
static void each_listener_has_enough_for_a_client(void **state) {
  (void)state;
  struct budget b;
  char words[512];
  set_up();
  uint64_t kept = compute(65536).kept - fd_budget_admin(65536) + fd_budget_admin(64),
           least = 2 + 2 * 1;
  assert_false(fd_budget_compute(&b, &settings, kept + least - 1, words, sizeof words));
  assert_true(fd_budget_compute(&b, &settings, kept + least, words, sizeof words));
  assert_int_equal(b.clients, least);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(enough_needs_no_words),
      cmocka_unit_test(a_preset_is_no_wish),
      cmocka_unit_test(a_wish_is_computed),
      cmocka_unit_test(few_descriptors_leave_the_admin_side_few_places),
      cmocka_unit_test(limits_that_do_not_fit),
      cmocka_unit_test(each_listener_has_enough_for_a_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
