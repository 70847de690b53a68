/* orders.c: in which order threads take locks: what was held when another lock was taken.
 *
 * One entry of the books says that a lock was taken while others were held: which, and how, and by which threads. That
 * is put down when it is seen first; the report searches it for circles (report_orders.c). A lock that is taken alone
 * costs a comparison, and one that is taken while others are held costs a hash of these and one entry of the thread's
 * cache. It is put down before the lock is taken, which others may want.
 *   Only a call that waits without an end makes an order: one that tries, or has a deadline, ends by itself. What these have
 * taken is held as any other lock.
 *   While a thread is alone, no other one can take its locks in another order: it makes none, until another thread
 * begins.
 *
 * With which stack the next lock was taken, is put down at once. With which one those before it were taken was not known to
 * be of use then: so the next threads that take these locks put down theirs, a few times, and when one of them comes to
 * this order again, they go into the entry. Until then it is not in any thread's cache.
 *
 * Entries only come, so they are read without a lock. The index has an entry when that is whole.
 * Races
 *   R1  Interleaving: two threads put down one order at once, and each has an entry of its own, of which each has one
 *       thread. Prevented by: the index has one place for a key; the second thread finds it taken, and adds itself to that
 *       entry; its own one stays as it is, and is not whole.
 *   R2  Interleaving: two threads keep a stack in one place. Prevented by: the second one takes the next place.
 *   R3  Interleaving: a report is made while an entry is written. Prevented by: `is_whole` is set last. */
#define _GNU_SOURCE 1 /* as a C++ compiler has it, for the models */
#include "watch/orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/wait.h"

enum { ORDERS_PROBES = 64, ORDERS_TRIES = 4, ORDERS_STACKS = 4, ORDERS_WANTED = 4096 };

static bool orders_are_off;

void orders_begin(void) {
  const char *how = getenv("VOLT_RUN_ORDERS");
  orders_are_off = how && strcmp(how, "off") == 0;
}

static uint64_t orders_mix(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* A thread takes a lock while it holds others. */
struct orders_taking {
  const struct books_thread *self;
  uint32_t held;
  uint32_t lock, generation;
  enum books_how how;
  uintptr_t at;
  uint64_t key; /* of all that makes it another order */
};

/* Returns false: the thread holds the lock already, and takes it once more. */
static bool orders_make_key(struct orders_taking *t) {
  uint64_t which = (uint64_t)t->lock << 32 | t->generation;
  uint64_t key = orders_mix(orders_mix(t->held, which), t->how);
  for (uint32_t i = 0; i < t->held; i++) {
    const struct books_held *h = &t->self->held[i];
    uint64_t other = (uint64_t)h->lock << 32 | h->generation;
    if (other == which) return false;
    key = orders_mix(orders_mix(key, other), h->how);
  }
  t->key = key;
  return true;
}

/* ---- stacks ---- */

/* That of the thread that calls. Returns its number; 0: there is no room. */
static uint32_t orders_keep_stack(uintptr_t at) {
  uintptr_t stack[BOOKS_DEPTH];
  uint32_t depth = books_stack(stack, at);
  uint64_t key = depth;
  for (uint32_t i = 0; i < depth; i++) key = orders_mix(key, stack[i]);
  for (uint32_t i = 0; i < ORDERS_PROBES; i++) {
    uint32_t number = (uint32_t)((key >> 20) + i) % BOOKS_STACKS + 1, none = 0;
    struct books_stack *s = &watch_books->stack[number];
    uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    if (state == 2 && s->key == key) return number;
    if (state != 0 || !atomic_compare_exchange_strong(&s->state, &none, 1)) continue; /* R2 */
    s->depth = depth;
    s->key = key;
    memcpy(s->at, stack, depth * sizeof stack[0]);
    atomic_store_explicit(&s->state, 2, memory_order_release);
    return number;
  }
  return 0;
}

uint32_t orders_take_stack(struct books_lock *l, uintptr_t at) {
  uint16_t flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  while ((flags & BOOKS_WANTS_STACKS) &&
         !atomic_compare_exchange_weak(&l->flags, &flags, (uint16_t)(flags - BOOKS_WANTS_STACK))) {
  }
  return orders_keep_stack(at);
}

/* ---- the table ---- */

/* Its number; 0: it is not there, and *place is where it would be; or NULL: there is no room. */
static uint32_t orders_find(uint64_t key, _Atomic(uint32_t) **place) {
  *place = NULL;
  for (uint32_t i = 0; i < ORDERS_PROBES; i++) {
    _Atomic(uint32_t) *slot = &watch_books->order_slot[((key >> 20) + i) % BOOKS_ORDER_SLOTS];
    uint32_t number = atomic_load_explicit(slot, memory_order_acquire);
    if (number && watch_books->order[number].key == key) return number;
    if (number) continue;
    *place = slot;
    return 0;
  }
  return 0;
}

static void orders_add_thread(struct books_order *o, uint32_t tag) {
  for (uint32_t i = 0; i < BOOKS_ORDER_THREADS; i++) {
    uint32_t seen = atomic_load_explicit(&o->threads[i], memory_order_relaxed);
    if (seen == tag) return;
    if (seen == 0 && atomic_compare_exchange_strong(&o->threads[i], &seen, tag)) return;
    if (seen == tag) return;
  }
}

/* Returns 0: there is no room. */
static uint32_t orders_write(const struct orders_taking *t) {
  uint32_t number = atomic_fetch_add(&watch_books->order_count, 1) + 1;
  if (number > BOOKS_ORDERS) {
    atomic_fetch_sub(&watch_books->order_count, 1);
    return 0;
  }
  struct books_order *o = &watch_books->order[number];
  o->lock = t->lock;
  o->generation = t->generation;
  o->how = (uint16_t)t->how;
  o->key = t->key;
  o->held_count = (uint16_t)t->held;
  memcpy(o->held, t->self->held, t->held * sizeof o->held[0]);
  o->tid = atomic_load(&t->self->tid);
  memcpy(o->name, t->self->name, sizeof o->name);
  o->at = t->at;
  o->stack = orders_keep_stack(t->at);
  return number;
}

/* ---- stacks of the locks that were held ---- */

static void orders_want_stack(struct books_lock *l) {
  uint16_t flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  while (!(flags & BOOKS_WANTS_STACKS) &&
         !atomic_compare_exchange_weak(&l->flags, &flags,
                                       (uint16_t)(flags | ORDERS_STACKS * BOOKS_WANTS_STACK))) {
  }
}

/* Put down what this thread knows of them. Returns whether there is no more to wait for. */
static bool orders_put_stacks(const struct books_thread *self, struct books_order *o) {
  uint32_t known = 0, tries = atomic_fetch_add_explicit(&o->tries, 1, memory_order_relaxed);
  for (uint32_t i = 0; i < o->held_count; i++) {
    const struct books_held *h = &self->held[i];
    if (h->stack) atomic_store_explicit(&o->held_stack[i], h->stack, memory_order_relaxed);
    known += atomic_load_explicit(&o->held_stack[i], memory_order_relaxed) != 0;
  }
  bool is_over = known == o->held_count || tries >= ORDERS_TRIES ||
                 atomic_fetch_add(&watch_books->stacks_wanted, 1) >= ORDERS_WANTED;
  if (is_over) atomic_store_explicit(&o->tries, ORDERS_TRIES + 1, memory_order_relaxed);
  if (is_over) return true;
  for (uint32_t i = 0; i < o->held_count; i++) {
    if (!atomic_load_explicit(&o->held_stack[i], memory_order_relaxed))
      orders_want_stack(books_lock(self->held[i].lock));
  }
  return false;
}

/* Returns its number; 0: there is no room. */
static uint32_t orders_add(const struct orders_taking *t) {
  _Atomic(uint32_t) *place;
  uint32_t number = orders_find(t->key, &place), own = 0;
  while (!number) {
    if (!own && place) own = orders_write(t);
    if (!own || !place) return 0;
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(place, &none, own)) {
      number = own;
      atomic_store_explicit(&watch_books->order[own].is_whole, 1, memory_order_release); /* R3 */
    } else {
      number = orders_find(t->key, &place); /* R1 */
    }
  }
  orders_add_thread(&watch_books->order[number], books_tag(t->self));
  return number;
}

