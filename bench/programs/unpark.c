/* unpark.c: how to wake N sleeping threads: N futex calls, or one io_uring_enter with N requests.
 *
 * Each thread sleeps on a word of its own, as a volt_parker does. Three figures each:
 *   away      how long the waker is occupied: from the first call to the return of the last,
 *             requests filled in and completions taken included
 *   last      how long until the last of the threads runs in user space
 *   needless  as away, and nobody sleeps on the words
 * A sample counts only if every thread did sleep: /proc says so before, and the thread itself,
 * whose wait in the kernel has ended by a wake, after it. Candidates run interleaved, in an order
 * shuffled anew for each round; medians over the rounds, ratios within each round.
 *
 * Exit code 77 where the kernel has no futex requests (they came with Linux 6.7). */
#define _GNU_SOURCE /* syscall, gettid */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/park.h>

enum { MAX_SLEEPERS = 64, MAX_ROUNDS = 2001, NEEDLESS_TURNS = 16 };

/* Of <linux/io_uring.h> and <linux/futex.h> since Linux 6.7. */
#define OP_FUTEX_WAKE 52
#define SIZE_U32 0x02
#define PRIVATE 128

/* ---- the threads that sleep ---- */

struct sleeper {
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) word;  /* the thread sleeps while it is `turn` */
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) ready; /* turn + 1: about to sleep */
  VOLT_ATOMIC(uint32_t) tid;
  uint32_t turn; /* the waker's copy */
  int stat_fd;
  bool slept; /* by the thread, before it unparks the waker; woke_ns, too */
  uint64_t woke_ns;
  pthread_t thread;
};

static struct sleeper sleepers[MAX_SLEEPERS];
static struct sleeper nobody[MAX_SLEEPERS]; /* words that nobody sleeps on */
static volt_parker waker;                   /* an unpark for each thread that runs again */
static bool quit;                           /* published by the words */

static void *sleep_again_and_again(void *ctx) {
  struct sleeper *s = ctx;
  volt_store_release(&s->tid, (uint32_t)gettid()); /* pairs with start_all */
  for (uint32_t turn = 0;; turn++) {
    volt_store_release(&s->ready, turn + 1); /* pairs with is_asleep */
    long rc = syscall(SYS_futex, (void *)&s->word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, turn, NULL);
    uint64_t now_ns = volt_now_ns();
    s->slept = rc == 0 && volt_load_acquire(&s->word) != turn; /* pairs with tell */
    while (volt_load_acquire(&s->word) == turn) sched_yield(); /* an interrupt: no sample */
    if (quit) return NULL;
    s->woke_ns = now_ns;
    volt_unpark(&waker);
  }
}

/* It has said that it is about to sleep, calls nothing else after that, and is not runnable. */
static bool is_asleep(struct sleeper *s) {
  if (volt_load_acquire(&s->ready) != s->turn + 1) return false;
  char stat[512];
  ssize_t bytes = pread(s->stat_fd, stat, sizeof stat - 1, 0);
  if (bytes <= 0) return false;
  stat[bytes] = '\0';
  const char *state = strrchr(stat, ')'); /* "tid (name) S ..." */
  return state != NULL && state[1] == ' ' && state[2] == 'S';
}

static void await_asleep(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    while (!is_asleep(&sleepers[i])) sched_yield();
  }
}

static bool start_all(void) {
  for (unsigned i = 0; i < MAX_SLEEPERS; i++) {
    struct sleeper *s = &sleepers[i];
    if (pthread_create(&s->thread, NULL, sleep_again_and_again, s) != 0) return false;
    uint32_t tid;
    while ((tid = volt_load_acquire(&s->tid)) == 0) sched_yield();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/stat", tid);
    s->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->stat_fd < 0) return false;
  }
  return true;
}

/* End the sleep of so many, as far as the words go; they still have to be woken. */
static void tell(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    sleepers[i].turn += 1;
    volt_store_release(&sleepers[i].word, sleepers[i].turn);
  }
}

/* ---- the candidates ---- */

