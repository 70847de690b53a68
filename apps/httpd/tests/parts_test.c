/* parts_test.c: dates, types, numbers, hosts and paths, piece by piece. */
#include "unit.h"

#include <stdio.h>
#include <time.h>

#include "common/http/date.h"
#include "common/http/request.h"
#include "common/http/target.h"
#include "mime.h"
#include "response.h"

#define NOW INT64_C(1700000000) /* 14 November 2023 */

static struct text text_of(const char *string) {
  return (struct text){string, strlen(string)};
}

/* ---- dates ---- */

static void dates_are_written_as_the_c_library_does(void **state) {
  (void)state;
  for (int64_t s = -2208988800; s < INT64_C(7258118400); s += 1234567) { /* 1900 to 2199 */
    char date[DATE_SIZE], expected[64];
    time_t seconds = (time_t)s;
    int64_t back;
    date_write(date, s);
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&seconds));
    assert_memory_equal(date, expected, DATE_SIZE);
    assert_true(date_read((struct text){date, DATE_SIZE}, NOW, &back));
    assert_true(back == s);
  }
}

static void each_form_of_a_date_is_read(void **state) {
  (void)state;
  static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                      "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"};
  for (size_t i = 0; i < 3; i++) {
    int64_t seconds = 0;
    assert_true(date_read(text_of(forms[i]), NOW, &seconds));
    assert_true(seconds == 784111777);
  }
}

static void a_year_of_two_digits_is_near(void **state) {
  (void)state;
  int64_t seconds;
  assert_true(date_read(text_of("Tuesday, 14-Nov-73 00:00:00 GMT"), NOW, &seconds)); /* 2073 */
  assert_true(seconds == 3277843200);
  assert_true(date_read(text_of("Thursday, 14-Nov-74 00:00:00 GMT"), NOW, &seconds)); /* 1974 */
  assert_true(seconds == 153619200);
}

static void no_other_text_is_a_date(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "Sun",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 GMT ",
                                      "Sun, 31 Nov 1994 08:49:37 GMT",
                                      "Tue, 29 Feb 1900 00:00:00 GMT",
                                      "Sun, 06 Nov 94 08:49:37 GMT",
                                      "Sunday, 06 Nov 1994 08:49:37 GMT",
                                      "Sun, 06-Nov-94 08:49:37 GMT",
                                      "Sun Nov 6 08:49:37 1994",
                                      "Sun, 06 Nov 1994 08:49:61 GMT",
                                      "Sun, 0x Nov 1994 08:49:37 GMT",
                                      "Sat, 06 Nov 1994 08:49:37 GMT",
                                      "784111777",
                                      "1994-11-06T08:49:37Z",
                                      "Sun, 06 Nov 1994 08:49:37 +0000"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int64_t seconds;
    if (date_read(text_of(wrong[i]), NOW, &seconds)) fail_msg("%s", wrong[i]);
  }
}

/* ---- texts ---- */

static void numbers_do_not_overflow(void **state) {
  (void)state;
  uint64_t n;
  assert_true(text_number(text_of("0"), &n) && n == 0);
  assert_true(text_number(text_of("18446744073709551615"), &n) && n == UINT64_MAX);
  assert_true(text_number(text_of("18446744073709551616"), &n) && n == UINT64_MAX);
  assert_true(text_number(text_of("184467440737095516150"), &n) && n == UINT64_MAX);
  assert_false(text_number(text_of(""), &n));
  assert_false(text_number(text_of(" 1"), &n));
  assert_false(text_number(text_of("1 "), &n));
  assert_false(text_number(text_of("-1"), &n));
}

static void numbers_are_written(void **state) {
  (void)state;
  char bytes[64];
  struct writer to = {bytes, bytes + sizeof bytes, false};
  put_number(&to, 0);
  PUT(&to, " ");
  put_number(&to, UINT64_MAX);
  PUT(&to, " ");
  put_hex(&to, UINT64_C(0xdeadbeef01));
  assert_memory_equal(bytes, "0 18446744073709551615 deadbeef01", 33);
  assert_int_equal(to.at - bytes, 33);
  struct writer small = {bytes, bytes + 3, false};
  PUT(&small, "abcd");
  assert_true(small.is_cut);
  assert_ptr_equal(small.at, bytes);
}

