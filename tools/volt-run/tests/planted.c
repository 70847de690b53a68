/* planted.c: a program in which a fault is planted, for volt-run: planted WHAT [SEED]
 *
 *   circle SEED     2 to 8 threads that wait for each other: mutexes, read-write locks, semaphores, and a join
 *   circles SEED    40 circles of 2 to 4 threads, which close at the same moment
 *   itself          a thread that locks a mutex twice
 *   readers         a reader that reads again behind a writer, of a lock that prefers writers
 *   condition       one that waits for a condition holds what the holder of its mutex wants
 *   priority        two that wait for each other's mutex, with priority inheritance; a signal wakes one again and again
 *   crowd SEED      8 threads and 5 locks, taken in order, by calls with and without a time: no fault
 *   hold            a thread that holds a mutex for 50 ms while another wants it
 *   conditions      one that waits, is woken for nothing, and waits again; a signal that meets no waiter
 *   wrong           a mutex unlocked by another thread; one destroyed while it is held
 *   cancel          a thread that is cancelled in a wait for a condition, and one in sem_wait()
 *   fork            a child that locks what other threads held
 *   handler         a semaphore that a signal handler posts, and one whose wait a signal ends
 *   strict          what glibc does at the edges: small stacks, times that are none, a cancel before a semaphore that
 *                   is free, more locks than are noted, a read-write lock that another thread gives back
 *   orders SEED     2 to 5 locks in orders that could deadlock, and do not: mutexes and read-write locks
 *   orders-HOW SEED the same with something that keeps them from it: gate, try, timed, alone, again, readers, before,
 *                   foreign (a mutex that another thread has given back)
 *   orders-condition  a mutex that a wait for a condition takes again, while another lock is held
 *   orders-memory   two orders of mutexes that no call initialises, in memory that is given back in between
 *   orders-reused   a mutex that a call destroys, and one that no call initialises, in its memory: two orders, no fault
 *   orders-reads    reads of two locks in two orders, and writers: a fault if volt's locks do the work
 *   depth           two that wait for each other: one holds twice what it has waited with (served alone)
 *   reports         one that is asked for reports, and counts the children that it sees end
 *   names SEED      threads that wait, whose names are tags (0), or any bytes
 *   deaf            two that wait for each other, in a process that blocks all signals and handles SIGUSR2 itself
 *   standstill      all threads wait, for a condition, a post and an end; standstill-timed, -reads, -unknown: but one
 *   tiny            two that wait for each other, on the smallest stacks; their function has the name of a type
 *   parent          one that waits, and a child of a fork in which another one waits
 *   nothing         one thread
 * Exits with 0 when all has been as it should; a circle ends by volt-run, or after 20 s with 9. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(so)                                                 \
  do {                                                              \
    if (!(so)) {                                                    \
      fprintf(stderr, "planted.c:%d: not so: %s\n", __LINE__, #so); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

enum { MOST = 8 };

static uint64_t random_state;

static unsigned below(unsigned n) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(random_state >> 33) % n;
}

static void sleep_ms(long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) { /* a signal: the rest */
  }
}

/* ---- a lock of some kind ---- */

enum kind { MUTEX, RECURSIVE, ERRORCHECK, WRITE, READ, SEMAPHORE, KINDS };

struct thing {
  enum kind kind;
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  sem_t semaphore;
};

static void thing_take(struct thing *t) {
  switch (t->kind) {
    case WRITE:
    case READ: REQUIRE(pthread_rwlock_wrlock(&t->rwlock) == 0); break;
    case SEMAPHORE: REQUIRE(sem_wait(&t->semaphore) == 0); break;
    default: REQUIRE(pthread_mutex_lock(&t->mutex) == 0); break;
  }
}

static void thing_give(struct thing *t) {
  switch (t->kind) {
    case WRITE:
    case READ: REQUIRE(pthread_rwlock_unlock(&t->rwlock) == 0); break;
    case SEMAPHORE: REQUIRE(sem_post(&t->semaphore) == 0); break;
    default: REQUIRE(pthread_mutex_unlock(&t->mutex) == 0); break;
  }
}

/* As the first one, that the others want: of READ shared. */
static void thing_take_first(struct thing *t) {
  if (t->kind == READ) {
    REQUIRE(pthread_rwlock_rdlock(&t->rwlock) == 0);
  } else {
    thing_take(t);
  }
}

static void thing_init(struct thing *t, enum kind kind) {
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (kind <= ERRORCHECK) pthread_mutexattr_settype(&attributes, types[kind]);
  t->kind = kind;
  pthread_mutex_init(&t->mutex, &attributes);
  pthread_rwlock_init(&t->rwlock, NULL);
  sem_init(&t->semaphore, 0, 1);
  if (kind == SEMAPHORE) { /* it is used as a mutex: a thread that takes gives back */
    thing_take(t);
    thing_give(t);
  }
}

/* ---- circle ---- */

static struct circle_plan {
  unsigned count;
  bool ends_with_join;
  struct thing thing[MOST];
  pthread_t thread[MOST];
  pthread_barrier_t all_have;
} plan;

