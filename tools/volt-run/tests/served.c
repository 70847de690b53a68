/* served.c: what a program may do with glibc's locks, for volt-run --fair and --bypass: served WHAT [ROUNDS]
 *
 *   kinds        what each kind of mutex says to its own thread and to another one
 *   statics      static objects that four threads use for the first time at once, in memory that is used again
 *   memory       objects whose memory is freed while they are locked, and used for another one
 *   conditions   a condition, of this process or shared, with each of seven kinds of mutex, and with times
 *   processes    a mutex, a condition, a read-write lock, a semaphore and a barrier between processes; a robust mutex
 *   users        a mutex that is destroyed while a thread waits for a condition with it: EBUSY
 *   destroyed    a condition that is destroyed and freed right after its broadcast, while deadlines pass
 *   signal       a thread that is cancelled while it is signalled: the signal is not lost
 *   post         a thread that is cancelled while its semaphore is posted: the post is not lost (glibc 2.36 loses it)
 *   asynchronous a thread that is cancelled at any instruction, queued for a mutex
 *   writer       the same of a read-write lock (glibc counts it as one that waits, for ever)
 *   handler      semaphores that a signal handler posts at 5 kHz, in threads that wait and post
 *   interrupted  sem_wait() and sem_timedwait() that a handler ends, with SA_RESTART and without
 *   again        a reader that reads again while a writer waits
 *   forks        a child of a fork: while others wait, hold and post; handlers that lock before it, and unlock after it
 *   queued       a child of a fork that a handler makes, in a thread that waits, and that goes on in both
 *   handed       a child of a fork without handlers takes what another thread had been given, and not taken yet
 *   shared       children, while other threads signal a condition that processes share
 *   last         the last user of an object destroys and frees it
 *   clocks       deadlines on both clocks, that have passed and that pass
 *   barriers     rounds of 3 and of 40 threads, the barrier destroyed by the first thread that comes back
 *   readers      readers and writers: either many readers or one writer, and all of them come to an end
 *   ends         threads that end with what they hold
 *   error        errno, which calls that wait leave as it is
 *   passing      (served alone) threads that seem to wait for each other for ever, until one's deadline has passed
 *   order        (served by --fair alone) threads have a lock in the order in which they came for it
 *   lost         (glibc alone cannot) as post, until a post is lost: exits with 3 then
 * Exits with 0 when all has been as it should. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(so)                                                \
  do {                                                             \
    if (!(so)) {                                                   \
      fprintf(stderr, "served.c:%d: not so: %s\n", __LINE__, #so); \
      _exit(1);                                                    \
    }                                                              \
  } while (0)

static int rounds; /* of the command line; 0: as the test says */

static int rounds_or(int n) {
  return rounds ? rounds : n;
}

static struct timespec at_ms(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  long ns = t.tv_nsec + ms % 1000 * 1000000;
  t.tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
  t.tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
  return t;
}

static void nap_us(long us) {
  struct timespec left = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

static pthread_t start(void *(*run)(void *), void *ctx) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, run, ctx) == 0);
  return thread;
}

static void *end_of(pthread_t thread) {
  void *result;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result;
}

static char state_of(pid_t tid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
  FILE *file = fopen(path, "r");
  if (!file) return '?';
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  char *end = strrchr(text, ')');
  return end && end[1] ? end[2] : '?';
}

/* Until it has said its number, and sleeps. */
static void until_asleep(_Atomic pid_t *tid) {
  while (atomic_load(tid) == 0 || state_of(atomic_load(tid)) != 'S') sched_yield();
}

static pid_t own_tid(void) {
  return (pid_t)syscall(SYS_gettid);
}

/* ---- errno ---- */

static struct {
  pthread_mutex_t m;
  pthread_rwlock_t l;
  pthread_cond_t c;
  sem_t s;
  _Atomic pid_t tid;
} waited_for = {
    .m = PTHREAD_MUTEX_INITIALIZER, .l = PTHREAD_RWLOCK_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};

static void *keeps_errno(void *ctx) {
  struct timespec late = at_ms(CLOCK_REALTIME, 100000), past = at_ms(CLOCK_REALTIME, -10);
  (void)ctx;
  errno = ERANGE;
  atomic_store(&waited_for.tid, own_tid());
  REQUIRE(pthread_mutex_lock(&waited_for.m) == 0 && errno == ERANGE);
  REQUIRE(pthread_cond_timedwait(&waited_for.c, &waited_for.m, &past) == ETIMEDOUT);
  REQUIRE(errno == ERANGE && pthread_mutex_unlock(&waited_for.m) == 0);
  REQUIRE(pthread_rwlock_rdlock(&waited_for.l) == 0 && errno == ERANGE);
  REQUIRE(pthread_rwlock_unlock(&waited_for.l) == 0);
  REQUIRE(sem_timedwait(&waited_for.s, &late) == 0 && errno == ERANGE);
  return NULL;
}

static void until_it_waits(void) {
  until_asleep(&waited_for.tid);
  nap_us(5000); /* also the second part of a wait, and the search for deadlocks */
}

static int error_number(void) {
  sem_init(&waited_for.s, 0, 0);
  pthread_mutex_lock(&waited_for.m);
  pthread_rwlock_wrlock(&waited_for.l);
  pthread_t thread = start(keeps_errno, NULL);
  until_it_waits();
  pthread_mutex_unlock(&waited_for.m);
  until_it_waits();
  pthread_rwlock_unlock(&waited_for.l);
  until_it_waits();
  sem_post(&waited_for.s);
  end_of(thread);
  return 0;
}

/* ---- kinds of mutexes ---- */

enum kind { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, ROBUST, INHERITS, SHARED, KINDS };

static void mutex_make(pthread_mutex_t *m, enum kind kind) {
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  if (kind <= ADAPTIVE) pthread_mutexattr_settype(&a, types[kind]);
  if (kind == ROBUST) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  if (kind == INHERITS) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
  if (kind == SHARED) pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  REQUIRE(pthread_mutex_init(m, &a) == 0);
  pthread_mutexattr_destroy(&a);
}

struct asked {
  pthread_mutex_t *m;
  int tried, timed, unlocked;
};

static void *asks(void *ctx) {
  struct asked *a = (struct asked *)ctx;
  struct timespec past = at_ms(CLOCK_REALTIME, -10);
  a->tried = pthread_mutex_trylock(a->m);
  a->timed = pthread_mutex_timedlock(a->m, &past);
  a->unlocked = pthread_mutex_unlock(a->m);
  return NULL;
}

static void kind_of(enum kind kind) {
  pthread_mutex_t m;
  struct timespec past = at_ms(CLOCK_MONOTONIC, -10);
  bool is_strict = kind == RECURSIVE || kind == ERRORCHECK;
  mutex_make(&m, kind);
  if (is_strict) REQUIRE(pthread_mutex_unlock(&m) == EPERM);
  REQUIRE(pthread_mutex_lock(&m) == 0);
  struct asked a = {.m = &m};
  end_of(start(asks, &a));
  REQUIRE(a.tried == EBUSY && a.timed == ETIMEDOUT && a.unlocked == (is_strict ? EPERM : 0));
  if (!is_strict) REQUIRE(pthread_mutex_trylock(&m) == 0); /* the other one has given it back */
  int again = pthread_mutex_trylock(&m);
  REQUIRE(again == (kind == RECURSIVE ? 0 : EBUSY));
  if (again == 0) REQUIRE(pthread_mutex_unlock(&m) == 0);
  if (kind == ERRORCHECK) REQUIRE(pthread_mutex_lock(&m) == EDEADLK);
  if (kind == ERRORCHECK) REQUIRE(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past) == EDEADLK);
  if (kind == NORMAL) REQUIRE(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
  REQUIRE(pthread_mutex_destroy(&m) == EBUSY);
  REQUIRE(pthread_mutex_unlock(&m) == 0);
  REQUIRE(pthread_mutex_destroy(&m) == 0);
}

