/* by_hand.h: a runtime without threads of its own. */
#ifndef VOLT_RT_HOST_BY_HAND_H
#define VOLT_RT_HOST_BY_HAND_H

#include "../sched/worker.h"

/* By hand there are two sleepers, each with its bit: the loop around volt_rt_run(), whose waker is
 * called, and a thread in volt_rt_run_until(), which is unparked as a worker is. */
enum { VOLT_BY_HAND_LOOP_ = 0, VOLT_BY_HAND_THREAD_ = 1 };

/* volt_rt_run(). */
uint64_t volt_worker_run_by_hand_(volt_worker *w);

#endif
