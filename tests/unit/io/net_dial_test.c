/* net_dial_test.c: names that are looked up, and connections that are dialled. getaddrinfo() is this
 * file's own, so what a name stands for does not depend on the machine.
 *
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE /* struct addrinfo */
#include <netdb.h>
#include <volt/net.h>
#include <volt/select.h>

#include "io_kit.h"
#include "thread_team.h"

/* ---- what names stand for ---- */

static struct names {
  int result; /* what getaddrinfo() returns */
  int error;  /* and leaves in errno */
  unsigned count;
  volt_address found[8];
  char host[300], service[64]; /* what it was asked for */
  VOLT_ATOMIC(uint32_t) asked;
  VOLT_ATOMIC(uint32_t) is_shut; /* it does not return before this is 0 */
  VOLT_ATOMIC(uint32_t) lists;   /* that were not freed */
} names;

static void found(const char *text) {
  assert_result(volt_address_parse(&names.found[names.count++], text), VOLT_OK);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **out) {
  REQUIRE(hints->ai_socktype == SOCK_STREAM);
  (void)snprintf(names.host, sizeof names.host, "%s", host);
  (void)snprintf(names.service, sizeof names.service, "%s", service);
  (void)volt_fetch_add_release(&names.asked, 1);
  WAIT_UNTIL(!volt_load_acquire(&names.is_shut));
  errno = names.error;
  *out = NULL;
  if (names.result != 0) return names.result;
  struct addrinfo *list = (struct addrinfo *)calloc(names.count + 1, sizeof *list);
  for (unsigned i = 0; i < names.count; i++) {
    list[i].ai_family = names.found[i].as.any.sa_family;
    list[i].ai_addr = &names.found[i].as.any;
    list[i].ai_addrlen = names.found[i].size;
    list[i].ai_next = i + 1 < names.count ? &list[i + 1] : NULL;
  }
  (void)volt_fetch_add_release(&names.lists, 1);
  *out = list;
  return 0;
}

void freeaddrinfo(struct addrinfo *list) {
  (void)volt_fetch_add_release(&names.lists, UINT32_MAX);
  free(list);
}

/* ---- a runtime ---- */

static int set_up(void **state) {
  memset((void *)&names, 0, sizeof names);
  return kit_set_up(state);
}

static int tear_down(void **state) {
  kit_tear_down(state);
  assert_int_equal(volt_load_acquire(&names.lists), 0);
  return 0;
}

#define dial_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static unsigned pool_threads(io_kit *k) {
  volt_rt_stats_of stats;
  volt_rt_stats(k->rt, &stats);
  return stats.blocking_threads;
}

/* ---- look up ---- */

static const char *nth(const volt_resolve *r, size_t i) {
  static char text[VOLT_ADDRESS_TEXT];
  assert_true(i < r->count);
  return volt_address_text(&r->addresses[i], text);
}

static void addresses_need_no_thread(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const texts[] = {"127.0.0.1:80", "[::1]:0", "unix:/x", "unix:@x", "unix:a:b"};
  FOR_EACH_WAY(way) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      volt_resolve r;
      assert_result(kit_run(k, (kit_way)way, volt_resolve_future(&r, k->rt, texts[i])), VOLT_OK);
      assert_int_equal(r.count, 1);
      assert_string_equal(nth(&r, 0), texts[i]);
      assert_null(volt_resolve_error(&r));
      volt_resolve_free(&r);
      assert_int_equal(r.count, 0);
      volt_resolve_free(&r);
    }
  }
  assert_int_equal(volt_load_acquire(&names.asked), 0);
  assert_int_equal(pool_threads(k), 0);
}

static void families_come_by_turns(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const want[] = {"[::1]:1",    "10.0.0.1:1", "[::2]:1",
                                     "10.0.0.2:1", "[::3]:1",    "[::4]:1"};
  found("[::1]:1");
  found("[::2]:1");
  found("10.0.0.1:1");
  found("[::3]:1");
  found("[::4]:1");
  found("10.0.0.2:1");
  FOR_EACH_WAY(way) {
    volt_resolve r;
    assert_result(kit_run(k, (kit_way)way, volt_resolve_future(&r, k->rt, "some.name:http")),
                  VOLT_OK);
    assert_string_equal(names.host, "some.name");
    assert_string_equal(names.service, "http");
    assert_int_equal(r.count, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(nth(&r, i), want[i]);
    volt_resolve_free(&r);
  }
}

static void the_first_family_stays_first(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const want[] = {"10.0.0.1:1", "[::1]:1", "10.0.0.2:1", "10.0.0.3:1"};
  volt_resolve r;
  found("10.0.0.1:1");
  found("10.0.0.2:1");
  found("10.0.0.3:1");
  found("[::1]:1");
  assert_result(kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, "a:1")), VOLT_OK);
  for (size_t i = 0; i < 4; i++) assert_string_equal(nth(&r, i), want[i]);
  volt_resolve_free(&r);
}

