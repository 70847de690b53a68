/* watch.c: the monitor (monitor.h) on one value and its version.
 *
 * Algorithm: every operation holds the lock, so each of them is sequential code. A watcher that has
 * seen the present version waits. Each send releases all waiters. A grant says only that the
 * version has changed. Versions have 64 bits and do not wrap, so a version that has been replaced
 * never comes back.
 *
 * Races
 *   R1  Interleaving: the version changes; the watcher gives up before it has seen its grant; it
 *       misses the change. Prevented by: the version that a watcher has seen is a number of its
 *       own, which only a poll or a call that returns VOLT_OK changes.
 *   R2  Interleaving: a value is overwritten, or modified in place, while another thread copies or
 *       modifies it. Prevented by: all of them happen under the lock.
 *   R3  Interleaving: a poll of a select sets *seen to the present version; then it turns out that
 *       another branch has won; if that version is the last, it is never reported. Prevented by:
 *       *seen goes back by as much as the poll has moved it. (At most by 2^32 - 1, which is enough
 *       to make it another version than the present one.) */
#include <volt/watch.h>

#include "../core/future/future_ops.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

void volt_watch_init(volt_watch *w, size_t elem_bytes, void *mem, const void *initial) {
  volt_fifo_init_(&w->queue, 0);
  w->value = mem;
  w->elem_bytes = elem_bytes;
  w->version = 1;
  if (initial) VOLT_COPY_(mem, initial, elem_bytes);
}

void volt_watch_destroy(volt_watch *w) {
  volt_unname_at_end_(w);
  volt_monitor_destroy_(&w->queue, VOLT_KIND_WATCH_);
}

/* All-zero memory has no version. */
static void watch_check(const volt_watch *w) {
  VOLT_CHECK(w->version > 0, volt_kind_api_(VOLT_KIND_WATCH_),
             "%p was not initialised: volt_watch_init()", (const void *)w);
}

/* The lock is held, and the value has been changed. */
static void watch_count_version(volt_monitor_ *m, volt_watch *w) {
  if (VOLT_DEBUG) watch_check(w);
  w->version += 1;
  volt_monitor_release_all_counted_(m);
}

int volt_watch_send(volt_watch *w, const void *elem) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &w->queue, VOLT_KIND_WATCH_);
  bool closed = volt_monitor_is_closed_(&m);
  if (!closed) {
    VOLT_COPY_(w->value, elem, w->elem_bytes);
    watch_count_version(&m, w);
  }
  volt_monitor_exit_(&m);
  return closed ? VOLT_ECLOSED : VOLT_OK;
}

int volt_watch_modify(volt_watch *w, volt_watch_fn *fn, void *arg) {
  int result = VOLT_ECLOSED;
  volt_monitor_ m;
  volt_monitor_enter_(&m, &w->queue, VOLT_KIND_WATCH_);
  if (!volt_monitor_is_closed_(&m)) {
    result = fn(w->value, arg) ? VOLT_OK : VOLT_EAGAIN; /* R2 */
    if (result == VOLT_OK) watch_count_version(&m, w);
  }
  volt_monitor_exit_(&m);
  return result;
}

void volt_watch_close(volt_watch *w) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &w->queue, VOLT_KIND_WATCH_);
  volt_monitor_close_(&m);
  volt_monitor_exit_(&m);
}

uint64_t volt_watch_get(volt_watch *w, void *elem) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &w->queue, VOLT_KIND_WATCH_);
  VOLT_COPY_(elem, w->value, w->elem_bytes); /* R2 */
  if (VOLT_DEBUG) watch_check(w);
  uint64_t version = w->version;
  volt_monitor_unlock_(&m);
  return version;
}

/* The lock is held. Returns VOLT_EAGAIN if there is no other version than *seen. */
static int watch_read(const volt_monitor_ *m, volt_watch *w, uint64_t *seen) {
  uint64_t version = w->version;
  if (version == *seen) return volt_monitor_is_closed_(m) ? VOLT_ECLOSED : VOLT_EAGAIN;
  *seen = version;
  return VOLT_OK;
}

