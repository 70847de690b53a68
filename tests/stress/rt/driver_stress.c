/* driver_stress.c: a runtime whose workers sleep in a driver. A thread completes operations there, as a
 * kernel would; others leave mail, and spawn tasks that await operations, and tasks of all kinds. A
 * wake that is lost, on a parker or in the driver, is a task that never ends. */
#define _GNU_SOURCE /* ppoll */
#include <sched.h>
#include <string.h>

#include "fake_driver.h"
#include "rt_load.h"

enum { OPERATIONS = 8 };

typedef struct io_task {
  volt_task task;
  volt_sem done;
  volt_future await;
  fake_op op;
  unsigned home; /* the worker on which it completes */
  uint32_t left;
  struct io_task *next; /* submitted: under the lock */
} io_task;

static rt_load load;
static struct {
  pthread_mutex_t lock;
  io_task *submitted;      /* the last one first */
  uint32_t spawning;       /* threads that may spawn still */
  VOLT_ATOMIC(uint64_t) n; /* operations of this round */
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};
static uint64_t completed; /* in all rounds */

static void has_completed(void *ctx) {
  volt_sem_release(&((io_task *)ctx)->done, 1);
}

static volt_future *submit(io_task *self) {
  int here = volt_rt_worker_here_(load.rt);
  STRESS_CHECK(here >= 0);
  self->home = (unsigned)here;
  self->op.waker = (volt_waker){has_completed, self};
  volt_sem_init(&self->done, 0);
  pthread_mutex_lock(&device.lock);
  self->next = device.submitted;
  device.submitted = self;
  pthread_mutex_unlock(&device.lock);
  return volt_sem_acquire_future(&self->await, &self->done, 1);
}

static int does_io(volt_task *t, volt_ctx *ctx) {
  io_task *self = volt_container_of(t, io_task, task);
  VOLT_TASK_BEGIN(self);
  while (self->left-- > 0) {
    VOLT_AWAIT(self, submit(self));
    (void)volt_fetch_add_relaxed(&device.n, 1); /* a count: read when all have ended */
  }
  VOLT_TASK_END(self);
}

/* Where only a keeper sleeps in the driver, or no worker does, a completion is mail. */
static void complete_one(io_task *t) {
  unsigned home = t->home;
  fake_complete(load.rt, home, &t->op);
  if (volt_load_relaxed(&fake.sleeps) != FAKE_ALWAYS) fake_mail(load.rt, home);
}

static void be_device(stress_worker *w) {
  for (;;) {
    pthread_mutex_lock(&device.lock);
    io_task *taken = device.submitted;
    bool over = !taken && device.spawning == 0;
    device.submitted = NULL;
    pthread_mutex_unlock(&device.lock);
    if (over) return;
    if (!taken) (void)sched_yield();
    while (taken) {
      io_task *t = taken;
      taken = t->next; /* the task may be gone when it has completed */
      complete_one(t);
      stress_dawdle(w);
      stress_progress(w, "complete");
    }
  }
}

static void spawn_and_join(stress_worker *w) {
  io_task t;
  memset((void *)&t, 0, sizeof t);
  volt_task_init(&t.task, does_io);
  t.left = 1 + stress_below(w, OPERATIONS);
  STRESS_CHECK(volt_spawn(load.rt, &t.task) == VOLT_OK);
  if (stress_below(w, 2)) {
    load_task *other = rt_load_new(&load, 1);
    STRESS_CHECK(rt_load_spawn(&load, NULL, other) == VOLT_OK);
    volt_task_detach(&other->task);
  }
  if (stress_below(w, 2)) fake_mail(load.rt, stress_below(w, fake_of(load.rt)->workers));
  stress_dawdle(w);
  STRESS_CHECK(volt_task_join(&t.task) == VOLT_OK);
  volt_task_detach(&t.task);
  (void)volt_fetch_add_relaxed(&load.spawned, 1); /* in its books, too */
  (void)volt_fetch_add_relaxed(&load.ended, 1);
  w->acquired += 1;
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    be_device(w);
    return;
  }
  while (!stress_stopping()) {
    spawn_and_join(w);
    stress_progress(w, "spawn");
  }
  pthread_mutex_lock(&device.lock);
  device.spawning -= 1;
  pthread_mutex_unlock(&device.lock);
}

static void round_of(unsigned workers, uint64_t seed, uint32_t how) {
  unsigned threads = stress_threads() < 2 ? 2 : stress_threads();
  memset((void *)&fake, 0, sizeof fake);
  volt_store_relaxed(&fake.sleeps, how); /* published by the threads' start, as what follows */
  volt_store_relaxed(&fake.wants_keeper, how == FAKE_KEEPER);
  volt_store_relaxed(&fake.naps_only, seed % 8 == 0);
  volt_store_relaxed(&device.n, 0);
  device.spawning = threads - 1;
  rt_load_begin_io(&load, workers, seed, &fake_kind);
  stress_round(threads, 50000000, body, NULL);
  rt_load_end(&load);
  STRESS_CHECK(volt_load_relaxed(&fake.begun) == workers);
  STRESS_CHECK(volt_load_relaxed(&fake.ended) == workers);
  STRESS_CHECK(volt_load_relaxed(&fake.destroyed) == 1);
  completed += volt_load_relaxed(&device.n);
}

int main(void) {
  stress_begin("driver", "operations", NULL);
  uint64_t seed = 1;
  while (stress_time_left()) {
    for (uint32_t how = FAKE_NEVER; how <= FAKE_ALWAYS; how++) {
      for (unsigned workers = 1; workers <= 4 && stress_time_left(); workers++) {
        round_of(workers, seed++, how);
      }
    }
  }
  STRESS_CHECK(completed > 0);
  return stress_end();
}
