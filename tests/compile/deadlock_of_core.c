/* What gdb_waits.sh looks into in a build with VOLT_SIGHT=1: two tasks that have locked two mutexes in
 * different orders, a thread and a fiber that wait for one of them, a task that joins another of these; beside
 * them a task that waits for what no other party holds. And an abort. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/mutex.h>
#include <volt/name.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>

volt_mutex left_lock = VOLT_MUTEX_INIT;
volt_mutex right_lock = VOLT_MUTEX_INIT;
volt_sem nobody = VOLT_SEM_INIT(0);
static volt_sem both = VOLT_SEM_INIT(0);

struct locks {
  volt_task task;
  volt_future future;
  volt_mutex *first, *second;
  volt_sem *from, *to;
};

static volt_sem has_left = VOLT_SEM_INIT(0);
static volt_sem has_right = VOLT_SEM_INIT(0);

static int locks_poll(volt_task *t, volt_ctx *ctx) {
  struct locks *self = volt_container_of(t, struct locks, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->future, self->first)); /* LINE: first */
  volt_sem_release(self->to, 1);
  VOLT_AWAIT(self,
             volt_sem_acquire_future(&self->future, self->from, 1)); /* the other has its first */
  volt_sem_release(&both, 1);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->future, self->second)); /* LINE: second */
  VOLT_TASK_END(self);
}

struct joins {
  volt_task task;
  volt_future future;
  volt_task *other;
};

static int joins_poll(volt_task *t, volt_ctx *ctx) {
  struct joins *self = volt_container_of(t, struct joins, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_task_join_future(&self->future, self->other)); /* LINE: join */
  VOLT_TASK_END(self);
}

static int waits_poll(volt_task *t, volt_ctx *ctx) {
  struct joins *self = volt_container_of(t, struct joins, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, &nobody, 1));
  VOLT_TASK_END(self);
}

volt_mutex kept_lock = VOLT_MUTEX_INIT;

static int keep(void *arg) {
  (void)arg;
  volt_mutex_lock(&kept_lock);
  volt_mutex_lock(&left_lock); /* for ever */
  return 0;
}

static _Atomic int knocker;

static void *knock(void *arg) {
  knocker = (int)syscall(SYS_gettid);
  if (volt_mutex_lock_until(&left_lock, VOLT_NO_DEADLINE) != VOLT_OK) abort();
  return arg;
}

/* Whether that thread sleeps in the kernel. */
static int sleeps(void) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)knocker);
  FILE *stat = fopen(path, "r");
  if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) exit(1);
  fclose(stat);
  return state == 'S';
}

static void spawn(volt_rt *rt, volt_task *t) {
  if (!t || volt_spawn(rt, t) != VOLT_OK) exit(1);
}

int main(void) {
  pthread_t thread;
  volt_rt *rt;
  volt_rt_config one = {.workers = 1};
  if (volt_rt_create(&rt, &one) != VOLT_OK || volt_name(&left_lock, "left") != VOLT_OK) return 1;
  struct locks *a = VOLT_TASK_NEW(rt, struct locks, locks_poll);
  struct locks *b = VOLT_TASK_NEW(rt, struct locks, locks_poll);
  struct joins *j = VOLT_TASK_NEW(rt, struct joins, joins_poll);
  struct joins *w = VOLT_TASK_NEW(rt, struct joins, waits_poll);
  if (!a || !b || !j || !w) return 1;
  a->first = &left_lock, a->second = &right_lock, a->to = &has_left, a->from = &has_right;
  b->first = &right_lock, b->second = &left_lock, b->to = &has_right, b->from = &has_left;
  j->other = &a->task;
  spawn(rt, &a->task);
  spawn(rt, &b->task);
  spawn(rt, &j->task);
  spawn(rt, &w->task);
  if (volt_sem_acquire(&both, 2) != VOLT_OK) return 1;
  spawn(rt, volt_fiber_new(rt, keep, NULL, NULL));
  if (pthread_create(&thread, NULL, knock, NULL) != 0) return 1;
  volt_rt_stats_of stats;
  do {
    volt_rt_stats(rt, &stats);
  } while (stats.parked == 0 || volt_mutex_waiters(&left_lock) < 3 ||
           volt_mutex_waiters(&right_lock) < 1 || volt_sem_waiters(&nobody) < 1);
  while (!sleeps()) { /* it has queued, and is about to */
  }
  abort();
}
