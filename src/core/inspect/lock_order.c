/* lock_order.c: in which order locks are taken. A lock that is taken while another is held comes
 * after that one. If the order has a cycle, two parties that take its locks at the same time may
 * wait for each other for ever; so the cycle is reported when its last step is seen first, before
 * anything hangs.
 *
 * Algorithm: a lock is of a class: all locks of one name, and level, are one; a lock without a name is
 * one of its own, by a number that it gets when it is needed first. An edge says that a lock of one
 * class was held when one of another was locked. There is room for 4,096 edges; when they are used up,
 * all are forgotten. To look whether an edge is known takes no lock. A thread that has a new one locks
 * the table, adds the edge and looks whether a way leads from the new lock back to the one that is
 * held. If the table stays locked for a while (its holder is stopped), the thread adds the edge the
 * next time.
 *   A try_lock() waits for no lock, so it adds no edge; what it has locked is held as any other.
 *   Two locks of one class, one held as the other is locked, have no order: volt_name_nested() gives
 * those levels. Permits of semaphores have none either.
 *   An edge knows what else was held. If all edges of a cycle share a lock that was held alone, that
 * lock keeps them apart, and the cycle is no danger.
 *
 * Race
 *   R1  Interleaving: a thread forks while another changes the table, for the first time, too; in the
 *       child the table stays locked for ever, and is half changed. Prevented by: the child forgets
 *       all, and unlocks (at_fork.h).
 *   R2  Interleaving: two threads lock in two orders at the same time, for the first time, and wait for
 *       each other: there is no next time. Prevented by: the second waits for the table, unless that
 *       stays locked for long (table_lock.h). */
#include "lock_order.h"

#include <stdio.h>
#include <string.h>

#include "../hooks/named.h"
#include "../os/check.h"
#include "../os/hash.h"
#include "../park/spin.h"
#include "holders.h"
#include "table_lock.h"

#if VOLT_SIGHT

enum {
  EDGES = 4096,
  SLOTS = 2 * EDGES,
  GUARDS = 4,
  LONGEST = 8,
  FOUND = 8,
  REPORTED = 64,
  NAME = 40
};

VOLT_ATOMIC(uint32_t) volt_lock_order_is_on_;

/* A lock, as an edge knows it. */
typedef struct order_lock {
  uint64_t class;
  const void *object;
  const char *name; /* NULL: it has none. While the edge is added: later the name may be gone */
  const char *file; /* where it was locked */
  uint32_t line;
} order_lock;

typedef struct order_edge {
  order_lock from, to;
  char from_name[NAME], to_name[NAME]; /* copies; "": it has none */
  uint64_t guard[GUARDS];              /* classes that were held alone beside `from`; 0: none */
  uint32_t next;                       /* 1 + the next edge from a lock of the same bucket */
} order_edge;

typedef struct order_cycle {
  unsigned length;
  unsigned steps; /* that are left, to find it */
  order_edge edge[LONGEST];
} order_cycle;

static VOLT_ATOMIC(uint64_t) order_keys[SLOTS]; /* of edges that are known; 0: free */
static VOLT_ATOMIC(uint32_t) order_ids;

static volt_table_lock_ order_table;

/* Under the lock. */
static order_edge order_edges[EDGES];
static uint32_t order_first[SLOTS]; /* 1 + the first edge from a lock of this bucket */
static uint32_t order_count;
static order_cycle order_found[FOUND];
static unsigned order_found_count;
static uint64_t order_reported[REPORTED];
static unsigned order_reported_count;
static void (*order_call)(void);

static uint64_t order_mix(uint64_t a, uint64_t b) {
  uint64_t mixed = (a ^ b * VOLT_GOLDEN_) * UINT64_C(0xd6e8feb86659fd93);
  return mixed ^ mixed >> 32;
}

/* ---- classes ---- */

static uint64_t order_class_of_name(const volt_named_ *named) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *c = named->name; *c; c++) {
    hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
  }
  return order_mix(hash, named->level + 1) | UINT64_C(1) << 63;
}

static uint64_t order_class_of_object(const void *object) {
  volt_with_holder_ *m = (volt_with_holder_ *)(uintptr_t)object;
  uint32_t id = volt_load_relaxed(&m->holder.id); /* relaxed: a number, which orders nothing */
  if (id != 0) return id;
  uint32_t fresh = volt_fetch_add_relaxed(&order_ids, 1) + 1;
  /* relaxed, no data: a number, as above */
  return volt_cas_relaxed(&m->holder.id, &id, fresh) ? fresh : id;
}

