/* dump_tree.c: see dump_tree.h.
 *
 * A task is held back while its tree is summed up or copied. So these two read what it awaits, and
 * what that waits for, and do no more: no name is looked up, and nothing is formatted but the short
 * text that an object says of itself. Names of functions and files are copied with it, because the
 * module that has them may be unloaded once the task goes on. */
#include "dump_tree.h"

#include "../../rt/fiber/fiber_stack.h"
#include "../graph/deadlocks.h"
#include "dump_function.h"

#include <string.h>
#include <volt/name.h>

enum { PLACE_AT_MOST = 64 }; /* how far to count in a queue, whose lock is held meanwhile */

/* ---- summed up ---- */

static bool tree_is_composed(const volt_description_ *description) {
  return description->ends == VOLT_ENDS_ANY_ || description->ends == VOLT_ENDS_ALL_ ||
         description->ends == VOLT_ENDS_INNER_;
}

static void tree_add_description(volt_tree_sum_ *sum, volt_future *f) {
  volt_description_ description;
  volt_describe_briefly_(f, &description);
  sum->place = volt_tree_mix_(sum->place, (uintptr_t)description.operation);
  sum->place = volt_tree_mix_(sum->place, description.is_granted + 2u * description.is_ready);
  if (description.object) {
    sum->object = volt_tree_mix_(sum->object, (uintptr_t)description.object);
    if (!sum->first) sum->first = description.object;
  }
  sum->wanted = sum->wanted * 31 + description.wanted;
  bool has_timer = description.deadline_ns != VOLT_NO_DEADLINE;
  sum->granted +=
      description.is_granted && description.ends != VOLT_ENDS_TIME_; /* a timer holds nothing */
  sum->waits += !description.is_granted && !description.is_ready &&
                (!tree_is_composed(&description) || has_timer);
}

static bool tree_add(void *ctx, const volt_stop_ *stop) {
  volt_tree_sum_ *sum = ctx;
  sum->place = volt_tree_mix_(sum->place, (uintptr_t)stop->site + stop->depth);
  sum->place = volt_tree_mix_(sum->place, stop->line);
  if (stop->future) tree_add_description(sum, stop->future);
  return true;
}

void volt_tree_sum_up_(const volt_seen_ *seen, volt_tree_sum_ *sum) {
  *sum = (volt_tree_sum_){.place = (uintptr_t)seen->poll};
  volt_walk_(seen->task, tree_add, sum);
}

/* ---- copied ---- */

void volt_where_set_(volt_where_ *where, const struct volt_site_ *site, uint32_t line) {
  where->length = 0;
  if (!site) return;
  volt_text_ t = volt_text_in_(where->text, sizeof where->text);
  volt_text_put_file_(&t, site->file);
  if (line > 0 && line < VOLT_STEP_FINALLY_) {
    volt_text_put_(&t, ":");
    volt_text_put_plain_(&t, line);
  }
  volt_text_put_(&t, " ");
  volt_text_put_short_(&t, site->function);
  where->length = (unsigned)volt_text_length_(&t);
}

void volt_called_set_(volt_called_ *called, const volt_seen_ *seen) {
  volt_text_ t = volt_text_in_(called->text, sizeof called->text);
  called->function = seen->fn ? (uintptr_t)seen->fn : (uintptr_t)seen->poll;
  if (seen->fn && seen->name[0]) {
    volt_text_quote_(&t, seen->name);
  } else if (!seen->fn && seen->site) {
    volt_text_put_short_(&t, seen->site->function);
  }
  called->length = (unsigned)volt_text_length_(&t);
}

void volt_called_put_(volt_text_ *t, const volt_called_ *called) {
  if (called->length > 0) {
    volt_text_put_(t, " ");
    volt_text_put_bytes_(t, called->text, called->length);
  } else if (called->function != 0) {
    volt_text_put_(t, " of function ");
    volt_text_put_function_(t, called->function);
  }
}

