/* cluster_names_test.c: names of nodes, serial numbers, the data of a node, until when leases are
 * valid: functions without a state. */
#include <stdlib.h>
#include <volt/cluster.h>

#include "cluster/host/validity.h"
#include "cluster/recipe/names.h"
#include "unit.h"

enum { T = 12000 }; /* a session */

static void test_an_entry_is_read_as_it_was_written(void **state) {
  (void)state;
  cluster_entry e = {
      .guid = {.high = 0x1234, .low = UINT64_MAX}, .sequence = 7, .has = 3, .want = 9};
  cluster_entry back;
  char name[CLUSTER_ENTRY_SIZE];
  cluster_entry_write_(name, &e, CLUSTER_QUEUE);
  assert_string_equal(name, "0000000000001234ffffffffffffffff.3.9.0000000007");
  assert_true(cluster_entry_read_(&back, name, CLUSTER_QUEUE));
  assert_true(cluster_guid_is_(&back.guid, &e.guid));
  assert_int_equal(back.sequence, 7);
  assert_int_equal(back.has, 3);
  assert_int_equal(back.want, 9);
  assert_false(cluster_entry_read_(&back, name, CLUSTER_HOLDERS));
  e.sequence = INT32_MIN;
  cluster_entry_write_(name, &e, CLUSTER_HOLDERS);
  assert_string_equal(name, "0000000000001234ffffffffffffffff.3.-2147483648");
  assert_true(cluster_entry_read_(&back, name, CLUSTER_HOLDERS));
  assert_int_equal(back.sequence, INT32_MIN);
  e.sequence = -5;
  cluster_entry_write_(name, &e, CLUSTER_HOLDERS);
  assert_string_equal(name, "0000000000001234ffffffffffffffff.3.-000000005");
  assert_true(cluster_entry_read_(&back, name, CLUSTER_HOLDERS));
  assert_int_equal(back.sequence, -5);
}

static void test_a_foreign_name_is_none(void **state) {
  (void)state;
  static const char *const names[] = {
      "",
      "lock-0000000001",
      "0000000000001234ffffffffffffffff",
      "0000000000001234ffffffffffffffff.",
      "0000000000001234ffffffffffffffff.3.9.",
      "0000000000001234ffffffffffffffff.3.9.1",
      "0000000000001234ffffffffffffffff.3.9.000000000x",
      "0000000000001234ffffffffffffffff.3.9.9999999999",
      "0000000000001234ffffffffffffffff.3.9.00000000001",
      "0000000000001234ffffffffffffffff.03.9.0000000001",
      "0000000000001234ffffffffffffffff.3.-9.0000000001",
      "0000000000001234ffffffffffffffff.4294967296.9.0000000001",
      "0000000000001234FFFFFFFFFFFFFFFF.3.9.0000000001",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    cluster_entry e;
    assert_false(cluster_entry_read_(&e, names[i], CLUSTER_QUEUE));
  }
}

static void test_slots_are_plain_numbers(void **state) {
  (void)state;
  uint32_t slot = 1;
  assert_true(cluster_slot_read_(&slot, "0"));
  assert_int_equal(slot, 0);
  assert_true(cluster_slot_read_(&slot, "63"));
  assert_int_equal(slot, 63);
  assert_false(cluster_slot_read_(&slot, "063"));
  assert_false(cluster_slot_read_(&slot, "-1"));
  assert_false(cluster_slot_read_(&slot, "6 "));
  assert_false(cluster_slot_read_(&slot, ""));
  assert_false(cluster_slot_read_(&slot, "4294967295"));
}

static void test_numbers_wrap(void **state) {
  (void)state;
  assert_int_equal(cluster_sequence_compare_(1, 1), 0);
  assert_true(cluster_sequence_compare_(1, 2) < 0);
  assert_true(cluster_sequence_compare_(2, 1) > 0);
  assert_true(cluster_sequence_compare_(INT32_MAX, INT32_MIN) < 0);
  assert_true(cluster_sequence_compare_(INT32_MIN, INT32_MAX) > 0);
  assert_true(cluster_sequence_compare_(-1, 0) < 0);
  assert_true(cluster_sequence_compare_(0, INT32_MIN) * cluster_sequence_compare_(INT32_MIN, 0) <
              0);
}

