/* semaphore_stress.c: threads and random operations on a semaphore. ENGINE: all */
#include "engine.h"
#include "subject.h"

static void init(void *object, uint32_t total) {
  engine_sem_init((engine_sem *)object, total);
}
static void destroy(void *object) {
  engine_sem_destroy((engine_sem *)object);
}
static void release(void *object, uint32_t n) {
  engine_sem_release((engine_sem *)object, n);
}
static uint32_t waiters(void *object) {
  return engine_sem_waiters((engine_sem *)object);
}
static uint32_t available(void *object) {
  return engine_sem_available((engine_sem *)object);
}

static int try_acquire(void *object, uint32_t n) {
  return engine_sem_try_acquire((engine_sem *)object, n);
}

static int acquire(void *object, volt_waiter *w, uint32_t n, volt_waker waker) {
  return engine_sem_acquire_waiter((engine_sem *)object, w, n, waker);
}

static int acquire_until(void *object, uint32_t n, uint64_t deadline_ns) {
  return engine_sem_acquire_until((engine_sem *)object, n, deadline_ns);
}

static bool cancel(void *object, volt_waiter *w) {
  return engine_sem_cancel((engine_sem *)object, w);
}

static bool set_waker(void *object, volt_waiter *w, volt_waker waker) {
  return engine_sem_set_waker((engine_sem *)object, w, waker);
}

static void close_it(void *object) {
  STRESS_CHECK(!engine_sem_is_closed((engine_sem *)object));
  engine_sem_close((engine_sem *)object);
  STRESS_CHECK(engine_sem_is_closed((engine_sem *)object));
}

int main(void) {
  static const uint32_t totals[] = {1, 2, 3, 8, 64};
  static const stress_subject semaphore = {
      .bytes = sizeof(engine_sem),
      .init = init,
      .destroy = destroy,
      .try_acquire = try_acquire,
      .acquire = acquire,
      .acquire_until = acquire_until,
      .cancel = cancel,
      .set_waker = set_waker,
      .release = release,
      .close = close_it,
      .available = available,
      .waiters = waiters,
      .totals = totals,
      .total_count = sizeof totals / sizeof *totals,
      .divisible = true,
  };
  stress_subject subject = semaphore;
  subject.ways = stress_ways;
  subject.way_count = stress_way_count;
#if defined(ENGINE_COMBINING)
  subject.wakes_elsewhere = true; /* a release leaves it to who is at work */
#endif
  stress_begin("semaphore (" ENGINE_NAME ")", "some permits", "all permits");
  stress_run(&subject);
  return stress_end();
}
