/* report_graph.c: which thread waits for which, by what the books know: waits of now and the holders of what is
 * waited for; and of each lock the longest wait that has ended, and the thread whose hold ended before it.
 *
 * A circle of now: the edges that are left when each whose holder does not wait, or for whose waiter no thread
 * waits, is taken away, again and again. */
#include "report_graph.h"

#include <stdlib.h>
#include <string.h>

static struct graph_thread graph_thread(int32_t tid, const char *name) {
  struct graph_thread t = {.tid = tid};
  memcpy(t.name, name, sizeof t.name - 1);
  return t;
}

static struct graph_thread graph_place(const struct report *r, uint32_t number) {
  return graph_thread(atomic_load(&r->thread[number].tid), r->thread[number].name);
}

static struct graph_edge *graph_add(struct graph *g) {
  if (g->count == GRAPH_EDGES) return NULL;
  struct graph_edge *e = &g->edge[g->count++];
  memset(e, 0, sizeof *e);
  return e;
}

static bool graph_may_be_posted(const struct books_lock *l) {
  unsigned flags = atomic_load(&l->flags);
  return l->kind == BOOKS_SEMAPHORE && (!(flags & BOOKS_IS_OWNED) || (flags & BOOKS_IS_UNKNOWN));
}

static void graph_add_now(struct graph *g, const struct report *r, uint32_t waiter, uint32_t holder,
                          uint32_t lock) {
  const struct books_thread *t = &r->thread[waiter];
  unsigned how = atomic_load(&t->how);
  if (atomic_load(&r->thread[holder].tid) <= 0) return;
  struct graph_edge *e = graph_add(g);
  if (!e) return;
  e->from = waiter;
  e->to = holder;
  e->waiter = graph_place(r, waiter);
  e->holder = graph_place(r, holder);
  e->lock = lock;
  e->ns = report_waits_now_ns(r, t);
  e->is_now = true;
  e->comes_back = (how & ~(unsigned)BOOKS_IS_TIMED) == BOOKS_AWAITS_IT;
  e->may_end =
      ((how & BOOKS_IS_TIMED) && !e->comes_back) || (lock && graph_may_be_posted(&r->lock[lock]));
}

/* ---- waits of now ---- */

/* Of one that wants to read: the thread that writes, and those that want to write and are before it. */
static bool graph_stands_before(const struct report *r, uint32_t other, uint32_t waiter,
                                uint32_t lock) {
  const struct books_thread *t = &r->thread[other];
  bool waits = atomic_load(&t->how) == BOOKS_LOCKS_IT && atomic_load(&t->waits_for) == lock;
  if (r->s->is_served)
    waits &= atomic_load(&t->since_ns) < atomic_load(&r->thread[waiter].since_ns);
  return waits || atomic_load(&r->lock[lock].owner) == books_tag(t);
}

static void graph_add_holders(struct graph *g, const struct report *r, uint32_t waiter,
                              uint32_t lock) {
  unsigned how = atomic_load(&r->thread[waiter].how) & ~(unsigned)BOOKS_IS_TIMED;
  for (uint32_t i = 1; i <= r->s->thread_count; i++) {
    bool stands =
        how == BOOKS_READS_IT ? graph_stands_before(r, i, waiter, lock) : report_holds(r, i, lock);
    if (stands) graph_add_now(g, r, waiter, i, lock);
  }
}

static void graph_add_joined(struct graph *g, const struct report *r, uint32_t waiter) {
  uintptr_t handle = atomic_load(&r->thread[waiter].joins);
  for (uint32_t i = 1; i <= r->s->thread_count; i++) {
    if (r->thread[i].handle == handle) graph_add_now(g, r, waiter, i, 0);
  }
}

