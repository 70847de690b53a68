/* fork_first_test.c: a process forks while another thread of it is in the middle of the first call that
 * needs something of the process: a table, a lock, a thread. Wherever that thread is, the same call
 * works in the child. What of it has handlers at fork(), or needs none, is a row of `facilities`. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <volt/counts.h>
#include <volt/fiber.h>
#include <volt/io.h>
#include <volt/name.h>
#include <volt/sight.h>
#include <volt/time.h>

#include "by_hand.h"
#include "cluster/zookeeper/zookeeper.h"
#include "cluster/zookeeper/zookeeper_log.h"
#include "core/hooks/counters.h"
#include "core/inspect/lock_order.h"
#include "core/inspect/sleepers.h"
#include "core/park/locals.h"
#include "fork_steps.h"
#include "io/sim/sim.h"
#include "unit.h"

/* Each row's call returns 0: it has worked. */
typedef struct facility {
  const char *name;
  int (*call)(void);
  void (*before)(void), (*after)(void); /* as in fork_steps.h */
} facility;

/* ---- of threads ---- */

#if VOLT_SIGHT
static void say_nothing(void) {
}

static int switch_order(void) {
  volt_lock_order_switch_(say_nothing);
  volt_lock_order_switch_(NULL);
  return 0;
}
#endif

static int lock_two(void) {
  volt_mutex first = VOLT_MUTEX_INIT, second = VOLT_MUTEX_INIT;
  if (volt_mutex_lock_until(&first, PAST_DEADLINE) != VOLT_OK) return 1;
  if (volt_mutex_lock_until(&second, PAST_DEADLINE) != VOLT_OK) return 2;
  volt_mutex_unlock(&second);
  volt_mutex_unlock(&first);
  return 0;
}

static int say_for_what_it_sleeps(void) {
  return volt_sleeper_here_() ? 0 : 1;
}

static int count_alone(void) {
  if (volt_tally_mine_) return 1; /* it has counted before */
  volt_count_take_tally_();
  return volt_tally_mine_ ? 0 : 2;
}

static int name_it(void) {
  static int object;
  if (volt_name(&object, "an object") != VOLT_OK) return 1;
  int result = volt_name_of(&object) ? 0 : 2;
  volt_unname(&object);
  return result;
}

/* ---- fibers that park: a third thread has the lock of a queue ---- */

static volt_parker parker;

static void hold_queue(void) {
  volt_fifo_ *q = volt_fiber_futex_queue_(&parker);
  volt_store_relaxed(&q->word, volt_load_relaxed(&q->word) | VOLT_WORD_LOCKED_);
}

static void leave_queue(void) {
  volt_fifo_ *q = volt_fiber_futex_queue_(&parker);
  volt_store_relaxed(&q->word, volt_load_relaxed(&q->word) & ~VOLT_WORD_LOCKED_);
}

/* And locks the queue of another address: that is what this thread is in the middle of. */
static int park_is_free(void) {
  static volt_parker other[64];
  uint64_t word;
  volt_fifo_ *q = volt_fiber_futex_queue_(&parker), *q_other = volt_fiber_futex_queue_(other);
  for (unsigned i = 0; q_other == q; i++) q_other = volt_fiber_futex_queue_(&other[i]);
  volt_fifo_lock_(q_other, &word);
  volt_fifo_unlock_exact_(q_other, word);
  return volt_load_relaxed(&q->word) & VOLT_WORD_LOCKED_ ? 1 : 0;
}

/* ---- runtimes ---- */

static int sleep_in_fiber(void *arg) {
  (void)arg;
  return volt_sleep_until(volt_deadline_ns(1000000));
}

/* A fiber, with its stack, a timer, and the handler that reports overflows. */
static int run_by_hand(void) {
  by_hand h;
  volt_rt_config config = by_hand_config(&h);
  config.flags |= VOLT_RT_STACK_REPORT;
  if (volt_rt_create(&h.rt, &config) != VOLT_OK) return 1;
  volt_task *t = volt_fiber_new(h.rt, sleep_in_fiber, NULL, NULL);
  if (!t || volt_spawn(h.rt, t) != VOLT_OK) return 2;
  (void)by_hand_run(&h);
  (void)volt_rt_advance(h.rt, volt_rt_now_ns(h.rt) + 2000000);
  (void)by_hand_run(&h);
  int result = volt_task_result(t) == VOLT_OK ? 0 : 3;
  volt_task_detach(t);
  return volt_rt_destroy(h.rt) == 0 ? result : 4;
}

static int run_worker(void) {
  volt_rt *rt;
  volt_rt_config config = {.workers = 1, .io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  return volt_rt_destroy(rt) == 0 ? 0 : 2;
}

/* ---- sight ---- */

static int watch_all(void) {
  volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_LINTS |
                                       VOLT_SIGHT_DEADLOCKS | VOLT_SIGHT_STACKS};
  if (volt_sight_enable(&config) != VOLT_OK) return 1;
  volt_sight_disable();
  return 0;
}

static int dump_on_signal(void) {
  if (volt_dump_on_signal(SIGUSR1, STDERR_FILENO, 0) != VOLT_OK) return 1;
  return volt_dump_on_signal(0, STDERR_FILENO, 0) == VOLT_OK ? 0 : 2;
}

static int serve(void) {
  if (volt_sight_serve(NULL) != VOLT_OK) return 1;
  volt_sight_disable();
  return 0;
}

/* ---- a simulated network, and the client of ZooKeeper ---- */

static int find_simulated_socket(void) {
  return volt_sim_find_(1 << 24) ? 1 : 0; /* there is none */
}

static int enter_client(void) {
  static zookeeper b;
  zookeeper_enter_(&b);
  zookeeper_leave_(&b);
  return 0;
}

static const facility facilities[] = {
#if VOLT_SIGHT
    {"the order of locks", switch_order, NULL, NULL},
#endif
    {"what a thread holds", lock_two, NULL, NULL},
    {"for what a thread sleeps", say_for_what_it_sleeps, NULL, NULL},
    {"counts", count_alone, NULL, NULL},
    {"names", name_it, NULL, NULL},
    {"fibers that park", park_is_free, hold_queue, leave_queue},
    {"a runtime by hand", run_by_hand, NULL, NULL},
    {"a runtime with a worker", run_worker, NULL, NULL},
    {"volt_sight_enable", watch_all, NULL, NULL},
    {"volt_dump_on_signal", dump_on_signal, NULL, NULL},
    {"volt_sight_serve", serve, NULL, NULL},
    {"a simulated network", find_simulated_socket, NULL, NULL},
    {"the client of ZooKeeper", enter_client, NULL, NULL},
};

static const facility *tried;

static void call_first(void) {
  REQUIRE(tried->before || tried->call() == 0);
  if (tried->before) (void)tried->call(); /* its result is the child's */
}

static void works_in_the_child(void **state) {
  tried = (const facility *)*state;
  const fork_steps steps = {call_first, tried->call, tried->before, tried->after};
  unsigned children = fork_steps_run(&steps);
  print_message("%s: %u children\n", tried->name, children);
  assert_true(children > 0);
}

enum { FACILITIES = sizeof facilities / sizeof facilities[0] };

int main(int argc, char **argv) {
  struct CMUnitTest tests[FACILITIES];
  if (!fork_steps_work()) {
    printf("skipped: no thread can go step by step here\n");
    return 0;
  }
  for (unsigned i = 0; i < FACILITIES; i++) {
    tests[i] = (struct CMUnitTest){.name = facilities[i].name,
                                   .test_func = works_in_the_child,
                                   .initial_state = (void *)(uintptr_t)&facilities[i]};
  }
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
