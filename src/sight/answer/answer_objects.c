/* answer_objects.c: objects that have a name or for which a task or a thread waits.
 *
 * They are gathered in a table, whose memory is there before the first task is claimed: first those
 * with names, then what tasks and threads wait for. An object for which there is no room in it is left
 * out, and the answer says so. They are written in the order of their addresses, from the cursor on;
 * all but the address, the name and what was counted is of the moment at which a task was looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/hooks/histogram.h"
#include "../../core/hooks/kind.h"
#include "../../core/hooks/named.h"
#include "../../core/inspect/describe.h"
#include "../../core/inspect/holders.h"
#include "../../core/os/hash.h"
#include "../../rt/inspect/inspect.h"
#include "../dump/thread_seen.h"
#include "../graph/deadlocks.h"
#include "answer.h"
#include "answer_tasks.h"

enum { ANSWER_SLOTS = 16384, ANSWER_OBJECTS = ANSWER_SLOTS / 2 };

typedef struct answer_object {
  uintptr_t object; /* 0: a free slot */
  volt_kind_ kind;  /* NONE: not known */
  uint32_t tasks;   /* that wait */
  uint32_t threads;
  uint64_t oldest_ns; /* the longest that one of them waits */
  char state[80];
  char holder[96];
} answer_object;

typedef struct answer_objects {
  answer_object *slot;
  unsigned count;
  bool is_full;
  uint64_t now_ns;   /* by the clock of the runtime */
  uint64_t since_ns; /* of the task that is looked at */
} answer_objects;

/* Its slot, which may be new. Returns NULL: there is no room. */
static answer_object *answer_object_of(answer_objects *all, const void *object) {
  for (uint64_t i = volt_hash_(object) >> 40;; i++) {
    answer_object *o = &all->slot[i % ANSWER_SLOTS];
    if (o->object == (uintptr_t)object) return o;
    if (o->object != 0) continue;
    all->is_full = all->count == ANSWER_OBJECTS;
    if (all->is_full) return NULL;
    all->count++;
    o->object = (uintptr_t)object;
    return o;
  }
}

static void answer_note_age(answer_object *o, uint64_t now_ns, uint64_t since_ns) {
  uint64_t age_ns = since_ns > 0 && since_ns < now_ns ? now_ns - since_ns : 0;
  if (age_ns > o->oldest_ns) o->oldest_ns = age_ns;
}

static void answer_note_state(answer_object *o, const volt_description_ *description,
                              const volt_holder_seen_ *holder) {
  memcpy(o->state, description->state, sizeof o->state);
  o->holder[volt_holder_text_(holder, o->holder, sizeof o->holder - 1)] = '\0';
}

static bool answer_note_stop(void *ctx, const volt_stop_ *stop) {
  answer_objects *all = (answer_objects *)ctx;
  volt_description_ description;
  if (!stop->future) return true;
  volt_describe_briefly_(stop->future, &description);
  if (description.is_ready || !description.object) return true;
  answer_object *o = answer_object_of(all, description.object);
  if (!o) return true;
  if (o->tasks == 0) { /* the first: it has the state */
    volt_describe_(stop->future, &description);
    o->kind = description.kind;
    volt_holder_seen_ holder;
    (void)volt_holder_see_(&description, &holder);
    answer_note_state(o, &description, &holder);
  }
  o->tasks++;
  answer_note_age(o, all->now_ns, all->since_ns);
  return true;
}

static bool answer_see_objects(void *ctx, const volt_seen_ *seen, unsigned count) {
  answer_objects *all = (answer_objects *)ctx;
  for (unsigned i = 0; i < count; i++) {
    all->since_ns = seen[i].since_ns;
    if (seen[i].how == VOLT_SEEN_WAITS_) volt_walk_(seen[i].task, answer_note_stop, all);
  }
  return true;
}

static void answer_gather_named(answer_objects *all) {
  for (unsigned i = 0; i < VOLT_NAME_SLOTS_; i++) {
    volt_named_ named;
    const void *object = volt_name_at_(i, &named);
    if (object) (void)answer_object_of(all, object);
  }
}

/* Returns false: the list was not to be had. */
static bool answer_gather_threads(answer_objects *all) {
  volt_thread_seen_ seen[VOLT_THREADS_SEEN_];
  uint64_t cursor = 0, now_ns = volt_now_ns();
  for (unsigned count; (count = volt_threads_see_(seen, &cursor)) > 0;) {
    for (unsigned i = 0; i < count; i++) {
      const volt_description_ *description = &seen[i].thread.description;
      answer_object *o = description->object ? answer_object_of(all, description->object) : NULL;
      if (!o) continue;
      o->threads++;
      if (o->kind == VOLT_KIND_NONE_) o->kind = description->kind;
      if (!o->state[0]) answer_note_state(o, description, &seen[i].holder);
      answer_note_age(o, now_ns, seen[i].thread.since_ns);
    }
  }
  return cursor != VOLT_SLEEPERS_BUSY_;
}

/* Returns false: not all were to be had. */
static bool answer_gather(answer_objects *all) {
  bool is_whole = true;
  answer_gather_named(all);
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    all->now_ns = volt_rt_now_ns(rt);
    is_whole = volt_inspect_(rt, VOLT_SEEN_BATCH_, answer_see_objects, all) == VOLT_OK && is_whole;
  }
  is_whole = answer_gather_threads(all) && is_whole;
  return is_whole && !all->is_full;
}

