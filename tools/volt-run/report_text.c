/* report_text.c: the report for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "report_graph.h"
#include "report_orders.h"

enum { TEXT_PLACE = 512, TEXT_THREADS = 10, TEXT_HOLDERS = 3 };

const char *text_time(uint64_t ns, char *to) {
  if (ns < 10000) {
    snprintf(to, TEXT_TIME, "%" PRIu64 " ns", ns);
  } else if (ns < 10000000) {
    snprintf(to, TEXT_TIME, "%" PRIu64 " us", ns / 1000);
  } else if (ns < UINT64_C(10000000000)) {
    snprintf(to, TEXT_TIME, "%" PRIu64 " ms", ns / 1000000);
  } else {
    snprintf(to, TEXT_TIME, "%.1f s", (double)ns / 1e9);
  }
  return to;
}

static void text_name(int32_t tid, const char *name, FILE *to) {
  fprintf(to, "thread %d '%.15s'%s", (int)(tid < 0 ? -tid : tid), name,
          tid < 0 ? ", which has ended" : "");
}

static void text_thread(const struct report *r, uint32_t number, FILE *to) {
  if (number == 0 || number > r->s->thread_count) {
    fprintf(to, "a thread that is not known");
    return;
  }
  text_name(atomic_load(&r->thread[number].tid), r->thread[number].name, to);
}

static void text_place(const struct report *r, uintptr_t at, const char *before, FILE *to) {
  char place[TEXT_PLACE];
  symbols_text(r->symbols, at, place, sizeof place);
  fprintf(to, "%s%s\n", before, place);
}

static void text_lock(const struct report *r, uint32_t lock, FILE *to) {
  if (lock > r->s->lock_count) {
    fprintf(to, "an object that came just then");
    return;
  }
  const struct books_lock *l = &r->lock[lock];
  char place[TEXT_PLACE];
  symbols_text(r->symbols, atomic_load(&l->made_at), place, sizeof place);
  fprintf(to, "%s %#" PRIxPTR ", made or first used at %s", report_kind(l),
          atomic_load(&l->address), place);
}

static void text_stack(const struct report *r, const uintptr_t *stack, uint32_t depth, uintptr_t at,
                       FILE *to) {
  if (depth == 0) text_place(r, at, "        ", to);
  for (uint32_t i = 0; i < depth && i < BOOKS_DEPTH; i++) text_place(r, stack[i], "        ", to);
}

/* ---- a deadlock ---- */

static void text_holds(const struct report *r, const struct books_thread *t, FILE *to) {
  uint32_t held = atomic_load(&t->held_count);
  for (uint32_t i = 0; i < held && i < BOOKS_HELD; i++) {
    fprintf(to, "      holds %s", t->held[i].how == BOOKS_READS_IT ? "shared: " : "");
    text_lock(r, t->held[i].lock, to);
    text_place(r, t->held[i].at, "\n        taken at ", to);
  }
}

/* In a circle: what a thread waits for, and why the next one stands in its way. */
static void text_stands(const struct report *r, const struct books_thread *t, uint32_t lock,
                        uint32_t next, FILE *to) {
  bool is_condition = (atomic_load(&t->how) & ~(unsigned)BOOKS_IS_TIMED) == BOOKS_AWAITS_IT;
  if (!lock) {
    fprintf(to, "\n      waits for the end of ");
    text_thread(r, next, to);
  } else {
    fprintf(to, "\n      %s",
            is_condition ? "waits for a condition, and cannot come back without " : "waits for ");
    text_lock(r, lock, to);
    fprintf(to, "\n      which ");
    text_thread(r, next, to);
    fprintf(to, report_holds(r, next, lock) ? " holds" : " wants to write, and is before it");
  }
  fprintf(to, "; it is at\n");
}

