/* io_edges_test.c: what every operation does at its edges, as tables of all of them: on what is closed,
 * with an empty argument, where there is no offset; and what waits although nothing reports it.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <volt/net.h>

#include "io_scene.h"

/* ---- a table of all operations ---- */

static char memory[16];
static struct iovec parts[1] = {{memory, sizeof memory}};
static struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
static const struct sockaddr_in nowhere = {.sin_family = AF_INET};
static volt_fd accepted;

static volt_future *a_recv(volt_op *op, volt_fd *d) {
  return volt_fd_recv_future(op, d, memory, sizeof memory, 0);
}
static volt_future *a_send(volt_op *op, volt_fd *d) {
  return volt_fd_send_future(op, d, memory, sizeof memory, 0);
}
static volt_future *a_recvmsg(volt_op *op, volt_fd *d) {
  return volt_fd_recvmsg_future(op, d, &message, 0);
}
static volt_future *a_sendmsg(volt_op *op, volt_fd *d) {
  return volt_fd_sendmsg_future(op, d, &message, 0);
}
static volt_future *a_connect(volt_op *op, volt_fd *d) {
  return volt_fd_connect_future(op, d, (const struct sockaddr *)&nowhere, sizeof nowhere);
}
static volt_future *an_accept(volt_op *op, volt_fd *d) {
  return volt_fd_accept_future(op, d, &accepted);
}
static volt_future *a_ready(volt_op *op, volt_fd *d) {
  return volt_fd_ready_future(op, d, POLLIN);
}
static volt_future *a_read(volt_op *op, volt_fd *d) {
  return volt_fd_read_future(op, d, memory, sizeof memory, -1);
}
static volt_future *a_write(volt_op *op, volt_fd *d) {
  return volt_fd_write_future(op, d, memory, sizeof memory, -1);
}
static volt_future *a_readv(volt_op *op, volt_fd *d) {
  return volt_fd_readv_future(op, d, parts, 1, -1);
}
static volt_future *a_writev(volt_op *op, volt_fd *d) {
  return volt_fd_writev_future(op, d, parts, 1, -1);
}
static volt_future *a_sync(volt_op *op, volt_fd *d) {
  return volt_fd_sync_future(op, d, VOLT_FD_SYNC_ALL);
}
static volt_future *a_sendfile(volt_op *op, volt_fd *d) {
  return volt_fd_sendfile_future(op, d, d, 0, sizeof memory);
}

typedef volt_future *begin_fn(volt_op *op, volt_fd *d);
static begin_fn *const all[] = {a_recv,    a_send,  a_recvmsg, a_sendmsg, a_connect,
                                an_accept, a_ready, a_read,    a_write,   a_readv,
                                a_writev,  a_sync,  a_sendfile};
enum { ALL = sizeof all / sizeof *all };

static volt_future *no_recv(volt_op *op, volt_fd *d) {
  return volt_fd_recv_future(op, d, NULL, 1, 0);
}
static volt_future *no_send(volt_op *op, volt_fd *d) {
  return volt_fd_send_future(op, d, NULL, 1, 0);
}
static volt_future *no_recvmsg(volt_op *op, volt_fd *d) {
  return volt_fd_recvmsg_future(op, d, NULL, 0);
}
static volt_future *no_sendmsg(volt_op *op, volt_fd *d) {
  return volt_fd_sendmsg_future(op, d, NULL, 0);
}
static volt_future *no_connect(volt_op *op, volt_fd *d) {
  return volt_fd_connect_future(op, d, NULL, sizeof nowhere);
}
static volt_future *no_accept(volt_op *op, volt_fd *d) {
  return volt_fd_accept_future(op, d, NULL);
}
static volt_future *no_ready(volt_op *op, volt_fd *d) {
  return volt_fd_ready_future(op, d, 0);
}
static volt_future *no_read(volt_op *op, volt_fd *d) {
  return volt_fd_read_future(op, d, NULL, 1, -1);
}
static volt_future *no_write(volt_op *op, volt_fd *d) {
  return volt_fd_write_future(op, d, NULL, 1, -1);
}
static volt_future *no_readv(volt_op *op, volt_fd *d) {
  return volt_fd_readv_future(op, d, NULL, 1, -1);
}
static volt_future *no_writev(volt_op *op, volt_fd *d) {
  return volt_fd_writev_future(op, d, NULL, 1, -1);
}
static volt_future *no_sendfile(volt_op *op, volt_fd *d) {
  return volt_fd_sendfile_future(op, d, NULL, 0, 1);
}
static begin_fn *const empty[] = {no_recv,    no_send,   no_recvmsg, no_sendmsg,
                                  no_connect, no_accept, no_ready,   no_read,
                                  no_write,   no_readv,  no_writev,  no_sendfile};
enum { EMPTY = sizeof empty / sizeof *empty };

