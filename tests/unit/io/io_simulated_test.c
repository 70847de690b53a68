/* io_simulated_test.c: a server and its clients in one thread, on a network in memory: the same seed
 * gives the same run, no byte is lost whatever goes wrong, and a second of delay takes no time.
 *
 * BACK ENDS: none */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <volt/net.h>
#include <volt/simulated.h>
#include <volt/volt.h>

#include "by_hand.h"
#include "rng.h"

enum { CLIENTS = 4, BYTES = 20000, CHUNK = 3000 };

static const volt_simulated_faults no_faults;

typedef struct world {
  by_hand h;
  volt_fd listener;
  volt_address address;
  uint64_t hash;   /* of what happened, and when */
  unsigned resets; /* that a task has met */
  unsigned served, refused;
} world;

static world w;

static void note(uint64_t what) {
  uint64_t now_ns = volt_rt_now_ns(w.h.rt);
  w.hash = (w.hash ^ what ^ now_ns << 8) * UINT64_C(0x100000001b3);
}

static void begin(uint64_t seed, const volt_simulated_faults *faults) {
  memset(&w, 0, sizeof w);
  volt_rt_config config = by_hand_config(&w.h);
  config.seed = seed;
  config.io = volt_io_simulated();
  assert_result(volt_rt_create(&w.h.rt, &config), VOLT_OK);
  assert_string_equal(volt_rt_io_name(w.h.rt), "simulated");
  assert_result(volt_simulated_set_faults(w.h.rt, faults), VOLT_OK);
  assert_result(volt_address_parse(&w.address, "127.0.0.1:80"), VOLT_OK);
  assert_result(volt_listen(&w.listener, w.h.rt, &w.address, 100, 0), VOLT_OK);
}

static void finish(void) {
  volt_fd_close(&w.listener);
  assert_int_equal(volt_simulated_open(w.h.rt), 0);
  by_hand_end(&w.h, 0);
}

/* The connection is over: only a reset may be the reason. */
static bool is_reset(int result) {
  int e = volt_errno(result);
  if (e != ECONNRESET && e != EPIPE) return false;
  w.resets += 1;
  return true;
}

/* ---- a server that echoes ---- */

typedef struct echo {
  volt_task task;
  volt_op op;
  volt_fd fd;
  int result;
  uint8_t buffer[700];
} echo;

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  echo *self = volt_container_of(t, echo, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT_RESULT(
        self, self->result,
        volt_fd_recv_future(&self->op, &self->fd, self->buffer, sizeof self->buffer, 0));
    note(self->op.n);
    if (self->result != VOLT_OK || self->op.n == 0) break;
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_fd_send_future(&self->op, &self->fd, self->buffer, self->op.n, 0));
    if (self->result != VOLT_OK) break;
  }
  if (self->result != VOLT_OK) REQUIRE(is_reset(self->result));
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

typedef struct server {
  volt_task task;
  volt_op op;
  volt_sleep_op nap;
  int result;
  unsigned left;
  echo each[CLIENTS];
} server;

static int server_poll(volt_task *t, volt_ctx *ctx) {
  server *self = volt_container_of(t, server, task);
  VOLT_TASK_BEGIN(self);
  while (self->left > 0) {
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_fd_accept_future(&self->op, &w.listener, &self->each[w.served].fd));
    if (volt_errno(self->result) == EMFILE) {
      note(EMFILE);
      VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(w.h.rt),
                                         volt_rt_now_ns(w.h.rt) + 1000));
      continue;
    }
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, self->result);
    REQUIRE(self->result == VOLT_OK);
    note(w.served);
    volt_task_init(&self->each[w.served].task, echo_poll);
    REQUIRE(volt_spawn(w.h.rt, &self->each[w.served].task) == VOLT_OK);
    w.served += 1;
    self->left -= 1;
  }
  VOLT_TASK_END(self);
}

/* ---- clients ---- */

typedef struct client {
  volt_task task;
  volt_op op;
  volt_fd fd;
  int result;
  size_t sent, received, part;
  rng random;
  uint8_t data[BYTES], back[BYTES];
} client;

static void client_check(client *self) {
  REQUIRE(memcmp(self->data, self->back, self->received) == 0);
  note(self->received);
}

