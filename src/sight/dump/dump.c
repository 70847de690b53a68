/* dump.c: look at all tasks of all runtimes, and say what they wait for.
 *
 * Algorithm
 *   1. Memory for all that follows. After this nothing is allocated.
 *   2. Each runtime is pinned, so that it is not destroyed, and each task is looked at once. A
 *      batch of tasks is held back meanwhile (rt/inspect/inspect.c). What a task awaits is summed up in two
 *      words; the first task of a group has it copied, and so has one with which something is
 *      wrong.
 *   3. No task is held back, no runtime pinned. The text is made, and goes to the sink.
 *   4. If every task is to be shown: each runtime is pinned again, and a few tasks at a time are
 *      held back while their text is made, and released while it goes to the sink.
 *
 * Why a dump does not hang: it waits for no lock of a runtime for longer than 50 ms, for no lock of
 *   an object for longer than a moment, for no task and for no worker. It allocates by a system
 *   call. Of the C library it asks nothing that has a lock, but the list of modules, while no task
 *   is held back (dump_function.c). What is left is the sink, which is the caller's.
 * Why it does not run out of memory: all it has is of one size, however many tasks there are.
 * Why it does not crash: of tasks that are not held back, and of runtimes that are not pinned, it
 *   uses nothing but copies. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mmap */
#endif
#include "dump.h"

#include <string.h>
#include <sys/mman.h>

#include "../../rt/blocking/blocking.h"
#include "../../rt/host/runtime.h"
#include "../../rt/sched/short_lock.h"
#include "../../rt/sched/worker.h"

/* Tasks that are held back at a time: what is done with one takes about 0.1 us, 1 to 3 us if it is
 * copied or its text is made. */
enum { DUMP_BATCH = 24, DUMP_BATCH_OF_EACH = 8, DUMP_LOCK_NS = 50000000 };