static int kinds(void) {
  for (int kind = NORMAL; kind <= ADAPTIVE; kind++) kind_of((enum kind)kind);
  sem_t s;
  int value;
  REQUIRE(sem_init(&s, 0, SEM_VALUE_MAX) == 0);
  REQUIRE(sem_post(&s) == -1 && errno == EOVERFLOW);
  REQUIRE(sem_wait(&s) == 0 && sem_getvalue(&s, &value) == 0 && value == SEM_VALUE_MAX - 1);
  REQUIRE(sem_destroy(&s) == 0 && sem_init(&s, 0, 0) == 0);
  REQUIRE(sem_trywait(&s) == -1 && errno == EAGAIN);
  REQUIRE(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1u) == -1 && errno == EINVAL);
  sem_t *named = sem_open("/volt-run-served", O_CREAT | O_EXCL, 0600, 1);
  if (named == SEM_FAILED) return 0;
  sem_unlink("/volt-run-served");
  REQUIRE(sem_wait(named) == 0 && sem_trywait(named) == -1 && sem_post(named) == 0);
  REQUIRE(sem_getvalue(named, &value) == 0 && value == 1 && sem_close(named) == 0);
  return 0;
}

/* ---- first uses ---- */

enum { FIRST = 4, FIRST_USES = 20 };

struct firsts {
  pthread_mutex_t mutex[4];
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  int count[5]; /* under each */
};

static struct firsts firsts;
static _Atomic int first_round, first_done;

static void first_uses(struct firsts *f) {
  for (int i = 0; i < FIRST_USES; i++) {
    for (int k = 0; k < 4; k++) {
      REQUIRE(pthread_mutex_lock(&f->mutex[k]) == 0);
      f->count[k]++;
      REQUIRE(pthread_mutex_unlock(&f->mutex[k]) == 0);
    }
    REQUIRE(pthread_rwlock_wrlock(&f->rwlock) == 0);
    f->count[4]++;
    REQUIRE(pthread_rwlock_unlock(&f->rwlock) == 0);
    pthread_mutex_lock(&f->mutex[0]);
    REQUIRE(pthread_cond_broadcast(&f->condition) == 0);
    struct timespec soon = at_ms(CLOCK_REALTIME, 0);
    int waited = pthread_cond_timedwait(&f->condition, &f->mutex[0], &soon);
    REQUIRE(waited == 0 || waited == ETIMEDOUT);
    pthread_mutex_unlock(&f->mutex[0]);
  }
}

static void *uses_first(void *ctx) {
  int last = *(int *)ctx;
  for (int round = 1; round <= last; round++) {
    while (atomic_load(&first_round) < round) sched_yield();
    first_uses(&firsts);
    atomic_fetch_add(&first_done, 1);
  }
  return NULL;
}

static int statics(void) {
  static const struct firsts fresh = {
      .mutex = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP},
      .rwlock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
      .condition = PTHREAD_COND_INITIALIZER};
  int last = rounds_or(100);
  pthread_t thread[FIRST];
  for (int i = 0; i < FIRST; i++) thread[i] = start(uses_first, &last);
  for (int round = 1; round <= last; round++) {
    memcpy(&firsts, &fresh, sizeof fresh);
    atomic_store(&first_done, 0);
    atomic_store(&first_round, round);
    while (atomic_load(&first_done) < FIRST) sched_yield();
    for (int k = 0; k < 5; k++) REQUIRE(firsts.count[k] == FIRST * FIRST_USES);
    if (round % 2) pthread_mutex_lock(&firsts.mutex[0]); /* and its memory is used again */
  }
  for (int i = 0; i < FIRST; i++) end_of(thread[i]);
  return 0;
}

/* ---- memory that is used again ---- */

union any {
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  sem_t semaphore;
  pthread_barrier_t barrier;
};

