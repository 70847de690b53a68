/* bypass.h: the mutex with a bounded bypass, in the form that is simulated: tasks only, no cancel,
 * no deadline. Up to k who come later may have the lock before the oldest waiter. The head of the
 * queue is nudged once, to come and look; when k have passed, or it has looked in vain, it is
 * granted the lock. */
#ifndef VOLT_SIMULATION_BYPASS_H
#define VOLT_SIMULATION_BYPASS_H

#include <volt/future.h>

typedef struct bypass_mutex {
  VOLT_ATOMIC(uint64_t) word;
  volt_waiter *head, *tail; /* under the lock, which is a bit of the word */
  uint32_t k;
} bypass_mutex;

int bypass_try_lock(bypass_mutex *m);
volt_future *bypass_lock_future(volt_future *f, bypass_mutex *m);
void bypass_unlock(bypass_mutex *m);

#endif