static bool text_has_semaphore(const struct report *r) {
  for (uint32_t i = 0; i < r->s->circle_count && i < 64; i++) {
    if (r->s->circle_lock[i] && r->lock[r->s->circle_lock[i]].kind == BOOKS_SEMAPHORE) return true;
  }
  return false;
}

static void text_deadlock(const struct report *r, FILE *to) {
  const struct snapshot *s = r->s;
  fprintf(to, "volt-run: deadlock in %s (pid %d): %u thread%s for ever%s\n", s->program,
          (int)s->pid, s->circle_count,
          s->circle_count == 1 ? " waits for itself" : "s wait for each other",
          text_has_semaphore(r) ? ", unless another thread posts the semaphore" : "");
  for (uint32_t i = 0; i < s->circle_count && i < 64; i++) {
    const struct books_thread *t = &r->thread[s->circle_thread[i]];
    fprintf(to, "  ");
    text_thread(r, s->circle_thread[i], to);
    text_stands(r, t, s->circle_lock[i], s->circle_thread[(i + 1) % s->circle_count], to);
    text_stack(r, t->stack, atomic_load(&t->depth), atomic_load(&t->at), to);
    text_holds(r, t, to);
  }
}

/* ---- locks ---- */

static void text_times(const char *what, const _Atomic uint32_t *times, uint64_t longest,
                       FILE *to) {
  char half[TEXT_TIME], most[TEXT_TIME], all[TEXT_TIME];
  fprintf(to, "%s p50 %s, p99 %s, longest %s", what,
          text_time(report_quantile(times, 0.5, longest), half),
          text_time(report_quantile(times, 0.99, longest), most), text_time(longest, all));
}

static void text_moments(const struct report *r, const struct books_detail *d, FILE *to) {
  char time[TEXT_TIME];
  fprintf(to, "    the longest wait, by ");
  text_name(d->longest_wait.tid, d->longest_wait.name, to);
  fprintf(to, ":\n");
  text_stack(r, d->longest_wait.stack, d->longest_wait.depth, d->longest_wait.at, to);
  if (!d->its_hold.tid) return;
  fprintf(to, "    before it ended, ");
  text_name(d->its_hold.tid, d->its_hold.name, to);
  fprintf(to, " held it for %s; it had taken it at\n", text_time(d->its_hold.ns, time));
  text_place(r, d->its_hold.at, "        ", to);
  if (d->its_hold.depth) fprintf(to, "      and gave it back at\n");
  if (d->its_hold.depth) text_stack(r, d->its_hold.stack, d->its_hold.depth, 0, to);
}

static void text_detail(const struct report *r, unsigned place, const struct books_detail *d,
                        FILE *to) {
  const struct books_lock *l = &r->lock[d->lock];
  char time[TEXT_TIME];
  fprintf(to, "\n%2u. ", place);
  text_lock(r, d->lock, to);
  fprintf(to, "\n    ");
  if (l->kind != BOOKS_CONDITION && l->kind != BOOKS_BARRIER)
    fprintf(to, "taken %" PRIu64 " times; ", atomic_load(&l->acquires));
  fprintf(to, "%" PRIu64 " wait%s, %s in all: ", atomic_load(&d->waits),
          atomic_load(&d->waits) == 1 ? "" : "s", text_time(atomic_load(&d->waited_ns), time));
  text_times("each", d->wait_times, d->longest_wait.ns, to);
  fprintf(to, "\n");
  if (d->longest_hold.ns) {
    text_times("    held, since a thread first waited:", d->hold_times, d->longest_hold.ns, to);
    fprintf(to, "\n");
  }
  if (l->kind == BOOKS_CONDITION) {
    fprintf(to,
            "    %" PRIu64 " signals, of which %" PRIu64 " met no waiter; %" PRIu64
            " times a thread that was woken waited again at once\n",
            atomic_load(&d->signals), atomic_load(&d->signals_to_none),
            atomic_load(&d->waits_again));
    return;
  }
  if (d->longest_wait.ns) text_moments(r, d, to);
}