static void a_service_may_have_a_name(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_resolve r;
  found("[::1]:80");
  assert_result(kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, "[::1]:http")), VOLT_OK);
  assert_string_equal(names.host, "::1");
  assert_string_equal(names.service, "http");
  volt_resolve_free(&r);
  assert_result(kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, "127.0.0.1:http")), VOLT_OK);
  assert_string_equal(names.host, "127.0.0.1");
  volt_resolve_free(&r);
}

static void failures_are_said(void **state) {
  io_kit *k = (io_kit *)*state;
  static const struct {
    int eai, error, result;
  } all[] = {{EAI_NONAME, 0, VOLT_ERRNO(ENXIO)},
             {EAI_NODATA, 0, VOLT_ERRNO(ENXIO)},
             {EAI_AGAIN, 0, VOLT_ERRNO(EREMOTEIO)},
             {EAI_FAIL, 0, VOLT_ERRNO(EPROTO)},
             {EAI_MEMORY, 0, VOLT_ENOMEM},
             {EAI_SERVICE, 0, VOLT_EINVAL},
             {EAI_SYSTEM, EMFILE, VOLT_ERRNO(EMFILE)},
             {EAI_SYSTEM, 0, VOLT_ERRNO(EIO)}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    volt_resolve r;
    names.result = all[i].eai;
    names.error = all[i].error;
    assert_result(kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, "a:1")), all[i].result);
    if (all[i].eai == EAI_SYSTEM) {
      assert_null(volt_resolve_error(&r));
    } else {
      assert_string_equal(volt_resolve_error(&r), gai_strerror(all[i].eai));
    }
    assert_int_equal(r.count, 0);
    volt_resolve_free(&r);
  }
  names.result = 0;
  volt_resolve none;
  assert_result(kit_run(k, BY_TASK, volt_resolve_future(&none, k->rt, "a:1")), VOLT_ERRNO(ENXIO));
  volt_resolve_free(&none);
}

static void what_is_no_name_is_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  char longest[VOLT_RESOLVE_TEXT + 1];
  const char *const wrong[] = {
      "", "a", ":", ":http", "a:", "unix:", "[::1]", "[]:x", "[:http", "::1:80", longest};
  memset(longest, 'a', sizeof longest);
  memcpy(longest + VOLT_RESOLVE_TEXT - 2, ":1", 3);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    volt_resolve r;
    int result = kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, wrong[i]));
    if (result != VOLT_EINVAL) fail_msg("'%s': %s", wrong[i], volt_strresult(result));
    volt_resolve_free(&r);
  }
  assert_int_equal(volt_load_acquire(&names.asked), 0);
  memcpy(longest + VOLT_RESOLVE_TEXT - 3, ":1", 3);
  volt_resolve r;
  found("127.0.0.1:1");
  assert_result(kit_run(k, BY_TASK, volt_resolve_future(&r, k->rt, longest)), VOLT_OK);
  volt_resolve_free(&r);
}

static void await_asked(io_kit *k, uint32_t times) {
  kit_settle(k);
  WAIT_UNTIL(volt_load_acquire(&names.asked) == times);
}

/* The call has begun: the task that is cancelled waits for it. */
static void a_lookup_that_has_begun_is_awaited(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_resolve r;
  kit_one one;
  found("127.0.0.1:1");
  volt_store_release(&names.is_shut, 1);
  kit_start(k, &one, BY_TASK, volt_resolve_future(&r, k->rt, "a:1"));
  await_asked(k, 1);
  (void)volt_task_cancel(&one.task);
  assert_result(kit_check(k, &one), VOLT_PENDING);
  volt_store_release(&names.is_shut, 0);
  (void)kit_finish(k, &one);
  volt_resolve_free(&r);
}

/* ---- dial ---- */

static void listen_at(io_kit *k, volt_fd *listener, const char *text, char *dialled) {
  volt_address at, local;
  assert_result(volt_address_parse(&at, text), VOLT_OK);
  assert_result(volt_listen(listener, k->rt, &at, 0, 0), VOLT_OK);
  assert_result(volt_fd_local(listener, &local), VOLT_OK);
  (void)volt_address_text(&local, dialled);
}

