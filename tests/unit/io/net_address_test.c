/* net_address_test.c: addresses as text, and from the system.
 *
 * BACK ENDS: none */
#define _GNU_SOURCE /* sockaddr_un */
#include <arpa/inet.h>
#include <errno.h>
#include <volt/net.h>

#include "unit.h"

enum { SOME_ERRNO = 77 };

static int parse(volt_address *a, const char *text) {
  memset(a, 0xff, sizeof *a);
  errno = SOME_ERRNO;
  int result = volt_address_parse(a, text);
  assert_int_equal(errno, SOME_ERRNO);
  if (result != VOLT_OK) assert_int_equal(a->size, 0);
  return result;
}

static const char *text_of(const volt_address *a) {
  static char text[VOLT_ADDRESS_TEXT];
  memset(text, 'x', sizeof text);
  errno = SOME_ERRNO;
  assert_ptr_equal(volt_address_text(a, text), text);
  assert_int_equal(errno, SOME_ERRNO);
  assert_true(strlen(text) < sizeof text);
  return text;
}

static void expect(const char *text, int family, unsigned port, const char *written) {
  volt_address a, again;
  assert_result(parse(&a, text), VOLT_OK);
  assert_int_equal(a.as.any.sa_family, family);
  assert_int_equal(volt_address_port(&a), port);
  assert_string_equal(text_of(&a), written);
  assert_result(parse(&again, written), VOLT_OK);
  assert_int_equal(again.size, a.size);
  assert_memory_equal(&again, &a, sizeof a);
  assert_result(volt_address_set(&again, &a.as.any, a.size), VOLT_OK);
  assert_memory_equal(&again, &a, sizeof a);
}

static void numbers_are_read(void **state) {
  (void)state;
  expect("127.0.0.1:80", AF_INET, 80, "127.0.0.1:80");
  expect("0.0.0.0:0", AF_INET, 0, "0.0.0.0:0");
  expect("255.255.255.255:65535", AF_INET, 65535, "255.255.255.255:65535");
  expect("10.0.0.1:00080", AF_INET, 80, "10.0.0.1:80");
  expect("[::1]:80", AF_INET6, 80, "[::1]:80");
  expect("[2001:DB8::0:1]:443", AF_INET6, 443, "[2001:db8::1]:443");
  expect("[::ffff:1.2.3.4]:5", AF_INET6, 5, "[::ffff:1.2.3.4]:5");
  expect("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535", AF_INET6, 65535,
         "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void a_missing_host_is_every_address(void **state) {
  (void)state;
  expect(":80", AF_INET6, 80, "[::]:80");
  expect("*:81", AF_INET6, 81, "[::]:81");
  expect("[::]:0", AF_INET6, 0, "[::]:0");
}

static void an_interface_is_kept(void **state) {
  (void)state;
  volt_address a;
  expect("[fe80::1%lo]:80", AF_INET6, 80, "[fe80::1%1]:80");
  expect("[fe80::1%4294967295]:80", AF_INET6, 80, "[fe80::1%4294967295]:80");
  assert_result(parse(&a, "[fe80::1%nothere]:80"), VOLT_ERRNO(ENODEV));
  assert_result(parse(&a, "[fe80::1%]:80"), VOLT_ERRNO(ENODEV));
  assert_result(parse(&a, "[fe80::1%0]:80"), VOLT_ERRNO(ENODEV));
  assert_result(parse(&a, "[fe80::1%-1]:80"), VOLT_ERRNO(ENODEV));
  assert_result(parse(&a, "[fe80::1%1x]:80"), VOLT_ERRNO(ENODEV));
  assert_result(parse(&a, "[fe80::1%4294967296]:80"), VOLT_ERRNO(ENODEV));
}

static void what_is_no_address_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "",
      ":",
      "x",
      "127.0.0.1",
      "127.0.0.1:",
      "127.0.0.1:x",
      "1.2.3:80",
      "1.2.3.4.5:1",
      "1.2.3.4:-1",
      "1.2.3.4:+1",
      "1.2.3.4: 1",
      "1.2.3.4:65536",
      "1.2.3.4:1x",
      "::1:80",
      "[::1]",
      "[::1]80",
      "[::1:80",
      "[]:80",
      "[1.2.3.4]:80",
      "[:80",
      "]:80",
      "[::1]]:80",
      "[[::1]]:80",
      "name:80",
      "localhost:http",
      "unix:",
      "unix:@",
      "1.2.3.4:000080",
      "**:80",
      "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee]:80"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    volt_address a;
    if (parse(&a, wrong[i]) != VOLT_EINVAL) fail_msg("'%s' was read", wrong[i]);
  }
}

