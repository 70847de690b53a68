/* io_kit.h: a runtime with the back end under test, ends of connections, and one operation at a
 * time, driven by hand. Who ends a kit has as many descriptors, and as much memory, as before.
 *
 * VOLT_TEST_IO says which back end: "epoll" (the default) or "uring". By hand: nothing happens but
 * in volt_rt_run() on this thread. An operation is polled in one of two ways, and has to do the same
 * in both: by a task, which is on the worker; or by this thread, which is none. */
#ifndef VOLT_TEST_IO_KIT_H
#define VOLT_TEST_IO_KIT_H

#ifndef _GNU_SOURCE
#error "a test of I/O defines _GNU_SOURCE before its first include"
#endif

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include <volt/io.h>

#include "io/op/backend.h"
#include "poller.h"
#include "require.h"
#include "thread_team.h"

enum { KIT_SKIPPED = 77, KIT_ERRNO = 77, KIT_SECONDS = 60 };

typedef struct io_kit {
  volt_rt *rt;
  VOLT_ATOMIC(uint64_t) held; /* bytes that the runtime has */
  int descriptors;            /* that were open before */
} io_kit;

static inline const char *kit_back_end(void) {
  const char *name = getenv("VOLT_TEST_IO");
  return name ? name : "epoll";
}

static inline const volt_io_kind *kit_kind(void) {
  return strcmp(kit_back_end(), "uring") == 0 ? volt_io_uring() : volt_io_epoll();
}

/* ---- descriptors ---- */

static inline int kit_open_descriptors(void) {
  int count = -1; /* the directory's own */
  DIR *all = opendir("/proc/self/fd");
  REQUIRE(all);
  for (struct dirent *e; (e = readdir(all)) != NULL;) count += e->d_name[0] != '.';
  closedir(all);
  return count;
}

static inline void kit_list_descriptors(void) {
  for (int fd = 3; fd < 4096; fd++) {
    char path[64], to[128];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(path, to, sizeof to - 1);
    if (size > 0) fprintf(stderr, "  %d is %.*s\n", fd, (int)size, to);
  }
}

static inline void kit_expect_descriptors(int count) {
  int now = kit_open_descriptors();
  if (now == count) return;
  fprintf(stderr, "%d descriptors are open, not %d:\n", now, count);
  kit_list_descriptors();
  REQUIRE(now == count);
}

/* ---- a runtime ---- */

static inline void *kit_alloc_(size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((io_kit *)ctx)->held, bytes);
  return malloc(bytes);
}

static inline void kit_free_(void *memory, size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((io_kit *)ctx)->held, 0 - (uint64_t)bytes);
  free(memory);
}

static inline volt_rt_config kit_config(io_kit *k, unsigned workers) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  volt_store_relaxed(&k->held, 0);
  if (workers == 0) config.flags = VOLT_RT_BY_HAND;
  config.workers = workers;
  config.seed = 1;
  config.io = kit_kind();
  config.allocator = (volt_rt_allocator){kit_alloc_, kit_free_, k};
  return config;
}

/* With so many workers; 0: by hand. */
static inline void kit_begin(io_kit *k, unsigned workers) {
  volt_rt_config config = kit_config(k, workers);
  k->descriptors = kit_open_descriptors();
  int result = volt_rt_create(&k->rt, &config);
  if (result != VOLT_OK) fprintf(stderr, "volt_rt_create: %s\n", volt_strresult(result));
  REQUIRE(result == VOLT_OK);
}

static inline void kit_end(io_kit *k) {
  REQUIRE(volt_rt_destroy(k->rt) == 0);
  REQUIRE(volt_load_relaxed(&k->held) == 0);
  kit_expect_descriptors(k->descriptors);
}

/* Before the first kit: make the doorbells, which are kept for ever, and what libc keeps. Returns
 * false if the system refuses the back end. */
static inline bool kit_is_there(void) {
  io_kit k;
  volt_rt_config config = kit_config(&k, 4);
  int result = volt_rt_create(&k.rt, &config);
  if (result != VOLT_OK) {
    fprintf(stderr, "skipped: %s: %s\n", kit_back_end(), volt_strerror(result));
    return false;
  }
  REQUIRE(volt_rt_destroy(k.rt) == 0);
  /* an assertion that fails aborts: operations are under way on the stack that it would leave */
  REQUIRE(setenv("CMOCKA_TEST_ABORT", "1", 1) == 0);
  return true;
}

