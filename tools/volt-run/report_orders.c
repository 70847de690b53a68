/* report_orders.c: searches the orders in which locks were taken for circles: a thread takes b while it holds a, another
 * one c while it holds b, and so on, and the last one takes a. Shortest circles come first; one that has all the locks of
 * a shorter one, and more, says nothing new.
 *
 * A circle is a risk if its threads can stand in all its steps at the same time:
 *   - in no two steps a lock is held that one of the two holds alone: it keeps them apart (a gate);
 *   - no thread has to be in two steps;
 *   - the lock that a step takes is not held shared by the next step while this one takes it shared, too; but a lock that
 *     prefers writers, and has been locked by one, makes readers wait for each other; so does any that is volt's.
 * A lock that was initialised again, or for other memory, is another lock: the generation says so. */
#include "report_orders.h"

#include <stdlib.h>
#include <string.h>

enum { ORDERS_STEPS = 2000000 };

struct edge {
  uint64_t from, to; /* a lock and its generation */
  struct orders_step step;
};

struct search {
  const struct report *r;
  struct orders *found;
  struct edge *edge;
  uint32_t edge_count;
  uint32_t longest; /* of the circles that are searched for now */
  uint32_t steps_left;
  struct orders_circle now;
};

static uint64_t edge_lock(uint32_t lock, uint32_t generation) {
  return (uint64_t)lock << 32 | generation;
}
static uint64_t held_lock(const struct books_held *h) {
  return edge_lock(h->lock, h->generation);
}
static uint64_t taken_lock(const struct books_order *o) {
  return edge_lock(o->lock, o->generation);
}

static int edge_compare(const void *a, const void *b) {
  const struct edge *left = (const struct edge *)a, *right = (const struct edge *)b;
  if (left->from != right->from) return left->from < right->from ? -1 : 1;
  return left->to < right->to ? -1 : left->to > right->to;
}

static bool order_is_sound(const struct report *r, const struct books_order *o) {
  if (!atomic_load(&o->is_whole) || o->held_count > BOOKS_ORDER_HELD) return false;
  for (uint32_t i = 0; i < o->held_count; i++) {
    if (o->held[i].lock == 0 || o->held[i].lock > r->s->lock_count) return false;
  }
  return o->lock != 0 && o->lock <= r->s->lock_count;
}

static bool edges_take(struct search *s) {
  uint32_t most = s->r->s->order_count * BOOKS_ORDER_HELD;
  s->edge = (struct edge *)calloc(most + 1u, sizeof *s->edge);
  if (!s->edge) return false;
  for (uint32_t i = 1; i <= s->r->s->order_count; i++) {
    const struct books_order *o = &s->r->orders[i];
    for (uint32_t k = 0; order_is_sound(s->r, o) && k < o->held_count; k++) {
      s->edge[s->edge_count++] = (struct edge){.from = held_lock(&o->held[k]),
                                               .to = taken_lock(o),
                                               .step = {.order = o, .held = &o->held[k]}};
    }
  }
  qsort(s->edge, s->edge_count, sizeof *s->edge, edge_compare);
  return true;
}

static uint32_t edges_from(const struct search *s, uint64_t lock) {
  uint32_t low = 0, high = s->edge_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->edge[middle].from < lock) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- whether it is a risk ---- */

/* Whether two threads can hold at the same time what they hold in these steps. */
static bool steps_go_together(const struct books_order *a, const struct books_order *b) {
  for (uint32_t i = 0; i < a->held_count; i++) {
    for (uint32_t k = 0; k < b->held_count; k++) {
      bool is_shared = a->held[i].how == BOOKS_READS_IT && b->held[k].how == BOOKS_READS_IT;
      if (!is_shared && held_lock(&a->held[i]) == held_lock(&b->held[k])) return false;
    }
  }
  return true;
}

/* Whether the first one waits for the second one, which holds what it takes. */
static bool steps_wait(const struct search *s, const struct orders_step *a,
                       const struct orders_step *b) {
  if (a->order->how != BOOKS_READS_IT || b->held->how != BOOKS_READS_IT) return true;
  const struct books_lock *l = &s->r->lock[a->order->lock];
  bool queues = s->r->s->is_served || (atomic_load(&l->flags) & BOOKS_PREFERS_WRITERS);
  return queues && atomic_load(&l->taken_at);
}

