/* What gdb.sh looks into: fibers that are suspended deep in functions of known names, one that has
 * not begun, and an abort. */
#include <stdio.h>
#include <stdlib.h>
#include <volt/fiber.h>
#include <volt/semaphore.h>

static volt_sem never = VOLT_SEM_INIT(0);
static volatile int depth = 3;

#define KEEP __attribute__((noinline))

static KEEP int wait_for_permit(int left) {
  int result = left > 0 ? wait_for_permit(left - 1) : volt_sem_acquire(&never, 1);
  return result + depth; /* so that it is no tail call */
}

static KEEP int fetch_page(int number) {
  return wait_for_permit(depth) + number;
}

static int fetch(void *arg) {
  return fetch_page(*(int *)arg) + depth;
}

static KEEP int nap_for_ever(void) {
  return volt_sleep_until(VOLT_NO_DEADLINE - 1) + depth;
}

static int nap(void *arg) {
  (void)arg;
  return nap_for_ever() + depth;
}

static KEEP int give_up(void) {
  abort();
  return depth;
}

static int last(void *arg) {
  (void)arg;
  return give_up() + depth;
}

static void spawn(volt_rt *rt, volt_fiber_fn *fn, void *arg, const char *name) {
  volt_fiber_config config = {.name = name};
  volt_task *t = volt_fiber_new(rt, fn, arg, &config);
  if (!t || volt_spawn(rt, t) != VOLT_OK) exit(1);
}

int main(void) {
  static int number = 7;
  volt_rt *workers;
  volt_rt *by_hand;
  volt_rt_config one = {.workers = 1, .thread_prefix = "pages"};
  volt_rt_config hand = {.flags = VOLT_RT_BY_HAND, .thread_prefix = "hand"};
  if (volt_rt_create(&workers, &one) || volt_rt_create(&by_hand, &hand)) return 1;
  spawn(workers, fetch, &number, "fetch");
  spawn(workers, nap, NULL, NULL);
  volt_rt_stats_of stats;
  do {
    volt_rt_stats(workers, &stats);
  } while (stats.parked == 0 || stats.fiber_stacks < 2);
  spawn(by_hand, nap, NULL, "nap");
  (void)volt_rt_run(by_hand);
  spawn(by_hand, last, NULL, "last");
  spawn(by_hand, nap, NULL, "new");
  (void)volt_rt_run(by_hand);
  return 1;
}
