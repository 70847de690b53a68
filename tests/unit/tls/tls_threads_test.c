/* tls_threads_test.c: streams that several threads use at once: of each side one task sends and one
 * receives, on four workers, with deadlines that come at any moment; and closes while both are under way.
 *
 * BACK ENDS: epoll, uring */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <volt/net.h>
#include <volt/tls.h>
#include <volt/volt.h>

#include "require.h"
#include "rng.h"
#include "tls_ca.h"
#include "unit.h"

enum { PAIRS = 4, BYTES = 1 << 20, PART = 30000 };

static volt_rt *rt;
static volt_tls_context *contexts[3]; /* of clients, of servers, of clients that save sessions */

static uint8_t byte_at(int side, size_t offset) {
  return (uint8_t)(offset * 31 + offset / 257 + (size_t)side);
}

/* One task of a stream: it sends, or receives, BYTES. */
typedef struct part {
  volt_task task;
  volt_tls *tls;
  volt_tls_op op;
  volt_timeout timeout;
  rng random;
  int side; /* whose bytes */
  bool sends, has_deadlines;
  int result;
  size_t done;
  unsigned given_up;
  uint8_t bytes[PART];
} part;

typedef struct pair {
  volt_fd fd[2];
  volt_tls tls[2];
  part parts[4];
} pair;

static pair *pairs;
static bool is_closing; /* the peer of a receiver may end early */

static volt_future *part_next(part *self) {
  size_t size = 1 + rng_below(&self->random, PART);
  if (self->sends && size > BYTES - self->done) size = BYTES - self->done;
  for (size_t i = 0; self->sends && i < size; i++)
    self->bytes[i] = byte_at(self->side, self->done + i);
  volt_future *f = self->sends ? volt_tls_send_all_future(&self->op, self->tls, self->bytes, size)
                               : volt_tls_recv_future(&self->op, self->tls, self->bytes, size);
  if (!self->has_deadlines || rng_below(&self->random, 4) == 0) return f;
  uint64_t deadline_ns = volt_deadline_us(rng_below(&self->random, 300));
  return volt_timeout_future(&self->timeout, f, volt_rt_timers(rt), deadline_ns);
}

static void part_take(part *self) {
  self->given_up += self->result == VOLT_ETIMEDOUT;
  if (self->result == VOLT_ETIMEDOUT && !self->sends) REQUIRE(self->op.n == 0);
  for (size_t i = 0; !self->sends && i < self->op.n; i++)
    REQUIRE(self->bytes[i] == byte_at(self->side, self->done + i));
  self->done += self->op.n;
}

static int part_poll(volt_task *t, volt_ctx *ctx) {
  part *self = volt_container_of(t, part, task);
  VOLT_TASK_BEGIN(self);
  while (self->done < BYTES) {
    VOLT_AWAIT_RESULT(self, self->result, part_next(self));
    part_take(self);
    if (self->result != VOLT_OK && self->result != VOLT_ETIMEDOUT) VOLT_RETURN(self, self->result);
    if (self->result == VOLT_OK && self->op.n == 0) break;
  }
  if (self->sends) VOLT_AWAIT(self, volt_tls_shutdown_future(&self->op, self->tls));
  if (self->sends) VOLT_RETURN(self, VOLT_OK);
  REQUIRE(self->done == BYTES || is_closing);
  if (is_closing) VOLT_RETURN(self, VOLT_OK);
  VOLT_AWAIT(self, volt_tls_recv_future(&self->op, self->tls, self->bytes, 1));
  REQUIRE(self->op.n == 0);
  VOLT_TASK_END(self);
}

static int shake_poll(volt_task *t, volt_ctx *ctx) {
  part *self = volt_container_of(t, part, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_tls_handshake_future(&self->op, self->tls));
  VOLT_TASK_END(self);
}

static void pair_shake(pair *p, volt_tls_context *client) {
  memset((void *)p, 0, sizeof *p);
  REQUIRE(volt_pair_open(&p->fd[0], &p->fd[1], rt, SOCK_STREAM) == VOLT_OK);
  for (int side = 0; side < 2; side++) {
    const char *name = side == 0 ? "example.org" : NULL;
    REQUIRE(volt_tls_init(&p->tls[side], side == 0 ? client : contexts[1], &p->fd[side], name) ==
            VOLT_OK);
    p->parts[side].tls = &p->tls[side];
    volt_task_init(&p->parts[side].task, shake_poll);
    REQUIRE(volt_spawn(rt, &p->parts[side].task) == VOLT_OK);
  }
  for (int side = 0; side < 2; side++) REQUIRE(volt_task_join(&p->parts[side].task) == VOLT_OK);
}

static void pair_begin(pair *p, uint64_t seed, bool has_deadlines) {
  pair_shake(p, contexts[0]);
  for (int i = 0; i < 4; i++) {
    part *one = &p->parts[i];
    memset((void *)one, 0, sizeof *one);
    one->tls = &p->tls[i / 2];
    one->sends = i % 2 == 0;
    one->side = one->sends ? i / 2 : 1 - i / 2;
    one->has_deadlines = has_deadlines;
    one->random = rng_seeded(seed * 4 + (uint64_t)i);
    volt_task_init(&one->task, part_poll);
    REQUIRE(volt_spawn(rt, &one->task) == VOLT_OK);
  }
}