/* For cmocka: a kit by hand for each test. */
static inline int kit_set_up(void **state) {
  io_kit *k = (io_kit *)malloc(sizeof *k);
  kit_begin(k, 0);
  *state = k;
  return 0;
}

static inline int kit_tear_down(void **state) {
  kit_end((io_kit *)*state);
  free(*state);
  return 0;
}

#define kit_test(name) cmocka_unit_test_setup_teardown(name, kit_set_up, kit_tear_down)

/* Run what is ready. */
static inline void kit_settle(io_kit *k) {
  for (int i = 0; i < 1000; i++) {
    if (volt_rt_run(k->rt) != 0) return;
  }
  REQUIRE(false && "it comes to rest");
}

/* ---- one operation ---- */

typedef enum kit_way { BY_TASK, BY_THREAD } kit_way;

typedef struct kit_one {
  volt_task task;
  kit_way way;
  volt_future *f;
  poller poller;
} kit_one;

static inline int kit_one_poll_(volt_task *t, volt_ctx *ctx) {
  return volt_future_poll_ctx(volt_container_of(t, kit_one, task)->f, ctx);
}

/* Poll it for the first time. */
static inline void kit_start(io_kit *k, kit_one *one, kit_way way, volt_future *f) {
  memset((void *)one, 0, sizeof *one);
  one->way = way;
  one->f = f;
  errno = KIT_ERRNO;
  if (way == BY_TASK) {
    volt_task_init(&one->task, kit_one_poll_);
    REQUIRE(volt_spawn(k->rt, &one->task) == VOLT_OK);
  } else {
    poller_init(&one->poller);
    (void)poller_poll(&one->poller, f);
  }
  kit_settle(k);
  REQUIRE(errno == KIT_ERRNO);
}

/* VOLT_PENDING, or its result. */
static inline int kit_check(io_kit *k, kit_one *one) {
  errno = KIT_ERRNO;
  kit_settle(k);
  int result =
      one->way == BY_TASK ? volt_task_result(&one->task) : poller_poll(&one->poller, one->f);
  REQUIRE(errno == KIT_ERRNO);
  return result;
}

/* It has ended: its poller hears no more of it. */
static inline void kit_forget_(kit_one *one) {
  if (one->way == BY_TASK) return;
  WAIT_UNTIL(volt_load_acquire(&one->poller.wakes) + volt_load_acquire(&one->poller.drops) ==
             one->poller.ctx.registered); /* a thread of the pool may be on its way */
}

/* Run until it has ended. Returns its result. */
static inline int kit_finish(io_kit *k, kit_one *one) {
  uint64_t deadline_ns = volt_deadline_s(KIT_SECONDS);
  int result;
  while ((result = kit_check(k, one)) == VOLT_PENDING) {
    struct pollfd io = {volt_rt_io_descriptor(k->rt), POLLIN, 0};
    REQUIRE(volt_now_ns() < deadline_ns);
    (void)poll(&io, 1, 1); /* a timer, or a call on the pool, is not seen there */
  }
  kit_forget_(one);
  return result;
}

/* End it early. Returns its result. */
static inline int kit_cancel(io_kit *k, kit_one *one) {
  errno = KIT_ERRNO;
  if (one->way == BY_TASK) {
    (void)volt_task_cancel(&one->task);
  } else {
    volt_future_cancel(one->f);
  }
  REQUIRE(errno == KIT_ERRNO);
  return kit_finish(k, one);
}

static inline int kit_run(io_kit *k, kit_way way, volt_future *f) {
  kit_one one;
  kit_start(k, &one, way, f);
  return kit_finish(k, &one);
}

#define FOR_EACH_WAY(way) for (int way = BY_TASK; way <= BY_THREAD; way++)

/* ---- ends of connections ---- */

typedef enum kit_end_kind { TCP4, TCP6, UNIX_STREAM, PIPE, PTY } kit_end_kind;

/* in: receives; out: sends. Sockets and terminals: both ends do both. The far end is a plain
 * descriptor that does not block. */
typedef struct kit_link {
  volt_fd near;
  int far;
} kit_link;

#define FOR_EACH_STREAM(kind) for (int kind = TCP4; kind <= UNIX_STREAM; kind++)

