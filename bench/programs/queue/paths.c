/* paths.c: one uncontended path, so many times, for a program that counts instructions.
 *
 * paths NAME COUNT runs the path on COUNT objects, one after the other. What one turn costs is the
 * difference between a run of 2 COUNT and one of COUNT, over COUNT; what it costs without the path
 * is NAME "empty". "x" alone takes; "x+" takes and gives back. Where something is handed over, the
 * first half is "take" and the second "give": send and receive, notify and wait. The sums are done
 * by ../../compare/instructions.py.
 *
 * With PATHS_CPP it has the paths of C++ instead of those of C. In one program the compiler would
 * inline less of either, because each operation would have more callers. */
#define _GNU_SOURCE /* pthread_rwlock */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <volt/volt.h>

#ifdef PATHS_CLUSTER
#include "cluster_path.h"
#endif
#ifdef PATHS_CPP
#include "cpp_path.h"
#endif
#include "ignore.h"

enum { OBJECTS = 4096 };

/* A front of the channel for one type: its copies are moves of a known size. */
VOLT_CHAN_DECLARE(numbers, uint64_t);

static union object {
  char line[64];
  VOLT_ATOMIC(uint64_t) word;
  volt_sem sem;
  volt_budget budget;
  volt_mutex mutex;
  volt_rwlock rwlock;
  volt_chan chan;
  numbers typed;
  volt_notify notify;
  volt_oneshot oneshot;
  sem_t sem_t_;
  pthread_mutex_t pthread_mutex;
  pthread_rwlock_t pthread_rwlock;
} objects[OBJECTS];

static uint64_t elements[OBJECTS][2]; /* the memory of a channel of one place, or of a slot */

/* ---- the paths ---- */

static void init_sems(void) {
  for (unsigned i = 0; i < OBJECTS; i++) volt_sem_init(&objects[i].sem, 1);
}

static void init_channels(void) {
  for (unsigned i = 0; i < OBJECTS; i++) {
    void *memory = elements[i];
    ignore_result(
        volt_chan_init(&objects[i].chan, 1, sizeof *elements[i], memory, sizeof elements[i]));
  }
}

static void init_nothing(void) { /* all-zero is unlocked, for all the others */
}

/* A path, alone and with its way back. The object is hidden from the compiler: it may assume
 * nothing about what another turn left behind. */
#define HIDE(o) __asm__ __volatile__("" : "+r"(o) : : "memory")
#define PATH(name, take, give)                                         \
  VOLT_NOINLINE static void name##_take(unsigned count) {              \
    for (union object *o = objects, *end = o + count; o != end; o++) { \
      HIDE(o);                                                         \
      take;                                                            \
    }                                                                  \
  }                                                                    \
  VOLT_NOINLINE static void name##_pair(unsigned count) {              \
    for (union object *o = objects, *end = o + count; o != end; o++) { \
      HIDE(o);                                                         \
      take;                                                            \
      HIDE(o);                                                         \
      give;                                                            \
    }                                                                  \
  }

PATH(empty, (void)0, (void)0)
#ifdef PATHS_CPP
/* By guards and operations. */
#define CPP_PATH(name)                                  \
  static void in_cpp_##name##_take(unsigned count) {    \
    cpp_##name##_take(objects, sizeof *objects, count); \
  }                                                     \
  static void in_cpp_##name##_pair(unsigned count) {    \
    cpp_##name##_pair(objects, sizeof *objects, count); \
  }
CPP_PATH(mutex)
CPP_PATH(sem)
CPP_PATH(chan)
#else
static uint64_t element;

/* Of one kind, and of three. */
static const volt_amounts of_one = {{2}}, of_three = {{2, 2, 2}};

static void init_budgets(uint32_t kinds) {
  static const uint64_t limits[] = {8, 8, 8};
  for (unsigned i = 0; i < OBJECTS; i++) volt_budget_init(&objects[i].budget, kinds, limits);
}

static void init_budgets_of_one(void) {
  init_budgets(1);
}

