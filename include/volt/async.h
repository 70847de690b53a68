/* async.h: functions that wait and read like straight code.
 *
 * An async function is a struct and a poll function on it. The struct begins with a volt_async and
 * holds what must survive an await: arguments, results, futures, counters. It is a future like any
 * other: a task awaits it, a thread blocks on it, a select races it.
 *
 *   struct copy { volt_async async; volt_future lock; volt_sleep_op nap; int tries; };
 *
 *   static int copy_poll(volt_async *a, volt_ctx *ctx) {
 *     struct copy *self = volt_container_of(a, struct copy, async);
 *     VOLT_ASYNC_BEGIN(self);
 *     for (self->tries = 0; self->tries < 3; self->tries++) {
 *       VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &mutex));
 *       ...
 *       volt_mutex_unlock(&mutex);
 *     }
 *     VOLT_ASYNC_END(self);
 *   }
 *   ...
 *   VOLT_AWAIT(self, volt_async_future(&self->copy.async, copy_poll));
 *
 * In a task the macros are VOLT_TASK_BEGIN and VOLT_TASK_END (volt/task.h); all else is the same.
 *
 *   VOLT_AWAIT(self, future)              wait; if the result is an error, leave with it
 *   VOLT_AWAIT_RESULT(self, r, future)    wait; r = the result, also if it is an error
 *   VOLT_AWAIT_TRY(self, r, try, future)  the same, but first try what does not wait
 *   VOLT_YIELD(self)                      let others run
 *   VOLT_RETURN(self, result)             leave with result
 *   VOLT_FINALLY(self)                    what leaves goes on here: the place to clean up
 *   VOLT_LEAVING(self)                    after VOLT_FINALLY: the result so far
 *
 * Cancellation is a result of an await. The await cancels its future, so that a grant is given
 * back, and its result is VOLT_ECANCELED. An element that a channel has moved cannot be given back:
 * that await returns VOLT_OK, and the next one is cancelled in its place. VOLT_YIELD is cancelled
 * like an await. So a function that holds a permit or a lock across an await, or across VOLT_YIELD,
 * releases it after VOLT_FINALLY. Which awaits are cancelled depends on the cause:
 *
 *   its task is cancelled          exactly one: the innermost that the task is in or comes to
 *                                  next; never one after VOLT_FINALLY
 *   it loses a select, times out,  the one that it is in, and again the one that it is in at each
 *   or is ended by a join; or the  later poll; never one after VOLT_FINALLY. The select, timeout,
 *   deadline of a wait for it      join or call is over when the function has ended
 *   passes in a fiber
 *   it is dropped: its future is   every remaining one, at once, also after VOLT_FINALLY: the
 *   cancelled, or the deadline     function runs to its end without waiting
 *   of a wait for it passes on
 *   a thread
 *
 * An await after VOLT_FINALLY waits as always in the first two cases, also if the cancellation
 * comes during it.
 *
 * To run a function again that has returned, make its future again. volt_async_future() puts the
 * function at its beginning, and touches nothing of the struct but its volt_async. Other members
 * that have to begin anew are the caller's to set; the awaits make their futures again. A future
 * that is not made again polls as before, and nothing runs. The poll function itself aborts if it
 * is called again ("polled after it has returned"). A future that is pending is cancelled before it
 * is made again. A task is spawned once; one in memory of the caller's may be initialised again
 * when it has ended.
 *
 * Limits, because the function returns in the middle and is entered again there:
 *   - local variables do not survive an await: keep them in the struct
 *   - no await inside a switch of the function's own (aborts at the next poll), one await per line
 *     (an error of the compiler), none outside BEGIN and END (an error of the compiler, which says
 *     "volt_await_outside_of_BEGIN_and_END")
 *   - the parameter that says which poller polls is called ctx
 *   - a result is a success or an error: not 1, which is VOLT_PENDING (aborts)
 *   - return only before BEGIN, as long as the function has not begun; else VOLT_RETURN, or it
 *     skips VOLT_FINALLY (a debug build aborts)
 *   - the struct must not move before the function has ended or was cancelled */
#ifndef VOLT_ASYNC_H
#define VOLT_ASYNC_H

#include "future.h"

/* Where a function stands. Members are private. All-zero: at its beginning. */
typedef struct volt_frame {
  volt_future *awaiting;
  uint32_t step;              /* the line of its await, or one of VOLT_STEP_... */
  VOLT_PLAIN(int32_t) result; /* what it will return; of a task: what that has returned */
  uint8_t block; /* of a task: its size class in the pool; 0: the memory is the caller's */
  uint8_t shard; /* of a task: which registry it is in */
  uint8_t is_finally : 1;
  uint8_t polled_by : 7;      /* of a task: the mark of the worker that polled it last; 0: none */
  VOLT_PLAIN(uint8_t) member; /* under its group's lock: whether it has a handle */
  int32_t site;               /* from the poll function to its volt_site_, in bytes; 0: not known */
} volt_frame;

