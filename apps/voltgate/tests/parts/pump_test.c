/* pump_test.c: bytes go both ways, none is lost or doubled, whatever comes in between. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "network.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <volt/select.h>

#include "rng.h"
#include "session/pump.h"

/* ---- a session: as pump.h says it is written ---- */

struct passing {
  volt_task task;
  struct pump pump;
  struct link client, server;
  volt_op ops[PUMP_SIDES];
  volt_future *either[PUMP_SIDES];
  volt_select select;
  enum pump_result step;
  enum pump_result told[8]; /* ends and stops, in their order */
  unsigned told_count;
  unsigned rounds, again;
};

static int passing_poll(volt_task *t, volt_ctx *ctx) {
  struct passing *self = volt_container_of(t, struct passing, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->step = pump_round(&self->pump);
    self->rounds += 1;
    if (self->step == PUMP_ENDED || self->step == PUMP_FAILED) break;
    if (self->step == PUMP_AGAIN) {
      self->again += 1;
      VOLT_YIELD(self);
    } else if (self->step == PUMP_WAIT) {
      for (int i = 0; i < PUMP_SIDES; i++) {
        unsigned events = pump_events(&self->pump, (enum pump_side)i);
        self->either[i] =
            events ? volt_fd_ready_future(&self->ops[i], &self->pump.links[i]->fd, events) : NULL;
      }
      VOLT_AWAIT(self, volt_select_future(&self->select, self->either, 2, VOLT_SELECT_FAIR));
      uint32_t won = volt_select_winner(&self->select);
      pump_ready(&self->pump, (enum pump_side)won, self->ops[won].n);
    } else {
      assert_true(self->told_count < 8);
      self->told[self->told_count++] = self->step;
    }
  }
  VOLT_TASK_END(self);
}

struct scene {
  volt_rt *rt;
  volt_fd client, server; /* the far ends */
  struct passing *p;
};

static void scene_begin(struct scene *s, uint64_t seed, const volt_simulated_faults *faults,
                        const struct pump_hooks *hooks, void *arg) {
  memset(s, 0, sizeof *s);
  s->rt = network_begin(seed, faults);
  s->p = VOLT_TASK_NEW(s->rt, struct passing, passing_poll);
  assert_non_null(s->p);
  assert_result(volt_pair_open(&s->client, &s->p->client.fd, s->rt, SOCK_STREAM), VOLT_OK);
  assert_result(volt_pair_open(&s->server, &s->p->server.fd, s->rt, SOCK_STREAM), VOLT_OK);
  pump_init(&s->p->pump, &s->p->client, &s->p->server, hooks, arg);
}

static void scene_go(struct scene *s) {
  assert_result(volt_spawn(s->rt, &s->p->task), VOLT_OK);
  network_run(s->rt);
}

static void scene_end(struct scene *s) {
  if (volt_task_result(&s->p->task) == VOLT_PENDING) {
    volt_task_cancel(&s->p->task);
    network_run(s->rt);
  }
  assert_true(volt_task_result(&s->p->task) != VOLT_PENDING);
  pump_end(&s->p->pump);
  link_close(&s->p->client);
  link_close(&s->p->server);
  volt_fd_close(&s->client);
  volt_fd_close(&s->server);
  volt_task_detach(&s->p->task);
  network_settle(s->rt, VOLT_NO_DEADLINE);
  network_end(s->rt);
}

static void scene_expect_told(struct scene *s, unsigned count, enum pump_result last) {
  assert_int_equal(s->p->told_count, count);
  if (count > 0) assert_int_equal(s->p->told[count - 1], last);
}

/* ---- without a protocol ---- */

static void bytes_go_both_ways(void **state) {
  (void)state;
  struct scene s;
  scene_begin(&s, 1, NULL, NULL, NULL);
  far_say_text(&s.client, "early ");
  scene_go(&s);
  far_hears(&s.server, "early ");
  far_say_text(&s.server, "answer");
  far_say_text(&s.client, "question");
  network_run(s.rt);
  far_hears(&s.server, "question");
  far_hears(&s.client, "answer");
  assert_int_equal(s.p->pump.up, 14);
  assert_int_equal(s.p->pump.down, 6);
  scene_end(&s);
}

