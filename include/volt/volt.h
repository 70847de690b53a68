/* volt.h: the whole library.
 *
 *   base.h         version, result codes, the clock
 *   semaphore.h    counting semaphore: fair, weighted, closable
 *   mutex.h        mutual exclusion, handed over in order of arrival
 *   rwlock.h       many readers or one writer, neither starves
 *   bcs.h          batched critical sections: a lock that runs closures, and its queues
 *   future.h       one pollable operation for every primitive; block_on
 *   select.h       the first of several futures, or all of them
 *   time.h         sleep, timeout of any future, interval
 *   async.h        functions that await futures and read like straight code
 *   timer.h        a priority queue of timers that any thread starts and cancels
 *   park.h         block a thread; wake many at once
 *   waiter.h       the node that every pending operation is
 *   waker.h        how its owner is made runnable
 *   wait_queue.h   what the primitives embed (not an interface)
 *   atomic.h       atomic operations by their memory order (not an interface) */
#ifndef VOLT_VOLT_H
#define VOLT_VOLT_H

#include "async.h"
#include "base.h"
#include "bcs.h"
#include "future.h"
#include "mutex.h"
#include "park.h"
#include "rwlock.h"
#include "select.h"
#include "semaphore.h"
#include "time.h"
#include "timer.h"
#include "waiter.h"
#include "waker.h"

#endif
