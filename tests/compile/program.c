/* A small user of the whole library, compiled as C11 and as C++17: every inline function is called,
 * one of them across threads. Exits 0 if all answers are right. */
#include <pthread.h>
#include <stdio.h>
#include <volt/runtime.h>
#include <volt/volt.h>

static volt_sem ready = VOLT_SEM_INIT(0);
static volt_mutex mutex = VOLT_MUTEX_INIT;
static volt_rwlock rwlock = VOLT_RWLOCK_INIT;
static int failures;

static void expect(bool right, const char *what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  failures += 1;
}

static void wake_nobody(void *ctx) {
  *(int *)ctx += 1;
}

static void *release_two(void *arg) {
  volt_sem_release((volt_sem *)arg, 2);
  return NULL;
}

static void use_semaphore(void) {
  pthread_t thread;
  expect(!volt_sem_try_acquire(&ready, 2), "try_acquire of what is not there");
  expect(pthread_create(&thread, NULL, release_two, &ready) == 0, "pthread_create");
  expect(volt_sem_acquire_blocking(&ready, 2, VOLT_NO_DEADLINE) == VOLT_OK, "acquire_blocking");
  pthread_join(thread, NULL);
  int wakes = 0;
  volt_waker waker = {wake_nobody, &wakes};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_sem_acquire(&ready, &w, 1, waker) == VOLT_PENDING, "acquire");
  volt_sem_release(&ready, 1);
  expect(volt_waiter_result(&w) == VOLT_OK && wakes == 1, "release to a waiter");
}

static void use_mutex(void) {
  volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_mutex_try_lock(&mutex), "try_lock");
  expect(volt_mutex_lock_blocking(&mutex, 0) == VOLT_ETIMEDOUT, "lock_blocking in the past");
  expect(volt_mutex_lock(&mutex, &w, nobody) == VOLT_PENDING, "lock");
  expect(volt_mutex_cancel(&mutex, &w), "cancel");
  volt_mutex_unlock(&mutex);
  volt_future f = VOLT_FUTURE_INIT;
  expect(volt_block_on(volt_mutex_lock_future(&f, &mutex), VOLT_NO_DEADLINE) == VOLT_OK, "block_on");
  volt_mutex_unlock(&mutex);
}

static void use_rwlock(void) {
  volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_rwlock_try_read(&rwlock), "try_read");
  expect(volt_rwlock_read_blocking(&rwlock, 0) == VOLT_OK, "read_blocking");
  expect(volt_rwlock_read(&rwlock, &w, nobody) == VOLT_OK, "read");
  expect(!volt_rwlock_try_write(&rwlock), "try_write beside readers");
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rwlock);
  expect(volt_rwlock_try_write(&rwlock), "try_write");
  expect(volt_rwlock_write_blocking(&rwlock, 0) == VOLT_ETIMEDOUT, "write_blocking in the past");
  expect(volt_rwlock_write(&rwlock, &w, nobody) == VOLT_PENDING, "write");
  volt_rwlock_write_unlock(&rwlock);
  expect(volt_waiter_result(&w) == VOLT_OK, "write lock handed over");
  volt_rwlock_write_unlock(&rwlock);
}

struct counter {
  volt_task task;
  volt_future lock;
  int turns;
};

static int count(volt_task *t, volt_ctx *ctx) {
  struct counter *self = volt_container_of(t, struct counter, task);
  VOLT_TASK_BEGIN(self);
  while (self->turns < 3) {
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &mutex));
    self->turns += 1;
    volt_mutex_unlock(&mutex);
    VOLT_YIELD(self);
  }
  VOLT_RETURN(self, self->turns);
  VOLT_FINALLY(self);
  VOLT_TASK_END(self);
}

static void use_tasks(void) {
  volt_rt *rt;
  expect(volt_rt_create(&rt, NULL) == VOLT_OK, "volt_rt_create");
  struct counter *c = VOLT_TASK_NEW(rt, struct counter, count);
  expect(volt_spawn(rt, &c->task) == VOLT_OK, "volt_spawn");
  expect(volt_task_join_blocking(&c->task, VOLT_NO_DEADLINE) == 3, "join");
  volt_task_detach(&c->task);
  expect(volt_rt_destroy(rt) == 0, "tasks left");
}

int main(void) {
  use_semaphore();
  use_tasks();
  use_mutex();
  use_rwlock();
  volt_sem_destroy(&ready);
  volt_mutex_destroy(&mutex);
  volt_rwlock_destroy(&rwlock);
  if (failures == 0) printf("volt %s\n", volt_version());
  return failures != 0;
}