/* An address at which no process listens. The socket keeps it so: it is to be closed. */
static int refusing(char *text) {
  struct sockaddr_storage at;
  volt_address a;
  socklen_t size = kit_loopback(&at, TCP4);
  int fd = kit_socket_for(&at);
  REQUIRE(bind(fd, (struct sockaddr *)&at, size) == 0);
  REQUIRE(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
  assert_result(volt_address_set(&a, (struct sockaddr *)&at, size), VOLT_OK);
  (void)volt_address_text(&a, text);
  return fd;
}

/* "unix:@<name>.<pid>": the same test may run twice at once, on both back ends. */
static const char *own_name(char *text, const char *name) {
  (void)snprintf(text, VOLT_ADDRESS_TEXT, "unix:@%s.%d", name, (int)getpid());
  return text;
}

static void expect_connected(io_kit *k, volt_fd *client, volt_fd *listener) {
  volt_fd server;
  volt_op op;
  char got[4];
  assert_result(kit_run(k, BY_TASK, volt_fd_accept_future(&op, listener, &server)), VOLT_OK);
  assert_result(kit_run(k, BY_TASK, volt_fd_send_future(&op, client, "hi", 2, 0)), VOLT_OK);
  assert_result(kit_run(k, BY_TASK, volt_fd_recv_future(&op, &server, got, 4, 0)), VOLT_OK);
  assert_int_equal(op.n, 2);
  volt_fd_close(&server);
  volt_fd_close(client);
}

static int nodelay_of(const volt_fd *d) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(volt_fd_number(d), IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
  return value;
}

static void it_dials(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client;
  volt_dial dial;
  volt_dial_config config = {.flags = VOLT_DIAL_DELAY};
  char to[VOLT_ADDRESS_TEXT];
  char local[VOLT_ADDRESS_TEXT];
  const char *const at[] = {"127.0.0.1:0", "[::1]:0", own_name(local, "net_dial_test")};
  FOR_EACH_WAY(way) {
    for (size_t i = 0; i < 3; i++) {
      kit_way w = (kit_way)way;
      listen_at(k, &listener, at[i], to);
      memset((void *)&client, 0xff, sizeof client);
      assert_result(kit_run(k, w, volt_dial_future(&dial, k->rt, &client, to, NULL)), VOLT_OK);
      if (i < 2) assert_int_equal(nodelay_of(&client), 1);
      expect_connected(k, &client, &listener);
      assert_result(kit_run(k, w, volt_dial_future(&dial, k->rt, &client, to, &config)), VOLT_OK);
      if (i < 2) assert_int_equal(nodelay_of(&client), 0);
      expect_connected(k, &client, &listener);
      volt_fd_close(&listener);
    }
  }
  assert_int_equal(pool_threads(k), 0);
}

static void the_next_address_is_tried(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client;
  volt_dial dial;
  char to[VOLT_ADDRESS_TEXT], closed[VOLT_ADDRESS_TEXT];
  int kept = refusing(closed);
  listen_at(k, &listener, "127.0.0.1:0", to);
  found(closed);
  found(closed);
  found(to);
  FOR_EACH_WAY(way) {
    assert_result(kit_run(k, (kit_way)way, volt_dial_future(&dial, k->rt, &client, "name:1", NULL)),
                  VOLT_OK);
    expect_connected(k, &client, &listener);
  }
  volt_fd_close(&listener);
  REQUIRE(close(kept) == 0);
}

static void the_last_failure_is_said(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  char closed[VOLT_ADDRESS_TEXT];
  int kept = refusing(closed);
  found("unix:/nonexistent/x");
  found(closed);
  FOR_EACH_WAY(way) {
    int result = kit_run(k, (kit_way)way, volt_dial_future(&dial, k->rt, &client, "a:1", NULL));
    assert_result(result, VOLT_ERRNO(ECONNREFUSED));
    assert_string_equal(volt_dial_error(&dial, result), volt_strerror(result));
    assert_int_equal(volt_fd_number(&client), -1);
  }
  names.result = EAI_NONAME;
  int result = kit_run(k, BY_TASK, volt_dial_future(&dial, k->rt, &client, "a:1", NULL));
  assert_result(result, VOLT_ERRNO(ENXIO));
  assert_string_equal(volt_dial_error(&dial, result), gai_strerror(EAI_NONAME));
  REQUIRE(close(kept) == 0);
}

static void what_cannot_be_is_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  volt_rt *rt;
  volt_rt_config without = {.flags = VOLT_RT_BY_HAND};
  const volt_dial_config flags = {.flags = 2}, reserved = {.reserved = {0, 1}};
  const char *to = "127.0.0.1:1";
  assert_result(kit_run(k, BY_TASK, volt_dial_future(&dial, k->rt, &client, to, &flags)),
                VOLT_EINVAL);
  assert_result(kit_run(k, BY_TASK, volt_dial_future(&dial, k->rt, &client, to, &reserved)),
                VOLT_EINVAL);
  assert_result(kit_run(k, BY_TASK, volt_dial_future(&dial, k->rt, &client, "x", NULL)),
                VOLT_EINVAL);
  assert_result(volt_rt_create(&rt, &without), VOLT_OK);
  assert_result(
      volt_rt_run_until(rt, volt_dial_future(&dial, rt, &client, to, NULL), VOLT_NO_DEADLINE),
      VOLT_EINVAL);
  volt_rt_destroy(rt);
}

