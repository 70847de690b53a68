/* permit_wire_test.c: the wire of permit gates: each word, what is wrong with a line, and what is written. */
#include "wire/permit.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct permit_request r;
static const char *why;
static size_t used;

static enum permit_result line(const char *text) {
  return permits_read(&r, text, strlen(text), &used, &why);
}

static void fine(const char *text, enum permit_word word) {
  assert_int_equal(line(text), PERMIT_LINE);
  assert_int_equal(r.word, word);
  assert_int_equal(used, strlen(text));
  assert_null(why);
}

static void wrong(const char *text, const char *words) {
  assert_int_equal(line(text), PERMIT_MALFORMED);
  assert_string_equal(why, words);
}

static void amount_is(unsigned i, const char *kind, uint64_t amount) {
  assert_string_equal(r.amounts.of[i].kind, kind);
  assert_int_equal(r.amounts.of[i].amount, amount);
}

static void words_of_clients(void **state) {
  (void)state;
  fine("\n", PERMIT_NOTHING);
  fine("\r\n", PERMIT_NOTHING);
  fine("   \n", PERMIT_NOTHING);
  fine("ping\n", PERMIT_PING);
  fine("list\r\n", PERMIT_LIST);
  fine("hello 1\n", PERMIT_HELLO);
  assert_int_equal(r.version, 1);
  fine("give\n", PERMIT_GIVE);
  assert_int_equal(r.amounts.count, 0);
  fine("give cores=1\n", PERMIT_GIVE);
  amount_is(0, "cores", 1);
  fine("take cores=2 memory=4G label=\"a \\\"b\\\" \\\\\" wait=30s command=make\n", PERMIT_TAKE);
  assert_int_equal(r.amounts.count, 2);
  amount_is(0, "cores", 2);
  amount_is(1, "memory", UINT64_C(4) << 30);
  assert_string_equal(r.label, "a \"b\" \\");
  assert_string_equal(r.command, "make");
  assert_true(r.has_wait);
  assert_int_equal(r.wait_ns, UINT64_C(30000000000));
  fine("  claim   label=x   gpu-1_a=1K  \n", PERMIT_CLAIM);
  amount_is(0, "gpu-1_a", 1024);
  assert_false(r.has_wait);
}

static void only_one_line_is_read(void **state) {
  (void)state;
  assert_int_equal(line("ping\nlist\n"), PERMIT_LINE);
  assert_int_equal(used, 5);
  assert_int_equal(line("take cores=1"), PERMIT_NEEDS_MORE);
  assert_int_equal(used, 0);
}

static void numbers(void **state) {
  static const struct {
    const char *text;
    uint64_t number;
  } right[] = {{"0", 0},
               {"007", 7},
               {"1K", 1024},
               {"3M", UINT64_C(3) << 20},
               {"1T", PERMIT_MOST},
               {"1024G", PERMIT_MOST},
               {"1099511627776", PERMIT_MOST},
               {"1099511627777", PERMIT_MOST + 1},
               {"2T", PERMIT_MOST + 1},
               {"1025G", PERMIT_MOST + 1},
               {"99999999999999999999999999999999T", PERMIT_MOST + 1}};
  static const char *const none[] = {"", "K", "-1", "1k", "1KB", "1.5G", "0x1", " 1", "1 "};
  uint64_t n;
  (void)state;
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    assert_true(permits_number(right[i].text, strlen(right[i].text), &n));
    assert_int_equal(n, right[i].number);
  }
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_false(permits_number(none[i], strlen(none[i]), &n));
  }
}

static void times(void **state) {
  static const struct {
    const char *text;
    uint64_t ns;
  } right[] = {{"0", 0},
               {"forever", UINT64_MAX},
               {"5ms", 5000000},
               {"2m", UINT64_C(120000000000)},
               {"3h", UINT64_C(10800000000000)},
               {"999999999999h", UINT64_MAX}};
  static const char *const none[] = {"", "5", "s", "1d", "1.5s", "-1s", "9999999999999s"};
  char text[80];
  (void)state;
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    snprintf(text, sizeof text, "take a=1 wait=%s\n", right[i].text);
    fine(text, PERMIT_TAKE);
    assert_int_equal(r.wait_ns, right[i].ns);
  }
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    snprintf(text, sizeof text, "take a=1 wait=%s\n", none[i]);
    wrong(text, "wait is a time, as 30s, 0 or forever");
  }
}

