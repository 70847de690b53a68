/* net_rights_test.c: descriptors that are passed with a message. Each test ends with as many
 * descriptors as it began with, so none is lost on the way.
 *
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE /* struct msghdr, ... */
#include <sys/resource.h>
#include <sys/stat.h>
#include <volt/net.h>

#include "io_kit.h"

typedef struct scene {
  io_kit k;
  volt_fd near, far;
  volt_rights out, in;
  volt_op op;
  char got[16];
} scene;

static int set_up(void **state) {
  scene *s = (scene *)malloc(sizeof *s);
  kit_begin(&s->k, 0);
  assert_result(volt_pair_open(&s->near, &s->far, s->k.rt, SOCK_STREAM), VOLT_OK);
  *state = s;
  return 0;
}

static int tear_down(void **state) {
  scene *s = (scene *)*state;
  volt_fd_close(&s->near);
  volt_fd_close(&s->far);
  kit_end(&s->k);
  free(s);
  return 0;
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void send_numbers(scene *s, const int *numbers, unsigned count) {
  assert_result(volt_rights_put(&s->out, "hello", 5, numbers, count), VOLT_OK);
  assert_result(
      kit_run(&s->k, BY_TASK, volt_fd_sendmsg_future(&s->op, &s->near, &s->out.message, 0)),
      VOLT_OK);
  assert_int_equal(s->op.n, 5);
}

static void receive(scene *s) {
  volt_rights_expect(&s->in, s->got, sizeof s->got);
  assert_result(kit_run(&s->k, BY_TASK, volt_fd_recvmsg_future(&s->op, &s->far, &s->in.message, 0)),
                VOLT_OK);
  assert_int_equal(s->op.n, 5);
  assert_memory_equal(s->got, "hello", 5);
}

/* So many descriptors of the null device. */
static void open_some(int *numbers, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    numbers[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(numbers[i] >= 0);
  }
}

static void close_some(const int *numbers, unsigned count) {
  for (unsigned i = 0; i < count; i++) REQUIRE(close(numbers[i]) == 0);
}

static bool is_null_device(int number) {
  struct stat here, null;
  REQUIRE(fstat(number, &here) == 0 && stat("/dev/null", &null) == 0);
  return S_ISCHR(here.st_mode) && here.st_rdev == null.st_rdev;
}

static void pass(scene *s, unsigned count) {
  static int sent[VOLT_RIGHTS_MAX], came[VOLT_RIGHTS_MAX];
  unsigned there = 99;
  open_some(sent, count);
  send_numbers(s, sent, count);
  receive(s);
  assert_result(volt_rights_take(&s->in, came, VOLT_RIGHTS_MAX, &there), VOLT_OK);
  assert_int_equal(there, count);
  for (unsigned i = 0; i < count; i++) {
    assert_true(is_null_device(came[i]));
    assert_true(fcntl(came[i], F_GETFD) & FD_CLOEXEC);
  }
  close_some(sent, count);
  close_some(came, there);
}

static void they_come(void **state) {
  scene *s = (scene *)*state;
  pass(s, 0);
  pass(s, 1);
  pass(s, 3);
  pass(s, VOLT_RIGHTS_MAX);
}

static void a_pipe_that_was_passed_works(void **state) {
  scene *s = (scene *)*state;
  volt_fd reader, writer, passed;
  int number;
  unsigned count;
  assert_result(volt_pipe_open(&reader, &writer, s->k.rt), VOLT_OK);
  number = volt_fd_number(&writer);
  send_numbers(s, &number, 1);
  volt_fd_close(&writer);
  receive(s);
  assert_result(volt_rights_take(&s->in, &number, 1, &count), VOLT_OK);
  assert_result(volt_fd_init(&passed, s->k.rt, number, 0), VOLT_OK);
  assert_result(kit_run(&s->k, BY_TASK, volt_fd_write_future(&s->op, &passed, "x", 1, -1)),
                VOLT_OK);
  assert_result(kit_run(&s->k, BY_TASK, volt_fd_read_future(&s->op, &reader, s->got, 9, -1)),
                VOLT_OK);
  assert_int_equal(s->op.n, 1);
  volt_fd_close(&passed);
  volt_fd_close(&reader);
}

static void those_without_room_are_closed(void **state) {
  scene *s = (scene *)*state;
  int sent[5], came[5];
  unsigned count;
  open_some(sent, 5);
  int before = kit_open_descriptors();
  for (unsigned room = 0; room < 5; room++) {
    send_numbers(s, sent, 5);
    receive(s);
    assert_int_equal(kit_open_descriptors(), before + 5);
    assert_result(volt_rights_take(&s->in, came, room, &count), VOLT_ERRNO(EMSGSIZE));
    assert_int_equal(count, room);
    assert_int_equal(kit_open_descriptors(), before + (int)room);
    close_some(came, count);
  }
  close_some(sent, 5);
}

static void they_are_taken_once(void **state) {
  scene *s = (scene *)*state;
  int sent[2], came[2];
  unsigned count;
  open_some(sent, 2);
  send_numbers(s, sent, 2);
  receive(s);
  assert_result(volt_rights_take(&s->in, came, 2, &count), VOLT_OK);
  close_some(came, 2);
  assert_result(volt_rights_take(&s->in, came, 2, &count), VOLT_OK);
  assert_int_equal(count, 0);
  volt_rights_drop(&s->in);
  close_some(sent, 2);
}

static void they_can_be_dropped(void **state) {
  scene *s = (scene *)*state;
  int sent[2], before;
  open_some(sent, 2);
  before = kit_open_descriptors();
  send_numbers(s, sent, 2);
  receive(s);
  assert_int_equal(kit_open_descriptors(), before + 2);
  errno = KIT_ERRNO;
  volt_rights_drop(&s->in);
  assert_int_equal(errno, KIT_ERRNO);
  assert_int_equal(kit_open_descriptors(), before);
  volt_rights_drop(&s->in);
  close_some(sent, 2);
}

/* Nothing was received: there is nothing to take, at any time after expect. */
static void none_come_without_a_message(void **state) {
  scene *s = (scene *)*state;
  kit_one one;
  int came[2];
  unsigned count;
  FOR_EACH_WAY(way) {
    memset(&s->in, 0xff, sizeof s->in);
    volt_rights_expect(&s->in, s->got, sizeof s->got);
    assert_result(volt_rights_take(&s->in, came, 2, &count), VOLT_OK);
    assert_int_equal(count, 0);
    volt_rights_expect(&s->in, s->got, sizeof s->got);
    kit_start(&s->k, &one, (kit_way)way,
              volt_fd_recvmsg_future(&s->op, &s->far, &s->in.message, 0));
    assert_result(kit_cancel(&s->k, &one), VOLT_ECANCELED);
    volt_rights_drop(&s->in);
  }
}

/* This process has no descriptor left: the system closes those that do not fit. */
static void a_process_without_descriptors_takes_fewer(void **state) {
  scene *s = (scene *)*state;
  int sent[3], came[3];
  unsigned count;
  struct rlimit before, none;
  open_some(sent, 3);
  send_numbers(s, sent, 3);
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = (rlim_t)sent[2] + 2; /* one more */
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  receive(s);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  assert_result(volt_rights_take(&s->in, came, 3, &count), VOLT_ERRNO(EMSGSIZE));
  assert_int_equal(count, 1);
  assert_true(is_null_device(came[0]));
  close_some(came, count);
  close_some(sent, 3);
}

/* A header that says more than there is in the buffer: what is behind it is not read. */
static void a_wrong_length_is_not_believed(void **state) {
  scene *s = (scene *)*state;
  int sent[2], came[VOLT_RIGHTS_MAX];
  unsigned count;
  open_some(sent, 2);
  send_numbers(s, sent, 2);
  receive(s);
  ((struct cmsghdr *)(void *)s->in.control.bytes)->cmsg_len = SIZE_MAX / 2;
  memset(s->in.control.bytes + s->in.message.msg_controllen, 0x7f, 64);
  assert_result(volt_rights_take(&s->in, came, VOLT_RIGHTS_MAX, &count), VOLT_OK);
  assert_int_equal(count, 2);
  close_some(came, count);
  close_some(sent, 2);
}

static void what_cannot_be_sent_is_refused(void **state) {
  scene *s = (scene *)*state;
  int numbers[VOLT_RIGHTS_MAX + 1] = {0};
  assert_result(volt_rights_put(&s->out, "", 0, numbers, 1), VOLT_EINVAL);
  assert_result(volt_rights_put(&s->out, "x", 1, numbers, VOLT_RIGHTS_MAX + 1), VOLT_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      scene_test(they_come),
      scene_test(a_pipe_that_was_passed_works),
      scene_test(those_without_room_are_closed),
      scene_test(they_are_taken_once),
      scene_test(they_can_be_dropped),
      scene_test(none_come_without_a_message),
      scene_test(a_process_without_descriptors_takes_fewer),
      scene_test(a_wrong_length_is_not_believed),
      scene_test(what_cannot_be_sent_is_refused),
  };
  return kit_main(tests);
}
