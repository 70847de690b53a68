/* sharded_rwlock.c: an array of rwlocks. A reader locks one of them, a writer locks all.
 *
 * Algorithm
 *   A writer locks the shards in the order of the array, one after another, and unlocks them in the
 *   other order. All that is concurrent happens in the shards' rwlocks. Only the writer itself
 *   knows how many shards it has: `locked` of its future, or a variable of its call.
 *
 * Source: the "big-reader" lock of Linux, and crossbeam's ShardedLock.
 *
 * Invariants
 *   I1  A writer that has shard n has every shard before n.
 *   I2  A call that fails, and a future that is cancelled, has no shard.
 *
 * Races
 *   R1  Interleaving: one writer has the first shard and waits for the second; another has the
 *       second and waits for the first. Prevented by: I1. All ways to lock for writing use the one
 *       order.
 *   R2  Interleaving: a future is cancelled, or its deadline passes, while it has some shards and
 *       waits for the next, which is granted at this moment. Prevented by: the cancel of that
 *       shard's future gives the shard back. After that, the cancel unlocks the shards before it.
 *   R3  Interleaving: a writer writes while a reader is in a shard that the writer has not reached.
 *       Prevented by: the call or future of a writer returns VOLT_OK only when it has the last
 *       shard.
 *   R4  Interleaving: a writer unlocks; the next writer takes the lock, is its last user, and frees
 *       it, while the first still unlocks. Prevented by: the next writer locks every shard, so it
 *       has the lock only after the last unlock of the first, which touches nothing afterwards. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/sharded_rwlock.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/locals.h"
#include "../core/park/spin.h"

extern inline volt_rwlock *volt_sharded_rwlock_shard_(volt_sharded_rwlock *, uint32_t);
extern inline int volt_sharded_rwlock_try_read(volt_sharded_rwlock *, uint32_t);
extern inline int volt_sharded_rwlock_read_until(volt_sharded_rwlock *, uint32_t, uint64_t);
extern inline void volt_sharded_rwlock_read(volt_sharded_rwlock *, uint32_t);
extern inline void volt_sharded_rwlock_read_unlock(volt_sharded_rwlock *, uint32_t);

void volt_sharded_rwlock_init(volt_sharded_rwlock *s, volt_rwlock_shard *shards, uint32_t count) {
  VOLT_CHECK(count > 0, volt_kind_api_(VOLT_KIND_SHARDED_RWLOCK_), "%p: it has no shard",
             (void *)s);
  VOLT_CHECK(shards && (uintptr_t)shards % VOLT_CACHE_LINE == 0,
             volt_kind_api_(VOLT_KIND_SHARDED_RWLOCK_),
             "%p: its shards at %p are not aligned to %u", (void *)s, (void *)shards,
             (unsigned)VOLT_CACHE_LINE);
  s->shards = shards;
  s->count = count;
  for (uint32_t i = 0; i < count; i++) volt_rwlock_init(&shards[i].lock);
}

void volt_sharded_rwlock_destroy(volt_sharded_rwlock *s) {
  volt_unname_at_end_(s);
  for (uint32_t i = 0; i < s->count; i++) volt_rwlock_destroy(&s->shards[i].lock);
}

static void sharded_check(const volt_sharded_rwlock *s) {
  VOLT_CHECK(s->count > 0, volt_kind_api_(VOLT_KIND_SHARDED_RWLOCK_),
             "%p was not initialised: volt_sharded_rwlock_init()", (const void *)s);
}

/* ---- readers ---- */

uint32_t volt_sharded_rwlock_here(const volt_sharded_rwlock *s) {
  sharded_check(s);
  return volt_thread_number_() % s->count;
}

void volt_sharded_rwlock_refuse_(const volt_sharded_rwlock *s, uint32_t shard) {
  VOLT_CHECK(shard < s->count, volt_kind_api_(VOLT_KIND_SHARDED_RWLOCK_), "%p: shard %u of %u%s",
             (const void *)s, shard, s->count, s->count == 0 ? ": volt_sharded_rwlock_init()" : "");
}

volt_future *volt_sharded_rwlock_read_future(volt_future *f, volt_sharded_rwlock *s,
                                             uint32_t shard) {
  return volt_rwlock_read_future(f, volt_sharded_rwlock_shard_(s, shard));
}

/* ---- writers ---- */

/* Unlock the first `count` shards. */
static void sharded_unlock_first(volt_sharded_rwlock *s, uint32_t count) {
  while (count > 0) volt_rwlock_write_unlock(&s->shards[--count].lock); /* R4 */
}