static void order_read_lock(const void *object, const char *file, uint32_t line, order_lock *lock) {
  volt_named_ named;
  lock->object = object;
  lock->file = file;
  lock->line = line;
  lock->name = NULL;
  if (volt_name_find_(object, &named)) {
    lock->name = named.name;
    lock->class = order_class_of_name(&named);
  } else {
    lock->class = order_class_of_object(object);
  }
}

/* ---- the table ---- */

static uint64_t order_key(const order_lock *from, const order_lock *to) {
  return order_mix(from->class, to->class) | 1;
}

/* Returns the slot of the key, or of a free place for it. relaxed: keys are numbers */
static uint32_t order_slot(uint64_t key, bool *is_known) {
  uint32_t at = (uint32_t)(key >> 8) % SLOTS;
  for (;; at = (at + 1) % SLOTS) {
    uint64_t seen = volt_load_relaxed(&order_keys[at]);
    *is_known = seen == key;
    if (seen == key || seen == 0) return at;
  }
}

static void order_forget(void) {
  for (unsigned i = 0; i < SLOTS; i++) volt_store_relaxed(&order_keys[i], 0); /* numbers */
  memset(order_first, 0, sizeof order_first);
  order_count = 0;
}

static uint32_t *order_bucket(uint64_t class) {
  return &order_first[order_mix(class, 7) % SLOTS];
}

/* ---- cycles ---- */

/* Whether a lock that was held alone keeps the steps of a cycle apart. */
static bool order_is_guarded(const order_cycle *c) {
  for (unsigned g = 0; g < GUARDS && c->edge[0].guard[g] != 0; g++) {
    unsigned with = 0;
    for (unsigned i = 0; i < c->length; i++) {
      for (unsigned k = 0; k < GUARDS; k++) with += c->edge[i].guard[k] == c->edge[0].guard[g];
    }
    if (with >= c->length) return true;
  }
  return false;
}

/* Look for a way from the lock that the last edge of *c leads to, back to `home`. Ways are short. */
static bool order_find_way(order_cycle *c, uint64_t home) {
  uint64_t at = c->edge[c->length - 1].to.class;
  for (uint32_t i = *order_bucket(at); i != 0; i = order_edges[i - 1].next) {
    const order_edge *e = &order_edges[i - 1];
    if (e->from.class != at || c->steps == 0) continue;
    c->steps -= 1;
    bool was_there = false;
    for (unsigned k = 0; k < c->length; k++)
      was_there = was_there || c->edge[k].to.class == e->to.class;
    if (was_there && e->to.class != home) continue;
    c->edge[c->length++] = *e;
    if (e->to.class == home && !order_is_guarded(c)) return true;
    if (e->to.class != home && c->length < LONGEST && order_find_way(c, home)) return true;
    c->length -= 1;
  }
  return false;
}

/* Whether the same locks were reported before, from whatever edge on. */
static bool order_was_reported(const order_cycle *c) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < c->length; i++) sum += order_key(&c->edge[i].from, &c->edge[i].to);
  for (unsigned i = 0; i < REPORTED; i++) {
    if (order_reported[i] == sum) return true;
  }
  order_reported[order_reported_count++ % REPORTED] = sum;
  return false;
}

static void order_copy_name(char copy[NAME], order_lock *lock) {
  copy[0] = 0;
  if (lock->name) (void)snprintf(copy, NAME, "%s", lock->name);
  lock->name = NULL;
}

/* The lock of the table is held. Returns whether the edge closes a cycle that is news. */
static bool order_add(const order_edge *edge) {
  bool is_known;
  if (order_count == EDGES) order_forget();
  uint32_t slot = order_slot(order_key(&edge->from, &edge->to), &is_known);
  if (is_known) return false;
  volt_store_relaxed(&order_keys[slot], order_key(&edge->from, &edge->to)); /* a number */
  order_edge *added = &order_edges[order_count++];
  *added = *edge;
  order_copy_name(added->from_name, &added->from);
  order_copy_name(added->to_name, &added->to);
  uint32_t *bucket = order_bucket(edge->from.class);
  added->next = *bucket;
  *bucket = order_count;
  order_cycle c;
  c.length = 1;
  c.steps = EDGES;
  c.edge[0] = *added;
  if (!order_find_way(&c, edge->from.class) || order_was_reported(&c)) return false;
  if (order_found_count == FOUND) return false;
  order_found[order_found_count++] = c;
  return true;
}

