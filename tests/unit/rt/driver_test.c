/* driver_test.c: what a runtime asks of its driver, and when (rt/host/driver.h): from beginning to end, how
 * its workers look at it, sleep in it and are woken from it; and a runtime by hand with one. */
#define _GNU_SOURCE /* ppoll, fork */
#include <dirent.h>
#include <sys/wait.h>
#include <volt/runtime.h>

#include "core/park/spin.h"
#include "fake_driver.h"
#include "fake_waker.h"
#include "rt/host/doorbell.h"
#include "rt/sched/worker.h"
#include "thread_team.h"
#include "unit.h"

/* A task that waits for operations of the driver: each gives it a permit. */
typedef struct job {
  volt_task task;
  volt_future permit;
  volt_sem sem;
  fake_op op;
  volt_blocking call;
  VOLT_ATOMIC(uint32_t) step;
  uint32_t worker; /* that it has run on last */
  uint32_t polls;
  VOLT_ATOMIC(uint32_t) may_end;
} job;

static volt_rt *rt;
enum { JOBS = 7 };
static job jobs[JOBS];

static int set_up(void **state) {
  (void)state;
  memset((void *)&fake, 0, sizeof fake);
  memset((void *)jobs, 0, sizeof jobs);
  volt_store_relaxed(&fake.sleeps, FAKE_ALWAYS);
  for (unsigned i = 0; i < JOBS; i++) volt_sem_init(&jobs[i].sem, 0);
  return 0;
}

static volt_rt_config config_of(uint32_t workers, unsigned flags) {
  return (volt_rt_config){.workers = workers, .flags = flags, .io = &fake_kind};
}

static void begin(uint32_t workers, unsigned flags) {
  volt_rt_config config = config_of(workers, flags);
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
}

static void end(void) {
  uint32_t workers = fake_of(rt)->workers;
  assert_int_equal(volt_rt_destroy(rt), 0);
  assert_int_equal(volt_load_relaxed(&fake.begun), workers);
  assert_int_equal(volt_load_relaxed(&fake.ended), workers);
  assert_int_equal(volt_load_relaxed(&fake.destroyed), 1);
}

static fake_share *share(unsigned worker) {
  return &fake_of(rt)->share[worker];
}

static bool is_asleep(unsigned worker) {
  return volt_load_acquire(&share(worker)->is_asleep);
}

static void give(void *ctx) {
  volt_sem_release(&((job *)ctx)->sem, 1);
}

/* An operation of job i completes on that worker. */
static void complete(unsigned i, unsigned worker) {
  jobs[i].op.waker = (volt_waker){.wake = give, .ctx = &jobs[i]};
  fake_complete(rt, worker, &jobs[i].op);
}

static void reach(job *self, uint32_t step) {
  self->worker = (uint32_t)volt_rt_worker_here_(rt);
  volt_store_release(&self->step, step);
}

static void wait_for(unsigned i, uint32_t step) {
  WAIT_UNTIL(volt_load_acquire(&jobs[i].step) >= step);
}

static int takes_two(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  reach(self, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &self->sem, 1));
  reach(self, 2);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &self->sem, 1));
  reach(self, 3);
  VOLT_TASK_END(self);
}

static int is_done(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  reach(volt_container_of(t, job, task), 1);
  return VOLT_OK;
}

static void spawn(unsigned i, volt_task_fn *poll) {
  volt_task_init(&jobs[i].task, poll);
  assert_result(volt_spawn(rt, &jobs[i].task), VOLT_OK);
}

static void join(unsigned i) {
  assert_result(volt_task_join(&jobs[i].task), VOLT_OK);
}

static unsigned descriptors(void) {
  unsigned count = 0;
  DIR *open = opendir("/proc/self/fd");
  assert_non_null(open);
  for (struct dirent *e; (e = readdir(open)) != NULL;) count += e->d_name[0] != '.';
  closedir(open);
  return count;
}

/* ---- from beginning to end ---- */

static void each_worker_begins_and_ends(void **state) {
  (void)state;
  begin(3, 0);
  assert_string_equal(volt_rt_io_name(rt), "fake");
  assert_ptr_equal(volt_rt_driver_(rt), &fake_of(rt)->base);
  assert_int_equal(volt_rt_worker_here_(rt), -1);
  end();
}