static void use_any(union any *a, int which) {
  struct timespec past = at_ms(CLOCK_REALTIME, -1);
  switch (which) {
    case 0:
      a->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
      REQUIRE(pthread_mutex_trylock(&a->mutex) == 0 && pthread_mutex_trylock(&a->mutex) == EBUSY);
      break;
    case 1:
      a->rwlock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
      REQUIRE(pthread_rwlock_trywrlock(&a->rwlock) == 0);
      REQUIRE(pthread_rwlock_tryrdlock(&a->rwlock) == EBUSY);
      break;
    case 2:
      REQUIRE(sem_init(&a->semaphore, 0, 1) == 0 && sem_wait(&a->semaphore) == 0);
      REQUIRE(sem_timedwait(&a->semaphore, &past) == -1 && errno == ETIMEDOUT);
      break;
    case 3:
      REQUIRE(pthread_barrier_init(&a->barrier, NULL, 1) == 0);
      REQUIRE(pthread_barrier_wait(&a->barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
      break;
    default: {
      pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; /* on the stack, never destroyed */
      a->condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
      pthread_mutex_lock(&m);
      REQUIRE(pthread_cond_timedwait(&a->condition, &m, &past) == ETIMEDOUT);
      REQUIRE(pthread_cond_signal(&a->condition) == 0);
      break; /* the mutex is locked */
    }
  }
}

static int memory(void) {
  union any *a = (union any *)malloc(sizeof *a);
  for (int i = 0; i < rounds_or(3000); i++) use_any(a, (i * 7 + i / 5) % 5);
  pthread_mutex_t moved, m = PTHREAD_MUTEX_INITIALIZER;
  REQUIRE(pthread_mutex_lock(&m) == 0 && pthread_mutex_unlock(&m) == 0);
  memcpy(&moved, &m, sizeof m); /* as realloc() does */
  REQUIRE(pthread_mutex_lock(&moved) == 0 && pthread_mutex_trylock(&m) == 0);
  REQUIRE(pthread_mutex_unlock(&moved) == 0 && pthread_mutex_unlock(&m) == 0);
  free(a);
  return 0;
}

/* ---- conditions ---- */

struct ping {
  pthread_mutex_t m;
  pthread_cond_t c[2];
  int turn;
};

static void *pongs(void *ctx) {
  struct ping *p = (struct ping *)ctx;
  for (int i = 0; i < 40; i++) {
    REQUIRE(pthread_mutex_lock(&p->m) == 0);
    while (p->turn != 1) REQUIRE(pthread_cond_wait(&p->c[1], &p->m) == 0);
    p->turn = 0;
    REQUIRE(pthread_cond_signal(&p->c[0]) == 0);
    REQUIRE(pthread_mutex_unlock(&p->m) == 0);
  }
  return NULL;
}

static void condition_with(enum kind kind, bool is_shared, clockid_t clock) {
  struct ping p = {.turn = 0};
  pthread_condattr_t a;
  pthread_condattr_init(&a);
  pthread_condattr_setpshared(&a, is_shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
  pthread_condattr_setclock(&a, clock);
  mutex_make(&p.m, kind);
  for (int i = 0; i < 2; i++) REQUIRE(pthread_cond_init(&p.c[i], &a) == 0);
  struct timespec past = at_ms(clock, -5), soon = at_ms(clock, 5), none = {1, 1000000000};
  pthread_mutex_lock(&p.m);
  REQUIRE(pthread_cond_timedwait(&p.c[0], &p.m, &none) == EINVAL);
  REQUIRE(pthread_cond_timedwait(&p.c[0], &p.m, &past) == ETIMEDOUT);
  REQUIRE(pthread_cond_timedwait(&p.c[0], &p.m, &soon) == ETIMEDOUT);
  soon = at_ms(CLOCK_MONOTONIC, 2);
  REQUIRE(pthread_cond_clockwait(&p.c[0], &p.m, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  pthread_mutex_unlock(&p.m);
  pthread_t other = start(pongs, &p);
  for (int i = 0; i < 40; i++) {
    struct timespec late = at_ms(clock, 100000);
    pthread_mutex_lock(&p.m);
    p.turn = 1;
    pthread_cond_broadcast(&p.c[1]);
    while (p.turn != 0) REQUIRE(pthread_cond_timedwait(&p.c[0], &p.m, &late) == 0);
    pthread_mutex_unlock(&p.m);
  }
  end_of(other);
  for (int i = 0; i < 2; i++) REQUIRE(pthread_cond_destroy(&p.c[i]) == 0);
  REQUIRE(pthread_mutex_destroy(&p.m) == 0);
}

static int conditions(void) {
  for (int kind = NORMAL; kind < KINDS; kind++) {
    condition_with((enum kind)kind, false, CLOCK_REALTIME);
    condition_with((enum kind)kind, false, CLOCK_MONOTONIC);
    condition_with((enum kind)kind, true, CLOCK_REALTIME);
  }
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  REQUIRE(pthread_cond_wait(&c, &strict) == EPERM);
  return 0;
}

/* ---- users of a mutex ---- */

static struct {
  pthread_mutex_t m;
  pthread_cond_t c;
  bool is_inside, is_over;
} used;

static void gives_back(void *ctx) {
  REQUIRE(pthread_mutex_unlock((pthread_mutex_t *)ctx) == 0);
}

static void *waits_with_it(void *ctx) {
  struct timespec past = at_ms(CLOCK_REALTIME, -10);
  REQUIRE(pthread_mutex_lock(&used.m) == 0);
  pthread_cleanup_push(gives_back, &used.m);
  REQUIRE(pthread_cond_timedwait(&used.c, &used.m, &past) == ETIMEDOUT);
  used.is_inside = true;
  while (!used.is_over) REQUIRE(pthread_cond_wait(&used.c, &used.m) == 0);
  pthread_cleanup_pop(1);
  return ctx;
}

static void used_by_condition(enum kind kind, bool is_shared, bool is_cancelled) {
  pthread_condattr_t a;
  memset(&used, 0, sizeof used);
  pthread_condattr_init(&a);
  pthread_condattr_setpshared(&a, is_shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
  REQUIRE(pthread_cond_init(&used.c, &a) == 0);
  mutex_make(&used.m, kind);
  pthread_t thread = start(waits_with_it, NULL);
  for (bool is_inside = false; !is_inside; sched_yield()) {
    pthread_mutex_lock(&used.m);
    is_inside = used.is_inside;
    pthread_mutex_unlock(&used.m);
  } /* it has given the mutex back, so it waits for the condition */
  REQUIRE(pthread_mutex_destroy(&used.m) == EBUSY);
  pthread_mutex_lock(&used.m);
  used.is_over = true;
  pthread_mutex_unlock(&used.m);
  if (is_cancelled) {
    pthread_cancel(thread);
  } else {
    pthread_cond_signal(&used.c);
  }
  REQUIRE(end_of(thread) == (is_cancelled ? PTHREAD_CANCELED : NULL));
  REQUIRE(pthread_mutex_destroy(&used.m) == 0 && pthread_cond_destroy(&used.c) == 0);
}

static int users(void) {
  for (int kind = NORMAL; kind < KINDS; kind++) {
    if (kind == ROBUST) continue; /* glibc does not count those */
    for (int how = 0; how < 4; how++) used_by_condition((enum kind)kind, how & 1, how & 2);
  }
  return 0;
}

/* ---- processes ---- */

struct shared {
  pthread_mutex_t mutex, robust;
  pthread_cond_t condition;
  pthread_rwlock_t rwlock;
  pthread_barrier_t barrier;
  sem_t semaphore;
  int count, turn;
};

static void shared_make(struct shared *s) {
  pthread_mutexattr_t ma;
  pthread_condattr_t ca;
  pthread_rwlockattr_t ra;
  pthread_barrierattr_t ba;
  pthread_mutexattr_init(&ma);
  pthread_condattr_init(&ca);
  pthread_rwlockattr_init(&ra);
  pthread_barrierattr_init(&ba);
  pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
  pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
  REQUIRE(pthread_mutex_init(&s->mutex, &ma) == 0);
  pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
  REQUIRE(pthread_mutex_init(&s->robust, &ma) == 0);
  REQUIRE(pthread_cond_init(&s->condition, &ca) == 0);
  REQUIRE(pthread_rwlock_init(&s->rwlock, &ra) == 0);
  REQUIRE(pthread_barrier_init(&s->barrier, &ba, 2) == 0);
  REQUIRE(sem_init(&s->semaphore, 1, 0) == 0);
}

static void shared_use(struct shared *s, int own) {
  for (int i = 0; i < 100; i++) {
    int waited = pthread_barrier_wait(&s->barrier);
    REQUIRE(waited == 0 || waited == PTHREAD_BARRIER_SERIAL_THREAD);
    pthread_mutex_lock(&s->mutex);
    while (s->turn != own) pthread_cond_wait(&s->condition, &s->mutex);
    s->turn = !own;
    pthread_cond_signal(&s->condition);
    pthread_mutex_unlock(&s->mutex);
    pthread_rwlock_wrlock(&s->rwlock);
    s->count++;
    pthread_rwlock_unlock(&s->rwlock);
    if (own) {
      sem_post(&s->semaphore);
    } else {
      REQUIRE(sem_wait(&s->semaphore) == 0);
    }
  }
}

static int processes(void) {
  struct shared *s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared_make(s);
  pid_t child = fork();
  if (child == 0) {
    shared_use(s, 1);
    pthread_mutex_lock(&s->robust);
    _exit(0);
  }
  int status;
  shared_use(s, 0);
  REQUIRE(waitpid(child, &status, 0) == child && status == 0 && s->count == 200);
  REQUIRE(pthread_mutex_lock(&s->robust) == EOWNERDEAD);
  REQUIRE(pthread_mutex_consistent(&s->robust) == 0 && pthread_mutex_unlock(&s->robust) == 0);
  return 0;
}

/* ---- destroyed after a broadcast ---- */

struct gone {
  pthread_cond_t condition;
  int inside;
};

static pthread_mutex_t gone_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gone_all = PTHREAD_COND_INITIALIZER;

static void *waits_for_gone(void *ctx) {
  struct gone *g = (struct gone *)ctx;
  struct timespec soon = at_ms(CLOCK_REALTIME, 1);
  pthread_mutex_lock(&gone_mutex);
  bool is_timed = g->inside % 2;
  if (++g->inside == 6) pthread_cond_signal(&gone_all);
  if (is_timed) {
    (void)pthread_cond_timedwait(&g->condition, &gone_mutex, &soon);
  } else {
    pthread_cond_wait(&g->condition, &gone_mutex);
  } /* *g may be gone */
  pthread_mutex_unlock(&gone_mutex);
  return NULL;
}

static int destroyed(void) {
  struct gone *g = (struct gone *)malloc(sizeof *g);
  for (int i = 0; i < rounds_or(150); i++) {
    pthread_t thread[6];
    memset(g, 0, sizeof *g);
    REQUIRE(pthread_cond_init(&g->condition, NULL) == 0);
    for (int k = 0; k < 6; k++) thread[k] = start(waits_for_gone, g);
    pthread_mutex_lock(&gone_mutex);
    while (g->inside < 6) pthread_cond_wait(&gone_all, &gone_mutex);
    nap_us(i % 10 * 200); /* their deadline comes now */
    REQUIRE(pthread_cond_broadcast(&g->condition) == 0);
    REQUIRE(pthread_cond_destroy(&g->condition) == 0);
    memset(g, 0xee, sizeof *g);
    if (i % 2) REQUIRE(pthread_cond_init(&g->condition, NULL) == 0); /* one more at once */
    pthread_mutex_unlock(&gone_mutex);
    for (int k = 0; k < 6; k++) end_of(thread[k]);
    if (i % 2) REQUIRE(pthread_cond_destroy(&g->condition) == 0);
  }
  free(g);
  return 0;
}

/* ---- cancels ---- */

static struct {
  pthread_mutex_t m;
  pthread_cond_t c;
  sem_t s;
  int items, taken; /* under m */
  _Atomic int ready;
} race = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};

static void race_unlock(void *ctx) {
  (void)ctx;
  REQUIRE(pthread_mutex_trylock(&race.m) == EBUSY); /* it has it again */
  pthread_mutex_unlock(&race.m);
}

/* ctx: says that it was taken. What a join says may be wrong of it: glibc's signal of a cancel may come when the thread is
 * about to end by itself, and then it counts as cancelled, too. */
static void *takes_item(void *ctx) {
  pthread_mutex_lock(&race.m);
  pthread_cleanup_push(race_unlock, NULL);
  atomic_fetch_add(&race.ready, 1);
  while (race.items == 0) pthread_cond_wait(&race.c, &race.m);
  race.items--;
  race.taken++;
  atomic_store((_Atomic(bool) *)ctx, true);
  pthread_cleanup_pop(1);
  return NULL;
}

/* Two wait; one is cancelled as one signal comes: the item is taken by the other one, or by it. */
static int signal_and_cancel(void) {
  for (int i = 0; i < rounds_or(400); i++) {
    atomic_store(&race.ready, 0);
    race.items = race.taken = 0;
    _Atomic(bool) a_has = false, b_has = false;
    pthread_t a = start(takes_item, &a_has), b = start(takes_item, &b_has);
    while (atomic_load(&race.ready) < 2) sched_yield();
    pthread_mutex_lock(&race.m); /* both wait */
    race.items = 1;
    if (i % 3 == 0) pthread_cancel(a);
    pthread_cond_signal(&race.c);
    if (i % 3 == 1) pthread_cancel(a);
    pthread_mutex_unlock(&race.m);
    if (i % 3 == 2) pthread_cancel(a);
    (void)end_of(a);
    if (a_has) { /* then the other one gets one of its own */
      pthread_mutex_lock(&race.m);
      race.items++;
      pthread_cond_signal(&race.c);
      pthread_mutex_unlock(&race.m);
    }
    REQUIRE(end_of(b) == NULL && b_has);
    REQUIRE(race.items == 0 && race.taken == (a_has ? 2 : 1));
  }
  return 0;
}

/* ctx: as for takes_item(). */
static void *takes_post(void *ctx) {
  atomic_fetch_add(&race.ready, 1);
  while (sem_wait(&race.s) != 0) REQUIRE(errno == EINTR);
  atomic_store((_Atomic(bool) *)ctx, true);
  return NULL;
}

/* Two wait; one is cancelled as one post comes. Returns whether the post was lost. */
static bool post_is_lost(int i) {
  struct timespec late = at_ms(CLOCK_MONOTONIC, 100000);
  atomic_store(&race.ready, 0);
  REQUIRE(sem_init(&race.s, 0, 0) == 0);
  _Atomic(bool) a_has = false, b_has = false;
  pthread_t a = start(takes_post, &a_has), b = start(takes_post, &b_has);
  while (atomic_load(&race.ready) < 2) sched_yield();
  if (i % 2) nap_us(i % 100);
  if (i % 3 == 0) pthread_cancel(a);
  sem_post(&race.s);
  if (i % 3 != 0) pthread_cancel(a);
  (void)end_of(a);
  if (a_has) sem_post(&race.s);
  if (pthread_clockjoin_np(b, NULL, CLOCK_MONOTONIC, &late) != 0) return true;
  int value;
  REQUIRE(sem_getvalue(&race.s, &value) == 0 && value == 0 && sem_destroy(&race.s) == 0);
  return false;
}

static int post_and_cancel(void) {
  for (int i = 0; i < rounds_or(400); i++) REQUIRE(!post_is_lost(i));
  return 0;
}

static int lost(void) {
  for (int i = 0; i < rounds_or(3000); i++) {
    if (post_is_lost(i)) return 3;
  }
  return 0;
}

static struct {
  pthread_mutex_t m;
  pthread_rwlock_t l;
  _Atomic pid_t tid;
} anywhere = {.m = PTHREAD_MUTEX_INITIALIZER, .l = PTHREAD_RWLOCK_INITIALIZER};

static void *queues_anywhere(void *ctx) {
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  atomic_store(&anywhere.tid, own_tid());
  if (ctx) {
    pthread_rwlock_wrlock(&anywhere.l);
  } else {
    pthread_mutex_lock(&anywhere.m);
  }
  for (;;) sched_yield();
  return NULL;
}

static void *locks_it(void *ctx) {
  REQUIRE(pthread_mutex_lock(&anywhere.m) == 0 && pthread_mutex_unlock(&anywhere.m) == 0);
  return ctx;
}

static void *writes_anywhere(void *ctx) {
  REQUIRE(pthread_rwlock_wrlock(&anywhere.l) == 0 && pthread_rwlock_unlock(&anywhere.l) == 0);
  return ctx;
}

static void cancel_anywhere(bool writes, bool is_late) {
  pthread_mutex_lock(&anywhere.m);
  pthread_rwlock_rdlock(&anywhere.l);
  atomic_store(&anywhere.tid, 0);
  pthread_t thread = start(queues_anywhere, writes ? &anywhere : NULL);
  pthread_t later = start(writes ? writes_anywhere : locks_it, NULL);
  until_asleep(&anywhere.tid);
  if (is_late) nap_us(3000); /* it is past its first 2 ms */
  pthread_cancel(thread);
  REQUIRE(end_of(thread) == PTHREAD_CANCELED);
  pthread_mutex_unlock(&anywhere.m);
  pthread_rwlock_unlock(&anywhere.l);
  end_of(later);
}

static int asynchronous(void) {
  for (int i = 0; i < rounds_or(60); i++) cancel_anywhere(false, i % 2);
  return 0;
}

static int writer(void) {
  for (int i = 0; i < rounds_or(60); i++) cancel_anywhere(true, i % 2);
  return 0;
}

/* ---- signals ---- */

static sem_t posted, passed_on;
static _Atomic int posts;

static void post(int signal) {
  int error = errno;
  (void)signal;
  atomic_fetch_add(&posts, 1);
  REQUIRE(sem_post(&posted) == 0);
  errno = error;
}

static void sem_take(sem_t *s) {
  while (sem_wait(s) != 0) REQUIRE(errno == EINTR);
}

static void *passes_on(void *ctx) {
  for (int left = *(int *)ctx; left > 0; left--) {
    sem_take(&posted);
    REQUIRE(sem_post(&passed_on) == 0);
  }
  return NULL;
}

static int handler(void) {
  int each = rounds_or(500);
  const struct sigaction action = {.sa_handler = post, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  sem_init(&posted, 0, 0);
  sem_init(&passed_on, 0, 0);
  sigaction(SIGALRM, &action, NULL);
  pthread_t a = start(passes_on, &each), b = start(passes_on, &each);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 2 * each; i++) sem_take(&passed_on);
  setitimer(ITIMER_REAL, &never, NULL);
  end_of(a);
  end_of(b);
  int value;
  REQUIRE(sem_getvalue(&posted, &value) == 0 && value == atomic_load(&posts) - 2 * each);
  return 0;
}

static void ignore(int signal) {
  (void)signal;
}

static struct {
  _Atomic pid_t tid;
  _Atomic int ended;
  bool is_timed;
  sem_t never;
} interrupt;

static void *is_interrupted(void *ctx) {
  struct timespec late = at_ms(CLOCK_REALTIME, 100000);
  (void)ctx;
  atomic_store(&interrupt.tid, own_tid());
  int result =
      interrupt.is_timed ? sem_timedwait(&interrupt.never, &late) : sem_wait(&interrupt.never);
  atomic_store(&interrupt.ended, result == 0 ? 1 : errno == EINTR ? 2 : 3);
  return NULL;
}

static int end_by_signal(bool restarts, bool is_timed) {
  const struct sigaction action = {.sa_handler = ignore, .sa_flags = restarts ? SA_RESTART : 0};
  sigaction(SIGUSR1, &action, NULL);
  sem_init(&interrupt.never, 0, 0);
  atomic_store(&interrupt.tid, 0);
  atomic_store(&interrupt.ended, 0);
  interrupt.is_timed = is_timed;
  pthread_t thread = start(is_interrupted, NULL);
  until_asleep(&interrupt.tid);
  for (int i = 0; i < (restarts ? 50 : 100000) && atomic_load(&interrupt.ended) == 0; i++) {
    pthread_kill(thread, SIGUSR1);
    nap_us(1000);
  }
  if (atomic_load(&interrupt.ended) == 0) sem_post(&interrupt.never);
  end_of(thread);
  return atomic_load(&interrupt.ended);
}

static int interrupted(void) {
  REQUIRE(end_by_signal(false, false) == 2);
  REQUIRE(end_by_signal(false, true) == 2);
  REQUIRE(end_by_signal(true, false) == 1);
  return 0;
}

/* ---- read again ---- */

static struct {
  pthread_rwlock_t l;
  _Atomic pid_t tid;
  _Atomic bool has_written;
} reread;

static void *writes_it(void *ctx) {
  atomic_store(&reread.tid, own_tid());
  REQUIRE(pthread_rwlock_wrlock(&reread.l) == 0);
  atomic_store(&reread.has_written, true);
  REQUIRE(pthread_rwlock_unlock(&reread.l) == 0);
  return ctx;
}

static void read_again(int preference) {
  pthread_rwlockattr_t a;
  pthread_rwlockattr_init(&a);
  pthread_rwlockattr_setkind_np(&a, preference);
  REQUIRE(pthread_rwlock_init(&reread.l, &a) == 0);
  atomic_store(&reread.tid, 0);
  atomic_store(&reread.has_written, false);
  struct timespec late = at_ms(CLOCK_MONOTONIC, 100000);
  REQUIRE(pthread_rwlock_rdlock(&reread.l) == 0);
  pthread_t writer = start(writes_it, NULL);
  until_asleep(&reread.tid);
  REQUIRE(pthread_rwlock_rdlock(&reread.l) == 0);
  REQUIRE(pthread_rwlock_tryrdlock(&reread.l) == 0);
  REQUIRE(pthread_rwlock_clockrdlock(&reread.l, CLOCK_MONOTONIC, &late) == 0);
  for (int i = 0; i < 3; i++) REQUIRE(pthread_rwlock_unlock(&reread.l) == 0);
  REQUIRE(!atomic_load(&reread.has_written));
  REQUIRE(pthread_rwlock_unlock(&reread.l) == 0);
  end_of(writer);
  REQUIRE(pthread_rwlock_wrlock(&reread.l) == 0);
  REQUIRE(pthread_rwlock_rdlock(&reread.l) == EDEADLK);
  REQUIRE(pthread_rwlock_wrlock(&reread.l) == EDEADLK);
  REQUIRE(pthread_rwlock_tryrdlock(&reread.l) == EBUSY);
  REQUIRE(pthread_rwlock_unlock(&reread.l) == 0 && pthread_rwlock_destroy(&reread.l) == 0);
}

static int again(void) {
  for (int i = 0; i < rounds_or(10); i++) {
    read_again(PTHREAD_RWLOCK_PREFER_READER_NP);
    read_again(PTHREAD_RWLOCK_PREFER_WRITER_NP);
  }
  return 0;
}

/* ---- forks ---- */

static struct {
  pthread_mutex_t mutex, recursive, strict, of_other;
  pthread_rwlock_t written, read;
  sem_t semaphore;
  pthread_cond_t condition;
  _Atomic pid_t tid;
  _Atomic bool is_over;
} forked;

static void *waits_for_forked(void *ctx) {
  atomic_store(&forked.tid, own_tid());
  switch ((int)(intptr_t)ctx) {
    case 0:
      pthread_mutex_lock(&forked.mutex);
      pthread_mutex_unlock(&forked.mutex);
      break;
    case 1:
      pthread_mutex_lock(&forked.recursive);
      pthread_mutex_unlock(&forked.recursive);
      break;
    case 2:
      pthread_rwlock_rdlock(&forked.written);
      pthread_rwlock_unlock(&forked.written);
      break;
    case 3:
      pthread_rwlock_wrlock(&forked.read);
      pthread_rwlock_unlock(&forked.read);
      break;
    case 4: sem_take(&forked.semaphore); break;
    case 5:
      pthread_mutex_lock(&forked.strict);
      pthread_mutex_unlock(&forked.strict);
      break;
    default:
      pthread_mutex_lock(&forked.of_other);
      while (!atomic_load(&forked.is_over)) pthread_cond_wait(&forked.condition, &forked.of_other);
      pthread_mutex_unlock(&forked.of_other);
      break;
  }
  return NULL;
}

/* What the thread holds it holds in the child, and none waits there. */
static void in_child(void) {
  REQUIRE(pthread_mutex_trylock(&forked.mutex) == EBUSY);
  REQUIRE(pthread_mutex_unlock(&forked.mutex) == 0 && pthread_mutex_lock(&forked.mutex) == 0);
  REQUIRE(pthread_mutex_unlock(&forked.mutex) == 0 && pthread_mutex_trylock(&forked.mutex) == 0);
  REQUIRE(pthread_rwlock_unlock(&forked.written) == 0);
  if (getenv("VOLT_RUN_SERVE")) /* glibc's still counts the threads that waited */
    REQUIRE(pthread_rwlock_tryrdlock(&forked.written) == 0);
  REQUIRE(pthread_rwlock_unlock(&forked.read) == 0);
  REQUIRE(sem_post(&forked.semaphore) == 0 && sem_wait(&forked.semaphore) == 0);
  REQUIRE(pthread_cond_broadcast(&forked.condition) == 0);
  struct timespec soon = at_ms(CLOCK_REALTIME, 1);
  REQUIRE(pthread_mutex_lock(&forked.of_other) == 0);
  REQUIRE(pthread_cond_timedwait(&forked.condition, &forked.of_other, &soon) == ETIMEDOUT);
  REQUIRE(pthread_mutex_unlock(&forked.of_other) == 0);
  if (getenv("VOLT_RUN_SERVE")) REQUIRE(pthread_mutex_destroy(&forked.of_other) == 0);
  end_of(start(locks_it, NULL));
  end_of(start(writes_anywhere, NULL));
  _exit(0);
}

static void forked_before(void) {
  pthread_mutex_lock(&forked.mutex);
}

static void forked_after(void) {
  pthread_mutex_unlock(&forked.mutex);
}

static void child_ends_well(pid_t child) {
  int status;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Children while other threads lock and post all the time; a handler takes the mutex before. */
static void *is_at_work(void *ctx) {
  while (!atomic_load(&forked.is_over)) {
    pthread_mutex_lock(&forked.mutex);
    pthread_mutex_unlock(&forked.mutex);
    sem_post(&forked.semaphore);
    sem_take(&forked.semaphore);
    pthread_rwlock_rdlock(&forked.read);
    pthread_rwlock_unlock(&forked.read);
  }
  return ctx;
}

static void forks_at_work(int count) {
  pthread_t thread[3];
  atomic_store(&forked.is_over, false);
  for (int i = 0; i < 3; i++) thread[i] = start(is_at_work, NULL);
  for (int i = 0; i < count; i++) {
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 10; k++) {
        REQUIRE(pthread_mutex_lock(&forked.mutex) == 0 && pthread_mutex_unlock(&forked.mutex) == 0);
        REQUIRE(sem_post(&forked.semaphore) == 0 && sem_wait(&forked.semaphore) == 0);
      }
      _exit(0);
    }
    child_ends_well(child);
  }
  atomic_store(&forked.is_over, true);
  for (int i = 0; i < 3; i++) end_of(thread[i]);
}

static void forked_make(void) {
  mutex_make(&forked.mutex, NORMAL);
  mutex_make(&forked.recursive, RECURSIVE);
  mutex_make(&forked.strict, ERRORCHECK);
  mutex_make(&forked.of_other, NORMAL);
  pthread_rwlock_init(&forked.written, NULL);
  pthread_rwlock_init(&forked.read, NULL);
  sem_init(&forked.semaphore, 0, 0);
  pthread_cond_init(&forked.condition, NULL);
  pthread_mutex_lock(&forked.mutex);
  pthread_mutex_lock(&forked.recursive);
  pthread_mutex_lock(&forked.recursive);
  pthread_mutex_lock(&forked.strict);
  pthread_rwlock_wrlock(&forked.written);
  pthread_rwlock_rdlock(&forked.read);
}

static int forks(void) {
  pthread_t thread[7];
  forked_make();
  for (int i = 0; i < 7; i++) {
    atomic_store(&forked.tid, 0);
    thread[i] = start(waits_for_forked, (void *)(intptr_t)i);
    until_asleep(&forked.tid);
  }
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    if (child == 0) in_child();
    child_ends_well(child);
  }
  pthread_mutex_unlock(&forked.mutex); /* in the parent all is as it was */
  pthread_mutex_unlock(&forked.recursive);
  pthread_mutex_unlock(&forked.recursive);
  pthread_mutex_unlock(&forked.strict);
  pthread_rwlock_unlock(&forked.written);
  pthread_rwlock_unlock(&forked.read);
  sem_post(&forked.semaphore);
  pthread_mutex_lock(&forked.of_other);
  atomic_store(&forked.is_over, true);
  pthread_cond_broadcast(&forked.condition);
  pthread_mutex_unlock(&forked.of_other);
  for (int i = 0; i < 7; i++) end_of(thread[i]);
  pthread_atfork(forked_before, forked_after, forked_after);
  forks_at_work(rounds_or(60));
  return 0;
}

/* ---- the last one frees ---- */

struct owned {
  pthread_mutex_t m;
  int users;
};

static void *is_perhaps_last(void *ctx) {
  struct owned *o = (struct owned *)ctx;
  REQUIRE(pthread_mutex_lock(&o->m) == 0);
  bool is_last = --o->users == 0;
  REQUIRE(pthread_mutex_unlock(&o->m) == 0);
  if (!is_last) return NULL;
  REQUIRE(pthread_mutex_destroy(&o->m) == 0);
  memset(o, 0xdd, sizeof *o);
  free(o);
  return NULL;
}

static void *posts_once(void *ctx) {
  REQUIRE(sem_post((sem_t *)ctx) == 0);
  return NULL;
}

static int last_one(void) {
  for (int i = 0; i < rounds_or(200); i++) {
    pthread_t thread[4];
    struct owned *o = (struct owned *)malloc(sizeof *o);
    mutex_make(&o->m, (enum kind)(i % 4));
    o->users = 4;
    pthread_mutex_lock(&o->m);
    for (int k = 0; k < 4; k++) thread[k] = start(is_perhaps_last, o);
    pthread_mutex_unlock(&o->m);
    for (int k = 0; k < 4; k++) end_of(thread[k]);
    sem_t *s = (sem_t *)malloc(sizeof *s);
    sem_init(s, 0, 0);
    thread[0] = start(posts_once, s);
    sem_take(s);
    REQUIRE(sem_destroy(s) == 0);
    memset(s, 0xdd, sizeof *s);
    free(s);
    end_of(thread[0]);
  }
  return 0;
}

/* ---- clocks ---- */

static struct {
  pthread_mutex_t m;
  pthread_rwlock_t l;
  sem_t s;
} timed = {.m = PTHREAD_MUTEX_INITIALIZER, .l = PTHREAD_RWLOCK_INITIALIZER};

static void *waits_by(void *ctx) {
  clockid_t clock = *(clockid_t *)ctx;
  for (int ms = -20; ms <= 20; ms += 20) {
    struct timespec until = at_ms(clock, ms), now;
    REQUIRE(pthread_mutex_clocklock(&timed.m, clock, &until) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_clockrdlock(&timed.l, clock, &until) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_clockwrlock(&timed.l, clock, &until) == ETIMEDOUT);
    REQUIRE(sem_clockwait(&timed.s, clock, &until) == -1 && errno == ETIMEDOUT);
    clock_gettime(clock, &now);
    REQUIRE(now.tv_sec > until.tv_sec ||
            (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
  }
  struct timespec until = at_ms(CLOCK_REALTIME, 5), long_ago = {-1, 0};
  REQUIRE(pthread_mutex_timedlock(&timed.m, &until) == ETIMEDOUT);
  REQUIRE(pthread_rwlock_timedrdlock(&timed.l, &until) == ETIMEDOUT);
  REQUIRE(pthread_rwlock_timedwrlock(&timed.l, &until) == ETIMEDOUT);
  REQUIRE(sem_timedwait(&timed.s, &until) == -1 && errno == ETIMEDOUT);
  REQUIRE(pthread_mutex_timedlock(&timed.m, &long_ago) == ETIMEDOUT);
  return NULL;
}

static int clocks(void) {
  clockid_t clock[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
  sem_init(&timed.s, 0, 0);
  pthread_mutex_lock(&timed.m);
  pthread_rwlock_wrlock(&timed.l);
  for (int i = 0; i < 2; i++) end_of(start(waits_by, &clock[i]));
  struct timespec late = at_ms(CLOCK_MONOTONIC, 100000);
  pthread_mutex_unlock(&timed.m);
  pthread_rwlock_unlock(&timed.l);
  sem_post(&timed.s);
  REQUIRE(pthread_mutex_clocklock(&timed.m, CLOCK_MONOTONIC, &late) == 0);
  REQUIRE(pthread_rwlock_clockwrlock(&timed.l, CLOCK_MONOTONIC, &late) == 0);
  REQUIRE(sem_clockwait(&timed.s, CLOCK_MONOTONIC, &late) == 0);
  return 0;
}

/* ---- barriers ---- */

static struct {
  pthread_barrier_t b;
  _Atomic int leaders;
  int rounds;
} wall;

static void *arrives(void *ctx) {
  for (int i = 0; i < wall.rounds; i++) {
    int result = pthread_barrier_wait(&wall.b);
    REQUIRE(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result != 0) atomic_fetch_add(&wall.leaders, 1);
  }
  return ctx;
}

static void barrier_of(unsigned count, int times) {
  pthread_t thread[40];
  wall.rounds = times;
  atomic_store(&wall.leaders, 0);
  REQUIRE(pthread_barrier_init(&wall.b, NULL, count) == 0);
  for (unsigned i = 1; i < count; i++) thread[i] = start(arrives, NULL);
  arrives(NULL);
  REQUIRE(pthread_barrier_destroy(&wall.b) == 0); /* this thread is perhaps the first */
  memset(&wall.b, 0xdd, sizeof wall.b);
  for (unsigned i = 1; i < count; i++) end_of(thread[i]);
  REQUIRE(atomic_load(&wall.leaders) == times);
}

static int barriers(void) {
  REQUIRE(pthread_barrier_init(&wall.b, NULL, 0) == EINVAL);
  for (int i = 0; i < 10; i++) barrier_of(3, rounds_or(50));
  for (int i = 0; i < 10; i++) barrier_of(40, 3);
  return 0;
}

/* ---- readers and writers ---- */

static struct {
  pthread_rwlock_t l;
  _Atomic int readers, writers;
  int count, each;
} book = {.l = PTHREAD_RWLOCK_INITIALIZER};

static void *reads_and_writes(void *ctx) {
  unsigned chance = (unsigned)(uintptr_t)ctx;
  for (int i = 0; i < book.each; i++) {
    bool writes = (chance = chance * 1103515245u + 12345u) >> 28 == 0;
    REQUIRE((writes ? pthread_rwlock_wrlock(&book.l) : pthread_rwlock_rdlock(&book.l)) == 0);
    atomic_fetch_add(writes ? &book.writers : &book.readers, 1);
    REQUIRE(atomic_load(&book.writers) == (writes ? 1 : 0));
    if (writes) REQUIRE(atomic_load(&book.readers) == 0);
    if (writes) book.count++;
    atomic_fetch_sub(writes ? &book.writers : &book.readers, 1);
    REQUIRE(pthread_rwlock_unlock(&book.l) == 0);
  }
  return NULL;
}

static int readers(void) {
  pthread_t thread[6];
  book.each = rounds_or(3000);
  for (int i = 0; i < 6; i++) thread[i] = start(reads_and_writes, (void *)(uintptr_t)(i + 1));
  for (int i = 0; i < 6; i++) end_of(thread[i]);
  return 0;
}

/* ---- threads that end with what they hold ---- */

static union any ended;

static void *ends_with(void *ctx) {
  switch ((int)(intptr_t)ctx) {
    case 0: pthread_mutex_lock(&ended.mutex); break;
    case 1: pthread_rwlock_wrlock(&ended.rwlock); break;
    default: pthread_rwlock_rdlock(&ended.rwlock); break;
  }
  pthread_exit(NULL);
}

static int ends(void) {
  for (int i = 0; i < rounds_or(20); i++) {
    struct timespec past = at_ms(CLOCK_REALTIME, -1);
    mutex_make(&ended.mutex, NORMAL);
    end_of(start(ends_with, (void *)0));
    REQUIRE(pthread_mutex_timedlock(&ended.mutex, &past) == ETIMEDOUT);
    REQUIRE(pthread_mutex_destroy(&ended.mutex) == EBUSY);
    REQUIRE(pthread_mutex_unlock(&ended.mutex) == 0); /* by another thread */
    REQUIRE(pthread_mutex_lock(&ended.mutex) == 0);
    for (int how = 1; how <= 2; how++) {
      REQUIRE(pthread_rwlock_init(&ended.rwlock, NULL) == 0);
      end_of(start(ends_with, (void *)(intptr_t)how));
      REQUIRE(pthread_rwlock_timedwrlock(&ended.rwlock, &past) == ETIMEDOUT);
      REQUIRE(pthread_rwlock_destroy(&ended.rwlock) == 0);
    }
  }
  return 0;
}

/* ---- order ---- */

enum { ORDERED = 12 };
static struct {
  pthread_mutex_t m;
  pthread_rwlock_t l;
  sem_t s;
  int which, came[ORDERED], count;
  _Atomic pid_t tid;
} line = {.m = PTHREAD_MUTEX_INITIALIZER, .l = PTHREAD_RWLOCK_INITIALIZER};

static void *stands_in_line(void *ctx) {
  int own = (int)(intptr_t)ctx, which = line.which;
  struct timespec late = at_ms(CLOCK_MONOTONIC, 100000);
  atomic_store(&line.tid, own_tid());
  if (which == 0 && own % 2) pthread_mutex_lock(&line.m);
  if (which == 0 && own % 2 == 0) pthread_mutex_clocklock(&line.m, CLOCK_MONOTONIC, &late);
  if (which == 1) pthread_rwlock_wrlock(&line.l);
  if (which == 2) sem_take(&line.s);
  line.came[line.count++] = own;
  if (which == 0) pthread_mutex_unlock(&line.m);
  if (which == 1) pthread_rwlock_unlock(&line.l);
  if (which == 2) sem_post(&line.s);
  return NULL;
}

static int order(void) {
  for (line.which = 0; line.which < 3; line.which++) {
    pthread_t thread[ORDERED];
    line.count = 0;
    sem_init(&line.s, 0, 0);
    pthread_mutex_lock(&line.m);
    pthread_rwlock_wrlock(&line.l);
    for (int i = 0; i < ORDERED; i++) {
      atomic_store(&line.tid, 0);
      thread[i] = start(stands_in_line, (void *)(intptr_t)i);
      until_asleep(&line.tid);
    }
    nap_us(150000); /* the search for deadlocks has been there, too: all have kept their places */
    pthread_mutex_unlock(&line.m);
    pthread_rwlock_unlock(&line.l);
    sem_post(&line.s);
    for (int i = 0; i < ORDERED; i++) end_of(thread[i]);
    for (int i = 0; i < ORDERED; i++) REQUIRE(line.came[i] == i);
  }
  return 0;
}

/* ---- forks in handlers, and of what processes share ---- */

static struct {
  pthread_mutex_t m, of_condition;
  pthread_rwlock_t l;
  pthread_cond_t c;
  sem_t s;
  _Atomic pid_t tid, child; /* child: 0 in that process */
} queued = {.m = PTHREAD_MUTEX_INITIALIZER,
            .of_condition = PTHREAD_MUTEX_INITIALIZER,
            .l = PTHREAD_RWLOCK_INITIALIZER,
            .c = PTHREAD_COND_INITIALIZER};

static void forks_in_handler(int number) {
  (void)number;
  atomic_store(&queued.child, fork());
}

/* In the child: what others held is held, or free where they only read; what a signal ends has ended. */
static void queued_waits(int which) {
  struct timespec late = at_ms(CLOCK_REALTIME, 300);
  int result = 0;
  if (which == 0) result = pthread_mutex_timedlock(&queued.m, &late);
  if (which == 1) result = pthread_rwlock_timedwrlock(&queued.l, &late);
  if (which == 2) result = sem_wait(&queued.s) == 0 ? 0 : errno;
  if (which == 3) pthread_mutex_lock(&queued.of_condition);
  if (which == 3) result = pthread_cond_timedwait(&queued.c, &queued.of_condition, &late);
  if (which == 3) REQUIRE(pthread_mutex_unlock(&queued.of_condition) == 0);
  if (which == 2) REQUIRE(result == EINTR);
  if (which == 0) REQUIRE(result == ETIMEDOUT);
  if (which == 1 && result == 0) REQUIRE(pthread_rwlock_unlock(&queued.l) == 0);
  REQUIRE(result == 0 || result == ETIMEDOUT || result == EINTR);
}

/* All of them once more: the queues are sound. */
static void queued_in_child(void) {
  struct timespec past = at_ms(CLOCK_REALTIME, -10);
  alarm(60);
  REQUIRE(pthread_mutex_timedlock(&queued.m, &past) == ETIMEDOUT);
  REQUIRE(sem_post(&queued.s) == 0 && sem_wait(&queued.s) == 0);
  REQUIRE(pthread_mutex_lock(&queued.of_condition) == 0 && pthread_cond_signal(&queued.c) == 0);
  REQUIRE(pthread_cond_timedwait(&queued.c, &queued.of_condition, &past) == ETIMEDOUT);
  _exit(0);
}

static void *is_queued(void *ctx) {
  atomic_store(&queued.tid, own_tid());
  queued_waits((int)(intptr_t)ctx);
  while (atomic_load(&queued.child) == -1) sched_yield(); /* the deadline was first */
  if (atomic_load(&queued.child) == 0) queued_in_child();
  return NULL;
}

static int queued_forks(void) {
  const struct sigaction forks_there = {.sa_handler = forks_in_handler};
  sigaction(SIGUSR1, &forks_there, NULL);
  sem_init(&queued.s, 0, 0);
  pthread_mutex_lock(&queued.m);
  pthread_rwlock_rdlock(&queued.l);
  for (int which = 0; which < 4; which++) {
    atomic_store(&queued.tid, 0);
    atomic_store(&queued.child, -1);
    pthread_t thread = start(is_queued, (void *)(intptr_t)which);
    until_asleep(&queued.tid);
    pthread_kill(thread, SIGUSR1);
    end_of(thread);
    child_ends_well(atomic_load(&queued.child));
  }
  return 0;
}

static struct {
  pthread_mutex_t m;
  pthread_rwlock_t l;
  bool is_rwlock;
  _Atomic pid_t tid;
  atomic_bool is_in_handler, is_over;
} given = {.m = PTHREAD_MUTEX_INITIALIZER, .l = PTHREAD_RWLOCK_INITIALIZER};

static void stays_in_handler(int number) {
  (void)number;
  atomic_store(&given.is_in_handler, true);
  while (!atomic_load(&given.is_over)) sched_yield();
}

static void *is_given(void *ctx) {
  atomic_store(&given.tid, own_tid());
  if (given.is_rwlock) {
    REQUIRE(pthread_rwlock_wrlock(&given.l) == 0 && pthread_rwlock_unlock(&given.l) == 0);
  } else {
    REQUIRE(pthread_mutex_lock(&given.m) == 0 && pthread_mutex_unlock(&given.m) == 0);
  }
  return ctx;
}

static void handed_one(bool is_rwlock) {
  given.is_rwlock = is_rwlock;
  atomic_store(&given.tid, 0);
  atomic_store(&given.is_over, false);
  atomic_store(&given.is_in_handler, false);
  pthread_mutex_lock(&given.m);
  pthread_rwlock_wrlock(&given.l);
  pthread_t thread = start(is_given, NULL);
  until_asleep(&given.tid);
  pthread_kill(thread, SIGUSR1);
  while (!atomic_load(&given.is_in_handler)) sched_yield();
  pthread_rwlock_unlock(&given.l);
  pthread_mutex_unlock(&given.m);
  pid_t child = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
  if (child == 0)
    _exit(is_rwlock ? pthread_rwlock_trywrlock(&given.l) : pthread_mutex_trylock(&given.m));
  child_ends_well(child);
  atomic_store(&given.is_over, true);
  end_of(thread);
}

static int handed(void) {
  const struct sigaction stays = {.sa_handler = stays_in_handler};
  sigaction(SIGUSR1, &stays, NULL);
  handed_one(false);
  handed_one(true);
  return 0;
}

static void *signals_shared(void *ctx) {
  while (!atomic_load(&forked.is_over)) pthread_cond_signal((pthread_cond_t *)ctx);
  return NULL;
}

static int shared_condition(void) {
  pthread_condattr_t attributes;
  pthread_cond_t *c = (pthread_cond_t *)mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  REQUIRE(pthread_cond_init(c, &attributes) == 0);
  pthread_t thread = start(signals_shared, c);
  for (int i = rounds_or(40); i-- > 0;) {
    nap_us(500);
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      pthread_cond_signal(c);
      _exit(0);
    }
    child_ends_well(child);
  }
  atomic_store(&forked.is_over, true);
  end_of(thread);
  return 0;
}

/* ---- a circle that a deadline opens ---- */

static struct {
  pthread_rwlock_t l;
  pthread_mutex_t m;
  _Atomic pid_t tid; /* -1: it has come back */
} passed = {.l = PTHREAD_RWLOCK_INITIALIZER, .m = PTHREAD_MUTEX_INITIALIZER};

static void *writes_or_leaves(void *ctx) {
  struct timespec late = at_ms(CLOCK_REALTIME, 1500);
  (void)ctx;
  atomic_store(&passed.tid, own_tid());
  if (pthread_rwlock_timedwrlock(&passed.l, &late) == 0) pthread_rwlock_unlock(&passed.l);
  atomic_store(&passed.tid, -1);
  return NULL;
}

static void *reads_behind(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&passed.m);
  atomic_store(&passed.tid, own_tid());
  pthread_rwlock_rdlock(&passed.l);
  pthread_rwlock_unlock(&passed.l);
  atomic_store(&passed.tid, -1);
  pthread_mutex_unlock(&passed.m);
  return NULL;
}

static void *writes_last(void *ctx) {
  (void)ctx;
  atomic_store(&passed.tid, own_tid());
  pthread_rwlock_wrlock(&passed.l);
  pthread_rwlock_unlock(&passed.l);
  atomic_store(&passed.tid, -1);
  return NULL;
}

/* Where the machine is so busy that the deadline passes before all have come, there is no circle. */
static int passing(void) {
  static void *(*const all[3])(void *) = {writes_or_leaves, reads_behind, writes_last};
  pthread_t thread[3];
  pthread_rwlock_rdlock(&passed.l);
  for (int i = 0; i < 3; i++) {
    atomic_store(&passed.tid, 0);
    thread[i] = start(all[i], NULL);
    while (atomic_load(&passed.tid) == 0) sched_yield();
    while (atomic_load(&passed.tid) > 0 && state_of(atomic_load(&passed.tid)) != 'S') sched_yield();
  }
  pthread_mutex_lock(&passed.m);
  pthread_mutex_unlock(&passed.m);
  pthread_rwlock_unlock(&passed.l);
  for (int i = 0; i < 3; i++) end_of(thread[i]);
  return 0;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(void);
  } all[] = {{"kinds", kinds},
             {"statics", statics},
             {"memory", memory},
             {"conditions", conditions},
             {"users", users},
             {"processes", processes},
             {"destroyed", destroyed},
             {"signal", signal_and_cancel},
             {"post", post_and_cancel},
             {"asynchronous", asynchronous},
             {"writer", writer},
             {"handler", handler},
             {"interrupted", interrupted},
             {"again", again},
             {"forks", forks},
             {"queued", queued_forks},
             {"handed", handed},
             {"shared", shared_condition},
             {"last", last_one},
             {"clocks", clocks},
             {"barriers", barriers},
             {"readers", readers},
             {"ends", ends},
             {"error", error_number},
             {"passing", passing},
             {"order", order},
             {"lost", lost}};
  rounds = argc > 2 ? atoi(argv[2]) : 0;
  for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(argv[1], all[i].name) == 0) return all[i].run();
  }
  fprintf(stderr, "usage: served WHAT [ROUNDS]\n");
  return 2;
}
