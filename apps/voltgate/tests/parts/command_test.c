/* command_test.c: which command it is, and the options of those that ask a running voltgate. What
 * is printed about errors goes to /dev/null. */
#define _GNU_SOURCE /* mkstemp */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/command.h"

enum { WORDS = 16 };
static char *argv[WORDS];

static enum command_kind read_words(struct command *c, const char *const *words) {
  int argc = 0;
  for (; words[argc] != NULL; argc++) argv[argc] = (char *)(uintptr_t)words[argc];
  argv[argc] = NULL;
  return command_read(c, argc, argv);
}
#define READ(c, ...) read_words(c, (const char *const[]){"voltgate", __VA_ARGS__, NULL})

static void run_is_the_default(void **state) {
  (void)state;
  struct command c;
  assert_int_equal(read_words(&c, (const char *const[]){"voltgate", NULL}), COMMAND_RUN);
  assert_int_equal(c.argc, 1);
  command_free(&c);
  assert_int_equal(READ(&c, "--limit", "5"), COMMAND_RUN);
  assert_int_equal(c.argc, 3);
  assert_string_equal(c.argv[1], "--limit");
  command_free(&c);
  assert_int_equal(READ(&c, "run", "--limit", "5"), COMMAND_RUN);
  assert_int_equal(c.argc, 3);
  assert_string_equal(c.argv[1], "--limit");
  command_free(&c);
  assert_int_equal(READ(&c, "check", "--config=x"), COMMAND_CHECK);
  assert_int_equal(c.argc, 2);
  assert_string_equal(c.argv[1], "--config=x");
  command_free(&c);
}

static void a_command_under_a_permit(void **state) {
  (void)state;
  struct command c;
  assert_int_equal(READ(&c, "run", "ls", "--help"), COMMAND_UNDER);
  assert_string_equal(c.under.words[0], "ls");
  assert_string_equal(c.under.words[1], "--help"); /* is not ours */
  assert_null(c.under.words[2]);
  assert_string_equal(c.under.take, "cores=1");
  assert_null(c.under.gate);
  assert_true(c.under.wait_ns == 0 && !c.under.is_now && !c.under.keeps);
  command_free(&c);
  assert_int_equal(READ(&c, "run", "--take=memory=4G", "--wait", "30s", "--keep", "--or-fail",
                        "--gate", "/x", "--label", "a b", "--", "--ls"),
                   COMMAND_UNDER);
  assert_string_equal(c.under.words[0], "--ls");
  assert_string_equal(c.under.take, "memory=4G");
  assert_string_equal(c.under.gate, "/x");
  assert_string_equal(c.under.label, "a b");
  assert_true(c.under.wait_ns == UINT64_C(30000000000) && c.under.is_now && c.under.keeps);
  command_free(&c);
  assert_int_equal(READ(&c, "run", "--take", "cores=1"), COMMAND_WRONG_UNDER);
  assert_int_equal(READ(&c, "run", "--take", "cores=1", "--limit", "5", "ls"), COMMAND_WRONG_UNDER);
  assert_int_equal(READ(&c, "run", "--wait", "soon", "ls"), COMMAND_WRONG_UNDER);
  assert_int_equal(READ(&c, "run", "--"), COMMAND_WRONG_UNDER);
  assert_int_equal(READ(&c, "run", "--jobs", "--keep", "make"), COMMAND_WRONG_UNDER);
  assert_int_equal(READ(&c, "run", "--limit", "5"), COMMAND_RUN); /* a gate */
  command_free(&c);
  assert_int_equal(READ(&c, "run", "-x"), COMMAND_RUN);
  command_free(&c);
}