static void an_end_is_passed_on_and_the_other_direction_goes_on(void **state) {
  (void)state;
  for (int first = 0; first < PUMP_SIDES; first++) {
    struct scene s;
    scene_begin(&s, 1, NULL, NULL, NULL);
    scene_go(&s);
    volt_fd *one = first == PUMP_CLIENT ? &s.client : &s.server;
    volt_fd *other = first == PUMP_CLIENT ? &s.server : &s.client;
    far_say_text(one, "last");
    assert_result(volt_fd_shutdown(one, SHUT_WR), VOLT_OK);
    network_run(s.rt);
    far_hears(other, "last");
    far_hears_end(other);
    scene_expect_told(&s, 1, first == PUMP_CLIENT ? PUMP_CLIENT_ENDED : PUMP_SERVER_ENDED);
    far_say_text(other, "more");
    network_run(s.rt);
    far_hears(one, "more");
    assert_result(volt_fd_shutdown(other, SHUT_WR), VOLT_OK);
    network_run(s.rt);
    far_hears_end(one);
    scene_expect_told(&s, 2, first == PUMP_CLIENT ? PUMP_SERVER_ENDED : PUMP_CLIENT_ENDED);
    assert_int_equal(s.p->step, PUMP_ENDED);
    scene_end(&s);
  }
}

/* A pattern that shows loss, doubling and order. */
static uint8_t pattern(size_t at) {
  return (uint8_t)(at * 2654435761u >> 13);
}

static size_t say_pattern(volt_fd *far, size_t *at, size_t until) {
  uint8_t chunk[5000];
  size_t size = until - *at < sizeof chunk ? until - *at : sizeof chunk;
  for (size_t i = 0; i < size; i++) chunk[i] = pattern(*at + i);
  size_t sent = size ? far_say_some(far, chunk, size) : 0;
  *at += sent;
  return sent;
}

static size_t take_pattern(volt_fd *far, size_t *at, size_t room) {
  uint8_t chunk[5000];
  bool ended;
  size_t size = far_take(far, chunk, room < sizeof chunk ? room : sizeof chunk, &ended);
  for (size_t i = 0; i < size; i++) assert_int_equal(chunk[i], pattern(*at + i));
  *at += size;
  return size;
}

static void a_peer_that_does_not_read_stops_its_sender_only(void **state) {
  (void)state;
  volt_simulated_faults faults = {.buffer_size = 8192};
  struct scene s;
  scene_begin(&s, 1, &faults, NULL, NULL);
  scene_go(&s);
  size_t said = 0, taken = 0;
  for (int idle = 0; idle < 3; idle++) { /* until nothing more fits */
    while (say_pattern(&s.server, &said, 10000000) > 0) idle = 0;
    network_run(s.rt);
  }
  assert_in_range(said, 3 * 8192 - 5000, 3 * 8192); /* far buffer, kept, near buffer */
  assert_true(link_is_full(&s.p->client));
  far_say_text(&s.client, "still heard");
  network_run(s.rt);
  far_hears(&s.server, "still heard");
  unsigned rounds = s.p->rounds;
  network_run(s.rt);
  assert_int_equal(s.p->rounds, rounds); /* it sleeps */
  do {
    network_run(s.rt);
  } while (take_pattern(&s.client, &taken, 5000) > 0);
  assert_int_equal(taken, said);
  assert_true(pump_is_empty(&s.p->pump));
  scene_end(&s);
}

static void a_large_transfer_lets_others_run(void **state) {
  (void)state;
  volt_simulated_faults faults = {.buffer_size = 8 * PUMP_CHUNK};
  struct scene s;
  scene_begin(&s, 1, &faults, NULL, NULL);
  size_t said = 0, taken = 0;
  while (said < 8 * PUMP_CHUNK) say_pattern(&s.client, &said, 8 * PUMP_CHUNK);
  scene_go(&s);
  assert_in_range(s.p->again, 1, 8);
  while (take_pattern(&s.server, &taken, 5000) > 0) {
  }
  assert_int_equal(taken, said);
  scene_end(&s);
}

/* By TCP of the system, which keeps what has come when it learns of a reset: the client's second
 * bytes find the server gone when nobody has read its last words. */
