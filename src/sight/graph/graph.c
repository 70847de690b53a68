/* graph.c: which party waits for which, and which of them can never go on.
 *
 * A party is a task or a thread. It `runs` again if one of the things that it awaits can end, and it
 * `ends` its wait if enough of them can: any of a select, all of a join. A thing can end:
 *   time, I/O, a channel, a notify, what is not known     always
 *   a lock, permits     if there are enough permits beside those that are held by parties that do not
 *                       run again, and the waiter before it, if that is known, is of a party that
 *                       does. A mutex has one permit; a rwlock has many, of which a writer wants all.
 *   a task, a group     if that task, or each task of the group, ends its wait
 * These rules have a least solution: begin with what can end always, and go on while a rule says
 * that something more can. A party that is left waits only for others that are left. Every gap in what is
 * known makes the solution larger: a holder that is not known may release, a waiter that is not
 * known may leave. So a gap hides a deadlock, and never makes one up.
 *
 * What can be read safely, and how
 *   A task   is claimed (rt/inspect/inspect.h): what it awaits and what it holds are at rest.
 *   A thread that blocks has a slot (core/inspect/sleepers.h), which outlives the look; what the
 *   slot says is
 *            taken if the thread is in the same wait before and after it was read.
 *   An object, and the waiter before another, are memory of others, which may end the moment the wait
 *            ends. They are copied by a system call, which fails where there is no memory
 *            (thread_seen.c). Such a copy may be of anything; it counts only if the second look finds
 *            that the wait has not ended meanwhile.
 *
 * Why what is found is true. Let the first look end at T1 and the second begin at T2; the objects are
 * read in between. Every party that is found was seen in both looks in the same wait, with no grant.
 *   1. So each of these waits lasted from T1 to T2, and none of these parties ran between T1 and T2.
 *   2. So each object that one of them waits for lived all that time (volt/future.h), and what was
 *      read of it was it.
 *   3. A holder that was read there is a party that is found. It holds the object then (holders.c I1),
 *      and did not release it before T2, because it did not run. No other party released it for this
 *      one either, or the object would be in the set of those that were passed on, which is asked
 *      last. The same holds of what is in the lists of what parties hold.
 *   4. The waiter that was read as the one before another was queued in the same FIFO, before it. If
 *      a party of the graph waits by that address from T1 to T2, it is that waiter, because a waiter
 *      that is queued later comes behind. Waiters do not pass each other.
 *   5. So at T2 all of this is true at once: each of these parties waits for things that only others
 *      of them can give, and none of them runs until one has given. None ever will, unless a party
 *      that is not one of them does what it need not: cancels one, closes the object, raises a
 *      limit, unlocks what it did not lock.
 *
 * What looks like a deadlock and is none (each is a test)
 *   a wait with a deadline           it can end by time
 *   a waker that is not a task's     its owner is not known, so it may be any party that runs
 *   a channel, a notify, an event    any party may send
 *   a holder that is not known       it was not stored yet, its list was full, or the object was
 *                                    passed on
 *   a semaphore that one party takes and another gives   a holder need not release it: its
 *                                    lists count only after a holder has released (`kept`)
 *   an edge that changes between the two   step 1
 *   a lock that was granted and not polled yet   the second look finds the grant, or another wait */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <string.h>
#include <sys/mman.h>

#include "../../core/os/hash.h"
#include "graph.h"

/* In the lowest two bits of `who`. */
enum { WHO_TASK = 1, WHO_THREAD = 2, WHO_GRANTED = 3 };

typedef struct graph_array {
  void *at;
  uint32_t count, room;
} graph_array;

/* Party `from` is waited for by a term. */
typedef struct graph_edge {
  uint32_t next; /* 1 + the next edge of the same party */
  uint32_t term;
  uint64_t n; /* permits that it holds; 0: it is before the term's waiter, or its end is awaited */
  bool is_before;
} graph_edge;

typedef struct graph_held {
  const void *object;
  const char *file;
  uint64_t n;
  uint32_t line;
  uint32_t party;
  uint32_t next; /* 1 + the next in the same bucket */
} graph_held;

struct volt_graph_ {
  graph_array parties, terms, held, edges;
  graph_array changes;                    /* a work list: party << 1, and 1 if it ends */
  graph_array by_who, by_held, by_waiter; /* tables of 1 + index; a power of two */
  bool is_adding;                         /* a party is being added */
  bool lacks_memory;
};