static void order_note_edge(const order_edge *edge) {
  bool is_known;
  if (edge->from.class == edge->to.class) return;
  (void)order_slot(order_key(&edge->from, &edge->to), &is_known);
  if (is_known || !volt_table_lock_wait_(&order_table)) return;
  bool is_news = order_add(edge);
  void (*call)(void) = order_call;
  volt_table_lock_unlock_(&order_table);
  if (is_news && call) call();
}

void volt_lock_order_note_(const volt_party_ *p, const void *object) {
  order_edge edge;
  memset(&edge, 0, sizeof edge);
  order_read_lock(object, p->file, p->line, &edge.to);
  unsigned guards = 0;
  uint32_t count = volt_load_relaxed(&p->count); /* its own, as all of the list */
  for (uint32_t i = 0; i < count; i++) {
    const volt_held_ *held = &p->held[i];
    uintptr_t how = volt_load_relaxed(&held->object) & 3;
    const void *other = (const void *)(volt_load_relaxed(&held->object) & ~(uintptr_t)3);
    if (how == VOLT_HELD_PERMITS_ || other == object || volt_holder_is_passed_on_(other)) continue;
    order_read_lock(other, volt_load_relaxed(&held->file), volt_load_relaxed(&held->line),
                    &edge.from);
    order_note_edge(&edge);
    if (how == VOLT_HELD_ALONE_ && guards < GUARDS) edge.guard[guards++] = edge.from.class;
  }
}

/* ---- words ---- */

static int order_print_lock(char *text, size_t size, const order_lock *lock, const char *name) {
  if (name[0]) return snprintf(text, size, "'%s'", name);
  return snprintf(text, size, "%p", lock->object);
}

static int order_print_edge(char *text, size_t size, const order_edge *e) {
  char from[80], to[80];
  (void)order_print_lock(from, sizeof from, &e->from, e->from_name);
  (void)order_print_lock(to, sizeof to, &e->to, e->to_name);
  return snprintf(text, size, "  %s is locked (%s:%u) while %s is held (%s:%u)\n", to,
                  e->to.file ? e->to.file : "?", e->to.line, from,
                  e->from.file ? e->from.file : "?", e->from.line);
}

size_t volt_lock_order_take_(char *text, size_t size) {
  static const char head[] = "lock order: these may wait for each other for ever:\n";
  size_t length = 0;
  if (!volt_table_lock_wait_(&order_table)) return 0;
  if (order_found_count > 0) {
    const order_cycle *c = &order_found[--order_found_count];
    int written = snprintf(text, size, "%s", head);
    for (unsigned i = 0; i < c->length && written >= 0 && length + (size_t)written < size; i++) {
      length += (size_t)written;
      written = order_print_edge(text + length, size - length, &c->edge[i]);
    }
    if (written >= 0 && length + (size_t)written < size) length += (size_t)written;
  }
  volt_table_lock_unlock_(&order_table);
  return length;
}

static void order_clear(void) {
  if (order_count > 0) order_forget();
  order_found_count = 0;
  order_reported_count = 0;
  memset(order_reported, 0, sizeof order_reported);
}

void volt_lock_order_switch_(void (*found)(void)) {
  unsigned spins = 0;
  while (!volt_table_lock_try_(&order_table)) volt_pause_(&spins);
  order_clear();
  order_call = found;
  volt_table_lock_unlock_(&order_table);
  volt_store_relaxed(&volt_lock_order_is_on_, found != NULL); /* a switch, which orders nothing */
}

/* R1. relaxed: no other thread is here */
void volt_lock_order_forget_(void) {
  bool was_used = order_call != NULL || volt_load_relaxed(&order_table.word) != 0;
  volt_store_relaxed(&volt_lock_order_is_on_, 0);
  if (!was_used) return;
  order_forget(); /* the count may not say yet what is there */
  order_clear();
  order_call = NULL;
  volt_table_lock_unlock_(&order_table);
}

#else

void volt_lock_order_switch_(void (*found)(void)) {
  (void)found;
}

size_t volt_lock_order_take_(char *text, size_t size) {
  (void)text;
  (void)size;
  return 0;
}

#endif