static void two_tasks_use_a_stream_at_once(void **state) {
  (void)state;
  unsigned given_up = 0;
  for (uint64_t i = 0; i < PAIRS; i++) pair_begin(&pairs[i], i + 1, true);
  for (int i = 0; i < PAIRS; i++) {
    for (int n = 0; n < 4; n++) assert_result(volt_task_join(&pairs[i].parts[n].task), VOLT_OK);
    for (int n = 0; n < 4; n++) given_up += pairs[i].parts[n].given_up;
    for (int n = 0; n < 2; n++) volt_tls_close(&pairs[i].tls[n]);
  }
  printf("%u were given up\n", given_up);
  assert_true(given_up > 0);
}

/* One side is closed by this thread; the other finds that out. */
static void a_close_ends_what_other_threads_do(void **state) {
  (void)state;
  is_closing = true;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    pair *p = &pairs[0];
    volt_tls_op op;
    pair_begin(p, seed, seed % 2);
    rng random = rng_seeded(seed);
    uint64_t until_ns = volt_deadline_us(rng_below(&random, 1000));
    while (volt_now_ns() < until_ns) continue;
    volt_tls *t = &p->tls[seed % 2];
    assert_result(volt_future_wait(volt_tls_close_future(&op, t)), VOLT_OK);
    for (int n = 0; n < 4; n++) {
      bool is_closed = (unsigned)n / 2 == seed % 2;
      int result = volt_task_join(&p->parts[n].task);
      bool was_done = result == VOLT_OK && p->parts[n].done == BYTES; /* this thread was slow */
      if (is_closed && !was_done) assert_result(result, VOLT_ECLOSED);
      if (!is_closed) assert_true(result != VOLT_PENDING && result != VOLT_ECLOSED);
    }
    volt_tls_close(&p->tls[1 - seed % 2]);
  }
}

static atomic_bool is_saving;
static atomic_long saves;

static void *save_sessions(void *arg) {
  static char bytes[20000];
  size_t size;
  while (atomic_load(&is_saving)) {
    int result = volt_tls_session_save((volt_tls *)arg, bytes, sizeof bytes, &size);
    REQUIRE(result == VOLT_OK || result == VOLT_EAGAIN);
    if (result == VOLT_OK) atomic_fetch_add(&saves, 1);
  }
  return NULL;
}

/* What saves a session while another thread closes the stream uses nothing that is freed. */
static void a_session_is_saved_beside_a_close(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    pair *p = &pairs[0];
    volt_tls_op op;
    pthread_t saver;
    pair_shake(p, contexts[2]);
    long before = atomic_load(&saves);
    atomic_store(&is_saving, true);
    assert_int_equal(pthread_create(&saver, NULL, save_sessions, &p->tls[0]), 0);
    while (atomic_load(&saves) == before) continue;
    assert_result(volt_future_wait(volt_tls_close_future(&op, &p->tls[0])), VOLT_OK);
    atomic_store(&is_saving, false);
    assert_int_equal(pthread_join(saver, NULL), 0);
    volt_tls_close(&p->tls[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_tasks_use_a_stream_at_once),
      cmocka_unit_test(a_close_ends_what_other_threads_do),
      cmocka_unit_test(a_session_is_saved_beside_a_close),
  };
  const char *io = getenv("VOLT_TEST_IO");
  bool is_uring = io && strcmp(io, "uring") == 0;
  const volt_rt_config config = {.workers = 4, .io = is_uring ? volt_io_uring() : volt_io_epoll()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 77; /* the system refuses it */
  pairs = (pair *)calloc(PAIRS, sizeof *pairs);
  ca_one root = ca_make(NULL, (ca_want){.name = "root", .is_ca = true});
  ca_one server = ca_make(&root, (ca_want){.name = "server", .dns = "DNS:example.org"});
  const volt_tls_config of_client = {.trust = root.pem};
  const volt_tls_config with_session = {.trust = root.pem, .most = VOLT_TLS_1_2}; /* at once */
  const volt_tls_config of_server = {.certificates = server.pem, .key = server.key_pem};
  REQUIRE(pairs);
  REQUIRE(volt_tls_context_create(&contexts[0], VOLT_TLS_CLIENT, &of_client, NULL, 0) == VOLT_OK);
  REQUIRE(volt_tls_context_create(&contexts[2], VOLT_TLS_CLIENT, &with_session, NULL, 0) ==
          VOLT_OK);
  REQUIRE(volt_tls_context_create(&contexts[1], VOLT_TLS_SERVER, &of_server, NULL, 0) == VOLT_OK);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  volt_rt_destroy(rt);
  for (int i = 0; i < 3; i++) volt_tls_context_drop(contexts[i]);
  ca_free(&root);
  ca_free(&server);
  free(pairs);
  return failed;
}
