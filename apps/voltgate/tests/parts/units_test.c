/* units_test.c: numbers, times and addresses as they are written. */
#include "unit.h"

#include <stdlib.h>

#include "common/options.h"
#include "config/units.h"

#define S UINT64_C(1000000000)

static void numbers_have_digits_only(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t value;
  } right[] = {{"1", 1}, {"07", 7}, {"1000000", 1000000}, {"18446744073709551615", UINT64_MAX}};
  static const char *const wrong[] = {"",   "-1",  "+1",  " 1",  "1 ",
                                      "1k", "0x1", "1.0", "1e3", "18446744073709551616"};
  uint64_t value;
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    assert_true(number_read(right[i].text, 0, UINT64_MAX, &value));
    assert_true(value == right[i].value);
  }
  value = 42;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(number_read(wrong[i], 0, UINT64_MAX, &value));
  }
  assert_int_equal(value, 42);
}

static void numbers_have_bounds(void **state) {
  (void)state;
  uint64_t value;
  assert_false(number_read("4", 5, 9, &value));
  assert_true(number_read("5", 5, 9, &value));
  assert_true(number_read("9", 5, 9, &value));
  assert_false(number_read("10", 5, 9, &value));
}

static void times_have_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t ns;
  } right[] = {{"0", 0},
               {"0s", 0},
               {"250ms", 250 * S / 1000},
               {"5s", 5 * S},
               {"1.5s", 3 * S / 2},
               {"0.25ms", 250000},
               {"2m", 120 * S},
               {"1h", 3600 * S},
               {"365d", 365 * 86400 * S},
               {"0.00001d", 864 * S / 1000},
               {"7us", 7000},
               {"3ns", 3}};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    uint64_t ns = 1;
    assert_true(units_time(right[i].text, &ns));
    assert_true(ns == right[i].ns);
  }
}

static void no_other_text_is_a_time(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "5",
                                      "00",
                                      "s",
                                      ".5s",
                                      "5.s",
                                      "5 s",
                                      "5S",
                                      "-1s",
                                      "5sec",
                                      "1.2.3s",
                                      "366d",
                                      "8761h",
                                      "1.123456s",
                                      "0.1ns",
                                      "5s ",
                                      "1e3s",
                                      "99999999999999999999s",
                                      "9223372036854775807ns"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    uint64_t ns = 42;
    assert_false(units_time(wrong[i], &ns));
    assert_true(ns == 42);
  }
}

static void a_time_is_written_as_it_is_read(void **state) {
  (void)state;
  static const uint64_t times[] = {0,       1,        999,       1000,
                                   1500000, S,        3 * S / 2, 60 * S,
                                   90 * S,  3600 * S, 86400 * S, UNITS_TIME_MOST_NS};
  char text[UNITS_TIME_TEXT];
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    uint64_t ns = 42;
    assert_true(units_time(units_time_text(times[i], text), &ns));
    assert_true(ns == times[i]);
  }
  assert_string_equal(units_time_text(5 * S, text), "5s");
  assert_string_equal(units_time_text(0, text), "0");
}

static void check_address(enum address_use use, const char *text, const char *expected) {
  const char *why = NULL;
  char *address = units_address(text, use, &why);
  if (expected == NULL) {
    assert_null(address);
    assert_non_null(why);
    assert_true(strlen(why) > 10);
  } else {
    assert_non_null(address);
    assert_string_equal(address, expected);
  }
  free(address);
}

static void addresses_to_listen_at(void **state) {
  (void)state;
  check_address(ADDRESS_LISTEN, "127.0.0.1:6432", "127.0.0.1:6432");
  check_address(ADDRESS_LISTEN, "[0:0::1]:6432", "[::1]:6432");
  check_address(ADDRESS_LISTEN, "unix:/run/x.sock", "unix:/run/x.sock");
  check_address(ADDRESS_LISTEN, "unix:@name", "unix:@name");
  check_address(ADDRESS_LISTEN, "fd:postgres", "fd:postgres");
  check_address(ADDRESS_LISTEN, "127.0.0.1:0", "127.0.0.1:0");
  static const char *const wrong[] = {"",       "6432",  "db.example:6432", "1.2.3:80",
                                      ":65536", "fd:",   "fd:a b",          "fd:a:b",
                                      "unix:",  "[::1]", ":6432x",          "*"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    check_address(ADDRESS_LISTEN, wrong[i], NULL);
  }
}

