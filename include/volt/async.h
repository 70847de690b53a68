/* async.h: functions that wait and read like straight code.
 *
 * An async function is a struct and a poll function over it. The struct begins with volt_async and
 * holds what lives across an await: arguments, results, futures, counters. It is a future like any
 * other: a task awaits it, a thread blocks on it, a select races it.
 *
 *   struct copy { volt_async async; volt_future lock; volt_sleep nap; int tries; };
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
 *   VOLT_AWAIT(self, future)            wait; unless the result is a success (volt_is_ok()), leave
 *                                       with it
 *   VOLT_AWAIT_RESULT(self, r, future)  wait; r = the result, whatever it is
 *   VOLT_AWAIT_TRY(self, r, try, future)  the same, but first r = try, which does not wait; only if
 *                                       that is VOLT_EAGAIN, the future is made, and awaited. For
 *                                       hot paths: VOLT_AWAIT_TRY(self, self->r,
 *                                       jobs_try_recv(&jobs, &self->job),
 *                                       jobs_recv_future(&self->f, &jobs, &self->job))
 *   VOLT_YIELD(self)                    let others run
 *   VOLT_RETURN(self, result)           leave with result
 *   VOLT_FINALLY(self)                  at most once: what leaves, and what comes to it, goes on
 *                                       here; the result stands. In here a VOLT_AWAIT that fails,
 *                                       and VOLT_RETURN, go to the end and keep the first failure
 *   VOLT_LEAVING(self)                  behind VOLT_FINALLY: the result that stands so far; VOLT_OK
 *                                       if the function came there without leaving. It says
 *                                       whether to commit, or to roll back
 *
 * Cancellation makes the await that it meets return VOLT_ECANCELED, after the future was cancelled
 * (a grant is given back; an element that a channel has moved stays moved, that await returns
 * VOLT_OK, and the cancel meets the next one). Of a task that is cancelled it is one await, the
 * innermost, that it is in or comes to; never one after VOLT_FINALLY: what that awaits is awaited,
 * also if the cancel comes only then. Of a function that is dropped from outside (it lost a select,
 * its future was cancelled) it is every await, so its rest runs without waiting.
 *
 * To run a function again that has returned, make its future again. volt_async_future() puts the
 * function at its beginning, and touches nothing of the struct but its volt_async. Other members
 * that have to begin anew are the caller's to set; the awaits make their futures again. A future
 * that is not made again polls as before, and nothing runs. The poll function itself aborts if it
 * is called again ("polled after it has returned"). A future that is pending is cancelled before it
 * is made again. A task is spawned once; one in memory of the caller's may be initialised again
 * when it has ended.
 *
 * Limits, all of a function that returns in the middle and is entered again there:
 *   - local variables do not survive an await: keep them in the struct
 *   - no await inside a switch of one's own (aborts at the next poll), one await per line (an error
 *     of the compiler), none outside BEGIN and END ("volt_await_outside_of_BEGIN_and_END")
 *   - the parameter that says who polls is called ctx
 *   - a result is a success or an error: not 1, which is VOLT_PENDING (aborts)
 *   - return only before BEGIN or after END; in between VOLT_RETURN
 *   - the struct must not move before the function has ended or was cancelled */
#ifndef VOLT_ASYNC_H
#define VOLT_ASYNC_H

#include "future.h"

/* Where a function stands. Members are private. All-zero: at its beginning. */
typedef struct volt_frame {
  volt_future *awaiting;
  uint32_t step;  /* the line of its await, or one of VOLT_STEP_... */
  int32_t result; /* what it will return */
  uint32_t is_finally;
} volt_frame;

typedef struct volt_async volt_async;
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
 * Cancel: in the middle, fn runs to its end with every await cancelled. */
VOLT_API volt_future *volt_async_future(volt_async *a, volt_async_fn *fn);

