/* bridge_io_test.c: sockets of volt's in a real loop of each kind: by tasks, and by callbacks.
 * LOOPS: uv, glib, event, ev, epoll
 * BACK ENDS: epoll, uring */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bridge_scene.h"

#include <sys/socket.h>
#include <unistd.h>
#include <volt/io.h>

enum { MESSAGES = 500, SIZE = 16 };

static const volt_io_kind *back_end(void) {
  const char *name = getenv("VOLT_TEST_IO");
  return name && strcmp(name, "uring") == 0 ? volt_io_uring() : volt_io_epoll();
}

static void begin_with_io(scene *s) {
  scene_make_loop(s);
  volt_rt_config config = scene_config(s);
  config.io = back_end();
  scene_begin_with(s, &config);
}

/* One end is the bridge's, the other blocks a thread. */
static void connect_ends(scene *s, volt_fd *ours, int *theirs) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  REQUIRE(volt_fd_init(ours, volt_bridge_rt(s->b), ends[0], 0) == VOLT_OK);
  *theirs = ends[1];
}

typedef struct echo {
  volt_task task;
  volt_fd fd;
  volt_op op;
  char bytes[SIZE];
  scene *s;
} echo;

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  echo *self = volt_container_of(t, echo, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->bytes, SIZE, 0));
    if (self->op.n == 0) break;
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->fd, self->bytes, self->op.n, 0));
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  if (!self->s->is_closing) scene_close(self->s);
  VOLT_TASK_END(self);
}

static void ping(void *arg, uint32_t index) {
  int fd = *(int *)arg;
  (void)index;
  for (int i = 0; i < MESSAGES; i++) {
    char bytes[SIZE], back[SIZE];
    memset(bytes, i, sizeof bytes);
    REQUIRE(send(fd, bytes, SIZE, 0) == SIZE);
    REQUIRE(recv(fd, back, SIZE, MSG_WAITALL) == SIZE);
    REQUIRE(memcmp(bytes, back, SIZE) == 0);
  }
  close(fd);
}

/* A thread asks, a task in the loop answers, and closes the bridge when the thread hangs up. */
static void a_task_answers(void **state) {
  (void)state;
  scene s;
  echo e = {.s = &s};
  thread_team team;
  int theirs;
  unsigned ticks = 0;
  begin_with_io(&s);
  connect_ends(&s, &e.fd, &theirs);
  volt_task_init(&e.task, echo_poll);
  assert_result(volt_spawn(volt_bridge_rt(s.b), &e.task), VOLT_OK);
  any_loop_tick_start(s.loop, &ticks);
  thread_team_start(&team, 1, ping, &theirs);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  thread_team_join(&team);
  any_loop_tick_stop(s.loop);
  assert_result(volt_task_result(&e.task), VOLT_OK);
  scene_end(&s);
}

/* The same by callbacks of single futures. */
typedef struct reader {
  volt_bridge_call call;
  volt_fd fd;
  volt_op op;
  char bytes[SIZE];
  scene *s;
  size_t got;
  int result;
} reader;

static void on_read(int result, void *arg);

static void read_on(reader *r) {
  volt_future *f = volt_fd_recv_future(&r->op, &r->fd, r->bytes, SIZE, 0);
  volt_bridge_then(r->s->b, &r->call, f, on_read, r);
}

static void on_read(int result, void *arg) {
  reader *r = (reader *)arg;
  r->result = result;
  if (result == VOLT_OK && r->op.n > 0) {
    r->got += r->op.n;
    read_on(r);
    return;
  }
  volt_fd_close(&r->fd);
  if (!r->s->is_closing) scene_close(r->s);
}

static void write_all(void *arg, uint32_t index) {
  int fd = *(int *)arg;
  (void)index;
  for (int i = 0; i < MESSAGES; i++) {
    char bytes[SIZE] = {0};
    REQUIRE(send(fd, bytes, SIZE, 0) == SIZE);
  }
  close(fd);
}

static void a_callback_reads(void **state) {
  (void)state;
  scene s;
  reader r = {.s = &s};
  thread_team team;
  int theirs;
  begin_with_io(&s);
  connect_ends(&s, &r.fd, &theirs);
  read_on(&r);
  thread_team_start(&team, 1, write_all, &theirs);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  thread_team_join(&team);
  assert_int_equal(r.got, MESSAGES * SIZE);
  assert_result(r.result, VOLT_OK);
  scene_end(&s);
}

/* What waits for a socket is cancelled when the bridge is closed, again and again. */
static void closed_while_it_reads(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    scene s;
    reader r = {.s = &s};
    echo e = {.s = &s};
    int theirs[2];
    begin_with_io(&s);
    connect_ends(&s, &r.fd, &theirs[0]);
    connect_ends(&s, &e.fd, &theirs[1]);
    read_on(&r);
    volt_task_init(&e.task, echo_poll);
    assert_result(volt_spawn(volt_bridge_rt(s.b), &e.task), VOLT_OK);
    if (i % 2) scene_settle(&s);
    if (i % 4 == 0) REQUIRE(send(theirs[i % 8 / 4], "0123", 4, 0) == 4);
    scene_close(&s);
    SCENE_RUN_UNTIL(&s, s.closed > 0);
    assert_true(r.result == VOLT_ECANCELED || r.got == 4);
    assert_true(volt_task_result(&e.task) != VOLT_PENDING);
    close(theirs[0]);
    close(theirs[1]);
    scene_end(&s);
  }
}

/* A timer and a socket in one loop: the loop sleeps for the nearer one. */
static void a_deadline_for_a_socket(void **state) {
  (void)state;
  scene s;
  reader r = {.s = &s};
  volt_timeout timeout;
  int theirs;
  begin_with_io(&s);
  connect_ends(&s, &r.fd, &theirs);
  uint64_t until_ns = volt_deadline_ns(2000000);
  volt_future *f = volt_fd_recv_future(&r.op, &r.fd, r.bytes, SIZE, 0);
  f = volt_timeout_future(&timeout, f, volt_rt_timers(volt_bridge_rt(s.b)), until_ns);
  volt_bridge_then(s.b, &r.call, f, on_read, &r);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_result(r.result, VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= until_ns);
  close(theirs);
  scene_end(&s);
}

/* Before the first scene: what the back end keeps for ever. Returns whether the system has it. */
static bool is_there(void) {
  scene s;
  scene_make_loop(&s);
  volt_rt_config config = scene_config(&s);
  config.io = back_end();
  int result = any_loop_open(s.loop, &s.b, &config);
  if (result != VOLT_OK) {
    fprintf(stderr, "skipped: %s\n", volt_strerror(result));
    return false;
  }
  scene_close(&s);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  any_loop_free(s.loop);
  return true;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_task_answers),
      cmocka_unit_test(a_callback_reads),
      cmocka_unit_test(closed_while_it_reads),
      cmocka_unit_test(a_deadline_for_a_socket),
  };
  scene_warm_up();
  if (!is_there()) return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