static void tree_copy_step(volt_tree_step_ *step, const volt_stop_ *stop) {
  volt_where_set_(&step->where, stop->site, stop->line);
  step->depth = stop->depth;
  step->awaits = stop->future != NULL;
  if (!stop->future) return;
  step->is_async = volt_future_frame_(stop->future) != NULL;
  volt_describe_(stop->future, &step->description);
  volt_describe_place_(stop->future, &step->description, PLACE_AT_MOST);
  if (!volt_holder_see_(&step->description, &step->holder)) step->holder.who = 0;
}

static bool tree_copy(void *ctx, const volt_stop_ *stop) {
  volt_tree_ *tree = ctx;
  if (!stop->site && !stop->future) return true; /* nothing is known */
  tree->is_cut = tree->steps == VOLT_TREE_STEPS_;
  if (tree->is_cut) return false;
  tree_copy_step(&tree->step[tree->steps++], stop);
  return true;
}

void volt_tree_copy_place_(const volt_seen_ *seen, volt_tree_ *tree) {
  volt_tree_step_ *step = &tree->step[0];
  volt_where_set_(&step->where, seen->site, seen->line);
  step->depth = 0;
  step->awaits = false;
  tree->steps = step->where.length > 0;
  tree->is_cut = false;
}

void volt_tree_copy_(const volt_seen_ *seen, volt_tree_ *tree) {
  tree->steps = 0;
  tree->is_cut = false;
  volt_walk_(seen->task, tree_copy, tree);
}

void volt_stack_copy_(const volt_seen_ *seen, volt_stack_seen_ *stack) {
  stack->count = seen->fn ? volt_fiber_stack_(seen->task, stack->pc, VOLT_STACK_FRAMES_) : 0;
}

/* ---- said ---- */

void volt_stack_put_(volt_text_ *t, const volt_stack_seen_ *stack) {
  for (unsigned i = 0; i < stack->count; i++) {
    volt_text_put_(t, "    #");
    volt_text_put_plain_(t, i);
    volt_text_put_(t, i < 10 ? "  " : " ");
    volt_text_put_function_(t, (uintptr_t)stack->pc[i] - (i > 0)); /* within the call */
    volt_text_put_(t, "\n");
  }
}

void volt_text_put_object_(volt_text_ *t, volt_kind_ kind, const void *object, const char *state) {
  const char *name = volt_name_of(object);
  const char *called = volt_kind_name_(kind);
  if (name) {
    volt_text_quote_(t, name);
    volt_text_put_(t, " (");
  }
  volt_text_put_(t, called);
  volt_text_put_(t, *called ? " " : "");
  if (kind == VOLT_KIND_BLOCKING_) { /* the function of a call on the blocking pool */
    volt_text_put_function_(t, (uintptr_t)object);
  } else {
    volt_text_put_address_(t, object);
  }
  if (*state) volt_text_put_(t, name ? ": " : " (");
  volt_text_put_(t, state);
  if (name || *state) volt_text_put_(t, ")");
}

static void tree_put_place(volt_text_ *t, uint32_t place) {
  uint32_t last = place % 10;
  bool is_teen = place / 10 % 10 == 1;
  volt_text_put_(t, ", ");
  volt_text_put_number_(t, place);
  volt_text_put_(t, is_teen || last > 3 || last == 0 ? "th"
                    : last == 1                      ? "st"
                    : last == 2                      ? "nd"
                                                     : "rd");
  volt_text_put_(t, " in line");
}

static void tree_put_object(volt_text_ *t, const volt_description_ *description, volt_tree_of_ of) {
  char state[sizeof description->state + 32];
  if (of.objects) {
    volt_text_put_(t, " of various objects");
    if (description->kind != VOLT_KIND_NONE_) volt_text_put_(t, ", here a ");
    volt_text_put_(t, volt_kind_name_(description->kind));
    return;
  }
  volt_text_ words = volt_text_in_(state, sizeof state - 1);
  volt_text_put_(&words, description->state);
  if (description->waiters > 0) {
    if (*description->state) volt_text_put_(&words, ", ");
    volt_text_put_number_(&words, description->waiters);
    volt_text_put_(&words, description->waiters == 1 ? " waits" : " wait");
  }
  *words.at = 0;
  volt_text_put_(t, " of ");
  volt_text_put_object_(t, description->kind, description->object, state);
}