int volt_sharded_rwlock_try_write(volt_sharded_rwlock *s) {
  sharded_check(s);
  for (uint32_t i = 0; i < s->count; i++) { /* I1 */
    if (volt_rwlock_try_write(&s->shards[i].lock) == VOLT_OK) continue;
    sharded_unlock_first(s, i); /* I2 */
    return VOLT_EAGAIN;
  }
  return VOLT_OK;
}

int volt_sharded_rwlock_write_until(volt_sharded_rwlock *s, uint64_t deadline_ns) {
  volt_check_blocks_("volt_sharded_rwlock_write_until", deadline_ns);
  sharded_check(s);
  for (uint32_t i = 0; i < s->count; i++) { /* I1 */
    int result = volt_rwlock_write_until(&s->shards[i].lock, deadline_ns);
    if (result == VOLT_OK) continue;
    sharded_unlock_first(s, i); /* I2 */
    return result;
  }
  return VOLT_OK;
}

void volt_sharded_rwlock_write(volt_sharded_rwlock *s) {
  volt_check_blocks_("volt_sharded_rwlock_write", VOLT_NO_DEADLINE);
  sharded_check(s);
  for (uint32_t i = 0; i < s->count; i++) volt_rwlock_write(&s->shards[i].lock); /* I1 */
}

void volt_sharded_rwlock_write_unlock(volt_sharded_rwlock *s) {
  sharded_unlock_first(s, s->count);
}

/* ---- writers, by a future ---- */

static volt_sharded_write *sharded_write_of(volt_future *f) {
  return volt_container_of(f, volt_sharded_write, future);
}

static volt_future *sharded_write_next(volt_sharded_write *w) {
  return volt_rwlock_write_future(&w->shard, &w->lock->shards[w->locked].lock);
}

/* A writer that has some shards keeps readers out. So it goes on although the budget is used up. */
static int sharded_write_poll(volt_future *f, volt_ctx *ctx) {
  volt_sharded_write *w = sharded_write_of(f);
  for (;;) {
    int result = volt_future_poll_branch_(&w->shard, ctx);
    if (result != VOLT_OK) return result;
    w->locked += 1;
    if (w->locked == w->lock->count) return VOLT_OK; /* R3 */
    sharded_write_next(w);
  }
}

/* I2 */
static void sharded_write_unlock(volt_future *f) {
  volt_sharded_write *w = sharded_write_of(f);
  sharded_unlock_first(w->lock, w->locked);
  w->locked = 0;
}

static bool sharded_write_cancel(volt_future *f) {
  volt_future_cancel(&sharded_write_of(f)->shard); /* R2 */
  sharded_write_unlock(f);
  return true;
}

static void sharded_write_leave(volt_future *f) {
  volt_future_leave_(&sharded_write_of(f)->shard);
}

static volt_future *sharded_write_inside(volt_future *f, unsigned i) {
  return i == 0 ? &sharded_write_of(f)->shard : NULL;
}

static void sharded_write_describe(volt_future *f, volt_description_ *description) {
  volt_sharded_write *w = sharded_write_of(f);
  description->for_write = true;
  description->ends = VOLT_ENDS_INNER_;
  if (!description->is_granted)
    volt_describe_state_(description, "has %u of %u shards", w->locked, w->lock->count);
}

static const volt_future_ops_ sharded_write_ops = {.operation = "volt_sharded_rwlock_write",
                                                   .kind = VOLT_KIND_SHARDED_RWLOCK_,
                                                   .cancel = sharded_write_cancel,
                                                   .poll_ctx = volt_future_poll_any_,
                                                   .poll = sharded_write_poll,
                                                   .leave = sharded_write_leave,
                                                   .undo = sharded_write_unlock,
                                                   .inside = sharded_write_inside,
                                                   .describe = sharded_write_describe};

volt_future *volt_sharded_rwlock_write_future(volt_sharded_write *w, volt_sharded_rwlock *s) {
  sharded_check(s);
  w->lock = s;
  w->locked = 0;
  sharded_write_next(w);
  return volt_future_make_(&w->future, &sharded_write_ops, s, 0);
}

/* ---- inspection ---- */

uint32_t volt_sharded_rwlock_readers(const volt_sharded_rwlock *s) {
  uint32_t readers = 0;
  for (uint32_t i = 0; i < s->count; i++) readers += volt_rwlock_readers(&s->shards[i].lock);
  return readers;
}

uint32_t volt_sharded_rwlock_waiters(const volt_sharded_rwlock *s) {
  uint32_t waiters = 0;
  for (uint32_t i = 0; i < s->count; i++) waiters += volt_rwlock_waiters(&s->shards[i].lock);
  return waiters;
}
