/* permits.c: how long it takes until a process that waits has what another one gives back, by a voltgate of
 * its own between them, beside a bare round trip by a unix socket; and voltgate run true beside true.
 *
 *   grant   a process sends `give`; until another process, which waits for the same permit, has read `granted`
 *   bare    a process sends as many bytes; until a third process has sent them on, and it has read them: one round trip
 * Both go from a process to another and on to a process. Blocks of them by turns; the two kinds of commands by turns, too.
 *
 * usage: bench-permits VOLTGATE [ROUNDS [RUNS]] */
#define _GNU_SOURCE /* pipe2 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 500, MOST = 200000 };

static char directory[] = "/tmp/voltgate-bench-XXXXXX";
static char socket_path[64];
static pid_t gate;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *one, const void *other) {
  const uint64_t *a = one, *b = other;
  return (*a > *b) - (*a < *b);
}

static double at_us(uint64_t *sorted, size_t count, double part) {
  return (double)sorted[(size_t)(part * (double)(count - 1))] / 1e3;
}

/* ---- processes ---- */

static pid_t begin(void) {
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

static void end_gate(void) {
  if (gate > 0) kill(gate, SIGKILL);
  unlink(socket_path);
  rmdir(directory);
}

static int connect_to_gate(void) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  strcpy(at.sun_path, socket_path);
  for (int tries = 0; connect(s, (struct sockaddr *)&at, sizeof at) != 0; tries++) {
    if (tries == 1000) fail("connect");
    usleep(10000);
  }
  return s;
}

static void begin_gate(const char *program) {
  char listen_at[80];
  if (!mkdtemp(directory)) fail("mkdtemp");
  snprintf(socket_path, sizeof socket_path, "%s/sock", directory);
  snprintf(listen_at, sizeof listen_at, "unix:%s", socket_path);
  atexit(end_gate);
  gate = begin();
  if (gate == 0) {
    execl(program, program, "--protocol", "permit", "--kinds", "cores=1", "--claim-period", "0",
          "--listen", listen_at, "--log-level", "error", (char *)NULL);
    fail(program);
  }
}

/* ---- grant, and bare ---- */

/* What the processes share: when the last permit was given back. */
static struct shared {
  _Atomic uint64_t given_ns;
  uint64_t grants[MOST];
  _Atomic size_t count;
} * shared;

/* Read until a line begins so. */
static void await_line(int s, const char *begins) {
  char text[512];
  size_t size = 0;
  for (;;) {
    ssize_t n = read(s, text + size, sizeof text - 1 - size);
    if (n <= 0) fail("the gate");
    size += (size_t)n;
    text[size] = '\0';
    for (char *end; (end = strchr(text, '\n')) != NULL; size = strlen(text)) {
      *end = '\0';
      if (strncmp(text, begins, strlen(begins)) == 0) return;
      memmove(text, end + 1, strlen(end + 1) + 1);
    }
  }
}

static void say(int s, const char *line) {
  if (write(s, line, strlen(line)) != (ssize_t)strlen(line)) fail("write");
}

/* One that holds and gives back, for ever: two of them hand the permit to each other. */
static void take_turns(void) {
  int s = connect_to_gate();
  for (;;) {
    say(s, "take cores=1\n");
    await_line(s, "granted");
    uint64_t now = now_ns(), given = shared->given_ns;
    size_t at = shared->count;
    if (given && at < MOST) shared->grants[at] = now - given;
    if (given) shared->count = at + 1;
    usleep(100); /* so that the other one waits */
    shared->given_ns = now_ns();
    say(s, "give\n");
    await_line(s, "given");
  }
}

static void measure_grants(size_t rounds) {
  pid_t both[2];
  size_t until = shared->count + rounds;
  shared->given_ns = 0;
  for (int i = 0; i < 2; i++)
    if ((both[i] = begin()) == 0) take_turns();
  while (shared->count < until) {
    usleep(1000);
    if (waitpid(-1, NULL, WNOHANG) > 0) exit(1); /* it has said why */
  }
  for (int i = 0; i < 2; i++) {
    kill(both[i], SIGKILL);
    waitpid(both[i], NULL, 0);
  }
}

static void measure_bare(uint64_t *to, size_t rounds) {
  int ends[2];
  char bytes[64];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
  pid_t other = begin();
  if (other == 0) {
    for (ssize_t n; (n = read(ends[1], bytes, sizeof bytes)) > 0;)
      if (write(ends[1], bytes, (size_t)n) != n) _exit(1);
    _exit(0);
  }
  for (size_t i = 0; i < rounds; i++) {
    usleep(100);
    uint64_t before = now_ns();
    if (write(ends[0], "give\n", 5) != 5 || read(ends[0], bytes, sizeof bytes) != 5) fail("bare");
    to[i] = now_ns() - before;
  }
  kill(other, SIGKILL);
  waitpid(other, NULL, 0);
  close(ends[0]);
  close(ends[1]);
}

/* ---- commands ---- */

static uint64_t run_ns(const char *const *words) {
  int status;
  uint64_t before = now_ns();
  pid_t child = begin();
  if (child == 0) {
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
  }
  if (waitpid(child, &status, 0) != child || status != 0) fail(words[0]);
  return now_ns() - before;
}

static void measure_runs(const char *program, size_t runs) {
  const char *const bare[] = {"/bin/true", NULL}, *const under[] = {program,     "run",
                                                                    "--gate",    socket_path,
                                                                    "/bin/true", NULL};
  uint64_t *alone = calloc(runs, sizeof *alone), *more = calloc(runs, sizeof *more);
  if (!alone || !more) fail("calloc");
  for (size_t i = 0; i < runs; i++) {
    alone[i] = run_ns(bare);
    more[i] = run_ns(under);
  }
  qsort(alone, runs, sizeof *alone, compare);
  qsort(more, runs, sizeof *more, compare);
  double one = at_us(alone, runs, 0.5), other = at_us(more, runs, 0.5);
  printf("true                %8.0f us, p50 of %zu\n", one, runs);
  printf("voltgate run true   %8.0f us, p50 of %zu\n", other, runs);
  printf("                    %8.0f us more: the bar is 3000: %s\n", other - one,
         other - one <= 3000 ? "held" : "MISSED");
  free(alone);
  free(more);
}

int main(int argc, char **argv) {
  static uint64_t bare[MOST];
  size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000,
         runs = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000, count = 0;
  if (argc < 2 || rounds < BLOCK || rounds > MOST - BLOCK || runs == 0) {
    fprintf(stderr, "usage: %s VOLTGATE [ROUNDS [RUNS]], %d rounds at least\n", argv[0], BLOCK);
    return 2;
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  begin_gate(argv[1]);
  for (; count < rounds; count += BLOCK) {
    measure_grants(BLOCK);
    measure_bare(bare + count, BLOCK);
  }
  size_t grants = shared->count < MOST ? shared->count : MOST;
  qsort(shared->grants, grants, sizeof *shared->grants, compare);
  qsort(bare, count, sizeof *bare, compare);
  double p50 = at_us(shared->grants, grants, 0.5);
  printf("                       p50       p99\n");
  printf("bare round trip   %8.1f  %8.1f us, of %zu\n", at_us(bare, count, 0.5),
         at_us(bare, count, 0.99), count);
  printf("grant to a waiter %8.1f  %8.1f us, of %zu: the bar is 60 at p50: %s\n", p50,
         at_us(shared->grants, grants, 0.99), grants, p50 <= 60 ? "held" : "MISSED");
  measure_runs(argv[1], runs);
  return 0;
}
