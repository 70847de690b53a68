/* top_test.c: what voltgate top draws: never more than the window, never what a terminal obeys, and
 * the numbers that were answered. */
#define _GNU_SOURCE
#include "admin/screen.h"

#include <locale.h>
#include <stdio.h>

#include "rng.h"
#include "unit.h"

static void numbers_are_short(void **state) {
  static const struct {
    double value;
    const char *time, *number, *bytes;
  } cases[] = {
      {0, "-", "0", "0.00B"},
      {0.0000005, "0us", "0.0", "0.00B"},
      {0.00042, "420us", "0.0", "0.00B"},
      {0.0312, "31.2ms", "0.0", "0.03B"},
      {1, "1.00s", "1", "1.00B"},
      {9.5, "9.50s", "9.5", "9.50B"},
      {119, "119s", "119", "119B"},
      {600, "10.0min", "600", "600B"},
      {9999, "2.78h", "9999", "10.0kB"},
      {123456, "34.3h", "123k", "123kB"},
      {1e9, "277778h", "1000M", "1.00GB"},
  };
  char text[32];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_string_equal(screen_time(text, cases[i].value), cases[i].time);
    assert_string_equal(screen_number(text, cases[i].value), cases[i].number);
    assert_string_equal(screen_bytes(text, cases[i].value), cases[i].bytes);
  }
  assert_string_equal(screen_time(text, -1), "-");
}

static void columns_are_cut_and_filled(void **state) {
  struct output to = {.size = 0};
  struct screen s = {.to = &to, .width = 20, .height = 2};
  (void)state;
  screen_begin(&s);
  screen_left(&s, 4, "abcdef");
  screen_left(&s, 4, "x");
  screen_right(&s, 4, "12");
  screen_right(&s, 3, "12345");
  screen_left(&s, 0, "\x1b[2J\n\xc3\xa9 and more");
  screen_line(&s);
  output_bytes(&to, "", 1);
  assert_string_equal(to.at, "abcdx     12123?[2J?\n");
  output_free(&to);
}

#if VOLTGATE_JANSSON
#include "admin/top_frame.h"

static const char status_text[] =
    "{\"version\":\"1.0\",\"uptime_s\":75,\"workers\":2,\"io\":\"epoll\",\"state\":\"running\","
    "\"gates\":["
    "{\"name\":\"main\",\"protocol\":\"tcp\",\"to\":\"db:1\",\"state\":\"up\",\"reason\":\"\","
    "\"limit\":16,"
    "\"held\":12,\"excess\":3,\"queue\":{\"length\":212,\"bound\":1000,\"oldest_s\":0.031},"
    "\"clients\":500,"
    "\"last\":{\"admitted_per_s\":1234.5,\"refused_per_s\":7,\"wait_s\":{\"p50\":0.01,\"p99\":0.2},"
    "\"hold_s\":{\"p50\":0.001,\"p99\":0.004}},\"totals\":{\"left\":9,\"refused\":{\"queue-full\":"
    "5,\"idle\":0}},"
    "\"tenants\":[{\"name\":\"small\",\"held\":1,\"queued\":0,\"admitted\":900,\"refused\":0},"
    "{\"name\":\"\\u001b[31mred\\u0007\",\"held\":8,\"queued\":99,\"admitted\":100,\"refused\":3}]}"
    ","
    "{\"name\":\"legacy\",\"state\":\"breaker\",\"reason\":\"Connection "
    "refused\",\"reason_s\":32,\"limit\":1,\"tenants\":[]}]}";
static const char queue_text[] =
    "{\"waiting\":[{\"position\":1,\"client\":\"127.0.0.1:5\",\"tenant\":\"caf\\u00e9\",\"age_s\":"
    "0.031,"
    "\"deadline_s\":4.969},{\"position\":2,\"client\":\"[::1]:6\",\"tenant\":\"\",\"age_s\":0.01,"
    "\"deadline_s\":null}]}";
