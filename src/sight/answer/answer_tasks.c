/* answer_tasks.c: tasks, those first that have waited longest.
 *
 * A page has the tasks that come first of those behind the cursor. They are found in one pass over all
 * tasks: the memory for a page is a heap whose first is the task that came last so far. It is there
 * before the first task is claimed. Tasks are in order by the time since which they wait, then by
 * address; a task that has been polled meanwhile is behind all others. That time is taken in the steps
 * of a worker's stamp, because what is below is another at each look. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../core/inspect/describe.h"
#include "../../rt/sched/worker.h"
#include "../dump/dump_function.h"
#include "answer.h"
#include "answer_tasks.h"

enum { ANSWER_TASKS = 100, ANSWER_TASKS_MAX = 1000 };

/* Where a task is in the order. */
typedef struct answer_key {
  uint64_t since; /* in steps, by the clock of its runtime; UINT64_MAX: it has not waited yet */
  uint64_t task;
} answer_key;

typedef struct answer_row {
  answer_key key;
  volt_rt *rt;
  volt_seen_ seen;
  uint64_t age_ns;
  const char *operation;
  volt_kind_ kind;
  const void *object;
  bool is_granted;
} answer_row;

typedef struct answer_page {
  const volt_ask_ *ask;
  volt_rt *rt;
  uint64_t now_ns;   /* by its clock */
  answer_key cursor; /* all zero: from the beginning */
  uint64_t behind;   /* tasks that are in the order behind the cursor */
  uint64_t max;
  uint64_t count;
  answer_row *row;
} answer_page;

static bool answer_is_before(const answer_key *a, const answer_key *b) {
  return a->since < b->since || (a->since == b->since && a->task < b->task);
}

/* ---- one task ---- */

static const char *answer_how(volt_seen_how_ how) {
  static const char *const words[] = {"waits", "runs", "queued", "ends"};
  return words[how];
}

void volt_answer_put_site_(volt_json_ *to, const volt_site_ *site, uint32_t line) {
  if (!site) return;
  volt_json_put_text_(to, "function", site->function);
  volt_json_put_text_(to, "file", site->file);
  if (line > 0) volt_json_put_number_(to, "line", line);
}

void volt_answer_put_kind_(volt_json_ *to, volt_kind_ kind) {
  if (kind != VOLT_KIND_NONE_) volt_json_put_text_(to, "kind", volt_kind_name_(kind));
}

void volt_answer_put_object_(volt_json_ *to, const char *operation, volt_kind_ kind,
                             const void *object) {
  volt_json_put_text_(to, "operation", operation);
  if (!object) return;
  volt_answer_put_kind_(to, kind);
  volt_json_put_address_(to, "object", object);
  volt_json_put_text_(to, "name", volt_name_of(object));
}

uint64_t volt_answer_age_ns_(uint64_t now_ns, uint64_t since_ns) {
  return since_ns > 0 && since_ns < now_ns ? now_ns - since_ns : 0;
}

uintptr_t volt_answer_nameless_(const volt_seen_ *s) {
  if (s->fn) return s->name[0] ? 0 : (uintptr_t)s->fn;
  return s->site ? 0 : (uintptr_t)s->poll;
}

static void answer_put_code(volt_json_ *to, uintptr_t function, struct volt_functions_ *functions) {
  char code[VOLT_FUNCTION_BYTES_];
  volt_text_ text = volt_text_in_(code, sizeof code);
  if (function == 0) return;
  text.functions = functions;
  volt_text_put_function_(&text, function);
  volt_json_put_bytes_(to, "code", code, volt_text_length_(&text));
}

void volt_answer_task_line_(volt_json_ *to, volt_rt *rt, const volt_seen_ *s, uint64_t age_ns,
                            struct volt_functions_ *functions) {
  volt_json_begin_(to, "task");
  volt_json_put_address_(to, "rt", rt);
  volt_json_put_address_(to, "task", s->task);
  volt_json_put_text_(to, "how", answer_how(s->how));
  if (s->how == VOLT_SEEN_RUNS_) volt_json_put_number_(to, "worker", s->worker);
  volt_json_put_number_(to, "age_ns", age_ns);
  volt_json_put_number_(to, "polls", s->polls);
  volt_json_put_address_(to, "poll", (const void *)(uintptr_t)s->poll);
  volt_json_put_condition_(to, "fiber", s->fn != NULL);
  volt_json_put_text_(to, "fiber_name", s->name[0] ? s->name : NULL);
  volt_json_put_address_(to, "fiber_fn", (const void *)(uintptr_t)s->fn);
  answer_put_code(to, volt_answer_nameless_(s), functions);
  volt_answer_put_site_(to, s->site, s->line);
  if (s->registrations >= 0) volt_json_put_number_(to, "registrations", (uint64_t)s->registrations);
  volt_json_put_condition_(to, "cancelled", s->is_cancelled);
}

/* ---- a page ---- */

static bool answer_take_stop(void *ctx, const volt_stop_ *stop) {
  answer_row *row = (answer_row *)ctx;
  volt_description_ description;
  if (!stop->future) return true;
  volt_describe_briefly_(stop->future, &description);
  if (description.is_ready) return true;
  row->operation = description.operation;
  row->kind = description.kind;
  row->object = description.object;
  row->is_granted = description.is_granted;
  return volt_future_frame_(stop->future) || description.ends == VOLT_ENDS_ANY_ ||
         description.ends == VOLT_ENDS_ALL_ ||
         description.ends == VOLT_ENDS_INNER_; /* until the first leaf */
}

