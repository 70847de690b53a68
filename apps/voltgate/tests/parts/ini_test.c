/* ini_test.c: a file becomes sections and pairs with their lines, and nothing is passed over in
 * silence. */
#define _GNU_SOURCE /* fmemopen */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/ini.h"

static char heard[1 << 16];
static size_t heard_length;

static void note(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(heard + heard_length, sizeof heard - heard_length, format, args);
  va_end(args);
  heard_length += (size_t)n;
  assert_true(heard_length < sizeof heard);
}

static void hear_section(void *arg, unsigned line, const char *name) {
  (void)arg;
  note("%u[%s]\n", line, name);
}
static void hear_pair(void *arg, unsigned line, const char *key, const char *value) {
  (void)arg;
  note("%u %s=%s\n", line, key, value);
}
static void hear_wrong(void *arg, unsigned line, const char *words) {
  (void)arg;
  note("%u!%s\n", line, words);
}

static const char *read_bytes(const char *bytes, size_t count) {
  static const struct ini_hearer hearer = {
      .section = hear_section, .pair = hear_pair, .wrong = hear_wrong};
  FILE *in = fmemopen((void *)(uintptr_t)bytes, count, "r");
  assert_non_null(in);
  heard_length = 0;
  heard[0] = '\0';
  ini_read(in, &hearer);
  fclose(in);
  return heard;
}

static const char *read_text(const char *text) {
  return read_bytes(text, strlen(text));
}

static void sections_and_pairs_have_lines(void **state) {
  (void)state;
  assert_string_equal(read_text("; comment\n"
                                "[voltgate]\n"
                                "\n"
                                "log = -\n"
                                "# another\n"
                                "[gate main]\n"
                                "listen=:6432\n"
                                "to : db.example:5432 ; behind it\n"),
                      "2[voltgate]\n4 log=-\n6[gate main]\n7 listen=:6432\n8 to=db.example:5432\n");
}

static void the_last_line_needs_no_newline(void **state) {
  (void)state;
  assert_string_equal(read_text("[a]\nb=c"), "1[a]\n2 b=c\n");
  assert_string_equal(read_text("[a]\r\nb = c\r\n"), "1[a]\n2 b=c\n");
  assert_string_equal(read_text("\xEF\xBB\xBF[a]\nb=c\n"), "1[a]\n2 b=c\n");
}

static void indented_lines_are_keys(void **state) {
  (void)state;
  assert_string_equal(read_text("[a]\n  b = c\n\td = e\n"), "1[a]\n2 b=c\n3 d=e\n");
}

static void a_section_without_keys_is_heard(void **state) {
  (void)state;
  assert_string_equal(read_text("[a]\n[b] ; here\n[ c ]\n"), "1[a]\n2[b]\n3[ c ]\n");
}

static void a_long_section_is_whole(void **state) {
  (void)state; /* libinih cuts them at 49 bytes */
  assert_string_equal(
      read_text("[tenant main/a-name-of-more-than-fifty-bytes-that-is-not-cut-anywhere]\n"),
      "1[tenant main/a-name-of-more-than-fifty-bytes-that-is-not-cut-anywhere]\n");
}

static void each_line_that_is_wrong_is_named(void **state) {
  (void)state; /* libinih names the first alone */
  const char *what = "want a line KEY = VALUE, [SECTION], or ; COMMENT";
  char expected[512];
  snprintf(expected, sizeof expected,
           "1[a]\n2!%s\n3 b=c\n4!%s\n5!a section has no ']' at its end\n"
           "6!there is something behind the section's ']'\n7!%s\n",
           what, what, what);
  assert_string_equal(read_text("[a]\nlisten\nb=c\nto\n[gate\n[gate] x\nend"), expected);
}

static void a_line_that_is_too_long_is_named(void **state) {
  (void)state;
  char text[2000] = "[a]\nb=";
  size_t length = strlen(text);
  memset(text + length, 'x', 1000);
  strcpy(text + length + 1000, "\nc=d\n");
  read_text(text);
  assert_non_null(strstr(heard, "2!a line has at most 1"));
  assert_non_null(strstr(heard, "\n3 c=d\n"));
  assert_null(strstr(heard, "xxx"));
}

static void a_line_that_just_fits_is_whole(void **state) {
  (void)state;
  for (size_t n = 150; n < 250; n++) { /* whatever the bound is: whole, or named */
    char text[512] = "b=", expected[512] = "1 b=";
    memset(text + 2, 'x', n);
    memset(expected + 4, 'x', n);
    strcpy(expected + 4 + n, "\n");
    text[2 + n] = '\0';
    read_text(text);
    if (strncmp(heard, "1!a line has at most ", 21) != 0) assert_string_equal(heard, expected);
    if (n == 150) assert_string_equal(heard, expected);
  }
}

static void a_long_comment_is_fine(void **state) {
  (void)state;
  char text[2000] = "; ";
  memset(text + 2, 'x', 1000);
  strcpy(text + 1002, "\nc=d\n");
  assert_string_equal(read_text(text), "2 c=d\n");
}

static void a_byte_0_is_named(void **state) {
  (void)state;
  static const char bytes[] = "[a]\nb=c\0d\ne=f\n";
  assert_string_equal(read_bytes(bytes, sizeof bytes - 1), "1[a]\n2!there is a byte 0\n3 e=f\n");
}

static void a_file_that_is_too_large_is_named(void **state) {
  (void)state;
  size_t count = INI_FILE_MOST + 10;
  char *bytes = malloc(count);
  assert_non_null(bytes);
  memset(bytes, '\n', count);
  read_bytes(bytes, count);
  free(bytes);
  assert_non_null(strstr(heard, "!the file is larger than 1 MiB"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sections_and_pairs_have_lines),
      cmocka_unit_test(the_last_line_needs_no_newline),
      cmocka_unit_test(indented_lines_are_keys),
      cmocka_unit_test(a_section_without_keys_is_heard),
      cmocka_unit_test(a_long_section_is_whole),
      cmocka_unit_test(each_line_that_is_wrong_is_named),
      cmocka_unit_test(a_line_that_is_too_long_is_named),
      cmocka_unit_test(a_line_that_just_fits_is_whole),
      cmocka_unit_test(a_long_comment_is_fine),
      cmocka_unit_test(a_byte_0_is_named),
      cmocka_unit_test(a_file_that_is_too_large_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
