/* bcs.h: batched critical sections, all of it.
 *
 * A mutex serialises threads: each waits to be scheduled before its critical section can run. Here
 * the sections are serialised instead: the thread that comes first runs all of them, one after the
 * other, and the other threads are woken afterwards.
 *
 *   bcs_lock.h    a lock that runs closures: for threads, for futures, and without waiting
 *   bcs_queue.h   the three queues it can be built on, for an intrusive structure of one's own
 *   mpsc.h        what they are measured against: a queue with a consumer thread */
#ifndef VOLT_BCS_H
#define VOLT_BCS_H

#include "bcs_lock.h"
#include "bcs_queue.h"
#include "mpsc.h"

#endif
