/* callers_test.c: an assertion that fails in a helper says which line of the test had called it. */
#define _GNU_SOURCE /* dprintf */
#include "callers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"
#include "unit.h"

__attribute__((noinline)) static int is_helper_of(int number) {
  REQUIRE(number < 0);
  return 0;
}

__attribute__((noinline)) static void expect_none(int number) {
  assert_int_equal(number, 0);
}

static int line_of_call; /* in the children */

static void fails_in_a_helper(void **state) {
  (void)state;
  line_of_call = __LINE__ + 1;
  expect_none(3);
}

static void run_a_test_that_fails(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fails_in_a_helper)};
  (void)cmocka_run_group_tests(tests, NULL, NULL);
  dprintf(STDERR_FILENO, "\nline %d\n", line_of_call);
}

static void abort_in_a_helper(void) {
  dprintf(STDERR_FILENO, "\nline %d\n", __LINE__ + 1);
  (void)is_helper_of(4);
}

/* What this says on stderr, in a child. */
static void read_said(void (*what)(void), char *said, size_t size) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    what();
    fflush(NULL);
    _exit(0);
  }
  close(ends[1]);
  size_t used = 0;
  for (ssize_t got; used + 1 < size && (got = read(ends[0], said + used, size - 1 - used)) > 0;)
    used += (size_t)got;
  said[used] = 0;
  close(ends[0]);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Not without binutils, nor of a program for another processor. */
static int can_be_told(void) {
  char path[1024], command[1100];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  snprintf(command, sizeof command, "addr2line -e '%s' 0 > /dev/null 2>&1", path);
  return system(command) == 0;
}

static void expect_named(void (*what)(void)) {
  char said[8192], named[64];
  read_said(what, said, sizeof said);
  if (strstr(said, "called from") == NULL && !can_be_told()) skip();
  const char *line = strstr(said, "\nline ");
  assert_non_null(line);
  snprintf(named, sizeof named, "called from callers_test.c:%d", atoi(line + 6));
  if (!strstr(said, named)) fail_msg("not '%s' in: %s", named, said);
}

static void an_assertion_names_its_caller(void **state) {
  (void)state;
  expect_named(run_a_test_that_fails);
}

static void a_requirement_names_its_caller(void **state) {
  (void)state;
  expect_named(abort_in_a_helper);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_assertion_names_its_caller),
      cmocka_unit_test(a_requirement_names_its_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