static void init_budgets_of_three(void) {
  init_budgets(3);
}

static void bare_take(union object *o) {
  uint64_t seen = 0;
  (void)volt_cas_acquire(&o->word, &seen, 1);
}

static void bare_give(union object *o) {
  uint64_t seen = 1;
  (void)volt_cas_release(&o->word, &seen, 0);
}

/* As a task polls. */
static volt_future future;
static volt_ctx ctx;

static inline void poll_once(volt_future *f) {
  ctx.budget = VOLT_CTX_BUDGET;
  if (volt_future_poll_ctx(f, &ctx) != VOLT_OK) abort();
}

PATH(bare_cas, bare_take(o), bare_give(o))
PATH(volt_sem_try, ignore_result(volt_sem_try_acquire(&o->sem, 1)), volt_sem_release(&o->sem, 1))
PATH(volt_sem, ignore_result(volt_sem_acquire(&o->sem, 1)), volt_sem_release(&o->sem, 1))
PATH(volt_sem_future, poll_once(volt_sem_acquire_future(&future, &o->sem, 1)),
     volt_sem_release(&o->sem, 1))
PATH(volt_budget, ignore_result(volt_budget_acquire(&o->budget, &of_one)),
     volt_budget_release(&o->budget, &of_one))
PATH(volt_budget_of_three, ignore_result(volt_budget_acquire(&o->budget, &of_three)),
     volt_budget_release(&o->budget, &of_three))
PATH(volt_mutex, ignore_result(volt_mutex_lock_until(&o->mutex, VOLT_NO_DEADLINE)),
     volt_mutex_unlock(&o->mutex))
PATH(volt_read, ignore_result(volt_rwlock_read_until(&o->rwlock, VOLT_NO_DEADLINE)),
     volt_rwlock_read_unlock(&o->rwlock))
PATH(volt_write, ignore_result(volt_rwlock_write_until(&o->rwlock, VOLT_NO_DEADLINE)),
     volt_rwlock_write_unlock(&o->rwlock))
PATH(volt_chan, ignore_result(volt_chan_send(&o->chan, &element)),
     ignore_result(volt_chan_recv(&o->chan, &element)))
PATH(numbers, ignore_result(numbers_send(&o->typed, element)),
     ignore_result(numbers_recv(&o->typed, &element)))
PATH(volt_notify, volt_notify_one(&o->notify), (void)volt_notify_wait(&o->notify))
PATH(volt_oneshot, ignore_result(volt_oneshot_send(&o->oneshot, &element)),
     ignore_result(volt_oneshot_recv(&o->oneshot, &element)))
PATH(sem_t, sem_wait(&o->sem_t_), sem_post(&o->sem_t_))
PATH(pthread_mutex, pthread_mutex_lock(&o->pthread_mutex), pthread_mutex_unlock(&o->pthread_mutex))
PATH(pthread_read, pthread_rwlock_rdlock(&o->pthread_rwlock),
     pthread_rwlock_unlock(&o->pthread_rwlock))
PATH(pthread_write, pthread_rwlock_wrlock(&o->pthread_rwlock),
     pthread_rwlock_unlock(&o->pthread_rwlock))

static void init_future(void) {
  const volt_waker nobody = {NULL, NULL};
  const volt_ctx fresh = VOLT_CTX_INIT(nobody);
  ctx = fresh;
  init_sems();
}

#ifdef PATHS_CLUSTER
static void init_cluster(void) {
  cluster_path_init(OBJECTS);
}
#endif

static void init_sem_ts(void) {
  for (unsigned i = 0; i < OBJECTS; i++) sem_init(&objects[i].sem_t_, 0, 1);
}

static void init_oneshots(void) {
  for (unsigned i = 0; i < OBJECTS; i++) {
    volt_oneshot_init(&objects[i].oneshot, sizeof element, elements[i]);
  }
}

#endif

