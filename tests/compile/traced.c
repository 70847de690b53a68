/* What bpftrace.sh traces: two tasks that take turns 200 times, one that computes for 150 ms in a poll,
 * one that sleeps for 60 ms in a poll, a thread that blocks once, and a worker that is woken from its
 * sleep. They begin when a byte can be read, and the program ends when another can be. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <volt/mutex.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>
#include <volt/time.h>

enum { TURNS = 200 };
enum { COMPUTE_MS = 150, SLEEP_MS = 60 };

static volt_sem pings = VOLT_SEM_INIT(0);
static volt_sem pongs = VOLT_SEM_INIT(0);
static volt_mutex door = VOLT_MUTEX_INIT;
static volatile unsigned sum;

struct turns {
  volt_task task;
  volt_future permit;
  int i;
};

static int ping_poll(volt_task *t, volt_ctx *ctx) {
  struct turns *self = volt_container_of(t, struct turns, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < TURNS; self->i++) {
    volt_sem_release(&pongs, 1);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pings, 1));
  }
  VOLT_TASK_END(self);
}

static int pong_poll(volt_task *t, volt_ctx *ctx) {
  struct turns *self = volt_container_of(t, struct turns, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < TURNS; self->i++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pongs, 1));
    volt_sem_release(&pings, 1);
  }
  VOLT_TASK_END(self);
}

struct once {
  volt_task task;
  volt_sleep_op sleep;
};

/* Of the CPU, so that a sampler finds it there, however busy the machine is. */
static long used_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (long)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* One wait before, so that the task is known. */
static int compute_poll(volt_task *t, volt_ctx *ctx) {
  struct once *self = volt_container_of(t, struct once, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self,
             volt_sleep_future(&self->sleep, volt_rt_timers(t->rt), volt_deadline_ns(1000000)));
  for (long end_ms = used_ms() + COMPUTE_MS; used_ms() < end_ms;) sum += 1;
  VOLT_TASK_END(self);
}

static int block_poll(volt_task *t, volt_ctx *ctx) {
  struct once *self = volt_container_of(t, struct once, task);
  struct timespec nap = {.tv_nsec = SLEEP_MS * 1000000L};
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self,
             volt_sleep_future(&self->sleep, volt_rt_timers(t->rt), volt_deadline_ns(1000000)));
  nanosleep(&nap, NULL);
  VOLT_TASK_END(self);
}

static _Atomic int worker; /* its thread */

static int wake_poll(volt_task *t, volt_ctx *ctx) {
  (void)t, (void)ctx;
  worker = gettid();
  return VOLT_OK;
}

static int is_asleep(int thread) {
  char path[64], state = '?';
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%*[^)]) %c", &state) != 1) exit(1);
  fclose(file);
  return state == 'S';
}

static void *knock(void *arg) {
  if (volt_mutex_lock_until(&door, VOLT_NO_DEADLINE) != VOLT_OK) abort();
  volt_mutex_unlock(&door);
  return arg;
}

static void spawn(volt_rt *rt, volt_group *g, size_t bytes, volt_task_fn *poll) {
  volt_task *t = volt_task_new(rt, bytes, poll);
  if (!t || volt_group_spawn(g, rt, t) != VOLT_OK) exit(1);
}

static void wake_worker(volt_rt *rt, volt_group *g) {
  for (int i = 0; i < 2; i++) {
    while (worker && !is_asleep(worker)) (void)sched_yield();
    spawn(rt, g, sizeof(volt_task), wake_poll);
    if (volt_group_wait(g) != VOLT_OK) exit(1);
  }
}

int main(void) {
  char byte;
  pthread_t thread;
  volt_rt *rt;
  volt_group all;
  volt_rt_config one = {.workers = 1};
  if (volt_rt_create(&rt, &one) != VOLT_OK || read(0, &byte, 1) != 1) return 1;
  volt_group_init(&all);
  spawn(rt, &all, sizeof(struct turns), pong_poll);
  spawn(rt, &all, sizeof(struct turns), ping_poll);
  spawn(rt, &all, sizeof(struct once), compute_poll);
  spawn(rt, &all, sizeof(struct once), block_poll);
  if (volt_mutex_lock_until(&door, VOLT_NO_DEADLINE) != VOLT_OK) return 1;
  if (pthread_create(&thread, NULL, knock, NULL) != 0) return 1;
  while (volt_mutex_waiters(&door) == 0) (void)sched_yield();
  struct timespec nap = {.tv_nsec = 50000000}; /* the thread sleeps by now, or soon */
  nanosleep(&nap, NULL);
  volt_mutex_unlock(&door);
  pthread_join(thread, NULL);
  if (volt_group_wait(&all) != VOLT_OK) return 1;
  wake_worker(rt, &all);
  puts("done");
  fflush(stdout);
  if (read(0, &byte, 1) < 0) return 1;
  volt_group_destroy(&all);
  return volt_rt_shutdown(rt, VOLT_NO_DEADLINE) == VOLT_OK ? 0 : 1;
}