static void without_a_driver(void **state) {
  (void)state;
  volt_worker_stats stats;
  assert_result(volt_rt_create(&rt, &(volt_rt_config){.workers = 1}), VOLT_OK);
  assert_null(volt_rt_driver_(rt));
  assert_string_equal(volt_rt_io_name(rt), "none");
  spawn(0, is_done);
  join(0);
  assert_result(volt_rt_worker_stats(rt, 0, &stats), VOLT_OK);
  assert_int_equal(stats.look_delay_ns, 0);
  volt_rt_destroy(rt);
  assert_int_equal(volt_load_relaxed(&fake.begun), 0);
}

static void a_driver_that_cannot_be_made(void **state) {
  (void)state;
  begin(2, 0); /* so that there are doorbells from here on */
  end();
  unsigned before = descriptors();
  volt_rt_config config = config_of(2, 0);
  fake.result = VOLT_EINVAL;
  assert_result(volt_rt_create(&rt, &config), VOLT_EINVAL);
  assert_null(rt);
  fake.result = -2000; /* whatever it says */
  assert_int_equal(volt_rt_create(&rt, &config), -2000);
  assert_int_equal(descriptors(), before);
}

/* Of three workers the first is started, and cannot be pinned. */
static void workers_that_cannot_be_started(void **state) {
  (void)state;
  const int cpus[] = {-1};
  volt_rt_config config = config_of(3, 0);
  config.cpus = cpus;
  config.cpu_count = 1;
  assert_result(volt_rt_create(&rt, &config), VOLT_EINVAL);
  assert_int_equal(volt_load_relaxed(&fake.begun), 1);
  assert_int_equal(volt_load_relaxed(&fake.ended), 1);
  assert_int_equal(volt_load_relaxed(&fake.destroyed), 1);
}

static bool is_among(int number, const int *numbers, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (numbers[i] == number) return true;
  }
  return false;
}

static void doorbells_are_kept(void **state) {
  (void)state;
  int doorbells[2];
  begin(2, 0);
  memcpy(doorbells, fake.doorbells, sizeof doorbells);
  unsigned held = descriptors();
  end();
  assert_int_equal(descriptors(), held - 4); /* two of each share, and not the doorbells */
  const uint64_t one = 1;
  assert_int_equal(write(doorbells[0], &one, sizeof one), sizeof one); /* late */
  assert_int_equal(write(doorbells[1], &one, sizeof one), sizeof one);
  set_up(NULL);
  begin(2, 0);
  assert_int_equal(fake.had_rung, 0);
  for (unsigned i = 0; i < 2; i++) assert_true(is_among(fake.doorbells[i], doorbells, 2));
  assert_int_not_equal(fake.doorbells[0], fake.doorbells[1]);
  end();
}

static void a_doorbell(void **state) {
  (void)state;
  volt_doorbell *bell = volt_doorbell_take_();
  assert_non_null(bell);
  assert_false(fake_has_rung(bell->eventfd));
  errno = 77;
  volt_doorbell_ring_(bell);
  volt_doorbell_ring_(bell);
  assert_int_equal(errno, 77);
  assert_true(fake_has_rung(bell->eventfd));
  volt_doorbell_give_(bell);
  volt_doorbell_ring_(bell);
  volt_doorbell *again = volt_doorbell_take_();
  assert_ptr_equal(again, bell);
  assert_false(fake_has_rung(bell->eventfd));
  const uint64_t full = UINT64_MAX - 1;
  assert_int_equal(write(bell->eventfd, &full, sizeof full), sizeof full);
  volt_doorbell_ring_(bell); /* which does not block, and has rung */
  assert_true(fake_has_rung(bell->eventfd));
  volt_doorbell_give_(bell);
}

