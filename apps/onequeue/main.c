/* onequeue: an event loop, plain threads and tasks wait for the same semaphore, in one queue.
 *
 * In each round waiters of all three kinds arrive one after the other, in an order that is shuffled
 * anew; each is seen in the queue before the next one comes. One client of the loop loses patience.
 * Then permits are released one by one: they go round in the order of arrival, however a waiter
 * waits.
 *
 *   loop.c      epoll; volt_loop_poll(), woken by an eventfd
 *   waiters.c   a thread: volt_sem_acquire_until(); a task: VOLT_AWAIT
 *
 * usage: onequeue [ROUNDS [SEED]]. Exit code 1 if one was overtaken. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "onequeue.h"

#define OF_EACH_KIND 4
#define WAITERS (3 * OF_EACH_KIND)
#define MAX_ROUNDS 1000

static const char *const kind_names[] = {"loop", "thread", "task"};
enum kind { LOOP, THREAD, TASK };

struct arrival {
  enum kind kind;
  unsigned index; /* among its kind */
};

struct round {
  volt_sem permits;
  struct served served;
  struct loop loop;
  struct waiting_thread threads[OF_EACH_KIND];
  struct waiting_task *tasks[OF_EACH_KIND];
  struct arrival arrivals[WAITERS];
  unsigned impatient; /* the arrival that hangs up */
};

/* xorshift64*. */
static unsigned next_random(uint64_t *state, unsigned below) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (unsigned)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % below;
}

/* Begins with one after the other, and swaps at random. */
static void shuffle(struct round *round, uint64_t *random) {
  unsigned count[3] = {0, 0, 0};
  enum kind kinds[WAITERS];
  for (unsigned i = 0; i < WAITERS; i++) kinds[i] = (enum kind)(i % 3);
  for (unsigned i = WAITERS - 1; i > 0; i--) {
    unsigned other = next_random(random, i + 1);
    enum kind kind = kinds[i];
    kinds[i] = kinds[other];
    kinds[other] = kind;
  }
  unsigned impatient = next_random(random, OF_EACH_KIND);
  for (unsigned i = 0; i < WAITERS; i++) {
    round->arrivals[i] = (struct arrival){kinds[i], count[kinds[i]]++};
    if (kinds[i] == LOOP && round->arrivals[i].index == impatient) round->impatient = i;
  }
}

static void print_arrival(const struct round *round, unsigned i) {
  printf(" %s%u", kind_names[round->arrivals[i].kind], round->arrivals[i].index + 1);
}

/* A waiter arrives, or leaves, on a thread of its own. */
static void await_waiters(struct round *round, unsigned count) {
  while (volt_sem_waiters(&round->permits) != count) sched_yield();
}

static void start_loop(struct round *round) {
  unsigned numbers[OF_EACH_KIND];
  for (unsigned i = 0; i < WAITERS; i++) {
    if (round->arrivals[i].kind == LOOP) numbers[round->arrivals[i].index] = i;
  }
  loop_start(&round->loop, &round->permits, &round->served, numbers, OF_EACH_KIND);
}

static void arrive(struct round *round, volt_rt *rt, unsigned i) {
  unsigned index = round->arrivals[i].index;
  switch (round->arrivals[i].kind) {
    case LOOP: loop_send(&round->loop, index, LOOP_ACQUIRE); break;
    case THREAD:
      waiting_thread_start(&round->threads[index], &round->permits, &round->served, i);
      break;
    case TASK:
      round->tasks[index] = waiting_task_start(rt, &round->permits, &round->served, i);
      break;
  }
}

static void queue_all(struct round *round, volt_rt *rt, unsigned number) {
  printf("round %u: queued:", number);
  for (unsigned i = 0; i < WAITERS; i++) {
    arrive(round, rt, i);
    await_waiters(round, i + 1);
    print_arrival(round, i);
  }
  printf("\n");
}

/* The loop is at work while its clients wait: one gives up, the others are answered. */
static void use_loop(struct round *round, unsigned number) {
  unsigned impatient = round->arrivals[round->impatient].index;
  unsigned pongs = 0;
  loop_hang_up(&round->loop, impatient);
  await_waiters(round, WAITERS - 1);
  for (unsigned i = 0; i < OF_EACH_KIND; i++) {
    if (i == impatient) continue;
    loop_send(&round->loop, i, LOOP_PING);
    pongs += loop_answer(&round->loop, i) == LOOP_PONG;
  }
  printf("round %u: left:", number);
  print_arrival(round, round->impatient);
  printf("\nround %u: pongs: %u\n", number, pongs);
}

/* Returns whether they were served in the order of arrival. */
static bool release_all(struct round *round, unsigned number) {
  bool in_order = true;
  printf("round %u: served:", number);
  for (unsigned i = 0; i < WAITERS; i++) {
    if (i == round->impatient) continue;
    volt_sem_release(&round->permits, 1);
    unsigned next = served_next(&round->served);
    print_arrival(round, next);
    in_order = in_order && next == i;
    if (round->arrivals[next].kind == LOOP) {
      in_order = in_order && loop_answer(&round->loop, round->arrivals[next].index) == LOOP_GRANTED;
    }
  }
  printf("\n");
  return in_order;
}

static void end_round(struct round *round) {
  unsigned impatient = round->arrivals[round->impatient].index;
  for (unsigned i = 0; i < OF_EACH_KIND; i++) {
    waiting_thread_join(&round->threads[i]);
    waiting_task_join(round->tasks[i]);
    if (i != impatient) loop_hang_up(&round->loop, i);
  }
  loop_stop(&round->loop);
  volt_sem_destroy(&round->permits);
  served_destroy(&round->served);
}

static bool run_round(volt_rt *rt, unsigned number, uint64_t *random) {
  struct round round;
  volt_sem_init(&round.permits, 0);
  served_init(&round.served);
  shuffle(&round, random);
  start_loop(&round);
  queue_all(&round, rt, number);
  use_loop(&round, number);
  bool in_order = release_all(&round, number);
  end_round(&round);
  return in_order;
}

int main(int argc, char **argv) {
  uint64_t rounds = 3, random = 1;
  if (argc > 3 || (argc > 1 && !number_read(argv[1], 1, MAX_ROUNDS, &rounds)) ||
      (argc > 2 && !number_read(argv[2], 1, UINT32_MAX, &random))) {
    fprintf(stderr, "usage: onequeue [ROUNDS [SEED]]\n");
    return EXIT_USAGE;
  }
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "the runtime");
  uint64_t right = 0;
  for (unsigned i = 1; i <= rounds; i++) right += run_round(rt, i, &random);
  volt_rt_destroy(rt);
  printf("in the order of arrival: %u of %u rounds\n", (unsigned)right, (unsigned)rounds);
  return right == rounds ? EXIT_SUCCESS : EXIT_FAILURE;
}