/* Each holds one, and wants the next one's; the last one may join the first instead. */
static void *circle_thread(void *ctx) {
  unsigned i = (unsigned)(uintptr_t)ctx;
  char name[16];
  snprintf(name, sizeof name, "planted-%u", i);
  pthread_setname_np(pthread_self(), name);
  thing_take_first(&plan.thing[i]);
  pthread_barrier_wait(&plan.all_have);
  if (i == plan.count - 1 && plan.ends_with_join) {
    pthread_join(plan.thread[0], NULL);
  } else {
    thing_take(&plan.thing[(i + 1) % plan.count]);
  }
  return NULL;
}

static int circle(void) {
  plan.count = 2 + below(MOST - 1);
  plan.ends_with_join = below(4) == 0;
  pthread_barrier_init(&plan.all_have, NULL, plan.count + 1);
  for (unsigned i = 0; i < plan.count; i++) thing_init(&plan.thing[i], (enum kind)below(KINDS));
  for (unsigned i = 0; i < plan.count; i++) {
    REQUIRE(pthread_create(&plan.thread[i], NULL, circle_thread, (void *)(uintptr_t)i) == 0);
  }
  pthread_barrier_wait(&plan.all_have);
  printf("%u threads\n", plan.count);
  fflush(stdout);
  sleep_ms(20000);
  return 9;
}

/* ---- many circles at once ---- */

enum { CIRCLES = 40, MOST_OF_ONE = 4 };

static pthread_mutex_t of_circle[CIRCLES][MOST_OF_ONE];
static unsigned size_of_circle[CIRCLES];
static pthread_barrier_t all_at_once;

static void *circles_thread(void *ctx) {
  unsigned number = (unsigned)(uintptr_t)ctx, which = number / MOST_OF_ONE,
           i = number % MOST_OF_ONE;
  pthread_mutex_lock(&of_circle[which][i]);
  pthread_barrier_wait(&all_at_once);
  pthread_mutex_lock(&of_circle[which][(i + 1) % size_of_circle[which]]);
  return NULL;
}

static int circles(void) {
  unsigned threads = 0;
  pthread_t thread;
  for (unsigned i = 0; i < CIRCLES; i++) threads += size_of_circle[i] = 2 + below(MOST_OF_ONE - 1);
  pthread_barrier_init(&all_at_once, NULL, threads);
  for (unsigned i = 0; i < CIRCLES; i++) {
    for (unsigned k = 0; k < size_of_circle[i]; k++) {
      pthread_mutex_init(&of_circle[i][k], NULL);
      REQUIRE(pthread_create(&thread, NULL, circles_thread,
                             (void *)(uintptr_t)(i * MOST_OF_ONE + k)) == 0);
    }
  }
  printf("%u threads\n", threads);
  fflush(stdout);
  sleep_ms(60000);
  return 9;
}

/* ---- a thread that waits for itself ---- */

static int itself(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  alarm(20);
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  return 9;
}

static pthread_rwlock_t preferring;

static void *writer(void *ctx) {
  (void)ctx;
  pthread_rwlock_wrlock(&preferring);
  pthread_rwlock_unlock(&preferring);
  return NULL;
}

static int readers(void) {
  pthread_rwlockattr_t attributes;
  pthread_t thread;
  alarm(20);
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&preferring, &attributes);
  pthread_rwlock_rdlock(&preferring);
  pthread_create(&thread, NULL, writer, NULL);
  while (pthread_rwlock_tryrdlock(&preferring) == 0) { /* until the writer waits */
    pthread_rwlock_unlock(&preferring);
    sleep_ms(1);
  }
  pthread_rwlock_rdlock(&preferring);
  return 9;
}

/* ---- circles of two ---- */

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unsignalled = PTHREAD_COND_INITIALIZER;
static _Atomic bool one_waits;

static void *holds_left(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&left);
  pthread_mutex_lock(&right);
  one_waits = true;
  pthread_cond_wait(&unsignalled, &right);
  return NULL;
}

static int condition(void) {
  pthread_t thread;
  alarm(20);
  pthread_create(&thread, NULL, holds_left, NULL);
  while (!one_waits) sched_yield();
  pthread_mutex_lock(&right); /* it has given this one back, and cannot come back without it */
  pthread_mutex_lock(&left);
  return 9;
}

static pthread_mutex_t inherits[2];
static pthread_barrier_t both;

static void *takes_both(void *ctx) {
  long first = (long)(intptr_t)ctx;
  pthread_mutex_lock(&inherits[first]);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&inherits[1 - first]);
  return NULL;
}

static void nothing_to_do(int signal) {
  (void)signal;
}

static int priority(void) {
  const struct sigaction wakes = {.sa_handler = nothing_to_do, .sa_flags = SA_RESTART};
  pthread_mutexattr_t attributes;
  pthread_t thread[2];
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_barrier_init(&both, NULL, 2);
  sigaction(SIGUSR1, &wakes, NULL);
  for (int i = 0; i < 2; i++) pthread_mutex_init(&inherits[i], &attributes);
  for (long i = 0; i < 2; i++) pthread_create(&thread[i], NULL, takes_both, (void *)(intptr_t)i);
  for (int i = 0; i < 1000; i++) {
    pthread_kill(thread[0], SIGUSR1);
    sleep_ms(20);
  }
  return 9;
}