/* The child has none of its parent's, and makes its own. */
static void a_doorbell_after_a_fork(void **state) {
  (void)state;
  volt_doorbell *bell = volt_doorbell_take_();
  volt_doorbell_give_(bell);
  pid_t child = fork();
  if (child == 0) {
    volt_doorbell *own = volt_doorbell_take_();
    if (!own || own == bell || own->eventfd == bell->eventfd) _exit(1);
    volt_doorbell_give_(own);
    _exit(volt_doorbell_take_() == own ? 0 : 2);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_ptr_equal(volt_doorbell_take_(), bell);
  volt_doorbell_give_(bell);
}

/* ---- where a worker sleeps, and how it is woken ---- */

static void sleeps_in_the_driver(void **state) {
  (void)state;
  begin(1, 0);
  for (unsigned i = 0; i < 3; i++) {
    WAIT_UNTIL(is_asleep(0));
    assert_int_equal(volt_load_relaxed(&share(0)->deadline_ns), VOLT_NO_DEADLINE);
    spawn(0, is_done);
    join(0);
  }
  end();
}

static void sleeps_on_its_parker(void **state) {
  (void)state;
  volt_store_relaxed(&fake.sleeps, FAKE_NEVER);
  begin(1, 0);
  WAIT_UNTIL(volt_load_relaxed(&share(0)->asked) >= 1);
  assert_true(volt_load_relaxed(&share(0)->was_keeper));
  spawn(0, is_done);
  join(0);
  assert_int_equal(volt_load_relaxed(&share(0)->sleeps), 0);
  end();
}

/* No worker sleeps in a driver whose time is virtual. */
static void sleeps_in_virtual_time(void **state) {
  (void)state;
  begin(1, VOLT_RT_VIRTUAL_CLOCK);
  spawn(0, is_done);
  join(0);
  fake_mail(rt, 0);
  WAIT_UNTIL(volt_load_relaxed(&share(0)->mails_seen) == 1);
  assert_int_equal(volt_load_relaxed(&share(0)->asked), 0);
  end();
}

static void a_completion_ends_its_sleep(void **state) {
  (void)state;
  begin(1, 0);
  spawn(0, takes_two);
  for (uint32_t step = 1; step <= 2; step++) {
    wait_for(0, step);
    WAIT_UNTIL(is_asleep(0));
    complete(0, 0);
  }
  join(0);
  assert_int_equal(jobs[0].worker, 0);
  end();
}

static void a_sleep_that_ends_for_no_reason(void **state) {
  (void)state;
  volt_store_relaxed(&fake.naps_only, 1);
  begin(2, 0);
  spawn(0, takes_two);
  wait_for(0, 1);
  WAIT_UNTIL(volt_load_relaxed(&share(0)->sleeps) > 10);
  WAIT_UNTIL(volt_load_relaxed(&share(1)->sleeps) > 10);
  complete(0, 0);
  wait_for(0, 2);
  complete(0, 1);
  join(0);
  volt_store_relaxed(&fake.naps_only, 0);
  end();
}

static void mail_wakes_its_worker(void **state) {
  (void)state;
  static const uint32_t ways[] = {FAKE_ALWAYS, FAKE_NEVER, FAKE_KEEPER};
  for (unsigned way = 0; way < 3; way++) {
    set_up(NULL);
    volt_store_relaxed(&fake.sleeps, ways[way]);
    begin(2, 0);
    for (uint32_t n = 1; n <= 20; n++) {
      for (unsigned worker = 0; worker < 2; worker++) {
        fake_mail(rt, worker);
        WAIT_UNTIL(volt_load_relaxed(&share(worker)->mails_seen) == n);
      }
    }
    end();
  }
}

static void is_woken(void *ctx) {
  volt_store_release((VOLT_ATOMIC(uint32_t) *)ctx, 1);
}

/* The keeper sleeps until the earliest timer, and is woken for an earlier one. */
static void the_keeper_sleeps_in_the_driver(void **state) {
  (void)state;
  volt_store_relaxed(&fake.sleeps, FAKE_KEEPER);
  VOLT_ATOMIC(uint32_t) expired;
  volt_store_relaxed(&expired, 0);
  volt_timer late = VOLT_TIMER_INIT;
  volt_timer early = VOLT_TIMER_INIT;
  begin(1, 0);
  WAIT_UNTIL(is_asleep(0));
  uint64_t late_ns = volt_deadline_ns(UINT64_C(3600000000000));
  volt_timer_start(volt_rt_timers(rt), &late, late_ns, (volt_waker){is_woken, &expired});
  WAIT_UNTIL(volt_load_relaxed(&share(0)->deadline_ns) == late_ns);
  WAIT_UNTIL(is_asleep(0));
  uint64_t early_ns = volt_deadline_ns(2000000);
  volt_timer_start(volt_rt_timers(rt), &early, early_ns, (volt_waker){is_woken, &expired});
  WAIT_UNTIL(volt_load_acquire(&expired));
  assert_true(volt_now_ns() >= early_ns);
  assert_true(volt_timer_cancel(volt_rt_timers(rt), &late));
  end();
}

/* Work wakes the worker on its parker, not the one in the driver. */
static void work_spares_the_driven(void **state) {
  (void)state;
  volt_store_relaxed(&fake.sleeps, FAKE_KEEPER);
  begin(2, 0);
  for (unsigned i = 0; i < 10; i++) {
    volt_rt_stats_of stats;
    do {
      sched_yield();
      volt_rt_stats(rt, &stats);
    } while (stats.parked < 2 || (!is_asleep(0) && !is_asleep(1)));
    unsigned keeper = is_asleep(0) ? 0 : 1;
    uint32_t sleeps = volt_load_relaxed(&share(keeper)->sleeps);
    if (volt_load_relaxed(&share(1 - keeper)->was_keeper)) continue; /* it is about to change */
    spawn(0, is_done);
    join(0);
    assert_int_equal(volt_load_relaxed(&share(keeper)->sleeps), sleeps);
    assert_int_equal(jobs[0].worker, 1 - keeper);
  }
  end();
}

/* The worker that kept the time polls until another one sleeps in the driver instead. */
static int waits_for_a_keeper(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  reach(self, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &self->sem, 1));
  unsigned other = 1 - (unsigned)volt_rt_worker_here_(rt);
  WAIT_UNTIL(is_asleep(other));
  reach(self, 2);
  VOLT_TASK_END(self);
}