static void tree_put_time(volt_text_ *t, const volt_description_ *description) {
  if (description->deadline_ns == VOLT_NO_DEADLINE) return;
  if (description->left_ns == 0) {
    volt_text_put_(t, ", its time has come");
    return;
  }
  volt_text_put_(t, ", ");
  volt_text_put_duration_(t, description->left_ns);
  volt_text_put_(t, " left");
}

static void tree_put_description(volt_text_ *t, const volt_description_ *description,
                                 volt_tree_of_ of) {
  const char *operation = description->operation;
  bool is_of_volt = strncmp(operation, "volt_", 5) == 0;
  if (!description->object && is_of_volt && tree_is_composed(description))
    operation += 5; /* a select, a join */
  volt_text_put_(t, operation);
  if (description->wanted > 0 && !of.wanted) {
    volt_text_put_(t, " ");
    volt_text_put_number_(t, description->wanted);
  }
  if (description->object) {
    tree_put_object(t, description, of);
  } else if (*description->state) {
    volt_text_put_(t, ", ");
    volt_text_put_(t, description->state);
  }
  if (!of.many) tree_put_time(t, description);
  if (!of.many && description->place > 0) tree_put_place(t, description->place);
  bool is_timer = description->ends == VOLT_ENDS_TIME_; /* it says itself that its time has come */
  if (description->is_granted)
    volt_text_put_(t, is_timer ? ": not polled" : ": granted, not polled");
  if (description->is_ready) volt_text_put_(t, ": ready");
}

static void tree_put_holder(volt_text_ *t, const volt_holder_seen_ *holder) {
  char text[160];
  size_t length = volt_holder_text_(holder, text, sizeof text);
  if (length > 0) volt_text_put_(t, ", ");
  volt_text_put_bytes_(t, text, length);
}

static void tree_put_step(volt_text_ *t, const volt_tree_step_ *step, volt_tree_of_ of) {
  bool is_call = step->awaits && step->is_async && step->where.length > 0; /* the next step says */
  volt_text_indent_(t, step->depth + 1);
  volt_text_put_bytes_(t, step->where.text, step->where.length);
  if (step->awaits && !is_call) {
    if (step->where.length > 0) volt_text_put_(t, ": ");
    tree_put_description(t, &step->description, of);
    if (!of.objects) tree_put_holder(t, &step->holder);
  }
  volt_text_put_(t, "\n");
}

void volt_tree_put_(volt_text_ *t, const volt_tree_ *tree, volt_tree_of_ of) {
  for (unsigned i = 0; i < tree->steps; i++) tree_put_step(t, &tree->step[i], of);
  if (tree->is_cut) volt_text_put_(t, "  ... and more\n");
}

void volt_tree_put_place_(volt_text_ *t, const volt_seen_ *seen) {
  volt_where_ where;
  volt_where_set_(&where, seen->site, seen->line);
  if (where.length == 0) return;
  volt_text_put_(t, "  ");
  volt_text_put_bytes_(t, where.text, where.length);
  volt_text_put_(t, seen->how == VOLT_SEEN_RUNS_ ? " or later\n" : "\n");
}

static bool tree_put_claimed(void *ctx, const volt_stop_ *stop) {
  volt_text_ *t = ctx;
  volt_tree_step_ step;
  if (!stop->site && !stop->future) return true; /* nothing is known */
  tree_copy_step(&step, stop);
  tree_put_step(t, &step, (volt_tree_of_){0});
  return !t->is_cut;
}

void volt_tree_put_claimed_(volt_text_ *t, const volt_seen_ *seen) {
  volt_walk_(seen->task, tree_put_claimed, t);
}
