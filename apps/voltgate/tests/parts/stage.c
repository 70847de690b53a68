/* stage.c: a gate on a network in memory. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include <volt/sight.h>

#include "unit.h"

enum { STAGE_DESCRIPTORS = 1000, STAGE_FEW = 8 };

void stage_begin(struct stage *s, uint64_t seed) {
  memset(s, 0, sizeof *s);
  const volt_rt_config config = {
      .flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK, .seed = seed, .io = volt_io_simulated()};
  assert_result(volt_rt_create(&s->rt, &config), VOLT_OK);
  s->descriptors = STAGE_DESCRIPTORS;
  s->settings = (struct gate_settings){.name = (char *)"main",
                                       .to = (char *)"127.0.0.1:5432",
                                       .protocol = PROTOCOL_TCP,
                                       .limit = 1,
                                       .queue = 100,
                                       .clients = 100,
                                       .queue_timeout_ns = 5 * STAGE_S,
                                       .connect_timeout_ns = 5 * STAGE_S,
                                       .login_timeout_ns = 10 * STAGE_S,
                                       .drain_timeout_ns = 30 * STAGE_S,
                                       .breaker_failures = 3,
                                       .breaker_retry_ns = 250 * STAGE_MS,
                                       .tenant_max = 100,
                                       .tenant_default = {.weight = 1, .cost = 1}};
  assert_result(volt_address_parse(&s->gate_at, "127.0.0.1:6432"), VOLT_OK);
  assert_result(volt_address_parse(&s->server_at, "127.0.0.1:5432"), VOLT_OK);
  assert_result(volt_listen(&s->server, s->rt, &s->server_at, 1000, 0), VOLT_OK);
}

void stage_open(struct stage *s) {
  volt_fd listener;
  struct settings *all = (struct settings *)calloc(1, sizeof *all); /* the program frees it */
  assert_non_null(all);
  program_init(&s->program, all);
  s->program.rt = s->rt;
  volt_sem_init(&s->program.host.descriptors, s->descriptors);
  s->gate = (struct gate *)aligned_alloc(64, (sizeof *s->gate + 63) / 64 * 64);
  assert_non_null(s->gate);
  memset(s->gate, 0, sizeof *s->gate);
  assert_true(gate_init(s->gate, &s->program.host, s->rt, &s->settings));
  volt_group_init_how(&s->acceptors, VOLT_GROUP_KEEP_GOING);
  volt_group_init_how(&s->sessions, VOLT_GROUP_KEEP_GOING);
  assert_result(volt_listen(&listener, s->rt, &s->gate_at, 1000, 0), VOLT_OK);
  s->acceptor = acceptor_new(s->gate, &s->sessions, &listener);
  assert_non_null(s->acceptor);
  assert_result(volt_group_spawn(&s->acceptors, s->rt, &s->acceptor->task), VOLT_OK);
  stage_run(s);
}

void stage_stop_accepting(struct stage *s) {
  volt_group_cancel(&s->acceptors);
  stage_run(s);
}

static void stage_end_sessions(struct stage *s) {
  volt_future all;
  volt_group_cancel(&s->sessions);
  volt_group_cancel(&s->gate->probes);
  assert_true(volt_rt_run_until(s->rt, volt_group_wait_future(&all, &s->sessions),
                                VOLT_NO_DEADLINE) != VOLT_ESTALLED);
  stage_run(s);
  volt_group_destroy(&s->sessions);
  volt_group_destroy(&s->acceptors);
}

void stage_end(struct stage *s) {
  if (s->gate) {
    stage_stop_accepting(s);
    stage_end_sessions(s);
    assert_int_equal(atomic_load(&s->gate->clients.count), 0);
    assert_int_equal(atomic_load(&s->gate->queued), 0);
    assert_int_equal(atomic_load(&s->gate->servers), 0);
    assert_int_equal(gate_held(s->gate), 0);
    assert_int_equal(volt_sem_available(&s->program.host.descriptors), s->descriptors);
    assert_int_equal(stage_counted(s, COUNT_ACCEPTED), stage_counted(s, COUNT_ENDED));
    gate_destroy(s->gate);
    free(s->gate);
    program_destroy(&s->program);
  }
  volt_fd_close(&s->server);
  assert_int_equal(volt_simulated_open(s->rt), 0);
  volt_rt_destroy(s->rt);
}

