/* sight_scene.c: what volt-top is shown in its tests. It prints "ready" once all tasks wait, and ends
 * when its input does.
 *
 *   sight_scene           served
 *   sight_scene silent    not served
 *   sight_scene hangs     served; both workers compute for ever
 *   sight_scene moves     not served; tasks move all the time
 *   sight_scene rude      served; names that are commands to a terminal
 *   sight_scene fibers    served; also two fibers, and a task that nothing can wake */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/sight.h>
#include <volt/volt.h>

enum { GETTERS = 5, MOVERS = 64 };

static volt_rt *rt;
static volt_sem pool;
static volt_mutex cache;

typedef struct getter {
  volt_task task;
  volt_future permit;
  volt_timeout timeout;
  volt_sleep_op nap;
} getter;

static volt_sem waits; /* a permit for each task that is about to wait */

static int get_poll(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  volt_sem_release(&waits, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pool, 2)); /* the line of the test */
  VOLT_TASK_END(self);
}

static int get_in_time_poll(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  volt_sem_release(&waits, 1);
  volt_future_made(volt_mutex_lock_future(&self->permit, &cache));
  VOLT_AWAIT(self, volt_timeout_future(&self->timeout, &self->permit, volt_rt_timers(rt),
                                       volt_deadline_s(3600)));
  VOLT_TASK_END(self);
}

static int compute_poll(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  (void)ctx;
  volt_sem_release(&waits, 1);
  for (;;) (void)volt_now_ns();
  VOLT_TASK_END(self);
}

static int move_poll(volt_task *t, volt_ctx *ctx) {
  getter *self = volt_container_of(t, getter, task);
  VOLT_TASK_BEGIN(self);
  volt_sem_release(&waits, 1);
  for (;;)
    VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(rt), volt_deadline_us(50)));
  VOLT_TASK_END(self);
}

/* Written by hand, without a name that is known at run time. */
static int forget_poll(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  if (volt_task_is_cancelled(t)) return VOLT_ECANCELED;
  volt_sem_release(&waits, 1);
  return VOLT_PENDING;
}

static volt_mutex cv_lock;
static volt_cond cv;

static int wait_in_fiber(void *arg) {
  volt_mutex_lock(&cv_lock);
  if (arg) volt_sem_release(&waits, 1);
  return volt_cond_wait(&cv, &cv_lock);
}

static void start(volt_task *t) {
  if (volt_spawn(rt, t) != VOLT_OK) abort();
  volt_task_detach(t);
  if (volt_sem_acquire(&waits, 1) != VOLT_OK) abort();
}

static void start_fibers(void) {
  volt_fiber_config named = {.name = "named"};
  start(volt_fiber_new(rt, wait_in_fiber, &cv, &named));
  start(volt_fiber_new(rt, wait_in_fiber, &cv, NULL));
  start(volt_task_new(rt, sizeof(volt_task), forget_poll));
  volt_mutex_lock(&cv_lock); /* so both are in the queue of cv */
  volt_mutex_unlock(&cv_lock);
}

static void spawn(volt_task_fn *fn, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    getter *g = VOLT_TASK_NEW(rt, getter, fn);
    if (volt_spawn(rt, g ? &g->task : NULL) != VOLT_OK) abort();
    volt_task_detach(&g->task);
  }
  if (volt_sem_acquire(&waits, count) != VOLT_OK) abort();
}

static void *lock_cache(void *unused) {
  (void)unused;
  volt_sem_release(&waits, 1);
  if (volt_mutex_lock_until(&cache, VOLT_NO_DEADLINE) == VOLT_OK) volt_mutex_unlock(&cache);
  return NULL;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  volt_rt_config config = {.workers = 2, .thread_prefix = "scene"};
  pthread_t thread;
  char byte;
  volt_sem_init(&pool, 8);
  volt_sem_init(&waits, 0);
  volt_mutex_init(&cache);
  if (volt_sem_try_acquire(&pool, 8) != VOLT_OK) return 1;
  if (volt_mutex_try_lock(&cache) != VOLT_OK) return 1;
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  bool is_rude = strcmp(how, "rude") == 0;
  if (volt_name(&pool, is_rude ? "p\x1b[2Jool\xc2\x9b\xff\n" : "pool") != VOLT_OK) return 1;
  spawn(get_poll, GETTERS);
  spawn(get_in_time_poll, 1);
  if (pthread_create(&thread, NULL, lock_cache, NULL) != 0) return 1;
  if (volt_sem_acquire(&waits, 1) != VOLT_OK) return 1;
  while (volt_mutex_waiters(&cache) < 2) (void)sched_yield();
  if (strcmp(how, "hangs") == 0) spawn(compute_poll, 2);
  if (strcmp(how, "fibers") == 0) start_fibers();
  if (strcmp(how, "moves") == 0) spawn(move_poll, MOVERS);
  bool is_served = strcmp(how, "silent") != 0 && strcmp(how, "moves") != 0;
  if (is_served && volt_sight_serve(NULL) != VOLT_OK) return 1;
  printf("ready\n");
  fflush(stdout);
  (void)!read(STDIN_FILENO, &byte, 1);
  volt_sight_disable();
  _exit(0);
}
