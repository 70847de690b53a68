/* answer_internal.h: a request, and what its answer is made of. */
#ifndef VOLT_SIGHT_ANSWER_ANSWER_INTERNAL_H
#define VOLT_SIGHT_ANSWER_ANSWER_INTERNAL_H

#include <volt/sight.h>

#include "../../core/hooks/kind.h"
#include "../../rt/inspect/inspect.h"
#include "answer.h"

enum { ANSWER_CURSOR_ = 48 };

/* What was asked. Members that the request does not have are 0. */
typedef struct volt_ask_ {
  uint64_t version;
  char q[16];
  uint64_t older_ms;
  uint64_t limit;
  uint64_t task;
  uint64_t object;
  bool each;
  bool stacks;
  char cursor[ANSWER_CURSOR_];
} volt_ask_;

/* How an answer ends. */
typedef struct volt_answer_end_ {
  uint64_t count;              /* of lines before the last */
  char cursor[ANSWER_CURSOR_]; /* "": nothing was left out */
  bool is_partial;             /* a lock was not to be had, or there was no room */
  const char *error;           /* NULL: none; else the last line is one, with this word */
  const char *text;
} volt_answer_end_;

typedef void volt_answer_fn_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end);

/* The line ends. Returns false: there was no room, so the answer has to end. */
static inline bool volt_answer_line_(volt_json_ *to, volt_answer_end_ *end) {
  bool has_room = volt_json_end_(to);
  if (has_room) end->count++;
  if (!has_room) end->is_partial = true;
  return has_room;
}

static inline void volt_answer_fail_(volt_answer_end_ *end, const char *error, const char *text) {
  end->error = error;
  end->text = text;
}

#define VOLT_ANSWER_NO_MEMORY_ "there is no memory for the answer"
#define VOLT_ANSWER_NO_CURSOR_ "a cursor is what the answer before has said"

/* Nothing if it is NONE. */
void volt_answer_put_kind_(volt_json_ *to, volt_kind_ kind);

/* What a task waits for, of an open line. object NULL: there is none. */
void volt_answer_put_object_(volt_json_ *to, const char *operation, volt_kind_ kind,
                             const void *object);

/* Where an await is; nothing if site is NULL. */
void volt_answer_put_site_(volt_json_ *to, const struct volt_site_ *site, uint32_t line);

/* 0: it has not waited yet. */
uint64_t volt_answer_age_ns_(uint64_t now_ns, uint64_t since_ns);

/* The function of a task that has no name, as a task without VOLT_TASK_BEGIN; 0: its function or
 * the fiber has one. */
uintptr_t volt_answer_nameless_(const volt_seen_ *s);

/* A line of a task, which stays open. functions: knows the one that has no name, or may ask for it. */
struct volt_functions_;
void volt_answer_task_line_(volt_json_ *to, volt_rt *rt, const volt_seen_ *s, uint64_t age_ns,
                            struct volt_functions_ *functions);

/* answer_runtimes.c, answer_tasks.c, answer_task.c, answer_threads.c, answer_objects.c,
 * answer_texts.c */
volt_answer_fn_ volt_answer_stats_, volt_answer_workers_, volt_answer_tasks_, volt_answer_task_,
    volt_answer_objects_, volt_answer_object_, volt_answer_dump_, volt_answer_deadlocks_,
    volt_answer_threads_;

#endif
