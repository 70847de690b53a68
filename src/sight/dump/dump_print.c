/* dump_print.c: what a dump says. What is most likely to be the cause comes first: what is wrong for
 * certain, workers that do not come back from a poll, then all runtimes, the largest groups of
 * tasks first. */
#include "dump.h"

#include "../../rt/sched/worker.h"
#include "../graph/deadlocks.h"
#include "../watch/watchdog.h"

#define PRINT_STUCK_NS UINT64_C(100000000)

void volt_dump_begin_text_(volt_dump_ *d) {
  d->text = volt_text_in_(d->memory, sizeof d->memory);
  d->text.functions = &d->functions;
}

void volt_dump_flush_(volt_dump_ *d) {
  size_t length = volt_text_length_(&d->text);
  if (length > 0 && !d->has_ended && !d->sink(d->ctx, d->memory, length)) d->has_ended = true;
  volt_dump_begin_text_(d);
}

void volt_dump_make_room_(volt_dump_ *d) {
  if (volt_text_left_(&d->text) < VOLT_DUMP_ROOM_) volt_dump_flush_(d);
}

static uint64_t print_since(uint64_t now_ns, uint64_t since_ns) {
  return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* ---- tasks ---- */

/* "task 0x7f21c40010c0 fetch_poll": with the name that volt_name() has given it, if any. */
static void print_task(volt_text_ *t, bool is_fiber, const void *task, const volt_called_ *name) {
  const char *own = volt_name_of(task);
  volt_text_put_(t, is_fiber ? "fiber " : "task ");
  volt_text_put_address_(t, task);
  volt_called_put_(t, name);
  if (own) {
    volt_text_put_(t, " ");
    volt_text_quote_(t, own);
  }
}

/* "waits for 4.2 s, poll 17". prefix: before it. */
static void print_age(volt_text_ *t, volt_seen_how_ how, const volt_aged_ *aged, uint64_t now_ns) {
  uint64_t ns = print_since(now_ns, aged->since_ns);
  if (how == VOLT_SEEN_ENDS_) {
    volt_text_put_(t, "has returned; a wake is on its way to it");
    return;
  }
  if (how == VOLT_SEEN_QUEUED_ && aged->polls == 0) {
    volt_text_put_(t, "is ready, has not waited yet");
    return;
  }
  volt_text_put_(t, how == VOLT_SEEN_WAITS_ ? "waits for " : "is ready, began to wait ");
  volt_text_put_duration_(t, ns);
  if (how != VOLT_SEEN_WAITS_) volt_text_put_(t, " ago");
  volt_text_put_(t, ", poll ");
  volt_text_put_plain_(t, aged->polls);
  if (aged->is_cancelled) volt_text_put_(t, ", asked to end");
}

/* ---- what is wrong ---- */

void volt_dump_copy_lint_(volt_dump_lint_ *l, volt_lint_ lint, const volt_seen_ *seen,
                          uint64_t now_ns) {
  l->lint = lint;
  l->now_ns = now_ns;
  l->is_fiber = seen->fn != NULL;
  l->aged = volt_aged_of_(seen, NULL);
  volt_called_set_(&l->name, seen);
  volt_tree_copy_(seen, &l->tree);
}

void volt_dump_put_lint_(volt_text_ *t, const volt_dump_lint_ *l) {
  print_task(t, l->is_fiber, l->aged.task, &l->name);
  volt_text_put_(t, ", ");
  print_age(t, VOLT_SEEN_WAITS_, &l->aged, l->now_ns);
  volt_text_put_(t, ": ");
  volt_lint_put_(t, l->lint, print_since(l->now_ns, l->aged.since_ns));
  volt_text_put_(t, "\n");
  volt_tree_put_(t, &l->tree, (volt_tree_of_){0});
}

static uint64_t print_runs_for(const volt_dump_worker_ *w) {
  return w->seen.task ? print_since(volt_now_ns(), w->seen.checked_ns) : 0;
}

/* "runs 0x7f21c40030c0 parse for 812 ms (parse.c:120 or later), 14 tasks behind it" */
static void print_what_runs(volt_text_ *t, const volt_dump_worker_ *w) {
  volt_text_put_(t, "runs ");
  volt_text_put_address_(t, w->seen.task);
  volt_called_put_(t, &w->name);
  volt_text_put_(t, " for ");
  volt_text_put_duration_(t, print_runs_for(w));
  if (w->where.length > 0) {
    volt_text_put_(t, " (");
    volt_text_put_bytes_(t, w->where.text, w->where.length);
    volt_text_put_(t, " or later)");
  }
}

static const char *print_idle(const volt_dump_rt_ *r, const volt_dump_worker_ *w) {
  if (r->is_by_hand && !r->is_run) return "no thread runs it";
  return w->seen.is_parked ? "sleeps" : "is between two polls";
}

/* Without a newline. */
static void print_worker(volt_text_ *t, const volt_dump_rt_ *r, const volt_dump_worker_ *w) {
  volt_text_put_(t, "worker ");
  volt_text_put_plain_(t, w->index);
  volt_text_put_(t, ": ");
  if (w->seen.task) {
    print_what_runs(t, w);
  } else {
    volt_text_put_(t, print_idle(r, w));
  }
  if (w->seen.queued > 0) {
    volt_text_put_(t, ", ");
    volt_text_count_(t, w->seen.queued, "task");
    volt_text_put_(t, w->seen.task ? " behind it" : " in its queue");
  }
}

static void print_stuck(volt_dump_ *d, const volt_dump_rt_ *r) {
  for (unsigned i = r->first; i < r->first + r->workers; i++) {
    if (print_runs_for(&d->worker[i]) < PRINT_STUCK_NS) continue;
    volt_dump_make_room_(d);
    volt_text_put_(&d->text, "A POLL DOES NOT END: ");
    volt_text_quote_(&d->text, r->name);
    volt_text_put_(&d->text, " ");
    print_worker(&d->text, r, &d->worker[i]);
    volt_watchdog_put_state_(&d->text, d->worker[i].seen.tid);
    volt_text_put_(&d->text, "\n");
  }
}

/* "8 threads for blocking calls, none idle, 231 calls wait for one" */
static void print_blocking(volt_text_ *t, const volt_dump_rt_ *r) {
  volt_text_count_(t, r->call_threads, "thread");
  volt_text_put_(t, " for blocking calls, ");
  if (r->call_idle > 0) {
    volt_text_put_number_(t, r->call_idle);
  } else {
    volt_text_put_(t, "none");
  }
  volt_text_put_(t, " idle");
  if (r->calls_queued > 0) {
    volt_text_put_(t, ", ");
    volt_text_count_(t, r->calls_queued, "call");
    volt_text_put_(t, r->calls_queued == 1 ? " waits for one" : " wait for one");
  }
  volt_text_put_(t, "\n");
}

/* Calls wait, and there will be no more threads. */
static void print_full(volt_dump_ *d, const volt_dump_rt_ *r) {
  if (r->calls_queued == 0 || r->call_idle > 0 || r->call_threads < r->call_max) return;
  volt_dump_make_room_(d);
  volt_text_put_(&d->text, "THE BLOCKING POOL IS FULL: ");
  volt_text_quote_(&d->text, r->name);
  volt_text_put_(&d->text, " has ");
  print_blocking(&d->text, r);
}

static bool print_take(void *ctx, const char *text, size_t length) {
  volt_dump_ *d = ctx;
  while (length > 0 && !d->has_ended) {
    size_t piece = length < VOLT_DUMP_ROOM_ ? length : VOLT_DUMP_ROOM_;
    volt_dump_make_room_(d);
    volt_text_put_bytes_(&d->text, text, piece);
    text += piece;
    length -= piece;
  }
  return !d->has_ended;
}

void volt_dump_print_problems_(volt_dump_ *d) {
  volt_deadlocks_known_(print_take, d);
  for (unsigned i = 0; i < d->lints; i++) {
    volt_dump_make_room_(d);
    volt_dump_put_lint_(&d->text, &d->lint[i]);
  }
  if (d->lints_left_out > 0) {
    volt_text_put_(&d->text, "and ");
    volt_text_count_(&d->text, d->lints_left_out, "more task");
    volt_text_put_(&d->text, " like that\n");
  }
  for (unsigned i = 0; i < d->rts; i++) print_stuck(d, &d->rt[i]);
  for (unsigned i = 0; i < d->rts; i++) print_full(d, &d->rt[i]);
}

/* ---- runtimes ---- */

static void print_counts(volt_text_ *t, const volt_dump_rt_ *r) {
  uint64_t running = r->tasks - r->waits - r->ready - r->ending;
  const struct {
    uint64_t count;
    const char *what;
  } parts[] = {{running, " run"}, {r->ready, " ready"}, {r->ending, " ending"}};
  const char *before = " (";
  volt_text_put_(t, ", ");
  volt_text_count_(t, r->tasks, "task");
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i].count == 0) continue;
    volt_text_put_(t, before);
    volt_text_put_number_(t, parts[i].count);
    volt_text_put_(t, parts[i].what);
    before = ", ";
  }
  if (*before == ',') volt_text_put_(t, ")");
}