static void addresses_of_servers(void **state) {
  (void)state;
  check_address(ADDRESS_SERVER, "127.0.0.1:5432", "127.0.0.1:5432");
  check_address(ADDRESS_SERVER, "db.example:5432", "db.example:5432");
  check_address(ADDRESS_SERVER, "db-1_x:postgresql", "db-1_x:postgresql");
  check_address(ADDRESS_SERVER, "unix:/run/postgresql/.s.PGSQL.5432",
                "unix:/run/postgresql/.s.PGSQL.5432");
  static const char *const wrong[] = {
      ":5432", "*:5432", "0.0.0.0:5432", "[::]:5432",  "127.0.0.1:0",
      "db",    "db:",    "db:0",         "db:65536",   "db:5432x",
      "d b:1", "fd:x",   "1.2.3:80",     "db.example", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    check_address(ADDRESS_SERVER, wrong[i], NULL);
  }
}

static void addresses_of_the_admin_side(void **state) {
  (void)state;
  check_address(ADDRESS_ADMIN, ":9090", "127.0.0.1:9090");
  check_address(ADDRESS_ADMIN, "0.0.0.0:9090", "0.0.0.0:9090");
  check_address(ADDRESS_ADMIN, "[::1]:9090", "[::1]:9090");
  check_address(ADDRESS_ADMIN, "unix:/run/admin", "unix:/run/admin");
  check_address(ADDRESS_ADMIN, "*:9090", NULL);
  check_address(ADDRESS_ADMIN, "fd:admin", NULL);
  check_address(ADDRESS_ADMIN, "9090", NULL);
  check_address(ADDRESS_ADMIN,
                ":99999999999999999999999999999999999999999999999999999999999999999"
                "99999999999999999999999999999999999999999999999999999999999999999",
                NULL);
}

static void which_addresses_clash(void **state) {
  (void)state;
  static const struct {
    const char *one, *other;
    bool clash;
  } cases[] = {
      {"127.0.0.1:80", "127.0.0.1:80", true},
      {"127.0.0.1:80", "127.0.0.1:81", false},
      {"127.0.0.1:80", "127.0.0.2:80", false},
      {"0.0.0.0:80", "127.0.0.1:80", true},
      {"[::]:80", "127.0.0.1:80", true},
      {"[::]:80", "[::1]:80", true},
      {"[::]:80", "0.0.0.0:80", true},
      {"0.0.0.0:80", "[::1]:80", false},
      {"127.0.0.1:0", "127.0.0.1:0", false},
      {"[::1]:80", "127.0.0.1:80", false},
      {"unix:/a", "unix:/a", true},
      {"unix:/a", "unix:/b", false},
      {"fd:a", "fd:a", true},
      {"fd:a", "127.0.0.1:80", false},
      {"unix:/a:80", "127.0.0.1:80", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(units_addresses_clash(cases[i].one, cases[i].other), cases[i].clash);
    assert_int_equal(units_addresses_clash(cases[i].other, cases[i].one), cases[i].clash);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_have_digits_only),
      cmocka_unit_test(numbers_have_bounds),
      cmocka_unit_test(times_have_units),
      cmocka_unit_test(no_other_text_is_a_time),
      cmocka_unit_test(a_time_is_written_as_it_is_read),
      cmocka_unit_test(addresses_to_listen_at),
      cmocka_unit_test(addresses_of_servers),
      cmocka_unit_test(addresses_of_the_admin_side),
      cmocka_unit_test(which_addresses_clash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
