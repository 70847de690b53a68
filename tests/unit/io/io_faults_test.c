/* io_faults_test.c: system calls that fail on purpose (src/io/sys/sys.h): interrupted, short, refused. No
 * byte is lost or doubled, and neither EINTR nor EAGAIN is ever a result. Seeded.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/syscall.h>
#include <sys/time.h>

#include "io_kit.h"
#include "rng.h"

/* The faults, one in so many calls; 0: never. */
static struct {
  rng random;
  uint32_t interrupted;
  uint32_t is_short; /* one byte */
  uint32_t again;    /* nothing is there, although it is: more must be on its way */
  uint32_t refused;  /* with this errno value */
  int refused_with;
  uint64_t injected;
} faults;

static const volt_sys_ *const real = &volt_sys_real_;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of random: the pool calls, too */

static bool happens(uint32_t one_in) {
  if (one_in == 0) return false;
  pthread_mutex_lock(&lock);
  bool now = rng_below(&faults.random, one_in) == 0;
  faults.injected += now;
  pthread_mutex_unlock(&lock);
  return now;
}

/* 0: the call is made. */
static int fault(void) {
  if (happens(faults.again)) return -EAGAIN;
  if (happens(faults.refused)) return -faults.refused_with;
  return 0;
}

static size_t shortened(size_t size) {
  return size > 1 && happens(faults.is_short) ? 1 : size;
}

static ssize_t faulty_recv(int fd, void *to, size_t size, int flags) {
  int e = fault();
  return e ? e : real->recv(fd, to, shortened(size), flags);
}

static ssize_t faulty_send(int fd, const void *from, size_t size, int flags) {
  int e = fault();
  return e ? e : real->send(fd, from, shortened(size), flags);
}

static ssize_t faulty_readv(int fd, const struct iovec *parts, int count, off_t at) {
  struct iovec one = {parts[0].iov_base, 1};
  int e = fault();
  if (e) return e;
  return parts[0].iov_len && happens(faults.is_short) ? real->readv(fd, &one, 1, at)
                                                      : real->readv(fd, parts, count, at);
}

static ssize_t faulty_writev(int fd, const struct iovec *parts, int count, off_t at) {
  struct iovec one = {parts[0].iov_base, 1};
  int e = fault();
  if (e) return e;
  return parts[0].iov_len && happens(faults.is_short) ? real->writev(fd, &one, 1, at)
                                                      : real->writev(fd, parts, count, at);
}

static ssize_t faulty_sendfile(int to, int from, off_t at, size_t size) {
  int e = fault();
  return e ? e : real->sendfile(to, from, at, shortened(size));
}

static int faulty_accept(int fd) {
  int e = fault();
  return e ? e : real->accept(fd);
}

static int faulty_sync(int fd, int data_only) {
  int e = fault();
  return e ? e : real->sync(fd, data_only);
}

static int faulty_open(int directory, const char *path, int flags, mode_t mode) {
  int e = fault();
  return e ? e : real->open(directory, path, flags, mode);
}

/* A short read of TCP would say that no more is there. */
static int faulty_kind(int fd) {
  int kind = real->kind(fd);
  return kind == VOLT_FD_TCP_ ? VOLT_FD_OTHER_ : kind;
}

/* Interruptions come from libc: in this program its functions are these. */
#define INTERRUPTED(call)            \
  if (happens(faults.interrupted)) { \
    errno = EINTR;                   \
    return -1;                       \
  }                                  \
  return call

ssize_t recv(int fd, void *to, size_t size, int flags) {
  INTERRUPTED(syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL));
}

ssize_t send(int fd, const void *from, size_t size, int flags) {
  INTERRUPTED(syscall(SYS_sendto, fd, from, size, flags, NULL, 0));
}

ssize_t readv(int fd, const struct iovec *parts, int count) {
  INTERRUPTED(syscall(SYS_readv, fd, parts, count));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  INTERRUPTED(syscall(SYS_writev, fd, parts, count));
}

int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict size, int flags) {
  INTERRUPTED((int)syscall(SYS_accept4, fd, from.__sockaddr__, size, flags));
}

int fdatasync(int fd) {
  INTERRUPTED((int)syscall(SYS_fdatasync, fd));
}

/* Linux has closed it whatever it says. */
int close(int fd) {
  int result = (int)syscall(SYS_close, fd);
  INTERRUPTED(result);
}

static volt_sys_ faulty;

static void inject(io_kit *k) {
  memset(&faults, 0, sizeof faults);
  faults.random = rng_seeded(1);
  faulty = *real;
  faulty.recv = faulty_recv;
  faulty.send = faulty_send;
  faulty.readv = faulty_readv;
  faulty.writev = faulty_writev;
  faulty.sendfile = faulty_sendfile;
  faulty.accept = faulty_accept;
  faulty.sync = faulty_sync;
  faulty.open = faulty_open;
  faulty.kind = faulty_kind;
  volt_io_of_driver_(volt_rt_driver_(k->rt))->sys = &faulty;
}