static void print_workers_left_out(volt_text_ *t, const volt_dump_rt_ *r) {
  if (r->workers_left_out == 0) return;
  volt_text_put_(t, "and ");
  volt_text_count_(t, r->workers_left_out, "more worker");
  volt_text_put_(t, "\n");
}

void volt_dump_print_rt_(volt_dump_ *d, const volt_dump_rt_ *r) {
  volt_text_ *t = &d->text;
  volt_dump_make_room_(d);
  volt_text_put_(t, "runtime ");
  volt_text_put_address_(t, r->rt);
  volt_text_put_(t, " ");
  volt_text_quote_(t, r->name);
  volt_text_put_(t, ": ");
  if (r->is_by_hand) {
    volt_text_put_(t, "run by hand");
  } else {
    volt_text_count_(t, r->workers + r->workers_left_out, "worker");
  }
  if (!(d->how & VOLT_DUMP_NO_TASKS)) print_counts(t, r);
  volt_text_put_(t, r->is_closing ? ", shutting down\n" : "\n");
  if (r->result == VOLT_ETIMEDOUT) {
    volt_text_put_(t, "SOME TASKS ARE NOT SHOWN: a lock of it was not to be had within 50 ms\n");
  }
  for (unsigned i = r->first; i < r->first + r->workers; i++) {
    volt_dump_make_room_(d);
    print_worker(t, r, &d->worker[i]);
    volt_text_put_(t, "\n");
  }
  print_workers_left_out(t, r);
  if (r->call_threads > 0) print_blocking(t, r);
  if (!r->is_pool_busy) return;
  volt_text_put_(t,
                 "ITS BLOCKING POOL IS NOT SHOWN: a lock of it was not to be had within 50 ms\n");
}

