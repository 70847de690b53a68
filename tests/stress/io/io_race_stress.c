/* io_race_stress.c: operations that are given up at the moment at which they are done. Over each
 * connection goes one stream of bytes; both ends count what volt_op.n says. No byte is lost and none
 * is doubled, or the next one is not what the place in the stream says.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_load.h"

enum { LINKS = 4, RT_WORKERS = 2, PIPES = 2 };

/* One end of a stream: a task for each operation, so that it may be cancelled. */
typedef struct end {
  volt_task task;
  volt_fd d;
  volt_op op;
  bool sends;
  unsigned how; /* in which way it may be given up */
  size_t size;
  uint64_t place; /* in the stream: so many bytes have gone */
  uint64_t deadline_ns;
  volt_timers *timers;
  volt_future *f;
  volt_timeout timeout;
  volt_select select;
  volt_future *branches[2];
  volt_future permit;
  volt_sem sem;
  bool over; /* no more will come */
  unsigned char bytes[IO_LOAD_CHUNK];
} end;

typedef struct connection {
  end from, to;
} connection;

static io_load load;
static connection connections[STRESS_MAX_THREADS];
static VOLT_ATOMIC(uint64_t) races; /* that somebody tried to give up */
static VOLT_ATOMIC(uint64_t) lost;  /* of these: given up */
static VOLT_ATOMIC(uint64_t) moved; /* bytes */

enum { ALONE, BY_DEADLINE, BY_PERMIT, BY_CANCEL, DROPPED, WAYS };

static volt_future *end_operation(end *e) {
  if (e->sends) return volt_fd_write_future(&e->op, &e->d, io_load_at(e->place), e->size, -1);
  return volt_fd_read_future(&e->op, &e->d, e->bytes, e->size, -1);
}

static volt_future *end_future(end *e) {
  volt_future *f = end_operation(e);
  switch (e->how) {
    case BY_DEADLINE: return volt_timeout_future(&e->timeout, f, e->timers, e->deadline_ns);
    case BY_PERMIT:
      e->branches[0] = f;
      e->branches[1] = volt_sem_acquire_future(&e->permit, &e->sem, 1);
      return volt_select_future(&e->select, e->branches, 2, VOLT_SELECT_FAIR);
    default: return f;
  }
}

/* One operation. DROPPED: it polls once, lets others run, and drops what is not ready. */
static int end_poll(volt_task *t, volt_ctx *ctx) {
  end *self = volt_container_of(t, end, task);
  VOLT_TASK_BEGIN(self);
  self->f = end_future(self);
  if (self->how == DROPPED) {
    (void)volt_future_poll_ctx(self->f, ctx);
    VOLT_YIELD(self);
    volt_future_cancel(self->f);
    VOLT_RETURN(self, volt_future_poll_ctx(self->f, ctx));
  }
  int result;
  VOLT_AWAIT_RESULT(self, result, self->f);
  VOLT_RETURN(self, result);
  VOLT_TASK_END(self);
}

/* What the operation says of itself, and of its bytes. */
static void end_account(end *e, int result) {
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECANCELED);
  bool lost_select =
      result == VOLT_OK && e->how == BY_PERMIT && volt_select_winner(&e->select) == 1;
  bool is_done = result == VOLT_OK && !lost_select;
  STRESS_CHECK(e->op.n <= e->size);
  if (lost_select) STRESS_CHECK(e->op.n == 0 || e->sends);
  if (!e->sends && !is_done) STRESS_CHECK(e->op.n == 0);
  if (e->sends && is_done) STRESS_CHECK(e->op.n == e->size);
  if (!e->sends) io_load_check(e->place, e->bytes, e->op.n);
  if (!e->sends && is_done && e->op.n == 0) e->over = true;
  e->place += e->op.n;
  (void)volt_fetch_add_relaxed(&moved, e->op.n);
  if (e->how != ALONE) (void)volt_fetch_add_relaxed(&races, 1);
  if (!is_done) (void)volt_fetch_add_relaxed(&lost, 1);
}

static void end_start(stress_worker *w, end *e, unsigned how) {
  e->how = how;
  e->size = 1 + stress_below(w, stress_below(w, 4) ? 16 : IO_LOAD_CHUNK);
  e->deadline_ns = volt_deadline_ns(stress_below(w, 30000));
  volt_sem_init(&e->sem, 0);
  volt_task_init(&e->task, end_poll);
  STRESS_CHECK(volt_spawn(load.rt, &e->task) == VOLT_OK);
}

/* Give it up, if that is for this thread to do, and wait for it. */
static void end_finish(stress_worker *w, end *e) {
  stress_dawdle(w);
  if (e->how == BY_CANCEL) (void)volt_task_cancel(&e->task);
  if (e->how == BY_PERMIT) volt_sem_release(&e->sem, 1);
  end_account(e, volt_task_join(&e->task));
  volt_sem_destroy(&e->sem);
  w->acquired += 1;
  stress_progress(w, e->sends ? "send" : "receive");
}

/* A thread for each connection; both ends of it are at work at once. */
static void race(stress_worker *w, void *arg) {
  connection *c = &connections[w->index];
  (void)arg;
  while (!stress_stopping()) {
    end *first = stress_below(w, 2) ? &c->from : &c->to,
        *second = first == &c->to ? &c->from : &c->to;
    end_start(w, first, 1 + stress_below(w, WAYS - 1));
    end_start(w, second, 1 + stress_below(w, WAYS - 1));
    end_finish(w, first);
    end_finish(w, second);
  }
  volt_fd_close(&c->from.d); /* what was sent is all there will be */
  while (!c->to.over) {
    end_start(w, &c->to, ALONE);
    end_finish(w, &c->to);
  }
  STRESS_CHECK(c->from.place == c->to.place);
  volt_fd_close(&c->to.d);
}

static void connection_begin(connection *c, unsigned kind) {
  int ends[2];
  memset((void *)c, 0, sizeof *c);
  switch (kind % 3) {
    case 0: io_load_pair(ends); break;
    case 1: io_load_tcp_pair(ends); break;
    default: STRESS_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  }
  io_load_fd(&load, &c->to.d, ends[0]);
  io_load_fd(&load, &c->from.d, ends[1]);
  c->from.sends = true;
  c->from.timers = c->to.timers = volt_rt_timers(load.rt);
}

int main(void) {
  stress_begin("operations that are given up as they are done", "an operation", NULL);
  if (!io_load_is_there(RT_WORKERS)) return IO_LOAD_SKIPPED;
  io_load_make_bytes();
  unsigned threads = stress_threads() < LINKS ? stress_threads() : LINKS;
  for (unsigned round = 0; stress_time_left(); round++) {
    io_load_begin(&load, 1 + round % RT_WORKERS);
    for (unsigned i = 0; i < threads; i++) connection_begin(&connections[i], i + round);
    stress_round(threads, 200000000, race, NULL);
    io_load_end(&load, 0);
  }
  printf("%llu races, %llu given up; %llu bytes\n", (unsigned long long)volt_load_relaxed(&races),
         (unsigned long long)volt_load_relaxed(&lost),
         (unsigned long long)volt_load_relaxed(&moved));
  return stress_end();
}