static void another_one_keeps_the_driver(void **state) {
  (void)state;
  volt_store_relaxed(&fake.sleeps, FAKE_KEEPER);
  volt_store_relaxed(&fake.wants_keeper, 1);
  begin(2, 0);
  for (unsigned i = 0; i < 10; i++) {
    volt_store_relaxed(&jobs[0].step, 0);
    spawn(0, waits_for_a_keeper);
    wait_for(0, 1);
    WAIT_UNTIL(is_asleep(0) || is_asleep(1));
    complete(0, is_asleep(0) ? 0 : 1);
    /* if that one is woken for something else first, the other comes to sleep there, and looks */
    join(0);
  }
  end();
}

/* ---- while it is awake ---- */

/* It yields for ever, until an operation has completed. */
static int yields(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  reach(self, 1);
  while (volt_sem_try_acquire(&self->sem, 1) != VOLT_OK) VOLT_YIELD(self);
  VOLT_TASK_END(self);
}

static void looks_between_polls(void **state) {
  (void)state;
  begin(1, 0);
  spawn(0, yields);
  wait_for(0, 1);
  complete(0, 0);
  join(0);
  end();
}

static int takes_5_ms(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  uint64_t end_ns = volt_deadline_ns(5000000);
  while (volt_now_ns() < end_ns) volt_cpu_relax_();
  return VOLT_OK;
}

/* It has no other to steal from: its sleep is its look. */
static void the_only_worker_looks_as_it_sleeps(void **state) {
  (void)state;
  begin(1, 0);
  spawn(0, takes_two);
  wait_for(0, 1);
  WAIT_UNTIL(is_asleep(0));
  uint32_t looks = volt_load_relaxed(&share(0)->looks);
  uint32_t sleeps = volt_load_relaxed(&share(0)->sleeps);
  complete(0, 0);
  wait_for(0, 2);
  WAIT_UNTIL(volt_load_relaxed(&share(0)->sleeps) > sleeps && is_asleep(0));
  assert_int_equal(volt_load_relaxed(&share(0)->looks), looks);
  complete(0, 0);
  join(0);
  end();
}

