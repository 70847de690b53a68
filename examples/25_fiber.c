/* 25_fiber.c: one function, called by eight threads and by a thousand fibers.
 * Where it waits, a thread blocks, and a fiber is suspended: its worker goes on with others. Both kinds
 * wait in the same queue, first come, first served.
 *
 *   cc -std=c11 25_fiber.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 1008 visits, 3 at once at most; one was cancelled while it waited */
#include <pthread.h>
#include <stdio.h>
#include <volt/fiber.h>
#include <volt/runtime.h>
#include <volt/volt.h>

enum { THREADS = 8, FIBERS = 1000, DESKS = 3 };

static volt_sem desks = VOLT_SEM_INIT(DESKS);
static volt_mutex counting = VOLT_MUTEX_INIT;
static volt_latch closed = VOLT_LATCH_INIT(1);
static int visits, inside, most_inside;

static void count(int visitors) {
  volt_mutex_lock(&counting);
  inside += visitors;
  if (inside > most_inside) most_inside = inside;
  if (visitors > 0) visits += 1;
  volt_mutex_unlock(&counting);
}

/* Straight code, with locals, that knows nothing of fibers. */
static int visit(void *arg) {
  (void)arg;
  int result = volt_sem_acquire(&desks, 1);
  if (result != VOLT_OK) return result;
  count(1);
  (void)volt_sleep_until(volt_deadline_us(50));
  count(-1);
  volt_sem_release(&desks, 1);
  return VOLT_OK;
}

static void *visit_by_thread(void *arg) {
  (void)visit(arg);
  return NULL;
}

static int wait_for_closing(void *arg) {
  (void)arg;
  return volt_latch_wait_until(&closed, VOLT_NO_DEADLINE); /* never counted down */
}

int main(void) {
  volt_rt *rt;
  pthread_t threads[THREADS];
  volt_group fibers;
  volt_group_init(&fibers);
  if (volt_rt_create(&rt, NULL) != VOLT_OK) return 1;
  volt_task *late = volt_fiber_new(rt, wait_for_closing, NULL, NULL); /* a fiber is a task */
  if (volt_spawn(rt, late) != VOLT_OK) return 1;
  for (int i = 0; i < FIBERS; i++) {
    if (volt_group_spawn(&fibers, rt, volt_fiber_new(rt, visit, NULL, NULL)) != VOLT_OK) return 1;
  }
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, visit_by_thread, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  if (volt_group_wait(&fibers) != VOLT_OK) return 1;
  volt_group_destroy(&fibers);
  volt_task_cancel(late); /* its wait returns VOLT_ECANCELED, and so does the fiber */
  int ended = volt_task_join(late);
  volt_task_detach(late);
  volt_rt_destroy(rt);
  printf("%d visits, %d at once at most; one was %s\n", visits, most_inside,
         ended == VOLT_ECANCELED ? "cancelled while it waited" : volt_strerror(ended));
  return 0;
}
