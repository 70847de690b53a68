/* io_close_stress.c: descriptors are closed under the operations of tasks and threads: each operation
 * ends once, with its own result or as closed, and afterwards nothing refers to the volt_fd: it is
 * overwritten. Then the number is used again at once, for another stream whose bytes are checked.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_load.h"

enum { TASKS = 4, RT_WORKERS = 2 };

typedef struct under_way {
  volt_task task;
  volt_op op;
  volt_future *f;
} under_way;

/* Of one thread. */
typedef struct victim {
  volt_fd *d; /* of its own memory, so that a sanitizer sees who comes late */
  int peer;
  under_way ops[TASKS];
  unsigned char in[64], out[1 << 16];
} victim;

static io_load load;
static victim victims[STRESS_MAX_THREADS];
static VOLT_ATOMIC(uint64_t) closed_under, done_before;

static int under_way_poll(volt_task *t, volt_ctx *ctx) {
  return volt_future_poll_ctx(volt_container_of(t, under_way, task)->f, ctx);
}

static void victim_begin(stress_worker *w, victim *v) {
  int ends[2];
  v->d = (volt_fd *)malloc(sizeof *v->d);
  STRESS_CHECK(v->d);
  if (stress_below(w, 3)) {
    io_load_pair(ends);
  } else {
    io_load_tcp_pair(ends);
  }
  io_load_fd(&load, v->d, ends[0]);
  v->peer = ends[1];
  for (unsigned i = 0; i < TASKS; i++) memset((void *)&v->ops[i], 0, sizeof v->ops[i]);
  v->ops[0].f = volt_fd_recv_future(&v->ops[0].op, v->d, v->in, sizeof v->in, 0);
  v->ops[1].f = volt_fd_send_future(&v->ops[1].op, v->d, v->out, sizeof v->out, 0);
  v->ops[2].f = volt_fd_ready_future(&v->ops[2].op, v->d, POLLIN);
  v->ops[3].f = volt_fd_ready_future(&v->ops[3].op, v->d, POLLRDHUP);
  for (unsigned i = 0; i < TASKS; i++) {
    volt_task_init(&v->ops[i].task, under_way_poll);
    STRESS_CHECK(volt_spawn(load.rt, &v->ops[i].task) == VOLT_OK);
  }
}

static void account(int result, bool is_receive, size_t n) {
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECLOSED);
  if (result == VOLT_ECLOSED && is_receive) STRESS_CHECK(n == 0);
  (void)volt_fetch_add_relaxed(result == VOLT_OK ? &done_before : &closed_under, 1);
}

/* How many bytes come at the far end until its end. */
static size_t drain(int fd) {
  unsigned char got[4096];
  size_t all = 0;
  ssize_t n;
  while ((n = read(fd, got, sizeof got)) > 0) all += (size_t)n;
  return all;
}

static void close_one(stress_worker *w, victim *v) {
  volt_op op;
  bool by_task = stress_below(w, 2);
  size_t sent = stress_below(w, 2) ? 5 : 0;
  if (sent) STRESS_CHECK(send(v->peer, "bytes", sent, MSG_NOSIGNAL) == (ssize_t)sent);
  stress_dawdle(w);
  under_way closer;
  memset((void *)&closer, 0, sizeof closer);
  volt_future *f = volt_fd_close_future(&op, v->d);
  int result;
  if (by_task) {
    closer.f = f;
    volt_task_init(&closer.task, under_way_poll);
    STRESS_CHECK(volt_spawn(load.rt, &closer.task) == VOLT_OK);
    result = volt_task_join(&closer.task);
  } else {
    result = volt_future_wait(f);
  }
  STRESS_CHECK(result == VOLT_OK);
  STRESS_CHECK(volt_fd_number(v->d) == -1);
  for (unsigned i = 0; i < TASKS; i++) {
    result = volt_task_join(&v->ops[i].task);
    account(result, i == 0, v->ops[i].op.n);
  }
  memset((void *)v->d, 0xee, sizeof *v->d);
  free(v->d);
  size_t n = v->ops[1].op.n;
  STRESS_CHECK(v->ops[0].op.n <= sent);
  /* a socket that is closed with bytes unread resets, and what it has sent may be lost then */
  STRESS_CHECK(drain(v->peer) == n || sent > v->ops[0].op.n);
  close(v->peer);
  w->acquired += 1;
}

/* Have all begun? Until then none may be said to be under way: the header forbids to begin one while
 * it is being closed and to free it under that. */
static bool have_begun(victim *v) {
  for (unsigned i = 0; i < TASKS; i++) {
    if (volt_task_result(&v->ops[i].task) == VOLT_PENDING &&
        !volt_load_acquire(&v->ops[i].op.stage)) {
      return false;
    }
  }
  return true;
}

static void close_under(stress_worker *w, void *arg) {
  (void)arg;
  victim *v = &victims[w->index];
  while (!stress_stopping()) {
    victim_begin(w, v);
    while (!have_begun(v)) stress_dawdle(w);
    close_one(w, v);
    stress_progress(w, "close");
  }
}

int main(void) {
  stress_begin("descriptors are closed under operations", "a close", NULL);
  if (!io_load_is_there(RT_WORKERS)) return IO_LOAD_SKIPPED;
  for (unsigned round = 0; stress_time_left(); round++) {
    io_load_begin(&load, 1 + round % RT_WORKERS);
    stress_round(stress_threads() < 4 ? stress_threads() : 4, 150000000, close_under, NULL);
    io_load_end(&load, 0);
  }
  printf("%llu operations ended as closed, %llu were done before\n",
         (unsigned long long)volt_load_relaxed(&closed_under),
         (unsigned long long)volt_load_relaxed(&done_before));
  return stress_end();
}