static void a_long_poll_is_told(void **state) {
  (void)state;
  volt_worker_stats stats;
  begin(1, 0);
  spawn(0, takes_5_ms);
  join(0);
  WAIT_UNTIL(is_asleep(0)); /* it has looked since */
  assert_result(volt_rt_worker_stats(rt, 0, &stats), VOLT_OK);
  assert_true(stats.look_delay_ns >= 5000000);
  end();
}

/* What a worker wakes in look() or sleep() is its own, though others sleep. */
static void what_it_wakes_is_its_own(void **state) {
  (void)state;
  begin(2, 0);
  spawn(0, takes_two);
  wait_for(0, 1);
  for (uint32_t step = 2; step <= 3; step++) {
    WAIT_UNTIL(is_asleep(0) && is_asleep(1));
    complete(0, step % 2);
    wait_for(0, step);
    assert_int_equal(jobs[0].worker, step % 2);
  }
  join(0);
  end();
}

/* ---- what is staged is submitted before a task that was found elsewhere is polled ---- */

static int has_staged(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  job *self = volt_container_of(t, job, task);
  fake_stage(rt);
  reach(self, 1);
  WAIT_UNTIL(volt_load_acquire(&self->may_end)); /* meanwhile the other task comes from outside */
  return VOLT_OK;
}

static int finds_nothing_staged(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  REQUIRE(fake_staged(rt) == 0);
  reach(volt_container_of(t, job, task), 1);
  return VOLT_OK;
}

static void the_only_worker_submits_before_a_task_from_outside(void **state) {
  (void)state;
  begin(1, 0);
  for (int round = 0; round < 20; round++) {
    volt_store_relaxed(&jobs[0].step, 0);
    volt_store_relaxed(&jobs[0].may_end, 0);
    spawn(0, has_staged);
    wait_for(0, 1);
    spawn(1, finds_nothing_staged);
    volt_store_release(&jobs[0].may_end, 1);
    join(0);
    join(1);
  }
  end();
}

/* The waker of a timer that the watcher expires, when it has come back by itself: it stages an operation,
 * and the other worker then has a task to be stolen. */
typedef struct expiry {
  volt_sleep_op sleep;
  VOLT_ATOMIC(uint32_t) is_called, may_return;
  bool by_watcher;
} expiry;

static expiry expires;

static void stage_and_wait(void *ctx) {
  expiry *self = (expiry *)ctx;
  volt_here_ *here = volt_thread_here_();
  self->by_watcher = here->worker && here->worker->back == VOLT_BACK_TO_POLLS_;
  if (here->worker) fake_stage(rt);
  volt_store_release(&self->is_called, 1);
  WAIT_UNTIL(volt_load_acquire(&self->may_return));
}

/* It is in the future, however late this thread comes to the poll. */
static void start_expiry(void) {
  const volt_waker waker = {.wake = stage_and_wait, .ctx = &expires};
  uint64_t after_ns = 20000;
  volt_future *f;
  do {
    f = volt_sleep_future(&expires.sleep, volt_rt_timers(rt), volt_rt_now_ns(rt) + after_ns);
    after_ns *= 2;
  } while (volt_future_poll(f, waker) != VOLT_PENDING);
}

/* Polls that are short, so that the other worker watches; then a long one, in which the timer expires. Of
 * the two tasks that it spawns the first can be stolen. */
static int has_a_timer_expire(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  for (self->polls = 0; self->polls < 300; self->polls++) VOLT_YIELD(self);
  start_expiry();
  WAIT_UNTIL(volt_load_acquire(&expires.is_called));
  spawn(1, finds_nothing_staged);
  spawn(2, is_done);
  volt_store_release(&expires.may_return, 1);
  wait_for(1, 1);
  VOLT_TASK_END(self);
}

static void a_watcher_submits_before_a_task_that_it_steals(void **state) {
  (void)state;
  begin(2, 0);
  for (int by_watcher = 0; by_watcher < 5; by_watcher += expires.by_watcher) {
    memset((void *)&expires, 0, sizeof expires);
    memset((void *)jobs, 0, sizeof jobs);
    spawn(0, has_a_timer_expire);
    join(0); /* then the others were spawned */
    join(1);
    join(2);
  }
  end();
}