/* ---- written ---- */

static void answer_put_times(volt_json_ *to, const volt_histogram *h, const char *const key[5]) {
  volt_json_put_number_(to, key[0], h->count);
  volt_json_put_number_(to, key[1], h->sum_ns);
  volt_json_put_number_(to, key[2], volt_histogram_at_ns(h, 0.5));
  volt_json_put_number_(to, key[3], volt_histogram_at_ns(h, 0.99));
  volt_json_put_number_(to, key[4], h->longest_ns);
}

static void answer_put_histograms(volt_json_ *to, const void *object) {
  static const char *const waits[] = {"waits", "waits_sum_ns", "waits_p50_ns", "waits_p99_ns",
                                      "waits_longest_ns"};
  static const char *const holds[] = {"holds", "holds_sum_ns", "holds_p50_ns", "holds_p99_ns",
                                      "holds_longest_ns"};
  volt_histogram h;
  if (volt_waits_of(object, &h) == VOLT_OK) answer_put_times(to, &h, waits);
  if (volt_holds_of(object, &h) == VOLT_OK) answer_put_times(to, &h, holds);
}

/* The line stays open. */
static void answer_put_object(volt_json_ *to, const answer_object *o) {
  const void *object = (const void *)o->object;
  volt_named_ named;
  volt_json_begin_(to, "object");
  volt_json_put_address_(to, "object", object);
  if (volt_name_find_(object, &named)) {
    volt_json_put_text_(to, "name", named.name);
    if (named.level > 0) volt_json_put_number_(to, "level", named.level);
  }
  volt_answer_put_kind_(to, o->kind);
  volt_json_put_number_(to, "tasks", o->tasks);
  volt_json_put_number_(to, "threads", o->threads);
  volt_json_put_number_(to, "oldest_ns", o->oldest_ns);
  volt_json_put_text_(to, "state", o->state[0] ? o->state : NULL);
  volt_json_put_text_(to, "owner", o->holder[0] ? o->holder : NULL);
  answer_put_histograms(to, object);
}

static int answer_compare_objects(const void *a, const void *b) {
  uintptr_t first = ((const answer_object *)a)->object;
  uintptr_t second = ((const answer_object *)b)->object;
  return (first > second) - (first < second);
}

/* Afterwards it is no table any more. */
static void answer_sort_objects(answer_objects *all) {
  unsigned count = 0;
  for (unsigned i = 0; i < ANSWER_SLOTS; i++) {
    if (all->slot[i].object != 0) all->slot[count++] = all->slot[i];
  }
  qsort(all->slot, count, sizeof all->slot[0], answer_compare_objects);
}

/* Behind the cursor. */
static void answer_write_objects(answer_objects *all, uint64_t cursor, volt_json_ *to,
                                 volt_answer_end_ *end) {
  uintptr_t last = 0;
  answer_sort_objects(all);
  for (unsigned i = 0; i < all->count; i++) {
    const answer_object *o = &all->slot[i];
    if (o->object <= cursor) continue;
    answer_put_object(to, o);
    if (!volt_json_end_(to)) {
      snprintf(end->cursor, sizeof end->cursor, "%" PRIxPTR, last);
      return;
    }
    end->count++;
    last = o->object;
  }
}

static bool answer_read_address(const char *text, uint64_t *address) {
  char rest;
  return !text[0] || sscanf(text, "%16" SCNx64 "%c", address, &rest) == 1;
}

void volt_answer_objects_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  uint64_t cursor = 0;
  answer_objects all = {.count = 0};
  if (!answer_read_address(ask->cursor, &cursor)) {
    volt_answer_fail_(end, "value", VOLT_ANSWER_NO_CURSOR_);
    return;
  }
  all.slot = (answer_object *)calloc(ANSWER_SLOTS, sizeof all.slot[0]);
  if (!all.slot) {
    volt_answer_fail_(end, "memory", VOLT_ANSWER_NO_MEMORY_);
    return;
  }
  end->is_partial = !answer_gather(&all);
  answer_write_objects(&all, cursor, to, end);
  free(all.slot);
}

/* ---- one object ---- */

static void answer_steps(const volt_histogram *h, const char *what, volt_json_ *to,
                         volt_answer_end_ *end) {
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS; i++) {
    if (h->step[i] == 0) continue;
    volt_json_begin_(to, "step");
    volt_json_put_text_(to, "of", what);
    volt_json_put_number_(to, "below_ns", volt_histogram_end_ns_(i));
    volt_json_put_number_(to, "count", h->step[i]);
    if (!volt_answer_line_(to, end)) return;
  }
}

void volt_answer_object_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  const void *object = (const void *)(uintptr_t)ask->object;
  volt_histogram h;
  if (!object) {
    volt_answer_fail_(end, "value", "there is an \"object\" to be asked for");
    return;
  }
  if (volt_waits_of(object, &h) == VOLT_OK) answer_steps(&h, "waits", to, end);
  if (volt_holds_of(object, &h) == VOLT_OK) answer_steps(&h, "holds", to, end);
}
