/* usage: fiber_tools clean|beyond|returned|unset|race
 * What fiber_tools.sh runs under sanitizers and Valgrind: fibers that do nothing wrong; or one mistake
 * in a fiber that has waited before, so that it is on its second visit to its stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/mutex.h>

#define KEEP __attribute__((noinline))

enum { FIBERS = 40, ROUNDS = 30 };

static volt_rt *rt;
static volt_mutex lock = VOLT_MUTEX_INIT;
static unsigned counted; /* under the lock */

static KEEP void check(int result) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s\n", volt_strresult(result));
  exit(2);
}

/* ---- nothing wrong ---- */

/* Frames of many sizes, at whose bottom the fiber waits. */
static KEEP unsigned descend(unsigned depth) {
  char frame[300];
  memset(frame, (int)depth, sizeof frame);
  if (depth == 0) {
    check(volt_mutex_lock_until(&lock, VOLT_NO_DEADLINE));
    counted += 1;
    check(volt_fiber_yield());
    volt_mutex_unlock(&lock);
  } else {
    descend(depth - 1);
  }
  return (unsigned char)frame[depth];
}

static int clean(void *arg) {
  (void)arg;
  for (unsigned i = 0; i < ROUNDS; i++) {
    if (descend(i % 20) != i % 20) return VOLT_EINVAL;
  }
  return VOLT_OK;
}

/* ---- one mistake ---- */

static KEEP void write_beyond(char *volatile *text, size_t at) {
  (*text)[at] = 1;
}

static int careless(void *arg) {
  char *volatile text = malloc(10);
  (void)arg;
  check(volt_fiber_yield());
  write_beyond(&text, 10);
  free(text);
  return VOLT_OK;
}

static int *kept;

static KEEP void keep_local(void) {
  volatile int local = 1;
  kept = (int *)&local;
}

static KEEP int use_returned(void) {
  return *(volatile int *)kept;
}

static int forgetful(void *arg) {
  (void)arg;
  keep_local();
  check(volt_fiber_yield());
  return use_returned() == 3 ? VOLT_EINVAL : VOLT_OK;
}

static KEEP int decide_by_unset(void) {
  volatile int unset[50];
  if (unset[20] == 17) puts("it happens to be 17");
  return VOLT_OK;
}

static int hasty(void *arg) {
  (void)arg;
  check(volt_fiber_yield());
  return decide_by_unset();
}

static unsigned shared; /* by both, under nothing */
static VOLT_ATOMIC(unsigned) arrived;

static KEEP void add_without_lock(void) {
  shared += 1;
}

/* Both at once: each waits on its own worker for the other. */
static KEEP void add_from(unsigned worker) {
  check(volt_fiber_rehome(worker));
  volt_fetch_add_relaxed(&arrived, 1); /* it orders nothing */
  while (volt_load_relaxed(&arrived) < 2) continue;
  for (unsigned i = 0; i < 1000; i++) add_without_lock();
}

static int racing(void *arg) {
  add_from(*(unsigned *)arg);
  return VOLT_OK;
}

/* ---- run ---- */

static void spawn(volt_group *g, volt_fiber_fn *fn, void *arg, const char *name) {
  volt_fiber_config config = {.name = name};
  volt_task *t = volt_fiber_new(rt, fn, arg, &config);
  check(volt_group_spawn(g, rt, t));
}

int main(int argc, char **argv) {
  static unsigned workers[] = {0, 1};
  const char *what = argc > 1 ? argv[1] : "clean";
  volt_rt_config config = {.workers = 2};
  volt_group g;
  check(volt_rt_create(&rt, &config));
  volt_group_init(&g);
  if (!strcmp(what, "clean")) {
    for (unsigned i = 0; i < FIBERS; i++) spawn(&g, clean, NULL, "clean");
  }
  if (!strcmp(what, "beyond")) spawn(&g, careless, NULL, "careless");
  if (!strcmp(what, "returned")) spawn(&g, forgetful, NULL, "forgetful");
  if (!strcmp(what, "unset")) spawn(&g, hasty, NULL, "hasty");
  if (!strcmp(what, "race")) {
    spawn(&g, racing, &workers[0], "first racer");
    spawn(&g, racing, &workers[1], "second racer");
  }
  check(volt_group_wait(&g));
  volt_group_destroy(&g);
  volt_rt_destroy(rt);
  if (!strcmp(what, "clean") && counted != FIBERS * ROUNDS) return 1;
  puts("done");
  return 0;
}
