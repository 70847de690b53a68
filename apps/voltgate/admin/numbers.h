/* numbers.h: what a gate is and counts, as numbers: the one table of which /status, /metrics, /history
 * and the list in operations.md are made.
 *
 * A new counter is a member of enum count (gate/statistics.h), where it is counted, and a row here. */
#ifndef VOLTGATE_ADMIN_NUMBERS_H
#define VOLTGATE_ADMIN_NUMBERS_H

#include <stdio.h>

#include "admin/json.h"
#include "admin/view.h"

enum number_kind {
  NUMBER_GAUGE,  /* how it is */
  NUMBER_COUNTER /* how often so far: it never falls */
};

struct gate_number {
  const char *group;  /* of /status, where it is: "queue", "totals"; "": the gate itself */
  const char *status; /* its name there; NULL: /status does not have it, or not as one number */
  const char *metric; /* its family in /metrics; NULL: none, or not as one number */
  const char *label;  /* beside the gate's, or NULL. Rows of one family are neighbours */
  const char
      *history; /* its column in /history, or NULL. Of a counter: what was counted in a second;
                        * and in `last` of /status, with _per_s behind it */
  enum number_kind kind;
  const char *help;    /* of the family */
  size_t offset, size; /* the member of struct gate_view */
};

extern const struct gate_number gate_numbers[];
size_t gate_numbers_count(void);

/* The number of a row. */
uint64_t gate_number_of(const struct gate_number *n, const struct gate_view *v);

/* Write those of a group, as members of an object that is open. */
void gate_numbers_put(struct json *j, const char *group, const struct gate_view *v);

/* Print the list of operations.md. */
void gate_numbers_markdown(FILE *to);

#endif
