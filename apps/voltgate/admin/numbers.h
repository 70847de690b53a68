/* numbers.h: what gates and tenants are and count, as numbers: the tables of which /status, /metrics,
 * /history and the list in operations.md are made.
 *
 * A new counter of a gate is a member of enum count (gate/statistics.h), where it is counted, and a
 * row here. */
#ifndef VOLTGATE_ADMIN_NUMBERS_H
#define VOLTGATE_ADMIN_NUMBERS_H

#include <stdio.h>

#include "admin/json.h"
#include "admin/view.h"

enum number_kind {
  NUMBER_GAUGE,  /* how it is */
  NUMBER_COUNTER /* how often so far: it never falls */
};

struct number {
  const char *group; /* of /status, where it is: "queue", "totals"; "": the gate or tenant itself */
  const char *status; /* its name there; NULL: /status does not have it, or not as one number */
  const char *metric; /* its family in /metrics; NULL: none, or not as one number */
  const char *label;  /* beside the gate's, or NULL. Rows of one family are neighbours */
  const char
      *history; /* its column in /history, or NULL. Of a counter: what was counted in a second;
                        * and in `last` of /status, with _per_s behind it */
  enum number_kind kind;
  const char *help;    /* of the family */
  size_t offset, size; /* the member */
  bool is_leased; /* /status has it only with a lease of a cluster: numbers_put() leaves it out */
};

struct numbers {
  const struct number *at;
  size_t count;
};
extern const struct numbers gate_numbers;   /* of struct gate_view */
extern const struct numbers tenant_numbers; /* of struct tenant_view */

/* The number of a row. of: the struct that has the member. */
uint64_t number_of(const struct number *n, const void *of);

/* "gauge", "counter". */
const char *number_type(const struct number *n);

/* Write those of a group, as members of an object that is open. */
void numbers_put(struct json *j, const struct numbers *numbers, const char *group, const void *of);

/* Print the list of operations.md. */
void numbers_markdown(FILE *to);

#endif