/* ---- an order ---- */

/* Of an order that is put down. */
static bool orders_has_thread(const struct books_order *o, uint32_t tag) {
  uint32_t seen = 0;
  for (uint32_t i = 0; i < BOOKS_ORDER_THREADS; i++) {
    seen = atomic_load_explicit(&o->threads[i], memory_order_relaxed);
    if (seen == tag) return true;
  }
  return seen != 0; /* or it has as many as are kept */
}

/* Returns whether there is nothing more to put down of it. */
static bool orders_put(const struct orders_taking *t) {
  uint32_t number = t->held <= BOOKS_ORDER_HELD ? orders_add(t) : 0;
  if (number) return orders_put_stacks(t->self, &watch_books->order[number]);
  atomic_fetch_add(&watch_books->orders_left_out, 1);
  return true;
}

static bool orders_are_put(const struct orders_taking *t) {
  _Atomic(uint32_t) *place;
  uint32_t number = orders_find(t->key, &place);
  const struct books_order *o = &watch_books->order[number];
  return number && orders_has_thread(o, books_tag(t->self)) &&
         atomic_load_explicit(&o->tries, memory_order_relaxed) > ORDERS_TRIES;
}

/* An entry of the cache: those of two places are tried. */
static uint32_t *orders_cached(const struct books_thread *self, uint64_t own, uint32_t known,
                               uint32_t alone) {
  uint32_t *at =
      &watch_books->order_cached[self->number][(own >> 32) % (BOOKS_ORDERS_CACHED / 2) * 2];
  if (at[0] == known || at[0] == alone) return at;
  return at + 1;
}

void orders_note(struct books_thread *self, uint32_t held, uint32_t lock, enum books_how how,
                 uintptr_t at) {
  if (orders_are_off) return;
  uint32_t generation = atomic_load_explicit(&books_lock(lock)->generation, memory_order_relaxed);
  struct orders_taking t = {
      .self = self, .held = held, .lock = lock, .generation = generation, .how = how, .at = at};
  if (!orders_make_key(&t)) return;
  uint64_t own = orders_mix(t.key, books_tag(self));
  uint32_t begun = atomic_load_explicit(&watch_books->begun, memory_order_relaxed);
  uint32_t known = (uint32_t)own | 1, alone = (uint32_t)orders_mix(own, begun) | 1;
  uint32_t *cached = orders_cached(self, own, known, alone);
  if (__builtin_expect(*cached == known || *cached == alone, 1)) return;
  if (held_forget(self)) return; /* the next time it is another order */
  int error = errno;
  bool is_known = orders_are_put(&t), is_alone = !is_known && books_is_alone(self);
  if (is_known || is_alone || orders_put(&t)) {
    uint32_t *first = (uint32_t *)((uintptr_t)cached & ~(uintptr_t)7);
    first[1] = first[0];
    first[0] = is_alone ? alone : known;
  }
  errno = error;
}