/* ---- what is counted ---- */

static volt_worker_stats stats_of(unsigned worker) {
  volt_worker_stats stats;
  assert_result(volt_rt_worker_stats(rt, worker, &stats), VOLT_OK);
  return stats;
}

static volt_worker_stats sum_of_two(void) {
  volt_worker_stats a = stats_of(0);
  volt_worker_stats b = stats_of(1);
  return (volt_worker_stats){.parks = a.parks + b.parks,
                             .woken = a.woken + b.woken,
                             .wakes = a.wakes + b.wakes,
                             .empty_searches = a.empty_searches + b.empty_searches,
                             .moved = a.moved + b.moved};
}

static void begin_two_that_sleep(void) {
  begin(2, 0);
  WAIT_UNTIL(is_asleep(0) && is_asleep(1));
}

/* A sleep that goes on is not counted yet. */
static void looks_and_events_are_counted(void **state) {
  (void)state;
  begin_two_that_sleep();
  spawn(0, takes_two);
  for (uint32_t step = 2; step <= 3; step++) {
    wait_for(0, step - 1);
    WAIT_UNTIL(is_asleep(0) && is_asleep(1));
    complete(0, step % 2);
  }
  join(0);
  WAIT_UNTIL(is_asleep(0) && is_asleep(1));
  for (unsigned i = 0; i < 2; i++) {
    /* a worker that was rung may still be about to look once more */
    WAIT_UNTIL(stats_of(i).checks + 1 ==
               volt_load_relaxed(&share(i)->looks) + volt_load_relaxed(&share(i)->sleeps));
    assert_int_equal(stats_of(i).events, 1);
  }
  end();
}

static void moves_are_counted(void **state) {
  (void)state;
  begin_two_that_sleep();
  spawn(0, takes_two);
  wait_for(0, 1);
  uint32_t moved[2] = {0, 0};
  for (uint32_t step = 2; step <= 3; step++) {
    uint32_t last = jobs[0].worker;
    WAIT_UNTIL(is_asleep(0) && is_asleep(1));
    complete(0, 1 - last);
    wait_for(0, step);
    if (jobs[0].worker != last) moved[jobs[0].worker] += 1; /* unless the last one has stolen it */
  }
  join(0);
  for (unsigned i = 0; i < 2; i++) assert_int_equal(stats_of(i).moved, moved[i]);
  end();
}

/* The thread that queues it wakes one worker, unless the one that watches has just come back. */
static void a_task_from_outside_ends_one_sleep(void **state) {
  (void)state;
  begin_two_that_sleep();
  volt_worker_stats before = sum_of_two();
  spawn(0, is_done);
  join(0);
  WAIT_UNTIL(is_asleep(0) && is_asleep(1));
  volt_worker_stats after = sum_of_two();
  uint64_t woken = after.woken - before.woken;
  assert_true(woken <= 1);
  assert_true(after.parks - before.parks >= woken);
  assert_true(after.empty_searches - before.empty_searches >= woken);
  assert_int_equal(after.wakes - before.wakes, 0);
  assert_int_equal(after.moved - before.moved, 0);
  end();
}

enum { MANY = JOBS - 1 };

/* All but one go to the ring. */
static int spawns_many(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  reach(volt_container_of(t, job, task), 1);
  for (unsigned i = 1; i <= MANY; i++) {
    volt_task_init(&jobs[i].task, is_done);
    if (volt_spawn(rt, &jobs[i].task) != VOLT_OK) return VOLT_EINVAL;
  }
  return VOLT_OK;
}

