/* mutex_stress.c: threads and random operations on a mutex. */
#include "subject.h"

static void destroy(void *object) {
  volt_mutex_destroy((volt_mutex *)object);
}
static uint32_t waiters(void *object) {
  return volt_mutex_waiters((volt_mutex *)object);
}
static uint32_t available(void *object) {
  return volt_mutex_is_locked((volt_mutex *)object) ? 0 : 1;
}

static void init(void *object, uint32_t total) {
  STRESS_CHECK(total == 1);
  volt_mutex_init((volt_mutex *)object);
}

static int try_lock(void *object, uint32_t n) {
  (void)n;
  return volt_mutex_try_lock((volt_mutex *)object);
}

static int lock(void *object, volt_waiter *w, uint32_t n, volt_waker waker) {
  (void)n;
  return volt_mutex_lock_waiter((volt_mutex *)object, w, waker);
}

static int lock_until(void *object, uint32_t n, uint64_t deadline_ns) {
  (void)n;
  return volt_mutex_lock_until((volt_mutex *)object, deadline_ns);
}

static bool cancel(void *object, volt_waiter *w) {
  return volt_mutex_cancel((volt_mutex *)object, w);
}

static bool set_waker(void *object, volt_waiter *w, volt_waker waker) {
  (void)object;
  return volt_waiter_set_waker(w, waker);
}

static void unlock(void *object, uint32_t n) {
  (void)n;
  volt_mutex_unlock((volt_mutex *)object);
}

int main(void) {
  static const uint32_t totals[] = {1};
  static const stress_subject mutex = {
      .bytes = sizeof(volt_mutex),
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
  stress_subject subject = mutex;
  subject.ways = stress_ways;
  subject.way_count = stress_way_count;
  stress_begin("mutex", "lock", NULL);
  stress_run(&subject);
  return stress_end();
}