static const char holders_text[] =
    "{\"holders\":[{\"position\":1,\"client\":\"127.0.0.1:7\",\"user\":\"ann\",\"database\":"
    "\"sh\\u001bop\",\"held_s\":71.5,\"state\":\"idle in transaction\",\"state_s\":70,"
    "\"query_s\":71,\"up\":1234,\"down\":0}]}";
static const char history_text[] = "{\"seconds\":[[1,0],[2,5],[3,10],[4,\"x\"],[5],6]}";

static struct top begin(void) {
  return (struct top){.admin = "127.0.0.1:9090",
                      .status = admin_client_json(status_text, sizeof status_text - 1),
                      .queue = admin_client_json(queue_text, sizeof queue_text - 1),
                      .holders = admin_client_json(holders_text, sizeof holders_text - 1),
                      .history = admin_client_json(history_text, sizeof history_text - 1)};
}

static void end(struct top *t) {
  json_decref(t->status);
  json_decref(t->queue);
  json_decref(t->holders);
  json_decref(t->history);
}

/* Checks a frame for a terminal: its lines and columns, and that nothing in it is obeyed but what
 * the program itself writes. Leaves the text without that, ended by a zero. */
static void check_frame(struct output *to, unsigned width, unsigned height) {
  char *text = to->at;
  size_t out = 0;
  unsigned lines = 1, column = 0;
  for (size_t i = 0; i < to->size;) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == 0x1b) {
      assert_int_equal(text[i + 1], '[');
      size_t n = strspn(text + i + 2, "0123456789;");
      assert_non_null(strchr("mHKJ", text[i + 2 + n]));
      i += 3 + n;
      continue;
    }
    if (byte == '\n') lines++, column = 0;
    assert_true(byte >= ' ' || byte == '\n' || byte == '\r');
    assert_true(byte != 0x7f);
    if (byte != '\n' && byte != '\r' && (byte & 0xc0) != 0x80) column++;
    assert_true(column <= width);
    if (byte != '\r') text[out++] = text[i];
    i++;
  }
  assert_true(lines <= height);
  text[out] = '\0'; /* the frame had escapes, so there is room */
}

static void frame_of(struct output *to, const struct top *t, unsigned width, unsigned height) {
  to->size = 0;
  struct screen s = {
      .to = to, .width = width, .height = height, .is_terminal = true, .is_utf8 = true};
  top_frame(&s, t);
  assert_false(to->is_cut);
  check_frame(to, width, height);
}

static void what_was_answered_is_drawn(void **state) {
  struct output to = {.size = 0};
  struct top t = begin();
  (void)state;
  frame_of(&to, &t, 120, 40);
  assert_non_null(strstr(to.at, "up 75.0s  2 workers on epoll"));
  assert_non_null(strstr(to.at, "12/16     3    212  31.0ms    1234      7   10.0ms"));
  assert_non_null(strstr(to.at, "refused so far: queue-full 5; left while waiting 9"));
  assert_non_null(strstr(to.at, "127.0.0.1:5             caf\xc3\xa9"));
  assert_non_null(strstr(to.at,
                         "\n71.5s    127.0.0.1:7             idle in transaction    70.0s"
                         "   1.23kB    0.00B  ann/sh?op"));
  assert_non_null(strstr(to.at, "TENANT by busiest"));
  assert_non_null(strstr(to.at, "?[31mred?"));
  assert_true(strstr(to.at, "?[31mred?") < strstr(to.at, "\nsmall")); /* busier */
  t.order = TOP_BY_ADMITTED;
  frame_of(&to, &t, 120, 40);
  assert_true(strstr(to.at, "?[31mred?") > strstr(to.at, "\nsmall"));
  t.chosen = 1;
  frame_of(&to, &t, 120, 40);
  assert_non_null(strstr(to.at, "server away for 32.0s: Connection refused"));
  t.lost = "Connection refused";
  strcpy(t.lost_since, "12:00:00");
  frame_of(&to, &t, 120, 40);
  assert_non_null(strstr(to.at, "no answer since 12:00:00: Connection refused"));
  output_free(&to);
  end(&t);
}

