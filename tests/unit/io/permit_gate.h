/* permit_gate.h: a gate that grants permits, on a network in memory: one kind, "cores", with a limit, and
 * a queue. It sends a few bytes at a time, and keeps books of each connection. For tests of its clients. */
#ifndef VOLT_TEST_PERMIT_GATE_H
#define VOLT_TEST_PERMIT_GATE_H

#include <errno.h>
#include <stdio.h>
#include <volt/net.h>
#include <volt/permit_client.h>
#include <volt/simulated.h>
#include <volt/volt.h>

#include "by_hand.h"

enum { ENDS = 64, LIMIT = 3 };

/* ---- the gate ---- */

/* One connection, as the gate sees it. */
typedef struct gate_end {
  volt_fd fd;
  unsigned held, wants; /* wants: it waits */
  unsigned arrival;
  unsigned takes, grants; /* in its whole life */
  size_t in_size, out_size;
  char in[2048], out[4096];
  volt_sem more; /* to send */
} gate_end;

typedef struct gate_side {
  volt_task task;
  gate_end *end;
  volt_op op;
  volt_future more;
  int result;
} gate_side;

static struct gate {
  by_hand h;
  volt_address address;
  volt_fd listener;
  volt_task task;
  volt_op op;
  int result;
  unsigned count, held, arrivals;
  bool says_places;    /* each that waits is told its place, at each change */
  const char *greets;  /* instead of its hello; NULL: hello */
  const char *answers; /* to each take; NULL: it keeps books */
  gate_end ends[ENDS];
  gate_side readers[ENDS], senders[ENDS];
} g;

static inline void gate_say(gate_end *e, const char *text) {
  size_t size = strlen(text);
  REQUIRE(e->out_size + size <= sizeof e->out);
  memcpy(e->out + e->out_size, text, size);
  e->out_size += size;
  volt_sem_release(&e->more, 1);
}

static inline gate_end *gate_first(unsigned after) {
  gate_end *first = NULL;
  for (unsigned i = 0; i < g.count; i++) {
    gate_end *e = &g.ends[i];
    if (e->wants && e->arrival > after && (!first || e->arrival < first->arrival)) first = e;
  }
  return first;
}

static inline void gate_grant(void) {
  char line[64];
  for (gate_end *e; (e = gate_first(0)) != NULL && g.held + e->wants <= LIMIT;) {
    g.held += e->wants;
    e->held = e->wants;
    e->wants = 0;
    e->grants += 1;
    (void)snprintf(line, sizeof line, "granted cores=%u id=%u.%u wait_ms=7\n", e->held,
                   (unsigned)(e - g.ends), e->grants);
    gate_say(e, line);
  }
  unsigned place = 1;
  for (gate_end *e = gate_first(0); e && g.says_places; e = gate_first(e->arrival)) {
    (void)snprintf(line, sizeof line, "queued %u\n", place++);
    gate_say(e, line);
  }
}

static inline void gate_back(gate_end *e, unsigned n) {
  REQUIRE(n <= e->held && n <= g.held);
  e->held -= n;
  g.held -= n;
}

static inline void gate_take(gate_end *e, const char *line) {
  unsigned n = 0;
  e->takes += 1;
  if (g.answers) {
    gate_say(e, g.answers);
    return;
  }
  REQUIRE(sscanf(line, "%*s cores=%u", &n) == 1);
  if (strstr(line, " wait=0") && g.held + n > LIMIT) {
    gate_say(e, "refused busy: cores are not free\r\n");
    return;
  }
  REQUIRE(e->held == 0 && e->wants == 0);
  e->wants = n;
  e->arrival = ++g.arrivals;
  gate_say(e, "changed cores=3\n"); /* a word that a client of version 1 does not know */
  gate_grant();
}

static inline void gate_give(gate_end *e, const char *line) {
  unsigned n = e->held;
  char text[64] = "given\n";
  bool is_part = sscanf(line, "give cores=%u", &n) == 1;
  if (n > e->held) {
    gate_say(e, "refused state: that is not held\n");
    return;
  }
  if (!is_part) e->wants = 0;
  gate_back(e, n);
  if (e->held) (void)snprintf(text, sizeof text, "given cores=%u\n", e->held);
  gate_say(e, text);
  gate_grant();
}

static inline void gate_line(gate_end *e, const char *line) {
  if (strcmp(line, "hello 1") == 0) {
    gate_say(e, g.greets ? g.greets : "hello 1 voltgate 0.1.0 the_gate\n");
  } else if (strncmp(line, "take ", 5) == 0 || strncmp(line, "claim ", 6) == 0) {
    gate_take(e, line);
  } else {
    REQUIRE(strncmp(line, "give", 4) == 0);
    gate_give(e, line);
  }
}

static inline void gate_read(gate_end *e) {
  char *at = e->in, *end = e->in + e->in_size, *stop;
  while ((stop = (char *)memchr(at, '\n', (size_t)(end - at))) != NULL) {
    *stop = '\0';
    gate_line(e, at);
    at = stop + 1;
  }
  e->in_size = (size_t)(end - at);
  memmove(e->in, at, e->in_size);
}