/* Its result by itself, and as a branch of a select that nothing else can win. */
static void expect_each(io_kit *k, begin_fn *begin, volt_fd *d, int result) {
  FOR_EACH_WAY(way) {
    volt_op op;
    volt_select s;
    volt_sem never = VOLT_SEM_INIT(0);
    volt_future permit, *branches[2];
    assert_result(kit_run(k, (kit_way)way, begin(&op, d)), result);
    assert_int_equal(op.n, 0);
    branches[0] = volt_sem_acquire_future(&permit, &never, 1);
    branches[1] = begin(&op, d);
    assert_result(kit_run(k, (kit_way)way, volt_select_future(&s, branches, 2, VOLT_SELECT_FAIR)),
                  result);
    assert_int_equal(op.n, 0);
    volt_sem_destroy(&never);
  }
}

static void what_is_closed_is_closed_for_each(void **state) {
  io_kit *k = (io_kit *)*state;
  static volt_fd zero;
  kit_link l;
  size_t n;
  kit_link_in(k, &l, TCP4);
  kit_unlink(&l);
  for (int i = 0; i < ALL; i++) {
    expect_each(k, all[i], &zero, VOLT_ECLOSED);
    expect_each(k, all[i], &l.near, VOLT_ECLOSED);
  }
  volt_fd *const closed[] = {&zero, &l.near};
  for (int i = 0; i < 2; i++) {
    volt_op op;
    assert_result(volt_fd_try_recv(closed[i], memory, 1, 0, &n), VOLT_ECLOSED);
    assert_result(volt_fd_try_send(closed[i], memory, 1, 0, &n), VOLT_ECLOSED);
    assert_result(volt_fd_try_accept(closed[i], &accepted), VOLT_ECLOSED);
    assert_result(kit_run(k, BY_TASK, volt_fd_close_future(&op, closed[i])), VOLT_OK);
    assert_int_equal(volt_fd_detach(closed[i]), -1);
    volt_fd_close(closed[i]);
  }
}

static void an_empty_argument_is_refused_by_each(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  size_t n;
  kit_link_in(k, &l, TCP4);
  for (int i = 0; i < EMPTY; i++) expect_each(k, empty[i], &l.near, VOLT_EINVAL);
  assert_result(volt_fd_try_recv(&l.near, NULL, 1, 0, &n), VOLT_EINVAL);
  assert_result(volt_fd_try_send(&l.near, NULL, 1, 0, &n), VOLT_EINVAL);
  assert_result(volt_fd_try_accept(&l.near, NULL), VOLT_EINVAL);
  kit_unlink(&l);
}

/* An all-zero descriptor has the number 0, which is standard input. */
static void a_file_that_is_closed_is_not_sent(void **state) {
  io_kit *k = (io_kit *)*state;
  int before = dup(0), file = memfd_create("input", MFD_CLOEXEC);
  REQUIRE(before >= 0 && write(file, "secret", 6) == 6 && dup2(file, 0) == 0);
  close(file);
  FOR_EACH_WAY(way) {
    static const volt_fd zero;
    volt_fd none = zero;
    kit_link l;
    volt_op op;
    kit_link_out(k, &l, TCP4);
    assert_result(kit_run(k, (kit_way)way, volt_fd_sendfile_future(&op, &l.near, &none, 0, 6)),
                  VOLT_ECLOSED);
    kit_far_expect(&l, "");
    kit_unlink(&l);
  }
  REQUIRE(dup2(before, 0) == 0);
  close(before);
}

/* ---- the same on each back end ---- */

static volt_future *read_at(volt_op *op, volt_fd *d) {
  return volt_fd_read_future(op, d, memory, 1, 0);
}
static volt_future *readv_at(volt_op *op, volt_fd *d) {
  return volt_fd_readv_future(op, d, parts, 1, 0);
}
static volt_future *write_at(volt_op *op, volt_fd *d) {
  return volt_fd_write_future(op, d, memory, 1, 0);
}
static volt_future *writev_at(volt_op *op, volt_fd *d) {
  return volt_fd_writev_future(op, d, parts, 1, 0);
}

static void where_there_is_no_offset_none_is_ignored(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int kind = TCP4; kind <= PIPE; kind++) {
    kit_link in, out;
    kit_link_in(k, &in, kind);
    kit_link_out(k, &out, kind);
    kit_far_send(&in, "abc");
    expect_each(k, read_at, &in.near, VOLT_ERRNO(ESPIPE));
    expect_each(k, readv_at, &in.near, VOLT_ERRNO(ESPIPE));
    expect_each(k, write_at, &out.near, VOLT_ERRNO(ESPIPE));
    expect_each(k, writev_at, &out.near, VOLT_ERRNO(ESPIPE));
    kit_unlink(&in);
    kit_unlink(&out);
  }
  volt_fd counter;
  assert_result(volt_fd_init(&counter, k->rt, eventfd(1, EFD_CLOEXEC), 0), VOLT_OK);
  expect_each(k, read_at, &counter, VOLT_ERRNO(ESPIPE));
  expect_each(k, write_at, &counter, VOLT_ERRNO(ESPIPE));
  volt_fd_close(&counter);
}