static struct io_uring ring;

static void fail(const char *what, int error) {
  fprintf(stderr, "bench-unpark: %s: %s\n", what, strerror(error));
  exit(EXIT_FAILURE);
}

static void wake_by_futex(struct sleeper *of, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    syscall(SYS_futex, (void *)&of[i].word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
  }
}

static void submit_wakes(struct sleeper *of, unsigned count, unsigned char flags) {
  for (unsigned i = 0; i < count; i++) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = OP_FUTEX_WAKE;
    sqe->flags = flags;
    sqe->fd = SIZE_U32 | PRIVATE;
    sqe->addr = (uintptr_t)&of[i].word;
    sqe->off = 1; /* how many */
    sqe->addr3 = FUTEX_BITSET_MATCH_ANY;
  }
  int taken = io_uring_submit(&ring);
  if (taken != (int)count) fail("io_uring_enter", taken < 0 ? -taken : EIO);
}

static unsigned take_completions(void) {
  unsigned count = 0;
  struct io_uring_cqe *cqe;
  while (io_uring_peek_cqe(&ring, &cqe) == 0) {
    if (cqe->res < 0) fail("a wake", -cqe->res);
    io_uring_cqe_seen(&ring, cqe);
    count += 1;
  }
  return count;
}

static void wake_by_uring(struct sleeper *of, unsigned count) {
  submit_wakes(of, count, 0);
  if (take_completions() != count) fail("completions of wakes", EIO);
}

/* Success has no completion. */
static void wake_by_silent_uring(struct sleeper *of, unsigned count) {
  submit_wakes(of, count, IOSQE_CQE_SKIP_SUCCESS);
  if (take_completions() != 0) fail("completions of silent wakes", EIO);
}

static const struct candidate {
  const char *name;
  void (*wake)(struct sleeper *of, unsigned count);
} candidates[] = {
    {"N futex calls", wake_by_futex},
    {"1 io_uring_enter", wake_by_uring},
    {"1 io_uring_enter, no CQEs", wake_by_silent_uring},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* Returns 0, or the exit code. */
static int open_ring(void) {
  int error = io_uring_queue_init(MAX_SLEEPERS, &ring, IORING_SETUP_SINGLE_ISSUER);
  if (error == -EINVAL) error = io_uring_queue_init(MAX_SLEEPERS, &ring, 0);
  if (error == -ENOSYS || error == -EPERM || error == -EACCES) {
    printf("skipped: io_uring is not to be had here: %s\n", strerror(-error));
    return 77;
  }
  if (error != 0) fail("io_uring_setup", -error);
  struct io_uring_probe *probe = io_uring_get_probe_ring(&ring);
  bool known = probe != NULL && io_uring_opcode_supported(probe, OP_FUTEX_WAKE);
  io_uring_free_probe(probe);
  if (!known) {
    printf("skipped: this kernel's io_uring has no futex requests\n");
    return 77;
  }
  io_uring_register_ring_fd(&ring); /* one look-up less for each call; an older kernel refuses */
  return 0;
}

/* ---- measuring ---- */

enum figure { AWAY, LAST, NEEDLESS, FIGURES };
static double samples[FIGURES][CANDIDATES][MAX_ROUNDS]; /* nanoseconds */

static void measure_sleeping(unsigned count, unsigned which, unsigned round) {
  bool all_slept;
  do {
    await_asleep(count);
    waker = (volt_parker)VOLT_PARKER_INIT;
    tell(count);
    uint64_t start_ns = volt_now_ns();
    candidates[which].wake(sleepers, count);
    uint64_t back_ns = volt_now_ns();
    volt_park_until(&waker, count, VOLT_NO_DEADLINE);
    uint64_t last_ns = start_ns;
    all_slept = true;
    for (unsigned i = 0; i < count; i++) {
      if (sleepers[i].woke_ns > last_ns) last_ns = sleepers[i].woke_ns;
      all_slept &= sleepers[i].slept;
    }
    samples[AWAY][which][round] = (double)(back_ns - start_ns);
    samples[LAST][which][round] = (double)(last_ns - start_ns);
  } while (!all_slept);
}

static void measure_needless(unsigned count, unsigned which, unsigned round) {
  uint64_t start_ns = volt_now_ns();
  for (unsigned i = 0; i < NEEDLESS_TURNS; i++) candidates[which].wake(nobody, count);
  samples[NEEDLESS][which][round] = (double)(volt_now_ns() - start_ns) / NEEDLESS_TURNS;
}

static void shuffle(unsigned *order, unsigned count) {
  static uint64_t state = 1;
  for (unsigned i = 0; i < count; i++) order[i] = i;
  for (unsigned i = count; i > 1; i--) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned j = (unsigned)(state >> 33) % i;
    unsigned last = order[i - 1];
    order[i - 1] = order[j];
    order[j] = last;
  }
}

