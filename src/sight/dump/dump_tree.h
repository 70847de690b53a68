/* dump_tree.h: what a task awaits: summed up in two words, so that equal ones are found; copied,
 * while the task is held back; and said, when it is not any more. */
#ifndef VOLT_SIGHT_DUMP_DUMP_TREE_H
#define VOLT_SIGHT_DUMP_DUMP_TREE_H

#include <volt/detail/await.h>

#include "../../core/inspect/describe.h"
#include "../../core/inspect/holders.h"
#include "../../core/os/hash.h"
#include "../../rt/inspect/inspect.h"
#include "dump_text.h"

/* ---- summed up ---- */

typedef struct volt_tree_sum_ {
  uint64_t place;    /* of all steps: functions, lines, operations */
  uint64_t object;   /* of all steps: the objects. 0: there are none */
  const void *first; /* of these objects, the outermost; or NULL: a number */
  uint32_t wanted;   /* of all steps */
  int64_t waits;     /* futures that have registered a waker, and whose wake has not come */
  uint32_t granted;  /* futures that were granted something, and that no poll has seen */
} volt_tree_sum_;

/* seen is claimed. */
void volt_tree_sum_up_(const volt_seen_ *seen, volt_tree_sum_ *sum);

static inline uint64_t volt_tree_mix_(uint64_t h, uint64_t value) {
  h = (h ^ value) * VOLT_GOLDEN_;
  return h ^ (h >> 29);
}

/* ---- copied ---- */

enum { VOLT_TREE_STEPS_ = 8, VOLT_WHERE_BYTES_ = 72 };

/* A place in the source: "fetch.c:31 fetch_poll". */
typedef struct volt_where_ {
  char text[VOLT_WHERE_BYTES_];
  unsigned length; /* 0: not known */
} volt_where_;

void volt_where_set_(volt_where_ *where, const struct volt_site_ *site, uint32_t line);

/* What a task is: its function, or, of a fiber, the name that it was given. */
typedef struct volt_called_ {
  char text[VOLT_WHERE_BYTES_];
  unsigned length;    /* 0: not known */
  uintptr_t function; /* then it is this one; 0: nothing is known */
} volt_called_;

void volt_called_set_(volt_called_ *called, const volt_seen_ *seen);
void volt_called_put_(volt_text_ *t, const volt_called_ *called);

typedef struct volt_tree_step_ {
  volt_where_ where; /* not known: a future within another */
  unsigned depth;
  bool awaits;   /* anything: description */
  bool is_async; /* that is an async function */
  volt_description_ description;
  volt_holder_seen_ holder; /* of its object, if that is known */
} volt_tree_step_;

typedef struct volt_tree_ {
  unsigned steps;
  bool is_cut; /* there were more */
  volt_tree_step_ step[VOLT_TREE_STEPS_];
} volt_tree_;

/* seen is claimed. */
void volt_tree_copy_(const volt_seen_ *seen, volt_tree_ *tree);

/* seen is not claimed: where it stands, as far as that is known. */
void volt_tree_copy_place_(const volt_seen_ *seen, volt_tree_ *tree);

/* Of a fiber: where it goes on, and the return addresses above that. */
enum { VOLT_STACK_FRAMES_ = 24 };

typedef struct volt_stack_seen_ {
  unsigned count; /* 0: it is no fiber, or that was not asked for, or is not known */
  void *pc[VOLT_STACK_FRAMES_];
} volt_stack_seen_;

/* seen is claimed. */
void volt_stack_copy_(const volt_seen_ *seen, volt_stack_seen_ *stack);

/* ---- said ---- */

void volt_stack_put_(volt_text_ *t, const volt_stack_seen_ *stack);

/* How many tasks stand there, and in what they differ. */
typedef struct volt_tree_of_ {
  bool many;    /* what is of one of them is not said: how much time is left, a place in a queue */
  bool wanted;  /* not all want the same */
  bool objects; /* not all wait for the same */
} volt_tree_of_;

void volt_tree_put_(volt_text_ *t, const volt_tree_ *tree, volt_tree_of_ of);

/* As copied and said. seen is claimed. Not more than 64 steps. */
void volt_tree_put_claimed_(volt_text_ *t, const volt_seen_ *seen);

/* The same of one that is not claimed. */
void volt_tree_put_place_(volt_text_ *t, const volt_seen_ *seen);

/* "'pool' (semaphore 0x55d0c19a4080: state)" or "semaphore 0x55d0c19a4080 (state)". */
void volt_text_put_object_(volt_text_ *t, volt_kind_ kind, const void *object, const char *state);

#endif