/* A socket that listens, and has no room: a connect to it goes on. */
typedef struct hole {
  int listener;
  int inside[2];
  char text[VOLT_ADDRESS_TEXT];
} hole;

static void hole_open(hole *h) {
  struct sockaddr_storage at;
  socklen_t size;
  volt_address a;
  h->listener = kit_listen(TCP4, 0, &at, &size);
  for (int i = 0; i < 2; i++) {
    h->inside[i] = kit_socket_for(&at);
    kit_no_block(h->inside[i]);
    (void)connect(h->inside[i], (struct sockaddr *)&at, size);
    struct pollfd p = {h->inside[i], POLLOUT, 0};
    if (i == 0) REQUIRE(poll(&p, 1, KIT_SECONDS * 1000) == 1);
  }
  assert_result(volt_address_set(&a, (struct sockaddr *)&at, size), VOLT_OK);
  (void)volt_address_text(&a, h->text);
}

static void hole_close(hole *h) {
  for (int i = 0; i < 2; i++) REQUIRE(close(h->inside[i]) == 0);
  REQUIRE(close(h->listener) == 0);
}

static void each_attempt_has_a_deadline(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client;
  volt_dial dial;
  hole h;
  char to[VOLT_ADDRESS_TEXT];
  const volt_dial_config config = {.attempt_ns = 20000000};
  hole_open(&h);
  listen_at(k, &listener, "127.0.0.1:0", to);
  found(h.text);
  found(h.text);
  found(to);
  uint64_t begin_ns = volt_now_ns();
  FOR_EACH_WAY(way) {
    assert_result(kit_run(k, (kit_way)way, volt_dial_future(&dial, k->rt, &client, "a:1", &config)),
                  VOLT_OK);
    expect_connected(k, &client, &listener);
  }
  assert_true(volt_now_ns() - begin_ns >= 4 * config.attempt_ns);
  names.count = 2;
  assert_result(kit_run(k, BY_TASK, volt_dial_future(&dial, k->rt, &client, "a:1", &config)),
                VOLT_ETIMEDOUT);
  assert_int_equal(volt_fd_number(&client), -1);
  volt_fd_close(&listener);
  hole_close(&h);
}

/* Without a deadline an attempt goes on. */
static void an_attempt_may_have_no_deadline(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  kit_one one;
  hole h;
  const volt_dial_config config = {.attempt_ns = VOLT_NO_DEADLINE};
  hole_open(&h);
  kit_start(k, &one, BY_TASK, volt_dial_future(&dial, k->rt, &client, h.text, &config));
  assert_int_equal(volt_rt_run(k->rt), VOLT_NO_DEADLINE); /* no timer is started */
  assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
  hole_close(&h);
}

/* ---- cancel: the kit counts descriptors ---- */

static void an_attempt_is_cancelled(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  hole h;
  hole_open(&h);
  FOR_EACH_WAY(way) {
    kit_one one;
    kit_start(k, &one, (kit_way)way, volt_dial_future(&dial, k->rt, &client, h.text, NULL));
    assert_true(volt_fd_number(&client) >= 0);
    assert_result(kit_check(k, &one), VOLT_PENDING);
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    assert_int_equal(volt_fd_number(&client), -1);
  }
  hole_close(&h);
  volt_future_cancel(volt_dial_future(&dial, k->rt, &client, "127.0.0.1:1", NULL));
  assert_int_equal(volt_fd_number(&client), -1);
}

static void a_lookup_within_a_dial_is_awaited(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  kit_one one;
  found("127.0.0.1:1");
  volt_store_release(&names.is_shut, 1);
  kit_start(k, &one, BY_TASK, volt_dial_future(&dial, k->rt, &client, "a:1", NULL));
  await_asked(k, 1);
  (void)volt_task_cancel(&one.task);
  assert_result(kit_check(k, &one), VOLT_PENDING);
  volt_store_release(&names.is_shut, 0);
  assert_result(kit_finish(k, &one), VOLT_ECANCELED);
}

