/* volt.h: the whole library.
 *
 *   base.h         version, result codes, the clock
 *   semaphore.h    counting semaphore: fair, weighted, closable
 *   mutex.h        mutual exclusion, handed over in the order of the queue
 *   rwlock.h       many readers or one writer, neither starves
 *   channel.h      bounded channel of many senders and receivers
 *   permit_channel.h  a bounded channel whose places are taken before the element is there
 *   mailbox.h      unbounded channel of nodes in their senders' memory
 *   oneshot.h      one value, from one sender to one receiver
 *   broadcast.h    every receiver receives every value, or is told how many it lost
 *   watch.h        the latest value, and whether it has changed
 *   notify.h       wake one waiter, or all; one notification is stored
 *   barrier.h      wait until so many have arrived; one of them leads
 *   latch.h        wait until a count has come down to zero (a wait group)
 *   once.h         the first who comes initialises, the others wait
 *   cond.h         wait with a mutex until something is so
 *   token.h        that something is to end, for whoever asks or waits; in trees
 *   bcs.h          batched critical sections: a lock that runs closures, and its queues
 *   future.h       one pollable operation for every primitive; block_on
 *   promise.h      a future of one's own: the result of what is not volt's
 *   loop.h         an event loop that is not volt's waits for futures
 *   select.h       the first of several futures, or all of them
 *   time.h         sleep, timeout of any future, interval
 *   async.h        functions that await futures and read like straight code
 *   timer.h        a priority queue of timers that any thread starts and cancels
 *   park.h         block a thread; wake many at once
 *   waiter.h       the node that every pending operation is
 *   waker.h        how its owner is made runnable
 *   detail/        what the primitives embed, atomic operations by their memory order: not an
 *                  interface */
#ifndef VOLT_VOLT_H
#define VOLT_VOLT_H

#include "async.h"
#include "barrier.h"
#include "base.h"
#include "bcs.h"
#include "broadcast.h"
#include "channel.h"
#include "cond.h"
#include "future.h"
#include "latch.h"
#include "loop.h"
#include "mailbox.h"
#include "mutex.h"
#include "notify.h"
#include "once.h"
#include "oneshot.h"
#include "park.h"
#include "permit_channel.h"
#include "promise.h"
#include "rwlock.h"
#include "select.h"
#include "semaphore.h"
#include "time.h"
#include "timer.h"
#include "token.h"
#include "waiter.h"
#include "waker.h"
#include "watch.h"

#endif
