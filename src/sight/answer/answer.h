/* answer.h: what volt-top asks, and the answers; docs/sight-protocol.md has each of them. Nothing here
 * waits, but for short locks. */
#ifndef VOLT_SIGHT_ANSWER_ANSWER_H
#define VOLT_SIGHT_ANSWER_ANSWER_H

#include <volt/sight.h>

#include "json.h"

/* Answer a line: whole lines are written to *to, the last of them an "end" or an "error". to: room for
 * at least ANSWER_LEAST_ bytes, which is kept for the last line. On the thread volt-sight only. */
enum { ANSWER_LEAST_ = 1024 };
void volt_answer_(const char *line, size_t size, volt_json_ *to);

/* Write an error; why: a word of the page. */
void volt_answer_error_(volt_json_ *to, const char *why, const char *text);

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

/* answer_runtimes.c, answer_tasks.c, answer_task.c, answer_threads.c, answer_objects.c,
 * answer_texts.c */
volt_answer_fn_ volt_answer_stats_, volt_answer_workers_, volt_answer_tasks_, volt_answer_task_,
    volt_answer_objects_, volt_answer_object_, volt_answer_dump_, volt_answer_deadlocks_,
    volt_answer_threads_;

#endif