static int set_up(void **state) {
  (void)kit_set_up(state);
  inject((io_kit *)*state);
  return 0;
}

#define faults_test(name) cmocka_unit_test_setup_teardown(name, set_up, kit_tear_down)

/* ---- streams ---- */

enum { STREAM = 20000 };

/* One writes, one reads; each byte comes once, in order, whatever the calls say. */
static void stream(io_kit *k, int kind, kit_way way) {
  int ends[2];
  volt_fd from, to;
  volt_op in, out;
  kit_one reader, writer;
  unsigned char bytes[STREAM], got[257];
  size_t have = 0, sent = 0;
  for (size_t i = 0; i < STREAM; i++) bytes[i] = (unsigned char)(i % 251);
  uint32_t interrupted = faults.interrupted;
  faults.interrupted = 0;
  kit_pair(ends, kind);
  faults.interrupted = interrupted;
  assert_result(volt_fd_init(&from, k->rt, ends[0], 0), VOLT_OK);
  assert_result(volt_fd_init(&to, k->rt, ends[1], 0), VOLT_OK);
  bool writing = false;
  uint32_t again = faults.again;
  while (have < STREAM) {
    if (!writing && sent < STREAM) {
      size_t size = 1 + rng_below(&faults.random, 300);
      if (size > STREAM - sent) size = STREAM - sent;
      faults.again = 0;
      kit_start(k, &writer, way, volt_fd_write_future(&out, &to, bytes + sent, size, -1));
      writing = true;
    }
    if (writing && kit_check(k, &writer) != VOLT_PENDING) {
      assert_result(kit_finish(k, &writer), VOLT_OK);
      sent += out.n;
      writing = false;
    }
    if (have == sent) continue;
    faults.again = sent < STREAM ? again : 0; /* more comes, so what was called empty is reported */
    kit_start(k, &reader, way, volt_fd_read_future(&in, &from, got, sizeof got, -1));
    if (kit_check(k, &reader) == VOLT_PENDING) {
      size_t size = sent < STREAM ? 1 : 0;
      assert_int_equal(size, 1);
      faults.again = 0;
      if (!writing) {
        assert_int_equal(write(volt_fd_number(&to), bytes + sent, 1), 1);
        sent += 1;
      }
    }
    assert_result(kit_finish(k, &reader), VOLT_OK);
    assert_true(in.n > 0 && in.n <= sizeof got);
    assert_memory_equal(got, bytes + have, in.n);
    have += in.n;
  }
  faults.again = again;
  if (writing) assert_result(kit_finish(k, &writer), VOLT_OK);
  volt_fd_close(&from);
  volt_fd_close(&to);
}

static void calls_that_are_interrupted_or_short_lose_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= UNIX_STREAM; kind++) {
      faults.interrupted = 3;
      faults.is_short = 2;
      uint64_t before = faults.injected;
      stream(k, kind, (kit_way)way);
      if (way == BY_THREAD) assert_true(faults.injected > before + 100);
    }
  }
}

static void what_is_called_empty_is_asked_for_again(void **state) {
  io_kit *k = (io_kit *)*state;
  faults.again = 4;
  faults.interrupted = 5;
  for (int kind = TCP4; kind <= UNIX_STREAM; kind++) stream(k, kind, BY_THREAD);
  assert_true(faults.injected > 100);
}

static void a_failure_in_the_middle_of_a_send_is_said_with_n(void **state) {
  io_kit *k = (io_kit *)*state;
  const int failures[] = {ENOBUFS, ECONNRESET, EPIPE, ENOMEM};
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    for (int round = 0; round < 20; round++) {
      kit_link l;
      volt_op op;
      char text[64] = "";
      kit_link_out(k, &l, UNIX_STREAM);
      faults.is_short = 1; /* always */
      faults.refused = 5;
      faults.refused_with = failures[i];
      int result = kit_run(k, BY_THREAD, volt_fd_send_future(&op, &l.near, "0123456789", 10, 0));
      faults.refused = 0;
      assert_true(result == VOLT_OK || result == VOLT_ERRNO(failures[i]));
      assert_true(result == VOLT_OK ? op.n == 10 : op.n < 10);
      ssize_t got = read(l.far, text, sizeof text);
      assert_int_equal(got < 0 ? 0 : (size_t)got, op.n);
      kit_unlink(&l);
    }
  }
}

static void a_failure_of_a_receive_is_said(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  char text[8] = "";
  kit_link_in(k, &l, TCP4);
  kit_far_send(&l, "abc");
  faults.refused = 1;
  faults.refused_with = ENOMEM;
  volt_future *f = volt_fd_recv_future(&op, &l.near, text, 8, 0);
  assert_result(kit_run(k, BY_THREAD, f), VOLT_ERRNO(ENOMEM));
  assert_int_equal(op.n, 0);
  faults.refused = 0;
  f = volt_fd_recv_future(&op, &l.near, text, 8, 0); /* and it may be tried again */
  assert_result(kit_run(k, BY_THREAD, f), VOLT_OK);
  assert_string_equal(text, "abc");
  kit_unlink(&l);
}