int volt_watch_try_changed(volt_watch *w, uint64_t *seen) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &w->queue, VOLT_KIND_WATCH_);
  int result = watch_read(&m, w, seen);
  volt_monitor_unlock_(&m);
  return result;
}

static int watch_changed(volt_watch *w, uint64_t *seen, volt_waiter *waiter, volt_waker waker) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &w->queue, VOLT_KIND_WATCH_);
  int result = watch_read(&m, w, seen);
  if (result == VOLT_EAGAIN) {
    watch_check(w);
    result = volt_monitor_append_(&m, waiter, waker);
  }
  volt_monitor_unlock_(&m);
  return result;
}

int volt_watch_changed_waiter(volt_watch *w, uint64_t *seen, volt_waiter *waiter,
                              volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_WATCH_, waiter);
  return watch_changed(w, seen, waiter, waker);
}

bool volt_watch_cancel(volt_watch *w, volt_waiter *waiter) {
  return volt_monitor_cancel_(&w->queue, VOLT_KIND_WATCH_, waiter); /* R1 */
}

/* ---- inspection ---- */

uint64_t volt_watch_version(const volt_watch *w) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, volt_fifo_to_inspect_(&w->queue), VOLT_KIND_WATCH_);
  uint64_t version = w->version;
  volt_monitor_unlock_(&m);
  return version;
}

bool volt_watch_is_closed(const volt_watch *w) {
  return volt_fifo_is_closed_(&w->queue);
}

uint32_t volt_watch_waiters(const volt_watch *w) {
  return volt_fifo_count_(&w->queue);
}

/* ---- future ---- */

static volt_watch *watch_of(volt_future *f) {
  return volt_container_of(f->object, volt_watch, queue);
}

static uint64_t *watch_seen_of(volt_future *f) {
  return (uint64_t *)(void *)f->waiter.data;
}

/* f has a result: note in its argument by how much the poll has moved *seen, for R3. */
static int watch_note_moved(volt_future *f, uint64_t before, int result) {
  uint64_t by = *watch_seen_of(f) - before;
  volt_future_set_n_(f, by < UINT32_MAX ? (uint32_t)by : UINT32_MAX);
  return result;
}

static uint32_t watch_moved(const volt_future *f) {
  return volt_future_n_(f);
}

static int watch_start(volt_future *f, volt_waker waker) {
  uint64_t before = *watch_seen_of(f);
  int result = watch_changed(watch_of(f), watch_seen_of(f), &f->waiter, waker);
  if (result == VOLT_PENDING) return VOLT_PENDING;
  return watch_note_moved(f, before, result);
}

static int watch_outcome(volt_future *f) {
  uint64_t before = *watch_seen_of(f);
  int result = volt_watch_try_changed(watch_of(f), watch_seen_of(f));
  return watch_note_moved(f, before, result);
}

static void watch_give_back(volt_future *f) {
  if (volt_future_state_(f) != VOLT_FUTURE_READY_) return; /* R1: granted, and changed nothing */
  *watch_seen_of(f) -= watch_moved(f); /* R3: by 1 or more, so it is not the present version */
}

static const volt_future_ops_ watch_ops = {.operation = "volt_watch_changed",
                                           .kind = VOLT_KIND_WATCH_,
                                           .start = watch_start,
                                           .cancel = volt_monitor_future_cancel_,
                                           .set_waker = volt_monitor_future_set_waker_,
                                           .give_back = watch_give_back,
                                           .outcome = watch_outcome,
                                           .due = volt_monitor_future_complete_counted_,
                                           .poll_ctx = volt_future_poll_leaf_any_,
                                           .describe = volt_monitor_future_describe_};

volt_future *volt_watch_changed_future(volt_future *f, volt_watch *w, uint64_t *seen) {
  f->waiter.data = seen;
  return volt_future_make_(f, &watch_ops, &w->queue, 0);
}

extern inline int volt_watch_changed(volt_watch *, uint64_t *);

int volt_watch_changed_until(volt_watch *w, uint64_t *seen, uint64_t deadline_ns) {
  volt_check_blocks_("volt_watch_changed_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_watch_changed_future(&f, w, seen), deadline_ns);
}
