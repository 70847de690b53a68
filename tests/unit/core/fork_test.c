/* fork_test.c: the child of a fork has one thread. An object that threads of the parent held, waited
 * for, or were at work on, is made anew there by its init(), and works. */
#define _DEFAULT_SOURCE /* fork */
#include <sys/wait.h>
#include <unistd.h>

#include <volt/fiber.h>

#include "by_hand.h"
#include "core/hooks/counters.h"
#include "core/inspect/lock_order.h"
#include "core/park/locals.h"
#include "thread_team.h"
#include "unit.h"

enum { SECONDS = 60, PLACES = 2, MEMORY = 512 };

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rwlock;
static volt_cond cond;
static volt_mutex cond_mutex;
static volt_notify notify;
static volt_bcs_lock section;
static volt_chan chan;
static _Alignas(16) unsigned char chan_memory[MEMORY];

static VOLT_ATOMIC(uint32_t) is_inside;
static VOLT_ATOMIC(uint32_t) may_leave;

/* ---- what a thread of the parent has taken: it runs a section, and holds or waits for the rest ---- */

static void stay(void *arg) {
  (void)arg;
  volt_store_release(&is_inside, 1);
  WAIT_UNTIL(volt_load_acquire(&may_leave));
}

static void hold_section(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_bcs_node node;
  volt_bcs_lock_run(&section, &node, stay, NULL);
}

static volt_waiter waiters[6];
static int awaited_elem;
static fake_waker waker;

/* As if a thread had been interrupted between the lock of the queue and its unlock. */
static void interrupt_in(volt_fifo_ *q) {
  volt_store_relaxed(&q->word, volt_load_relaxed(&q->word) | VOLT_WORD_LOCKED_);
}

static void unlock_queue(volt_fifo_ *q) {
  volt_store_relaxed(&q->word, volt_load_relaxed(&q->word) & ~VOLT_WORD_LOCKED_);
}

static volt_fifo_ *const queues[] = {&sem.queue,  &mutex.queue,  &rwlock.queue,
                                     &cond.queue, &notify.queue, &chan.queue};

static void occupy(void) {
  fake_waker_init(&waker, 0, NULL);
  volt_waker w = fake_waker_of(&waker);
  volt_sem_init(&sem, 0);
  volt_mutex_init(&mutex);
  volt_mutex_init(&cond_mutex);
  volt_rwlock_init(&rwlock);
  volt_cond_init(&cond);
  volt_notify_init(&notify);
  volt_bcs_lock_init(&section);
  assert_result(volt_chan_init(&chan, PLACES, sizeof awaited_elem, chan_memory, sizeof chan_memory),
                VOLT_OK);
  assert_result(volt_sem_acquire_waiter(&sem, &waiters[0], 1, w), VOLT_PENDING);
  assert_result(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[1], w), VOLT_PENDING);
  assert_result(volt_rwlock_write_until(&rwlock, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_rwlock_read_waiter(&rwlock, &waiters[2], w), VOLT_PENDING);
  assert_result(volt_mutex_lock_until(&cond_mutex, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_cond_wait_waiter(&cond, &cond_mutex, &waiters[3], w), VOLT_PENDING);
  assert_result(volt_notify_wait_waiter(&notify, &waiters[4], w), VOLT_PENDING);
  assert_result(volt_chan_recv_waiter(&chan, &waiters[5], &awaited_elem, w), VOLT_PENDING);
  for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) interrupt_in(queues[i]);
}

static void give_up_all(void) {
  for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) unlock_queue(queues[i]);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  assert_true(volt_mutex_cancel(&mutex, &waiters[1]));
  assert_true(volt_rwlock_cancel(&rwlock, &waiters[2]));
  assert_true(volt_cond_cancel(&cond, &waiters[3]));
  assert_true(volt_notify_cancel(&notify, &waiters[4]));
  assert_true(volt_chan_cancel_recv(&chan, &waiters[5]));
}

/* ---- the child ---- */

static void count(void *arg) {
  *(int *)arg += 1;
}

/* Returns how many of the objects work. Nothing here waits: a wrong state is a result, not a hang. */
static int use_all(void) {
  int works = 0;
  int elem = 7;
  int received = 0;
  volt_bcs_node node;
  volt_waiter w = VOLT_WAITER_INIT;
  volt_sem_init(&sem, 1);
  works += volt_sem_acquire_until(&sem, 1, PAST_DEADLINE) == VOLT_OK;
  volt_sem_release(&sem, 1);
  volt_mutex_init(&mutex);
  works += volt_mutex_lock_until(&mutex, PAST_DEADLINE) == VOLT_OK;
  volt_mutex_unlock(&mutex);
  volt_rwlock_init(&rwlock);
  works += volt_rwlock_write_until(&rwlock, PAST_DEADLINE) == VOLT_OK;
  volt_rwlock_write_unlock(&rwlock);
  volt_cond_init(&cond);
  volt_cond_broadcast(&cond);
  works += volt_cond_waiters(&cond) == 0;
  volt_notify_init(&notify);
  volt_notify_one(&notify);
  works += volt_notify_wait_waiter(&notify, &w, fake_waker_of(&waker)) == VOLT_OK;
  volt_bcs_lock_init(&section);
  int ran = 0;
  volt_bcs_lock_run(&section, &node, count, &ran);
  works += ran == 1;
  if (volt_chan_init(&chan, PLACES, sizeof elem, chan_memory, sizeof chan_memory) == VOLT_OK &&
      volt_chan_try_send(&chan, &elem) == VOLT_OK &&
      volt_chan_try_recv(&chan, &received) == VOLT_OK) {
    works += received == elem;
  }
  return works;
}