void volt_dump_print_left_out_(volt_dump_ *d) {
  volt_text_put_(&d->text, "and ");
  volt_text_count_(&d->text, d->rts_left_out, "more runtime");
  volt_text_put_(&d->text, ", which are not shown\n");
}

/* ---- groups ---- */

static void print_one(volt_dump_ *d, const volt_dump_rt_ *r, const volt_dump_group_ *g) {
  print_task(&d->text, g->is_fiber, g->old[0].task, &g->name);
  volt_text_put_(&d->text, ", ");
  print_age(&d->text, g->how, &g->old[0], r->now_ns);
  volt_text_put_(&d->text, "\n");
}

/* "48,211 tasks fetch_poll wait, one of them for 4.2 s:" */
static void print_many(volt_dump_ *d, const volt_dump_rt_ *r, const volt_dump_group_ *g) {
  volt_text_ *t = &d->text;
  volt_text_count_(t, g->count, g->is_fiber ? "fiber" : "task");
  volt_called_put_(t, &g->name);
  if (g->how == VOLT_SEEN_WAITS_) {
    volt_text_put_(t, " wait, the longest for ");
    volt_text_put_duration_(t, print_since(r->now_ns, g->old[0].since_ns));
  } else {
    volt_text_put_(t, g->how == VOLT_SEEN_ENDS_ ? " have returned" : " are ready");
  }
  volt_text_put_(t, "\n");
}

