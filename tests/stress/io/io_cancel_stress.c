/* io_cancel_stress.c: storms of cancels: ten thousand receives whose deadline comes at once; tasks of
 * two workers that drop each other's operations; a runtime that ends with all of it under way.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_load.h"

enum { FEWER = UNDER_TSAN || UNDER_ASAN || STRESS_IS_CHAOS };
enum { MANY = FEWER ? 1000 : 10000, RT_WORKERS = 2, CROSSING = 64 };

typedef struct receiver {
  volt_task task;
  volt_fd d;
  volt_op op;
  volt_timeout timeout;
  uint64_t *deadline_ns; /* NULL: none */
  volt_timers *timers;
  unsigned char byte;
} receiver;

static io_load load;
static receiver *receivers;
static int *peers;
static unsigned count;

static int receiver_poll(volt_task *t, volt_ctx *ctx) {
  receiver *self = volt_container_of(t, receiver, task);
  VOLT_TASK_BEGIN(self);
  volt_future *f = volt_fd_recv_future(&self->op, &self->d, &self->byte, 1, 0);
  if (self->deadline_ns) {
    f = volt_timeout_future(&self->timeout, f, self->timers, *self->deadline_ns);
  }
  int result;
  VOLT_AWAIT_RESULT(self, result, f);
  stress_count_entry();
  VOLT_RETURN(self, result);
  VOLT_TASK_END(self);
}

static void receivers_begin(uint64_t *deadline_ns) {
  for (unsigned i = 0; i < count; i++) {
    int ends[2];
    receiver *r = &receivers[i];
    memset((void *)r, 0, sizeof *r);
    io_load_pair(ends);
    io_load_fd(&load, &r->d, ends[0]);
    peers[i] = ends[1];
    r->deadline_ns = deadline_ns;
    r->timers = volt_rt_timers(load.rt);
    volt_task_init(&r->task, receiver_poll);
    STRESS_CHECK(volt_spawn(load.rt, &r->task) == VOLT_OK);
    stress_count_entry();
  }
}

static void receivers_end(void) {
  for (unsigned i = 0; i < count; i++) {
    volt_fd_close(&receivers[i].d);
    close(peers[i]);
  }
}

/* A byte is sent to each third: it is received, or it is still there. */
static void expect_byte(receiver *r, bool was_sent, int result) {
  unsigned char got = 0;
  ssize_t left = read(volt_fd_number(&r->d), &got, 1);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECANCELED);
  STRESS_CHECK(r->op.n == (result == VOLT_OK));
  STRESS_CHECK((left == 1) + (result == VOLT_OK) == was_sent);
  STRESS_CHECK(!was_sent || (result == VOLT_OK ? r->byte : got) == 'x');
}

/* ---- all at once ---- */

static void at_once(stress_worker *w, void *arg) {
  uint64_t deadline_ns = volt_deadline_ms(1 + count / 100), last_ns;
  (void)arg;
  receivers_begin(&deadline_ns);
  stress_progress(w, "they wait");
  for (unsigned i = 0; i < count; i += 3) STRESS_CHECK(write(peers[i], "x", 1) == 1);
  for (unsigned i = 0; i < count; i++) {
    int result = volt_task_join(&receivers[i].task);
    expect_byte(&receivers[i], i % 3 == 0, result);
    stress_progress(w, "deadline");
  }
  last_ns = volt_now_ns();
  w->gave_up += count;
  if (last_ns > deadline_ns) histogram_add(&w->waits[0], last_ns - deadline_ns);
  receivers_end();
}

/* ---- a runtime that ends ---- */

static void ends_under_way(stress_worker *w, void *arg) {
  (void)arg;
  receivers_begin(NULL);
  for (unsigned i = 0; i < count; i += 3) STRESS_CHECK(write(peers[i], "x", 1) == 1);
  stress_dawdle(w);
  STRESS_CHECK(volt_rt_shutdown(load.rt, VOLT_NO_DEADLINE) == VOLT_OK);
  for (unsigned i = 0; i < count; i++) {
    expect_byte(&receivers[i], i % 3 == 0, volt_task_result(&receivers[i].task));
    stress_progress(w, "shut down");
  }
  receivers_end();
}

/* ---- crosswise ---- */