/* ---- no fault ---- */

static struct thing shared[5];
static _Atomic unsigned rounds_done;

static bool crowd_try(struct thing *t, unsigned how) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec = (until.tv_nsec + 200000) % 1000000000;
  if (t->kind > ERRORCHECK || how == 0) {
    thing_take(t);
    return true;
  }
  if (how == 1) return pthread_mutex_trylock(&t->mutex) == 0;
  return pthread_mutex_clocklock(&t->mutex, CLOCK_MONOTONIC, &until) == 0;
}

static void *crowd_thread(void *ctx) {
  unsigned seed = (unsigned)(uintptr_t)ctx, has[5];
  for (unsigned round = 0; round < 3000; round++) {
    unsigned count = 0;
    for (unsigned i = 0; i < 5; i++) {
      seed = seed * 1103515245 + 12345;
      if ((seed >> 16) % 3 == 0 && crowd_try(&shared[i], (seed >> 18) % 3)) has[count++] = i;
    }
    if (seed >> 24 == 7) sleep_ms(1);
    while (count > 0) thing_give(&shared[has[--count]]);
  }
  atomic_fetch_add(&rounds_done, 3000);
  return NULL;
}

static int crowd(void) {
  pthread_t thread[MOST];
  for (unsigned i = 0; i < 5; i++) thing_init(&shared[i], (enum kind)below(KINDS));
  for (unsigned i = 0; i < MOST; i++)
    pthread_create(&thread[i], NULL, crowd_thread, (void *)(uintptr_t)below(1u << 30));
  for (unsigned i = 0; i < MOST; i++) pthread_join(thread[i], NULL);
  REQUIRE(rounds_done == MOST * 3000);
  return 0;
}

/* ---- a long hold ---- */

static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_kept;

__attribute__((noinline)) static void keep_it_long(void) {
  pthread_mutex_lock(&kept);
  sem_post(&is_kept);
  sleep_ms(50);
  pthread_mutex_unlock(&kept);
}

static void *keeper(void *ctx) {
  (void)ctx;
  keep_it_long();
  return NULL;
}

__attribute__((noinline)) static void want_it(void) {
  pthread_mutex_lock(&kept);
  pthread_mutex_unlock(&kept);
}

static int hold(void) {
  pthread_t thread;
  sem_init(&is_kept, 0, 0);
  for (int i = 0; i < 2; i++) { /* in the second round holds are timed */
    pthread_create(&thread, NULL, keeper, NULL);
    sem_wait(&is_kept);
    want_it();
    pthread_join(thread, NULL);
  }
  return 0;
}

/* ---- conditions ---- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int value;
static bool has_begun, has_woken;

static void *waits_for_two(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&guard);
  has_begun = true;
  while (value < 2) {
    pthread_cond_wait(&changed, &guard);
    has_woken = true;
  }
  pthread_mutex_unlock(&guard);
  return NULL;
}

static bool is_set(const bool *flag) {
  pthread_mutex_lock(&guard);
  bool is = *flag;
  pthread_mutex_unlock(&guard);
  return is;
}

static void raise_value(void) {
  pthread_mutex_lock(&guard);
  value++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&guard);
}

static int conditions(void) {
  pthread_t thread;
  pthread_cond_signal(&changed);
  pthread_create(&thread, NULL, waits_for_two, NULL);
  while (!is_set(&has_begun)) sleep_ms(1); /* it has given the mutex back, so it waits */
  raise_value();
  while (!is_set(&has_woken)) sleep_ms(1);
  raise_value();
  pthread_join(thread, NULL);
  pthread_cond_signal(&changed);
  return 0;
}

/* ---- what a program must not do ---- */

static void *locks_it(void *ctx) {
  pthread_mutex_lock((pthread_mutex_t *)ctx);
  return NULL;
}

static int wrong(void) {
  pthread_t thread;
  pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two;
  pthread_mutex_init(&two, NULL);
  pthread_create(&thread, NULL, locks_it, &one);
  pthread_join(thread, NULL);
  pthread_mutex_unlock(&one);
  pthread_mutex_lock(&two);
  pthread_mutex_destroy(&two);
  return 0;
}

/* ---- cancel ---- */

static void unlock_guard(void *ctx) {
  (void)ctx;
  pthread_mutex_unlock(&guard);
}

static void *waits_for_ever(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&guard);
  pthread_cleanup_push(unlock_guard, NULL);
  has_begun = true;
  for (;;) pthread_cond_wait(&changed, &guard);
  pthread_cleanup_pop(1);
  return NULL;
}

static void *waits_for_a_post(void *ctx) {
  sem_wait((sem_t *)ctx);
  return NULL;
}

