/* What a user protects by volt, for the thread checkers of valgrind: a mutex, a read-write lock, a
 * semaphore that hands over, a channel of pointers, tasks, fibers. With -DRACE two threads also add to a
 * variable that nothing protects. */
#include <pthread.h>
#include <stdlib.h>
#include <volt/fiber.h>
#include <volt/runtime.h>
#include <volt/volt.h>

enum { THREADS = 3, ROUNDS = 300 };

static volt_mutex mutex = VOLT_MUTEX_INIT;
static volt_rwlock rwlock = VOLT_RWLOCK_INIT;
static volt_sem handed_over = VOLT_SEM_INIT(0);
static volt_chan pointers;
static int under_mutex, under_rwlock, given;

#ifdef RACE
static int unprotected;
#endif

static void *work(void *arg) {
  for (int i = 0; i < ROUNDS; i++) {
    if (volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) != VOLT_OK) abort();
    under_mutex += 1;
    volt_mutex_unlock(&mutex);
    if (volt_rwlock_write_until(&rwlock, VOLT_NO_DEADLINE) != VOLT_OK) abort();
    under_rwlock += 1;
    volt_rwlock_write_unlock(&rwlock);
    if (volt_rwlock_read_until(&rwlock, VOLT_NO_DEADLINE) != VOLT_OK) abort();
    int seen = under_rwlock;
    volt_rwlock_read_unlock(&rwlock);
    int *sent = malloc(sizeof *sent);
    int *received;
    if (sent == NULL) abort();
    *sent = seen;
    if (volt_chan_send(&pointers, &sent) != VOLT_OK) abort();
    if (volt_chan_recv(&pointers, &received) != VOLT_OK) abort();
    *received += 1;
    free(received);
#ifdef RACE
    unprotected += 1;
#endif
  }
  return arg;
}

static void *give(void *arg) {
  given = 1;
  volt_sem_release(&handed_over, 1);
  return arg;
}

struct adder {
  volt_task task;
  volt_future turn;
  int i;
};

static volt_sem one_at_a_time = VOLT_SEM_INIT(1);
static int under_semaphore;

static int add(volt_task *t, volt_ctx *ctx) {
  struct adder *self = volt_container_of(t, struct adder, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < ROUNDS; self->i++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->turn, &one_at_a_time, 1));
    under_semaphore += 1;
    volt_sem_release(&one_at_a_time, 1);
  }
  VOLT_TASK_END(self);
}

static int under_mutex_in_fibers;

/* It may go on at another worker after each nap. */
static int add_in_fiber(void *arg) {
  (void)arg;
  for (int i = 0; i < ROUNDS; i++) {
    if (volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) != VOLT_OK) abort();
    under_mutex_in_fibers += 1;
    volt_mutex_unlock(&mutex);
    if (i % 50 == 0 && volt_sleep_until(volt_deadline_ns(100000)) != VOLT_OK) abort();
  }
  return VOLT_OK;
}

static void run_fibers(void) {
  static const volt_fiber_config moves = {.flags = VOLT_FIBER_MOVES};
  volt_rt *rt;
  volt_group fibers;
  if (volt_rt_create(&rt, NULL) != VOLT_OK) abort();
  volt_group_init(&fibers);
  for (int i = 0; i < THREADS; i++) {
    volt_task *t = volt_fiber_new(rt, add_in_fiber, NULL, &moves);
    if (t == NULL || volt_group_spawn(&fibers, rt, t) != VOLT_OK) abort();
  }
  if (volt_group_wait(&fibers) != VOLT_OK) abort();
  volt_group_destroy(&fibers);
  if (volt_rt_destroy(rt) != VOLT_OK) abort();
}

static void run_tasks(void) {
  volt_rt *rt;
  struct adder *adders[THREADS];
  if (volt_rt_create(&rt, NULL) != VOLT_OK) abort();
  for (int i = 0; i < THREADS; i++) {
    adders[i] = VOLT_TASK_NEW(rt, struct adder, add);
    if (adders[i] == NULL || volt_spawn(rt, &adders[i]->task) != VOLT_OK) abort();
  }
  for (int i = 0; i < THREADS; i++) {
    if (volt_task_join(&adders[i]->task) != VOLT_OK) abort();
    volt_task_detach(&adders[i]->task);
  }
  if (volt_rt_destroy(rt) != VOLT_OK) abort();
}

int main(void) {
  static uint64_t memory[64];
  pthread_t threads[THREADS], giver;
  if (volt_chan_init(&pointers, THREADS, sizeof(int *), memory, sizeof memory) != VOLT_OK) abort();
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
  pthread_create(&giver, NULL, give, NULL);
  if (volt_sem_acquire(&handed_over, 1) != VOLT_OK) abort();
  int right = given == 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_join(giver, NULL);
  run_tasks();
  run_fibers();
  right &= under_mutex_in_fibers == THREADS * ROUNDS;
  right &= under_mutex == THREADS * ROUNDS && under_rwlock == THREADS * ROUNDS;
  return right && under_semaphore == THREADS * ROUNDS ? 0 : 1;
}