static inline void kit_no_block(int fd) {
  REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

/* A loopback address with a port of 0. */
static inline socklen_t kit_loopback(struct sockaddr_storage *to, int kind) {
  memset(to, 0, sizeof *to);
  if (kind == TCP6) {
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    return sizeof *v6;
  }
  struct sockaddr_in *v4 = (struct sockaddr_in *)to;
  v4->sin_family = AF_INET;
  v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return sizeof *v4;
}

/* A socket that listens, and its address. Unix: abstract, so there is nothing to remove. */
static inline int kit_listen(int kind, int backlog, struct sockaddr_storage *at, socklen_t *size) {
  int family = kind == TCP6 ? AF_INET6 : kind == UNIX_STREAM ? AF_UNIX : AF_INET;
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  *size = kit_loopback(at, kind);
  if (kind == UNIX_STREAM) {
    memset(at, 0, sizeof *at);
    at->ss_family = AF_UNIX;
    *size = sizeof(sa_family_t); /* the system chooses a name */
  }
  REQUIRE(bind(fd, (struct sockaddr *)at, *size) == 0);
  *size = sizeof *at;
  REQUIRE(getsockname(fd, (struct sockaddr *)at, size) == 0);
  REQUIRE(listen(fd, backlog) == 0);
  return fd;
}

static inline int kit_socket_for(const struct sockaddr_storage *to) {
  int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  return fd;
}

static inline int kit_threads(void) {
  char line[128];
  int count = 0;
  FILE *status = fopen("/proc/self/status", "re");
  REQUIRE(status);
  while (count == 0 && fgets(line, sizeof line, status)) (void)sscanf(line, "Threads: %d", &count);
  fclose(status);
  REQUIRE(count > 0);
  return count;
}

/* Two descriptors that are connected. Terminal: [0] is its own side, [1] the master. */
static inline void kit_pair(int ends[2], int kind) {
  if (kind == PIPE) {
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  } else if (kind == PTY) {
    struct termios raw;
    REQUIRE(openpty(&ends[1], &ends[0], NULL, NULL, NULL) == 0);
    REQUIRE(tcgetattr(ends[0], &raw) == 0);
    cfmakeraw(&raw);
    REQUIRE(tcsetattr(ends[0], TCSANOW, &raw) == 0);
  } else if (kind == UNIX_STREAM) {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  } else {
    struct sockaddr_storage at;
    socklen_t size;
    int listener = kit_listen(kind, 1, &at, &size), one = 1;
    ends[0] = kit_socket_for(&at);
    REQUIRE(connect(ends[0], (struct sockaddr *)&at, size) == 0);
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(ends[1] >= 0);
    REQUIRE(setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    close(listener);
  }
}

static inline void kit_link_ends_(io_kit *k, kit_link *l, int near, int far) {
  REQUIRE(volt_fd_init(&l->near, k->rt, near, 0) == VOLT_OK);
  l->far = far;
  kit_no_block(far);
}

/* The near end can receive. */
static inline void kit_link_in(io_kit *k, kit_link *l, int kind) {
  int ends[2];
  kit_pair(ends, kind);
  kit_link_ends_(k, l, ends[0], ends[1]);
}

/* The near end can send. */
static inline void kit_link_out(io_kit *k, kit_link *l, int kind) {
  int ends[2];
  kit_pair(ends, kind);
  if (kind == PIPE) {
    kit_link_ends_(k, l, ends[1], ends[0]);
  } else {
    kit_link_ends_(k, l, ends[0], ends[1]);
  }
}

static inline void kit_close_far(kit_link *l) {
  if (l->far >= 0) REQUIRE(close(l->far) == 0);
  l->far = -1;
}

static inline void kit_unlink(kit_link *l) {
  kit_close_far(l);
  volt_fd_close(&l->near);
}

/* ---- the far end ---- */

static inline void kit_far_send(kit_link *l, const char *text) {
  ssize_t size = (ssize_t)strlen(text);
  REQUIRE(write(l->far, text, (size_t)size) == size);
}

/* Whether the far end has something to read; waits for what is under way. */
static inline bool kit_far_is_ready(int far, short events) {
  struct pollfd p = {far, events, 0};
  return poll(&p, 1, 0) == 1;
}

/* Exactly this is what the far end gets, and no more is there. */
static inline void kit_far_expect(kit_link *l, const char *text) {
  char got[256];
  size_t size = strlen(text), have = 0;
  while (have < size) {
    struct pollfd p = {l->far, POLLIN, 0};
    REQUIRE(poll(&p, 1, KIT_SECONDS * 1000) == 1);
    ssize_t n = read(l->far, got + have, size - have);
    REQUIRE(n > 0);
    have += (size_t)n;
  }
  assert_memory_equal(got, text, size);
  assert_false(kit_far_is_ready(l->far, POLLIN));
}

/* Fill the way out until it would block. Bytes count up from all. Returns how many were taken. */
static inline size_t kit_fill_once_(int fd, size_t all) {
  static char chunk[65536];
  ssize_t n = 0;
  for (; n >= 0; all += (size_t)(n > 0 ? n : 0)) {
    for (size_t i = 0; i < sizeof chunk; i++) chunk[i] = (char)((all + i) % 251);
    n = write(fd, chunk, sizeof chunk);
  }
  REQUIRE(errno == EAGAIN);
  return all;
}

/* Whether bytes of TCP are on their way still: the room that they leave would come later. */
static inline bool kit_is_on_its_way_(int fd, int far, size_t all) {
  int here = 0, there = 0;
  REQUIRE(ioctl(fd, SIOCOUTQ, &here) == 0 && ioctl(far, FIONREAD, &there) == 0);
  return (size_t)here + (size_t)there != all;
}

static inline bool kit_is_tcp_(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  (void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain == AF_INET || domain == AF_INET6;
}

/* Send what the far end has a window for, to the byte. A rest that is too small for a segment would be
 * sent by a timer 200 ms later, and leave room then; and so would a buffer that may grow. */
static inline size_t kit_close_window_(int fd, int far) {
  static char chunk[65536];
  int on = 1, room = sizeof chunk, had = 0;
  size_t all = 0;
  struct tcp_info info = {.tcpi_snd_wnd = 0};
  socklen_t size = sizeof had;
  REQUIRE(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &had, &size) == 0);
  REQUIRE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0); /* it stays as it is */
  for (;;) {
    REQUIRE(setsockopt(far, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0);
    while (kit_is_on_its_way_(fd, far, all)) (void)poll(NULL, 0, 1);
    size = sizeof info;
    REQUIRE(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
    if (info.tcpi_snd_wnd == 0) break;
    size_t most = info.tcpi_snd_wnd < sizeof chunk ? info.tcpi_snd_wnd : sizeof chunk;
    for (size_t i = 0; i < most; i++) chunk[i] = (char)((all + i) % 251);
    ssize_t n = write(fd, chunk, most);
    REQUIRE(n > 0 || errno == EAGAIN);
    all += (size_t)(n > 0 ? n : 0);
  }
  REQUIRE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &had, sizeof had) == 0);
  return all;
}

/* Fill the way to the far end, and leave no room. Returns how many bytes, that count up, were taken. */
static inline size_t kit_fill(kit_link *l) {
  int fd = volt_fd_number(&l->near);
  bool is_tcp = kit_is_tcp_(fd);
  size_t all = kit_fill_once_(fd, is_tcp ? kit_close_window_(fd, l->far) : 0), before;
  do { /* emulated, a socket does not say what the window is: it is filled as far as it goes */
    while (is_tcp && kit_is_on_its_way_(fd, l->far, all)) (void)poll(NULL, 0, 1);
    before = all;
    all = kit_fill_once_(fd, all);
  } while (all != before);
  return all;
}

/* Read what is there, at most until nothing is; each byte is the next of those that count up from
 * *at. */
static inline size_t kit_drain(int far, size_t *at) {
  static unsigned char chunk[65536];
  size_t all = 0;
  ssize_t n;
  while ((n = read(far, chunk, sizeof chunk)) > 0) {
    for (ssize_t i = 0; i < n; i++) REQUIRE(chunk[i] == (*at + (size_t)i) % 251);
    *at += (size_t)n;
    all += (size_t)n;
  }
  REQUIRE(n == 0 || errno == EAGAIN);
  return all;
}

/* One read of at most so many of these bytes. */
static inline void kit_take(int far, size_t *at, size_t most) {
  unsigned char chunk[4096];
  ssize_t n = read(far, chunk, most < sizeof chunk ? most : sizeof chunk);
  for (ssize_t i = 0; i < n; i++) REQUIRE(chunk[i] == (*at + (size_t)i) % 251);
  if (n > 0) *at += (size_t)n;
}

/* main() of a test of one back end. */
#define kit_main(tests) \
  (kit_is_there() ? cmocka_run_group_tests_name(__FILE__, (tests), NULL, NULL) : KIT_SKIPPED)

#endif