static void init_makes_objects_anew_in_the_child(void **state) {
  (void)state;
  thread_team team;
  occupy();
  thread_team_start(&team, 1, hold_section, NULL);
  WAIT_UNTIL(volt_load_acquire(&is_inside));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(SECONDS); /* a hang is a failure */
    _exit(use_all());
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  volt_store_release(&may_leave, 1);
  thread_team_join(&team);
  give_up_all();
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 7);
}

/* ---- counts ---- */

static volt_tally_ *their_tally;

static void count_alone(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_count_take_tally_();
  their_tally = volt_tally_mine_;
  volt_store_release(&is_inside, 1);
  WAIT_UNTIL(volt_load_acquire(&may_leave));
}

/* The child goes on from what the thread has counted: that thread is not there. */
static void tallies_are_free_in_the_child(void **state) {
  (void)state;
  thread_team team;
  volt_store_release(&is_inside, 0);
  volt_store_release(&may_leave, 0);
  thread_team_start(&team, 1, count_alone, NULL);
  WAIT_UNTIL(volt_load_acquire(&is_inside));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    volt_count_take_tally_();
    _exit(volt_tally_mine_ == their_tally ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  volt_store_release(&may_leave, 1);
  thread_team_join(&team);
  assert_non_null(their_tally);
  assert_int_equal(status, 0);
}

/* ---- fibers that park ---- */

static volt_parker parker;

static int parks(void *arg) {
  (void)arg;
  return volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
}

/* Returns what the fiber has returned. */
static int unpark_fiber(by_hand *h) {
  volt_task *t = volt_fiber_new(h->rt, parks, NULL, NULL);
  if (!t || volt_spawn(h->rt, t) != VOLT_OK) return VOLT_ENOMEM;
  by_hand_run(h);
  volt_unpark(&parker);
  by_hand_run(h);
  int result = volt_task_result(t);
  volt_task_detach(t);
  return result;
}

/* In the child none waits at an address, and no lock is held. */
static int park_in_the_child(void) {
  by_hand h;
  volt_rt_config config = by_hand_config(&h);
  volt_store_relaxed(&parker.word, 0); /* made anew */
  if (volt_rt_create(&h.rt, &config) != VOLT_OK) return 1;
  if (volt_fiber_futex_queue_(&parker)->waiters != 0) return 2;
  return unpark_fiber(&h) == VOLT_OK ? 0 : 3;
}

static void fibers_park_anew_in_the_child(void **state) {
  (void)state;
  by_hand h;
  by_hand_begin(&h);
  volt_store_relaxed(&parker.word, 0);
  volt_task *t = volt_fiber_new(h.rt, parks, NULL, NULL);
  assert_non_null(t);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  volt_fifo_ *q = volt_fiber_futex_queue_(&parker);
  assert_int_equal(q->waiters, 1);
  interrupt_in(q);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(SECONDS); /* a hang is a failure */
    _exit(park_in_the_child());
  }
  unlock_queue(q);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  volt_unpark(&parker);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_OK);
  volt_task_detach(t);
  by_hand_end(&h, 0);
}

#if VOLT_SIGHT
/* ---- the order of locks ---- */

static void say_nothing(void) {
}

/* Most of the time the table is locked. */
static void switch_on_and_off(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_store_release(&is_inside, 1);
  while (!volt_load_acquire(&may_leave)) volt_lock_order_switch_(say_nothing);
}

static void the_order_of_locks_goes_on_in_the_child(void **state) {
  (void)state;
  thread_team team;
  volt_store_release(&is_inside, 0);
  volt_store_release(&may_leave, 0);
  thread_team_start(&team, 1, switch_on_and_off, NULL);
  WAIT_UNTIL(volt_load_acquire(&is_inside));
  int ended = 0;
  for (int i = 0; i < 20 && ended == i; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      alarm(SECONDS); /* a hang is a failure */
      volt_lock_order_switch_(say_nothing);
      _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  volt_store_release(&may_leave, 1);
  thread_team_join(&team);
  volt_lock_order_switch_(NULL);
  assert_int_equal(ended, 20);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#if VOLT_SIGHT
    cmocka_unit_test(the_order_of_locks_goes_on_in_the_child),
#endif
    cmocka_unit_test(init_makes_objects_anew_in_the_child),
    cmocka_unit_test(fibers_park_anew_in_the_child),
    cmocka_unit_test(tallies_are_free_in_the_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
