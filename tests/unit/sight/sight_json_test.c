/* sight_json_test.c: lines of JSON, written, read, refused, cut. */
#include <stdio.h>

#include "sight/answer/json.h"
#include "unit.h"

static char memory[8192];

static volt_json_ writer(size_t max) {
  return (volt_json_){.at = memory, .max = max};
}

static const char *text_of(const volt_json_ *j) {
  static char text[sizeof memory + 1];
  memcpy(text, j->at, j->size);
  text[j->size] = '\0';
  return text;
}

/* The value of that member of a line; false: the line is malformed, or has none. */
static bool find(const char *line, const char *key, volt_json_member_ *found) {
  volt_json_reader_ r = {.at = line, .end = line + strlen(line)};
  volt_json_member_ m;
  bool is_there = false;
  while (volt_json_next_(&r, &m)) {
    if (!volt_json_is_(&m, key)) continue;
    *found = m;
    is_there = true;
  }
  return is_there && !r.is_malformed;
}

static bool is_malformed(const char *line) {
  volt_json_reader_ r = {.at = line, .end = line + strlen(line)};
  volt_json_member_ m;
  while (volt_json_next_(&r, &m)) continue;
  return r.is_malformed;
}

static void a_line_is_written_as_the_page_says(void **state) {
  (void)state;
  volt_json_ j = writer(sizeof memory);
  volt_json_begin_(&j, "task");
  volt_json_put_number_(&j, "n", UINT64_MAX);
  volt_json_put_number_(&j, "zero", 0);
  volt_json_put_condition_(&j, "yes", true);
  volt_json_put_condition_(&j, "no", false);
  volt_json_put_address_(&j, "at", (void *)(uintptr_t)0x7f0a);
  volt_json_put_address_(&j, "nowhere", NULL);
  volt_json_put_text_(&j, "absent", NULL);
  volt_json_put_text_(&j, "name", "a \"b\"\\\n\x1b\x7f");
  assert_true(volt_json_end_(&j));
  assert_string_equal(
      text_of(&j),
      "{\"volt\":1,\"a\":\"task\",\"n\":18446744073709551615,\"zero\":0,\"yes\":true,"
      "\"no\":false,\"at\":\"0x7f0a\",\"name\":\"a \\u0022b\\u0022\\u005c"
      "\\u000a\\u001b\\u007f\"}\n");
}

/* Whatever the room is, there are whole lines, and never a byte behind it. */
static void a_line_without_room_is_not_there(void **state) {
  (void)state;
  for (size_t max = 0; max < 200; max++) {
    memset(memory, '#', sizeof memory);
    volt_json_ j = writer(max);
    unsigned lines = 0;
    for (unsigned i = 0; i < 3; i++) {
      volt_json_begin_(&j, "x");
      volt_json_put_text_(&j, "name", "some text");
      volt_json_put_number_(&j, "i", i);
      if (volt_json_end_(&j)) lines++;
    }
    size_t line = strlen("{\"volt\":1,\"a\":\"x\",\"name\":\"some text\",\"i\":0}\n");
    assert_int_equal(lines, max / line < 3 ? max / line : 3);
    assert_int_equal(j.size, lines * line);
    assert_int_equal(memory[max], '#');
  }
}

static void what_is_no_utf8_is_replaced(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"\xff", "\\ufffd"},
      {"a\xc0\xaf", "a\\ufffd\\ufffd"},                     /* longer than needed */
      {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* half of a pair */
      {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* above U+10FFFF */
      {"\xc2\x9b", "\\u009b"},                              /* a control character of two bytes */
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\xe2\x82", "\\ufffd\\ufffd"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    volt_json_ j = writer(sizeof memory);
    char expected[256];
    snprintf(expected, sizeof expected, "{\"volt\":1,\"a\":\"x\",\"s\":\"%s\"}\n", cases[i][1]);
    volt_json_begin_(&j, "x");
    volt_json_put_text_(&j, "s", cases[i][0]);
    assert_true(volt_json_end_(&j));
    assert_string_equal(text_of(&j), expected);
    assert_false(is_malformed(text_of(&j)));
  }
}

static void a_long_text_is_cut_at_a_character(void **state) {
  (void)state;
  char text[400], back[400];
  memset(text, 'a', sizeof text);
  memcpy(text + VOLT_JSON_TEXT_ - 1, "\xc3\xa4", 2);
  text[sizeof text - 1] = '\0';
  volt_json_ j = writer(sizeof memory);
  volt_json_member_ m;
  volt_json_begin_(&j, "x");
  volt_json_put_text_(&j, "s", text);
  assert_true(volt_json_end_(&j));
  assert_true(find(text_of(&j), "s", &m));
  assert_true(volt_json_text_of_(&m, back, sizeof back));
  assert_int_equal(strlen(back), VOLT_JSON_TEXT_ - 1);
}

/* Every byte there is, there and back. */
static void what_was_written_is_read(void **state) {
  (void)state;
  char text[4], back[32];
  for (unsigned c = 1; c < 256; c++) {
    snprintf(text, sizeof text, "%c", (int)c);
    volt_json_ j = writer(sizeof memory);
    volt_json_member_ m;
    volt_json_begin_(&j, "x");
    volt_json_put_text_(&j, "s", text);
    assert_true(volt_json_end_(&j));
    assert_true(find(text_of(&j), "s", &m));
    assert_true(volt_json_text_of_(&m, back, sizeof back));
    assert_string_equal(back, c < 128 ? text : "\xef\xbf\xbd");
  }
}