static void text_details(const struct report *r, bool conditions, const char *title, FILE *to) {
  unsigned said = 0;
  for (uint32_t i = 0; i < r->ordered && said < r->top; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    bool is_condition = r->lock[d->lock].kind == BOOKS_CONDITION;
    if (is_condition != conditions ||
        (!atomic_load(&d->waits) && !atomic_load(&d->signals_to_none)))
      continue;
    if (said == 0) fprintf(to, "\n%s\n", title);
    text_detail(r, ++said, d, to);
  }
}

static void text_faults(const struct report *r, FILE *to) {
  for (uint32_t i = 0; i < r->ordered; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    if (!atomic_load(&d->faults)) continue;
    fprintf(to, "\nwrong: %s\n    ", report_fault(atomic_load(&d->fault)));
    text_lock(r, d->lock, to);
    fprintf(to, "\n    %u time%s; the last time by ", atomic_load(&d->faults),
            atomic_load(&d->faults) == 1 ? "" : "s");
    text_name(d->fault_at.tid, d->fault_at.name, to);
    fprintf(to, " at\n");
    text_stack(r, d->fault_at.stack, d->fault_at.depth, d->fault_at.at, to);
  }
}

/* ---- orders ---- */

static void text_step(const struct report *r, const struct orders_step *s, FILE *to) {
  const struct books_stack *held = orders_held_stack(r, s), *taken = orders_stack(r, s);
  uint32_t threads = 0;
  fprintf(to, "    ");
  text_name(s->order->tid, s->order->name, to);
  for (uint32_t i = 0; i < BOOKS_ORDER_THREADS; i++)
    threads += atomic_load(&s->order->threads[i]) != 0;
  if (threads > 1) fprintf(to, " (and %u more)", threads - 1);
  fprintf(to, " held %s", s->held->how == BOOKS_READS_IT ? "shared: " : "");
  text_lock(r, s->held->lock, to);
  fprintf(to, "\n      which it had taken at\n");
  text_stack(r, held ? held->at : NULL, held ? held->depth : 0, s->held->at, to);
  fprintf(to, "      and then took %s", s->order->how == BOOKS_READS_IT ? "shared: " : "");
  text_lock(r, s->order->lock, to);
  fprintf(to, ", at\n");
  text_stack(r, taken ? taken->at : NULL, taken ? taken->depth : 0, s->order->at, to);
}

static void text_orders(const struct report *r, const struct orders *found, FILE *to) {
  if (found->count)
    fprintf(to, "\norders that could deadlock: each thread holds a lock that another one takes\n");
  for (uint32_t i = 0; i < found->count && i < r->top; i++) {
    const struct orders_circle *c = &found->circle[i];
    fprintf(to, "\n%2u. %u locks%s\n", i + 1, c->length,
            orders_are_certain(r, c) ? ""
                                     : ", if they are these: no call has initialised one of them, "
                                       "so its memory may have been "
                                       "another lock's before");
    for (uint32_t k = 0; k < c->length; k++) text_step(r, &c->step[k], to);
  }
  if (found->count > r->top) fprintf(to, "\n    %u more are not said\n", found->count - r->top);
  if (found->is_cut_short)
    fprintf(to, "\n    there may be more orders like that: the search was cut short\n");
  if (r->s->orders_left_out)
    fprintf(to, "\n    %u orders in which locks were taken were not kept: there was no room\n",
            r->s->orders_left_out);
}

/* ---- threads ---- */

static void text_waits_now(const struct report *r, const struct books_thread *t, FILE *to) {
  char time[TEXT_TIME];
  uint32_t lock = atomic_load(&t->waits_for);
  if (lock > r->s->lock_count) lock = 0;
  if (atomic_load(&t->how) == BOOKS_RUNS) return;
  fprintf(to, "; waits now, for %s, %s%s", text_time(report_waits_now_ns(r, t), time),
          lock ? "for " : "for the end of a thread", lock ? report_kind(&r->lock[lock]) : "");
  if (lock) fprintf(to, " %#" PRIxPTR, atomic_load(&r->lock[lock].address));
}