/* ---- accept ---- */

static void one_that_was_aborted_is_skipped(void **state) {
  io_kit *k = (io_kit *)*state;
  struct sockaddr_storage at;
  socklen_t size;
  volt_fd listener, out;
  volt_op op;
  int fd = kit_listen(TCP4, 8, &at, &size);
  assert_result(volt_fd_init(&listener, k->rt, fd, 0), VOLT_OK);
  for (int i = 0; i < 30; i++) {
    int client = kit_socket_for(&at);
    faults.interrupted = 2;
    faults.refused = 2;
    faults.refused_with = ECONNABORTED;
    REQUIRE(connect(client, (struct sockaddr *)&at, size) == 0);
    volt_future *f = volt_fd_accept_future(&op, &listener, &out);
    assert_result(kit_run(k, BY_THREAD, f), VOLT_OK);
    faults.interrupted = 0;
    volt_fd_close(&out);
    close(client);
  }
  assert_true(faults.injected > 20);
  volt_fd_close(&listener);
}

static void exhaustion_is_said_and_passes(void **state) {
  io_kit *k = (io_kit *)*state;
  const int failures[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
  struct sockaddr_storage at;
  socklen_t size;
  volt_fd listener, out;
  volt_op op;
  int fd = kit_listen(TCP4, 8, &at, &size);
  assert_result(volt_fd_init(&listener, k->rt, fd, 0), VOLT_OK);
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    int client = kit_socket_for(&at);
    REQUIRE(connect(client, (struct sockaddr *)&at, size) == 0);
    faults.refused = 1;
    faults.refused_with = failures[i];
    for (int n = 0; n < 3; n++) {
      volt_future *f = volt_fd_accept_future(&op, &listener, &out);
      assert_result(kit_run(k, BY_THREAD, f), VOLT_ERRNO(failures[i]));
    }
    faults.refused = 0;
    volt_future *f = volt_fd_accept_future(&op, &listener, &out);
    assert_result(kit_run(k, BY_THREAD, f), VOLT_OK);
    volt_fd_close(&out);
    close(client);
  }
  volt_fd_close(&listener);
}

/* ---- files, close ---- */

static void files_are_written_whole(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    char text[64] = "", got[64] = "";
    memset(text, 'x', sizeof text - 1);
    faults.interrupted = 2;
    faults.is_short = 2;
    volt_future *f = volt_open_future(&op, k->rt, &d, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    f = volt_fd_write_future(&op, &d, text, sizeof text - 1, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    assert_int_equal(op.n, sizeof text - 1);
    f = volt_fd_sync_future(&op, &d, VOLT_FD_SYNC_DATA);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    for (size_t at = 0; at < sizeof text - 1; at += op.n) {
      f = volt_fd_read_future(&op, &d, got + at, sizeof text - 1 - at, (int64_t)at);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_true(op.n > 0);
    }
    assert_string_equal(text, got);
    volt_fd_close(&d);
  }
}

static void a_close_that_is_interrupted_has_closed(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op op;
    kit_link_in(k, &l, TCP4);
    int fd = volt_fd_number(&l.near);
    faults.interrupted = 1;
    assert_result(kit_run(k, (kit_way)way, volt_fd_close_future(&op, &l.near)), VOLT_OK);
    faults.interrupted = 0;
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    kit_close_far(&l);
  }
}

/* ---- signals: whatever waits is interrupted ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
  (void)number;
  alarms += 1;
}

static void a_wait_that_is_interrupted_waits_on(void **state) {
  io_kit *k = (io_kit *)*state;
  struct sigaction action, before;
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm; /* without SA_RESTART */
  REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
  alarms = 0;
  REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < 5; i++) {
    kit_link l;
    volt_op op;
    char text[8] = "";
    kit_link_in(k, &l, UNIX_STREAM);
    volt_future *f = volt_fd_recv_future(&op, &l.near, text, 8, 0);
    assert_result(volt_rt_run_until(k->rt, f, volt_deadline_ms(5)), VOLT_ETIMEDOUT);
    kit_far_send(&l, "abc");
    f = volt_fd_recv_future(&op, &l.near, text, 8, 0);
    assert_result(volt_rt_run_until(k->rt, f, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
  REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
  REQUIRE(sigaction(SIGALRM, &before, NULL) == 0);
  assert_true(alarms > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      faults_test(calls_that_are_interrupted_or_short_lose_nothing),
      faults_test(what_is_called_empty_is_asked_for_again),
      faults_test(a_failure_in_the_middle_of_a_send_is_said_with_n),
      faults_test(a_failure_of_a_receive_is_said),
      faults_test(one_that_was_aborted_is_skipped),
      faults_test(exhaustion_is_said_and_passes),
      faults_test(files_are_written_whole),
      faults_test(a_close_that_is_interrupted_has_closed),
      kit_test(a_wait_that_is_interrupted_waits_on),
  };
  return kit_main(tests);
}