static int cancel(void) {
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    void *result;
    sem_t s;
    pthread_mutex_lock(&guard);
    has_begun = false;
    pthread_mutex_unlock(&guard);
    pthread_create(&thread, NULL, waits_for_ever, NULL);
    while (!is_set(&has_begun)) sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    REQUIRE(result == PTHREAD_CANCELED);
    pthread_mutex_lock(&guard); /* its cleanup has given it back */
    pthread_mutex_unlock(&guard);
    sem_init(&s, 0, 0);
    pthread_create(&thread, NULL, waits_for_a_post, &s);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    REQUIRE(result == PTHREAD_CANCELED);
    sem_destroy(&s);
  }
  return 0;
}

/* ---- fork ---- */

static _Atomic bool is_over;

static void *locks_again_and_again(void *ctx) {
  (void)ctx;
  while (!is_over) {
    want_it();
    sched_yield();
  }
  return NULL;
}

/* One of them waits for certain: on a busy machine they may never meet by themselves. (A served mutex has no
 * such count: then this long.) */
static void hold_until_waited_for(void) {
  pthread_mutex_lock(&kept);
  for (int ms = 0; ms < 1000 && __atomic_load_n(&kept.__data.__lock, __ATOMIC_RELAXED) != 2; ms++)
    sleep_ms(1);
  pthread_mutex_unlock(&kept);
}

/* A child must not lock what another thread may have held, so it makes locks of its own. */
static int forks(void) {
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, locks_again_and_again, NULL);
  hold_until_waited_for();
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    if (child == 0) {
      pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
      pthread_t other;
      pthread_mutex_lock(&m);
      pthread_create(&other, NULL, locks_it, &m);
      sleep_ms(1);
      pthread_mutex_unlock(&m);
      pthread_join(other, NULL);
      _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  is_over = true;
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  REQUIRE(wait(NULL) == -1 && errno == ECHILD); /* and no child that is not ours */
  return 0;
}

/* ---- reports: no child of the program is seen by it, and each report is whole when it goes on ---- */

static _Atomic int ended_children;

static void count_child(int signal) {
  (void)signal;
  ended_children++;
}

static long size_of_reports(void) {
  struct stat is;
  return stat(getenv("VOLT_RUN_JSON"), &is) == 0 ? (long)is.st_size : 0;
}

static int reports(void) {
  const struct sigaction counts = {.sa_handler = count_child, .sa_flags = SA_RESTART};
  sigaction(SIGCHLD, &counts, NULL);
  for (int i = 0; i < 5; i++) {
    long before = size_of_reports();
    raise(SIGUSR2);
    REQUIRE(size_of_reports() > before);
    REQUIRE(wait(NULL) == -1 && errno == ECHILD);
  }
  REQUIRE(ended_children == 0);
  return 0;
}

/* ---- names ---- */

static void random_name(char *name) {
  int count = 1 + (int)below(15);
  for (int i = 0; i < count; i++) name[i] = (char)(1 + below(255));
  name[count] = '\0';
}

static void *waits_with_a_name(void *ctx) {
  prctl(PR_SET_NAME, (const char *)ctx);
  pthread_mutex_lock(&kept);
  sleep_ms(3);
  pthread_mutex_unlock(&kept);
  return NULL;
}

static int names(void) {
  static char name[4][16] = {"<script>x()</s", "</b>&\"'<!--]]>",
                             "\xff\x01\xc3\xa9\xed\xa0\x80 \xc0\x80", "&lt;\t\n\r"};
  pthread_t thread[4];
  for (int i = 0; random_state && i < 4; i++) random_name(name[i]);
  pthread_mutex_lock(&kept);
  for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, waits_with_a_name, name[i]);
  sleep_ms(20);
  pthread_mutex_unlock(&kept);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  return 0;
}

/* ---- asked from outside ---- */

static int deaf(void) {
  const struct sigaction own = {.sa_handler = nothing_to_do};
  pthread_t thread[2];
  sigset_t all;
  sigaction(SIGUSR2, &own, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_barrier_init(&both, NULL, 2);
  for (long i = 0; i < 2; i++) pthread_create(&thread[i], NULL, takes_both, (void *)(intptr_t)i);
  printf("2 threads\n");
  fflush(stdout);
  sleep_ms(60000);
  return 9;
}

/* ---- a standstill ---- */

static sem_t never_posted;
static int what_is_left; /* a thread that is not in a wait without a deadline */

enum { LEFT_NONE, LEFT_TIMED, LEFT_READS, LEFT_UNKNOWN };

static void *is_never_signalled(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&guard);
  while (value < 2) pthread_cond_wait(&changed, &guard);
  pthread_mutex_unlock(&guard);
  return NULL;
}

static void *is_never_posted(void *ctx) {
  (void)ctx;
  while (sem_wait(&never_posted) != 0) {
  }
  return NULL;
}

/* It is what could signal, or post. */
static void *is_left(void *ctx) {
  struct timespec late;
  char byte;
  int end[2];
  (void)ctx;
  clock_gettime(CLOCK_REALTIME, &late);
  late.tv_sec += 1000;
  if (what_is_left == LEFT_TIMED) {
    (void)sem_timedwait(&never_posted, &late);
  } else if (pipe(end) == 0) { /* LEFT_UNKNOWN: it calls nothing that is watched */
    if (what_is_left == LEFT_READS) raise_value();
    (void)!read(end[0], &byte, 1);
  }
  return NULL;
}