typedef struct answer_search {
  uint64_t object;
  bool is_found;
} answer_search;

static bool answer_search_stop(void *ctx, const volt_stop_ *stop) {
  answer_search *search = (answer_search *)ctx;
  volt_description_ description;
  if (!stop->future) return true;
  volt_describe_briefly_(stop->future, &description);
  search->is_found = !description.is_ready && (uintptr_t)description.object == search->object;
  return !search->is_found;
}

/* Whether it was asked for. */
static bool answer_is_wanted(const answer_page *p, const volt_seen_ *s, const answer_key *key,
                             uint64_t age_ns) {
  if (age_ns < p->ask->older_ms * 1000000) return false;
  if (!answer_is_before(&p->cursor, key)) return false;
  if (p->ask->object == 0) return true;
  answer_search search = {.object = p->ask->object};
  if (s->how == VOLT_SEEN_WAITS_) volt_walk_(s->task, answer_search_stop, &search);
  return search.is_found;
}

static void answer_fill(const answer_page *p, answer_row *row, const volt_seen_ *s,
                        const answer_key *key, uint64_t age_ns) {
  *row = (answer_row){.key = *key, .rt = p->rt, .seen = *s, .age_ns = age_ns};
  if (s->how != VOLT_SEEN_WAITS_) return;
  volt_walk_(s->task, answer_take_stop, row);
}

/* Behind it in the heap is what is before it in the order. */
static void answer_sift_up(answer_row *row, uint64_t at) {
  while (at > 0 && answer_is_before(&row[(at - 1) / 2].key, &row[at].key)) {
    answer_row moved = row[at];
    row[at] = row[(at - 1) / 2];
    at = (at - 1) / 2;
    row[at] = moved;
  }
}

static void answer_sift_down(answer_row *row, uint64_t count, uint64_t at) {
  for (;;) {
    uint64_t last = at;
    for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (answer_is_before(&row[last].key, &row[child].key)) last = child;
    }
    if (last == at) return;
    answer_row moved = row[at];
    row[at] = row[last];
    row[last] = moved;
    at = last;
  }
}

static void answer_consider(answer_page *p, const volt_seen_ *s) {
  uint64_t age_ns = volt_answer_age_ns_(p->now_ns, s->since_ns);
  uint64_t since = s->since_ns > 0 ? s->since_ns >> VOLT_STAMP_BITS_ : UINT64_MAX;
  answer_key key = {since, (uintptr_t)s->task};
  if (!answer_is_wanted(p, s, &key, age_ns)) return;
  p->behind++;
  if (p->count < p->max) {
    answer_fill(p, &p->row[p->count], s, &key, age_ns);
    answer_sift_up(p->row, p->count++);
  } else if (answer_is_before(&key, &p->row[0].key)) {
    answer_fill(p, &p->row[0], s, &key, age_ns);
    answer_sift_down(p->row, p->count, 0);
  }
}

static bool answer_see_page(void *ctx, const volt_seen_ *seen, unsigned count) {
  for (unsigned i = 0; i < count; i++) answer_consider((answer_page *)ctx, &seen[i]);
  return true;
}

static int answer_compare(const void *a, const void *b) {
  const answer_row *first = (const answer_row *)a, *second = (const answer_row *)b;
  return answer_is_before(&first->key, &second->key) ? -1 : 1;
}

static void answer_write_page(answer_page *p, volt_json_ *to, volt_answer_end_ *end) {
  uint64_t written = 0;
  struct volt_functions_ functions = {.may_ask = true}; /* no task is claimed */
  qsort(p->row, (size_t)p->count, sizeof p->row[0], answer_compare);
  for (; written < p->count; written++) {
    const answer_row *row = &p->row[written];
    volt_answer_task_line_(to, row->rt, &row->seen, row->age_ns, &functions);
    volt_answer_put_object_(to, row->operation, row->kind, row->object);
    if (row->operation) volt_json_put_condition_(to, "granted", row->is_granted);
    if (!volt_json_end_(to)) break;
  }
  end->count = written;
  if (written == p->behind || written == 0) return;
  const answer_key *last = &p->row[written - 1].key;
  snprintf(end->cursor, sizeof end->cursor, "%" PRIx64 "-%" PRIx64, last->since, last->task);
}

static bool answer_read_cursor(const char *text, answer_key *key) {
  char rest;
  if (!text[0]) return true;
  return sscanf(text, "%16" SCNx64 "-%16" SCNx64 "%c", &key->since, &key->task, &rest) == 2;
}

void volt_answer_tasks_(const volt_ask_ *ask, volt_json_ *to, volt_answer_end_ *end) {
  answer_page p = {.ask = ask, .max = ask->limit > 0 ? ask->limit : ANSWER_TASKS};
  if (p.max > ANSWER_TASKS_MAX) p.max = ANSWER_TASKS_MAX;
  if (!answer_read_cursor(ask->cursor, &p.cursor) || ask->older_ms > UINT64_MAX / 1000000) {
    volt_answer_fail_(end, "value", VOLT_ANSWER_NO_CURSOR_);
    return;
  }
  p.row = (answer_row *)malloc((size_t)p.max * sizeof p.row[0]);
  if (!p.row) {
    volt_answer_fail_(end, "memory", VOLT_ANSWER_NO_MEMORY_);
    return;
  }
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    p.rt = rt;
    p.now_ns = volt_rt_now_ns(rt);
    if (volt_inspect_(rt, VOLT_SEEN_BATCH_, answer_see_page, &p) != VOLT_OK) end->is_partial = true;
  }
  answer_write_page(&p, to, end);
  free(p.row);
}