static void test_entries_are_sorted_by_generation_and_number(void **state) {
  (void)state;
  cluster_entry e[] = {{.generation = 1, .sequence = 0},
                       {.generation = 0, .sequence = INT32_MIN},
                       {.generation = 0, .sequence = INT32_MAX},
                       {.generation = 0, .sequence = INT32_MAX - 5}};
  qsort(e, 4, sizeof *e, cluster_entry_by_age_);
  assert_int_equal(e[0].sequence, INT32_MAX - 5);
  assert_int_equal(e[1].sequence, INT32_MAX);
  assert_int_equal(e[2].sequence, INT32_MIN);
  assert_int_equal(e[3].generation, 1);
}

static void test_each_lease_has_a_guid(void **state) {
  (void)state;
  cluster_guid a = cluster_guid_make_(1, "x", 1);
  cluster_guid others[] = {cluster_guid_make_(2, "x", 1), cluster_guid_make_(1, "y", 1),
                           cluster_guid_make_(1, "x", 2)};
  for (int i = 0; i < 3; i++) assert_false(cluster_guid_is_(&a, &others[i]));
  cluster_guid again = cluster_guid_make_(1, "x", 1);
  assert_true(cluster_guid_is_(&a, &again));
}

static bool read_data(cluster_data *d, const char *text) {
  return cluster_data_read_(d, text, strlen(text));
}