static const struct path {
  const char *name;
  void (*init)(void);
  void (*take)(unsigned count);
  void (*pair)(unsigned count);
} paths[] = {
    {"empty", init_nothing, empty_take, empty_pair},
#ifdef PATHS_CPP
    {"cpp_mutex", init_nothing, in_cpp_mutex_take, in_cpp_mutex_pair},
    {"cpp_sem", init_sems, in_cpp_sem_take, in_cpp_sem_pair},
    {"cpp_chan", init_channels, in_cpp_chan_take, in_cpp_chan_pair},
#else
    {"two_bare_cas", init_nothing, bare_cas_take, bare_cas_pair},
    {"volt_sem_try_acquire", init_sems, volt_sem_try_take, volt_sem_try_pair},
    {"volt_sem_acquire_until", init_sems, volt_sem_take, volt_sem_pair},
    {"volt_sem_acquire_future", init_future, volt_sem_future_take, volt_sem_future_pair},
#ifdef PATHS_CLUSTER
    {"volt_cluster_acquire_future", init_cluster, cluster_path_take, cluster_path_pair},
#endif
    {"volt_budget_acquire", init_budgets_of_one, volt_budget_take, volt_budget_pair},
    {"volt_budget_acquire_of_three", init_budgets_of_three, volt_budget_of_three_take,
     volt_budget_of_three_pair},
    {"sem_wait", init_sem_ts, sem_t_take, sem_t_pair},
    {"volt_mutex_lock_until", init_nothing, volt_mutex_take, volt_mutex_pair},
    {"pthread_mutex_lock", init_nothing, pthread_mutex_take, pthread_mutex_pair},
    {"volt_rwlock_read_until", init_nothing, volt_read_take, volt_read_pair},
    {"pthread_rwlock_rdlock", init_nothing, pthread_read_take, pthread_read_pair},
    {"volt_rwlock_write_until", init_nothing, volt_write_take, volt_write_pair},
    {"pthread_rwlock_wrlock", init_nothing, pthread_write_take, pthread_write_pair},
    {"volt_chan_send_until", init_channels, volt_chan_take, volt_chan_pair},
    {"typed_chan_send", init_channels, numbers_take, numbers_pair},
    {"volt_notify_one", init_nothing, volt_notify_take, volt_notify_pair},
    {"volt_oneshot_send", init_oneshots, volt_oneshot_take, volt_oneshot_pair},
#endif
};
enum { PATHS = sizeof paths / sizeof *paths };

/* glibc leaves the atomics out while a process has one thread. This one sleeps to the end. */
static void *sleep_to_the_end(void *never) {
  while (sem_wait((sem_t *)never) != 0) continue;
  return NULL;
}

/* With RMW_STOPS in the environment it stops itself before and after the loop, for rmw. */
static void stop_if_asked(void) {
  if (getenv("RMW_STOPS")) raise(SIGSTOP);
}

/* The loop runs while the second thread exists, so that every path has its atomics. */
static int run(void (*loop)(unsigned), unsigned count) {
  static sem_t never;
  pthread_t second;
  sem_init(&never, 0, 0);
  if (pthread_create(&second, NULL, sleep_to_the_end, &never) != 0) return 1;
  stop_if_asked();
  loop(count);
  stop_if_asked();
  sem_post(&never);
  return pthread_join(second, NULL);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    for (unsigned i = 0; i < PATHS; i++) puts(paths[i].name);
    return 0;
  }
  unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  if (count > 0 && count <= OBJECTS) {
    size_t length = strlen(argv[1]);
    bool pair = length > 0 && argv[1][length - 1] == '+';
    if (pair) argv[1][length - 1] = '\0';
    for (unsigned i = 0; i < PATHS; i++) {
      if (strcmp(paths[i].name, argv[1]) != 0) continue;
      paths[i].init();
      return run(pair ? paths[i].pair : paths[i].take, count);
    }
  }
  fprintf(stderr, "usage: paths NAME[+] COUNT (1..%d) | paths --list\n", OBJECTS);
  return 2;
}