static void lists_have_elements(void **state) {
  (void)state;
  struct text list = text_of(" ,a,, b\t,c d , "), element;
  static const char *const expected[] = {"a", "b", "c d"};
  for (size_t i = 0; i < 3; i++) {
    assert_true(text_next(&list, &element));
    assert_true(text_is(element, text_of(expected[i])));
  }
  assert_false(text_next(&list, &element));
}

static void types_go_by_the_last_extension(void **state) {
  (void)state;
  assert_string_equal(mime_type("a/b.html"), "text/html; charset=utf-8");
  assert_string_equal(mime_type("B.PnG"), "image/png");
  assert_string_equal(mime_type("a.tar.gz"), "application/gzip");
  assert_string_equal(mime_type("a.js/b"), "application/octet-stream");
  assert_string_equal(mime_type("a."), "application/octet-stream");
  assert_string_equal(mime_type(""), "application/octet-stream");
}

/* ---- paths ---- */

static void expect_path(const char *target, const char *path, bool is_directory) {
  struct request r;
  char bytes[128];
  snprintf(bytes, sizeof bytes, "%s ", target);
  request_begin(&r);
  r.method = METHOD_GET;
  int status = target_read(&r, false, bytes, strlen(target));
  if (path == NULL) {
    assert_int_equal(status, 400);
    return;
  }
  assert_int_equal(status, 0);
  assert_string_equal(r.path, path);
  assert_int_equal(r.is_directory, is_directory);
}

static void paths_are_normal(void **state) {
  (void)state;
  expect_path("/", "", true);
  expect_path("//", "", true);
  expect_path("/.", "", true);
  expect_path("/a", "a", false);
  expect_path("/a/", "a", true);
  expect_path("/a/b", "a/b", false);
  expect_path("/a//b///c", "a/b/c", false);
  expect_path("/a/./b/.", "a/b", true);
  expect_path("/a/../b", "b", false);
  expect_path("/a/b/../../c/", "c", true);
  expect_path("/a/b/..", "a", true);
  expect_path("/a/..", "", true);
  expect_path("/%61%2e%2e/b", "a../b", false);
  expect_path("/a%20b?q", "a b", false);
  expect_path("http://h/a/../b?q", "b", false);
  expect_path("http://h", "", true);
  expect_path("/a%2fb", "a/b", false); /* and hidden */
  expect_path("/..", NULL, false);
  expect_path("/a/../..", NULL, false);
  expect_path("/a/%2e%2e/%2E./b", NULL, false);
  expect_path("/a%2", NULL, false);
  expect_path("/a%00", NULL, false);
}

static void hidden_paths_are_marked(void **state) {
  (void)state;
  static const struct {
    const char *target;
    bool is_hidden;
  } cases[] = {{"/a", false},    {"/.a", true},    {"/a/.b/c", true},
               {"/a%2fb", true}, {"/%2ea", true},  {"/.well-known", false},
               {"/a.", false},   {"/a/..b", true}, {"/.a/../b", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct request r;
    char bytes[64];
    snprintf(bytes, sizeof bytes, "%s ", cases[i].target);
    request_begin(&r);
    r.method = METHOD_GET;
    assert_int_equal(target_read(&r, false, bytes, strlen(cases[i].target)), 0);
    assert_int_equal(r.is_hidden, cases[i].is_hidden);
  }
}

static void every_status_has_its_text(void **state) {
  (void)state;
  static const int known[] = {200, 204, 206, 301, 304, 400, 403, 404, 405, 408, 412,
                              413, 414, 416, 417, 421, 431, 500, 501, 503, 505};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char number[8];
    snprintf(number, sizeof number, "%d ", known[i]);
    assert_memory_equal(response_reason(known[i]), number, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dates_are_written_as_the_c_library_does),
      cmocka_unit_test(each_form_of_a_date_is_read),
      cmocka_unit_test(a_year_of_two_digits_is_near),
      cmocka_unit_test(no_other_text_is_a_date),
      cmocka_unit_test(numbers_do_not_overflow),
      cmocka_unit_test(numbers_are_written),
      cmocka_unit_test(lists_have_elements),
      cmocka_unit_test(types_go_by_the_last_extension),
      cmocka_unit_test(paths_are_normal),
      cmocka_unit_test(hidden_paths_are_marked),
      cmocka_unit_test(every_status_has_its_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
