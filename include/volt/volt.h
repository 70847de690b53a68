/* volt.h: fair waiting for threads, tasks and event loops: all of libvolt-sync in one header
 *
 * - async.h: functions that wait and read like straight code
 * - barrier.h: wait until a number of callers have arrived, again and again
 * - base.h: version, result codes, the clock, and what every other header of volt needs
 * - bcs.h: batched critical sections, all of it
 * - bcs_lock.h: a lock that runs closures: batched critical sections in place of lock and unlock
 * - bcs_queue.h: batched critical sections: queues whose first submitter becomes their consumer
 * - broadcast.h: every receiver receives every value
 * - budget.h: permits of several kinds, acquired together or not at all
 * - channel.h: a bounded channel of many senders and many receivers
 * - cond.h: a condition variable on a volt_mutex
 * - counts.h: how often threads and tasks have waited, and for how long
 * - future.h: one pollable operation, the same for every primitive
 * - latch.h: wait until a count has come down to zero (a latch; Go's wait group)
 * - lock_all.h: several mutexes and semaphores, locked together, where they are not in one budget
 * - loop.h: wait for futures in an event loop that is not of volt (epoll, libuv, a toolkit's)
 * - mailbox.h: an unbounded channel of nodes in their senders' memory, whose receivers can wait
 * - mpsc.h: an intrusive queue of many producers and one consumer, and the actor on it
 * - mutex.h: a fair mutual exclusion lock for tasks, threads and event loops
 * - name.h: names for objects, so that reports say 'pool' and not 0x55d0c19a4080
 * - notify.h: wake one waiter, or all, because something has happened
 * - once.h: do something once: the first caller does it, the others wait until it is done
 * - oneshot.h: one value, from one sender to one receiver
 * - park.h: block a thread, or suspend a fiber, until it has been unparked a given number of times;
 * - permit_channel.h: a bounded channel whose senders take a place before they have an element
 * - promise.h: a future of one's own, for an operation that is not volt's
 * - rwlock.h: a fair read-write lock for tasks, threads and event loops
 * - select.h: wait for the first of several futures, or for all of them
 * - semaphore.h: a counting semaphore with direct handoff
 * - sharded_rwlock.h: a read-write lock for data that many cores read and few threads write
 * - time.h: futures of time: a sleep, a deadline for any other future, a tick that comes again
 * - timer.h: a priority queue of timers that any thread can start and cancel, and one thread drives
 * - token.h: a cancellation token: says, to callers that ask and to waiters, that something must end
 * - waiter.h: the waiter, the one node that every pending operation of volt is
 * - waker.h: how the owner of a waiter is made runnable. It is the only wake type of volt
 * - watch.h: the latest value, and whether it has changed */
/* Written by ./x abi --update. */
#ifndef VOLT_VOLT_H
#define VOLT_VOLT_H

#include "async.h"
#include "barrier.h"
#include "base.h"
#include "bcs.h"
#include "bcs_lock.h"
#include "bcs_queue.h"
#include "broadcast.h"
#include "budget.h"
#include "channel.h"
#include "cond.h"
#include "counts.h"
#include "future.h"
#include "latch.h"
#include "lock_all.h"
#include "loop.h"
#include "mailbox.h"
#include "mpsc.h"
#include "mutex.h"
#include "name.h"
#include "notify.h"
#include "once.h"
#include "oneshot.h"
#include "park.h"
#include "permit_channel.h"
#include "promise.h"
#include "rwlock.h"
#include "select.h"
#include "semaphore.h"
#include "sharded_rwlock.h"
#include "time.h"
#include "timer.h"
#include "token.h"
#include "waiter.h"
#include "waker.h"
#include "watch.h"

#endif
