/* rwlock_stress.c: threads and random operations on a read-write lock, downgrades included. A
 * reader takes 1, a writer the whole. */
#include "subject.h"

#define WHOLE VOLT_RWLOCK_WRITER_

static void destroy(void *object) {
  volt_rwlock_destroy((volt_rwlock *)object);
}
static uint32_t waiters(void *object) {
  return volt_rwlock_waiters((volt_rwlock *)object);
}

static void init(void *object, uint32_t total) {
  STRESS_CHECK(total == WHOLE);
  volt_rwlock_init((volt_rwlock *)object);
}

static int try_lock(void *object, uint32_t n) {
  volt_rwlock *rw = (volt_rwlock *)object;
  return n == WHOLE ? volt_rwlock_try_write(rw) : volt_rwlock_try_read(rw);
}

static int lock(void *object, volt_waiter *w, uint32_t n, volt_waker waker) {
  volt_rwlock *rw = (volt_rwlock *)object;
  return n == WHOLE ? volt_rwlock_write_waiter(rw, w, waker)
                    : volt_rwlock_read_waiter(rw, w, waker);
}

static int lock_until(void *object, uint32_t n, uint64_t deadline_ns) {
  volt_rwlock *rw = (volt_rwlock *)object;
  return n == WHOLE ? volt_rwlock_write_until(rw, deadline_ns)
                    : volt_rwlock_read_until(rw, deadline_ns);
}

static bool cancel(void *object, volt_waiter *w) {
  return volt_rwlock_cancel((volt_rwlock *)object, w);
}

static bool set_waker(void *object, volt_waiter *w, volt_waker waker) {
  (void)object;
  return volt_waiter_set_waker(w, waker);
}

/* Every fourth writer leaves as a reader. */
static void unlock(void *object, uint32_t n) {
  static _Thread_local unsigned turn;
  volt_rwlock *rw = (volt_rwlock *)object;
  if (n != WHOLE) {
    volt_rwlock_read_unlock(rw);
  } else if (++turn % 4 != 0) {
    volt_rwlock_write_unlock(rw);
  } else {
    volt_rwlock_downgrade(rw);
    volt_rwlock_read_unlock(rw);
  }
}

/* Once nobody waits: the whole, if a writer gets in at once. */
static uint32_t available(void *object) {
  volt_rwlock *rw = (volt_rwlock *)object;
  STRESS_CHECK(volt_rwlock_readers(rw) == 0);
  if (volt_rwlock_try_write(rw) != VOLT_OK) return 0;
  volt_rwlock_write_unlock(rw);
  return WHOLE;
}

int main(void) {
  static const uint32_t totals[] = {WHOLE};
  static const stress_subject rwlock = {
      .bytes = sizeof(volt_rwlock),
      .init = init,
      .destroy = destroy,
      .try_acquire = try_lock,
      .acquire = lock,
      .acquire_until = lock_until,
      .cancel = cancel,
      .set_waker = set_waker,
      .release = unlock,
      .available = available,
      .waiters = waiters,
      .totals = totals,
      .total_count = 1,
  };
  stress_subject subject = rwlock;
  subject.ways = stress_ways;
  subject.way_count = stress_way_count;
  stress_begin("rwlock", "readers", "writers");
  stress_run(&subject);
  return stress_end();
}