volt_dump_ *volt_dump_new_(void) {
  /* all of it at once: the first use of a page takes longer than a look at a task */
  void *memory = mmap(NULL, sizeof(volt_dump_), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  volt_dump_ *d = memory;
  d->clock_ns = volt_now_ns;
  return d;
}

void volt_dump_free_(volt_dump_ *d) {
  munmap(d, sizeof *d);
}

bool volt_dump_is_how_(unsigned how) {
  return (how & ~(unsigned)(VOLT_DUMP_EACH | VOLT_DUMP_STACKS | VOLT_DUMP_NO_TASKS)) == 0;
}

/* ---- one task ---- */

typedef struct dump_pass {
  volt_dump_ *d;
  volt_dump_rt_ *r;
} dump_pass;

static unsigned dump_index(const dump_pass *p) {
  return (unsigned)(p->r - p->d->rt);
}

static void dump_note_lint(const dump_pass *p, const volt_seen_ *seen, const volt_tree_sum_ *sum) {
  volt_dump_ *d = p->d;
  uint64_t now_ns = p->r->now_ns;
  uint64_t waited_ns = now_ns > seen->since_ns ? now_ns - seen->since_ns : 0;
  volt_lint_ lint = volt_lint_of_(seen, sum, waited_ns);
  if (lint == VOLT_LINT_NONE_) return;
  if (d->lints == VOLT_DUMP_LINTS_) {
    d->lints_left_out += 1;
    return;
  }
  volt_dump_copy_lint_(&d->lint[d->lints++], lint, seen, now_ns);
}

static void dump_count(const dump_pass *p, const volt_seen_ *seen, const volt_tree_sum_ *sum) {
  volt_aged_ aged = volt_aged_of_(seen, sum->first);
  volt_dump_group_ *g = volt_groups_count_(&p->d->groups, sum, &aged);
  if (!g) {
    p->r->elsewhere += 1;
    return;
  }
  if (g->count > 1) return;
  g->rt = dump_index(p);
  g->how = seen->how;
  g->is_fiber = seen->fn != NULL;
  volt_called_set_(&g->name, seen);
  if (seen->how == VOLT_SEEN_WAITS_) {
    volt_tree_copy_(seen, &g->tree);
    g->stack.count = 0;
    if (p->d->how & VOLT_DUMP_STACKS) volt_stack_copy_(seen, &g->stack);
  } else {
    volt_tree_copy_place_(seen, &g->tree);
  }
}

static void dump_note_running(const dump_pass *p, const volt_seen_ *seen) {
  for (unsigned i = p->r->first; i < p->r->first + p->r->workers; i++) {
    volt_dump_worker_ *w = &p->d->worker[i];
    if (w->index != seen->worker || w->seen.task != seen->task) continue;
    volt_where_set_(&w->where, seen->site, seen->line);
    volt_called_set_(&w->name, seen);
  }
}

static void dump_read_task(const dump_pass *p, const volt_seen_ *seen) {
  volt_tree_sum_ sum = {.place = (uintptr_t)seen->poll, .object = 0};
  p->r->tasks += 1;
  if (seen->how == VOLT_SEEN_RUNS_) {
    dump_note_running(p, seen);
    return;
  }
  p->r->waits += seen->how == VOLT_SEEN_WAITS_;
  p->r->ready += seen->how == VOLT_SEEN_QUEUED_;
  p->r->ending += seen->how == VOLT_SEEN_ENDS_;
  if (seen->how == VOLT_SEEN_WAITS_) {
    volt_tree_sum_up_(seen, &sum);
    dump_note_lint(p, seen, &sum);
  } else {
    sum.place = volt_tree_mix_(sum.place, seen->line);
  }
  sum.place = volt_tree_mix_(sum.place, (uintptr_t)seen->fn);
  sum.place = volt_tree_mix_(sum.place, dump_index(p) * 4u + (unsigned)seen->how);
  dump_count(p, seen, &sum);
}

/* ---- one runtime ---- */

static void dump_note_held(volt_dump_ *d, bool begins) {
  uint64_t now_ns = d->clock_ns();
  if (begins) {
    d->held_at_ns = now_ns;
  } else if (now_ns - d->held_at_ns > d->longest_held_ns) {
    d->longest_held_ns = now_ns - d->held_at_ns;
  }
}

static bool dump_see(void *ctx, const volt_seen_ *seen, unsigned count) {
  const dump_pass *p = ctx;
  dump_note_held(p->d, count > 0);
  for (unsigned i = 0; i < count; i++) dump_read_task(p, &seen[i]);
  return true;
}

static bool dump_see_each(void *ctx, const volt_seen_ *seen, unsigned count) {
  const dump_pass *p = ctx;
  dump_note_held(p->d, count > 0);
  p->d->functions.may_ask = count == 0;
  for (unsigned i = 0; i < count; i++) volt_dump_print_task_(p->d, p->r, &seen[i]);
  if (count == 0) volt_dump_flush_(p->d);
  return !p->d->has_ended;
}

/* One at a time: the text of a stack is made while no task is held back. */
static bool dump_see_stacks(void *ctx, const volt_seen_ *seen, unsigned count) {
  const dump_pass *p = ctx;
  volt_stack_seen_ *stack = &p->d->stack;
  if (count == 0) {
    p->d->functions.may_ask = true;
    volt_stack_put_(&p->d->text, stack);
    return dump_see_each(ctx, NULL, 0);
  }
  stack->count = 0;
  if (seen->how == VOLT_SEEN_WAITS_) volt_stack_copy_(seen, stack);
  return dump_see_each(ctx, seen, count);
}

static void dump_read_workers(volt_dump_ *d, volt_dump_rt_ *r, volt_rt *rt) {
  r->first = d->workers;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (d->workers == VOLT_DUMP_WORKERS_) {
      r->workers_left_out = rt->workers - i;
      return;
    }
    volt_dump_worker_ *w = &d->worker[d->workers++];
    w->index = i;
    volt_worker_see_(rt, i, &w->seen);
    r->workers += 1;
  }
}

static void dump_keep_result(volt_dump_ *d, volt_dump_rt_ *r, int result) {
  if (result != VOLT_ETIMEDOUT) return;
  r->result = result;
  d->result = result;
}

static void dump_read_blocking(volt_dump_ *d, volt_dump_rt_ *r, volt_rt *rt) {
  volt_blocking_pool *pool = &rt->blocking;
  if (!volt_short_lock_lock_until_(&pool->lock, volt_deadline_ns(DUMP_LOCK_NS))) {
    r->is_pool_busy = true;
    d->result = VOLT_ETIMEDOUT;
    return;
  }
  r->calls_queued = pool->queued;
  r->call_threads = pool->threads;
  r->call_idle = pool->idle_count;
  r->call_max = rt->config.blocking_max;
  volt_short_lock_unlock_(&pool->lock);
}

