/* thread_team.h: start N threads at once, join them; wait for what another thread does by looking.
 * Nothing here sleeps for a time. */
#ifndef VOLT_TEST_THREAD_TEAM_H
#define VOLT_TEST_THREAD_TEAM_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <volt/detail/atomic.h>

#define THREAD_TEAM_MAX 64

/* Look until it is so; lets others run between two looks. */
#define WAIT_UNTIL(condition)           \
  do {                                  \
    while (!(condition)) sched_yield(); \
  } while (0)

typedef void (*thread_team_fn)(void *arg, uint32_t index);

typedef struct thread_team {
  uint32_t count;
  thread_team_fn body;
  void *arg;
  VOLT_ATOMIC(uint32_t) arrived; /* members that are ready to begin */
  struct thread_team_member {
    struct thread_team *team;
    uint32_t index;
    pthread_t thread;
  } members[THREAD_TEAM_MAX];
} thread_team;

/* Start count threads (1..THREAD_TEAM_MAX); each runs body(arg, index), none before all are there.
 * t must stay where it is until it is joined. */
void thread_team_start(thread_team *t, uint32_t count, thread_team_fn body, void *arg);

/* Wait until all have ended. */
void thread_team_join(thread_team *t);

/* Both. */
void thread_team_run(uint32_t count, thread_team_fn body, void *arg);

/* How many threads this process has. */
unsigned thread_team_of_process(void);

/* Send every member a signal. */
void thread_team_signal(thread_team *t, int signal);

#endif
