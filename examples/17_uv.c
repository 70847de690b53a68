/* 17_uv.c: libuv's loop, a task and a thread share two connections.
 * The loop's requests wait by callbacks, the task awaits, the thread blocks: all in one queue. The
 * loop's own timer goes on meanwhile.
 *
 *   cc -std=c11 17_uv.c $(pkg-config --cflags --libs volt-rt libuv)
 *
 * prints: 3 requests, 1 task and 1 thread had a connection, and libuv's timer ticked */
#define _GNU_SOURCE /* uv.h */
#include <stdio.h>
#include <stdlib.h>
#include <volt/uv.h>
#include <volt/volt.h>

enum { REQUESTS = 3, TICKS = 3 };
#define QUERY_NS 1000000

static volt_sem connections = VOLT_SEM_INIT(2);
static volt_uv bridge;
static uv_timer_t ticker;
static uv_thread_t thread;
static int answered, ticks, left = REQUESTS + 1;

static void must(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(EXIT_FAILURE);
}

/* One less to wait for. The last one ends it. */
static void done(void) {
  left -= 1;
  if (left == 0) volt_bridge_close(&bridge.bridge, NULL, NULL); /* uv_run() returns then */
}

/* ---- requests of the loop's ---- */

struct request {
  volt_bridge_call call;
  volt_future permit;
  volt_bridge_call later;
  volt_sleep_op query;
};

static void on_answer(int result, void *arg) {
  (void)arg;
  must(result, "sleep");
  volt_sem_release(&connections, 1);
  answered += 1;
  done();
}

static void on_permit(int result, void *arg) {
  struct request *r = (struct request *)arg;
  must(result, "permit");
  volt_timers *timers = volt_rt_timers(volt_bridge_rt(&bridge.bridge));
  volt_future *query = volt_sleep_future(&r->query, timers, volt_deadline_ns(QUERY_NS));
  volt_bridge_then(&bridge.bridge, &r->later, query, on_answer, r);
}

/* ---- a task in the loop ---- */

struct report {
  volt_task task;
  volt_future permit;
  volt_sleep_op query;
};

static int report_poll(volt_task *t, volt_ctx *ctx) {
  struct report *self = volt_container_of(t, struct report, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &connections, 1));
  VOLT_AWAIT(self, volt_sleep_future(&self->query, volt_rt_timers(volt_bridge_rt(&bridge.bridge)),
                                     volt_deadline_ns(QUERY_NS)));
  volt_sem_release(&connections, 1);
  done();
  VOLT_TASK_END(self);
}

/* ---- a thread, and the loop's own timer ---- */

static void run_thread(void *arg) {
  (void)arg;
  must(volt_sem_acquire(&connections, 1), "acquire");
  volt_sem_release(&connections, 1);
}

static void on_tick(uv_timer_t *timer) {
  ticks += 1;
  if (ticks == TICKS) uv_close((uv_handle_t *)timer, NULL);
}

int main(void) {
  static struct request requests[REQUESTS];
  static struct report report;
  uv_loop_t *loop = uv_default_loop();
  must(volt_uv_open(&bridge, loop, NULL), "volt_uv_open");
  must(uv_timer_init(loop, &ticker), "uv_timer_init");
  must(uv_timer_start(&ticker, on_tick, 1, 1), "uv_timer_start");
  for (int i = 0; i < REQUESTS; i++) {
    volt_future *permit = volt_sem_acquire_future(&requests[i].permit, &connections, 1);
    volt_bridge_then(&bridge.bridge, &requests[i].call, permit, on_permit, &requests[i]);
  }
  volt_task_init(&report.task, report_poll);
  must(volt_spawn(volt_bridge_rt(&bridge.bridge), &report.task), "volt_spawn");
  must(uv_thread_create(&thread, run_thread, NULL), "uv_thread_create");

  must(uv_run(loop, UV_RUN_DEFAULT), "uv_run");
  must(uv_thread_join(&thread), "uv_thread_join");
  must(uv_loop_close(loop), "uv_loop_close");
  printf("%d requests, 1 task and 1 thread had a connection, and libuv's timer %s\n", answered,
         ticks == TICKS ? "ticked" : "did not tick");
}