/* Again and again, until the other one sleeps then, and has not just come back by itself. */
static void the_worker_that_wakes_another_is_counted(void **state) {
  (void)state;
  begin_two_that_sleep();
  uint64_t before = sum_of_two().wakes, woken = sum_of_two().woken - before;
  uint64_t rounds = 0;
  uint32_t self;
  volt_worker_stats was[2];
  do {
    WAIT_UNTIL(is_asleep(0) && is_asleep(1));
    was[0] = stats_of(0);
    was[1] = stats_of(1);
    spawn(0, spawns_many);
    for (unsigned i = 0; i <= MANY; i++) join(i);
    self = jobs[0].worker;
    rounds += 1;
  } while (stats_of(self).wakes == was[self].wakes);
  WAIT_UNTIL(is_asleep(0) && is_asleep(1));
  uint64_t by_this_thread =
      sum_of_two().woken - sum_of_two().wakes - woken; /* one a round at most */
  assert_true(by_this_thread <= rounds);
  end();
}

static void a_worker_leaves_50_us_of_polls_to_itself(void **state) {
  (void)state;
  const struct {
    uint64_t each_ns;
    uint32_t tasks;
  } rows[] = {{0, 64}, {1, 64}, {780, 64}, {1000, 50}, {12000, 4}, {50000, 1}, {50001, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(volt_worker_patience_(rows[i].each_ns), rows[i].tasks);
}

/* ---- by hand ---- */

static fake_waker woken;

static void begin_by_hand(unsigned flags) {
  volt_rt_config config = config_of(1, VOLT_RT_BY_HAND | flags);
  fake_waker_init(&woken, 0, NULL);
  config.waker = fake_waker_of(&woken);
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
}

static void run_looks(void **state) {
  (void)state;
  begin_by_hand(0);
  assert_int_equal(volt_load_relaxed(&fake.begun), 1);
  spawn(0, takes_two);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_int_equal(jobs[0].step, 1);
  complete(0, 0);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_int_equal(jobs[0].step, 2);
  complete(0, 0);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_result(volt_task_result(&jobs[0].task), VOLT_OK);
  assert_int_equal(volt_load_relaxed(&share(0)->asked), 0);
  volt_task_detach(&jobs[0].task);
  end();
}

static void the_descriptor_is_readable(void **state) {
  (void)state;
  begin_by_hand(0);
  int fd = volt_rt_io_descriptor(rt);
  assert_int_equal(fd, volt_rt_io_descriptor(rt));
  spawn(0, takes_two); /* the loop is woken: by its waker, and here */
  assert_true(fake_has_rung(fd));
  assert_int_equal(fake_waker_calls(&woken), 1);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_false(fake_has_rung(fd));
  complete(0, 0);
  assert_true(fake_has_rung(fd));
  assert_int_equal(fake_waker_calls(&woken), 1);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_false(fake_has_rung(fd));
  give(&jobs[0]); /* from outside */
  assert_true(fake_has_rung(fd));
  assert_int_equal(fake_waker_calls(&woken), 2);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_false(fake_has_rung(fd));
  fake_mail(rt, 0);
  assert_true(fake_has_rung(fd));
  assert_int_equal(fake_waker_calls(&woken), 3);
  assert_int_equal(volt_rt_run(rt), VOLT_NO_DEADLINE);
  assert_int_equal(volt_load_relaxed(&share(0)->mails_seen), 1);
  assert_false(fake_has_rung(fd));
  volt_task_detach(&jobs[0].task);
  end();
}

static void no_descriptor(void **state) {
  (void)state;
  assert_result(volt_rt_create(&rt, &(volt_rt_config){.flags = VOLT_RT_BY_HAND}), VOLT_OK);
  assert_int_equal(volt_rt_io_descriptor(rt), -1);
  volt_rt_destroy(rt);
}

static void completes_while_asleep(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  WAIT_UNTIL(is_asleep(0));
  complete(0, 0);
  wait_for(0, 2);
  WAIT_UNTIL(is_asleep(0));
  give(&jobs[0]);
}

static void run_until_sleeps_in_the_driver(void **state) {
  (void)state;
  volt_future joined;
  thread_team other;
  begin_by_hand(0);
  spawn(0, takes_two);
  thread_team_start(&other, 1, completes_while_asleep, NULL);
  volt_future_made(volt_task_join_future(&joined, &jobs[0].task));
  assert_result(volt_rt_run_until(rt, &joined, VOLT_NO_DEADLINE), VOLT_OK);
  thread_team_join(&other);
  assert_true(volt_load_relaxed(&share(0)->was_keeper));
  assert_int_equal(jobs[0].worker, 0);
  volt_task_detach(&jobs[0].task);
  end();
}

static void run_until_a_deadline(void **state) {
  (void)state;
  volt_future permit;
  begin_by_hand(0);
  uint64_t deadline_ns = volt_deadline_ns(2000000);
  volt_future *never = volt_sem_acquire_future(&permit, &jobs[0].sem, 1);
  assert_result(volt_rt_run_until(rt, never, deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
  assert_true(volt_load_relaxed(&share(0)->sleeps) > 0);
  end();
}

static void virtual_time_by_hand(void **state) {
  (void)state;
  volt_sleep_op nap;
  volt_future permit;
  begin_by_hand(VOLT_RT_VIRTUAL_CLOCK);
  volt_future *hour = volt_sleep_future(&nap, volt_rt_timers(rt), UINT64_C(3600000000000));
  assert_result(volt_rt_run_until(rt, hour, VOLT_NO_DEADLINE), VOLT_OK);
  volt_future *never = volt_sem_acquire_future(&permit, &jobs[0].sem, 1);
  assert_result(volt_rt_run_until(rt, never, VOLT_NO_DEADLINE), VOLT_ESTALLED);
  complete(0, 0);
  volt_future *one = volt_sem_acquire_future(&permit, &jobs[0].sem, 1);
  assert_result(volt_rt_run_until(rt, one, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(volt_load_relaxed(&share(0)->asked), 0);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(each_worker_begins_and_ends, set_up),
      cmocka_unit_test_setup(without_a_driver, set_up),
      cmocka_unit_test_setup(a_driver_that_cannot_be_made, set_up),
      cmocka_unit_test_setup(workers_that_cannot_be_started, set_up),
      cmocka_unit_test_setup(doorbells_are_kept, set_up),
      cmocka_unit_test_setup(a_doorbell, set_up),
      cmocka_unit_test_setup(a_doorbell_after_a_fork, set_up),
      cmocka_unit_test_setup(sleeps_in_the_driver, set_up),
      cmocka_unit_test_setup(sleeps_on_its_parker, set_up),
      cmocka_unit_test_setup(sleeps_in_virtual_time, set_up),
      cmocka_unit_test_setup(a_completion_ends_its_sleep, set_up),
      cmocka_unit_test_setup(a_sleep_that_ends_for_no_reason, set_up),
      cmocka_unit_test_setup(mail_wakes_its_worker, set_up),
      cmocka_unit_test_setup(the_keeper_sleeps_in_the_driver, set_up),
      cmocka_unit_test_setup(work_spares_the_driven, set_up),
      cmocka_unit_test_setup(another_one_keeps_the_driver, set_up),
      cmocka_unit_test_setup(looks_between_polls, set_up),
      cmocka_unit_test_setup(the_only_worker_looks_as_it_sleeps, set_up),
      cmocka_unit_test_setup(a_long_poll_is_told, set_up),
      cmocka_unit_test_setup(the_only_worker_submits_before_a_task_from_outside, set_up),
      cmocka_unit_test_setup(a_watcher_submits_before_a_task_that_it_steals, set_up),
      cmocka_unit_test_setup(what_it_wakes_is_its_own, set_up),
      cmocka_unit_test_setup(looks_and_events_are_counted, set_up),
      cmocka_unit_test_setup(moves_are_counted, set_up),
      cmocka_unit_test_setup(a_task_from_outside_ends_one_sleep, set_up),
      cmocka_unit_test_setup(the_worker_that_wakes_another_is_counted, set_up),
      cmocka_unit_test(a_worker_leaves_50_us_of_polls_to_itself),
      cmocka_unit_test_setup(run_looks, set_up),
      cmocka_unit_test_setup(the_descriptor_is_readable, set_up),
      cmocka_unit_test_setup(no_descriptor, set_up),
      cmocka_unit_test_setup(run_until_sleeps_in_the_driver, set_up),
      cmocka_unit_test_setup(run_until_a_deadline, set_up),
      cmocka_unit_test_setup(virtual_time_by_hand, set_up),
  };
  return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
