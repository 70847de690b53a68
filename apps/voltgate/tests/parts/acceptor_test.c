/* acceptor_test.c: which clients are accepted, and when accept pauses, on a network in memory; a cancel, by io_uring. */
#define _GNU_SOURCE /* accept4, F_DUPFD_CLOEXEC */
#include "stage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/session.h"
#include "unit.h"

static void test_clients_are_bounded(void **state) {
  struct stage s;
  struct peer first, second, third;
  (void)state;
  stage_begin(&s, 1);
  s.settings.clients = 2;
  s.settings.refuse = REFUSE_HTTP;
  stage_open(&s);
  stage_connect(&s, &first);
  stage_connect(&s, &second);
  stage_connect(&s, &third);
  assert_memory_equal(stage_read(&s, &third), "HTTP/1.1 503 ", 13);
  assert_true(third.has_ended);
  assert_int_equal(stage_refused(&s, REASON_CLIENTS), 1);
  assert_int_equal(atomic_load(&s.gate->queued), 1);
  stage_close(&s, &third);
  stage_close(&s, &second);
  stage_connect(&s, &second);
  assert_string_equal(stage_read(&s, &second), "");
  assert_false(second.has_ended);
  stage_close(&s, &second);
  stage_close(&s, &first);
  stage_end(&s);
}

/* With descriptors for three clients the fourth stays in the backlog: it is served when one of them
 * has gone. */
static void test_accept_pauses_without_descriptors(void **state) {
  struct stage s;
  struct peer clients[4], server;
  (void)state;
  stage_begin(&s, 1);
  s.descriptors = 3;
  stage_open(&s);
  for (int i = 0; i < 4; i++) stage_connect(&s, &clients[i]);
  assert_int_equal(stage_counted(&s, COUNT_ACCEPTED), 3);
  assert_true(stage_accept(&s, &server)); /* the first is served all the same */
  stage_send(&s, &clients[0], "served");
  assert_string_equal(stage_read(&s, &server), "served");
  stage_pass(&s, STAGE_S);
  assert_int_equal(stage_counted(&s, COUNT_ACCEPTED), 3);
  stage_close(&s, &clients[1]);
  assert_int_equal(stage_counted(&s, COUNT_ACCEPTED), 4);
  assert_int_equal(atomic_load(&s.gate->queued), 2);
  for (int i = 0; i < 4; i++) stage_close(&s, &clients[i]);
  stage_close(&s, &server);
  stage_end(&s);
}

/* Each accept fails for want of descriptors, until they come: nobody is lost. */
static void test_accept_goes_on_after_failures(void **state) {
  const volt_simulated_faults failing = {.accept_per_million = 1000000};
  struct stage s;
  struct peer client, server;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  assert_result(volt_simulated_set_faults(s.rt, &failing), VOLT_OK);
  stage_connect(&s, &client);
  stage_pass(&s, 10 * STAGE_S);
  assert_int_equal(stage_counted(&s, COUNT_ACCEPTED), 0);
  assert_result(volt_simulated_set_faults(s.rt, NULL), VOLT_OK);
  stage_pass(&s, 2 * STAGE_S);
  assert_int_equal(stage_counted(&s, COUNT_ACCEPTED), 1);
  assert_true(stage_accept(&s, &server));
  stage_close(&s, &client);
  stage_close(&s, &server);
  stage_end(&s);
}

/* While it accepts, waits for descriptors, or pauses: a cancel closes the listener, and loses no
 * descriptor (stage_end()). */
static void test_is_cancelled_wherever_it_waits(void **state) {
  const volt_simulated_faults failing = {.accept_per_million = 1000000};
  struct stage s;
  struct peer client;
  (void)state;
  stage_begin(&s, 1);
  stage_open(&s);
  stage_end(&s);

  stage_begin(&s, 1);
  s.descriptors = 1;
  stage_open(&s);
  stage_connect(&s, &client);
  stage_stop_accepting(&s);
  stage_close(&s, &client);
  stage_end(&s);

  stage_begin(&s, 1);
  stage_open(&s);
  assert_result(volt_simulated_set_faults(s.rt, &failing), VOLT_OK);
  stage_connect(&s, &client);
  stage_stop_accepting(&s);
  stage_close(&s, &client);
  stage_end(&s);
}