static inline int gate_sender_poll(volt_task *t, volt_ctx *ctx) {
  gate_side *self = volt_container_of(t, gate_side, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->more, &self->end->more, 1));
    if (self->end->out_size == 0) continue;
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->end->fd, self->end->out,
                                         self->end->out_size < 3 ? 1 : 3, 0));
    self->end->out_size -= self->op.n;
    memmove(self->end->out, self->end->out + self->op.n, self->end->out_size);
    if (self->end->out_size) volt_sem_release(&self->end->more, 1);
  }
  VOLT_TASK_END(self);
}

static inline int gate_reader_poll(volt_task *t, volt_ctx *ctx) {
  gate_side *self = volt_container_of(t, gate_side, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self,
               volt_fd_recv_future(&self->op, &self->end->fd, self->end->in + self->end->in_size,
                                   sizeof self->end->in - self->end->in_size, 0));
    if (self->op.n == 0) break;
    self->end->in_size += self->op.n;
    gate_read(self->end);
  }
  VOLT_FINALLY(self);
  self->end->wants = 0;
  gate_back(self->end, self->end->held);
  gate_grant();
  volt_task_cancel(&g.senders[self - g.readers].task);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_task_join_future(&self->more, &g.senders[self - g.readers].task));
  volt_fd_close(&self->end->fd);
  VOLT_TASK_END(self);
}

static inline int gate_poll(volt_task *t, volt_ctx *ctx) {
  struct gate *self = volt_container_of(t, struct gate, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self,
               volt_fd_accept_future(&self->op, &self->listener, &self->ends[self->count].fd));
    gate_side *reader = &self->readers[self->count], *sender = &self->senders[self->count];
    REQUIRE(self->count + 1 < ENDS);
    reader->end = sender->end = &self->ends[self->count++];
    volt_sem_init(&reader->end->more, 0);
    volt_task_init(&reader->task, gate_reader_poll);
    volt_task_init(&sender->task, gate_sender_poll);
    REQUIRE(volt_spawn(self->h.rt, &reader->task) == VOLT_OK);
    REQUIRE(volt_spawn(self->h.rt, &sender->task) == VOLT_OK);
  }
  VOLT_TASK_END(self);
}

static inline void begin(uint64_t seed, const volt_simulated_faults *faults) {
  memset((void *)&g, 0, sizeof g);
  volt_rt_config config = by_hand_config(&g.h);
  config.seed = seed;
  config.io = volt_io_simulated();
  assert_result(volt_rt_create(&g.h.rt, &config), VOLT_OK);
  assert_result(volt_simulated_set_faults(g.h.rt, faults), VOLT_OK);
  assert_result(volt_address_parse(&g.address, "unix:/permits"), VOLT_OK);
  assert_result(volt_listen(&g.listener, g.h.rt, &g.address, 100, 0), VOLT_OK);
  volt_task_init(&g.task, gate_poll);
  assert_result(volt_spawn(g.h.rt, &g.task), VOLT_OK);
}

static inline void join(volt_task *t, int result) {
  volt_future f;
  volt_future_made(volt_task_join_future(&f, t));
  assert_result(volt_rt_run_until(g.h.rt, &f, VOLT_NO_DEADLINE), result);
}

/* The clients are closed: the gate has all back. */
static inline void finish(void) {
  volt_future f;
  for (unsigned i = 0; i < g.count; i++) {
    volt_future_made(volt_task_join_future(&f, &g.readers[i].task));
    (void)!volt_rt_run_until(g.h.rt, &f, VOLT_NO_DEADLINE); /* it may have been reset */
  }
  assert_int_equal(g.held, 0);
  volt_task_cancel(&g.task);
  join(&g.task, VOLT_ECANCELED);
  volt_fd_close(&g.listener);
  assert_int_equal(volt_simulated_open(g.h.rt), 0);
  by_hand_end(&g.h, 0);
}

static inline int run(volt_future *f) {
  return volt_rt_run_until(g.h.rt, f, VOLT_NO_DEADLINE);
}

static inline int run_for(volt_future *f, uint64_t ns) {
  return volt_rt_run_until(g.h.rt, f, volt_rt_now_ns(g.h.rt) + ns);
}

static inline void settle_all(void) {
  volt_sleep_op nap;
  assert_result(run(volt_sleep_future(&nap, volt_rt_timers(g.h.rt),
                                      volt_rt_now_ns(g.h.rt) + UINT64_C(60000000000))),
                VOLT_OK);
}

static inline void connect_to(volt_permit_client *c) {
  volt_permit_client_init(c, g.h.rt);
  assert_result(run(volt_permit_client_connect_future(c, "unix:/permits")), VOLT_OK);
}

/* Another client that holds so much. */
static inline void hold(volt_permit_client *c, const char *text) {
  connect_to(c);
  assert_result(run(volt_permit_client_acquire_future(c, &(volt_permit_request){.text = text})),
                VOLT_OK);
}

#endif