/* Give each step from this one on a thread that no other has. */
static bool steps_have_threads(struct orders_circle *c, uint32_t from) {
  if (from == c->length) return true;
  for (uint32_t i = 0; i < BOOKS_ORDER_THREADS; i++) {
    uint32_t tag = atomic_load(&c->step[from].order->threads[i]);
    bool is_free = tag != 0;
    for (uint32_t k = 0; k < from; k++) is_free = is_free && c->step[k].thread != tag;
    c->step[from].thread = tag;
    if (is_free && steps_have_threads(c, from + 1)) return true;
  }
  return false;
}

static bool circle_has(const struct orders_circle *c, uint64_t lock) {
  for (uint32_t i = 0; i < c->length; i++) {
    if (held_lock(c->step[i].held) == lock) return true;
  }
  return false;
}

static bool circle_is_known(const struct search *s) {
  for (uint32_t i = 0; i < s->found->count; i++) {
    const struct orders_circle *old = &s->found->circle[i];
    uint32_t same = 0;
    for (uint32_t k = 0; k < old->length; k++)
      same += circle_has(&s->now, held_lock(old->step[k].held));
    if (same == old->length) return true;
  }
  return false;
}

/* ---- the search ---- */

static void search_found(struct search *s) {
  if (circle_is_known(s) || !steps_have_threads(&s->now, 0)) return;
  if (s->found->count == ORDERS_MOST) {
    s->found->is_cut_short = true;
  } else {
    s->found->circle[s->found->count++] = s->now;
  }
}

static bool search_fits(const struct search *s, const struct edge *e) {
  const struct orders_circle *c = &s->now;
  if (c->length && !steps_wait(s, &c->step[c->length - 1], &e->step)) return false;
  for (uint32_t i = 0; i < c->length; i++) {
    if (!steps_go_together(c->step[i].order, e->step.order)) return false;
  }
  return true;
}

/* A circle is searched for from its lowest lock on. */
static void search_from(struct search *s, uint64_t home, uint64_t lock) {
  struct orders_circle *c = &s->now;
  for (uint32_t i = edges_from(s, lock); i < s->edge_count && s->edge[i].from == lock; i++) {
    const struct edge *e = &s->edge[i];
    if (s->steps_left == 0) s->found->is_cut_short = true;
    if (s->steps_left == 0) return;
    s->steps_left--;
    bool is_last = c->length + 1 == s->longest;
    if (is_last ? e->to != home : e->to <= home || circle_has(c, e->to)) continue;
    if (!search_fits(s, e)) continue;
    c->step[c->length++] = e->step;
    if (!is_last) {
      search_from(s, home, e->to);
    } else if (steps_wait(s, &e->step, &c->step[0])) {
      search_found(s);
    }
    c->length--;
  }
}

struct orders *orders_search(const struct report *r) {
  struct search s = {.r = r, .steps_left = ORDERS_STEPS};
  s.found = (struct orders *)calloc(1, sizeof *s.found);
  if (s.found && r->s->order_count > 1 && edges_take(&s)) {
    for (s.longest = 2; s.longest <= ORDERS_LONGEST; s.longest++) {
      for (uint32_t i = 0; i < s.edge_count; i++) {
        uint64_t home = s.edge[i].from;
        if (i == 0 || s.edge[i - 1].from != home) search_from(&s, home, home);
      }
    }
  }
  free(s.edge);
  return s.found;
}

/* ---- what is said of it ---- */

bool orders_is_one(const struct report *r, uint32_t lock, uint32_t generation) {
  return books_was_made(generation) ||
         symbols_is_static(r->symbols, atomic_load(&r->lock[lock].address));
}

bool orders_are_certain(const struct report *r, const struct orders_circle *c) {
  bool is_certain = true;
  for (uint32_t i = 0; i < c->length; i++)
    is_certain = is_certain && orders_is_one(r, c->step[i].held->lock, c->step[i].held->generation);
  return is_certain;
}

static const struct books_stack *stack_of(const struct report *r, uint32_t number) {
  if (number == 0 || number > r->s->stack_count) return NULL;
  return atomic_load(&r->stacks[number].state) == 2 ? &r->stacks[number] : NULL;
}

const struct books_stack *orders_held_stack(const struct report *r, const struct orders_step *s) {
  return stack_of(r, atomic_load(&s->order->held_stack[s->held - s->order->held]));
}

const struct books_stack *orders_stack(const struct report *r, const struct orders_step *s) {
  return stack_of(r, s->order->stack);
}