/* The peer has sent its last: only what was asked for is said, and what is always said. */
static void what_was_not_asked_for_is_not_said(void **state) {
  io_kit *k = (io_kit *)*state;
  static const unsigned asked[] = {POLLIN, POLLIN | POLLOUT, POLLRDHUP, POLLIN | POLLPRI};
  FOR_EACH_WAY(way) {
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
      kit_link l;
      volt_op op;
      kit_link_in(k, &l, TCP4);
      REQUIRE(shutdown(l.far, SHUT_WR) == 0);
      REQUIRE(poll(&(struct pollfd){volt_fd_number(&l.near), POLLRDHUP, 0}, 1,
                   KIT_SECONDS * 1000) == 1);
      assert_result(kit_run(k, (kit_way)way, volt_fd_ready_future(&op, &l.near, asked[i])),
                    VOLT_OK);
      assert_int_equal(op.n & ~(size_t)(asked[i] | POLLERR | POLLHUP), 0);
      assert_true(op.n & asked[i]);
      kit_unlink(&l);
    }
  }
}

static ssize_t says_cancelled(int fd, const struct iovec *to, int count, off_t at) {
  (void)fd, (void)to, (void)count, (void)at;
  return -ECANCELED;
}

/* As that of a timer whose clock was set: it is what the read says, and not the end of the read. */
static void a_read_may_say_ecanceled(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_io_ *io = volt_io_of_driver_(volt_rt_driver_(k->rt));
  volt_sys_ table = volt_sys_real_;
  table.readv = says_cancelled;
  io->sys = &table;
  FOR_EACH_WAY(way) {
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    volt_fd timer;
    volt_op op;
    int number = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    REQUIRE(number >= 0 && timerfd_settime(number, 0, &soon, NULL) == 0);
    assert_result(volt_fd_init(&timer, k->rt, number, 0), VOLT_OK);
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, &timer, memory, 8, -1)),
                  VOLT_ERRNO(ECANCELED));
    volt_fd_close(&timer);
  }
  io->sys = &volt_sys_real_;
}

/* ---- what a short receive says ---- */

static int far_end; /* of the last that was made */

static int open_datagrams(struct volt_io_ *io, int domain, int type, int protocol) {
  int ends[2];
  (void)io, (void)domain, (void)type, (void)protocol;
  REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  far_end = ends[1];
  return ends[0];
}

/* Of these a receive takes one message, and more may be there. */
static void only_tcp_ends_with_a_short_receive(void **state) {
  io_kit *k = (io_kit *)*state;
  static const int types[][2] = {{SOCK_RAW, 253},
                                 {SOCK_SEQPACKET, 132},
                                 {SOCK_STREAM, 132},
                                 {SOCK_STREAM | SOCK_NONBLOCK, 132},
                                 {SOCK_DGRAM, 0}};
  volt_io_ *io = volt_io_of_driver_(volt_rt_driver_(k->rt));
  volt_sys_ table = volt_sys_real_;
  table.socket = open_datagrams;
  io->sys = &table;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    volt_fd d;
    volt_op op;
    kit_one one;
    assert_result(volt_socket_open(&d, k->rt, AF_INET, types[i][0], types[i][1]), VOLT_OK);
    kit_start(k, &one, BY_THREAD, a_recv(&op, &d)); /* so it is watched */
    REQUIRE(write(far_end, "1", 1) == 1);
    assert_result(kit_finish(k, &one), VOLT_OK);
    kit_start(k, &one, BY_THREAD, a_recv(&op, &d));
    REQUIRE(write(far_end, "2", 1) == 1 && write(far_end, "3", 1) == 1);
    assert_result(kit_finish(k, &one), VOLT_OK);
    kit_start(k, &one, BY_THREAD, a_recv(&op, &d));
    assert_result(kit_check(k, &one), VOLT_OK);
    assert_int_equal(memory[0], '3');
    volt_fd_close(&d);
    close(far_end);
  }
  io->sys = &volt_sys_real_;
}

/* ---- a connect that has to wait ---- */

/* A listener without room for one more. */
typedef struct full {
  int listener;
  int queued[8]; /* connections that no process accepts, or that the system does not begin */
  struct sockaddr_storage at;
  socklen_t size;
} full;

static void full_begin(full *f, int kind) {
  f->listener = kit_listen(kind, 0, &f->at, &f->size);
  for (int i = 0; i < 8; i++) {
    f->queued[i] = kit_socket_for(&f->at);
    kit_no_block(f->queued[i]);
    (void)connect(f->queued[i], (struct sockaddr *)&f->at, f->size);
  }
}

