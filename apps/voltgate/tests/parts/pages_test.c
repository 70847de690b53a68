/* pages_test.c: the manual page, docs/voltgate/options.md and docs/voltgate/operations.md say what the
 * tables of options and of numbers say.
 *
 * The part of each between its two lines "options: begin" and "options: end" is written from the
 * table; VOLTGATE_UPDATE_PAGES=1 in the environment of this test writes it anew. */
#define _GNU_SOURCE /* open_memstream */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "admin/numbers.h"
#include "config/help.h"
#include "config/options.h"

static char *read_page(const char *path) {
  FILE *f = fopen(path, "r");
  enum { PAGE_MAX = 1 << 20 };
  if (f == NULL) fail_msg("there is no %s", path);
  char *text = (char *)calloc(1, PAGE_MAX);
  assert_non_null(text);
  size_t n = fread(text, 1, PAGE_MAX - 1, f);
  fclose(f);
  assert_true(n > 0 && n < PAGE_MAX - 1);
  return text;
}

static char *printed(void (*print)(FILE *to)) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  assert_non_null(f);
  print(f);
  fclose(f);
  return text;
}

/* The line behind the one that has this text. */
static char *behind_line(char *page, const char *mark) {
  char *at = strstr(page, mark);
  assert_non_null(at);
  at = strchr(at, '\n');
  assert_non_null(at);
  return at + 1;
}

static void write_page(const char *path, const char *page, size_t before, const char *made,
                       const char *after) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fwrite(page, 1, before, f);
  fputs(made, f);
  fputs(after, f);
  fclose(f);
}

static void check_page(const char *path, const char *what, void (*print)(FILE *to)) {
  char begins[32], ends[32];
  snprintf(begins, sizeof begins, "%s: begin", what);
  snprintf(ends, sizeof ends, "%s: end", what);
  char *page = read_page(path), *made = printed(print);
  size_t begin = (size_t)(behind_line(page, begins) - page);
  const char *mark = strstr(page + begin, ends);
  assert_non_null(mark);
  size_t end = (size_t)(mark - page);
  while (page[end - 1] != '\n') end--;
  if (strlen(made) != end - begin || memcmp(page + begin, made, end - begin) != 0) {
    if (getenv("VOLTGATE_UPDATE_PAGES") == NULL) {
      fail_msg(
          "%s is not what the table of %s says: run this test with "
          "VOLTGATE_UPDATE_PAGES=1",
          path, what);
    }
    write_page(path, page, begin, made, page + end);
  }
  free(page);
  free(made);
}

static void the_reference_is_that_of_the_table(void **state) {
  (void)state;
  check_page("../../../../docs/voltgate/options.md", "options", help_markdown);
}

static void the_manual_page_is_that_of_the_table(void **state) {
  (void)state;
  check_page("../../voltgate.8", "options", help_mdoc);
}

static void the_list_of_numbers_is_that_of_the_table(void **state) {
  (void)state;
  check_page("../../../../docs/voltgate/operations.md", "numbers", numbers_markdown);
}

static void help_has_each_option(void **state) {
  (void)state;
  char *help = printed(help_print);
  for (size_t i = 0; i < options_count(); i++) {
    char name[64];
    if (options_table[i].owner == OPTION_OF_TENANT) continue; /* of the file only */
    snprintf(name, sizeof name, "\n  --%s", options_table[i].name);
    assert_non_null(strstr(help, name));
  }
  for (char *line = strtok(help, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (strlen(line) > 110) fail_msg("too wide: %s", line);
  }
  free(help);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_is_that_of_the_table),
      cmocka_unit_test(the_manual_page_is_that_of_the_table),
      cmocka_unit_test(the_list_of_numbers_is_that_of_the_table),
      cmocka_unit_test(help_has_each_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
