/* json_test.c: text that grows, and JSON: commas, escapes, numbers that are exact. Strings of random
 * bytes are read back by libjansson, if it is there. */
#include "admin/json.h"

#include "common/json_text.h"
#include "rng.h"
#include "unit.h"

#if VOLTGATE_JANSSON
#include <jansson.h>
#endif

static void assert_text(struct output *to, const char *wanted) {
  assert_false(to->is_cut);
  assert_int_equal(to->size, strlen(wanted));
  assert_memory_equal(to->at, wanted, to->size);
  output_free(to);
}

/* ---- text ---- */

static void numbers_are_written(void **state) {
  (void)state;
  struct output to = {.size = 0};
  output_number(&to, 0);
  OUTPUT(&to, " ");
  output_number(&to, 1234567890);
  OUTPUT(&to, " ");
  output_number(&to, UINT64_MAX);
  assert_text(&to, "0 1234567890 18446744073709551615");
}

static void times_are_exact(void **state) {
  static const struct {
    uint64_t ns;
    const char *text;
  } times[] = {{0, "0"},
               {1, "0.000000001"},
               {10, "0.00000001"},
               {999999999, "0.999999999"},
               {1000000000, "1"},
               {1500000000, "1.5"},
               {1048576, "0.001048576"},
               {UINT64_C(68719476736), "68.719476736"},
               {120000000000, "120"},
               {UINT64_MAX, "18446744073.709551615"}};
  (void)state;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    struct output to = {.size = 0};
    output_seconds(&to, times[i].ns);
    assert_text(&to, times[i].text);
  }
}

static void text_grows_to_its_bound_and_no_further(void **state) {
  static char piece[1 << 20];
  struct output to = {.size = 0};
  (void)state;
  memset(piece, 'x', sizeof piece);
  for (size_t i = 0; i < OUTPUT_MAX / sizeof piece; i++) output_bytes(&to, piece, sizeof piece);
  assert_false(to.is_cut);
  assert_int_equal(to.size, OUTPUT_MAX);
  OUTPUT(&to, "y");
  assert_true(to.is_cut);
  assert_int_equal(to.size, OUTPUT_MAX);
  output_bytes(&to, piece, 0);
  output_free(&to);
  assert_null(to.at);
  OUTPUT(&to, "again");
  assert_text(&to, "again");
}

/* ---- JSON ---- */

static void commas_stand_between_and_nowhere_else(void **state) {
  struct output to = {.size = 0};
  struct json j = {.to = &to};
  (void)state;
  json_put_object(&j, NULL);
  json_put_array(&j, "a");
  json_end_array(&j);
  json_put_array(&j, "b");
  json_put_number(&j, NULL, 1);
  json_put_object(&j, NULL);
  json_end_object(&j);
  json_put_object(&j, NULL);
  json_put_true(&j, "t");
  json_put_false(&j, "f");
  json_put_null(&j, "n");
  json_end_object(&j);
  json_put_seconds(&j, NULL, 2500000000);
  json_end_array(&j);
  json_put_condition(&j, "c", true);
  json_put_string(&j, "s", "");
  json_end_object(&j);
  assert_text(
      &to, "{\"a\":[],\"b\":[1,{},{\"t\":true,\"f\":false,\"n\":null},2.5],\"c\":true,\"s\":\"\"}");
}

static void strings_are_escaped(void **state) {
  static const struct {
    const char *from, *to;
  } strings[] = {
      {"plain text, 1/2", "\"plain text, 1/2\""},
      {"a\xc2\x9b\xc2\xa0", "\"a\\u009b\xc2\xa0\""},
      {"\"\\", "\"\\u0022\\u005c\""},
      {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
      {"</script>&'", "\"\\u003c/script\\u003e\\u0026\\u0027\""},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x98", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x98\""},
      {"\xff", "\"\\ufffd\""},
      {"a\xc3", "\"a\\ufffd\""},                                /* cut off */
      {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* longer than needed */
      {"\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\""},            /* the same */
      {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* half of a pair */
      {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* above all characters */
      {"\x80z", "\"\\ufffdz\""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    struct output to = {.size = 0};
    struct json j = {.to = &to};
    json_put_string(&j, NULL, strings[i].from);
    assert_text(&to, strings[i].to);
  }
}

static void whatever_bytes_come_it_is_json(void **state) {
  (void)state;
#if VOLTGATE_JANSSON
  rng random = rng_seeded(1);
  for (int run = 0; run < 20000; run++) {
    char bytes[64];
    size_t size = rng_below(&random, sizeof bytes);
    for (size_t i = 0; i < size; i++) {
      /* many of them begin or go on with a character of several bytes */
      bytes[i] = (char)(rng_below(&random, 3) == 0 ? 1 + rng_below(&random, 127)
                                                   : 0x80 + rng_below(&random, 128));
    }
    bytes[size] = '\0';
    struct output to = {.size = 0};
    struct json j = {.to = &to};
    json_put_array(&j, NULL);
    json_put_string(&j, NULL, bytes);
    json_end_array(&j);
    json_error_t error;
    json_t *read = json_loadb(to.at, to.size, 0, &error);
    if (read == NULL) fail_msg("run %d: %s: %.*s", run, error.text, (int)to.size, to.at);
    const char *back = json_string_value(json_array_get(read, 0));
    assert_non_null(back);
    /* What was a character is the same; all else is a replacement. */
    for (const char *at = bytes; *at != '\0';) {
      size_t n = volt_json_utf8_(at, strlen(at));
      if (n > 0) {
        assert_memory_equal(back, at, n);
        back += n;
      } else {
        assert_memory_equal(back, "\xef\xbf\xbd", 3);
        back += 3;
      }
      at += n > 0 ? n : 1;
    }
    assert_int_equal(*back, '\0');
    json_decref(read);
    output_free(&to);
  }
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_written),
      cmocka_unit_test(times_are_exact),
      cmocka_unit_test(text_grows_to_its_bound_and_no_further),
      cmocka_unit_test(commas_stand_between_and_nowhere_else),
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(whatever_bytes_come_it_is_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