static void texts_are_decoded(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"\\b\\f\\n\\r\\t\\/\\\\\\\"", "\b\f\n\r\t/\\\""},
                                         {"\\u0041\\u00e4", "A\xc3\xa4"},
                                         {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
                                         {"\\ud83d", "\xef\xbf\xbd"},
                                         {"\\ud83dx", "\xef\xbf\xbdx"},
                                         {"\\ude00", "\xef\xbf\xbd"},
                                         {"\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
                                         {"a\\u0000b",
                                          "a\xef\xbf\xbd"
                                          "b"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char line[128], back[64];
    volt_json_member_ m;
    snprintf(line, sizeof line, "{\"s\":\"%s\"}", cases[i][0]);
    assert_true(find(line, "s", &m));
    assert_true(volt_json_text_of_(&m, back, sizeof back));
    assert_string_equal(back, cases[i][1]);
    assert_true(volt_json_text_of_(&m, back, 1)); /* room for nothing but the 0 */
    assert_string_equal(back, "");
  }
}

static void members_are_told_apart(void **state) {
  (void)state;
  const char *line =
      " { \"a\" : \"x\" , \"n\":12, \"t\":true,\"f\":false,\"z\":null,"
      "\"o\":{\"n\":[1,{\"a\":[]},[[]]],\"x\":\"}\"},\"l\":[1,2.5e-3,\"]\"],\"e\":{}}\r\n";
  volt_json_member_ m;
  uint64_t number = 0;
  char text[8];
  assert_true(find(line, "n", &m) && volt_json_number_of_(&m, &number));
  assert_int_equal(number, 12);
  assert_false(volt_json_text_of_(&m, text, sizeof text));
  assert_true(find(line, "a", &m) && !volt_json_number_of_(&m, &number));
  assert_true(find(line, "t", &m) && m.kind == VOLT_JSON_TRUE_);
  assert_true(find(line, "f", &m) && m.kind == VOLT_JSON_FALSE_);
  assert_true(find(line, "z", &m) && m.kind == VOLT_JSON_NULL_);
  assert_true(find(line, "o", &m) && m.kind == VOLT_JSON_OTHER_);
  assert_true(find(line, "l", &m) && m.kind == VOLT_JSON_OTHER_);
  assert_true(find(line, "e", &m) && m.kind == VOLT_JSON_OTHER_);
  assert_false(find(line, "x", &m)); /* of an object within */
}

static void numbers_and_addresses_have_bounds(void **state) {
  (void)state;
  uint64_t number = 0;
  volt_json_member_ m;
  assert_true(find("{\"n\":18446744073709551615}", "n", &m) && volt_json_number_of_(&m, &number));
  assert_true(number == UINT64_MAX);
  static const char *const no_numbers[] = {"18446744073709551616",      "-1", "1.5", "1e3", "\"1\"",
                                           "99999999999999999999999999"};
  for (size_t i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++) {
    char line[64];
    snprintf(line, sizeof line, "{\"n\":%s}", no_numbers[i]);
    assert_true(find(line, "n", &m));
    assert_false(volt_json_number_of_(&m, &number));
  }
  assert_true(find("{\"n\":\"0xffffffffffffffff\"}", "n", &m));
  assert_true(volt_json_address_of_(&m, &number) && number == UINT64_MAX);
  static const char *const no_addresses[] = {"\"\"",     "\"0x\"", "\"12\"",
                                             "\"0x1g\"", "18",     "\"0x10000000000000000\""};
  for (size_t i = 0; i < sizeof no_addresses / sizeof no_addresses[0]; i++) {
    char line[64];
    snprintf(line, sizeof line, "{\"n\":%s}", no_addresses[i]);
    assert_true(find(line, "n", &m));
    assert_false(volt_json_address_of_(&m, &number));
  }
}

static void what_is_no_json_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      " ",
                                      "x",
                                      "[]",
                                      "1",
                                      "\"a\"",
                                      "{",
                                      "}",
                                      "{}}",
                                      "{}x",
                                      "{,}",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1",
                                      "{\"a\":1,}",
                                      "{\"a\":1 2}",
                                      "{a:1}",
                                      "{\"a\":01}",
                                      "{\"a\":-}",
                                      "{\"a\":1.}",
                                      "{\"a\":.5}",
                                      "{\"a\":1e}",
                                      "{\"a\":+1}",
                                      "{\"a\":tru}",
                                      "{\"a\":nul}",
                                      "{\"a\":\"}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":[1 2]}",
                                      "{\"a\":[}",
                                      "{\"a\":{\"b\"}}",
                                      "{\"a\":{1}}",
                                      "{\"a\":[1}}",
                                      "{\"a\":{\"b\":1]}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":1}{\"b\":2}",
                                      "{\"\\u00\":1}"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    if (!is_malformed(wrong[i])) fail_msg("was read: %s", wrong[i]);
  }
  assert_false(is_malformed("{}"));
  assert_false(is_malformed("{\"a\":-0.5E+7}"));
}

static void depth_is_bounded(void **state) {
  (void)state;
  for (unsigned depth = 1; depth < 40; depth++) {
    char line[128] = "{\"a\":";
    for (unsigned i = 0; i < depth; i++) strcat(line, "[");
    for (unsigned i = 0; i < depth; i++) strcat(line, "]");
    strcat(line, "}");
    assert_int_equal(is_malformed(line), depth > 16);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_written_as_the_page_says),
      cmocka_unit_test(a_line_without_room_is_not_there),
      cmocka_unit_test(what_is_no_utf8_is_replaced),
      cmocka_unit_test(a_long_text_is_cut_at_a_character),
      cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(texts_are_decoded),
      cmocka_unit_test(members_are_told_apart),
      cmocka_unit_test(numbers_and_addresses_have_bounds),
      cmocka_unit_test(what_is_no_json_is_refused),
      cmocka_unit_test(depth_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