static void measure(unsigned count, unsigned rounds) {
  for (unsigned round = 0; round < rounds; round++) {
    unsigned order[CANDIDATES];
    shuffle(order, CANDIDATES);
    for (unsigned i = 0; i < CANDIDATES; i++) {
      measure_sleeping(count, order[i], round);
      measure_needless(count, order[i], round);
    }
  }
}

/* ---- the report ---- */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value at a fraction of the sorted values. */
static double at_fraction(const double *values, unsigned count, double fraction) {
  static double sorted[MAX_ROUNDS];
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare);
  return sorted[(unsigned)(fraction * (double)(count - 1) + 0.5)];
}

static double ratio(const double *values, const double *to, unsigned count) {
  static double ratios[MAX_ROUNDS];
  for (unsigned i = 0; i < count; i++) ratios[i] = values[i] / to[i];
  return at_fraction(ratios, count, 0.5);
}

static void print_head(unsigned rounds) {
  printf("waking N threads that sleep on a word each: microseconds, medians of %u rounds;\n",
         rounds);
  printf("[quartiles]; x: median of the ratios to N futex calls within each round\n\n");
  printf("%3s  %-26s %30s %30s %30s\n", "N", "", "away", "last runs after", "needless");
}

static void print_rows(unsigned count, unsigned rounds) {
  for (unsigned which = 0; which < CANDIDATES; which++) {
    printf("%3u  %-26s", count, candidates[which].name);
    for (unsigned figure = 0; figure < FIGURES; figure++) {
      const double *values = samples[figure][which];
      printf("  %7.2f [%6.2f %7.2f] %4.2f", at_fraction(values, rounds, 0.5) / 1e3,
             at_fraction(values, rounds, 0.25) / 1e3, at_fraction(values, rounds, 0.75) / 1e3,
             ratio(values, samples[figure][0], rounds));
    }
    printf("\n");
  }
}

static void end_all(void) {
  await_asleep(MAX_SLEEPERS);
  quit = true;
  tell(MAX_SLEEPERS);
  wake_by_futex(sleepers, MAX_SLEEPERS);
  for (unsigned i = 0; i < MAX_SLEEPERS; i++) {
    pthread_join(sleepers[i].thread, NULL);
    close(sleepers[i].stat_fd);
  }
  io_uring_queue_exit(&ring);
}

int main(int argc, char **argv) {
  static const unsigned counts[] = {1, 2, 8, 64};
  unsigned rounds = 301;
  if (argc == 3 && strcmp(argv[1], "--rounds") == 0) {
    rounds = (unsigned)strtoul(argv[2], NULL, 10);
  } else if (argc != 1) {
    rounds = 0;
  }
  if (rounds < 1 || rounds > MAX_ROUNDS) {
    fprintf(stderr, "usage: bench-unpark [--rounds 1..%d]\n", MAX_ROUNDS);
    return 2;
  }
  int code = open_ring();
  if (code != 0) return code;
  if (!start_all()) fail("the sleeping threads", errno);
  print_head(rounds);
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
    measure(counts[i], rounds);
    print_rows(counts[i], rounds);
  }
  end_all();
  return EXIT_SUCCESS;
}
