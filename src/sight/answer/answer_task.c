/* answer_task.c: one task: all that it awaits, what it holds, and, of a fiber, where it is.
 *
 * It is looked for among all tasks, and claimed with some others. The lines are written while it is
 * claimed, into memory that is there; but for the functions of a fiber, for which the C library is
 * asked, and that may have to wait. */
#include "../../core/inspect/describe.h"
#include "../../core/inspect/holders.h"
#include "../../rt/fiber/fiber_stack.h"
#include "../../rt/inspect/inspect.h"
#include "../dump/dump_function.h"
#include "../graph/deadlocks.h"
#include "answer.h"
#include "answer_tasks.h"

enum { ANSWER_PLACES = 1000, ANSWER_FRAMES = 64, ANSWER_HELD = 32 };

typedef struct answer_one {
  uint64_t task;
  volt_rt *rt;
  volt_json_ *to;
  volt_answer_end_ *end;
  bool is_found;
  uintptr_t nameless; /* its function, if that has no name */
  bool has_asked;     /* for it */
  struct volt_functions_ functions;
  unsigned frames;
  void *frame[ANSWER_FRAMES];
} answer_one;

static const char *answer_ends(volt_ends_ ends) {
  static const char *const words[] = {"anything", "holders", "time", "task", "group",
                                      "group",    "any",     "all",  "inner"};
  return words[ends];
}

static void answer_put_holder(volt_json_ *to, const volt_description_ *description) {
  volt_holder_seen_ seen;
  char text[128];
  if (!volt_holder_see_(description, &seen)) return;
  volt_json_put_bytes_(to, "owner", text, volt_holder_text_(&seen, text, sizeof text));
}

static void answer_put_description(volt_json_ *to, const volt_description_ *description) {
  volt_answer_put_object_(to, description->operation, description->kind, description->object);
  volt_json_put_condition_(to, "ready", description->is_ready);
  if (description->is_ready) return;
  volt_json_put_text_(to, "ends", answer_ends(description->ends));
  volt_json_put_condition_(to, "granted", description->is_granted);
  if (description->for_write) volt_json_put_condition_(to, "write", true);
  if (description->wanted > 0) volt_json_put_number_(to, "wanted", description->wanted);
  if (description->waiters > 0) volt_json_put_number_(to, "waiters", description->waiters);
  if (description->place > 0) volt_json_put_number_(to, "place", description->place);
  if (description->deadline_ns != VOLT_NO_DEADLINE)
    volt_json_put_number_(to, "left_ns", description->left_ns);
  volt_json_put_text_(to, "state", description->state[0] ? description->state : NULL);
  answer_put_holder(to, description);
}

static bool answer_write_stop(void *ctx, const volt_stop_ *stop) {
  answer_one *one = (answer_one *)ctx;
  volt_json_begin_(one->to, "stop");
  volt_json_put_number_(one->to, "depth", stop->depth);
  volt_answer_put_site_(one->to, stop->site, stop->line);
  if (stop->calls) volt_json_put_condition_(one->to, "calls", true);
  if (stop->future) {
    volt_description_ description;
    volt_describe_(stop->future, &description);
    if (!description.is_ready) volt_describe_place_(stop->future, &description, ANSWER_PLACES);
    answer_put_description(one->to, &description);
  }
  return volt_answer_line_(one->to, one->end);
}

/* What it holds; known in builds with VOLT_SIGHT. */
static void answer_write_held(answer_one *one, const volt_task *t) {
#if VOLT_SIGHT
  volt_held_seen_ held[ANSWER_HELD];
  unsigned count = volt_held_see_(t->held, held, ANSWER_HELD);
  for (unsigned i = 0; i < count; i++) {
    volt_json_begin_(one->to, "held");
    volt_json_put_address_(one->to, "object", held[i].object);
    volt_json_put_text_(one->to, "name", volt_name_of(held[i].object));
    volt_json_put_text_(one->to, "file", held[i].file);
    if (held[i].line > 0) volt_json_put_number_(one->to, "line", held[i].line);
    if (!volt_answer_line_(one->to, one->end)) return;
  }
#else
  (void)one;
  (void)t;
#endif
}

/* No task is claimed. */
static void answer_write_frames(answer_one *one) {
  one->functions.may_ask = true;
  for (unsigned i = 0; i < one->frames; i++) {
    char code[VOLT_FUNCTION_BYTES_];
    volt_text_ text = volt_text_in_(code, sizeof code);
    text.functions = &one->functions;
    volt_text_put_function_(&text, (uintptr_t)one->frame[i]);
    volt_json_begin_(one->to, "frame");
    volt_json_put_address_(one->to, "pc", one->frame[i]);
    volt_json_put_bytes_(one->to, "code", code, volt_text_length_(&text));
    if (!volt_answer_line_(one->to, one->end)) return;
  }
}

static bool answer_see_one(void *ctx, const volt_seen_ *seen, unsigned count) {
  answer_one *one = (answer_one *)ctx;
  for (unsigned i = 0; i < count; i++) {
    const volt_seen_ *s = &seen[i];
    if ((uintptr_t)s->task != one->task) continue;
    one->is_found = true;
    one->nameless = volt_answer_nameless_(s);
    if (one->nameless != 0 && !one->has_asked) return false; /* and come again when it is known */
    bool waits = s->how == VOLT_SEEN_WAITS_;
    volt_answer_task_line_(one->to, one->rt, s,
                           volt_answer_age_ns_(volt_rt_now_ns(one->rt), s->since_ns),
                           &one->functions);
    (void)volt_answer_line_(one->to, one->end);
    if (!waits) continue;
    volt_walk_(s->task, answer_write_stop, one);
    answer_write_held(one, s->task);
    one->frames = volt_fiber_stack_(s->task, one->frame, ANSWER_FRAMES);
  }
  return !one->is_found;
}

static void answer_find_one(answer_one *one) {
  one->is_found = false;
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    one->rt = rt;
    if (one->is_found) continue; /* the pins are passed on */
    if (volt_inspect_(rt, VOLT_SEEN_BATCH_, answer_see_one, one) == VOLT_ETIMEDOUT)
      one->end->is_partial = true;
  }
}

/* Its function has no name: ask the C library, which may wait, so no task is claimed; and look again. */
static void answer_learn(answer_one *one) {
  one->functions.may_ask = true;
  volt_function_learn_(&one->functions, one->nameless);
  one->functions.may_ask = false;
  one->has_asked = true;
}

void volt_answer_task_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  answer_one one = {.task = ask->task, .to = to, .end = end};
  answer_find_one(&one);
  if (one.nameless != 0) {
    answer_learn(&one);
    answer_find_one(&one);
  }
  answer_write_frames(&one);
  if (!one.is_found) volt_answer_fail_(end, "gone", "there is no such task, or it has ended");
}