/* Which threads hold what it waits for. */
static void text_holders(const struct graph *g, uint32_t number, FILE *to) {
  unsigned count = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    const struct graph_edge *e = &g->edge[i];
    if (!e->is_now || e->from != number || count++ >= TEXT_HOLDERS) continue;
    fprintf(to, "      waits for ");
    text_name(e->holder.tid, e->holder.name, to);
    fprintf(to, e->in_circle ? ", in a circle\n" : "\n");
  }
  if (count > TEXT_HOLDERS) fprintf(to, "      and for %u more threads\n", count - TEXT_HOLDERS);
}

static void text_threads(const struct report *r, FILE *to) {
  uint32_t *order = report_threads(r), count = 0;
  if (!order) return;
  for (uint32_t i = 0; i < r->s->thread_count; i++) {
    if (r->thread[order[i]].waits || r->s->why == SNAPSHOT_ASKED) order[count++] = order[i];
  }
  if (count)
    fprintf(to, "\nthreads, by the time that they have waited, for conditions and joins, too\n");
  struct graph g = {0};
  if (r->s->why == SNAPSHOT_ASKED) (void)graph_open(&g, r);
  uint32_t most = r->s->why == SNAPSHOT_ASKED ? count : TEXT_THREADS;
  for (uint32_t i = 0; i < count && i < most; i++) {
    const struct books_thread *t = &r->thread[order[i]];
    char time[TEXT_TIME];
    fprintf(to, "    ");
    text_thread(r, order[i], to);
    fprintf(to, ": %" PRIu64 " waits, %s", t->waits, text_time(t->waited_ns, time));
    if (r->s->why == SNAPSHOT_ASKED) text_waits_now(r, t, to);
    fprintf(to, "\n");
    if (r->s->why != SNAPSHOT_ASKED || atomic_load(&t->how) == BOOKS_RUNS) continue;
    text_stack(r, t->stack, atomic_load(&t->depth), atomic_load(&t->at), to);
    text_holders(&g, order[i], to);
    text_holds(r, t, to);
  }
  graph_close(&g);
  free(order);
}

static void text_standstill(const struct report *r, uint32_t threads, FILE *to) {
  if (!r->s->is_standstill) return;
  fprintf(to,
          "\n%s without a deadline: no thread of it can go on, unless a handler of a signal, or "
          "another process with which it shares an object, wakes one\n",
          threads == 1 ? "its only thread waits" : "all of its threads wait");
}

void report_text(const struct report *r, FILE *to) {
  if (r->s->why == SNAPSHOT_DEADLOCK) {
    text_deadlock(r, to);
    return;
  }
  struct report_sums sums = report_sum(r);
  struct orders *orders = orders_search(r);
  char lasted[TEXT_TIME], waited[TEXT_TIME];
  fprintf(to,
          "volt-run: %s (pid %d), after %s: %u threads, %u objects; %" PRIu64
          " waits for locks, %s in all",
          r->s->program, (int)r->s->pid, text_time(r->s->now_ns - r->s->begun_ns, lasted),
          sums.threads, sums.objects, sums.waits, text_time(sums.waited_ns, waited));
  if (r->s->deadlocks) fprintf(to, "; %" PRIu64 " deadlocks were reported", r->s->deadlocks);
  if (r->s->unwatched)
    fprintf(to, "; %" PRIu64 " calls were not watched: there was no room", r->s->unwatched);
  fprintf(to, "\n");
  text_standstill(r, sums.threads, to);
  text_faults(r, to);
  if (orders) text_orders(r, orders, to);
  free(orders);
  text_details(r, false, "locks, by the time that threads have waited for them", to);
  text_details(r, true, "condition variables", to);
  text_threads(r, to);
}
