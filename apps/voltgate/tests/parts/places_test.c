/* places_test.c: the admin side on a network in memory, and on a virtual clock: whatever many clients
 * do or leave undone, another one gets its answer before any time passes. */
#include <string.h>

#include "admin/server.h"
#include "network.h"
#include "program/program.h"
#include "unit.h"

enum { SILENT = 200, HALF = 50, SLOW = 80 };

static volt_rt *rt;
static struct program program;
static struct admin *admin;
static volt_address at;

static int set_up(void **state) {
  (void)state;
  struct settings *settings = (struct settings *)calloc(1, sizeof *settings);
  assert_non_null(settings);
  rt = network_begin(1, NULL);
  memset(&program, 0, sizeof program);
  program_init(&program, settings); /* which frees them */
  program.rt = rt;
  program.descriptors_all = 65536; /* so there are as many places as there may be */
  assert_result(admin_start(&admin, &program, "127.0.0.1:9090", -1), VOLT_OK);
  assert_result(volt_address_parse(&at, "127.0.0.1:9090"), VOLT_OK);
  network_run(rt);
  return 0;
}

/* admin_stop() waits for tasks that only this thread runs: so they are ended before. */
static int tear_down(void **state) {
  (void)state;
  volt_future all;
  volt_task_cancel((volt_task *)admin->accepting);
  volt_task_cancel((volt_task *)admin->sampling);
  volt_group_cancel(&admin->connections);
  volt_future_made(volt_group_wait_future(&all, &admin->connections));
  (void)!volt_rt_run_until(rt, &all, VOLT_NO_DEADLINE);
  network_run(rt);
  assert_int_equal(admin->places.taken, 0);
  admin_stop(admin);
  program_destroy(&program);
  network_end(rt);
  return 0;
}

/* ---- clients ---- */

static void come(volt_fd *fd) {
  volt_op op;
  assert_result(volt_socket_open(fd, rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  volt_future *f = volt_fd_connect_future(&op, fd, &at.as.any, at.size);
  assert_result(volt_rt_run_until(rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  network_run(rt);
}

static void say(volt_fd *fd, const char *words) {
  size_t n;
  assert_result(volt_fd_try_send(fd, words, strlen(words), 0, &n), VOLT_OK);
  assert_int_equal(n, strlen(words));
  network_run(rt);
}

static bool is_open(volt_fd *fd) {
  char byte;
  size_t n;
  return volt_fd_try_recv(fd, &byte, 1, 0, &n) == VOLT_EAGAIN;
}

/* It asks for /health, and is answered. */
static void expect_health(volt_fd *fd) {
  char got[4096];
  volt_op op;
  say(fd, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  volt_future *f = volt_fd_recv_future(&op, fd, got, sizeof got - 1, 0);
  assert_result(volt_rt_run_until(rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  got[op.n] = '\0';
  assert_memory_equal(got, "HTTP/1.1 200 OK", 15);
}

/* ---- */

static void test_a_crowd_does_not_keep_others_out(void **state) {
  static volt_fd silent[SILENT], half[HALF], slow[SLOW], fd;
  (void)state;
  for (int i = 0; i < SILENT; i++) come(&silent[i]);
  for (int i = 0; i < HALF; i++) {
    come(&half[i]);
    say(&half[i],
        "PUT /gates/main/limit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1");
  }
  for (int i = 0; i < SLOW; i++) { /* more answers than the network takes, and it reads none */
    come(&slow[i]);
    for (int n = 0; n < 20; n++) say(&slow[i], "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  come(&fd);
  expect_health(&fd);
  assert_int_equal(volt_rt_now_ns(rt), 0); /* no time had to pass */
  for (int i = 0; i < SILENT; i++) assert_false(is_open(&silent[i]));
  for (int i = 0; i < SILENT; i++) volt_fd_close(&silent[i]);
  for (int i = 0; i < HALF; i++) volt_fd_close(&half[i]);
  for (int i = 0; i < SLOW; i++) volt_fd_close(&slow[i]);
  volt_fd_close(&fd);
}

/* Those that came first go first; one that has asked since then has begun anew. */
static void test_who_was_silent_for_the_longest_time_goes(void **state) {
  static volt_fd fds[ADMIN_CONNECTIONS + 2];
  (void)state;
  for (int i = 0; i < ADMIN_CONNECTIONS; i++) {
    come(&fds[i]);
  }
  expect_health(&fds[0]);
  for (int i = 0; i < ADMIN_CONNECTIONS; i++) assert_true(is_open(&fds[i]));
  for (int i = 0; i < 2; i++) come(&fds[ADMIN_CONNECTIONS + i]);
  for (int i = 0; i < ADMIN_CONNECTIONS + 2; i++) {
    assert_int_equal(is_open(&fds[i]), i != 1 && i != 2);
  }
  expect_health(&fds[0]);
  for (int i = 0; i < ADMIN_CONNECTIONS + 2; i++) volt_fd_close(&fds[i]);
}

/* Nothing new: a request that comes byte by byte is as old as its connection. */
static void test_bytes_do_not_buy_time(void **state) {
  static volt_fd fds[ADMIN_CONNECTIONS + 1];
  (void)state;
  for (int i = 0; i < ADMIN_CONNECTIONS; i++) {
    come(&fds[i]);
    say(&fds[0], "G");
  }
  come(&fds[ADMIN_CONNECTIONS]);
  assert_false(is_open(&fds[0]));
  assert_true(is_open(&fds[1]));
  for (int i = 0; i < ADMIN_CONNECTIONS + 1; i++) volt_fd_close(&fds[i]);
}

/* ---- all of them work ---- */

static int note_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  return ctx->cancel ? VOLT_ECANCELED : VOLT_PENDING;
}

/* While all places work for their clients, none is asked; the first that waits again is. */
static void test_one_that_works_is_asked_when_it_has_done(void **state) {
  static struct places p;
  volt_group group;
  struct place *taken[ADMIN_CONNECTIONS];
  (void)state;
  places_init(&p, ADMIN_CONNECTIONS);
  volt_group_init_how(&group, VOLT_GROUP_KEEP_GOING);
  for (int i = 0; i < ADMIN_CONNECTIONS; i++) {
    assert_result(volt_sem_try_acquire(&p.free, 1), VOLT_OK);
    taken[i] = places_take(&p);
    volt_task *t = volt_task_new(rt, sizeof *t, note_poll);
    assert_non_null(t);
    assert_result(volt_group_spawn_member(&group, rt, t, &taken[i]->member), VOLT_OK);
    place_works(&p, taken[i]);
  }
  network_run(rt);
  places_make_room(&p);
  network_run(rt);
  assert_int_equal(volt_group_count(&group), ADMIN_CONNECTIONS);
  place_waits(&p, taken[7]);
  place_waits(&p, taken[8]); /* one was enough */
  network_run(rt);
  assert_int_equal(volt_group_count(&group), ADMIN_CONNECTIONS - 1);
  assert_false(volt_group_member_cancel(&taken[7]->member));
  place_leave(&p, taken[7]);
  places_make_room(&p); /* there is room */
  assert_true(volt_group_member_cancel(&taken[8]->member));
  for (int i = 0; i < ADMIN_CONNECTIONS; i++) {
    if (i != 7) place_leave(&p, taken[i]);
  }
  volt_group_cancel(&group);
  network_run(rt);
  volt_group_destroy(&group);
  places_destroy(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_a_crowd_does_not_keep_others_out),
      TEST(test_who_was_silent_for_the_longest_time_goes),
      TEST(test_bytes_do_not_buy_time),
      TEST(test_one_that_works_is_asked_when_it_has_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