#define PARTY(g, i) (&((volt_waiting_ *)(g)->parties.at)[i])
#define TERM(g, i) (&((volt_term_ *)(g)->terms.at)[i])
#define HELD(g, i) (&((graph_held *)(g)->held.at)[i])
#define EDGE(g, i) (&((graph_edge *)(g)->edges.at)[i])
#define CHANGE(g, i) (((uint32_t *)(g)->changes.at)[i])
#define TABLE(array, i) (((uint32_t *)(array).at)[i])

/* ---- memory ---- */

static bool graph_room(graph_array *a, uint32_t count, size_t each) {
  if (count <= a->room) return true;
  uint32_t room = a->room ? a->room : 64;
  while (room < count && room < UINT32_C(1) << 30) room *= 2;
  void *at = mmap(NULL, room * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  if (a->at) {
    memcpy(at, a->at, a->count * each);
    (void)munmap(a->at, a->room * each);
  }
  a->at = at;
  a->room = room;
  return true;
}

/* Append one, all zero. Returns its index; UINT32_MAX: there is no memory. */
static uint32_t graph_append(volt_graph_ *g, graph_array *a, size_t each) {
  if (!graph_room(a, a->count + 1, each)) {
    g->lacks_memory = true;
    return UINT32_MAX;
  }
  memset((char *)a->at + a->count * each, 0, each);
  return a->count++;
}

static void graph_release(graph_array *a, size_t each) {
  if (a->at) (void)munmap(a->at, a->room * each);
  memset(a, 0, sizeof *a);
}

/* Make a table for so many entries, all 0. */
static bool graph_table(graph_array *a, uint32_t entries) {
  uint32_t slots = 64;
  while (slots < 2 * entries) slots *= 2;
  if (!graph_room(a, slots, sizeof(uint32_t))) return false;
  a->count = slots;
  memset(a->at, 0, slots * sizeof(uint32_t));
  return true;
}

static uint32_t graph_hash(const graph_array *table, uintptr_t key) {
  return (uint32_t)(volt_hash_((const void *)key) >> 32) & (table->count - 1);
}

volt_graph_ *volt_graph_new_(void) {
  void *at =
      mmap(NULL, sizeof(volt_graph_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? NULL : (volt_graph_ *)at;
}

void volt_graph_free_(volt_graph_ *g) {
  if (!g) return;
  graph_release(&g->parties, sizeof(volt_waiting_));
  graph_release(&g->terms, sizeof(volt_term_));
  graph_release(&g->held, sizeof(graph_held));
  graph_release(&g->edges, sizeof(graph_edge));
  graph_release(&g->changes, sizeof(uint32_t));
  graph_release(&g->by_who, sizeof(uint32_t));
  graph_release(&g->by_held, sizeof(uint32_t));
  graph_release(&g->by_waiter, sizeof(uint32_t));
  (void)munmap(g, sizeof *g);
}

void volt_graph_clear_(volt_graph_ *g) {
  g->parties.count = g->terms.count = g->held.count = g->edges.count = g->changes.count = 0;
  g->is_adding = false;
  g->lacks_memory = false;
}

/* ---- fill ---- */

void volt_graph_add_(volt_graph_ *g, const volt_waiting_ *w) {
  uint32_t i = graph_append(g, &g->parties, sizeof(volt_waiting_));
  g->is_adding = i != UINT32_MAX;
  if (!g->is_adding) return;
  volt_waiting_ *p = PARTY(g, i);
  *p = *w;
  p->first = g->terms.count;
  p->held = g->held.count;
  p->count = p->held_count = p->waited_for = 0;
  p->runs = p->ends = p->is_confirmed = p->is_listed = false;
  p->mark = 0;
}

void volt_graph_add_term_(volt_graph_ *g, const volt_term_ *term) {
  if (!g->is_adding) return;
  uint32_t i = graph_append(g, &g->terms, sizeof(volt_term_));
  if (i == UINT32_MAX) return;
  volt_term_ *t = TERM(g, i);
  *t = *term;
  t->party = g->parties.count - 1;
  t->can = false;
  t->by = t->missing = 0;
  t->stuck = t->total = 0;
  t->behind = false;
  PARTY(g, t->party)->count += 1;
}

void volt_graph_add_held_(volt_graph_ *g, const void *object, uint64_t n, const char *file,
                          uint32_t line) {
  if (!g->is_adding) return;
  uint32_t i = graph_append(g, &g->held, sizeof(graph_held));
  if (i == UINT32_MAX) return;
  HELD(g, i)->object = object;
  HELD(g, i)->n = n;
  HELD(g, i)->file = file;
  HELD(g, i)->line = line;
  HELD(g, i)->party = g->parties.count - 1;
  PARTY(g, HELD(g, i)->party)->held_count += 1;
}

static bool graph_is_composed(const volt_term_ *t) {
  return t->ends == VOLT_ENDS_ANY_ || t->ends == VOLT_ENDS_ALL_ || t->ends == VOLT_ENDS_INNER_;
}

static bool graph_can_by_itself(const volt_term_ *t) {
  return t->ends == VOLT_ENDS_UNKNOWN_ || t->ends == VOLT_ENDS_TIME_ || t->has_deadline;
}

/* Whether the term at *i can end, with what is within it; *i moves behind that. */
static bool graph_evaluate(const volt_graph_ *g, uint32_t end, uint32_t *i) {
  const volt_term_ *t = TERM(g, *i);
  *i += 1;
  bool all = true, any = t->can; /* by its own deadline */
  unsigned inside = 0;
  while (*i < end && TERM(g, *i)->depth > t->depth) {
    bool can = graph_evaluate(g, end, i);
    all = all && can;
    any = any || can;
    inside += 1;
  }
  if (!graph_is_composed(t)) return t->can; /* what it does with those within is not known */
  if (inside == 0) return true;
  return t->ends == VOLT_ENDS_ALL_ ? all : any;
}

/* Set runs and ends of a party from its terms. */
static void graph_read_party(volt_graph_ *g, volt_waiting_ *p) {
  uint32_t end = p->first + p->count;
  bool ends = true;
  for (uint32_t i = p->first; i < end; i++) {
    p->runs = p->runs || (TERM(g, i)->can && !TERM(g, i)->is_ready);
  }
  for (uint32_t i = p->first; i < end;) ends = graph_evaluate(g, end, &i) && ends;
  p->ends = p->ends || ends;
}

void volt_graph_added_(volt_graph_ *g) {
  if (!g->is_adding) return;
  g->is_adding = false;
  volt_waiting_ *p = PARTY(g, g->parties.count - 1);
  for (uint32_t i = p->first; i < p->first + p->count; i++) {
    TERM(g, i)->can = graph_can_by_itself(TERM(g, i));
  }
  graph_read_party(g, p);
  if (!p->ends && !g->lacks_memory) return;
  g->parties.count -= 1; /* it can go on by itself */
  g->terms.count = p->first;
  g->held.count = p->held;
}

/* ---- find ---- */

static uint32_t graph_party_of(const volt_graph_ *g, uintptr_t who) {
  if ((who & 3) == WHO_GRANTED) who = (who & ~(uintptr_t)3) | WHO_TASK; /* if it is a task's ctx */
  uint32_t mask = g->by_who.count - 1;
  for (uint32_t at = graph_hash(&g->by_who, who); TABLE(g->by_who, at) != 0; at = (at + 1) & mask) {
    uint32_t i = TABLE(g->by_who, at) - 1;
    if (PARTY(g, i)->who == who) return i;
  }
  return UINT32_MAX;
}

/* The term that waits by the waiter at this address. */
static uint32_t graph_term_of(const volt_graph_ *g, const void *waiter) {
  uint32_t mask = g->by_waiter.count - 1;
  uint32_t at = graph_hash(&g->by_waiter, (uintptr_t)waiter);
  for (; TABLE(g->by_waiter, at) != 0; at = (at + 1) & mask) {
    uint32_t i = TABLE(g->by_waiter, at) - 1;
    if (TERM(g, i)->waiter == waiter) return i;
  }
  return UINT32_MAX;
}

static void graph_put(graph_array *table, uintptr_t key, uint32_t index) {
  uint32_t at = graph_hash(table, key);
  while (TABLE(*table, at) != 0) at = (at + 1) & (table->count - 1);
  TABLE(*table, at) = index + 1;
}

static bool graph_index(volt_graph_ *g) {
  if (!graph_table(&g->by_who, g->parties.count) || !graph_table(&g->by_waiter, g->terms.count) ||
      !graph_table(&g->by_held, g->held.count)) {
    return false;
  }
  for (uint32_t i = 0; i < g->parties.count; i++) graph_put(&g->by_who, PARTY(g, i)->who, i);
  for (uint32_t i = 0; i < g->terms.count; i++) {
    if (TERM(g, i)->waiter) graph_put(&g->by_waiter, (uintptr_t)TERM(g, i)->waiter, i);
  }
  for (uint32_t i = 0; i < g->held.count; i++) {
    uint32_t *bucket = &TABLE(g->by_held, graph_hash(&g->by_held, (uintptr_t)HELD(g, i)->object));
    HELD(g, i)->next = *bucket;
    *bucket = i + 1;
  }
  return true;
}

/* Term waits for party. */
static void graph_edge_to(volt_graph_ *g, uint32_t term, uint32_t party, uint64_t n, bool before) {
  uint32_t i = graph_append(g, &g->edges, sizeof(graph_edge));
  if (i == UINT32_MAX) return;
  graph_edge *e = EDGE(g, i);
  e->term = term;
  e->n = n;
  e->is_before = before;
  e->next = PARTY(g, party)->waited_for;
  PARTY(g, party)->waited_for = i + 1;
  if (TERM(g, term)->by == 0) TERM(g, term)->by = party + 1;
}

static void graph_ask_holders(volt_graph_ *g, uint32_t term, volt_graph_ask_ *ask, void *ctx) {
  volt_graph_object_ o;
  memset(&o, 0, sizeof o);
  volt_term_ *t = TERM(g, term);
  if (!ask(ctx, t, &o)) {
    t->can = true;
    return;
  }
  t->total = o.total;
  if (t->wanted == 0) t->wanted = (uint32_t)o.total;
  uint32_t holder = o.holder ? graph_party_of(g, o.holder) : UINT32_MAX;
  if (holder != UINT32_MAX) {
    t->file = o.file;
    t->taken_line = o.line;
    t->taken_since = o.since;
    t->is_granted = (o.holder & 3) == WHO_GRANTED;
    t->stuck += o.holder_n;
    graph_edge_to(g, term, holder, o.holder_n, false);
  }
  uint32_t held = TABLE(g->by_held, graph_hash(&g->by_held, (uintptr_t)t->object));
  for (; o.is_shared && held != 0; held = HELD(g, held - 1)->next) {
    graph_held *h = HELD(g, held - 1);
    if (h->object != t->object || h->party == holder) continue;
    t->stuck += h->n;
    graph_edge_to(g, term, h->party, h->n, false);
  }
  uint32_t before = o.before ? graph_term_of(g, o.before) : UINT32_MAX;
  if (before != UINT32_MAX && TERM(g, before)->object == t->object) {
    t->behind = true;
    graph_edge_to(g, term, TERM(g, before)->party, 0, true);
  }
}

static void graph_ask_group(volt_graph_ *g, uint32_t term) {
  volt_term_ *t = TERM(g, term);
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (!PARTY(g, i)->group || PARTY(g, i)->group != t->object) continue;
    t->missing += 1;
    graph_edge_to(g, term, i, 0, false);
  }
}

static void graph_ask_task(volt_graph_ *g, uint32_t term) {
  uint32_t party = graph_party_of(g, (uintptr_t)TERM(g, term)->object | WHO_TASK);
  if (party == UINT32_MAX) return;
  TERM(g, term)->missing = 1;
  graph_edge_to(g, term, party, 0, false);
}

/* Whether a term can end, by what is known of those it waits for. */
static bool graph_is_free(const volt_term_ *t) {
  switch (t->ends) {
    case VOLT_ENDS_HOLDERS_:
      if (t->stuck == 0) return !t->behind; /* it may want more than there is */
      return !t->behind && t->stuck <= t->total && t->total - t->stuck >= t->wanted;
    case VOLT_ENDS_TASK_:
    case VOLT_ENDS_GROUP_: return t->missing == 0;
    case VOLT_ENDS_ANY_:
    case VOLT_ENDS_ALL_:
    case VOLT_ENDS_INNER_: return t->can; /* by what is within */
    case VOLT_ENDS_UNKNOWN_:
    case VOLT_ENDS_MEMBER_: /* the group may get another task */
    case VOLT_ENDS_TIME_: break;
  }
  return true;
}

/* Have the effects of a party's runs, or of its ends, looked at. */
static void graph_push(volt_graph_ *g, uint32_t party, bool ends) {
  uint32_t i = graph_append(g, &g->changes, sizeof(uint32_t));
  if (i != UINT32_MAX) CHANGE(g, i) = party << 1 | ends;
}

/* A term may have become free. */
static void graph_update(volt_graph_ *g, uint32_t term) {
  volt_term_ *t = TERM(g, term);
  if (t->can || !graph_is_free(t)) return;
  t->can = true;
  volt_waiting_ *p = PARTY(g, t->party);
  bool ran = p->runs, ended = p->ends;
  graph_read_party(g, p);
  if (p->runs && !ran) graph_push(g, t->party, false);
  if (p->ends && !ended) graph_push(g, t->party, true);
}

/* The party of a change runs, or ends: so less is stuck. */
static void graph_follow(volt_graph_ *g, uint32_t change) {
  bool ends = change & 1;
  for (uint32_t e = PARTY(g, change >> 1)->waited_for; e != 0; e = EDGE(g, e - 1)->next) {
    const graph_edge *edge = EDGE(g, e - 1);
    volt_term_ *t = TERM(g, edge->term);
    bool is_for_end = t->ends != VOLT_ENDS_HOLDERS_;
    if (is_for_end != ends) continue;
    if (is_for_end) {
      t->missing -= 1;
    } else if (edge->is_before) {
      t->behind = false;
    } else {
      t->stuck -= edge->n;
    }
    graph_update(g, edge->term);
  }
}

static unsigned graph_solve(volt_graph_ *g) {
  for (uint32_t i = 0; i < g->changes.count; i++) graph_follow(g, CHANGE(g, i));
  g->changes.count = 0;
  unsigned left = 0;
  for (uint32_t i = 0; i < g->parties.count; i++) left += !PARTY(g, i)->ends;
  return g->lacks_memory ? 0 : left;
}

unsigned volt_graph_resolve_(volt_graph_ *g, volt_graph_ask_ *ask, void *ctx) {
  if (g->lacks_memory || !graph_index(g)) return 0;
  for (uint32_t i = 0; i < g->terms.count; i++) {
    if (TERM(g, i)->ends == VOLT_ENDS_HOLDERS_) graph_ask_holders(g, i, ask, ctx);
    if (TERM(g, i)->ends == VOLT_ENDS_GROUP_) graph_ask_group(g, i);
    if (TERM(g, i)->ends == VOLT_ENDS_TASK_) graph_ask_task(g, i);
  }
  if (g->lacks_memory) return 0;
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (PARTY(g, i)->runs) graph_push(g, i, false);
  }
  for (uint32_t i = 0; i < g->terms.count; i++) {
    if (TERM(g, i)->can && TERM(g, i)->ends == VOLT_ENDS_HOLDERS_) {
      TERM(g, i)->can = false; /* nothing is known of it: it is free */
      TERM(g, i)->behind = false;
      TERM(g, i)->stuck = 0;
      TERM(g, i)->total = UINT64_MAX;
    }
    graph_update(g, i);
  }
  return graph_solve(g);
}

/* ---- the second look ---- */

void volt_graph_confirm_(volt_graph_ *g, uintptr_t who, uint64_t instance) {
  uint32_t i = graph_party_of(g, who);
  if (i != UINT32_MAX && PARTY(g, i)->instance == instance) PARTY(g, i)->is_confirmed = true;
}

void volt_graph_refuse_(volt_graph_ *g, uintptr_t who) {
  uint32_t i = graph_party_of(g, who);
  if (i != UINT32_MAX) PARTY(g, i)->instance = UINT64_MAX; /* that is none */
}

unsigned volt_graph_settle_(volt_graph_ *g, bool (*is_passed_on)(const void *object)) {
  for (uint32_t i = 0; i < g->parties.count; i++) {
    volt_waiting_ *p = PARTY(g, i);
    if (p->is_confirmed) continue;
    if (!p->runs) graph_push(g, i, false);
    if (!p->ends) graph_push(g, i, true);
    p->runs = p->ends = true;
  }
  for (uint32_t i = 0; i < g->terms.count; i++) {
    volt_term_ *t = TERM(g, i);
    if (t->ends != VOLT_ENDS_HOLDERS_ || t->can || !is_passed_on(t->object)) continue;
    t->total = UINT64_MAX;
    graph_update(g, i);
  }
  return graph_solve(g);
}

/* ---- the cycles, and the parties that wait behind them ---- */

/* A party that cannot go on waits for at least one other that cannot; one such is chosen for each. So from
 * each party one way leads on, and every way ends in a cycle. */

/* The first thing that a stuck party waits for and that a stuck party is to give. */
static volt_term_ *graph_stuck_term(volt_graph_ *g, const volt_waiting_ *p) {
  for (uint32_t i = p->first; i < p->first + p->count; i++) {
    if (!TERM(g, i)->can && TERM(g, i)->by != 0) return TERM(g, i);
  }
  return NULL;
}

/* Let `by` of each term that cannot end be a party that is stuck: one that holds something, if there
 * is one. */
static void graph_choose(volt_graph_ *g) {
  for (uint32_t i = 0; i < g->terms.count; i++) TERM(g, i)->by = 0;
  for (unsigned holders = 0; holders < 2; holders++) {
    for (uint32_t i = 0; i < g->parties.count; i++) {
      if (PARTY(g, i)->ends) continue;
      for (uint32_t e = PARTY(g, i)->waited_for; e != 0; e = EDGE(g, e - 1)->next) {
        const graph_edge *edge = EDGE(g, e - 1);
        bool is_stuck = TERM(g, edge->term)->ends != VOLT_ENDS_HOLDERS_ || !PARTY(g, i)->runs;
        if (is_stuck && edge->is_before != (holders != 0)) TERM(g, edge->term)->by = i + 1;
      }
    }
  }
}

/* Where the party has taken what the term waits for, if its list says so. */
static void graph_find_place(volt_graph_ *g, volt_term_ *t) {
  const volt_waiting_ *by = PARTY(g, t->by - 1);
  for (uint32_t i = by->held; i < by->held + by->held_count; i++) {
    if (HELD(g, i)->object != t->object) continue;
    t->file = HELD(g, i)->file;
    t->taken_line = HELD(g, i)->line;
  }
}

static void graph_report_party(volt_graph_ *g, volt_graph_report_ *report, void *ctx,
                               unsigned cycle, uint32_t place, uint32_t party) {
  volt_waiting_ *p = PARTY(g, party);
  volt_term_ *t = graph_stuck_term(g, p);
  p->is_listed = true;
  if (!t) return;
  graph_find_place(g, t);
  report(ctx, cycle, place, p, t, PARTY(g, t->by - 1));
}

static uint32_t graph_next(volt_graph_ *g, uint32_t party) {
  const volt_term_ *t = graph_stuck_term(g, PARTY(g, party));
  return t ? t->by - 1 : party;
}

/* Say the cycle that leads from a party, unless it was said before. Returns whether it was. */
static bool graph_report_cycle(volt_graph_ *g, volt_graph_report_ *report, void *ctx,
                               unsigned cycle, uint32_t party) {
  uint32_t mark = party + 1, at = party, place = 0;
  while (!PARTY(g, at)->is_listed && PARTY(g, at)->mark != mark) {
    PARTY(g, at)->mark = mark;
    at = graph_next(g, at);
  }
  if (PARTY(g, at)->is_listed) return false;
  for (uint32_t i = at; !PARTY(g, i)->is_listed; i = graph_next(g, i)) {
    graph_report_party(g, report, ctx, cycle, place++, i);
  }
  return true;
}

void volt_graph_report_all_(volt_graph_ *g, volt_graph_report_ *report, void *ctx) {
  unsigned cycles = 0;
  graph_choose(g);
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (PARTY(g, i)->ends || PARTY(g, i)->is_listed) continue;
    if (graph_report_cycle(g, report, ctx, cycles + 1, i)) cycles += 1;
  }
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (!PARTY(g, i)->ends && !PARTY(g, i)->is_listed)
      graph_report_party(g, report, ctx, 0, UINT32_MAX, i);
  }
}

bool volt_graph_has_(const volt_graph_ *g, uintptr_t who) {
  uint32_t i = graph_party_of(g, who);
  return i != UINT32_MAX && !PARTY(g, i)->ends;
}