void volt_dump_put_object_of_(volt_text_ *t, const volt_dump_group_ *g, const volt_aged_ *aged) {
  if (!g->of.objects) return;
  volt_text_put_(t, ", of ");
  volt_text_put_object_(t, VOLT_KIND_NONE_, aged->object, "");
}

void volt_dump_put_more_(volt_text_ *t, const volt_dump_group_ *g) {
  if (g->count == g->oldest) return;
  volt_text_put_(t, "  and ");
  volt_text_put_number_(t, g->count - g->oldest);
  volt_text_put_(t, " more\n");
}

static void print_oldest(volt_dump_ *d, const volt_dump_rt_ *r, const volt_dump_group_ *g) {
  for (unsigned i = 0; i < g->oldest; i++) {
    volt_text_put_(&d->text, "  ");
    print_task(&d->text, g->is_fiber, g->old[i].task, &(volt_called_){.length = 0});
    volt_text_put_(&d->text, ", ");
    print_age(&d->text, g->how, &g->old[i], r->now_ns);
    volt_dump_put_object_of_(&d->text, g, &g->old[i]);
    volt_text_put_(&d->text, "\n");
  }
  volt_dump_put_more_(&d->text, g);
}

void volt_dump_print_groups_(volt_dump_ *d, const volt_dump_rt_ *r) {
  unsigned count = volt_groups_sort_(&d->groups, (unsigned)(r - d->rt), d->order);
  for (unsigned i = 0; i < count && !d->has_ended; i++) {
    volt_dump_group_ *g = d->order[i];
    volt_group_sort_oldest_(g);
    volt_dump_make_room_(d);
    if (g->count == 1) {
      print_one(d, r, g);
    } else {
      print_many(d, r, g);
    }
    volt_tree_put_(&d->text, &g->tree, g->of);
    volt_stack_put_(&d->text, &g->stack);
    if (g->count > 1) print_oldest(d, r, g);
  }
  if (r->elsewhere == 0) return;
  volt_text_put_(&d->text, "and ");
  volt_text_count_(&d->text, r->elsewhere, "task");
  volt_text_put_(&d->text, " elsewhere\n");
}

void volt_dump_print_task_(volt_dump_ *d, const volt_dump_rt_ *r, const volt_seen_ *seen) {
  volt_aged_ aged = volt_aged_of_(seen, NULL);
  volt_called_ name;
  volt_called_set_(&name, seen);
  volt_text_ t = volt_text_in_(d->text.at, VOLT_DUMP_ROOM_ - 1);
  t.functions = &d->functions;
  print_task(&t, seen->fn != NULL, seen->task, &name);
  volt_text_put_(&t, ", ");
  if (seen->how == VOLT_SEEN_RUNS_) {
    volt_text_put_(&t, "runs on worker ");
    volt_text_put_plain_(&t, seen->worker);
  } else {
    print_age(&t, seen->how, &aged, r->now_ns);
  }
  volt_text_put_(&t, "\n");
  if (seen->how == VOLT_SEEN_WAITS_) {
    volt_tree_put_claimed_(&t, seen);
  } else {
    volt_tree_put_place_(&t, seen);
  }
  if (t.is_cut) *t.at++ = '\n';
  d->text.at = t.at;
}