static int standstill_with(int other) {
  pthread_t thread[3];
  what_is_left = other;
  sem_init(&never_posted, 0, 0);
  pthread_create(&thread[0], NULL, is_never_signalled, NULL);
  pthread_create(&thread[1], NULL, is_never_posted, NULL);
  if (other != LEFT_NONE) pthread_create(&thread[2], NULL, is_left, NULL);
  printf("%d threads\n", other == LEFT_NONE ? 3 : 4);
  fflush(stdout);
  pthread_join(thread[0], NULL);
  return 9;
}

static int standstill(void) {
  return standstill_with(LEFT_NONE);
}

static int standstill_timed(void) {
  return standstill_with(LEFT_TIMED);
}

static int standstill_reads(void) {
  return standstill_with(LEFT_READS);
}

static int standstill_unknown(void) {
  return standstill_with(LEFT_UNKNOWN);
}

/* "t" is how names of C++ write unsigned short. */
static void *t(void *ctx) {
  takes_both(ctx);
  return NULL;
}

static int tiny(void) {
  pthread_attr_t attributes;
  pthread_t thread[2];
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 16384) == 0);
  pthread_barrier_init(&both, NULL, 2);
  for (long i = 0; i < 2; i++)
    REQUIRE(pthread_create(&thread[i], &attributes, t, (void *)(intptr_t)i) == 0);
  sleep_ms(20000);
  return 9;
}

/* The child prints its number when its thread is about to wait, which the parent's does by then. */
static int parent(void) {
  pthread_t thread;
  alarm(60);
  pthread_mutex_lock(&kept);
  pthread_create(&thread, NULL, locks_it, &kept);
  sleep_ms(50);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_mutex_t *own = (pthread_mutex_t *)calloc(1, sizeof *own);
    pthread_mutex_lock(own);
    pthread_create(&thread, NULL, locks_it, own);
    sleep_ms(50);
    printf("%d\n", (int)getpid());
    fflush(stdout);
  }
  sleep_ms(60000);
  return 9;
}

/* ---- signals ---- */

static sem_t posted;

static void post(int signal) {
  (void)signal;
  sem_post(&posted);
}

static void ignore(int signal) {
  (void)signal;
}

static int handler(void) {
  const struct sigaction posts = {.sa_handler = post}, ends = {.sa_handler = ignore};
  sem_t never;
  sem_init(&posted, 0, 0);
  sem_init(&never, 0, 0);
  sigaction(SIGALRM, &posts, NULL);
  sigaction(SIGUSR1, &ends, NULL);
  for (int i = 0; i < 100; i++) {
    raise(SIGALRM);
    while (sem_wait(&posted) != 0) REQUIRE(errno == EINTR);
  }
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 2000 && kill(getppid(), SIGUSR1) == 0; i++) sleep_ms(1);
    _exit(0);
  }
  REQUIRE(sem_wait(&never) == -1 && errno == EINTR);
  kill(child, SIGKILL);
  while (waitpid(child, NULL, 0) != child) REQUIRE(errno == EINTR);
  return 0;
}

/* ---- edges ---- */

static pthread_rwlock_t of_another = PTHREAD_RWLOCK_INITIALIZER;
static sem_t one_free;

static void *reads_it(void *ctx) {
  (void)ctx;
  pthread_rwlock_rdlock(&of_another);
  return NULL;
}

static void *waits_on_a_small_stack(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&kept); /* for longer than 2 ms */
  pthread_mutex_unlock(&kept);
  pthread_rwlock_wrlock(&of_another);
  pthread_rwlock_unlock(&of_another);
  return NULL;
}

static void *takes_what_is_free(void *ctx) {
  (void)ctx;
  while (!is_over) sched_yield(); /* it is cancelled by then */
  sem_wait(&one_free);
  return NULL;
}

static void small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 16384) == 0);
  pthread_mutex_lock(&kept);
  pthread_rwlock_rdlock(&of_another);
  REQUIRE(pthread_create(&thread, &attributes, waits_on_a_small_stack, NULL) == 0);
  sleep_ms(20);
  pthread_mutex_unlock(&kept);
  sleep_ms(5);
  pthread_rwlock_unlock(&of_another);
  pthread_join(thread, NULL);
}

static void times_that_are_none(void) {
  const struct timespec none = {1, 1000000000}, some = {1, 0};
  sem_t s;
  sem_init(&s, 0, 1);
  REQUIRE(pthread_mutex_clocklock(&kept, CLOCK_PROCESS_CPUTIME_ID, &some) == EINVAL);
  REQUIRE(pthread_rwlock_timedrdlock(&of_another, &none) == EINVAL);
  REQUIRE(pthread_rwlock_timedwrlock(&of_another, &none) == EINVAL);
  REQUIRE(pthread_rwlock_clockrdlock(&of_another, CLOCK_PROCESS_CPUTIME_ID, &some) == EINVAL);
  REQUIRE(sem_timedwait(&s, &none) == -1 && errno == EINVAL);
  REQUIRE(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &some) == -1 && errno == EINVAL);
  REQUIRE(sem_trywait(&s) == 0);
}