static void test_data_are_read(void **state) {
  (void)state;
  cluster_data d;
  assert_true(
      read_data(&d, "volt-cluster 1\nlimit 64\nlease 8\nquantum_ms 20\nera 3\nqueue 1\nturn 9\n"));
  assert_int_equal(d.limit, 64);
  assert_int_equal(d.lease, 8);
  assert_int_equal(d.quantum_ms, 20);
  assert_int_equal(d.era, 3);
  assert_int_equal(d.queue, 1);
  assert_int_equal(d.turn, 9);
  assert_true(read_data(&d, "volt-cluster 1 limit 6 owner me"));
  assert_int_equal(d.limit, 6);
  assert_int_equal(d.era, 1);
  assert_true(read_data(&d, " volt-cluster\t1\r\n limit  0\r\n"));
  static const char *const wrong[] = {"",
                                      "limit 6",
                                      "volt-cluster 2\nlimit 6\n",
                                      "volt-cluster 1\n",
                                      "volt-cluster 1\nlimit\n",
                                      "volt-cluster 1\nlimit six\n",
                                      "volt-cluster 1\nlimit -6\n",
                                      "volt-cluster 1\nlimit 6\nera 4294967296\n",
                                      "volt-cluster 1\nlimit 99999999999999999999\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(read_data(&d, wrong[i]));
  assert_false(cluster_data_read_(&d, "volt-cluster 1\nlimit 6\0", 24));
  assert_false(cluster_data_read_(&d, NULL, 0));
}

static void test_data_that_are_not_ours_stay(void **state) {
  (void)state;
  char text[CLUSTER_DATA_SIZE];
  const char *old = "volt-cluster 1\nlimit 64\nowner shop\nera 3\n";
  cluster_data d;
  assert_true(read_data(&d, old));
  d.limit = 8;
  size_t length = cluster_data_write_(text, &d, old, strlen(old));
  assert_int_equal(length, strlen(text));
  assert_string_equal(text,
                      "volt-cluster 1\nlimit 8\nlease 0\nquantum_ms 0\nera 3\nqueue 0\nturn 0\n"
                      "owner shop\n");
  assert_int_not_equal(cluster_data_write_(text, &d, NULL, 0), 0);
  assert_true(read_data(&d, text));
  char much[CLUSTER_DATA_SIZE];
  memset(much, 'a', sizeof much);
  memcpy(much, "volt-cluster 1 limit 6 ", 23);
  much[990] = ' ';
  assert_true(cluster_data_read_(&d, much, sizeof much - 1));
  assert_int_equal(cluster_data_write_(text, &d, much, sizeof much - 1), 0);
  assert_false(cluster_data_read_(&d, much, sizeof much));
}

/* ---- validity ---- */

static cluster_validity v;

static void test_a_young_session_is_valid_from_its_beginning(void **state) {
  (void)state;
  validity_begin_(&v, T, 1000);
  assert_int_equal(validity_until_(&v), 0);
  validity_heard_(&v, 1100, 1101);
  assert_int_equal(validity_until_(&v), 0); /* a read is no proof */
  validity_wrote_(&v, 1200, 1210);
  assert_int_equal(validity_until_(&v), 1200 + T / 2); /* before 1000 + 5T/6 */
  validity_wrote_(&v, 9000, 9010);
  assert_int_equal(validity_until_(&v), 1000 + T * 5 / 6); /* before 9000 + T/2 */
}

static void test_what_was_answered_just_now_is_not_known(void **state) {
  (void)state;
  validity_begin_(&v, T, 0);
  validity_heard_(&v, 1000, 9000); /* it was answered late */
  validity_wrote_(&v, 9100, 9110);
  assert_int_equal(validity_until_(&v), 0);
  validity_wrote_(&v, 9000 + T / 4 - 1, 9000 + T / 4);
  assert_int_equal(validity_until_(&v), 0);
  validity_wrote_(&v, 9000 + T / 4, 9000 + T / 4 + 1);
  assert_int_equal(validity_until_(&v), 0); /* the leader may have waited with that write */
  validity_wrote_(&v, 9000 + T / 4 + 1, 9000 + T / 4 + 2);
  assert_int_equal(validity_until_(&v), 1000 + T * 5 / 6);
}

static void test_writes_that_are_under_way_together(void **state) {
  (void)state;
  validity_begin_(&v, T, 0);
  for (uint64_t now = 1000; now < 5 * T; now += 10) validity_wrote_(&v, now, now + 25);
  assert_true(validity_until_(&v) >= 5 * T - T / 4 - T / 16 + T * 5 / 6 - 100 ||
              validity_until_(&v) >= 5 * T + T / 2 - 10);
}

/* The sum of validity.c, at the longest round that session.c trusts. */
static void test_it_stays_ahead_with_long_rounds(void **state) {
  (void)state;
  const uint64_t each = T / 24, round = T / 8;
  uint64_t least = UINT64_MAX;
  validity_begin_(&v, T, 0);
  for (uint64_t now = 1; now < 20 * T; now++) {
    uint64_t sent = now - round;
    if (now > round && sent % each == 0) validity_wrote_(&v, sent, now);
    if (now > round && sent % each == each / 2) validity_heard_(&v, sent, now);
    uint64_t until = validity_until_(&v);
    if (now > 3 * T && until - now < least) least = until > now ? until - now : 0;
  }
  assert_in_range(least, 5 * T / 48 - T / 60, T / 2);
}

static void test_heartbeats_move_it_on(void **state) {
  (void)state;
  validity_begin_(&v, T, 5);
  uint64_t last = 0;
  for (uint64_t now = 1000; now < 100000; now += T / 6) {
    validity_wrote_(&v, now, now + 10);
    uint64_t until = validity_until_(&v);
    assert_true(until >= last && until <= now + T / 2);
    assert_true(now < 2 * T || until == now + T / 2 || until >= now + T * 5 / 6 - 7 * T / 12 - 10);
    last = until;
  }
}

static void test_many_requests_do_not_push_out_what_counts(void **state) {
  (void)state;
  validity_begin_(&v, T, 0);
  for (uint64_t now = 1; now < 3 * T; now++) validity_heard_(&v, now, now);
  validity_wrote_(&v, 3 * T, 3 * T + 1);
  validity_wrote_(&v, 3 * T + 1, 3 * T + 2);
  assert_true(validity_until_(&v) >= 3 * T - T / 4 - T / 32 + T * 5 / 6 ||
              validity_until_(&v) == 3 * T + 1 + T / 2);
}

static void test_a_new_connection_is_known_at_once(void **state) {
  (void)state;
  validity_begin_(&v, T, 1000);
  validity_wrote_(&v, 1100, 1101);
  validity_again_(&v, T, 9000);
  validity_wrote_(&v, 9500, 9501);
  assert_int_equal(validity_until_(&v), 9500 + T / 2);
  validity_again_(&v, T / 2, 9600);
  assert_int_equal(validity_until_(&v), 9500 + T / 4);
  validity_begin_(&v, T, 20000);
  assert_int_equal(validity_until_(&v), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_entry_is_read_as_it_was_written),
      cmocka_unit_test(test_a_foreign_name_is_none),
      cmocka_unit_test(test_slots_are_plain_numbers),
      cmocka_unit_test(test_numbers_wrap),
      cmocka_unit_test(test_entries_are_sorted_by_generation_and_number),
      cmocka_unit_test(test_each_lease_has_a_guid),
      cmocka_unit_test(test_data_are_read),
      cmocka_unit_test(test_data_that_are_not_ours_stay),
      cmocka_unit_test(test_a_young_session_is_valid_from_its_beginning),
      cmocka_unit_test(test_what_was_answered_just_now_is_not_known),
      cmocka_unit_test(test_writes_that_are_under_way_together),
      cmocka_unit_test(test_it_stays_ahead_with_long_rounds),
      cmocka_unit_test(test_heartbeats_move_it_on),
      cmocka_unit_test(test_many_requests_do_not_push_out_what_counts),
      cmocka_unit_test(test_a_new_connection_is_known_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
