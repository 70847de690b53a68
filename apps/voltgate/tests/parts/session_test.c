/* session_test.c: a tcp session from accept to its end, on a network in memory: what it waits for,
 * why it ends, and that its permit is given back whichever way it ends. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "unit.h"

/* ---- bytes ---- */

static void test_relays_both_ways_and_passes_on_ends(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_send(&s, &client, "ask");
  assert_string_equal(stage_read(&s, &server), "ask");
  stage_shut(&s, &client);
  assert_string_equal(stage_read(&s, &server), "ask");
  assert_true(server.has_ended);
  stage_send(&s, &server, "answer"); /* the other direction goes on */
  assert_string_equal(stage_read(&s, &client), "answer");
  assert_false(client.has_ended);
  assert_int_equal(gate_held(s.gate), 1);
  stage_close(&s, &server);
  assert_string_equal(stage_read(&s, &client), "answer");
  assert_true(client.has_ended);
  assert_int_equal(gate_held(s.gate), 0);
  assert_int_equal(stage_counted(&s, COUNT_BYTES_UP), 3);
  assert_int_equal(stage_counted(&s, COUNT_BYTES_DOWN), 6);
  stage_close(&s, &client);
  stage_end(&s);
}

/* The server ends: the permit is free at once, although the client does not close; with half-close
 * keep, not before the client has ended, too. */