static void each_is_refused_in_words(void **state) {
  (void)state;
  wrong("Take cores=1\n", "the first word is none of hello, take, claim, give, list, ping");
  wrong("\tping\n", "a control character");
  wrong("ping\rx\n", "a control character");
  wrong("ping \x7f\n", "a control character");
  wrong("hello\n", "hello wants a version: hello 1");
  wrong("hello x\n", "hello wants a version: hello 1");
  wrong("hello 1 2\n", "something stands behind the version");
  wrong("take\n", "it asks for nothing: want KIND=NUMBER");
  wrong("claim label=x\n", "it asks for nothing: want KIND=NUMBER");
  wrong("take cores\n", "want KEY=VALUE behind the first word");
  wrong("take =1\n", "want KEY=VALUE behind the first word");
  wrong("take cores=\n", "an amount is a number, as 2 or 512M");
  wrong("take cores=x\n", "an amount is a number, as 2 or 512M");
  wrong("take cores=0\n", "an amount is at least 1");
  wrong("take cores=1 cores=1\n", "a kind is named twice");
  wrong("take Cores=1\n", "this is no key, and no name of a kind");
  wrong("take 1x=1\n", "this is no key, and no name of a kind");
  wrong("take limit=1\n", "this is no key, and no name of a kind");
  wrong("take a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1\n", "there are more than 8 kinds");
  wrong("take a=1 label=x label=y\n", "label and command stand once, behind take or claim");
  wrong("take a=1 label=\"\" label=x\n", "label and command stand once, behind take or claim");
  wrong("take a=1 command= command=x\n", "label and command stand once, behind take or claim");
  wrong("give a=1 label=x\n", "label and command stand once, behind take or claim");
  wrong("take a=1 wait=1s wait=1s\n", "wait stands once, behind take");
  wrong("claim a=1 wait=1s\n", "wait stands once, behind take");
  wrong("list a=1\n", "no amounts stand behind this word");
  wrong("take a=1 label=\"x\n", "a quote is not closed");
  wrong("take a=1 label=\"x\\\n", "a quote is not closed");
  wrong("take a=1 label=\"x\"y\n", "something stands behind a quote");
  wrong("take a=1 label=x\"y\n", "a quote in the middle of a value");
  wrong("take a=1 label=\"\\n\"\n", "in quotes, only \\\" and \\\\ begin with a backslash");
}

static void a_line_has_an_end(void **state) {
  char text[PERMIT_LINE_MAX + 2];
  (void)state;
  memset(text, ' ', sizeof text);
  assert_int_equal(permits_read(&r, text, PERMIT_LINE_MAX - 1, &used, &why), PERMIT_NEEDS_MORE);
  assert_int_equal(permits_read(&r, text, PERMIT_LINE_MAX, &used, &why), PERMIT_MALFORMED);
  assert_string_equal(why, "a line has at most 1024 bytes");
  text[PERMIT_LINE_MAX] = '\n'; /* one too far */
  assert_int_equal(permits_read(&r, text, sizeof text, &used, &why), PERMIT_MALFORMED);
  text[PERMIT_LINE_MAX - 1] = '\n';
  assert_int_equal(permits_read(&r, text, sizeof text, &used, &why), PERMIT_LINE);
  assert_int_equal(used, PERMIT_LINE_MAX);
}

static void long_words_are_cut(void **state) {
  char text[PERMIT_LINE_MAX];
  (void)state;
  snprintf(text, sizeof text, "take a=1 label=%0200d command=\"%0300d\"\n", 7, 8);
  fine(text, PERMIT_TAKE);
  assert_int_equal(strlen(r.label), PERMIT_LABEL_BYTES - 1);
  assert_int_equal(strlen(r.command), PERMIT_COMMAND_BYTES - 1);
}

static void what_is_written(void **state) {
  struct permit_text t = {.size = 0};
  struct permit_amounts a = {.count = 0};
  char much[PERMIT_LINE_MAX];
  (void)state;
  assert_null(permits_amounts_add(&a, "cores", 5, 2));
  assert_null(permits_amounts_add(&a, "memory", 6, 4096));
  permits_say(&t, "holder");
  permits_say_amounts(&t, &a);
  permits_say_quoted(&t, "label", "");
  permits_say_quoted(&t, "command", "a \"b\" \\");
  permits_say_end(&t);
  const char *right = "holder cores=2 memory=4096 command=\"a \\\"b\\\" \\\\\"\n";
  assert_int_equal(t.size, strlen(right));
  assert_memory_equal(t.bytes, right, t.size);
  memset(much, '"', sizeof much - 1);
  much[sizeof much - 1] = '\0';
  for (size_t before = 0; before < 64; before++) { /* cut, but whole */
    t.size = 0;
    permits_say(&t, "%0*d", (int)(PERMIT_LINE_MAX - 64 + before), 0);
    permits_say_quoted(&t, "label", much);
    permits_say_quoted(&t, "command", much);
    permits_say_end(&t);
    assert_true(t.size <= sizeof t.bytes);
    assert_int_equal(t.bytes[t.size - 1], '\n');
    size_t quotes = 0;
    for (size_t i = 0; i < t.size; i++) {
      if (t.bytes[i] == '\\')
        i++;
      else
        quotes += t.bytes[i] == '"';
    }
    assert_true(quotes == 0 || quotes == 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_of_clients),
      cmocka_unit_test(only_one_line_is_read),
      cmocka_unit_test(numbers),
      cmocka_unit_test(times),
      cmocka_unit_test(each_is_refused_in_words),
      cmocka_unit_test(a_line_has_an_end),
      cmocka_unit_test(long_words_are_cut),
      cmocka_unit_test(what_is_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