static void full_let(full *f) {
  kit_no_block(f->listener);
  for (int i = 0; i < 8; i++) close(f->queued[i]);
  for (int fd; (fd = accept(f->listener, NULL, NULL)) >= 0;) close(fd);
}

static void full_socket(io_kit *k, full *f, volt_fd *d, unsigned flags) {
  assert_result(volt_fd_init(d, k->rt, kit_socket_for(&f->at), flags), VOLT_OK);
}

static volt_future *full_connect(full *f, volt_op *op, volt_fd *d) {
  return volt_fd_connect_future(op, d, (struct sockaddr *)&f->at, f->size);
}

static uint64_t pool_threads(io_kit *k) {
  volt_rt_stats_of stats;
  volt_rt_stats(k->rt, &stats);
  return stats.blocking_threads;
}

static bool is_blocking(const volt_fd *d) {
  return !(fcntl(volt_fd_number(d), F_GETFL) & O_NONBLOCK);
}

/* Neither a worker nor a thread of the pool waits for room; it is connected when there is some. */
static void no_thread_waits_for_room(void **state) {
  io_kit *k = (io_kit *)*state;
  static const int kinds[] = {UNIX_STREAM, TCP4};
  FOR_EACH_WAY(way) {
    for (int i = 0; i < 4; i++) {
      full f;
      volt_fd d;
      volt_op op;
      kit_one one;
      unsigned flags = i & 1 ? VOLT_FD_SHARED : 0;
      full_begin(&f, kinds[i / 2]);
      full_socket(k, &f, &d, flags);
      kit_start(k, &one, (kit_way)way, full_connect(&f, &op, &d));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_int_equal(pool_threads(k), 0);
      assert_int_equal(is_blocking(&d), flags != 0);
      full_let(&f);
      if (kinds[i / 2] == UNIX_STREAM) {
        assert_result(kit_finish(k, &one), VOLT_OK);
      } else { /* the system tries again after a second */
        assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      }
      assert_int_equal(is_blocking(&d), flags != 0);
      volt_fd_close(&d);
      close(f.listener);
    }
  }
}

/* A cancel, a close and a select end it at once: no tick of a timer is needed. */
static void what_waits_for_room_ends_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int how = 0; how < 3; how++) {
      full f;
      volt_fd d;
      volt_op op, close_op;
      kit_one one, closer;
      volt_select s;
      volt_sem sem = VOLT_SEM_INIT(0);
      volt_future permit, *branches[2];
      full_begin(&f, UNIX_STREAM);
      full_socket(k, &f, &d, 0);
      branches[0] = full_connect(&f, &op, &d);
      branches[1] = volt_sem_acquire_future(&permit, &sem, 1);
      kit_start(k, &one, (kit_way)way,
                how == 2 ? volt_select_future(&s, branches, 2, VOLT_SELECT_FAIR) : branches[0]);
      if (how == 0) {
        assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      } else if (how == 1) {
        kit_start(k, &closer, (kit_way)way, volt_fd_close_future(&close_op, &d));
        assert_result(kit_check(k, &one), VOLT_ECLOSED);
        assert_result(kit_check(k, &closer), VOLT_OK);
      } else {
        volt_sem_release(&sem, 1);
        assert_result(kit_check(k, &one), VOLT_OK);
        assert_int_equal(volt_select_winner(&s), 1);
      }
      volt_fd_close(&d);
      volt_sem_destroy(&sem);
      full_let(&f);
      close(f.listener);
    }
  }
}

static void a_shared_one_connects_and_stays_blocking(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      full f;
      volt_fd d;
      volt_op op;
      f.listener = kit_listen(kind, 1, &f.at, &f.size);
      full_socket(k, &f, &d, VOLT_FD_SHARED);
      assert_result(kit_run(k, (kit_way)way, full_connect(&f, &op, &d)), VOLT_OK);
      assert_true(is_blocking(&d));
      int fd = accept(f.listener, NULL, NULL);
      scene_are_connected(volt_fd_number(&d), fd);
      close(fd);
      volt_fd_close(&d);
      close(f.listener);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(what_is_closed_is_closed_for_each),
      kit_test(an_empty_argument_is_refused_by_each),
      kit_test(a_file_that_is_closed_is_not_sent),
      kit_test(where_there_is_no_offset_none_is_ignored),
      kit_test(what_was_not_asked_for_is_not_said),
      kit_test(a_read_may_say_ecanceled),
      kit_test(only_tcp_ends_with_a_short_receive),
      kit_test(no_thread_waits_for_room),
      kit_test(what_waits_for_room_ends_at_once),
      kit_test(a_shared_one_connects_and_stays_blocking),
  };
  return kit_main(tests);
}
