/* standstill.c: a program that stands still, in one of six ways: docs/sight.md finds
 * each of them.
 *
 *   usage: standstill WAY [SECONDS] [SOCKET]
 *
 *   deadlock    two tasks lock two mutexes in different orders; others wait behind them
 *   leak        a task ends without giving back its permit; others wait for it
 *   futurelock  a task was granted a lock by a select that it does not poll any more
 *   forgotten   a task has returned VOLT_PENDING, and nothing has its waker
 *   computes    a task computes without an end, and keeps the others of its worker waiting
 *   blocks      a task calls a function of the system that blocks
 *
 * After SECONDS (60) all tasks are cancelled, and it ends. SIGQUIT makes it write a dump on standard
 * error; volt-top may look at it by SOCKET. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/mutex.h>
#include <volt/runtime.h>
#include <volt/select.h>
#include <volt/semaphore.h>
#include <volt/sight.h>
#include <volt/time.h>

#include "common/options.h"

enum { MOST_TASKS = 6, WORKERS = 2, MS = 1000000 };

static volt_mutex accounts = VOLT_MUTEX_INIT, ledger = VOLT_MUTEX_INIT;
static volt_mutex cache = VOLT_MUTEX_INIT, journal = VOLT_MUTEX_INIT;
static volt_sem pool = VOLT_SEM_INIT(2);
static _Atomic(bool) is_over;

struct part {
  volt_task task;
  volt_future wait, lock;
  volt_sleep_op nap;
  volt_select select;
  volt_future *either[2];
  volt_mutex *first, *second;
  int held;
};

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "standstill: %s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

static volt_future *nap(struct part *self, uint64_t ns) {
  volt_rt *rt = volt_rt_current();
  return volt_sleep_future(&self->nap, volt_rt_timers(rt), volt_rt_now_ns(rt) + ns);
}

/* ---- deadlock ---- */

static int transfer_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, self->first));
  self->held = 1;
  VOLT_AWAIT(self, nap(self, 50 * MS)); /* until the other one has its first, too */
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, self->second));
  volt_mutex_unlock(self->second);
  VOLT_FINALLY(self);
  if (self->held) volt_mutex_unlock(self->first);
  VOLT_TASK_END(self);
}

static int reader_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, nap(self, 100 * MS));
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &accounts));
  volt_mutex_unlock(&accounts);
  VOLT_TASK_END(self);
}

/* ---- leak ---- */

static int query_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &pool, 1));
  VOLT_AWAIT(self, nap(self, 50 * MS));
  VOLT_RETURN(self, -1); /* the query has failed, and its permit is forgotten */
  VOLT_TASK_END(self);
}

/* ---- futurelock ---- */

static int keeper_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, nap(self, 20 * MS)); /* when the cache is locked */
  self->either[0] = volt_mutex_lock_future(&self->lock, &cache);
  self->either[1] = nap(self, 20 * MS);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->either, 2, VOLT_SELECT_KEEP));
  /* the time is over, and the select has kept the lock's place in the queue */
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->wait, &journal));
  volt_mutex_unlock(&journal);
  VOLT_FINALLY(self);
  volt_future_cancel(&self->lock); /* gives the lock back if it was granted */
  VOLT_TASK_END(self);
}

static int flush_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->wait, &journal));
  self->held = 1;
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &cache));
  VOLT_AWAIT(self, nap(self, 100 * MS));
  volt_mutex_unlock(&cache); /* to the keeper, which waits for the journal */
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &cache));
  volt_mutex_unlock(&cache);
  VOLT_FINALLY(self);
  if (self->held) volt_mutex_unlock(&journal);
  VOLT_TASK_END(self);
}

/* ---- forgotten ---- */

static int forgotten_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  if (ctx->cancel) return VOLT_ECANCELED;
  return VOLT_PENDING; /* it awaits nothing, so nothing has the waker of ctx */
}

/* ---- computes, blocks ---- */

static int computes_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, nap(self, 20 * MS));
  while (!atomic_load_explicit(&is_over, memory_order_relaxed)) continue;
  VOLT_TASK_END(self);
}

static int blocks_poll(volt_task *t, volt_ctx *ctx) {
  struct part *self = volt_container_of(t, struct part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, nap(self, 20 * MS));
  while (!atomic_load_explicit(&is_over, memory_order_relaxed)) (void)usleep(200000);
  VOLT_TASK_END(self);
}

/* ---- all of it ---- */

static const struct way {
  const char *name;
  volt_task_fn *poll[MOST_TASKS];
} ways[] = {
    {"deadlock", {transfer_poll, transfer_poll, reader_poll, reader_poll, reader_poll}},
    {"leak", {query_poll, query_poll, query_poll, query_poll, query_poll}},
    {"futurelock", {flush_poll, keeper_poll}},
    {"forgotten", {forgotten_poll}},
    {"computes", {computes_poll, reader_poll}},
    {"blocks", {blocks_poll, reader_poll}},
};

static void usage(void) {
  fputs("usage: standstill deadlock|leak|futurelock|forgotten|computes|blocks [SECONDS] [SOCKET]\n",
        stderr);
  exit(2);
}

static const struct way *find_way(const char *name) {
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (strcmp(ways[i].name, name) == 0) return &ways[i];
  }
  usage();
  return NULL;
}

static void watch(const char *socket) {
  const volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_LINTS |
                                             VOLT_SIGHT_DEADLOCKS | VOLT_SIGHT_WAITS};
  must(volt_sight_enable(&config), "sight");
  must(volt_dump_on_signal(SIGQUIT, STDERR_FILENO, 0), "SIGQUIT");
  if (socket) must(volt_sight_serve(socket), socket);
  must(volt_name(&accounts, "accounts"), "name");
  must(volt_name(&ledger, "ledger"), "name");
  must(volt_name(&cache, "cache"), "name");
  must(volt_name(&journal, "journal"), "name");
  must(volt_name(&pool, "pool"), "name");
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) usage();
  const struct way *way = find_way(argv[1]);
  uint64_t seconds = 60;
  if (argc > 2 && !number_read(argv[2], 1, 3600, &seconds)) usage();
  static struct part parts[MOST_TASKS];
  const volt_rt_config config = {.workers = WORKERS, .thread_prefix = "standstill"};
  volt_rt *rt;
  watch(argc > 3 ? argv[3] : NULL);
  must(volt_rt_create(&rt, &config), "runtime");
  for (unsigned i = 0; i < MOST_TASKS && way->poll[i]; i++) {
    parts[i].first = i == 0 ? &accounts : &ledger;
    parts[i].second = i == 0 ? &ledger : &accounts;
    volt_task_init(&parts[i].task, way->poll[i]);
    must(volt_spawn(rt, &parts[i].task), "spawn");
  }
  printf("standstill: %s, process %ld, %u s\n", way->name, (long)getpid(), (unsigned)seconds);
  fflush(stdout);
  for (unsigned left = (unsigned)seconds; left > 0;)
    left = sleep(left); /* a signal may end a sleep */
  atomic_store_explicit(&is_over, true, memory_order_relaxed);
  (void)volt_rt_shutdown(rt, VOLT_NO_DEADLINE);
  volt_rt_destroy(rt);
  volt_sight_disable();
  return EXIT_SUCCESS;
}
