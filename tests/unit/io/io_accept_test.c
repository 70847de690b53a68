/* io_accept_test.c: listen, accept, connect; connections that nobody has seen; a process that has no
 * descriptors left.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/resource.h>
#include <sys/wait.h>

#include "io_scene.h"

typedef struct host {
  volt_fd listener;
  struct sockaddr_storage at;
  socklen_t size;
} host;

static void host_begin(host *h, io_kit *k, int kind, int backlog) {
  int fd = kit_listen(kind, backlog, &h->at, &h->size);
  assert_result(volt_fd_init(&h->listener, k->rt, fd, 0), VOLT_OK);
}

static int client_of(const host *h) {
  int fd = kit_socket_for(&h->at);
  REQUIRE(connect(fd, (const struct sockaddr *)&h->at, h->size) == 0);
  return fd;
}

static volt_future *connect_to(volt_op *op, volt_fd *d, const host *h) {
  return volt_fd_connect_future(op, d, (const struct sockaddr *)&h->at, h->size);
}

static void socket_for(volt_fd *d, io_kit *k, const host *h) {
  assert_result(volt_fd_init(d, k->rt, kit_socket_for(&h->at), 0), VOLT_OK);
}

/* ---- accept ---- */

static void the_new_one_is_ready_to_use(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      host h;
      volt_fd out;
      volt_op op;
      kit_one one;
      char text[8] = "";
      host_begin(&h, k, kind, 4);
      kit_start(k, &one, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      int client = client_of(&h);
      assert_result(kit_finish(k, &one), VOLT_OK);
      int fd = volt_fd_number(&out);
      assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
      assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
      kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &out, text, 8, 0));
      assert_int_equal(write(client, "hello", 5), 5);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_string_equal(text, "hello");
      volt_fd_close(&out);
      volt_fd_close(&h.listener);
      close(client);
    }
  }
}

static void each_connection_is_accepted_once_and_in_order(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MANY = 50 };
  FOR_EACH_WAY(way) {
    host h;
    int clients[MANY];
    host_begin(&h, k, TCP4, MANY);
    for (int i = 0; i < MANY; i++) clients[i] = client_of(&h);
    for (int i = 0; i < MANY; i++) {
      volt_fd out;
      volt_op op;
      assert_result(kit_run(k, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out)),
                    VOLT_OK);
      scene_are_connected(clients[i], volt_fd_number(&out));
      volt_fd_close(&out);
      close(clients[i]);
    }
    volt_fd_close(&h.listener);
  }
}

/* Accepted by the system, and by no poll: it is closed. The client sees the end, not a hang. */
static void one_that_nobody_has_seen_is_closed(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int closing = 0; closing < 2; closing++) {
      host h;
      volt_fd out;
      volt_op op, close_op;
      kit_one one, closer;
      char text[8];
      host_begin(&h, k, TCP4, 4);
      int before = kit_open_descriptors();
      kit_start(k, &one, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out));
      int client = client_of(&h);
      int result = VOLT_OK;
      if (closing) {
        kit_start(k, &closer, BY_TASK, volt_fd_close_future(&close_op, &h.listener));
        result = kit_finish(k, &one);
        assert_result(kit_finish(k, &closer), VOLT_OK);
      } else {
        result = kit_cancel(k, &one);
        volt_fd_close(&h.listener);
      }
      if (result == VOLT_OK) volt_fd_close(&out);
      assert_true(result == VOLT_OK || result == (closing ? VOLT_ECLOSED : VOLT_ECANCELED));
      assert_int_equal(kit_open_descriptors(), before); /* one listener less, one client more */
      struct pollfd p = {client, POLLIN, 0};
      assert_int_equal(poll(&p, 1, KIT_SECONDS * 1000), 1);
      assert_true(read(client, text, sizeof text) <= 0);
      close(client);
    }
  }
}

static void one_that_is_reset_in_the_queue_harms_nobody(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    host h;
    volt_fd out;
    volt_op op;
    struct linger abort_it = {1, 0};
    host_begin(&h, k, TCP4, 4);
    int first = client_of(&h);
    REQUIRE(setsockopt(first, SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it) == 0);
    close(first);
    int second = client_of(&h);
    /* Linux gives the one that was reset out, too: it says so when it is used */
    assert_result(kit_run(k, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out)), VOLT_OK);
    char text[8];
    int result = kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &out, text, 8, 0));
    assert_result(result, VOLT_ERRNO(ECONNRESET));
    volt_fd_close(&out);
    assert_result(kit_run(k, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out)), VOLT_OK);
    scene_are_connected(second, volt_fd_number(&out));
    volt_fd_close(&out);
    volt_fd_close(&h.listener);
    close(second);
  }
}

