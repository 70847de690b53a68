/* report_html.c: the report as a page, for a browser: one file, without a script, which fetches nothing. */
#include <inttypes.h>
#include <stdlib.h>

#include "html.h"
#include "report_graph.h"

static void page_row(const char *what, FILE *to) {
  fprintf(to, "<div><dt>%s</dt><dd>", what);
}

static void page_figures(const struct report *r, FILE *to) {
  struct report_sums sums = report_sum(r);
  const struct {
    const char *what, *name;
    uint64_t value;
    bool is_time;
  } rows[] = {{"ran for", "lasted_ns", r->s->now_ns - r->s->begun_ns, true},
              {"threads now", "threads_now", sums.threads, false},
              {"objects", "objects", sums.objects, false},
              {"waits for locks", "waits", sums.waits, false},
              {"waited in all", "waited_ns", sums.waited_ns, true},
              {"deadlocks reported", "deadlocks", r->s->deadlocks, false},
              {"calls not watched", "unwatched", r->s->unwatched, false}};
  fputs("<dl class=\"figures\">\n", to);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    page_row(rows[i].what, to);
    (rows[i].is_time ? html_time : html_number)(rows[i].name, rows[i].value, to);
    fputs("</dd></div>\n", to);
  }
  fputs("</dl>\n", to);
}

static void page_stack(const struct report *r, const char *title, const uintptr_t *stack,
                       uint32_t depth, uintptr_t at, FILE *to) {
  fprintf(to, "<p class=\"soft\">%s</p>", title);
  html_stack(r, stack, depth, at, to);
}

/* ---- threads that wait ---- */

static void page_holds(const struct report *r, const struct books_thread *t, FILE *to) {
  uint32_t held = atomic_load(&t->held_count);
  if (held == 0) return;
  fputs("<p class=\"soft\">holds</p><ul>", to);
  for (uint32_t i = 0; i < held && i < BOOKS_HELD; i++) {
    fprintf(to, "<li>%s", t->held[i].how == BOOKS_READS_IT ? "shared: " : "");
    html_lock(r, t->held[i].lock, to);
    fputs(" <span class=\"soft\">taken at</span> ", to);
    html_place(r, t->held[i].at, to);
    fputs("</li>", to);
  }
  fputs("</ul>", to);
}

static void page_stands(const struct report *r, const struct books_thread *t, uint32_t lock,
                        FILE *to) {
  bool is_condition = (atomic_load(&t->how) & ~(unsigned)BOOKS_IS_TIMED) == BOOKS_AWAITS_IT;
  fprintf(to, "<p><span class=\"soft\">%s</span> ",
          is_condition && lock && r->lock[lock].kind == BOOKS_MUTEX
              ? "waits for a condition, and cannot come back without"
              : "waits for");
  html_lock(r, lock, to);
  fputs(", <span class=\"soft\">for</span> ", to);
  html_time("wait_now_ns", report_waits_now_ns(r, t), to);
  fputs("</p>", to);
  page_stack(r, "at", t->stack, atomic_load(&t->depth), atomic_load(&t->at), to);
  page_holds(r, t, to);
}

static void page_circle(const struct report *r, FILE *to) {
  uint32_t count = r->s->circle_count < 64 ? r->s->circle_count : 64;
  for (uint32_t i = 0; i < count; i++) {
    const struct books_thread *t = &r->thread[r->s->circle_thread[i]];
    fputs("<section class=\"card\" data-name=\"circle\"><h3>", to);
    html_thread(atomic_load(&t->tid), t->name, to);
    fputs("</h3>", to);
    page_stands(r, t, r->s->circle_lock[i], to);
    fputs("</section>\n", to);
  }
}

static void page_banner(const struct report *r, const struct graph *g, FILE *to) {
  if (r->s->why == SNAPSHOT_DEADLOCK) {
    fprintf(to, "<p class=\"banner\">Deadlock: %u thread%s for ever.</p>\n", r->s->circle_count,
            r->s->circle_count == 1 ? " waits for itself" : "s wait for each other");
  } else if (g->count > 0 && g->edge[0].in_circle) {
    fputs(
        "<p class=\"banner\">At the moment of this report threads wait for each other in a "
        "circle.</p>\n",
        to);
  }
  if (r->s->is_standstill) {
    fputs(
        "<p class=\"banner\">No thread of it can go on: all wait without a deadline. A handler of "
        "a signal, or another process with which it shares an object, could wake one.</p>\n",
        to);
  }
  if (r->s->unwatched) {
    fputs("<p class=\"banner warn\">Some calls were not watched: there was no room.</p>\n", to);
  }
}

/* ---- which thread waits for which ---- */