static void graph_add_waits(struct graph *g, const struct report *r) {
  for (uint32_t i = 1; i <= r->s->thread_count; i++) {
    const struct books_thread *t = &r->thread[i];
    uint32_t lock = atomic_load(&t->waits_for), mutex = atomic_load(&t->comes_back_by);
    unsigned how = atomic_load(&t->how) & ~(unsigned)BOOKS_IS_TIMED;
    if (atomic_load(&t->tid) <= 0) continue;
    if (how == BOOKS_JOINS) graph_add_joined(g, r, i);
    if (how == BOOKS_AWAITS_IT && mutex) graph_add_holders(g, r, i, mutex);
    if ((how == BOOKS_LOCKS_IT || how == BOOKS_READS_IT) && lock) graph_add_holders(g, r, i, lock);
  }
}

/* ---- circles ---- */

/* Of each thread, edges that may still be of a circle. */
struct graph_degrees {
  uint32_t waits[BOOKS_THREADS + 1], is_awaited[BOOKS_THREADS + 1];
};

static bool graph_peel(struct graph *g, struct graph_degrees *d) {
  bool has_changed = false;
  for (uint32_t i = 0; i < g->count; i++) {
    struct graph_edge *e = &g->edge[i];
    if (!e->in_circle || (d->waits[e->to] && d->is_awaited[e->from])) continue;
    e->in_circle = false;
    d->waits[e->from]--;
    d->is_awaited[e->to]--;
    has_changed = true;
  }
  return has_changed;
}

/* Returns false: there is no memory. */
static bool graph_find_circles(struct graph *g) {
  struct graph_degrees *d = (struct graph_degrees *)calloc(1, sizeof *d);
  if (!d) return false;
  for (uint32_t i = 0; i < g->count; i++) {
    struct graph_edge *e = &g->edge[i];
    e->in_circle = !e->may_end;
    if (!e->in_circle) continue;
    d->waits[e->from]++;
    d->is_awaited[e->to]++;
  }
  while (graph_peel(g, d)) {
  }
  free(d);
  return true;
}

/* One that waits for a condition, and is in no circle, waits for no thread that is known. */
static void graph_drop_conditions(struct graph *g) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    if (!g->edge[i].comes_back || g->edge[i].in_circle) g->edge[kept++] = g->edge[i];
  }
  g->count = kept;
}

/* ---- waits that have ended ---- */

static void graph_add_ended(struct graph *g, const struct report *r) {
  for (uint32_t i = 0; i < r->ordered && i < r->top; i++) {
    const struct books_detail *d = &r->detail[r->order[i]];
    if (!d->longest_wait.tid || !d->its_hold.tid) continue;
    struct graph_edge *e = graph_add(g);
    if (!e) return;
    e->waiter = graph_thread(d->longest_wait.tid, d->longest_wait.name);
    e->holder = graph_thread(d->its_hold.tid, d->its_hold.name);
    e->lock = d->lock;
    e->ns = d->longest_wait.ns;
  }
}

static int graph_compare(const void *a, const void *b) {
  const struct graph_edge *left = (const struct graph_edge *)a,
                          *right = (const struct graph_edge *)b;
  int left_rank = left->in_circle * 2 + left->is_now,
      right_rank = right->in_circle * 2 + right->is_now;
  if (left_rank != right_rank) return right_rank - left_rank;
  return left->ns < right->ns ? 1 : left->ns > right->ns ? -1 : 0;
}

bool graph_open(struct graph *g, const struct report *r) {
  g->count = 0;
  g->edge = (struct graph_edge *)calloc(GRAPH_EDGES, sizeof *g->edge);
  if (!g->edge) return false;
  graph_add_waits(g, r);
  if (!graph_find_circles(g)) {
    graph_close(g);
    return false;
  }
  graph_drop_conditions(g);
  graph_add_ended(g, r);
  qsort(g->edge, g->count, sizeof *g->edge, graph_compare);
  return true;
}

void graph_close(struct graph *g) {
  free(g->edge);
  *g = (struct graph){0};
}
