/* 30_uv_pool.c: jobs that are slow get at most two of the four threads of libuv's pool, in their order; quick
 * jobs go past them. A job that waits for its thread can be cancelled. The loop never blocks.
 * The slow jobs here stand still until all quick ones are done, or until they have all four threads:
 * `30_uv_pool 4` is what happens without a limit.
 *
 *   cc -std=c11 30_uv_pool.c $(pkg-config --cflags --libs volt-rt libuv)
 *
 * prints: 9 slow jobs were done, 9 in their order, at most 2 at once; 1 was cancelled
 * prints: 40 of 40 quick jobs were done while slow ones stood still */
#define _GNU_SOURCE /* uv.h */
#include <stdio.h>
#include <stdlib.h>
#include <volt/uv.h>
#include <volt/volt.h>

enum { POOL = 4, SLOW = 10, QUICK = 40, CANCELLED = 8 };

static volt_sem threads = VOLT_SEM_INIT(2); /* of the pool's, for slow jobs */
static volt_uv bridge;

static int begun; /* jobs that have got a permit */

static void must(int error, const char *what) { /* 0: success, of volt and of libuv */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

/* ---- a job that has a permit, or waits for one ---- */

struct job {
  int place; /* in the order in which they got permits */
  volt_bridge_call call;
  volt_future permit;
  uv_work_t work;
  uv_work_cb run;                           /* on a thread of the pool */
  void (*done)(struct job *job, int error); /* on the loop's thread, once; UV_ECANCELED: not run */
};

static void on_worked(uv_work_t *work, int error) {
  struct job *job = work->data;
  volt_sem_release(&threads, 1); /* to the job that has waited for longest */
  job->done(job, error);
}

static void on_permit(int result, void *arg) {
  struct job *job = arg;
  if (result != VOLT_OK) {
    job->done(job, UV_ECANCELED);
    return;
  }
  job->place = begun++;
  job->work.data = job;
  must(uv_queue_work(bridge.poll.loop, &job->work, job->run, on_worked), "uv_queue_work");
}

/* As uv_queue_work(), but that it waits for a permit first. */
static void queue_slow(struct job *job) {
  volt_future *permit = volt_sem_acquire_future(&job->permit, &threads, 1);
  volt_bridge_then(&bridge.bridge, &job->call, permit, on_permit, job);
}

/* Cancel a job that waits for its permit: those behind it move up. A job that has got it goes on. */
static void cancel_slow(struct job *job) {
  volt_bridge_cancel(&job->call);
}

/* ---- what the jobs do ---- */

static struct job slow[SLOW];
static uv_work_t quick[QUICK];
static uv_mutex_t lock;
static uv_cond_t changed;
static int limit, at_once, most, quick_in_time, quick_left = QUICK; /* under the lock */
static bool stuck;                                                  /* under the lock */
static int slow_done, in_order, cancelled, left = SLOW + QUICK;     /* the loop's */

/* A disk that stands still. */
static void be_slow(uv_work_t *work) {
  (void)work;
  uv_mutex_lock(&lock);
  at_once += 1;
  if (at_once > most) most = at_once;
  if (at_once == POOL) stuck = true; /* no thread is left for quick jobs */
  uv_cond_broadcast(&changed);
  while ((quick_left > 0 || most < limit) && !stuck) uv_cond_wait(&changed, &lock);
  at_once -= 1;
  uv_mutex_unlock(&lock);
}

static void be_quick(uv_work_t *work) {
  (void)work;
  uv_mutex_lock(&lock);
  if (!stuck) quick_in_time += 1;
  quick_left -= 1;
  uv_cond_broadcast(&changed);
  uv_mutex_unlock(&lock);
}

static void one_less(void) {
  left -= 1;
  if (left == 0) volt_bridge_close(&bridge.bridge, NULL, NULL); /* uv_run() returns then */
}

static void on_quick(uv_work_t *work, int error) {
  (void)work;
  must(error, "a quick job");
  one_less();
}

static void on_slow(struct job *job, int error) {
  if (error == UV_ECANCELED) {
    cancelled += 1;
  } else {
    slow_done += 1;
    in_order += job->place == job - slow - (job > &slow[CANCELLED]);
  }
  one_less();
}

int main(int count, char **arguments) {
  uv_loop_t *loop = uv_default_loop();
  must(uv_os_setenv("UV_THREADPOOL_SIZE", "4"), "uv_os_setenv"); /* as by default */
  if (count > 1) volt_sem_set_limit(&threads, (uint32_t)atoi(arguments[1]));
  limit = (int)volt_sem_limit(&threads);
  must(uv_mutex_init(&lock), "uv_mutex_init");
  must(uv_cond_init(&changed), "uv_cond_init");
  must(volt_uv_open(&bridge, loop, NULL), "volt_uv_open");
  for (int i = 0; i < SLOW; i++) {
    slow[i] = (struct job){.run = be_slow, .done = on_slow};
    queue_slow(&slow[i]);
  }
  while (begun < limit) (void)uv_run(loop, UV_RUN_ONCE);
  for (int i = 0; i < QUICK; i++) must(uv_queue_work(loop, &quick[i], be_quick, on_quick), "quick");
  cancel_slow(&slow[CANCELLED]);

  must(uv_run(loop, UV_RUN_DEFAULT), "uv_run");
  must(uv_loop_close(loop), "uv_loop_close");
  printf("%d slow jobs were done, %d in their order, at most %d at once; %d was cancelled\n",
         slow_done, in_order, most, cancelled);
  printf("%d of %d quick jobs were done while slow ones stood still\n", quick_in_time, QUICK);
}