static void cancelled_before_it_takes(void) {
  pthread_t thread;
  void *result;
  sem_init(&one_free, 0, 1);
  pthread_create(&thread, NULL, takes_what_is_free, NULL);
  pthread_cancel(thread);
  is_over = true;
  pthread_join(thread, &result);
  REQUIRE(result == PTHREAD_CANCELED && sem_trywait(&one_free) == 0);
}

static void many_locks(void) {
  enum { MANY = 70 };
  static pthread_mutex_t many[MANY];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < MANY; i++)
      REQUIRE(pthread_mutex_init(&many[i], NULL) == 0 && pthread_mutex_lock(&many[i]) == 0);
    for (int i = MANY; i-- > 0;)
      REQUIRE(pthread_mutex_unlock(&many[i]) == 0 && pthread_mutex_destroy(&many[i]) == 0);
  }
}

/* The reader has ended, and this thread gives back for it. Then it joins one that wants to write. */
static void given_back_by_another(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, reads_it, NULL);
  pthread_join(thread, NULL);
  pthread_rwlock_rdlock(&of_another);
  pthread_rwlock_unlock(&of_another);
  pthread_rwlock_unlock(&of_another);
  small_stack();
}

static int strict(void) {
  small_stack();
  times_that_are_none();
  cancelled_before_it_takes();
  many_locks();
  given_back_by_another();
  return 0;
}

/* ---- orders ---- */

enum { ORDERED_MOST = 5 };

static struct orders_plan {
  unsigned count;
  struct thing thing[ORDERED_MOST];
  struct thing gate, beside[ORDERED_MOST];
  bool has_gate, tries, is_timed, reads;
  pthread_barrier_t all_are_there;
  pthread_mutex_t turn_lock;
  pthread_cond_t turn_changed;
  unsigned turn;
} ordered;

static void ordered_take_last(struct thing *t, bool is_shared) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 100;
  if (ordered.tries && t->kind >= WRITE) {
    REQUIRE((is_shared ? pthread_rwlock_tryrdlock : pthread_rwlock_trywrlock)(&t->rwlock) == 0);
  } else if (ordered.tries) {
    REQUIRE(pthread_mutex_trylock(&t->mutex) == 0);
  } else if (ordered.is_timed && t->kind >= WRITE) {
    REQUIRE((is_shared ? pthread_rwlock_timedrdlock : pthread_rwlock_timedwrlock)(&t->rwlock,
                                                                                  &until) == 0);
  } else if (ordered.is_timed) {
    REQUIRE(pthread_mutex_timedlock(&t->mutex, &until) == 0);
  } else if (is_shared) {
    REQUIRE(pthread_rwlock_rdlock(&t->rwlock) == 0);
  } else {
    thing_take(t);
  }
}

__attribute__((noinline)) static void takes_then(struct thing *held, struct thing *taken) {
  bool is_shared = held->kind == READ;
  if (is_shared || ordered.reads) {
    REQUIRE(pthread_rwlock_rdlock(&held->rwlock) == 0);
  } else {
    thing_take(held);
  }
  ordered_take_last(taken, ordered.reads);
  thing_give(taken);
  thing_give(held);
}

/* One of the steps. What stands beside is taken, too, and is in no circle. */
static void ordered_step(unsigned i) {
  struct thing *beside = &ordered.beside[i];
  if (ordered.has_gate) thing_take(&ordered.gate);
  bool has_beside = i % 2;
  if (has_beside) thing_take(beside);
  takes_then(&ordered.thing[i], &ordered.thing[(i + 1) % ordered.count]);
  if (has_beside) thing_give(beside);
  if (ordered.has_gate) thing_give(&ordered.gate);
}

/* In turn, so that none of them ever waits; the condition's own mutex is held alone. */
static void *ordered_thread(void *ctx) {
  unsigned i = (unsigned)(uintptr_t)ctx;
  pthread_barrier_wait(&ordered.all_are_there);
  pthread_mutex_lock(&ordered.turn_lock);
  while (ordered.turn != i) pthread_cond_wait(&ordered.turn_changed, &ordered.turn_lock);
  pthread_mutex_unlock(&ordered.turn_lock);
  for (unsigned k = 0; k < 3; k++) ordered_step(i);
  pthread_mutex_lock(&ordered.turn_lock);
  ordered.turn++;
  pthread_cond_broadcast(&ordered.turn_changed);
  pthread_mutex_unlock(&ordered.turn_lock);
  return NULL;
}

static void ordered_make(void) {
  static const enum kind kinds[] = {MUTEX, RECURSIVE, ERRORCHECK, WRITE, READ};
  ordered.count = 2 + below(ORDERED_MOST - 1);
  thing_init(&ordered.gate, kinds[below(4)]);
  for (unsigned i = 0; i < ORDERED_MOST; i++) {
    thing_init(&ordered.thing[i], ordered.reads ? READ : kinds[below(5)]);
    thing_init(&ordered.beside[i], MUTEX);
  }
  pthread_barrier_init(&ordered.all_are_there, NULL, ordered.count);
  pthread_mutex_init(&ordered.turn_lock, NULL);
  pthread_cond_init(&ordered.turn_changed, NULL);
}

