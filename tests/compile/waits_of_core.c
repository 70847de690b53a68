/* What gdb_waits.sh looks into: tasks, fibers and threads that wait for known things at known places,
 * and an abort. Nothing here depends on time: the main thread aborts when all of them wait. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/async.h>
#include <volt/channel.h>
#include <volt/cond.h>
#include <volt/fiber.h>
#include <volt/mutex.h>
#include <volt/select.h>
#include <volt/semaphore.h>
#include <volt/task.h>
#include <volt/time.h>

volt_sem permits = VOLT_SEM_INIT(1);
volt_mutex cache_lock = VOLT_MUTEX_INIT;
volt_chan orders;
static volt_sem hidden = VOLT_SEM_INIT(0);

/* ---- three tasks in line at a semaphore ---- */

struct fetch {
  volt_task task;
  volt_future permit;
};

static int fetch_poll(volt_task *t, volt_ctx *ctx) {
  struct fetch *self = volt_container_of(t, struct fetch, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &permits, 2)); /* LINE: fetch */
  VOLT_TASK_END(self);
}

/* ---- a task that awaits a function that awaits a select of a channel and a mutex with a timeout */

struct order {
  volt_async async;
  volt_future either[2];
  volt_timeout timeout;
  volt_future *of[2];
  volt_select s;
  int element;
};

static int order_step(volt_async *a, volt_ctx *ctx) {
  struct order *self = volt_container_of(a, struct order, async);
  VOLT_ASYNC_BEGIN(self);
  self->of[0] = volt_chan_recv_future(&self->either[0], &orders, &self->element);
  self->of[1] = volt_timeout_future(
      &self->timeout, volt_mutex_lock_future(&self->either[1], &cache_lock),
      volt_rt_timers(volt_rt_current()), volt_deadline_ns(UINT64_C(3600000000000)));
  VOLT_AWAIT(self, volt_select_future(&self->s, self->of, 2, VOLT_SELECT_BIASED)); /* LINE: order */
  VOLT_ASYNC_END(self);
}

struct serve {
  volt_task task;
  struct order order;
};

static int serve_poll(volt_task *t, volt_ctx *ctx) {
  struct serve *self = volt_container_of(t, struct serve, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_async_future(&self->order.async, order_step)); /* LINE: serve */
  VOLT_TASK_END(self);
}

/* ---- a task that nothing can wake: its future never registers its waker ---- */

static int forget_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return VOLT_PENDING;
}

/* ---- two fibers, a thread ---- */

static int hide(void *arg) {
  (void)arg;
  return volt_sem_acquire(&hidden, 1) + 1;
}

volt_cond bell = VOLT_COND_INIT;
static volt_mutex bell_lock = VOLT_MUTEX_INIT;

static int wait_for_bell(void *arg) {
  (void)arg;
  volt_mutex_lock(&bell_lock);
  return volt_cond_wait(&bell, &bell_lock) + 1;
}

static _Atomic int queued;

static void *queue_here(void *arg) {
  (void)arg;
  queued = (int)syscall(SYS_gettid);
  if (volt_mutex_lock_until(&cache_lock, VOLT_NO_DEADLINE) != VOLT_OK) exit(1);
  return NULL;
}

/* Whether that thread sleeps in the kernel. */
static int sleeps(void) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)queued);
  FILE *stat = fopen(path, "r");
  if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) exit(1);
  fclose(stat);
  return state == 'S';
}

static void spawn(volt_rt *rt, volt_task *t) {
  if (!t || volt_spawn(rt, t) != VOLT_OK) exit(1);
}

int main(void) {
  static char memory[1024];
  pthread_t thread;
  volt_rt *rt;
  volt_rt_config config = {.workers = 1, .thread_prefix = "shop"};
  if (volt_chan_init(&orders, 4, sizeof(int), memory, sizeof memory) != VOLT_OK) return 1;
  if (volt_mutex_lock_until(&cache_lock, VOLT_NO_DEADLINE) != VOLT_OK) return 1;
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  for (int i = 0; i < 3; i++) {
    struct fetch *f = VOLT_TASK_NEW(rt, struct fetch, fetch_poll);
    spawn(rt, &f->task);
  }
  struct serve *s = VOLT_TASK_NEW(rt, struct serve, serve_poll);
  spawn(rt, &s->task);
  spawn(rt, volt_task_new(rt, sizeof(volt_task), forget_poll));
  volt_fiber_config named = {.name = "hider"};
  spawn(rt, volt_fiber_new(rt, hide, NULL, &named));
  spawn(rt, volt_fiber_new(rt, wait_for_bell, NULL, NULL));
  if (pthread_create(&thread, NULL, queue_here, NULL) != 0) return 1;
  volt_rt_stats_of stats;
  volt_worker_stats worker;
  do {
    volt_rt_stats(rt, &stats);
    volt_rt_worker_stats(rt, 0, &worker);
  } while (stats.parked == 0 || worker.polls < 7 || volt_mutex_waiters(&cache_lock) < 2);
  while (!sleeps()) { /* it has queued, and is about to */
  }
  abort();
}
