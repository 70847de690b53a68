/* sight_page.h: docs/sight-protocol.md as a table: every line of an answer is held against it. */
#ifndef VOLT_TEST_SIGHT_PAGE_H
#define VOLT_TEST_SIGHT_PAGE_H

#include <stdio.h>

#include "sight/answer/json.h"
#include "unit.h"

enum { SIGHT_PAGE_MEMBERS = 256 };

typedef struct sight_page_member {
  char line[24]; /* "" : every line */
  char name[24];
  char value[16]; /* "text", "address", "number", "condition" */
  bool is_optional;
  bool is_seen;
} sight_page_member;

static sight_page_member sight_page[SIGHT_PAGE_MEMBERS];
static unsigned sight_page_count;

/* A row "| `name` | value | ..."; value ends with ? if the member may be absent. */
static inline void sight_page_row(const char *line, const char *row) {
  sight_page_member *m = &sight_page[sight_page_count];
  if (sscanf(row, "| `%23[a-z0-9_]` | %15[a-z?] |", m->name, m->value) != 2) return;
  snprintf(m->line, sizeof m->line, "%s", line);
  char *optional = strchr(m->value, '?');
  m->is_optional = optional != NULL;
  if (optional) *optional = '\0';
  assert_true(++sight_page_count < SIGHT_PAGE_MEMBERS);
}

static inline void sight_page_read(void) {
  char row[1024], line[24] = "";
  bool is_lines = false;
  FILE *page = fopen(SIGHT_PAGE, "r");
  assert_non_null(page);
  while (fgets(row, sizeof row, page)) {
    if (strncmp(row, "## ", 3) == 0) is_lines = strcmp(row, "## Lines\n") == 0;
    if (sscanf(row, "### %23[a-z]\n", line) == 1 || strncmp(row, "### Every", 9) == 0) {
      if (row[4] == 'E') line[0] = '\0';
    }
    if (is_lines) sight_page_row(line, row);
  }
  fclose(page);
  assert_true(sight_page_count > 80);
}

static inline sight_page_member *sight_page_find(const char *line, const volt_json_member_ *m) {
  for (unsigned i = 0; i < sight_page_count; i++) {
    sight_page_member *known = &sight_page[i];
    bool is_of_it = !known->line[0] || strcmp(known->line, line) == 0;
    if (is_of_it && volt_json_is_(m, known->name)) return known;
  }
  return NULL;
}

static inline bool sight_page_has_kind(const sight_page_member *known, const volt_json_member_ *m) {
  uint64_t number;
  switch (known->value[0]) {
    case 't': return m->kind == VOLT_JSON_STRING_;
    case 'a': return volt_json_address_of_(m, &number) && number != 0;
    case 'n': return volt_json_number_of_(m, &number);
    default: return m->kind == VOLT_JSON_TRUE_ || m->kind == VOLT_JSON_FALSE_;
  }
}

/* What the line is must be the second member. */
static inline void sight_page_what(const char *text, size_t size, char what[24]) {
  volt_json_reader_ r = {.at = text, .end = text + size};
  volt_json_member_ m;
  assert_true(volt_json_next_(&r, &m) && volt_json_is_(&m, "volt"));
  assert_true(volt_json_next_(&r, &m) && volt_json_is_(&m, "a"));
  assert_true(volt_json_text_of_(&m, what, 24));
}

/* Every member is on the page, has the kind of value that the page says, and is there once; none is
 * missing. */
static inline void sight_page_check(const char *text, size_t size) {
  char what[24];
  bool is_there[SIGHT_PAGE_MEMBERS] = {false};
  volt_json_reader_ r = {.at = text, .end = text + size};
  volt_json_member_ m;
  sight_page_what(text, size, what);
  while (volt_json_next_(&r, &m)) {
    sight_page_member *known = sight_page_find(what, &m);
    if (!known) fail_msg("not on the page: %.*s of %s", (int)m.key_size, m.key, what);
    if (!sight_page_has_kind(known, &m)) fail_msg("no %s: %.*s", known->value, (int)size, text);
    assert_false(is_there[known - sight_page]);
    is_there[known - sight_page] = true;
    known->is_seen = true;
  }
  assert_false(r.is_malformed);
  for (unsigned i = 0; i < sight_page_count; i++) {
    const sight_page_member *known = &sight_page[i];
    bool is_wanted = !known->is_optional && (!known->line[0] || strcmp(known->line, what) == 0);
    if (is_wanted && !is_there[i]) fail_msg("%s is missing: %.*s", known->name, (int)size, text);
  }
}

#endif