/* The connection is made, and the dial does not know yet, when it is dropped. */
static void a_connection_that_is_not_seen_is_closed(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client;
  volt_dial dial;
  char to[VOLT_ADDRESS_TEXT];
  struct pollfd made = {.events = POLLOUT};
  listen_at(k, &listener, "127.0.0.1:0", to);
  for (int step = 0; step < 2; step++) {
    kit_one one;
    kit_start(k, &one, BY_THREAD, volt_dial_future(&dial, k->rt, &client, to, NULL));
    made.fd = volt_fd_number(&client);
    if (made.fd >= 0) REQUIRE(poll(&made, 1, KIT_SECONDS * 1000) == 1);
    if (step == 1) kit_settle(k);
    volt_future_cancel(&dial.future);
    assert_int_equal(volt_fd_number(&client),
                     volt_future_poll(&dial.future, (volt_waker){0}) == 0 ? made.fd : -1);
    volt_fd_close(&client);
  }
  volt_fd_close(&listener);
}

/* Each client that has connected has closed its side. */
static void expect_closed_clients(io_kit *k, volt_fd *listener) {
  volt_fd server;
  volt_op op;
  char got;
  while (volt_fd_try_accept(listener, &server) == VOLT_OK) {
    assert_result(kit_run(k, BY_TASK, volt_fd_recv_future(&op, &server, &got, 1, 0)), VOLT_OK);
    assert_int_equal(op.n, 0);
    volt_fd_close(&server);
  }
}

/* The dial and a sleep are ready at nearly the same time, or one of them is much earlier. */
static void a_dial_that_loses_leaves_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client;
  volt_dial dial;
  volt_sleep_op nap;
  volt_select select;
  char to[VOLT_ADDRESS_TEXT], local[VOLT_ADDRESS_TEXT];
  uint32_t won[2] = {0, 0};
  listen_at(k, &listener, own_name(local, "net_dial_test.select"), to);
  for (uint64_t round = 0; round < 64; round++) {
    uint64_t nap_ns = round % 16 * 10000;
    volt_future *either[] = {
        volt_dial_future(&dial, k->rt, &client, to, NULL),
        volt_sleep_future(&nap, volt_rt_timers(k->rt),
                          round % 16 == 15 ? VOLT_NO_DEADLINE : volt_deadline_ns(nap_ns))};
    volt_select_seed(round);
    volt_future *f = volt_select_future(&select, either, 2, VOLT_SELECT_FAIR);
    assert_result(volt_rt_run_until(k->rt, f, VOLT_NO_DEADLINE), VOLT_OK);
    uint32_t winner = volt_select_winner(&select);
    won[winner] += 1;
    assert_int_equal(volt_fd_number(&client) >= 0, winner == 0);
    volt_fd_close(&client);
    expect_closed_clients(k, &listener);
  }
  assert_true(won[0] >= 4 && won[1] > 0);
  volt_fd_close(&listener);
}

/* A deadline for the whole ends the attempt. */
static void a_dial_may_time_out(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd client;
  volt_dial dial;
  volt_timeout timeout;
  hole h;
  hole_open(&h);
  FOR_EACH_WAY(way) {
    volt_future *f = volt_dial_future(&dial, k->rt, &client, h.text, NULL);
    f = volt_timeout_future(&timeout, f, volt_rt_timers(k->rt), volt_deadline_ms(20));
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ETIMEDOUT);
    assert_int_equal(volt_fd_number(&client), -1);
  }
  hole_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      dial_test(addresses_need_no_thread),
      dial_test(families_come_by_turns),
      dial_test(the_first_family_stays_first),
      dial_test(a_service_may_have_a_name),
      dial_test(failures_are_said),
      dial_test(what_is_no_name_is_refused),
      dial_test(a_lookup_that_has_begun_is_awaited),
      dial_test(it_dials),
      dial_test(the_next_address_is_tried),
      dial_test(the_last_failure_is_said),
      dial_test(what_cannot_be_is_refused),
      dial_test(each_attempt_has_a_deadline),
      dial_test(an_attempt_may_have_no_deadline),
      dial_test(an_attempt_is_cancelled),
      dial_test(a_lookup_within_a_dial_is_awaited),
      dial_test(a_connection_that_is_not_seen_is_closed),
      dial_test(a_dial_that_loses_leaves_nothing),
      dial_test(a_dial_may_time_out),
  };
  return kit_main(tests);
}