/* It says so, each time that it is asked; the connection stays queued. */
static void without_descriptors_the_connection_stays_queued(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    host h;
    volt_fd out;
    volt_op op;
    struct rlimit limit, tight;
    host_begin(&h, k, TCP4, 4);
    int client = client_of(&h);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int lowest = dup(client);
    close(lowest);
    tight = limit;
    tight.rlim_cur = (rlim_t)lowest;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    int results[3];
    for (int i = 0; i < 3; i++) {
      results[i] = kit_run(k, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out));
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < 3; i++) assert_result(results[i], VOLT_ERRNO(EMFILE));
    assert_result(kit_run(k, (kit_way)way, volt_fd_accept_future(&op, &h.listener, &out)), VOLT_OK);
    scene_are_connected(client, volt_fd_number(&out));
    volt_fd_close(&out);
    volt_fd_close(&h.listener);
    close(client);
  }
}

static void only_who_listens_accepts(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd out;
    volt_op op;
    kit_link l;
    kit_link_in(k, &l, TCP4);
    volt_future *f = volt_fd_accept_future(&op, &l.near, &out);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(EINVAL));
    kit_unlink(&l);
    kit_link_in(k, &l, PIPE);
    f = volt_fd_accept_future(&op, &l.near, &out);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(ENOTSOCK));
    kit_unlink(&l);
  }
}

/* ---- connect ---- */

static void it_connects(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      host h;
      volt_fd d;
      volt_op op;
      host_begin(&h, k, kind, 4);
      socket_for(&d, k, &h);
      assert_result(kit_run(k, (kit_way)way, connect_to(&op, &d, &h)), VOLT_OK);
      int fd = accept(volt_fd_number(&h.listener), NULL, NULL);
      scene_are_connected(fd, volt_fd_number(&d));
      close(fd);
      volt_fd_close(&d);
      volt_fd_close(&h.listener);
    }
  }
}

static void one_that_is_refused_says_so(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      host h;
      volt_fd d;
      volt_op op;
      host_begin(&h, k, kind, 4);
      volt_fd_close(&h.listener); /* nobody listens there any more */
      socket_for(&d, k, &h);
      assert_result(kit_run(k, (kit_way)way, connect_to(&op, &d, &h)), VOLT_ERRNO(ECONNREFUSED));
      volt_fd_close(&d);
    }
  }
}

/* The queue of the listener is full, so a connect waits: TCP for an answer, a unix socket for room. */
static void fill_queue(const host *h, int *fillers, int most, int *count) {
  for (*count = 0; *count < most; (*count)++) {
    int fd = kit_socket_for(&h->at);
    kit_no_block(fd);
    int refused = connect(fd, (const struct sockaddr *)&h->at, h->size) != 0;
    struct pollfd p = {fd, POLLOUT, 0};
    if (refused && errno == EINPROGRESS) refused = poll(&p, 1, 20) != 1;
    fillers[*count] = fd;
    if (refused) {
      *count += 1;
      return;
    }
  }
}

static void one_that_waits_can_be_cancelled_or_comes_through(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MOST = 16 };
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      for (int cancelled = kind != UNIX_STREAM; cancelled < 2; cancelled++) { /* TCP: in seconds */
        host h;
        volt_fd d;
        volt_op op;
        kit_one one;
        int fillers[MOST], count, accepted[MOST + 1], so_far = 0;
        host_begin(&h, k, kind, 0);
        fill_queue(&h, fillers, MOST, &count);
        REQUIRE(count < MOST);
        close(fillers[--count]); /* the one that found no room */
        socket_for(&d, k, &h);
        kit_start(k, &one, (kit_way)way, connect_to(&op, &d, &h));
        assert_result(kit_check(k, &one), VOLT_PENDING);
        if (cancelled) {
          assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
        } else {
          kit_no_block(volt_fd_number(&h.listener));
          while (kit_check(k, &one) == VOLT_PENDING) {
            struct pollfd p = {volt_fd_number(&h.listener), POLLIN, 0};
            REQUIRE(so_far <= MOST && poll(&p, 1, 10) >= 0);
            int fd = accept(volt_fd_number(&h.listener), NULL, NULL);
            if (fd >= 0) accepted[so_far++] = fd;
            struct pollfd io = {volt_rt_io_descriptor(k->rt), POLLIN, 0};
            (void)poll(&io, 1, 10);
          }
          assert_result(kit_finish(k, &one), VOLT_OK);
        }
        while (so_far) close(accepted[--so_far]);
        while (count) close(fillers[--count]);
        volt_fd_close(&d); /* after a cancel it can only be closed */
        volt_fd_close(&h.listener);
      }
    }
  }
}

static void in_a_select_it_connects(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      host h;
      volt_fd d;
      volt_op op;
      volt_select select;
      volt_sem never = VOLT_SEM_INIT(0);
      volt_future permit;
      host_begin(&h, k, kind, 4);
      socket_for(&d, k, &h);
      volt_future *both[] = {connect_to(&op, &d, &h), volt_sem_acquire_future(&permit, &never, 1)};
      volt_future *f = volt_select_future(&select, both, 2, VOLT_SELECT_FAIR);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_int_equal(volt_select_winner(&select), 0);
      int fd = accept(volt_fd_number(&h.listener), NULL, NULL);
      scene_are_connected(fd, volt_fd_number(&d));
      close(fd);
      volt_sem_destroy(&never);
      volt_fd_close(&d);
      volt_fd_close(&h.listener);
    }
  }
}