static void those_that_ask_have_options(void **state) {
  (void)state;
  struct command c;
  assert_int_equal(READ(&c, "limit", "main", "--admin", ":1234", "17"), COMMAND_LIMIT);
  assert_string_equal(c.client.admin, "127.0.0.1:1234");
  assert_string_equal(c.client.gate, "main");
  assert_int_equal(c.client.limit, 17);
  assert_null(c.client.token);
  command_free(&c);
  assert_int_equal(READ(&c, "top", "--interval=250ms", "--once"), COMMAND_TOP);
  assert_string_equal(c.client.admin, "127.0.0.1:9090");
  assert_true(c.client.interval_ns == 250000000 && c.client.is_once);
  command_free(&c);
  assert_int_equal(READ(&c, "top"), COMMAND_TOP);
  assert_true(c.client.interval_ns == 1000000000 && !c.client.is_once);
  command_free(&c);
  static const struct {
    const char *name;
    enum command_kind kind;
  } plain[] = {{"reload", COMMAND_RELOAD}, {"drain", COMMAND_DRAIN}, {"status", COMMAND_STATUS}};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(READ(&c, plain[i].name, "--admin=unix:/run/x"), plain[i].kind);
    assert_string_equal(c.client.admin, "unix:/run/x");
    command_free(&c);
  }
}

static void the_token_is_of_the_file_or_the_environment(void **state) {
  (void)state;
  struct command c;
  char path[] = "/tmp/voltgate-token-XXXXXX";
  int fd = mkstemp(path); /* 0600 */
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "of-the-file\n", 12), 12);
  close(fd);
  setenv("VOLTGATE_TOKEN", "of-the-environment", 1);
  assert_int_equal(READ(&c, "drain"), COMMAND_DRAIN);
  assert_string_equal(c.client.token, "of-the-environment");
  command_free(&c);
  assert_int_equal(READ(&c, "drain", "--token-file", path), COMMAND_DRAIN);
  assert_string_equal(c.client.token, "of-the-file");
  command_free(&c);
  assert_int_equal(chmod(path, 0644), 0);
  assert_int_equal(READ(&c, "drain", "--token-file", path), COMMAND_WRONG);
  command_free(&c);
  unlink(path);
  setenv("VOLTGATE_TOKEN", "two words", 1);
  assert_int_equal(READ(&c, "drain"), COMMAND_WRONG);
  command_free(&c);
  unsetenv("VOLTGATE_TOKEN");
}

static void what_is_wrong_is_refused(void **state) {
  (void)state;
  static const char *const wrong[][5] = {
      {"voltgate", "bench"},
      {"voltgate", "limit"},
      {"voltgate", "limit", "main"},
      {"voltgate", "limit", "main", "0"},
      {"voltgate", "limit", "main", "x"},
      {"voltgate", "drain", "now"},
      {"voltgate", "drain", "--once"},
      {"voltgate", "top", "--once=yes"},
      {"voltgate", "top", "--once", "--once"},
      {"voltgate", "top", "--interval"},
      {"voltgate", "top", "--interval", "1ms"},
      {"voltgate", "status", "--admin", "*:1"},
      {"voltgate", "status", "--listen", ":1"},
      {"voltgate", "status", "--token-file", "/nowhere"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct command c;
    assert_int_equal(read_words(&c, wrong[i]), COMMAND_WRONG);
    assert_null(c.client.admin);
    command_free(&c);
  }
}

static void help_and_version_are_shown(void **state) {
  (void)state;
  static const char *const shown[][5] = {{"voltgate", "--help"},
                                         {"voltgate", "-h"},
                                         {"voltgate", "--version"},
                                         {"voltgate", "top", "--help"},
                                         {"voltgate", "--limit", "x", "--help"}};
  fflush(stdout);
  int kept = dup(1), null = open("/dev/null", O_WRONLY);
  dup2(null, 1);
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    struct command c;
    assert_int_equal(read_words(&c, shown[i]), COMMAND_SHOWN);
    command_free(&c);
  }
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  close(null);
}

static int quiet(void **state) {
  (void)state;
  unsetenv("VOLTGATE_TOKEN");
  return freopen("/dev/null", "w", stderr) == NULL ? -1 : 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(run_is_the_default),
      cmocka_unit_test(a_command_under_a_permit),
      cmocka_unit_test(those_that_ask_have_options),
      cmocka_unit_test(the_token_is_of_the_file_or_the_environment),
      cmocka_unit_test(what_is_wrong_is_refused),
      cmocka_unit_test(help_and_version_are_shown),
  };
  return cmocka_run_group_tests(tests, quiet, NULL);
}
