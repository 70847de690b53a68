/* children.c: the server and the origin as processes of their own, and the clocks. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

enum { START_MS = 10000, COMMAND_BYTES = 4096 };

void io_fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  fprintf(stderr, "bench-io: ");
  vfprintf(stderr, format, values);
  fprintf(stderr, "\n");
  va_end(values);
  exit(1); /* the children end with this process */
}

static uint64_t clock_of(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) io_fail("a clock cannot be read: %s", strerror(errno));
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t io_now(void) {
  return clock_of(CLOCK_MONOTONIC);
}

/* ---- processes ---- */

#define EVERYWHERE UINT_MAX /* not a place: on all cores */

/* The core at this place among those that this process may use. */
static size_t core_at(unsigned place) {
  static cpu_set_t all;
  if (CPU_COUNT(&all) == 0 && sched_getaffinity(0, sizeof all, &all) != 0) io_fail("no cores");
  for (size_t core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &all) && place-- == 0) return core;
  }
  fprintf(stderr, "bench-io: the server and the client need a core each\n");
  exit(77);
}

static void pin(unsigned place) {
  cpu_set_t one;
  if (place == EVERYWHERE) return;
  CPU_ZERO(&one);
  CPU_SET(core_at(place), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) io_fail("cannot be pinned to a core");
}

static pid_t spawn(const char *command, unsigned place, int output) {
  if (place != EVERYWHERE) core_at(place); /* of all cores, before this process is pinned */
  pid_t parent = getpid(), child = fork();
  if (child < 0) io_fail("fork: %s", strerror(errno));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  pin(place);
  dup2(output, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* It stays bound until this process ends: tests/support/ports.py says why. */
static uint16_t keep_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t size = sizeof at;
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd, (struct sockaddr *)&at, size) != 0 ||
      getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
    io_fail("no port: %s", strerror(errno));
  }
  return ntohs(at.sin_port);
}

/* The command with its ports: sh runs it without a process of its own between. */
static void fill_in(char *into, const char *command, uint16_t port, uint16_t origin) {
  size_t n = (size_t)snprintf(into, COMMAND_BYTES, "exec ");
  for (; *command && n + 8 < COMMAND_BYTES; command++) {
    if (*command != '@' && *command != '%') {
      into[n++] = *command;
    } else {
      n += (size_t)snprintf(into + n, 8, "%u", (unsigned)(*command == '@' ? port : origin));
    }
  }
  if (*command) io_fail("a command is too long");
  into[n] = '\0';
}

/* Until it takes a connection. */
static void await_start(pid_t pid, uint16_t port, const char *command) {
  for (int ms = 0; ms < START_MS; ms += 5) {
    int fd = io_connect(port, 0);
    if (fd >= 0) {
      close(fd);
      return;
    }
    if (waitpid(pid, NULL, WNOHANG) != 0) io_fail("has ended at once: %s", command);
    usleep(5000);
  }
  io_fail("does not listen: %s", command);
}

static pid_t start(const char *with, unsigned place, uint16_t *port, uint16_t origin) {
  char command[COMMAND_BYTES];
  *port = keep_port();
  fill_in(command, with, *port, origin);
  pid_t pid = spawn(command, place, STDERR_FILENO);
  await_start(pid, *port, command);
  return pid;
}

void io_children_start(io_children *c, const io_options *o) {
  struct rlimit files;
  uint16_t origin = 0;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  *c = (io_children){0};
  unsigned its = o->all_cores ? EVERYWHERE : 0, ours = o->all_cores ? EVERYWHERE : 1;
  if (o->origin) c->origin = start(o->origin, ours, &origin, 0);
  c->server = start(o->server, its, &c->port, origin);
  pin(ours);
}

static void stop(pid_t pid) {
  int status;
  if (pid == 0) return;
  if (waitpid(pid, &status, WNOHANG) != 0) io_fail("a server has ended by itself");
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
}

void io_children_stop(io_children *c) {
  stop(c->server);
  stop(c->origin);
}

void io_child_read(const char *command, char *into, size_t size, double *cpu_ns) {
  int ends[2], status;
  struct rusage used;
  size_t have = 0;
  ssize_t n;
  if (pipe(ends) != 0) io_fail("pipe: %s", strerror(errno));
  pid_t pid = spawn(command, 1, ends[1]);
  close(ends[1]);
  while (have + 1 < size && (n = read(ends[0], into + have, size - 1 - have)) > 0) {
    have += (size_t)n;
  }
  into[have] = '\0';
  close(ends[0]);
  if (wait4(pid, &status, 0, &used) != pid || status != 0) io_fail("has failed: %s", command);
  *cpu_ns = 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* ---- clocks ---- */

static uint64_t process_cpu(pid_t pid) {
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) io_fail("a server has ended by itself");
  return clock_of(clock);
}

/* What this thread has waited for its core: it was not idle then. */
static uint64_t core_waits(void) {
  unsigned long long ran, waited;
  FILE *file = fopen("/proc/thread-self/schedstat", "r");
  if (!file || fscanf(file, "%llu %llu", &ran, &waited) != 2) {
    io_fail("/proc/thread-self/schedstat cannot be read: is the client idle?");
  }
  fclose(file);
  return waited;
}

io_clocks io_clocks_now(const io_children *c) {
  io_clocks clocks = {.server = process_cpu(c->server),
                      .client = clock_of(CLOCK_THREAD_CPUTIME_ID) + core_waits()};
  if (c->origin) clocks.client += process_cpu(c->origin);
  clocks.now = io_now();
  return clocks;
}

void io_clocks_say(io_said *said, const io_clocks *from, const io_clocks *to) {
  double busy = (double)(to->client - from->client);
  said->wall_ns = (double)(to->now - from->now);
  said->server_ns = (double)(to->server - from->server);
  said->client_idle = busy < said->wall_ns ? 1 - busy / said->wall_ns : 0;
}

uint64_t io_resident_bytes(pid_t of) {
  char path[64];
  unsigned long long all, resident;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)of);
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%llu %llu", &all, &resident) != 2) io_fail("cannot read %s", path);
  fclose(file);
  return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
