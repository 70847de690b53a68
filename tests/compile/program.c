/* A small user of the whole library, compiled as C11 and as C++17: every inline function is called,
 * one of them across threads; every function of VOLT_CHAN_DECLARE, for four types side by side;
 * every primitive is waited for. Exits 0 if all answers are right. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/runtime.h>
#include <volt/volt.h>

static volt_sem ready = VOLT_SEM_INIT(0);
static volt_sem bounded = VOLT_SEM_INIT_BOUNDED(1);
static volt_mutex mutex = VOLT_MUTEX_INIT;
static volt_rwlock rwlock = VOLT_RWLOCK_INIT;
static const volt_amounts one_each = {{1, 1}}; /* as in the unit test of budgets */
static int failures;

static void expect(bool right, const char *what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  failures += 1;
}

/* What the unit test of each primitive says of it: family.sh --lines. */
#define FAMILY_EXPECT(name, what, right) ((void)(name), expect((right), (what)))
#include "family.h"
#include "family_lines.h"

static void wake_nobody(void *ctx) {
  *(int *)ctx += 1;
}

static void *release_two(void *arg) {
  volt_sem_release((volt_sem *)arg, 2);
  return NULL;
}

static void use_bounded(void) {
  expect(volt_sem_try_acquire(&bounded, 1) == VOLT_OK, "try_acquire of a bounded one");
  volt_sem_release(&bounded, 1);
  volt_sem_destroy(&bounded);
}

static void use_semaphore(void) {
  pthread_t thread;
  expect(volt_sem_try_acquire(&ready, 2) == VOLT_EAGAIN, "try_acquire of what is not there");
  expect(pthread_create(&thread, NULL, release_two, &ready) == 0, "pthread_create");
  expect(volt_sem_acquire(&ready, 2) == VOLT_OK, "acquire");
  pthread_join(thread, NULL);
  int wakes = 0;
  volt_waker waker = {wake_nobody, &wakes};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_sem_acquire_waiter(&ready, &w, 1, waker) == VOLT_PENDING, "acquire");
  volt_sem_release(&ready, 1);
  expect(volt_waiter_result(&w) == VOLT_OK && wakes == 1, "release to a waiter");
}

static void use_base(void) {
  expect(volt_is_ok(VOLT_LEADER) && !volt_is_ok(VOLT_PENDING), "is_ok");
}

static void use_loop(void) {
  int told = 0;
  volt_loop loop = VOLT_LOOP_INIT(wake_nobody, &told);
  volt_future f = VOLT_FUTURE_INIT;
  volt_future_made(volt_sem_acquire_future(&f, &ready, 1));
  expect(volt_loop_poll(&loop, &f) == VOLT_PENDING, "loop_poll");
  volt_sem_release(&ready, 1);
  volt_waker nobody = {NULL, NULL};
  volt_ctx ctx = VOLT_CTX_INIT(nobody);
  expect(told == 1 && volt_future_poll_ctx(&f, &ctx) == VOLT_OK, "poll_ctx");
  expect(volt_loop_close_until(&loop, 0) == VOLT_OK, "loop_close_until");
}

static int begin_nothing(volt_promise *p) {
  (void)p;
  return VOLT_PENDING;
}

static void use_promise(void) {
  static const volt_promise_ops ops = {begin_nothing, NULL, NULL};
  volt_promise promise = VOLT_PROMISE_INIT(&ops);
  volt_future f = VOLT_FUTURE_INIT;
  volt_waker nobody = {NULL, NULL};
  expect(volt_future_poll(volt_promise_future(&f, &promise), nobody) == VOLT_PENDING, "promise");
  volt_promise_complete(&promise, VOLT_EINVAL);
  expect(volt_future_poll(&f, nobody) == VOLT_EINVAL, "promise_complete");
  volt_promise_destroy(&promise);
}

static void use_mutex(void) {
  volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_mutex_try_lock(&mutex) == VOLT_OK, "try_lock");
  expect(volt_mutex_lock_until(&mutex, 0) == VOLT_ETIMEDOUT, "lock_until in the past");
  expect(volt_mutex_lock_waiter(&mutex, &w, nobody) == VOLT_PENDING, "lock");
  expect(volt_mutex_cancel(&mutex, &w), "cancel");
  volt_mutex_unlock(&mutex);
  volt_future f = VOLT_FUTURE_INIT;
  expect(volt_future_wait(volt_mutex_lock_future(&f, &mutex)) == VOLT_OK, "block_on");
  volt_mutex_unlock(&mutex);
  volt_mutex_lock(&mutex);
  expect(volt_mutex_try_lock(&mutex) == VOLT_EAGAIN, "lock");
  volt_mutex_unlock(&mutex);
}