static void run_until_empty(struct stage *s, volt_group *g) {
  volt_future all;
  assert_result(volt_rt_run_until(s->rt, volt_group_wait_future(&all, g), VOLT_NO_DEADLINE),
                VOLT_OK);
}

static void end_real(struct stage *s) {
  volt_group_cancel(&s->sessions);
  volt_group_cancel(&s->gate->probes);
  run_until_empty(s, &s->sessions);
  run_until_empty(s, &s->gate->probes);
  volt_group_destroy(&s->sessions);
  volt_group_destroy(&s->acceptors);
  gate_destroy(s->gate);
  free(s->gate);
  s->gate = NULL;
  program_destroy(&s->program);
  volt_rt_destroy(s->rt);
}

static int connect_to(int listener) {
  struct sockaddr_storage at;
  socklen_t size = sizeof at;
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(client >= 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
  assert_int_equal(connect(client, (struct sockaddr *)&at, size), 0);
  return client;
}

/* With io_uring the system does things by itself. A client comes, and accept is cancelled before this process has
 * looked: either it has the client, or that is in the backlog still, where a successor finds it. */
static void test_a_cancel_loses_no_client(void **state) {
  const volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .io = volt_io_uring()};
  struct stage s;
  volt_rt *real;
  (void)state;
  if (volt_rt_create(&real, &config) != VOLT_OK) skip();
  stage_begin(&s, 1);
  volt_rt *simulated = s.rt;
  s.rt = real;
  assert_result(volt_address_parse(&s.gate_at, "127.0.0.1:0"), VOLT_OK);
  stage_open(&s);
  int listener = fcntl(volt_fd_number(&s.acceptor->listener), F_DUPFD_CLOEXEC, 0);
  int client = connect_to(listener);
  volt_group_cancel(&s.acceptors);
  run_until_empty(&s, &s.acceptors);
  uint64_t accepted = stage_counted(&s, COUNT_ACCEPTED);
  int in_backlog = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  assert_true((accepted == 1) != (in_backlog >= 0));
  if (in_backlog >= 0) close(in_backlog);
  close(client);
  close(listener);
  end_real(&s);
  s.rt = simulated;
  stage_end(&s);
}

/* A queued client costs a session, and nothing besides. */
static void test_queued_clients_are_small(void **state) {
  (void)state;
  size_t checks = VOLT_SIGHT ? 64 : 0; /* each future has a word more in builds that check it */
  assert_true(sizeof(struct session) <=
              1536 - 64 + checks); /* the rest: the allocator, the back end */
}

static void test_tenants_by_source(void **state) {
  struct stage s;
  struct peer client;
  (void)state;
  stage_begin(&s, 1);
  s.settings.tenant_by = TENANT_BY_SOURCE;
  s.settings.tenant_ipv4_bits = 12;
  stage_open(&s);
  stage_connect(&s, &client);
  struct tenant *tenant = tenants_enter(gate_tenants(s.gate), "127.0.0.0/12");
  assert_int_equal(atomic_load(&tenant->clients), 2);
  tenant_leave(gate_tenants(s.gate), tenant);
  stage_close(&s, &client);
  stage_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clients_are_bounded),
      cmocka_unit_test(test_accept_pauses_without_descriptors),
      cmocka_unit_test(test_accept_goes_on_after_failures),
      cmocka_unit_test(test_is_cancelled_wherever_it_waits),
      cmocka_unit_test(test_a_cancel_loses_no_client),
      cmocka_unit_test(test_queued_clients_are_small),
      cmocka_unit_test(test_tenants_by_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