static void what_a_server_says_before_it_is_gone_is_passed_on(void **state) {
  (void)state;
  volt_rt *rt;
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .io = volt_io_epoll()};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  struct link sides[PUMP_SIDES];
  volt_fd far[PUMP_SIDES];
  memset(sides, 0, sizeof sides);
  for (int i = 0; i < PUMP_SIDES; i++) network_connect(rt, &far[i], &sides[i].fd);
  struct pump p;
  pump_init(&p, &sides[PUMP_CLIENT], &sides[PUMP_SERVER], NULL, NULL);
  assert_int_equal(pump_round(&p), PUMP_WAIT);
  far_say_text(&far[PUMP_SERVER], "FATAL");
  volt_fd_close(&far[PUMP_SERVER]);
  enum pump_result step = PUMP_WAIT;
  for (int i = 0; i < 1000 && step == PUMP_WAIT; i++) {
    far_say_text(&far[PUMP_CLIENT], "x");
    pump_ready(&p, PUMP_CLIENT, POLLIN);
    step = pump_round(&p);
  }
  assert_int_equal(step, PUMP_AGAIN); /* it could not be sent */
  assert_int_equal(pump_events(&p, PUMP_SERVER), 0);
  do {
    step = pump_round(&p);
  } while (step == PUMP_AGAIN);
  assert_int_equal(step, PUMP_FAILED);
  assert_int_equal(p.failed, PUMP_SERVER);
  far_hears(&far[PUMP_CLIENT], "FATAL");
  pump_end(&p);
  for (int i = 0; i < PUMP_SIDES; i++) {
    link_close(&sides[i]);
    volt_fd_close(&far[i]);
  }
  assert_int_equal(volt_rt_destroy(rt), 0);
}

static void a_client_that_is_gone_ends_it_although_the_server_is_silent(void **state) {
  (void)state;
  struct scene s;
  scene_begin(&s, 1, NULL, NULL, NULL);
  scene_go(&s);
  far_say_text(&s.client, "x");
  assert_result(volt_fd_shutdown(&s.client, SHUT_WR), VOLT_OK);
  network_run(s.rt);
  scene_expect_told(&s, 1, PUMP_CLIENT_ENDED);
  volt_simulated_reset_all(s.rt);
  network_run(s.rt);
  assert_int_equal(s.p->step, PUMP_FAILED);
  scene_end(&s);
}

/* Every byte arrives, in order, whatever the network does: delays, short calls, small buffers. */
static void bytes_survive_a_bad_network(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    volt_simulated_faults faults = {.delay_max_ns = seed % 3 * 100000,
                                    .short_per_million = 300000,
                                    .buffer_size = 700 + (uint32_t)(seed * 997 % 90000)};
    struct scene s;
    scene_begin(&s, seed, &faults, NULL, NULL);
    scene_go(&s);
    const size_t all = 300000;
    size_t said[2] = {0, 0}, taken[2] = {0, 0};
    bool shut[2] = {false, false};
    volt_fd *far[2] = {&s.client, &s.server};
    rng random = rng_seeded(seed);
    for (unsigned turn = 0; s.p->step != PUMP_ENDED; turn++) {
      assert_true(turn < 1000000);
      for (int i = 0; i < 2; i++) {
        if (rng_below(&random, 3) == 0) say_pattern(far[i], &said[i], all);
        if (rng_below(&random, 3) == 0) take_pattern(far[1 - i], &taken[i], 5000);
        if (said[i] == all && !shut[i]) {
          assert_result(volt_fd_shutdown(far[i], SHUT_WR), VOLT_OK);
          shut[i] = true;
        }
      }
      network_settle(s.rt, volt_rt_now_ns(s.rt) + 50000);
      volt_rt_advance(s.rt, 50000);
    }
    for (int i = 0; i < 2; i++) {
      network_settle(s.rt, VOLT_NO_DEADLINE);
      while (take_pattern(far[1 - i], &taken[i], 5000) > 0) network_settle(s.rt, VOLT_NO_DEADLINE);
      assert_int_equal(taken[i], all);
      far_hears_end(far[1 - i]);
    }
    scene_end(&s);
  }
}

/* ---- with a protocol: '!' wants a permit, '?' begins a pair that goes on whole ---- */

struct rules {
  bool has_permit, stops_down;
  unsigned shown;
};

static enum pump_verdict rules_up(void *arg, const char *bytes, size_t size, size_t *passed) {
  struct rules *r = (struct rules *)arg;
  r->shown += 1;
  for (*passed = 0; *passed < size; *passed += 1) {
    if (bytes[*passed] == '!' && !r->has_permit) return PUMP_STOPS;
    if (bytes[*passed] == '?') {
      if (*passed + 1 == size) return PUMP_GOES_ON;
      *passed += 1;
    }
  }
  return PUMP_GOES_ON;
}

static enum pump_verdict rules_down(void *arg, const char *bytes, size_t size, size_t *passed) {
  struct rules *r = (struct rules *)arg;
  (void)bytes;
  *passed = size;
  return r->stops_down ? PUMP_STOPS : PUMP_GOES_ON;
}

static const struct pump_hooks rules_hooks = {rules_up, rules_down};