static void the_lease_is_drawn(void **state) {
  static const char text[] =
      "{\"version\":\"1.0\",\"state\":\"running\","
      "\"cluster\":{\"state\":\"away\",\"valid_for_s\":1.5},\"gates\":["
      "{\"name\":\"main\",\"state\":\"up\",\"cluster\":{\"name\":\"shop\",\"mode\":\"keep\","
      "\"in_force\":21,\"leased\":20,\"owed\":3,\"hosts\":4,\"hosts_before\":2,\"era\":1,"
      "\"epoch\":300647711213,\"wrong\":\"the node was deleted\"}}]}";
  struct output to = {.size = 0};
  struct top t = {.admin = "127.0.0.1:9090", .status = admin_client_json(text, sizeof text - 1)};
  (void)state;
  frame_of(&to, &t, 140, 40);
  assert_non_null(
      strstr(to.at,
             "cluster away: keep  in force 21  leased 20  owed 3  hosts 4  before us 2  "
             "valid 1.50s  fence 1/300647711213"));
  assert_non_null(strstr(to.at, "nothing is leased: the node was deleted"));
  frame_of(&to, &t, 40, 12);
  output_free(&to);
  end(&t);
}

static void every_window_is_big_enough(void **state) {
  struct output to = {.size = 0};
  struct top t = begin(), none = {.admin = "unix:/run/x"};
  (void)state;
  for (unsigned width = 1; width < 140; width += 1 + width / 20) {
    for (unsigned height = 1; height < 60; height += 1 + height / 10) {
      for (t.chosen = 0; t.chosen < 3; t.chosen++) frame_of(&to, &t, width, height);
      frame_of(&to, &none, width, height);
    }
  }
  output_free(&to);
  end(&t);
}

/* Values of other kinds, missing ones, hostile ones: whatever an answer says, a frame is drawn. */
static void any_answer_is_drawn(void **state) {
  static const char *const pieces[] = {
      "null", "[]", "{}", "-1", "1e300", "\"\\u202e\\u001b[2J\"", "true", "9e9", "[[[1]]]"};
  rng random = rng_seeded(7);
  struct output to = {.size = 0};
  int drawn = 0;
  (void)state;
  for (int run = 0; run < 4000; run++) {
    char text[sizeof status_text + 64];
    memcpy(text, status_text, sizeof status_text);
    for (uint32_t changes = 1 + rng_below(&random, 3); changes > 0; changes--) {
      /* the value behind a colon becomes another one; or a byte changes */
      size_t size = strlen(text), at = rng_below(&random, (uint32_t)size);
      const char *piece = pieces[rng_below(&random, sizeof pieces / sizeof *pieces)];
      while (at < size && text[at] != ':') at++;
      size_t until = at + 1 < size ? at + 1 + strcspn(text + at + 1, ",}]") : size;
      if (at + 1 >= size || size - (until - at) + strlen(piece) + 2 > sizeof text) continue;
      memmove(text + at + 1 + strlen(piece), text + until, size - until + 1);
      memcpy(text + at + 1, piece, strlen(piece));
    }
    struct top t = {.admin = "x", .status = admin_client_json(text, strlen(text))};
    t.queue = t.holders = t.history = t.status;
    t.chosen = rng_below(&random, 3);
    t.order = (enum top_order)rng_below(&random, TOP_ORDERS);
    drawn += t.status != NULL;
    frame_of(&to, &t, 20 + rng_below(&random, 120), 5 + rng_below(&random, 40));
    json_decref(t.status);
  }
  assert_true(drawn > 1000);
  output_free(&to);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_are_short),
    cmocka_unit_test(columns_are_cut_and_filled),
#if VOLTGATE_JANSSON
    cmocka_unit_test(what_was_answered_is_drawn),
    cmocka_unit_test(the_lease_is_drawn),
    cmocka_unit_test(every_window_is_big_enough),
    cmocka_unit_test(any_answer_is_drawn),
#endif
  };
  setlocale(LC_CTYPE, "C.UTF-8");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
