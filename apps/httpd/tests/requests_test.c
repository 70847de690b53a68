/* requests_test.c: requests.table, each row as a whole, in pieces, and byte by byte. */
#include "unit.h"

#include <stdio.h>

#include "table.h"

/* A row in which 100 is not said may have it if the body comes later. */
static const char *without_100(const char *outcome) {
  return strncmp(outcome, "100 ", 4) == 0 ? outcome + 4 : outcome;
}

static bool run(const struct table_row *row, size_t piece) {
  struct exchange x;
  exchange_run(&x, row->bytes, row->count, piece);
  bool is_whole = piece == TABLE_BYTES_MAX;
  const char *outcome = is_whole ? x.outcome : without_100(x.outcome);
  const char *expected = is_whole ? row->expected : without_100(row->expected);
  bool is_right = strcmp(outcome, expected) == 0 && x.wrong == NULL;
  if (!is_right) {
    print_error("requests.table:%u (%s), pieces of %zu: %s, not %s%s%s\n", row->line, row->section,
                piece, outcome, expected, x.wrong != NULL ? "; " : "",
                x.wrong != NULL ? x.wrong : "");
  }
  exchange_free(&x);
  return is_right;
}

static void each_row_is_answered_as_it_says(void **state) {
  (void)state;
  static const size_t pieces[] = {TABLE_BYTES_MAX, 1, 7, 1000};
  static struct table_row row;
  unsigned rows = 0, wrong = 0;
  void *table = table_open();
  assert_non_null(table);
  while (table_next(table, &row)) {
    rows++;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) wrong += !run(&row, pieces[i]);
  }
  table_close(table);
  assert_int_equal(wrong, 0);
  assert_true(rows >= 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_row_is_answered_as_it_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
