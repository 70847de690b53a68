/* log_test.c: lines, their escapes, and the ring that nobody waits for. */
#define _GNU_SOURCE
#include "process/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <volt/base.h>

#include "process/log_text.h"

static const char *line_of(enum log_format format, const char *value) {
  static struct log_text t;
  log_text_begin(&t, format, UINT64_C(1795342272123456789));
  log_text_string(&t, "k", value, NULL);
  log_text_end(&t);
  t.at[t.size] = 0;
  return t.at;
}

static void lines(void **state) {
  (void)state;
  struct log_text t;
  assert_string_equal(line_of(LOG_TEXT, "v"), "time=2026-11-22T10:11:12.123Z k=v\n");
  assert_string_equal(line_of(LOG_JSON, "v"),
                      "{\"time\":\"2026-11-22T10:11:12.123Z\",\"k\":\"v\"}\n");
  log_text_begin(&t, LOG_TEXT, UINT64_C(951782400) * 1000000000);
  log_text_number(&t, "n", 7);
  log_text_thousandths(&t, "a", 12300);
  log_text_thousandths(&t, "b", 12000);
  log_text_thousandths(&t, "c", 31);
  log_text_thousandths(&t, "d", 0);
  log_text_string(&t, "e", "refused", "idle");
  log_text_string(&t, "f", "error", "no way");
  log_text_end(&t);
  t.at[t.size] = 0;
  assert_string_equal(t.at,
                      "time=2000-02-29T00:00:00.000Z n=7 a=12.3 b=12 c=0.031 d=0 "
                      "e=refused:idle f=\"error:no way\"\n");
}