static int client_poll(volt_task *t, volt_ctx *ctx) {
  client *self = volt_container_of(t, client, task);
  VOLT_TASK_BEGIN(self);
  REQUIRE(volt_socket_open(&self->fd, w.h.rt, AF_INET, SOCK_STREAM, 0) == VOLT_OK);
  VOLT_AWAIT_RESULT(
      self, self->result,
      volt_fd_connect_future(&self->op, &self->fd, &w.address.as.any, w.address.size));
  if (volt_errno(self->result) == ECONNREFUSED) {
    w.refused += 1;
    note(ECONNREFUSED);
  } else {
    REQUIRE(self->result == VOLT_OK);
    while (self->received < BYTES) {
      if (self->sent < BYTES && self->sent - self->received < CHUNK) {
        self->part = 1 + rng_below(&self->random, CHUNK);
        if (self->part > BYTES - self->sent) self->part = BYTES - self->sent;
        VOLT_AWAIT_RESULT(
            self, self->result,
            volt_fd_send_future(&self->op, &self->fd, self->data + self->sent, self->part, 0));
        if (self->result != VOLT_OK) break;
        self->sent += self->op.n;
      }
      VOLT_AWAIT_RESULT(self, self->result,
                        volt_fd_recv_future(&self->op, &self->fd, self->back + self->received,
                                            BYTES - self->received, 0));
      if (self->result != VOLT_OK) break;
      REQUIRE(self->op.n > 0);
      self->received += self->op.n;
      client_check(self);
    }
    if (self->result != VOLT_OK) REQUIRE(is_reset(self->result));
    if (self->result == VOLT_OK) REQUIRE(self->received == BYTES);
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

static server the_server;
static client the_client[CLIENTS];

/* Returns the hash of the run. */
static uint64_t run(uint64_t seed, const volt_simulated_faults *faults) {
  begin(seed, faults);
  memset(&the_server, 0, sizeof the_server);
  volt_task_init(&the_server.task, server_poll);
  the_server.left = CLIENTS;
  assert_result(volt_spawn(w.h.rt, &the_server.task), VOLT_OK);
  rng random = rng_seeded(seed);
  for (unsigned i = 0; i < CLIENTS; i++) {
    client *c = &the_client[i];
    memset(c, 0, sizeof *c);
    c->random = rng_seeded(rng_next(&random));
    for (unsigned at = 0; at < BYTES; at++) c->data[at] = (uint8_t)rng_next(&random);
    volt_task_init(&c->task, client_poll);
    assert_result(volt_spawn(w.h.rt, &c->task), VOLT_OK);
  }
  volt_future join;
  for (unsigned i = 0; i < CLIENTS; i++) {
    volt_future_made(volt_task_join_future(&join, &the_client[i].task));
    assert_result(volt_rt_run_until(w.h.rt, &join, VOLT_NO_DEADLINE), VOLT_OK);
  }
  assert_int_equal(w.served + w.refused <= CLIENTS, true);
  if (w.refused > 0) volt_task_cancel(&the_server.task); /* it waits for those, too */
  volt_future_made(volt_task_join_future(&join, &the_server.task));
  int result = volt_rt_run_until(w.h.rt, &join, VOLT_NO_DEADLINE);
  assert_result(result, w.refused > 0 ? VOLT_ECANCELED : VOLT_OK);
  for (unsigned i = 0; i < w.served; i++) {
    volt_future_made(volt_task_join_future(&join, &the_server.each[i].task));
    assert_result(volt_rt_run_until(w.h.rt, &join, VOLT_NO_DEADLINE), VOLT_OK);
  }
  uint64_t hash = w.hash;
  finish();
  return hash;
}

/* ---- tests ---- */

static void every_byte_arrives_at_once_without_faults(void **state) {
  (void)state;
  run(1, &no_faults);
  assert_int_equal(w.served, CLIENTS);
  assert_int_equal(w.resets + w.refused, 0);
}

static void the_same_seed_gives_the_same_run(void **state) {
  (void)state;
  const volt_simulated_faults faults = {.delay_min_ns = 1000,
                                        .delay_max_ns = 5000000,
                                        .short_per_million = 300000,
                                        .reset_per_million = 2000,
                                        .refuse_per_million = 50000,
                                        .accept_per_million = 100000,
                                        .buffer_size = 4096};
  unsigned same = 0, resets = 0, refused = 0;
  uint64_t before = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    uint64_t hash = run(seed, &faults);
    resets += w.resets;
    refused += w.refused;
    assert_true(hash == run(seed, &faults));
    if (hash == before) same += 1;
    before = hash;
  }
  assert_int_equal(same, 0);
  assert_true(resets > 0 && refused > 0); /* the faults did happen */
}

static void a_delay_takes_virtual_time_only(void **state) {
  (void)state;
  const volt_simulated_faults second = {.delay_min_ns = 1000000000, .delay_max_ns = 1000000000};
  begin(1, &second);
  volt_op connect, accept;
  volt_fd client_fd, server_fd;
  assert_result(volt_socket_open(&client_fd, w.h.rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&connect, &client_fd, &w.address.as.any, w.address.size);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(volt_rt_now_ns(w.h.rt), 1000000000);
  f = volt_fd_accept_future(&accept, &w.listener, &server_fd);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  f = volt_fd_send_future(&connect, &client_fd, "x", 1, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  char to[2];
  f = volt_fd_recv_future(&accept, &server_fd, to, sizeof to, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, volt_rt_now_ns(w.h.rt) + 999999999), VOLT_ETIMEDOUT);
  assert_int_equal(accept.n, 0);
  f = volt_fd_recv_future(&accept, &server_fd, to, sizeof to, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(accept.n, 1);
  assert_int_equal(volt_rt_now_ns(w.h.rt), 2000000000);
  volt_fd_close(&client_fd);
  f = volt_fd_recv_future(&accept, &server_fd, to, sizeof to, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(accept.n, 0);
  assert_int_equal(volt_rt_now_ns(w.h.rt), 3000000000);
  volt_fd_close(&server_fd);
  finish();
}

static void nobody_listens(void **state) {
  (void)state;
  begin(1, &no_faults);
  volt_fd_close(&w.listener);
  volt_fd fd;
  volt_op op;
  assert_result(volt_socket_open(&fd, w.h.rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&op, &fd, &w.address.as.any, w.address.size);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_ERRNO(ECONNREFUSED));
  volt_fd_close(&fd);
  finish();
}

/* Connect and accept without delay. */
static void connect_pair(volt_fd *client_fd, volt_fd *server_fd) {
  volt_op op;
  assert_result(volt_socket_open(client_fd, w.h.rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&op, client_fd, &w.address.as.any, w.address.size);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  f = volt_fd_accept_future(&op, &w.listener, server_fd);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
}

static void a_full_buffer_holds_a_send_back(void **state) {
  (void)state;
  begin(1, &(volt_simulated_faults){.buffer_size = 1000});
  volt_fd client_fd, server_fd;
  connect_pair(&client_fd, &server_fd);
  static uint8_t data[1500], to[1500];
  for (unsigned i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
  volt_op send, recv;
  volt_future *f = volt_fd_send_future(&send, &client_fd, data, sizeof data, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, volt_rt_now_ns(w.h.rt) + 1000), VOLT_ETIMEDOUT);
  assert_int_equal(send.n, 1000); /* and says how much has gone */
  f = volt_fd_recv_future(&recv, &server_fd, to, sizeof to, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(recv.n, 1000);
  assert_memory_equal(data, to, 1000);
  f = volt_fd_send_future(&send, &client_fd, data + 1000, 500, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  f = volt_fd_recv_future(&recv, &server_fd, to, sizeof to, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(recv.n, 500);
  assert_memory_equal(data + 1000, to, 500);
  volt_fd_close(&client_fd);
  volt_fd_close(&server_fd);
  finish();
}

static void a_network_that_is_replaced_resets_every_connection(void **state) {
  (void)state;
  begin(1, &no_faults);
  volt_fd client_fd, server_fd;
  connect_pair(&client_fd, &server_fd);
  volt_op op;
  char to[8];
  volt_future *f = volt_fd_recv_future(&op, &server_fd, to, sizeof to, 0);
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_future_poll(f, fake_waker_of(&waker)), VOLT_PENDING);
  assert_int_equal(volt_simulated_reset_all(w.h.rt), 1);
  assert_result(volt_future_poll(f, fake_waker_of(&waker)), VOLT_ERRNO(ECONNRESET));
  f = volt_fd_send_future(&op, &client_fd, "x", 1, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_ERRNO(ECONNRESET));
  f = volt_fd_send_future(&op, &client_fd, "x", 1, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_ERRNO(EPIPE));
  volt_fd_close(&client_fd);
  volt_fd_close(&server_fd);
  finish();
}

static void datagrams_come_late_out_of_order_or_not_at_all(void **state) {
  (void)state;
  begin(3, &(volt_simulated_faults){.delay_max_ns = 1000000, .lose_per_million = 200000});
  volt_fd from, to;
  volt_op op;
  volt_address at;
  assert_result(volt_address_parse(&at, "127.0.0.1:53"), VOLT_OK);
  assert_result(volt_udp_bind(&to, w.h.rt, &at, 0), VOLT_OK);
  assert_result(volt_socket_open(&from, w.h.rt, AF_INET, SOCK_DGRAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&op, &from, &at.as.any, at.size);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  for (uint8_t i = 0; i < 100; i++) {
    f = volt_fd_send_future(&op, &from, &i, 1, 0);
    assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  }
  unsigned came = 0, late = 0;
  bool seen[100] = {false};
  uint8_t last = 0, each;
  for (;;) {
    f = volt_fd_recv_future(&op, &to, &each, 1, 0);
    int result = volt_rt_run_until(w.h.rt, f, volt_rt_now_ns(w.h.rt) + 10000000);
    if (result == VOLT_ETIMEDOUT) break;
    assert_result(result, VOLT_OK);
    assert_false(seen[each]); /* none comes twice */
    seen[each] = true;
    came += 1;
    if (each < last) late += 1;
    last = each;
  }
  assert_in_range(came, 60, 95);
  assert_true(late > 0);
  volt_fd_close(&from);
  volt_fd_close(&to);
  finish();
}

static void an_address_that_is_too_long_is_refused(void **state) {
  (void)state;
  begin(1, &no_faults);
  volt_fd from;
  volt_op op;
  char address[256] = {0}, byte = 'x';
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_name = address, .msg_namelen = sizeof address, .msg_iov = &part};
  message.msg_iovlen = 1;
  address[0] = AF_INET;
  assert_result(volt_socket_open(&from, w.h.rt, AF_INET, SOCK_DGRAM, 0), VOLT_OK);
  volt_future *f = volt_fd_sendmsg_future(&op, &from, &message, 0);
  assert_result(volt_rt_run_until(w.h.rt, f, VOLT_NO_DEADLINE), VOLT_ERRNO(EINVAL));
  volt_fd_close(&from);
  finish();
}

static void bad_faults_are_refused(void **state) {
  (void)state;
  begin(1, &no_faults);
  const volt_simulated_faults backwards = {.delay_min_ns = 2, .delay_max_ns = 1};
  const volt_simulated_faults often = {.reset_per_million = 1000001};
  assert_result(volt_simulated_set_faults(w.h.rt, &backwards), VOLT_EINVAL);
  assert_result(volt_simulated_set_faults(w.h.rt, &often), VOLT_EINVAL);
  assert_result(volt_simulated_set_faults(w.h.rt, NULL), VOLT_OK);
  finish();
  volt_rt_config config = {.workers = 1, .io = volt_io_simulated()};
  volt_rt *rt;
  assert_result(volt_rt_create(&rt, &config), VOLT_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_byte_arrives_at_once_without_faults),
      cmocka_unit_test(the_same_seed_gives_the_same_run),
      cmocka_unit_test(a_delay_takes_virtual_time_only),
      cmocka_unit_test(nobody_listens),
      cmocka_unit_test(a_full_buffer_holds_a_send_back),
      cmocka_unit_test(a_network_that_is_replaced_resets_every_connection),
      cmocka_unit_test(datagrams_come_late_out_of_order_or_not_at_all),
      cmocka_unit_test(an_address_that_is_too_long_is_refused),
      cmocka_unit_test(bad_faults_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