/* For the macros. */
VOLT_API void volt_frame_leave_(volt_frame *frame, int result);
VOLT_API int volt_frame_poll_shielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yields_(const volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API void volt_frame_check_(const volt_frame *frame, const char *function);

VOLT_END_DECLS

enum {
  VOLT_STEP_FINALLY_ = 0x7ffffff0,
  VOLT_STEP_END_ = 0x7ffffff1,  /* leave what is in VOLT_FINALLY */
  VOLT_STEP_ENDED_ = 0x7ffffff2 /* it has returned */
};

#define VOLT_ASYNC_BEGIN(self) VOLT_FRAME_BEGIN_(&(self)->async.frame)
#define VOLT_ASYNC_END(self) VOLT_FRAME_END_(self)

#define VOLT_FRAME_BEGIN_(its_frame)                                   \
  volt_frame *const volt_await_outside_of_BEGIN_and_END = (its_frame); \
  goto volt_resume_;                                                   \
  volt_resume_:                                                        \
  switch (volt_await_outside_of_BEGIN_and_END->step) {                 \
    case 0:

#define VOLT_FRAME_END_(self)                                                  \
  if (0) {                                                                     \
    default: volt_frame_check_(volt_await_outside_of_BEGIN_and_END, __func__); \
  }                                                                            \
  }                                                                            \
  (void)(self);                                                                \
  volt_await_outside_of_BEGIN_and_END->step = VOLT_STEP_ENDED_;                \
  return volt_await_outside_of_BEGIN_and_END->result

/* What VOLT_FINALLY awaits is shielded. */
#define VOLT_FRAME_POLL_(frame)                                  \
  ((frame)->is_finally ? volt_frame_poll_shielded_((frame), ctx) \
                       : volt_future_poll_ctx((frame)->awaiting, ctx))

/* Entered again at the case, by BEGIN. */
#define VOLT_AWAIT_(self, its_future, otherwise)                                \
  do {                                                                          \
    (void)(self);                                                               \
    volt_await_outside_of_BEGIN_and_END->awaiting = (its_future);               \
    volt_await_outside_of_BEGIN_and_END->step = __LINE__;                       \
    if (0) {                                                                    \
      case __LINE__:;                                                           \
    }                                                                           \
    {                                                                           \
      int volt_result_ = VOLT_FRAME_POLL_(volt_await_outside_of_BEGIN_and_END); \
      if (volt_result_ == VOLT_PENDING) return VOLT_PENDING;                    \
      volt_await_outside_of_BEGIN_and_END->awaiting = NULL;                     \
      otherwise;                                                                \
    }                                                                           \
  } while (0)

#define VOLT_LEAVE_(its_result)                                           \
  do {                                                                    \
    volt_frame_leave_(volt_await_outside_of_BEGIN_and_END, (its_result)); \
    goto volt_resume_;                                                    \
  } while (0)

#define VOLT_AWAIT(self, future) \
  VOLT_AWAIT_(self, future, if (!VOLT_LIKELY(volt_is_ok(volt_result_))) VOLT_LEAVE_(volt_result_))

#define VOLT_AWAIT_RESULT(self, result, future) VOLT_AWAIT_(self, future, (result) = volt_result_)

#define VOLT_AWAIT_TRY(self, result, attempt, future)                     \
  do {                                                                    \
    (result) = VOLT_EAGAIN;                                               \
    if (VOLT_LIKELY(ctx->cancel == VOLT_CTX_GO_ON && ctx->budget > 0)) {  \
      (result) = (attempt);                                               \
      if ((result) != VOLT_EAGAIN) ctx->budget -= 1;                      \
    }                                                                     \
    if ((result) == VOLT_EAGAIN) VOLT_AWAIT_RESULT(self, result, future); \
  } while (0)

#define VOLT_RETURN(self, its_result) \
  do {                                \
    (void)(self);                     \
    VOLT_LEAVE_(its_result);          \
  } while (0)

#define VOLT_LEAVING(self) ((void)(self), (int)volt_await_outside_of_BEGIN_and_END->result)

#define VOLT_YIELD(self)                                                                   \
  do {                                                                                     \
    (void)(self);                                                                          \
    volt_await_outside_of_BEGIN_and_END->step = __LINE__;                                  \
    if (volt_frame_yields_(volt_await_outside_of_BEGIN_and_END, ctx)) return VOLT_PENDING; \
    if (0) {                                                                               \
      case __LINE__:;                                                                      \
    }                                                                                      \
    if (volt_frame_yielded_(volt_await_outside_of_BEGIN_and_END, ctx)) goto volt_resume_;  \
  } while (0)

#define VOLT_FINALLY(self)    \
  (void)(self);               \
  if (0) {                    \
    case VOLT_STEP_FINALLY_:; \
  }                           \
  volt_await_outside_of_BEGIN_and_END->is_finally = 1

#endif
