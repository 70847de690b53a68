/* passing.h: clients of a permit gate go from one process to another, with what they hold. */
#ifndef VOLTGATE_PERMIT_PASSING_H
#define VOLTGATE_PERMIT_PASSING_H

#include <stddef.h>
#include <volt/task.h>

#include "gate/gate.h"

struct session;

/* ---- the process that has them ---- */

/* The clients of a gate, in the order in which they have to be adopted. */
struct passing {
  struct passing_client {
    char *record;
    int number; /* of the session's socket */
  } * all;
  size_t count, room;
  bool can_claim; /* clients could claim still */
};

/* What is said of them. All stand still (broker_is_still()). Returns NULL, or why they cannot be passed on: words that
 * live for ever; then nothing is owned. */
const char *passing_collect(struct passing *p, struct gate *g);
void passing_drop(struct passing *p);

/* A copy of the descriptor of one, the caller's; or -1: a client has ended meanwhile, or there is none left. */
int passing_copy(const struct passing *p, struct gate *g, size_t i);

/* ---- the process that takes them ---- */

/* A session that goes on where the other one stood still, once it has begun. number: its socket, the session's from now
 * on. Returns NULL: why says why: words that live for ever; then number is still the caller's. */
struct session *adopting_new(struct gate *g, int number, const char *record, const char **why);

/* It was never begun; the other process still has it. */
void adopting_drop(struct session *s);

/* It is this process's alone. In the order in which they have to be adopted, between broker_begin_adoption() and
 * broker_end_adoption(). */
void adopting_begin(struct session *s);
/* And behind that: it may say and hear something. */
void adopting_run(struct session *s, volt_group *sessions);

#endif