static void ordered_run(void) {
  pthread_t thread[ORDERED_MOST];
  for (unsigned i = 0; i < ordered.count; i++)
    REQUIRE(pthread_create(&thread[i], NULL, ordered_thread, (void *)(uintptr_t)i) == 0);
  for (unsigned i = 0; i < ordered.count; i++) pthread_join(thread[i], NULL);
}

static int orders(void) {
  ordered_make();
  ordered_run();
  for (unsigned i = 0; i < ordered.count; i++) {
    struct thing *t = &ordered.thing[i];
    printf("%p ", t->kind >= WRITE ? (void *)&t->rwlock : (void *)&t->mutex);
  }
  return 0;
}

static int orders_gate(void) {
  ordered.has_gate = true;
  return orders();
}
static int orders_try(void) {
  ordered.tries = true;
  return orders();
}
static int orders_timed(void) {
  ordered.is_timed = true;
  return orders();
}
static int orders_readers(void) {
  ordered.reads = true;
  return orders();
}

static pthread_barrier_t stays;

static void *stays_there(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&kept); /* it is known, and there, until the others are over */
  pthread_mutex_unlock(&kept);
  pthread_barrier_wait(&stays);
  pthread_barrier_wait(&stays);
  return NULL;
}

/* All steps by one thread, while another one is there. */
static int orders_alone(void) {
  pthread_t thread;
  ordered_make();
  pthread_barrier_init(&stays, NULL, 2);
  REQUIRE(pthread_create(&thread, NULL, stays_there, NULL) == 0);
  pthread_barrier_wait(&stays);
  for (unsigned i = 0; i < ordered.count; i++) ordered_step(i);
  pthread_barrier_wait(&stays);
  return pthread_join(thread, NULL);
}

/* Each step with locks that have been made anew, in the memory of those before. */
static void *ordered_anew(void *ctx) {
  ordered_step((unsigned)(uintptr_t)ctx);
  return NULL;
}