static void unix_addresses_are_read(void **state) {
  (void)state;
  volt_address a;
  const size_t path_at = offsetof(struct sockaddr_un, sun_path);
  expect("unix:/run/x.sock", AF_UNIX, 0, "unix:/run/x.sock");
  expect("unix:@name", AF_UNIX, 0, "unix:@name");
  assert_result(parse(&a, "unix:a:1"), VOLT_OK);
  assert_int_equal(a.size, path_at + 4); /* with the 0 */
  assert_string_equal(a.as.local.sun_path, "a:1");
  assert_result(parse(&a, "unix:@ab"), VOLT_OK);
  assert_int_equal(a.size, path_at + 3);
  assert_memory_equal(a.as.local.sun_path, "\0ab", 3);
}

static void the_longest_path_is_107_bytes(void **state) {
  (void)state;
  volt_address a;
  char text[5 + 108 + 1] = "unix:";
  memset(text + 5, 'p', 107);
  text[112] = 0;
  expect(text, AF_UNIX, 0, text);
  text[5] = '@';
  expect(text, AF_UNIX, 0, text);
  text[112] = 'p';
  text[113] = 0;
  assert_result(parse(&a, text), VOLT_ERRNO(ENAMETOOLONG));
  text[5] = '/';
  assert_result(parse(&a, text), VOLT_ERRNO(ENAMETOOLONG));
}

/* A path of 108 bytes without a 0, as the system may give it. */
static void unix_addresses_are_written(void **state) {
  (void)state;
  volt_address a;
  struct sockaddr_un un = {.sun_family = AF_UNIX};
  const socklen_t path_at = offsetof(struct sockaddr_un, sun_path);
  memset(un.sun_path, 'q', sizeof un.sun_path);
  assert_result(volt_address_set(&a, (struct sockaddr *)&un, sizeof un), VOLT_OK);
  assert_int_equal(strlen(text_of(&a)), 5 + 108);
  memcpy(un.sun_path, "\0a\0b\n\xff~", 8);
  assert_result(volt_address_set(&a, (struct sockaddr *)&un, path_at + 7), VOLT_OK);
  assert_string_equal(text_of(&a), "unix:@a?b??~");
  memcpy(un.sun_path, "/a\0b", 4);
  assert_result(volt_address_set(&a, (struct sockaddr *)&un, path_at + 4), VOLT_OK);
  assert_string_equal(text_of(&a), "unix:/a");
  assert_result(volt_address_set(&a, (struct sockaddr *)&un, path_at), VOLT_OK);
  assert_string_equal(text_of(&a), "unix:");
}

static void what_the_system_cannot_mean_is_refused(void **state) {
  (void)state;
  volt_address a;
  struct sockaddr_storage s = {.ss_family = AF_INET};
  struct sockaddr *any = (struct sockaddr *)&s;
  assert_result(volt_address_set(&a, any, sizeof(struct sockaddr_in) - 1), VOLT_EINVAL);
  assert_result(volt_address_set(&a, any, sizeof(struct sockaddr_in) + 1), VOLT_EINVAL);
  assert_result(volt_address_set(&a, any, 0), VOLT_EINVAL);
  assert_result(volt_address_set(&a, any, 1), VOLT_EINVAL);
  s.ss_family = AF_INET6;
  assert_result(volt_address_set(&a, any, sizeof(struct sockaddr_in)), VOLT_EINVAL);
  s.ss_family = AF_UNIX;
  assert_result(volt_address_set(&a, any, sizeof(struct sockaddr_un) + 1), VOLT_EINVAL);
  s.ss_family = AF_NETLINK;
  assert_result(volt_address_set(&a, any, sizeof(struct sockaddr_in)), VOLT_EINVAL);
  assert_int_equal(a.size, 0);
  assert_string_equal(text_of(&a), "?");
  assert_int_equal(volt_address_port(&a), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_read),
      cmocka_unit_test(a_missing_host_is_every_address),
      cmocka_unit_test(an_interface_is_kept),
      cmocka_unit_test(what_is_no_address_is_refused),
      cmocka_unit_test(unix_addresses_are_read),
      cmocka_unit_test(the_longest_path_is_107_bytes),
      cmocka_unit_test(unix_addresses_are_written),
      cmocka_unit_test(what_the_system_cannot_mean_is_refused),
  };
  return cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL);
}
