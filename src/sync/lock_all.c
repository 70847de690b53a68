/* lock_all.c: several mutexes and semaphores, locked in the order of their addresses.
 *
 * Invariants
 *   I1  A caller that waits for an object holds all items before it, and none from it on.
 *   I2  Items are in the order of their addresses, and no object is among them twice.
 *
 * Why callers do not deadlock: each holds only objects of lower addresses than the one that it waits for
 * (I1, I2). So among those that wait, the one that waits for the highest address waits for a holder that
 * waits for none. A semaphore grants a request whole, and sets aside for the oldest: it is one such object.
 * There is such a holder, unless permits are asked for that do not exist. Of a bounded semaphore that is
 * refused at the beginning; that a limit falls later is for the caller to prevent (lock_all.h).
 *
 * What a build with VOLT_SIGHT=1 knows: where the call stands, which it notes of each object; and that the objects
 * come behind what the caller held before. Those of one call have no order by name: addresses decide.
 *
 * Races
 *   R1  Interleaving: the deadline passes while an object is granted. Prevented by: the call that waits
 *       for that object decides, and says what came first. If it is the deadline, what the items before have
 *       is given back.
 *   R2  Interleaving: a future is dropped while the object that it waits for is granted. Prevented by:
 *       cancelling the inner future gives that back; then what it had is given back. */
#define VOLT_NO_PLACES /* it says where its caller stands: lock_all_is_at() */
#include <volt/lock_all.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"

static void *lock_all_object(const volt_lockable *item) {
  return item->mutex ? (void *)item->mutex : (void *)item->sem;
}

/* I2. They are few, and mostly in order: then nothing is written. */
static void lock_all_sort(volt_lockable *items, uint32_t count) {
  VOLT_CHECK(count <= VOLT_LOCK_ALL_MAX, "volt_lock_all", "%u objects, at most %u", count,
             (unsigned)VOLT_LOCK_ALL_MAX);
  for (uint32_t i = 0; i < count; i++) {
    const volt_lockable item = items[i];
    VOLT_CHECK(!item.mutex != !item.sem, "volt_lock_all", "item %u has %s", i,
               item.mutex ? "a mutex and a semaphore" : "no mutex and no semaphore");
    uintptr_t address = (uintptr_t)lock_all_object(&item);
    uint32_t to = i;
    for (; to > 0 && (uintptr_t)lock_all_object(&items[to - 1]) >= address; to--) {
      VOLT_CHECK(lock_all_object(&items[to - 1]) != lock_all_object(&item), "volt_lock_all",
                 "%p is among the objects twice", lock_all_object(&item));
      items[to] = items[to - 1];
    }
    if (to != i) items[to] = item;
  }
}

/* VOLT_EINVAL: more permits than there can be. */
static int lock_all_check(const volt_lockable *items, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const volt_sem *sem = items[i].sem;
    if (!sem) continue;
    bool is_bounded = volt_load_relaxed(&sem->queue.word) & VOLT_WORD_BOUNDED_; /* for ever */
    uint32_t most = is_bounded ? volt_sem_limit(sem) : (uint32_t)VOLT_SEM_MAX;
    if (items[i].permits > most) return VOLT_EINVAL;
  }
  return VOLT_OK;
}

/* ---- where the call stands ---- */

typedef struct lock_all_place {
  const char *file; /* NULL: not known */
  uint32_t line;
} lock_all_place;

/* As lock_all.h has noted it with this list, which is one call's. */
static lock_all_place lock_all_place_of(const volt_lockable *items) {
  lock_all_place place = {NULL, 0};
#if VOLT_SIGHT
  volt_party_ *p = volt_party_now_();
  if (items && p->at == items) {
    place.file = p->file;
    place.line = p->line;
  }
  p->at = NULL;
#else
  (void)items;
#endif
  return place;
}

/* What follows is done to this item. */
static void lock_all_is_at(const volt_lockable *item, lock_all_place place) {
#if VOLT_SIGHT
  volt_party_is_at_(lock_all_object(item), place.file, place.line);
#else
  (void)item;
  (void)place;
#endif
}

/* Note in which order mutexes are locked: behind what is held before the first of them is. */
static void lock_all_note_order(const volt_lockable *items, uint32_t count, lock_all_place place) {
#if VOLT_SIGHT
  for (uint32_t i = 0; i < count; i++) {
    if (items[i].mutex) volt_party_locks_at_(items[i].mutex, place.file, place.line);
  }
#else
  (void)items;
  (void)count;
  (void)place;
#endif
}

/* ---- lock and unlock ---- */

static void lock_all_unlock_item(const volt_lockable *item) {
  if (item->mutex) {
    volt_mutex_unlock(item->mutex);
  } else {
    volt_sem_release(item->sem, item->permits);
  }
}

static void lock_all_unlock_first(const volt_lockable *items, uint32_t count,
                                  lock_all_place place) {
  while (count > 0) {
    const volt_lockable *item = &items[--count];
    lock_all_is_at(item, place);
    lock_all_unlock_item(item);
  }
}