static int orders_again(void) {
  pthread_t thread, other;
  ordered_make();
  pthread_barrier_init(&stays, NULL, 2);
  REQUIRE(pthread_create(&other, NULL, stays_there, NULL) == 0);
  pthread_barrier_wait(&stays);
  for (unsigned i = 0; i < ordered.count; i++) {
    REQUIRE(pthread_create(&thread, NULL, ordered_anew, (void *)(uintptr_t)i) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    for (unsigned k = 0; k < ordered.count; k++) {
      struct thing *t = &ordered.thing[k];
      bool is_destroyed = below(2);
      if (is_destroyed) REQUIRE(pthread_mutex_destroy(&t->mutex) == 0);
      if (is_destroyed) REQUIRE(pthread_rwlock_destroy(&t->rwlock) == 0);
      thing_init(t, t->kind);
    }
  }
  pthread_barrier_wait(&stays);
  return pthread_join(other, NULL);
}

/* One thread takes them in one order before there is another one, which takes them in the other, and once more in its own
 * when that one has ended. */
static int orders_before(void) {
  pthread_t thread;
  ordered_make();
  for (unsigned i = 1; i < ordered.count; i++) ordered_step(i);
  REQUIRE(pthread_create(&thread, NULL, ordered_anew, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  for (unsigned i = 1; i < ordered.count; i++) ordered_step(i);
  return 0;
}

static void *gives_back(void *ctx) {
  (void)ctx;
  pthread_mutex_unlock(&left);
  return NULL;
}

static void *takes_right_and_left(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&right);
  pthread_mutex_lock(&left);
  pthread_mutex_unlock(&left);
  pthread_mutex_unlock(&right);
  return NULL;
}

static int orders_foreign(void) {
  pthread_t thread, other;
  pthread_barrier_init(&stays, NULL, 2);
  REQUIRE(pthread_create(&other, NULL, stays_there, NULL) == 0);
  pthread_barrier_wait(&stays);
  pthread_mutex_lock(&left);
  REQUIRE(pthread_create(&thread, NULL, gives_back, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&right);
    pthread_mutex_unlock(&right);
  }
  REQUIRE(pthread_create(&thread, NULL, takes_right_and_left, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  pthread_barrier_wait(&stays);
  return pthread_join(other, NULL);
}

static void *comes_back(void *ctx) {
  const struct timespec past = {1, 0};
  (void)ctx;
  pthread_mutex_lock(&left);
  pthread_mutex_lock(&right);
  REQUIRE(pthread_cond_timedwait(&unsignalled, &left, &past) == ETIMEDOUT);
  pthread_mutex_unlock(&right);
  pthread_mutex_unlock(&left);
  return NULL;
}

static int orders_condition(void) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, comes_back, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  REQUIRE(pthread_create(&thread, NULL, comes_back, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  printf("%p %p", (void *)&left, (void *)&right);
  return 0;
}

static void *takes_two(void *ctx) {
  pthread_mutex_t **two = (pthread_mutex_t **)ctx;
  pthread_mutex_lock(two[0]);
  pthread_mutex_lock(two[1]);
  pthread_mutex_unlock(two[1]);
  pthread_mutex_unlock(two[0]);
  return NULL;
}

static int orders_memory(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t *memory = (pthread_mutex_t *)malloc(2 * sizeof *memory);
  REQUIRE(memory != NULL);
  for (int i = 0; i < 2; i++) {
    pthread_mutex_t *two[2] = {&memory[i], &memory[1 - i]};
    pthread_t thread;
    memory[0] = memory[1] = fresh; /* it might be another program's part that has got it now */
    REQUIRE(pthread_create(&thread, NULL, takes_two, two) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
  }
  printf("%p %p", (void *)&memory[0], (void *)&memory[1]);
  free(memory);
  return 0;
}

static int orders_reused(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t *two[2];
  pthread_mutex_t *memory = (pthread_mutex_t *)malloc(sizeof *memory);
  pthread_t thread;
  REQUIRE(memory != NULL && pthread_mutex_init(memory, NULL) == 0);
  for (int i = 0; i < 2; i++) {
    two[i] = memory;
    two[1 - i] = &left;
    REQUIRE(pthread_create(&thread, NULL, takes_two, two) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(pthread_mutex_destroy(memory) == 0);
    *memory = fresh; /* as a std::mutex begins there */
  }
  free(memory);
  return 0;
}

static pthread_rwlock_t read_both[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};

static void *reads_both(void *ctx) {
  long first = (long)(intptr_t)ctx;
  pthread_rwlock_rdlock(&read_both[first]);
  pthread_rwlock_rdlock(&read_both[1 - first]);
  pthread_rwlock_unlock(&read_both[1 - first]);
  pthread_rwlock_unlock(&read_both[first]);
  return NULL;
}

static int orders_reads(void) {
  for (long i = 0; i < 2; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, reads_both, (void *)(intptr_t)i) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    pthread_rwlock_wrlock(&read_both[i]);
    pthread_rwlock_unlock(&read_both[i]);
  }
  return 0;
}

/* ---- a recursive mutex that a wait gives back ---- */

static struct {
  pthread_mutex_t recursive, other;
  pthread_cond_t condition;
  atomic_bool has_come, is_over, is_back;
} depths = {.other = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};

static void *waits_with_two(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&depths.recursive);
  pthread_mutex_lock(&depths.recursive);
  depths.has_come = true;
  while (!depths.is_over) pthread_cond_wait(&depths.condition, &depths.recursive);
  depths.is_back = true;
  pthread_mutex_lock(&depths.other);
  return NULL;
}

static int depth(void) {
  pthread_mutexattr_t attributes;
  pthread_t thread;
  alarm(20);
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&depths.recursive, &attributes);
  pthread_mutex_lock(&depths.other);
  pthread_create(&thread, NULL, waits_with_two, NULL);
  while (!depths.has_come) sleep_ms(1);
  pthread_mutex_lock(&depths.recursive); /* it waits */
  depths.is_over = true;
  pthread_cond_signal(&depths.condition);
  pthread_mutex_unlock(&depths.recursive);
  while (!depths.is_back) sleep_ms(1);
  pthread_mutex_lock(&depths.recursive);
  return 9;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(void);
  } plants[] = {{"circle", circle},
                {"circles", circles},
                {"itself", itself},
                {"readers", readers},
                {"crowd", crowd},
                {"hold", hold},
                {"conditions", conditions},
                {"wrong", wrong},
                {"cancel", cancel},
                {"fork", forks},
                {"handler", handler},
                {"strict", strict},
                {"condition", condition},
                {"priority", priority},
                {"orders", orders},
                {"orders-gate", orders_gate},
                {"orders-try", orders_try},
                {"orders-timed", orders_timed},
                {"orders-alone", orders_alone},
                {"orders-again", orders_again},
                {"orders-readers", orders_readers},
                {"orders-before", orders_before},
                {"orders-condition", orders_condition},
                {"orders-foreign", orders_foreign},
                {"orders-memory", orders_memory},
                {"orders-reused", orders_reused},
                {"orders-reads", orders_reads},
                {"depth", depth},
                {"reports", reports},
                {"names", names},
                {"deaf", deaf},
                {"standstill", standstill},
                {"standstill-timed", standstill_timed},
                {"standstill-reads", standstill_reads},
                {"standstill-unknown", standstill_unknown},
                {"tiny", tiny},
                {"parent", parent}};
  random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (unsigned i = 0; random_state && i < 8; i++) (void)below(2);
  if (argc > 1 && strcmp(argv[1], "nothing") == 0) return 0;
  for (unsigned i = 0; argc > 1 && i < sizeof plants / sizeof plants[0]; i++) {
    if (strcmp(plants[i].name, argv[1]) == 0) return plants[i].run();
  }
  fprintf(stderr, "usage: planted WHAT [SEED]\n");
  return 2;
}
