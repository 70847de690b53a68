/* cancel.h: what the programs of the cancel storm have in common.
 *
 *   PROGRAM cancel --tasks N [--operations 1]
 *
 * So many receives, each at a UDP socket of its own to which nobody sends, each with the same
 * deadline, a second from now. ns: from the deadline until the last of them has ended. Each has to
 * end because its time is over, and all have to be under way before it is. */
#ifndef VOLT_BENCH_IO_CANCEL_H
#define VOLT_BENCH_IO_CANCEL_H

#include <inttypes.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "server.h"

typedef struct cancel_options {
  unsigned tasks;
} cancel_options;

#define CANCEL_NS 1000000000u

static inline void cancel_fail(const char *what) {
  fprintf(stderr, "cancel: %s\n", what);
  exit(1);
}

static inline uint64_t cancel_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline cancel_options cancel_take_options(int count, char **values) {
  struct rlimit most;
  if (count < 4 || strcmp(values[1], "cancel") != 0 || strcmp(values[2], "--tasks") != 0) {
    fprintf(stderr, "usage: %s cancel --tasks N\n", values[0]);
    exit(2);
  }
  if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
  }
  return (cancel_options){server_take_port(values[3])};
}

static inline int cancel_socket(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0) cancel_fail("socket");
  return fd;
}

/* To be called when all receive. */
static inline void cancel_started(uint64_t until) {
  if (cancel_now() >= until) cancel_fail("not all receive before the time is over");
}

static inline void cancel_say(const char *who, uint64_t until) {
  uint64_t now = cancel_now();
  if (now <= until) cancel_fail("they have ended too early");
  printf("{\"version\": \"%s\", \"ns\": %" PRIu64 "}\n", who, now - until);
}

#endif