static void page_edges(const struct report *r, const struct graph *g, FILE *to) {
  fputs(
      "<div class=\"scroll\"><table><thead><tr><th class=\"left\">thread</th><th class=\"left\">"
      "waits for</th><th class=\"left\">held by</th><th>for</th></tr></thead><tbody>\n",
      to);
  for (uint32_t i = 0; i < g->count && i < 200; i++) {
    const struct graph_edge *e = &g->edge[i];
    fprintf(to, "<tr data-name=\"edge\" data-is_now=\"%d\" data-in_circle=\"%d\"><td>", e->is_now,
            e->in_circle);
    html_thread(e->waiter.tid, e->waiter.name, to);
    fprintf(to, "</td><td class=\"left\">%s",
            e->is_now ? "" : "<span class=\"soft\">waited for</span> ");
    html_lock(r, e->lock, to);
    fputs("</td><td class=\"left\">", to);
    html_thread(e->holder.tid, e->holder.name, to);
    fputs("</td><td>", to);
    html_time("edge_ns", e->ns, to);
    fputs("</td></tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

static void page_graph(const struct report *r, const struct graph *g, FILE *to) {
  if (g->count == 0) return;
  fputs(
      "<h2>Which thread waits for which</h2>\n<section class=\"card\"><p class=\"soft\">Lines: "
      "waits of now; red: in a circle; dashed: the longest wait for a lock so far, and the thread "
      "whose hold ended before it.</p>",
      to);
  html_graph(r, g, to);
  page_edges(r, g, to);
  fputs("</section>\n", to);
}

/* ---- locks ---- */

static void page_times(const char *what, const char *name, const _Atomic uint32_t *times,
                       uint64_t longest, FILE *to) {
  char full[32];
  fprintf(to, "<tr><td>%s</td>", what);
  const uint64_t figures[] = {report_quantile(times, 0.5, longest),
                              report_quantile(times, 0.99, longest), longest};
  static const char *const parts[] = {"p50", "p99", "longest"};
  for (int i = 0; i < 3; i++) {
    snprintf(full, sizeof full, "%s.%s", name, parts[i]);
    fputs("<td>", to);
    html_time(full, figures[i], to);
    fputs("</td>", to);
  }
  fputs("</tr>\n", to);
}

static void page_moments(const struct report *r, const struct books_detail *d, FILE *to) {
  const struct books_moment *wait = &d->longest_wait, *hold = &d->its_hold;
  if (!wait->tid) return;
  fputs("<details><summary>the longest wait: ", to);
  html_time("longest_wait", wait->ns, to);
  fputs(", by ", to);
  html_thread(wait->tid, wait->name, to);
  fputs("</summary>", to);
  page_stack(r, "it waited at", wait->stack, wait->depth, wait->at, to);
  if (hold->tid) {
    fputs("<p>Before it ended, ", to);
    html_thread(hold->tid, hold->name, to);
    fputs(" held it for ", to);
    html_time("its_hold", hold->ns, to);
    fputs("; <span class=\"soft\">taken at</span> ", to);
    html_place(r, hold->at, to);
    fputs("</p>", to);
    if (hold->depth) page_stack(r, "and given back at", hold->stack, hold->depth, hold->at, to);
  }
  fputs("</details>\n", to);
}

static void page_fault(const struct report *r, const struct books_detail *d, FILE *to) {
  if (!atomic_load(&d->faults)) return;
  fprintf(to, "<p class=\"banner\">%s, ", report_fault(atomic_load(&d->fault)));
  html_number("faults", atomic_load(&d->faults), to);
  fputs(" times; the last by ", to);
  html_thread(d->fault_at.tid, d->fault_at.name, to);
  fputs("</p>", to);
  page_stack(r, "at", d->fault_at.stack, d->fault_at.depth, d->fault_at.at, to);
}

static void page_lock(const struct report *r, const struct books_detail *d, FILE *to) {
  const struct books_lock *l = &r->lock[d->lock];
  bool is_held = l->kind != BOOKS_CONDITION && l->kind != BOOKS_BARRIER;
  fprintf(to, "<section class=\"card\" data-name=\"lock\" data-address=\"%#" PRIxPTR "\"><h3>",
          atomic_load(&l->address));
  html_lock(r, d->lock, to);
  fputs("</h3>\n<p>", to);
  html_number("acquires", atomic_load(&l->acquires), to);
  fputs(is_held ? " acquires, " : " of it, ", to);
  html_number("waits", atomic_load(&d->waits), to);
  fputs(" waits, ", to);
  html_time("waited_ns", atomic_load(&d->waited_ns), to);
  fputs(
      " in all</p>\n<table><thead><tr><th></th><th>p50</th><th>p99</th><th>longest</th></tr>"
      "</thead><tbody>\n",
      to);
  page_times("waits", "wait_ns", d->wait_times, d->longest_wait.ns, to);
  if (d->longest_hold.ns) page_times("holds", "hold_ns", d->hold_times, d->longest_hold.ns, to);
  fputs("</tbody></table>\n<div class=\"two\">", to);
  html_histogram("wait_ns", d->wait_times, to);
  html_histogram("hold_ns", d->hold_times, to);
  fputs("</div>\n", to);
  page_moments(r, d, to);
  page_fault(r, d, to);
  fputs("</section>\n", to);
}

static bool page_has_part(const struct report *r, const struct books_detail *d, bool conditions) {
  if ((r->lock[d->lock].kind == BOOKS_CONDITION) != conditions) return false;
  return atomic_load(&d->waits) || atomic_load(&d->faults) || atomic_load(&d->signals);
}

static void page_locks(const struct report *r, FILE *to) {
  unsigned count = 0;
  fputs(
      "<h2>Locks</h2>\n<p class=\"soft\">Those first for which threads waited longest in all: "
      "this is the most that the program can gain there. Holds are known since a thread first "
      "waited.</p><br/>\n",
      to);
  for (uint32_t i = 0; i < r->ordered && count < r->top; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    if (!page_has_part(r, d, false)) continue;
    page_lock(r, d, to);
    count++;
  }
  if (count == 0) fputs("<p>No thread has waited for a lock.</p>\n", to);
}

static void page_conditions(const struct report *r, FILE *to) {
  static const char head[] =
      "<h2>Condition variables</h2>\n<section class=\"card\"><div class=\"scroll\"><table><thead>"
      "<tr><th>condition variable</th><th>waits</th><th>in all</th><th>longest</th><th>signals</th>"
      "<th>met no waiter</th><th>woken for nothing</th></tr></thead><tbody>\n";
  unsigned count = 0;
  for (uint32_t i = 0; i < r->ordered && count < r->top; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    if (!page_has_part(r, d, true)) continue;
    if (count++ == 0) fputs(head, to);
    fprintf(to, "<tr data-name=\"condition\" data-address=\"%#" PRIxPTR "\"><td class=\"left\">",
            atomic_load(&r->lock[d->lock].address));
    html_lock(r, d->lock, to);
    fputs("</td><td>", to);
    html_number("waits", atomic_load(&d->waits), to);
    fputs("</td><td>", to);
    html_time("waited_ns", atomic_load(&d->waited_ns), to);
    fputs("</td><td>", to);
    html_time("wait_ns.longest", d->longest_wait.ns, to);
    fputs("</td><td>", to);
    html_number("signals", atomic_load(&d->signals), to);
    fputs("</td><td>", to);
    html_number("signals_to_none", atomic_load(&d->signals_to_none), to);
    fputs("</td><td>", to);
    html_number("waits_again", atomic_load(&d->waits_again), to);
    fputs("</td></tr>\n", to);
  }
  if (count) fputs("</tbody></table></div></section>\n", to);
}

/* ---- threads ---- */

static void page_thread(const struct report *r, const struct books_thread *t, FILE *to) {
  int32_t tid = atomic_load(&t->tid);
  fprintf(to, "<tr data-name=\"thread\" data-tid=\"%d\"><td>", (int)(tid < 0 ? -tid : tid));
  html_thread(tid, t->name, to);
  fputs("</td><td>", to);
  html_number("waits", t->waits, to);
  fputs("</td><td>", to);
  html_time("waited_ns", t->waited_ns, to);
  fputs("</td><td class=\"left\">", to);
  if (tid > 0 && atomic_load(&t->how) != BOOKS_RUNS) {
    fputs("<details><summary>waits now</summary>", to);
    page_stands(r, t, atomic_load(&t->waits_for), to);
    fputs("</details>", to);
  }
  fputs("</td></tr>\n", to);
}

static void page_threads(const struct report *r, FILE *to) {
  uint32_t *order = report_threads(r);
  if (!order) return;
  fputs(
      "<h2>Threads</h2>\n<section class=\"card\"><p class=\"soft\">By the time that they have "
      "waited, for conditions and joins, too.</p><div class=\"scroll\"><table><thead><tr><th>"
      "thread</th><th>waits</th><th>in all</th><th class=\"left\"></th></tr></thead><tbody>\n",
      to);
  for (uint32_t i = 0; i < r->s->thread_count; i++) {
    const struct books_thread *t = &r->thread[order[i]];
    if (atomic_load(&t->tid) != 0) page_thread(r, t, to);
  }
  fputs("</tbody></table></div></section>\n", to);
  free(order);
}

/* ---- the page ---- */

static void page_top(const struct report *r, FILE *to) {
  static const char *const whys[] = {"at its end", "as it was asked", "at a deadlock"};
  char title[300];
  snprintf(title, sizeof title, "volt-run: %.255s", r->s->program);
  html_head(title, to);
  fputs("<header class=\"top\"><h1>", to);
  html_text(title, to);
  fprintf(to, "</h1><p>process %d, %s</p></header>\n", (int)r->s->pid, whys[r->s->why % 3]);
}

void report_html(const struct report *r, FILE *to) {
  struct graph g;
  if (!graph_open(&g, r)) return;
  page_top(r, to);
  page_banner(r, &g, to);
  page_figures(r, to);
  bool waits_now = g.count > 0 && g.edge[0].is_now; /* so that is what is asked for */
  if (waits_now) page_graph(r, &g, to);
  page_circle(r, to);
  fputs("<h2>Waits over time</h2>\n<section class=\"card\">", to);
  html_over_time(r, to);
  fputs("</section>\n", to);
  page_locks(r, to);
  page_conditions(r, to);
  page_threads(r, to);
  if (!waits_now) page_graph(r, &g, to);
  fputs("</div>\n</body>\n</html>\n", to);
  graph_close(&g);
}