static void escapes(void **state) {
  (void)state;
  static const struct {
    const char *value, *written;
  } cases[] = {{"a b", "\"a b\""},
               {"", "\"\""},
               {"a=b", "\"a=b\""},
               {"say \"x\\\"", "\"say \\\"x\\\\\\\"\""},
               {"x\nlevel=error", "\"x\\nlevel=error\""},
               {"\r\t\x01\x1b[0m\x7f", "\"\\r\\t\\u0001\\u001b[0m\\u007f\""},
               {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
               {"\xff", "\"\\ufffd\""},
               {"\xc3", "\"\\ufffd\""},
               {"\xc3(", "\"\\ufffd(\""},
               {"\xc0\xaf", "\"\\ufffd\\ufffd\""}, /* longer than need be */
               {"\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\""},
               {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
               {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
               {"\xc2\x9b"
                "31m",
                "\"\\u009b31m\""}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *line = line_of(LOG_TEXT, cases[i].value);
    assert_int_equal(strncmp(strstr(line, " k=") + 3, cases[i].written, strlen(cases[i].written)),
                     0);
    line = line_of(LOG_JSON, cases[i].value);
    assert_int_equal(
        strncmp(strstr(line, "\"k\":") + 4, cases[i].written, strlen(cases[i].written)), 0);
  }
}

/* A value that has no room is cut, and the line is whole. */
static void long_lines(void **state) {
  (void)state;
  static char value[3 * LOG_TEXT_MAX];
  struct log_text t;
  for (size_t size = LOG_TEXT_MAX - 120; size < LOG_TEXT_MAX + 20; size++) {
    memset(value, size % 3 == 0 ? '"' : 'x', size);
    value[size] = 0;
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
      log_text_begin(&t, (enum log_format)format, 0);
      log_text_string(&t, "k", value, NULL);
      log_text_number(&t, "number", 123456);
      log_text_string(&t, "more", "x y", NULL);
      log_text_end(&t);
      assert_true(t.size <= LOG_TEXT_MAX);
      assert_int_equal(t.at[t.size - 1], '\n');
      assert_null(memchr(t.at, '\n', t.size - 1));
      unsigned quotes = 0;
      for (size_t i = 0; i < t.size; i++) {
        if (t.at[i] == '\\') {
          i++;
        } else {
          quotes += t.at[i] == '"';
        }
      }
      assert_int_equal(quotes % 2, 0);
      if (format == LOG_JSON) assert_int_equal(t.at[t.size - 2], '}');
    }
  }
}

/* ---- files ---- */

static char directory[64], path[96], other_path[96], old_path[96];

static int make_directory(void **state) {
  (void)state;
  strcpy(directory, "/tmp/voltgate_log_XXXXXX");
  if (mkdtemp(directory) == NULL) return -1;
  snprintf(path, sizeof path, "%s/log", directory);
  snprintf(other_path, sizeof other_path, "%s/access", directory);
  snprintf(old_path, sizeof old_path, "%s/log.1", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  log_stop();
  unlink(path);
  unlink(other_path);
  unlink(old_path);
  return rmdir(directory);
}

static char *contents(const char *of) {
  struct stat about;
  int fd = open(of, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(fstat(fd, &about), 0);
  char *text = malloc((size_t)about.st_size + 1);
  assert_int_equal(read(fd, text, (size_t)about.st_size), about.st_size);
  text[about.st_size] = 0;
  close(fd);
  return text;
}

static void start(enum log_format format, enum log_level level) {
  const char *what = NULL;
  struct log_settings log = {.path = path, .format = format, .level = level};
  struct log_settings access = {.path = other_path, .format = format};
  assert_int_equal(log_start(&log, &access, &what), VOLT_OK);
}

static void both_logs(void **state) {
  (void)state;
  start(LOG_TEXT, LOG_INFO);
  log_line(LOG_WARN, "main", "%d permits", 7);
  log_line(LOG_DEBUG, "main", "not wanted");
  assert_false(log_wants(LOG_DEBUG));
  struct access a = {.gate = "main",
                     .client = "127.0.0.1:5123",
                     .user = "app\nx",
                     .wait_ns = 12300000,
                     .hold_ns = UINT64_MAX,
                     .age_ns = UINT64_C(12100000000),
                     .permits = 17,
                     .up = 123,
                     .down = 4567,
                     .end = "refused",
                     .detail = "queue-full"};
  assert_true(log_wants_access());
  log_access(&a);
  log_flush();
  char *text = contents(path);
  assert_non_null(strstr(text, " level=warn gate=main msg=\"7 permits\"\n"));
  assert_null(strstr(text, "not wanted"));
  free(text);
  text = contents(other_path);
  assert_non_null(strstr(text,
                         "Z gate=main client=127.0.0.1:5123 user=\"app\\nx\" wait_ms=12.3 "
                         "permits=17 up=123 down=4567 age_s=12.1 end=refused:queue-full\n"));
  free(text);
}

static void files_are_opened_again(void **state) {
  (void)state;
  const char *what;
  start(LOG_JSON, LOG_DEBUG);
  log_line(LOG_DEBUG, NULL, "before");
  assert_int_equal(rename(path, old_path), 0);
  log_line(LOG_DEBUG, NULL, "meanwhile");
  assert_int_equal(log_reopen(&what), VOLT_OK);
  log_line(LOG_DEBUG, NULL, "after");
  log_stop();
  char *old = contents(old_path), *now = contents(path);
  assert_non_null(strstr(old, "\"msg\":\"before\"}\n"));
  assert_non_null(strstr(old, "meanwhile"));
  assert_null(strstr(old, "after"));
  assert_non_null(strstr(now, "\"level\":\"debug\",\"msg\":\"after\"}\n"));
  assert_null(strstr(now, "meanwhile"));
  free(old);
  free(now);
}

static void what_cannot_be_opened_changes_nothing(void **state) {
  (void)state;
  const char *what = NULL;
  struct log_settings log = {.path = path}, wrong = {.path = (char *)"/nowhere/log"};
  start(LOG_TEXT, LOG_INFO);
  assert_int_not_equal(log_start(&log, &wrong, &what), VOLT_OK);
  assert_string_equal(what, "/nowhere/log");
  log_line(LOG_INFO, NULL, "it goes on");
  log_flush();
  char *text = contents(path);
  assert_non_null(strstr(text, "it goes on"));
  free(text);
}

/* ---- threads, and a reader that does not read ---- */

enum { THREADS = 4, LINES = 5000 };

static void *say_many(void *arg) {
  for (int i = 0; i < LINES; i++) log_line(LOG_INFO, NULL, "thread %d line %d", *(int *)arg, i);
  return NULL;
}

/* Every line that was not dropped is there, whole and in the order of its thread. */
static void many_threads(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  int numbers[THREADS], next[THREADS] = {0};
  uint64_t dropped = log_dropped();
  start(LOG_TEXT, LOG_INFO);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, say_many, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  log_stop();
  char *text = contents(path), *save = NULL;
  uint64_t seen = 0, told = 0;
  for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
    int thread, number;
    uint64_t count;
    const char *words = strstr(line, "msg=\"");
    assert_non_null(words);
    assert_int_equal(strncmp(line, "time=", 5), 0);
    if (sscanf(words, "msg=\"%" SCNu64 " lines of the log were dropped\"", &count) == 1) {
      told += count;
      continue;
    }
    assert_int_equal(sscanf(words, "msg=\"thread %d line %d\"", &thread, &number), 2);
    assert_true(number >= next[thread]);
    next[thread] = number + 1;
    seen++;
  }
  assert_int_equal(seen + log_dropped() - dropped, (uint64_t)THREADS * LINES);
  assert_int_equal(told, log_dropped() - dropped);
  free(text);
}

struct reader {
  int end;
  uint64_t told; /* lines that were dropped, it says */
};

static void *read_all(void *arg) {
  struct reader *r = arg;
  char line[1024];
  FILE *file = fdopen(r->end, "r");
  usleep(20000); /* log_stop() is there, then */
  while (fgets(line, sizeof line, file) != NULL) {
    uint64_t count;
    const char *words = strstr(line, "msg=\"");
    if (words && sscanf(words, "msg=\"%" SCNu64 " lines of the log were dropped\"", &count) == 1)
      r->told += count;
  }
  fclose(file);
  return NULL;
}

/* Lines that were dropped because the ring was full are told, also if it still is when the log
 * stops. */
static void stop_with_a_full_ring(void **state) {
  (void)state;
  int ends[2], errors = dup(STDERR_FILENO);
  const char *what;
  struct log_settings log = {.path = (char *)"-", .level = LOG_INFO}, access = {.path = NULL};
  uint64_t dropped = log_dropped();
  pthread_t thread;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  while (write(ends[1], "\n", 1) == 1) continue;
  assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  close(ends[1]);
  assert_int_equal(log_start(&log, &access, &what), VOLT_OK);
  log_line(LOG_INFO, NULL, "the first");
  usleep(50000); /* the log's thread waits for room for it, and has not seen the others */
  while (log_dropped() < dropped + 10) log_line(LOG_INFO, NULL, "a line that comes too early");
  struct reader reader = {.end = ends[0]};
  assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
  log_stop();
  assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
  close(errors);
  pthread_join(thread, NULL);
  assert_int_equal(reader.told, log_dropped() - dropped);
}

/* A pipe that nobody reads: no caller waits, lines are dropped, the log can be changed, and the
 * program ends. */
static void nobody_reads(void **state) {
  (void)state;
  int ends[2], errors = dup(STDERR_FILENO);
  const char *what;
  struct log_settings log = {.path = (char *)"-", .level = LOG_INFO}, access = {.path = NULL};
  uint64_t dropped = log_dropped();
  alarm(60); /* ends the test if one of them waits for ever */
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  assert_int_equal(log_start(&log, &access, &what), VOLT_OK);
  for (int i = 0; i < 20000; i++) log_line(LOG_INFO, NULL, "a line that nobody reads %d", i);
  bool was_dropped = log_dropped() > dropped;
  int changed = log_start(&log, &access, &what); /* as a reload does */
  for (int i = 0; i < 20000; i++) log_line(LOG_INFO, NULL, "a line that nobody reads %d", i);
  log_notice("main", "listening on %s", "127.0.0.1:1"); /* as a reload does, too */
  log_stop();
  alarm(0);
  assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
  close(errors);
  close(ends[0]);
  close(ends[1]);
  assert_true(was_dropped);
  assert_int_equal(changed, VOLT_OK);
}

static void before_the_start(void **state) {
  (void)state;
  int ends[2], errors = dup(STDERR_FILENO);
  char text[512];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  log_line(LOG_ERROR, NULL, "at once");
  log_notice("main", "listening on %s", "127.0.0.1:1");
  assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
  close(errors);
  ssize_t n = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  close(ends[1]);
  assert_true(n > 0);
  text[n] = 0;
  assert_non_null(strstr(text, "level=error msg=\"at once\"\n"));
  assert_non_null(strstr(text, "\nvoltgate: gate main: listening on 127.0.0.1:1\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines),
      cmocka_unit_test(escapes),
      cmocka_unit_test(long_lines),
      cmocka_unit_test(before_the_start),
      cmocka_unit_test_setup_teardown(both_logs, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(files_are_opened_again, make_directory, remove_directory),
      cmocka_unit_test_setup_teardown(what_cannot_be_opened_changes_nothing, make_directory,
                                      remove_directory),
      cmocka_unit_test_setup_teardown(many_threads, make_directory, remove_directory),
      cmocka_unit_test(stop_with_a_full_ring),
      cmocka_unit_test(nobody_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