static void use_rwlock(void) {
  volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  expect(volt_rwlock_try_read(&rwlock) == VOLT_OK, "try_read");
  expect(volt_rwlock_read_until(&rwlock, 0) == VOLT_OK, "read_until");
  expect(volt_rwlock_read_waiter(&rwlock, &w, nobody) == VOLT_OK, "read");
  expect(volt_rwlock_try_write(&rwlock) == VOLT_EAGAIN, "try_write beside readers");
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rwlock);
  expect(volt_rwlock_try_write(&rwlock) == VOLT_OK, "try_write");
  expect(volt_rwlock_write_until(&rwlock, 0) == VOLT_ETIMEDOUT, "write_until in the past");
  expect(volt_rwlock_write_waiter(&rwlock, &w, nobody) == VOLT_PENDING, "write");
  volt_rwlock_write_unlock(&rwlock);
  expect(volt_waiter_result(&w) == VOLT_OK, "write lock handed over");
  volt_rwlock_write_unlock(&rwlock);
  volt_rwlock_write(&rwlock);
  expect(volt_rwlock_try_read(&rwlock) == VOLT_EAGAIN, "write");
  volt_rwlock_write_unlock(&rwlock);
  volt_rwlock_read(&rwlock);
  expect(volt_rwlock_try_write(&rwlock) == VOLT_EAGAIN, "read");
  volt_rwlock_read_unlock(&rwlock);
}

/* ---- channels ---- */

struct job {
  int32_t number;
  int32_t weight;
  int32_t tries;
};
enum step { STEP_READ = 1, STEP_HASH, STEP_WRITE };

VOLT_CHAN_DECLARE(jobs, struct job);
VOLT_CHAN_DECLARE(job_addresses, struct job *);
VOLT_CHAN_DECLARE(steps, enum step);
VOLT_CHAN_DECLARE(answers, bool);

