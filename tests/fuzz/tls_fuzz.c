/* tls_fuzz.c: any bytes between a client and a server of volt/tls.h. The input is a script for what stands
 * between them: pass bytes on, flip, drop, double, insert, reset. Whatever it does, what a side receives is
 * a beginning of what the other has sent, and the end comes only if that was all.
 *
 * The first byte: bit 0: TLS 1.2. Then steps: a byte, whose lowest bit is the direction (0: to the server),
 * the next three what to do, the rest of it how much; to insert and flip takes bytes of the input. When the script has ended, what
 * comes is passed on as it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>
#include <volt/runtime.h>
#include <volt/simulated.h>
#include <volt/tls.h>

#include "tls_ca.h"

static void check(bool is_true) {
  if (!is_true) abort();
}

enum { BYTES = 3000, BETWEEN = 1 << 17, ROUNDS = 60 };

static volt_tls_context *contexts[2][2]; /* of TLS 1.3 and 1.2; client and server */
static volt_rt *rt;

static uint8_t byte_at(int side, size_t offset) {
  return (uint8_t)(offset * 7 + offset / 251 + (size_t)side * 99);
}

/* ---- a side ---- */

typedef struct side {
  volt_task task;
  volt_fd fd, wire; /* the wire is the other end of the pair */
  volt_tls tls;
  volt_tls_op op;
  int number;
  int result;
  size_t received;
  uint8_t bytes[BYTES], got[500];
  uint8_t between[BETWEEN]; /* what it has sent, and was not passed on */
  size_t waiting;
} side;

static side sides[2];

static int talk(volt_task *t, volt_ctx *ctx) {
  side *self = volt_container_of(t, side, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_tls_handshake_future(&self->op, &self->tls));
  VOLT_AWAIT(self, volt_tls_send_all_future(&self->op, &self->tls, self->bytes, BYTES));
  VOLT_AWAIT(self, volt_tls_shutdown_future(&self->op, &self->tls));
  for (;;) {
    VOLT_AWAIT(self, volt_tls_recv_future(&self->op, &self->tls, self->got, sizeof self->got));
    if (self->op.n == 0) break;
    for (size_t i = 0; i < self->op.n; i++)
      check(self->got[i] == byte_at(1 - self->number, self->received + i));
    self->received += self->op.n;
  }
  check(self->received == BYTES); /* the end is not to be forged */
  VOLT_TASK_END(self);
}

static void side_begin(side *s, int number, bool is_old) {
  memset((void *)s, 0, sizeof *s);
  s->number = number;
  for (size_t i = 0; i < BYTES; i++) s->bytes[i] = byte_at(number, i);
  check(volt_pair_open(&s->fd, &s->wire, rt, SOCK_STREAM) == VOLT_OK);
  const char *name = number == 0 ? "example.org" : NULL;
  check(volt_tls_init(&s->tls, contexts[is_old][number], &s->fd, name) == VOLT_OK);
  volt_task_init(&s->task, talk);
  check(volt_spawn(rt, &s->task) == VOLT_OK);
}

static void side_end(side *s) {
  (void)volt_task_cancel(&s->task);
  while (volt_task_result(&s->task) == VOLT_PENDING) (void)volt_rt_run(rt);
  check(s->received <= BYTES);
  volt_tls_close(&s->tls);
  volt_fd_close(&s->wire);
}

/* ---- what stands between them ---- */

static void gather(side *s) {
  size_t n = 0, room = BETWEEN - s->waiting;
  if (room > 0 && volt_fd_try_recv(&s->wire, s->between + s->waiting, room, 0, &n) == VOLT_OK)
    s->waiting += n;
}

static void take(side *s, size_t n) {
  s->waiting -= n;
  memmove(s->between, s->between + n, s->waiting);
}

/* Pass up to n bytes of a side on to the other. */
static void pass(side *from, size_t n, bool takes) {
  side *to = &sides[1 - from->number];
  size_t sent = 0;
  if (n > from->waiting) n = from->waiting;
  if (n > 0) (void)!volt_fd_try_send(&to->wire, from->between, n, 0, &sent);
  if (takes) take(from, sent);
}

typedef struct script {
  const uint8_t *at;
  size_t left;
} script;

static uint8_t next(script *s) {
  if (s->left == 0) return 0;
  s->left -= 1;
  return *s->at++;
}

static void step(script *s) {
  uint8_t what = next(s);
  side *from = &sides[what & 1];
  size_t n = (size_t)1 << (what >> 4);
  if (n > from->waiting) n = from->waiting;
  switch (what >> 1 & 7) {
    case 0: pass(from, n, true); break;
    case 1:
      if (n > 0) from->between[n - 1] ^= (uint8_t)(next(s) | 1);
      break;
    case 2: take(from, n); break;
    case 3: pass(from, n, false); break;
    case 4: { /* insert */
      size_t sent;
      uint8_t bytes[16], size = what >> 4;
      for (size_t i = 0; i < size; i++) bytes[i] = next(s);
      (void)!volt_fd_try_send(&sides[1 - from->number].wire, bytes, size, 0, &sent);
      break;
    }
    case 5: (void)volt_fd_shutdown(&sides[1 - from->number].wire, SHUT_WR); break;
    default: pass(from, from->waiting, true); break;
  }
}

static void begin_once(void) {
  if (rt) return;
  const volt_rt_config config = {
      .flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK, .seed = 1, .io = volt_io_simulated()};
  check(volt_rt_create(&rt, &config) == VOLT_OK);
  ca_one root = ca_make(NULL, (ca_want){.name = "root", .is_ca = true});
  ca_one server = ca_make(&root, (ca_want){.name = "server", .dns = "DNS:example.org"});
  for (unsigned old = 0; old < 2; old++) {
    const volt_tls_config client = {.trust = root.pem, .most = old ? VOLT_TLS_1_2 : VOLT_TLS_1_3};
    const volt_tls_config files = {.certificates = server.pem, .key = server.key_pem};
    check(volt_tls_context_create(&contexts[old][0], VOLT_TLS_CLIENT, &client, NULL, 0) == VOLT_OK);
    check(volt_tls_context_create(&contexts[old][1], VOLT_TLS_SERVER, &files, NULL, 0) == VOLT_OK);
  }
  ca_free(&root);
  ca_free(&server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  script s = {data, size};
  begin_once();
  bool is_old = next(&s) & 1;
  for (int i = 0; i < 2; i++) side_begin(&sides[i], i, is_old);
  for (int round = 0; s.left > 0 || round < ROUNDS; round++) {
    (void)volt_rt_run(rt);
    for (int i = 0; i < 2; i++) gather(&sides[i]);
    if (s.left > 0) {
      step(&s);
    } else {
      for (int i = 0; i < 2; i++) pass(&sides[i], sides[i].waiting, true);
    }
  }
  for (int i = 0; i < 2; i++) side_end(&sides[i]);
  if (size <= 1) check(sides[0].received == BYTES && sides[1].received == BYTES);
  return 0;
}