typedef struct volt_async volt_async;

/* What runs: a poll function, between VOLT_ASYNC_BEGIN and VOLT_ASYNC_END. */
typedef int volt_async_fn(volt_async *a, volt_ctx *ctx);

/* Members are private. */
struct volt_async {
  volt_future future;
  volt_frame frame;
  volt_async_fn *poll;
};

VOLT_BEGIN_DECLS

/* The future of an async function, from its beginning: nothing of it runs before the first poll.
 * a: the beginning of the caller's struct; fn is given it. The rest of the struct is the caller's.
 *   It is new, or its function has returned or was cancelled; then the function runs once more.
 * Returns &a->future: its result is what fn returns, other than VOLT_PENDING.
 * Cancel: if fn has begun, it runs to its end with every await cancelled; else nothing of it runs.
 * Threads: the future's owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_async_future(volt_async *a, volt_async_fn *fn);

VOLT_END_DECLS

/* The function begins here; polled again, it goes on at the await it stands at.
 * self: a pointer to the struct, whose member async is its volt_async. */
#define VOLT_ASYNC_BEGIN(self) VOLT_FRAME_BEGIN_(self, (self)->async)

/* For a poll function that is written by hand, without BEGIN and END, as its first statement: what it
 * awaits is shown by volt_dump() (volt/sight.h). Without it a dump shows the function as one that
 * awaits nothing.
 * inside: volt_future *inside(const void *its, unsigned i). It returns the i-th of the futures that
 *   the function awaits, from 0; NULL: there are no more. its: the address of the volt_async. It is
 *   called on any thread, and never while the function runs. It reads the struct, and does nothing
 *   else. */
#define VOLT_ASYNC_SHOWS(self, inside) VOLT_FRAME_SHOWS_(self, (self)->async, inside)

/* The function ends here, with the result that stands: VOLT_OK if nothing else was set. */
#define VOLT_ASYNC_END(self) VOLT_FRAME_END_(self)

/* Wait for future. If its result is a success (volt_is_ok()), go on behind this line; else leave
 * with that result.
 * future: an expression, evaluated once, before the wait.
 * Cancel: as said at the top of this file. */
#define VOLT_AWAIT(self, future) \
  VOLT_AWAIT_(self, future, if (VOLT_UNLIKELY(!volt_is_ok(volt_result_))) VOLT_LEAVE_(volt_result_))

/* Wait for future; then result = its result, whatever it is, and the function goes on. */
#define VOLT_AWAIT_RESULT(self, result, future) VOLT_AWAIT_(self, future, (result) = volt_result_)

/* VOLT_AWAIT_RESULT for hot paths: first result = attempt, which does not wait. Only if that is
 * VOLT_EAGAIN, the future is made and awaited.
 *
 *   VOLT_AWAIT_TRY(self, self->r, jobs_try_recv(&jobs, &self->job),
 *                  jobs_recv_future(&self->f, &jobs, &self->job));
 *
 * attempt is skipped if the poller is being cancelled or has used up its budget. */
#define VOLT_AWAIT_TRY(self, result, attempt, future) VOLT_AWAIT_TRY_(self, result, attempt, future)

/* Let others run: the function goes on when its poller polls it again, which the poller does
 * without being woken.
 * Cancel: leaves with VOLT_ECANCELED, as a VOLT_AWAIT does. So a permit or a lock that is held
 *   across it must be released after VOLT_FINALLY. */
#define VOLT_YIELD(self) VOLT_YIELD_(self)

/* Leave with its_result: go on at VOLT_FINALLY, or, if there is none or this is after it, at the
 * end. Of several errors the first stands. */
#define VOLT_RETURN(self, its_result) \
  do {                                \
    (void)(self);                     \
    VOLT_LEAVE_(its_result);          \
  } while (0)

/* At most once in a function: what leaves goes on here, and so does what comes here without
 * leaving. From here on a VOLT_AWAIT that fails, VOLT_RETURN, and a VOLT_YIELD that is cancelled go
 * to the end. */
#define VOLT_FINALLY(self) VOLT_FINALLY_(self)

/* After VOLT_FINALLY: the result that stands so far, VOLT_OK if the function came there without
 * leaving. It says whether to commit or to roll back. */
#define VOLT_LEAVING(self) ((void)(self), (int)volt_await_outside_of_BEGIN_and_END->result)

#include "detail/await.h"

#endif