/* Everything that VOLT_CHAN_DECLARE(name, type) makes, through a channel with one place. */
#define USE_CHANNEL(name, type)                                                              \
  static void use_##name(type sent) {                                                        \
    uint64_t memory[8];                                                                      \
    name c;                                                                                  \
    type got = sent;                                                                         \
    volt_waker nobody = {NULL, NULL};                                                        \
    volt_waiter w = VOLT_WAITER_INIT;                                                        \
    volt_future f = VOLT_FUTURE_INIT;                                                        \
    expect(name##_bytes(1) <= sizeof memory, #name "_bytes");                                \
    expect(name##_init(&c, 1, memory, name##_bytes(1)) == VOLT_OK, #name "_init");           \
    expect(name##_try_recv(&c, &got) == VOLT_EAGAIN, #name "_try_recv of none");             \
    expect(name##_recv_until(&c, &got, 0) == VOLT_ETIMEDOUT, #name "_recv_until of none");   \
    memset(&got, 0, sizeof got);                                                             \
    expect(name##_recv_waiter(&c, &w, &got, nobody) == VOLT_PENDING, #name "_recv_waiter");  \
    expect(name##_try_send(&c, sent) == VOLT_OK, #name "_try_send");                         \
    expect(volt_waiter_result(&w) == VOLT_OK, #name "_recv completes");                      \
    expect(memcmp(&got, &sent, sizeof got) == 0, #name ": handed over");                     \
    expect(name##_send_until(&c, sent, 0) == VOLT_OK, #name "_send_until");                  \
    expect(name##_send_until(&c, sent, 0) == VOLT_ETIMEDOUT, #name "_send_until, full");     \
    expect(name##_send_waiter(&c, &w, &sent, nobody) == VOLT_PENDING, #name "_send_waiter"); \
    memset(&got, 0, sizeof got);                                                             \
    expect(name##_recv_until(&c, &got, 0) == VOLT_OK, #name "_recv_until");                  \
    expect(memcmp(&got, &sent, sizeof got) == 0, #name ": through the ring");                \
    expect(name##_try_recv(&c, &got) == VOLT_OK, #name "_try_recv");                         \
    expect(volt_future_wait_until(name##_send_future(&f, &c, &sent), 0) == VOLT_OK,          \
           #name "_send_future");                                                            \
    memset(&got, 0, sizeof got);                                                             \
    expect(volt_future_wait_until(name##_recv_future(&f, &c, &got), 0) == VOLT_OK,           \
           #name "_recv_future");                                                            \
    expect(memcmp(&got, &sent, sizeof got) == 0, #name ": by futures");                      \
    volt_chan_close(&c.chan);                                                                \
    expect(name##_try_send(&c, sent) == VOLT_ECLOSED, #name "_try_send, closed");            \
    expect(name##_send(&c, sent) == VOLT_ECLOSED, #name "_send, closed");                    \
    expect(name##_recv(&c, &got) == VOLT_ECLOSED, #name "_recv, closed");                    \
    volt_chan_destroy(&c.chan, NULL, NULL);                                                  \
  }                                                                                          \
  struct name /* takes the semicolon */

USE_CHANNEL(jobs, struct job);
USE_CHANNEL(job_addresses, struct job *);
USE_CHANNEL(steps, enum step);
USE_CHANNEL(answers, bool);

static void use_channels(void) {
  struct job job = {7, 3, 1};
  use_jobs(job);
  use_job_addresses(&job);
  use_steps(STEP_HASH);
  use_answers(true);
}

/* ---- what else one waits with ---- */

static void use_latch(void) {
  volt_latch latch = VOLT_LATCH_INIT(1);
  volt_latch_add(&latch, 2);
  volt_latch_count_down(&latch, 2);
  expect(volt_latch_try_wait(&latch) == VOLT_EAGAIN, "try_wait of a shut latch");
  volt_latch_done(&latch);
  expect(volt_latch_try_wait(&latch) == VOLT_OK, "try_wait of an open latch");
  volt_latch_destroy(&latch);
}

static int count_call(void *arg) {
  *(int *)arg += 1;
  return VOLT_OK;
}

static void use_once(void) {
  volt_once once = VOLT_ONCE_INIT;
  int calls = 0;
  expect(!volt_once_is_done(&once), "is_done before");
  for (int i = 0; i < 2; i++) expect(volt_once_call(&once, count_call, &calls) == VOLT_OK, "call");
  expect(volt_once_is_done(&once) && calls == 1, "is_done after");
  volt_once_destroy(&once);
}

static void use_token(void) {
  volt_token parent = VOLT_TOKEN_INIT;
  volt_token child;
  volt_token_init_child(&child, &parent);
  expect(!volt_token_is_cancelled(&child), "is_cancelled before");
  volt_token_cancel(&parent);
  expect(volt_token_is_cancelled(&child), "is_cancelled after");
  volt_token_destroy(&child);
  volt_token_destroy(&parent);
}

static void handle_node(volt_bcs_node *node, void *ctx) {
  (void)node;
  *(int *)ctx += 1;
}

static void use_batched_sections(void) {
  int handled = 0;
  volt_bcs_lockfree lockfree;
  volt_bcs_waitfree waitfree;
  volt_bcs_waitfree_stub with_stub;
  volt_bcs_node nodes[3];
  volt_bcs_lockfree_init(&lockfree);
  volt_bcs_waitfree_init(&waitfree);
  volt_bcs_waitfree_stub_init(&with_stub);
  volt_bcs_lockfree_submit(&lockfree, &nodes[0], handle_node, &handled);
  volt_bcs_waitfree_submit(&waitfree, &nodes[1], handle_node, &handled);
  volt_bcs_waitfree_stub_submit(&with_stub, &nodes[2], handle_node, &handled);
  expect(handled == 3, "submit");
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
  expect(volt_task_join(&c->task) == 3, "join");
  volt_task_detach(&c->task);
  expect(volt_rt_destroy(rt) == 0, "tasks left");
}

static int add(void *arg) {
  int *sum = (int *)arg;
  for (int i = 0; i < 3; i++) {
    expect(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) == VOLT_OK, "a fiber locks");
    *sum += 1;
    volt_mutex_unlock(&mutex);
    expect(volt_fiber_yield() == VOLT_OK, "a fiber yields");
  }
  return *sum;
}

static void use_fibers(void) {
  volt_rt *rt;
  int sum = 4;
  expect(volt_rt_create(&rt, NULL) == VOLT_OK, "volt_rt_create");
  volt_task *t = volt_fiber_new(rt, add, &sum, NULL);
  expect(volt_fiber_supported() == NULL, "fibers work");
  expect(volt_spawn(rt, t) == VOLT_OK, "volt_spawn of a fiber");
  expect(volt_task_join(t) == 7, "join of a fiber");
  volt_task_detach(t);
  expect(volt_rt_destroy(rt) == 0, "fibers left");
}

int main(void) {
  use_semaphore();
  use_bounded();
  use_loop();
  use_promise();
  use_tasks();
  use_fibers();
  use_base();
  use_mutex();
  use_rwlock();
  use_channels();
  use_latch();
  use_once();
  use_token();
  use_family();
  use_batched_sections();
  volt_sem_destroy(&ready);
  volt_mutex_destroy(&mutex);
  volt_rwlock_destroy(&rwlock);
  if (failures == 0) printf("volt %s\n", volt_version());
  return failures != 0;
}