static void test_server_ends(enum half_close how, bool is_over) {
  struct stage s;
  struct peer client, server;
  stage_begin(&s, 1);
  s.settings.half_close = how;
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_send(&s, &server, "last words");
  stage_shut(&s, &server);
  assert_string_equal(stage_read(&s, &client), "last words");
  assert_true(client.has_ended);
  assert_int_equal(gate_held(s.gate), is_over ? 0 : 1);
  if (!is_over) {
    stage_send(&s, &client, "more");
    assert_string_equal(stage_read(&s, &server), "more");
    stage_shut(&s, &client);
  }
  (void)stage_read(&s, &server);
  assert_true(server.has_ended);
  assert_int_equal(gate_held(s.gate), 0);
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_server_that_ends_is_gone(void **state) {
  (void)state;
  test_server_ends(HALF_CLOSE_LEAVE, true);
}

static void test_server_may_go_on_listening_if_asked_for(void **state) {
  (void)state;
  test_server_ends(HALF_CLOSE_KEEP, false);
}

static void test_server_closes_first(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_send(&s, &server, "bye");
  stage_close(&s, &server);
  assert_string_equal(stage_read(&s, &client), "bye");
  assert_true(client.has_ended);
  stage_close(&s, &client);
  assert_int_equal(gate_held(s.gate), 0);
  stage_end(&s);
}

/* ---- the queue ---- */

enum { CROWD = 20 };

static void test_served_in_the_order_of_accept(void **state) {
  struct stage s;
  struct peer clients[CROWD], server;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  for (int i = 0; i < CROWD; i++) {
    const char name[2] = {(char)('a' + i), '\0'};
    stage_connect(&s, &clients[i]);
    stage_send(&s, &clients[i], name);
  }
  assert_int_equal(atomic_load(&s.gate->queued), CROWD - 1);
  for (int i = 0; i < CROWD; i++) {
    const char name[2] = {(char)('a' + i), '\0'};
    struct peer second;
    assert_true(stage_accept(&s, &server));
    assert_false(stage_accept(&s, &second)); /* never more than the limit */
    assert_string_equal(stage_read(&s, &server), name);
    stage_close(&s, &clients[i]);
    (void)stage_read(&s, &server);
    assert_true(server.has_ended);
    stage_close(&s, &server);
  }
  assert_int_equal(stage_counted(&s, COUNT_WAITED), CROWD - 1);
  stage_end(&s);
}

static void test_queue_deadline(void **state) {
  struct stage s;
  struct peer holder, server, client;
  (void)state;
  stage_begin(&s, 1);
  s.settings.refuse = REFUSE_HTTP;
  stage_open(&s);
  stage_connect(&s, &holder);
  assert_true(stage_accept(&s, &server));
  stage_connect(&s, &client);
  stage_pass(&s, 5 * STAGE_S - 1);
  assert_string_equal(stage_read(&s, &client), "");
  assert_false(client.has_ended);
  stage_pass(&s, 1);
  assert_memory_equal(stage_read(&s, &client), "HTTP/1.1 503 ", 13);
  assert_true(client.has_ended);
  assert_int_equal(stage_refused(&s, REASON_QUEUE_TIMEOUT), 1);
  assert_int_equal(atomic_load(&s.gate->queued), 0);
  stage_close(&s, &client);
  stage_close(&s, &holder);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_queue_full(void **state) {
  struct stage s;
  struct peer holder, queued, refused;
  (void)state;
  stage_begin(&s, 1);
  s.settings.queue = 1;
  s.settings.refuse = REFUSE_REDIS;
  stage_open(&s);
  stage_connect(&s, &holder);
  stage_connect(&s, &queued);
  stage_connect(&s, &refused);
  assert_memory_equal(stage_read(&s, &refused), "-ERR max number of clients", 26);
  assert_true(refused.has_ended);
  assert_int_equal(stage_refused(&s, REASON_QUEUE_FULL), 1);
  stage_close(&s, &refused);
  stage_close(&s, &queued);
  stage_close(&s, &holder);
  stage_end(&s);
}

static void test_hang_up_leaves_the_queue_at_once(void **state) {
  struct stage s;
  struct peer holder, server, gone, next;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &holder);
  assert_true(stage_accept(&s, &server));
  stage_connect(&s, &gone);
  stage_connect(&s, &next);
  stage_send(&s, &gone, "never passed on");
  assert_int_equal(atomic_load(&s.gate->queued), 2);
  stage_close(&s, &gone);
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  assert_int_equal(stage_counted(&s, COUNT_LEFT), 1);
  stage_close(&s, &holder);
  stage_close(&s, &server);
  assert_true(stage_accept(&s, &server));
  stage_send(&s, &next, "next");
  assert_string_equal(stage_read(&s, &server), "next");
  stage_close(&s, &next);
  stage_close(&s, &server);
  stage_end(&s);
}

/* The permit comes at the moment in which the client hangs up: it counts once. */
static void test_hang_up_at_the_grant_counts_once(void **state) {
  struct stage s;
  struct peer holder, server, client;
  (void)state;
  for (int client_first = 0; client_first < 2; client_first++) {
    stage_begin(&s, 1);
    stage_open(&s);
    stage_connect(&s, &holder);
    assert_true(stage_accept(&s, &server));
    stage_connect(&s, &client);
    volt_fd_close(&server.fd); /* nothing runs in between */
    if (client_first) volt_fd_close(&client.fd);
    volt_fd_close(&holder.fd);
    if (!client_first) volt_fd_close(&client.fd);
    stage_run(&s);
    assert_int_equal(stage_counted(&s, COUNT_ADMITTED) + stage_counted(&s, COUNT_LEFT), 2);
    stage_end(&s);
  }
}

static void test_half_close(enum half_close how, bool stays) {
  struct stage s;
  struct peer holder, server, client;
  stage_begin(&s, 1);
  s.settings.half_close = how;
  stage_open(&s);
  stage_connect(&s, &holder);
  assert_true(stage_accept(&s, &server));
  stage_connect(&s, &client);
  stage_send(&s, &client, "one question");
  stage_shut(&s, &client);
  assert_int_equal(atomic_load(&s.gate->queued), stays ? 1 : 0);
  stage_close(&s, &holder);
  stage_close(&s, &server);
  if (stays) {
    assert_true(stage_accept(&s, &server));
    assert_string_equal(stage_read(&s, &server), "one question");
    assert_true(server.has_ended);
    stage_send(&s, &server, "one answer");
    assert_string_equal(stage_read(&s, &client), "one answer");
    stage_close(&s, &server);
  }
  stage_close(&s, &client);
  stage_end(&s);
}

static void test_half_closed_client_leaves(void **state) {
  (void)state;
  test_half_close(HALF_CLOSE_LEAVE, false);
}

static void test_half_closed_client_stays_if_asked_for(void **state) {
  (void)state;
  test_half_close(HALF_CLOSE_KEEP, true);
}

/* ---- the server is away ---- */

static void test_connect_is_refused_and_the_breaker_opens(void **state) {
  struct stage s;
  struct peer client;
  (void)state;
  stage_begin(&s, 1);
  s.settings.refuse = REFUSE_HTTP;
  stage_open(&s);
  volt_fd_close(&s.server);
  for (unsigned i = 0; i < 3; i++) {
    stage_connect(&s, &client);
    assert_non_null(strstr(stage_read(&s, &client), "refused")); /* the reason, in words */
    assert_true(client.has_ended);
    stage_close(&s, &client);
  }
  assert_int_equal(stage_refused(&s, REASON_CONNECT), 3);
  assert_true(breaker_is_open(&s.gate->breaker));
  stage_connect(&s, &client);
  assert_non_null(strstr(stage_read(&s, &client), "refused"));
  stage_close(&s, &client);
  assert_int_equal(stage_refused(&s, REASON_BREAKER), 1);
  assert_result(volt_listen(&s.server, s.rt, &s.server_at, 1000, 0), VOLT_OK);
  stage_pass(&s, 300 * STAGE_MS);
  assert_false(breaker_is_open(&s.gate->breaker));
  struct peer probe, server;
  assert_true(stage_accept(&s, &probe)); /* who has looked */
  stage_close(&s, &probe);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_breaker_tells_who_is_queued(void **state) {
  struct stage s;
  struct peer holder, server, queued[3];
  (void)state;
  stage_begin(&s, 1);
  s.settings.breaker_failures = 1;
  s.settings.refuse = REFUSE_HTTP;
  stage_open(&s);
  stage_connect(&s, &holder);
  assert_true(stage_accept(&s, &server));
  for (int i = 0; i < 3; i++) stage_connect(&s, &queued[i]);
  volt_fd_close(&s.server);
  stage_close(&s, &server);
  stage_close(&s, &holder); /* the first of them finds that the server is away */
  for (int i = 0; i < 3; i++) {
    assert_memory_equal(stage_read(&s, &queued[i]), "HTTP/1.1 503 ", 13);
    assert_true(queued[i].has_ended);
    stage_close(&s, &queued[i]);
  }
  assert_int_equal(stage_refused(&s, REASON_CONNECT), 1);
  assert_int_equal(stage_refused(&s, REASON_BREAKER), 2);
  stage_end(&s);
}

/* ---- times ---- */

static void test_idle_timeout(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  s.settings.idle_timeout_ns = 10 * STAGE_S;
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  for (int i = 0; i < 5; i++) {
    stage_pass(&s, 9 * STAGE_S);
    stage_send(&s, i & 1 ? &client : &server, "x"); /* either direction counts */
  }
  stage_pass(&s, 10 * STAGE_S - 1);
  (void)stage_read(&s, &client);
  assert_false(client.has_ended);
  stage_pass(&s, 1);
  (void)stage_read(&s, &client);
  assert_true(client.has_ended);
  (void)stage_read(&s, &server);
  assert_true(server.has_ended);
  assert_int_equal(stage_refused(&s, REASON_IDLE), 1);
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

/* A reload sets a timeout: it begins then, for connections that were there before. */
static void test_idle_timeout_that_comes_later(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_pass(&s, 100 * STAGE_S);
  stage_send(&s, &client, "ask");
  struct gate_settings with = s.settings;
  with.idle_timeout_ns = 10 * STAGE_S;
  assert_true(gate_set(s.gate, &with));
  stage_pass(&s, 10 * STAGE_S - 1);
  (void)stage_read(&s, &client);
  assert_false(client.has_ended);
  stage_pass(&s, 1);
  (void)stage_read(&s, &client);
  assert_true(client.has_ended);
  assert_int_equal(stage_refused(&s, REASON_IDLE), 1);
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_server_timeout(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  s.settings.server_timeout_ns = 2 * STAGE_S;
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  stage_pass(&s, 10 * STAGE_S); /* nobody waits for an answer */
  stage_send(&s, &client, "ask");
  stage_pass(&s, STAGE_S);
  stage_send(&s, &server, "answer");
  stage_pass(&s, 10 * STAGE_S);
  stage_send(&s, &client, "ask");
  stage_pass(&s, STAGE_S);
  stage_send(&s, &client, "hello?"); /* it has waited since the first */
  (void)stage_read(&s, &client);
  assert_false(client.has_ended);
  stage_pass(&s, STAGE_S);
  (void)stage_read(&s, &client);
  assert_true(client.has_ended);
  assert_int_equal(stage_refused(&s, REASON_SERVER_TIMEOUT), 1);
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

static void test_max_age(void **state) {
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  s.settings.max_age_ns = 60 * STAGE_S;
  stage_open(&s);
  stage_connect(&s, &client);
  assert_true(stage_accept(&s, &server));
  for (int i = 0; i < 59; i++) {
    stage_pass(&s, STAGE_S);
    stage_send(&s, &client, "x");
  }
  (void)stage_read(&s, &client);
  assert_false(client.has_ended);
  stage_pass(&s, STAGE_S);
  (void)stage_read(&s, &client);
  assert_true(client.has_ended);
  assert_int_equal(stage_refused(&s, REASON_MAX_AGE), 1);
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

/* ---- refusals ---- */

/* A client that never reads and never closes, or that never stops talking, is gone after a second,
 * or after so many bytes. */
static void test_refused_client_cannot_hold_us(void **state) {
  static char noise[60000];
  struct stage s;
  struct peer holder, silent, talker;
  (void)state;
  memset(noise, 'x', sizeof noise - 1);
  stage_begin(&s, 1);
  s.settings.queue = 0;
  stage_open(&s);
  stage_connect(&s, &holder);
  stage_connect(&s, &silent);
  stage_connect(&s, &talker);
  assert_int_equal(atomic_load(&s.gate->clients.count), 1); /* they are no clients any more */
  assert_int_equal(volt_group_count(&s.sessions), 3);
  stage_send(&s, &talker, noise);
  stage_send(&s, &talker, noise);
  assert_int_equal(volt_group_count(&s.sessions), 2);
  stage_pass(&s, STAGE_S - 1);
  assert_int_equal(volt_group_count(&s.sessions), 2);
  stage_pass(&s, 1);
  assert_int_equal(volt_group_count(&s.sessions), 1);
  stage_close(&s, &talker);
  stage_close(&s, &silent);
  stage_close(&s, &holder);
  stage_end(&s);
}

/* libpq does not show an error that answers SSLRequest: it is answered by 'N' first. */
static void test_refused_client_of_postgres_hears_why(void **state) {
  struct stage s;
  struct peer holder, client, silent;
  size_t n;
  (void)state;
  stage_begin(&s, 1);
  s.settings.queue = 0;
  s.settings.refuse = REFUSE_POSTGRES;
  stage_open(&s);
  stage_connect(&s, &holder);
  stage_connect(&s, &client);
  assert_string_equal(stage_read(&s, &client), "");
  assert_result(volt_fd_try_send(&client.fd, "\0\0\0\10\4\322\26\57", 8, 0, &n), VOLT_OK);
  assert_string_equal(stage_read(&s, &client), "N");
  assert_false(client.has_ended);
  assert_result(volt_fd_try_send(&client.fd, "\0\0\0\20\0\3\0\0user\0u\0\0", 16, 0, &n), VOLT_OK);
  assert_int_equal(stage_read(&s, &client)[1], 'E');
  assert_true(client.has_ended);
  stage_connect(&s, &silent);
  stage_pass(&s, STAGE_S);
  assert_int_equal(stage_read(&s, &silent)[0], 'E'); /* it is told all the same */
  assert_true(silent.has_ended);
  stage_close(&s, &silent);
  stage_close(&s, &client);
  stage_close(&s, &holder);
  stage_end(&s);
}

/* A part of a request, and then nothing: it is waited for without looking again and again. */
static void test_refused_client_of_postgres_that_stops_short_costs_nothing(void **state) {
  struct stage s;
  struct peer holder, client;
  size_t n;
  (void)state;
  stage_begin(&s, 1);
  s.settings.queue = 0;
  s.settings.refuse = REFUSE_POSTGRES;
  stage_open(&s);
  stage_connect(&s, &holder);
  stage_connect(&s, &client);
  assert_result(volt_fd_try_send(&client.fd, "\0\0\0\10\4", 5, 0, &n), VOLT_OK);
  for (int turns = 0; volt_rt_run(s.rt) == 0; turns++) assert_true(turns < 100);
  assert_result(volt_fd_try_send(&client.fd, "\322\26\57", 3, 0, &n), VOLT_OK);
  assert_string_equal(stage_read(&s, &client), "N");
  assert_result(volt_fd_try_send(&client.fd, "\0\0\0\20", 4, 0, &n), VOLT_OK);
  for (int turns = 0; volt_rt_run(s.rt) == 0; turns++) assert_true(turns < 100);
  stage_pass(&s, STAGE_S);
  assert_int_equal(stage_read(&s, &client)[1], 'E');
  assert_true(client.has_ended);
  stage_close(&s, &client);
  stage_close(&s, &holder);
  stage_end(&s);
}

/* ---- drain ---- */

static void test_drain_lets_those_that_are_here_finish(void **state) {
  struct stage s;
  struct peer holder, server, queued;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_connect(&s, &holder);
  assert_true(stage_accept(&s, &server));
  stage_connect(&s, &queued);
  stage_stop_accepting(&s);
  atomic_store(&s.gate->is_draining, true);
  gate_tell(s.gate);
  stage_send(&s, &holder, "on");
  assert_string_equal(stage_read(&s, &server), "on");
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  stage_close(&s, &holder);
  stage_close(&s, &server);
  assert_true(stage_accept(&s, &server));
  stage_send(&s, &queued, "and on");
  assert_string_equal(stage_read(&s, &server), "and on");
  stage_close(&s, &queued);
  stage_close(&s, &server);
  stage_end(&s);
}

/* ---- whatever happens ---- */

enum { STORM = 12, STORM_STEPS = 300 };

struct storm {
  struct stage s;
  struct peer clients[STORM], servers[STORM];
  rng random;
};

static unsigned storm_one_of(struct storm *w, unsigned n) {
  return rng_below(&w->random, n);
}

static void storm_client(struct storm *w) {
  struct peer *p = &w->clients[storm_one_of(w, STORM)];
  size_t n;
  volt_op op;
  if (volt_fd_number(&p->fd) < 0 || !p->fd.io) {
    memset(p, 0, sizeof *p);
    if (volt_socket_open(&p->fd, w->s.rt, AF_INET, SOCK_STREAM, 0) != VOLT_OK) return;
    volt_future *f = volt_fd_connect_future(&op, &p->fd, &w->s.gate_at.as.any, w->s.gate_at.size);
    uint64_t deadline_ns = volt_rt_now_ns(w->s.rt) + STAGE_S;
    if (volt_rt_run_until(w->s.rt, f, deadline_ns) != VOLT_OK) volt_fd_close(&p->fd);
    return;
  }
  switch (storm_one_of(w, 4)) {
    case 0: (void)!volt_fd_try_send(&p->fd, "storm", 5, 0, &n); break;
    case 1: (void)volt_fd_shutdown(&p->fd, SHUT_WR); break;
    case 2: (void)stage_read(&w->s, p); break;
    default: volt_fd_close(&p->fd); break;
  }
}

static void storm_server(struct storm *w) {
  struct peer *p = &w->servers[storm_one_of(w, STORM)];
  size_t n;
  if (volt_fd_number(&p->fd) < 0 || !p->fd.io) {
    memset(p, 0, sizeof *p);
    (void)!volt_fd_try_accept(&w->s.server, &p->fd);
    return;
  }
  switch (storm_one_of(w, 4)) {
    case 0: (void)!volt_fd_try_send(&p->fd, "answer", 6, 0, &n); break;
    case 1: (void)stage_read(&w->s, p); break;
    default: volt_fd_close(&p->fd); break;
  }
  if (p->size > sizeof p->got / 2) p->size = 0;
}

static void storm_step(struct storm *w) {
  switch (storm_one_of(w, 8)) {
    case 0: stage_pass(&w->s, storm_one_of(w, 200) * STAGE_MS); break;
    case 1: gate_set_limit(w->s.gate, 1 + storm_one_of(w, 4)); break;
    case 2: (void)volt_simulated_reset_all(w->s.rt); break;
    case 3:
    case 4:
    case 5: storm_client(w); break;
    default: storm_server(w); break;
  }
  if (storm_one_of(w, 2)) stage_run(&w->s);
  uint32_t limit = volt_sem_limit(&w->s.gate->permits);
  uint32_t excess = volt_sem_excess(&w->s.gate->permits);
  assert_true(gate_held(w->s.gate) <= limit + excess);
  assert_true(atomic_load(&w->s.gate->servers) <= limit + excess); /* closed before the permit */
}

/* Whatever clients, server and network do, and whenever all is cancelled: no permit, no descriptor
 * and no session is lost (stage_end()). */
static void test_nothing_is_lost_in_a_storm(void **state) {
  const volt_simulated_faults faults = {.delay_max_ns = 20 * STAGE_MS,
                                        .short_per_million = 200000,
                                        .reset_per_million = 5000,
                                        .refuse_per_million = 50000,
                                        .accept_per_million = 20000};
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct storm *w = (struct storm *)calloc(1, sizeof *w);
    assert_non_null(w);
    stage_begin(&w->s, seed);
    w->random = rng_seeded(seed);
    assert_result(volt_simulated_set_faults(w->s.rt, &faults), VOLT_OK);
    w->s.settings.limit = 2;
    w->s.settings.queue = 6;
    w->s.settings.clients = 10;
    w->s.settings.queue_timeout_ns = STAGE_S;
    w->s.settings.idle_timeout_ns = seed % 2 ? 3 * STAGE_S : 0;
    w->s.settings.max_age_ns = seed % 3 ? 0 : 4 * STAGE_S;
    w->s.settings.half_close = seed % 5 ? HALF_CLOSE_LEAVE : HALF_CLOSE_KEEP;
    stage_open(&w->s);
    for (int i = 0; i < STORM_STEPS; i++) storm_step(w);
    for (int i = 0; i < STORM; i++) {
      volt_fd_close(&w->clients[i].fd);
      volt_fd_close(&w->servers[i].fd);
    }
    stage_end(&w->s); /* sessions that are left are cancelled where they are */
    free(w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relays_both_ways_and_passes_on_ends),
      cmocka_unit_test(test_server_closes_first),
      cmocka_unit_test(test_server_that_ends_is_gone),
      cmocka_unit_test(test_server_may_go_on_listening_if_asked_for),
      cmocka_unit_test(test_served_in_the_order_of_accept),
      cmocka_unit_test(test_queue_deadline),
      cmocka_unit_test(test_queue_full),
      cmocka_unit_test(test_hang_up_leaves_the_queue_at_once),
      cmocka_unit_test(test_hang_up_at_the_grant_counts_once),
      cmocka_unit_test(test_half_closed_client_leaves),
      cmocka_unit_test(test_half_closed_client_stays_if_asked_for),
      cmocka_unit_test(test_connect_is_refused_and_the_breaker_opens),
      cmocka_unit_test(test_breaker_tells_who_is_queued),
      cmocka_unit_test(test_idle_timeout),
      cmocka_unit_test(test_idle_timeout_that_comes_later),
      cmocka_unit_test(test_server_timeout),
      cmocka_unit_test(test_max_age),
      cmocka_unit_test(test_refused_client_cannot_hold_us),
      cmocka_unit_test(test_refused_client_of_postgres_hears_why),
      cmocka_unit_test(test_refused_client_of_postgres_that_stops_short_costs_nothing),
      cmocka_unit_test(test_drain_lets_those_that_are_here_finish),
      cmocka_unit_test(test_nothing_is_lost_in_a_storm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