/* ---- time ---- */

void stage_run(struct stage *s) {
  while (volt_rt_run(s->rt) == 0) continue;
}

/* What waits is as it should be: a task that is reported here would be reported to an operator. */
static bool stage_finds_nothing_wrong(void *ctx, const char *text, size_t length) {
  (void)ctx, (void)length;
  assert_null(strstr(text, "not polled")); /* "NOT POLLED" comes beside it */
  assert_null(strstr(text, "NOTHING CAN WAKE IT"));
  return true;
}

void stage_pass(struct stage *s, uint64_t ns) {
  uint64_t end_ns = volt_rt_now_ns(s->rt) + ns;
  for (;;) {
    uint64_t next_ns = volt_rt_run(s->rt);
    uint64_t now_ns = volt_rt_now_ns(s->rt);
    if (next_ns == 0) continue;
    if (next_ns > end_ns) next_ns = end_ns;
    if (next_ns > now_ns) volt_rt_advance(s->rt, next_ns - now_ns);
    if (next_ns == end_ns) break;
  }
  stage_run(s);
  if (ns < STAGE_S || atomic_load(&s->gate->clients.count) > STAGE_FEW)
    return; /* a dump takes long */
  assert_result(volt_dump(s->rt, VOLT_DUMP_EACH, stage_finds_nothing_wrong, NULL), VOLT_OK);
}

/* ---- clients and servers ---- */

void stage_connect(struct stage *s, struct peer *p) {
  volt_op op;
  memset(p, 0, sizeof *p);
  assert_result(volt_socket_open(&p->fd, s->rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&op, &p->fd, &s->gate_at.as.any, s->gate_at.size);
  assert_result(volt_rt_run_until(s->rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  stage_run(s);
}

bool stage_accept(struct stage *s, struct peer *p) {
  memset(p, 0, sizeof *p);
  stage_run(s);
  int result = volt_fd_try_accept(&s->server, &p->fd);
  stage_run(s);
  return result == VOLT_OK;
}

void stage_send(struct stage *s, struct peer *p, const char *words) {
  size_t n;
  assert_result(volt_fd_try_send(&p->fd, words, strlen(words), 0, &n), VOLT_OK);
  assert_int_equal(n, strlen(words));
  stage_run(s);
}

const char *stage_read(struct stage *s, struct peer *p) {
  stage_run(s);
  for (;;) {
    size_t n;
    size_t room = sizeof p->got - 1 - p->size;
    int result = volt_fd_try_recv(&p->fd, p->got + p->size, room, 0, &n);
    if (result == VOLT_OK) p->size += n;
    if (result == VOLT_OK && n > 0) continue;
    if (result == VOLT_OK) p->has_ended = true;
    if (result != VOLT_OK && result != VOLT_EAGAIN) p->has_failed = true;
    break;
  }
  p->got[p->size] = '\0';
  stage_run(s);
  return p->got;
}

void stage_shut(struct stage *s, struct peer *p) {
  assert_result(volt_fd_shutdown(&p->fd, SHUT_WR), VOLT_OK);
  stage_run(s);
}

void stage_close(struct stage *s, struct peer *p) {
  volt_fd_close(&p->fd);
  stage_run(s);
}

/* ---- what was counted ---- */

uint64_t stage_counted(struct stage *s, enum count kind) {
  static struct statistics_values values;
  memset(&values, 0, sizeof values);
  statistics_read(&s->gate->statistics, &values);
  return values.counts[kind];
}

uint64_t stage_refused(struct stage *s, enum gate_reason reason) {
  static struct statistics_values values;
  memset(&values, 0, sizeof values);
  statistics_read(&s->gate->statistics, &values);
  return values.refused[reason];
}