/* A future that one task begins, and the other drops: the two tasks are on two workers, mostly. */
typedef struct crossing {
  volt_task task;
  volt_fd *d;
  volt_op *mine;
  volt_op *others;
  unsigned char *byte;
  volt_sem *begun, *other_begun; /* released by the one, awaited by the other */
  volt_future permit;
} crossing;

typedef struct pair_of_tasks {
  crossing tasks[2];
  volt_fd d[2];
  int peers[2];
  volt_op ops[2];
  unsigned char bytes[2];
  volt_sem begun[2];
} pair_of_tasks;

static pair_of_tasks pairs[CROSSING];

static int crossing_poll(volt_task *t, volt_ctx *ctx) {
  crossing *self = volt_container_of(t, crossing, task);
  VOLT_TASK_BEGIN(self);
  (void)volt_future_poll_ctx(volt_fd_recv_future(self->mine, self->d, self->byte, 1, 0), ctx);
  volt_sem_release(self->begun, 1);
  int result;
  VOLT_AWAIT_RESULT(self, result, volt_sem_acquire_future(&self->permit, self->other_begun, 1));
  STRESS_CHECK(result == VOLT_OK);
  volt_future_cancel(&self->others->as.future);
  VOLT_TASK_END(self);
}

static void crosswise(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    for (unsigned i = 0; i < CROSSING; i++) {
      pair_of_tasks *p = &pairs[i];
      memset((void *)p, 0, sizeof *p);
      for (unsigned n = 0; n < 2; n++) {
        int ends[2];
        io_load_pair(ends);
        io_load_fd(&load, &p->d[n], ends[0]);
        p->peers[n] = ends[1];
        volt_sem_init(&p->begun[n], 0);
        crossing *c = &p->tasks[n];
        c->d = &p->d[n];
        c->mine = &p->ops[n];
        c->others = &p->ops[!n];
        c->byte = &p->bytes[n];
        c->begun = &p->begun[n];
        c->other_begun = &p->begun[!n];
        volt_task_init(&c->task, crossing_poll);
      }
      for (unsigned n = 0; n < 2; n++)
        STRESS_CHECK(volt_spawn(load.rt, &p->tasks[n].task) == VOLT_OK);
    }
    for (unsigned i = 0; i < CROSSING; i += 2) STRESS_CHECK(write(pairs[i].peers[0], "x", 1) == 1);
    for (unsigned i = 0; i < CROSSING; i++) {
      for (unsigned n = 0; n < 2; n++) {
        pair_of_tasks *p = &pairs[i];
        STRESS_CHECK(volt_task_join(&p->tasks[n].task) == VOLT_OK);
        w->acquired += 1;
        stress_progress(w, "crosswise");
      }
    }
    for (unsigned i = 0; i < CROSSING; i++) {
      for (unsigned n = 0; n < 2; n++) {
        pair_of_tasks *p = &pairs[i];
        unsigned char got = 0;
        ssize_t left = read(volt_fd_number(&p->d[n]), &got, 1);
        STRESS_CHECK((left == 1) + p->ops[n].n == (n == 0 && i % 2 == 0));
        volt_fd_close(&p->d[n]);
        close(p->peers[n]);
        volt_sem_destroy(&p->begun[n]);
      }
    }
  }
}

int main(void) {
  stress_begin("storms of cancels", "from the deadline until the last has ended", NULL);
  if (!io_load_is_there(RT_WORKERS)) return IO_LOAD_SKIPPED;
  count = (unsigned)io_load_room(MANY, 2);
  receivers = (receiver *)calloc(count, sizeof *receivers);
  peers = (int *)calloc(count, sizeof *peers);
  STRESS_CHECK(receivers && peers);
  printf("%u receives at once\n", count);
  for (unsigned round = 0; round == 0 || stress_time_left(); round++) {
    unsigned workers = 1 + round % RT_WORKERS;
    io_load_begin(&load, workers);
    stress_round(1, 1000000, at_once, NULL);
    io_load_end(&load, 0);
    io_load_begin(&load, RT_WORKERS);
    stress_round(1, 50000000, crosswise, NULL);
    io_load_end(&load, 0);
    io_load_begin(&load, workers);
    stress_round(1, 1000000, ends_under_way, NULL);
    (void)volt_rt_destroy(load.rt);
    STRESS_CHECK(io_load_descriptors() == load.descriptors);
  }
  free(receivers);
  free(peers);
  return stress_end();
}