static void a_hook_stops_its_direction_until_it_is_resumed(void **state) {
  (void)state;
  struct scene s;
  struct rules r = {0};
  scene_begin(&s, 1, NULL, &rules_hooks, &r);
  scene_go(&s);
  far_say_text(&s.client, "abc!def");
  network_run(s.rt);
  far_hears(&s.server, "abc");
  scene_expect_told(&s, 1, PUMP_STOPPED);
  assert_true(pump_is_stopped(&s.p->pump, PUMP_CLIENT));
  far_say_text(&s.client, "ghi"); /* it is not read */
  far_say_text(&s.server, "notice");
  network_run(s.rt);
  far_hears(&s.server, "");
  far_hears(&s.client, "notice");
  assert_int_equal(r.shown, 1);
  r.has_permit = true;
  pump_resume(&s.p->pump, PUMP_CLIENT);
  far_say_text(&s.server, "wake");
  network_run(s.rt);
  far_hears(&s.server, "!defghi");
  far_hears(&s.client, "wake");
  assert_int_equal(s.p->pump.up, 10);
  scene_end(&s);
}

static void the_hang_up_of_a_stopped_client_is_seen(void **state) {
  (void)state;
  struct scene s;
  struct rules r = {0};
  scene_begin(&s, 1, NULL, &rules_hooks, &r);
  scene_go(&s);
  far_say_text(&s.client, "!");
  network_run(s.rt);
  assert_false(pump_is_hung_up(&s.p->pump, PUMP_CLIENT));
  assert_result(volt_fd_shutdown(&s.client, SHUT_WR), VOLT_OK);
  network_run(s.rt);
  assert_true(pump_is_hung_up(&s.p->pump, PUMP_CLIENT));
  scene_expect_told(&s, 1, PUMP_STOPPED); /* its end comes behind what is held */
  unsigned rounds = s.p->rounds;
  network_run(s.rt);
  assert_int_equal(s.p->rounds, rounds);
  r.has_permit = true;
  pump_resume(&s.p->pump, PUMP_CLIENT);
  far_say_text(&s.server, "wake");
  network_run(s.rt);
  far_hears(&s.server, "!");
  scene_expect_told(&s, 2, PUMP_CLIENT_ENDED);
  bool ended;
  char none[4];
  assert_int_equal(far_take(&s.server, none, sizeof none, &ended), 0);
  assert_false(ended); /* a hook's end is the session's to pass on */
  scene_end(&s);
}

static void a_part_is_shown_again_with_what_follows(void **state) {
  (void)state;
  struct scene s;
  struct rules r = {0};
  scene_begin(&s, 1, NULL, &rules_hooks, &r);
  assert_result(pump_put(&s.p->pump, PUMP_CLIENT, "x?", 2), VOLT_OK);
  scene_go(&s);
  far_hears(&s.server, "x");
  assert_false(pump_is_stopped(&s.p->pump, PUMP_CLIENT));
  assert_true(pump_is_stopped(&s.p->pump, PUMP_SERVER) == false);
  far_say_text(&s.client, "!");
  network_run(s.rt);
  far_hears(&s.server, "?!"); /* behind '?' it is no '!' */
  far_say_text(&s.client, "?");
  network_run(s.rt);
  far_hears(&s.server, "");
  assert_result(volt_fd_shutdown(&s.client, SHUT_WR), VOLT_OK);
  network_run(s.rt);
  scene_expect_told(&s, 1, PUMP_CLIENT_ENDED);
  scene_end(&s);
}

static void a_stop_may_pass_all_on(void **state) {
  (void)state;
  struct scene s;
  struct rules r = {.stops_down = true};
  scene_begin(&s, 1, NULL, &rules_hooks, &r);
  scene_go(&s);
  far_say_text(&s.server, "one");
  network_run(s.rt);
  far_hears(&s.client, "one");
  scene_expect_told(&s, 1, PUMP_STOPPED);
  far_say_text(&s.server, "two");
  network_run(s.rt);
  far_hears(&s.client, "");
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_go_both_ways),
      cmocka_unit_test(an_end_is_passed_on_and_the_other_direction_goes_on),
      cmocka_unit_test(a_peer_that_does_not_read_stops_its_sender_only),
      cmocka_unit_test(a_large_transfer_lets_others_run),
      cmocka_unit_test(what_a_server_says_before_it_is_gone_is_passed_on),
      cmocka_unit_test(a_client_that_is_gone_ends_it_although_the_server_is_silent),
      cmocka_unit_test(bytes_survive_a_bad_network),
      cmocka_unit_test(a_hook_stops_its_direction_until_it_is_resumed),
      cmocka_unit_test(the_hang_up_of_a_stopped_client_is_seen),
      cmocka_unit_test(a_part_is_shown_again_with_what_follows),
      cmocka_unit_test(a_stop_may_pass_all_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
