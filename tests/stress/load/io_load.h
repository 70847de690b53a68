/* io_load.h: what the stress tests of I/O stand on: a runtime with the back end that VOLT_TEST_IO
 * names, pairs of connected descriptors, bytes that are checked at both ends, and books of
 * descriptors. */
#ifndef VOLT_STRESS_IO_LOAD_H
#define VOLT_STRESS_IO_LOAD_H

#ifndef _GNU_SOURCE
#error "a test of I/O defines _GNU_SOURCE before its first include"
#endif

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <volt/io.h>

#include "../harness.h"
#include "sanitizer.h"

enum { IO_LOAD_SKIPPED = 77, IO_LOAD_PERIOD = 251, IO_LOAD_CHUNK = 4096 };

typedef struct io_load {
  volt_rt *rt;
  VOLT_ATOMIC(uint64_t) held; /* bytes that the runtime has */
  int descriptors;
} io_load;

/* ---- descriptors ---- */

static inline int io_load_descriptors(void) {
  int count = -1; /* the directory's own */
  DIR *all = opendir("/proc/self/fd");
  STRESS_CHECK(all);
  for (struct dirent *e; (e = readdir(all)) != NULL;) count += e->d_name[0] != '.';
  closedir(all);
  return count;
}

/* Let this process have so many descriptors, or as many as it may. Returns how many. */
static inline int io_load_raise_limit(int want) {
  struct rlimit limit;
  STRESS_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_cur < (rlim_t)want) {
    limit.rlim_cur = limit.rlim_max < (rlim_t)want ? limit.rlim_max : (rlim_t)want;
    STRESS_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  if (limit.rlim_cur < (rlim_t)want) {
    printf("scaled down: %d descriptors are wanted, %d are allowed\n", want, (int)limit.rlim_cur);
    return (int)limit.rlim_cur;
  }
  return want;
}

/* Room for so many descriptors beside those that are open: how many of want, each of which takes
 * each. */
static inline int io_load_room(int want, int each) {
  int spare = 256, limit = io_load_raise_limit(want * each + spare);
  return (limit - spare) / each < want ? (limit - spare) / each : want;
}

static inline void io_load_pair(int ends[2]) {
  STRESS_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
}

static inline int io_load_listen(struct sockaddr_in *at, int backlog) {
  socklen_t size = sizeof *at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  memset(at, 0, sizeof *at);
  at->sin_family = AF_INET;
  at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  STRESS_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)at, sizeof *at) == 0);
  STRESS_CHECK(getsockname(fd, (struct sockaddr *)at, &size) == 0);
  STRESS_CHECK(listen(fd, backlog) == 0);
  return fd;
}

static inline void io_load_tcp_pair(int ends[2]) {
  struct sockaddr_in at;
  int listener = io_load_listen(&at, 1);
  ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRESS_CHECK(ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&at, sizeof at) == 0);
  ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  STRESS_CHECK(ends[1] >= 0);
  close(listener);
}

/* ---- the runtime ---- */

static inline void *io_load_alloc_(size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((io_load *)ctx)->held, bytes);
  return malloc(bytes);
}

static inline void io_load_free_(void *memory, size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((io_load *)ctx)->held, 0 - (uint64_t)bytes);
  free(memory);
}

static inline int io_load_create(io_load *l, unsigned workers) {
  const char *name = getenv("VOLT_TEST_IO");
  bool uring = name && strcmp(name, "uring") == 0;
  volt_store_relaxed(&l->held, 0);
  volt_rt_config config = {
      .workers = workers,
      .io = uring ? volt_io_uring() : volt_io_epoll(),
      .allocator = {io_load_alloc_, io_load_free_, l},
  };
  l->descriptors = io_load_descriptors();
  return volt_rt_create(&l->rt, &config);
}

static inline void io_load_begin(io_load *l, unsigned workers) {
  STRESS_CHECK(io_load_create(l, workers) == VOLT_OK);
}

/* Nothing is left, after this many tasks had to be cancelled. */
static inline void io_load_end(io_load *l, uint64_t cancelled) {
  STRESS_CHECK(volt_rt_destroy(l->rt) == cancelled);
  STRESS_CHECK(volt_load_relaxed(&l->held) == 0);
  STRESS_CHECK(io_load_descriptors() == l->descriptors);
}

/* Before the first: make the doorbells, which are kept. Returns false if the system refuses the back
 * end. */
static inline bool io_load_is_there(unsigned most_workers) {
  io_load l;
  int result = io_load_create(&l, most_workers);
  if (result != VOLT_OK) {
    printf("skipped: %s\n", volt_strerror(result));
    return false;
  }
  STRESS_CHECK(volt_rt_destroy(l.rt) == 0);
  return true;
}

static inline void io_load_fd(io_load *l, volt_fd *d, int number) {
  STRESS_CHECK(volt_fd_init(d, l->rt, number, 0) == VOLT_OK);
}

/* ---- bytes that count up: who has the place in the stream knows them ---- */

static unsigned char io_load_bytes_[IO_LOAD_PERIOD + IO_LOAD_CHUNK];

static inline void io_load_make_bytes(void) {
  for (size_t i = 0; i < sizeof io_load_bytes_; i++) {
    io_load_bytes_[i] = (unsigned char)(i % IO_LOAD_PERIOD);
  }
}

/* The bytes at this place, IO_LOAD_CHUNK of them. */
static inline const unsigned char *io_load_at(uint64_t place) {
  return io_load_bytes_ + place % IO_LOAD_PERIOD;
}

static inline void io_load_check(uint64_t place, const void *got, size_t n) {
  STRESS_CHECK(memcmp(io_load_at(place), got, n) == 0);
}

#endif