/* A poll outside of a select has begun it, and the queue is full: in a select it waits on. */
static void one_that_was_begun_waits_on_in_a_select(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MOST = 16 };
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      host h;
      volt_fd d;
      volt_op op;
      kit_one one;
      volt_select select;
      volt_sem sem = VOLT_SEM_INIT(0);
      volt_future permit;
      int fillers[MOST], count;
      host_begin(&h, k, kind, 0);
      fill_queue(&h, fillers, MOST, &count);
      REQUIRE(count < MOST);
      socket_for(&d, k, &h);
      volt_future *both[] = {connect_to(&op, &d, &h), volt_sem_acquire_future(&permit, &sem, 1)};
      kit_start(k, &one, (kit_way)way, volt_select_future(&select, both, 2, VOLT_SELECT_KEEP));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      volt_sem_release(&sem, 1);
      assert_result(kit_finish(k, &one), VOLT_OK);
      both[1] = volt_sem_acquire_future(&permit, &sem, 1);
      kit_start(k, &one, (kit_way)way, volt_select_future(&select, both, 2, VOLT_SELECT_FAIR));
      for (int i = 0; i < 5; i++) assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      while (count) close(fillers[--count]);
      volt_sem_destroy(&sem);
      volt_fd_close(&d);
      volt_fd_close(&h.listener);
    }
  }
}

/* Begin a connect for which there is no room, and give it up: the back end has been asked to have it
 * tried again in a while, and that time has not come. */
static void give_up_a_connect(io_kit *k, kit_way way, volt_fd *d, const host *h) {
  volt_op op;
  kit_one one;
  socket_for(d, k, h);
  kit_start(k, &one, way, connect_to(&op, d, h));
  assert_result(kit_check(k, &one), VOLT_PENDING);
  assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
}

static void that_a_while_has_passed_is_no_readiness(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MOST = 16 };
  FOR_EACH_WAY(way) {
    host h;
    volt_fd d;
    volt_op op;
    kit_one one;
    int fillers[MOST], count;
    const char bytes[4096] = "";
    host_begin(&h, k, UNIX_STREAM, 0);
    fill_queue(&h, fillers, MOST, &count);
    REQUIRE(count < MOST);
    close(fillers[--count]);
    give_up_a_connect(k, (kit_way)way, &d, &h);
    int first = accept(volt_fd_number(&h.listener), NULL, NULL);
    REQUIRE(connect(volt_fd_number(&d), (struct sockaddr *)&h.at, h.size) == 0);
    while (write(volt_fd_number(&d), bytes, sizeof bytes) > 0) continue;
    kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &d, POLLOUT));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    while (volt_rt_run(k->rt) != VOLT_NO_DEADLINE) continue; /* until no timer runs */
    assert_result(kit_check(k, &one), VOLT_PENDING);
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    close(first);
    while (count) close(fillers[--count]);
    volt_fd_close(&d);
    volt_fd_close(&h.listener);
  }
}

/* In the child. Returns its exit status. */
static int give_up_all(void) {
  enum { MOST = 16 };
  static io_kit k;
  host h;
  volt_fd d;
  volt_op op;
  int fillers[MOST], count;
  const int others = kit_threads();
  kit_begin(&k, 2);
  host_begin(&h, &k, UNIX_STREAM, 0);
  fill_queue(&h, fillers, MOST, &count);
  REQUIRE(count < MOST);
  socket_for(&d, &k, &h);
  volt_future *f = connect_to(&op, &d, &h);
  REQUIRE(volt_future_poll(f, (volt_waker){NULL, NULL}) == VOLT_PENDING);
  volt_future_cancel(f);
  volt_fd_close(&d);
  volt_fd_close(&h.listener);
  REQUIRE(volt_rt_shutdown_background(k.rt) == VOLT_OK);
  WAIT_UNTIL(kit_threads() == others); /* that which frees the runtime has ended, too */
  return volt_load_relaxed(&k.held) == 0 ? 23 : 2;
}

/* The program has no timer and no descriptor, so nothing is left. */
static void a_runtime_is_freed_in_that_while(void **state) {
  int status;
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(give_up_all());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 23);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(the_new_one_is_ready_to_use),
      kit_test(each_connection_is_accepted_once_and_in_order),
      kit_test(one_that_nobody_has_seen_is_closed),
      kit_test(one_that_is_reset_in_the_queue_harms_nobody),
      kit_test(without_descriptors_the_connection_stays_queued),
      kit_test(only_who_listens_accepts),
      kit_test(it_connects),
      kit_test(one_that_is_refused_says_so),
      kit_test(one_that_waits_can_be_cancelled_or_comes_through),
      kit_test(in_a_select_it_connects),
      kit_test(one_that_was_begun_waits_on_in_a_select),
      kit_test(that_a_while_has_passed_is_no_readiness),
      cmocka_unit_test(a_runtime_is_freed_in_that_while),
  };
  return kit_main(tests);
}