void volt_unlock_all(volt_lockable *items, uint32_t count) {
  lock_all_unlock_first(items, count, lock_all_place_of(items));
}
int volt_try_lock_all(volt_lockable *items, uint32_t count) {
  lock_all_place place = lock_all_place_of(items);
  lock_all_sort(items, count);
  if (lock_all_check(items, count) != VOLT_OK) return VOLT_EINVAL;
  for (uint32_t i = 0; i < count; i++) { /* I1 */
    lock_all_is_at(&items[i], place);
    int result = items[i].mutex ? volt_mutex_try_lock(items[i].mutex)
                                : volt_sem_try_acquire(items[i].sem, items[i].permits);
    if (result == VOLT_OK) continue;
    lock_all_unlock_first(items, i, place);
    return result;
  }
  return VOLT_OK;
}

extern inline int volt_lock_all(volt_lockable *, uint32_t);

int volt_lock_all_until(volt_lockable *items, uint32_t count, uint64_t deadline_ns) {
  volt_check_blocks_("volt_lock_all_until", deadline_ns);
  lock_all_place place = lock_all_place_of(items);
  lock_all_sort(items, count);
  if (lock_all_check(items, count) != VOLT_OK) return VOLT_EINVAL;
  lock_all_note_order(items, count, place);
  for (uint32_t i = 0; i < count; i++) { /* I1 */
    lock_all_is_at(&items[i], place);
    int result = items[i].mutex
                     ? volt_mutex_lock_until(items[i].mutex, deadline_ns)
                     : volt_sem_acquire_until(items[i].sem, items[i].permits, deadline_ns);
    if (result == VOLT_OK) continue;
    lock_all_unlock_first(items, i, place); /* R1 */
    return result;
  }
  return VOLT_OK;
}

/* ---- future ---- */

static volt_lock_all_op *lock_all_of(volt_future *f) {
  return volt_container_of(f, volt_lock_all_op, future);
}

/* Begin with the item that comes next. */
static void lock_all_next(volt_lock_all_op *op) {
  const volt_lockable *item = &op->items[op->locked];
  volt_future_made(item->mutex ? volt_mutex_lock_future(&op->one, item->mutex)
                               : volt_sem_acquire_future(&op->one, item->sem, item->permits));
}

static void lock_all_unlock(volt_future *f) {
  volt_lock_all_op *op = lock_all_of(f);
  for (; op->locked > 0; op->locked--) lock_all_unlock_item(&op->items[op->locked - 1]);
}

/* They ask for more permits than there can be. */
static int lock_all_refuse(volt_future *f, volt_ctx *ctx) {
  (void)f;
  (void)ctx;
  return VOLT_EINVAL;
}

/* A caller that has some keeps others out. So it goes on although the budget is used up. */
static int lock_all_poll(volt_future *f, volt_ctx *ctx) {
  volt_lock_all_op *op = lock_all_of(f);
  while (op->locked < op->count) {
    int result = volt_future_poll_branch_(&op->one, ctx);
    if (result == VOLT_PENDING) return result;
    if (result != VOLT_OK) {
      lock_all_unlock(f);
      return result;
    }
    op->locked += 1;
    if (op->locked < op->count) lock_all_next(op);
  }
  return VOLT_OK;
}

static bool lock_all_cancel(volt_future *f) {
  volt_lock_all_op *op = lock_all_of(f);
  if (op->locked < op->count) volt_future_cancel(&op->one); /* R2 */
  lock_all_unlock(f);
  return true;
}

static void lock_all_leave(volt_future *f) {
  volt_lock_all_op *op = lock_all_of(f);
  if (op->locked < op->count) volt_future_leave_(&op->one);
}

static volt_future *lock_all_inside(volt_future *f, unsigned i) {
  volt_lock_all_op *op = lock_all_of(f);
  return i == 0 && op->locked < op->count ? &op->one : NULL;
}

static void lock_all_describe(volt_future *f, volt_description_ *description) {
  volt_lock_all_op *op = lock_all_of(f);
  description->ends = VOLT_ENDS_INNER_;
  if (!description->is_granted)
    volt_describe_state_(description, "has %u of %u objects", op->locked, op->count);
}

#define LOCK_ALL_OPS(poll_it)                                                         \
  {                                                                                   \
    .operation = "volt_lock_all", .kind = VOLT_KIND_NONE_, .cancel = lock_all_cancel, \
    .poll_ctx = volt_future_poll_any_, .poll = (poll_it), .leave = lock_all_leave,    \
    .undo = lock_all_unlock, .inside = lock_all_inside, .describe = lock_all_describe \
  }
static const volt_future_ops_ lock_all_ops = LOCK_ALL_OPS(lock_all_poll);
static const volt_future_ops_ lock_all_refused_ops = LOCK_ALL_OPS(lock_all_refuse);

volt_future *volt_lock_all_future(volt_lock_all_op *op, volt_lockable *items, uint32_t count) {
  lock_all_sort(items, count);
  bool is_refused = lock_all_check(items, count) != VOLT_OK;
  op->items = items;
  op->count = is_refused ? 0 : count;
  op->locked = 0;
  if (op->count > 0) lock_all_next(op);
  return volt_future_make_(&op->future, is_refused ? &lock_all_refused_ops : &lock_all_ops, NULL,
                           0);
}
