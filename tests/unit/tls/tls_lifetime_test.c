/* tls_lifetime_test.c: how long a session is taken up: 2 hours from its full handshake, however many tickets
 * it has had. The clock is this program's own.
 *
 * BACK ENDS: none */
#define _GNU_SOURCE
#include <openssl/ssl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <volt/tls.h>

#include "tls_scene.h"

enum { HOUR = 3600 };

static scene s;
static time_t later; /* seconds that the clock is ahead */
static unsigned char session[20000];
static size_t session_size;

/* Of libc, for this program and OpenSSL. */
time_t time(time_t *to) {
  struct timespec now;
  (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  time_t seconds = (time_t)now.tv_sec + later;
  if (to) *to = seconds;
  return seconds;
}

/* One connection, which takes up the session if there is one and saves the next. Returns whether it was
 * taken up. */
static bool connects(volt_tls_context *client, volt_tls_context *server) {
  static const volt_simulated_faults none;
  char to[4];
  job jobs[2];
  scene_begin_with(&s, 1, &none);
  s.context[0] = volt_tls_context_hold(client);
  s.context[1] = volt_tls_context_hold(server);
  scene_init(&s, "example.org");
  if (session_size > 0)
    assert_result(volt_tls_session_load(&s.tls[0], session, session_size), VOLT_OK);
  for (int i = 0; i < 2; i++)
    job_start(&s.h, &jobs[i], volt_tls_handshake_future(&jobs[i].op, &s.tls[i]));
  for (int i = 0; i < 2; i++) assert_result(job_finish(&s.h, &jobs[i]), VOLT_OK);
  scene_send(&s, SCENE_SERVER, "ok", 2);
  assert_int_equal(scene_recv(&s, SCENE_CLIENT, to, sizeof to), 2);
  bool was_resumed = volt_tls_is_resumed(&s.tls[1]);
  assert_result(volt_tls_session_save(&s.tls[0], session, sizeof session, &session_size), VOLT_OK);
  scene_end(&s);
  return was_resumed;
}

static void it_lasts_from_the_full_handshake(void **state) {
  (void)state;
  for (unsigned version = VOLT_TLS_1_2; version <= VOLT_TLS_1_3; version++) {
    volt_tls_config client_config = scene_client_config(), config = scene_server_config();
    client_config.most = version;
    volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
    volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
    volt_tls_ticket_key keys[2];
    assert_result(volt_tls_ticket_key_make(&keys[1]), VOLT_OK);
    assert_result(volt_tls_context_tickets(server, &keys[1], 1), VOLT_OK);
    session_size = 0;
    later = 0;
    assert_false(connects(client, server));
    later = HOUR;
    assert_true(connects(client, server));
    assert_result(volt_tls_ticket_key_make(&keys[0]), VOLT_OK);
    assert_result(volt_tls_context_tickets(server, keys, 2), VOLT_OK);
    later = 2 * HOUR - 60;
    assert_true(connects(client, server)); /* renewed by another key */
    later = 2 * HOUR + 60;
    assert_false(connects(client, server));
    later = 3 * HOUR;
    assert_true(connects(client, server)); /* a new one has begun */
    later = 0;
    volt_tls_context_drop(client);
    volt_tls_context_drop(server);
  }
}

static void a_session_that_is_taken_up_gets_a_ticket(void **state) {
  (void)state;
  volt_tls_config client_config = scene_client_config(), config = scene_server_config();
  volt_tls_context *client = scene_context(VOLT_TLS_CLIENT, &client_config);
  volt_tls_context *server = scene_context(VOLT_TLS_SERVER, &config);
  unsigned char before[sizeof session];
  session_size = 0;
  assert_false(connects(client, server));
  for (int i = 0; i < 5; i++) {
    size_t size = session_size;
    memcpy(before, session, size);
    assert_true(connects(client, server));
    assert_true(size != session_size || memcmp(before, session, size) != 0);
  }
  volt_tls_context_drop(client);
  volt_tls_context_drop(server);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_lasts_from_the_full_handshake),
      cmocka_unit_test(a_session_that_is_taken_up_gets_a_ticket),
  };
  scene_make_ca();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scene_free_ca();
  return failed;
}