/* rt is pinned. */
static void dump_read_rt(volt_dump_ *d, volt_rt *rt) {
  if (d->rts == VOLT_DUMP_RTS_) {
    d->rts_left_out += 1;
    return;
  }
  volt_dump_rt_ *r = &d->rt[d->rts++];
  dump_pass pass = {d, r};
  r->rt = rt;
  memcpy(r->name, rt->thread_prefix, sizeof rt->thread_prefix);
  r->is_by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  r->is_run = volt_load_relaxed(&rt->is_run) != 0;     /* a hint */
  r->is_closing = volt_load_relaxed(&rt->closing) > 0; /* a hint */
  r->now_ns = volt_rt_now_ns(rt);
  dump_read_workers(d, r, rt);
  dump_read_blocking(d, r, rt);
  if (d->how & VOLT_DUMP_NO_TASKS) return;
  dump_keep_result(d, r, volt_inspect_(rt, DUMP_BATCH, dump_see, &pass));
}

/* While no task is held back: of their functions. */
static void dump_learn_functions(volt_dump_ *d) {
  for (unsigned i = 0; i < d->groups.count; i++) {
    const volt_called_ *called = &d->groups.group[i].name;
    if (called->length == 0) volt_function_learn_(&d->functions, called->function);
  }
}

/* Each of its tasks; if it is still there. */
static void dump_show_each(volt_dump_ *d, volt_dump_rt_ *r) {
  dump_pass pass = {d, r};
  volt_rt *rt = (volt_rt *)(uintptr_t)r->rt;
  volt_dump_flush_(d);
  if (d->has_ended || !volt_rt_pin_(rt)) return;
  bool stacks = d->how & VOLT_DUMP_STACKS;
  unsigned batch = stacks ? 1 : DUMP_BATCH_OF_EACH;
  dump_keep_result(d, r, volt_inspect_(rt, batch, stacks ? dump_see_stacks : dump_see_each, &pass));
  volt_rt_unpin_(rt);
}

/* ---- all ---- */

static bool dump_read(volt_dump_ *d, volt_rt *rt) {
  if (rt) {
    if (!volt_rt_pin_(rt)) return false;
    dump_read_rt(d, rt);
    volt_rt_unpin_(rt);
    return true;
  }
  for (volt_rt *at = volt_rt_pin_next_(NULL); at; at = volt_rt_pin_next_(at)) {
    dump_read_rt(d, at);
  }
  volt_dump_read_threads_(d);
  return true;
}

static void dump_print_all(volt_dump_ *d, bool with_threads) {
  d->functions.may_ask = true;
  dump_learn_functions(d);
  volt_groups_fold_(&d->groups);
  volt_dump_print_problems_(d);
  for (unsigned i = 0; i < d->rts && !d->has_ended; i++) {
    volt_dump_rt_ *r = &d->rt[i];
    volt_dump_print_rt_(d, r);
    if (d->how & VOLT_DUMP_NO_TASKS) continue;
    if (d->how & VOLT_DUMP_EACH) {
      dump_show_each(d, r);
    } else {
      volt_dump_print_groups_(d, r);
    }
  }
  if (d->rts_left_out > 0) volt_dump_print_left_out_(d);
  if (with_threads) volt_dump_print_threads_(d);
  volt_dump_flush_(d);
}

int volt_dump_in_(volt_dump_ *d, volt_rt *rt, unsigned how, volt_sink *sink, void *ctx) {
  memset(&d->sink, 0, offsetof(volt_dump_, memory) - offsetof(volt_dump_, sink));
  d->how = how;
  d->sink = sink;
  d->ctx = ctx;
  volt_dump_begin_text_(d);
  if (!dump_read(d, rt)) return VOLT_EINVAL;
  dump_print_all(d, rt == NULL);
  return d->has_ended ? (int)VOLT_ECANCELED : d->result;
}

int volt_dump(volt_rt *rt, unsigned how, volt_sink *sink, void *ctx) {
  if (!sink || !volt_dump_is_how_(how)) return VOLT_EINVAL;
  volt_dump_ *d = volt_dump_new_();
  if (!d) return VOLT_ENOMEM;
  int result = volt_dump_in_(d, rt, how, sink, ctx);
  volt_dump_free_(d);
  return result;
}
