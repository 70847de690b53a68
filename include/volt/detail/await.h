/* detail/await.h: how an async function returns at an await and is entered again there.
 *
 * Not an interface: programs use volt/async.h. A function is a switch over frame->step, from BEGIN
 * to END. An await stores its line there and returns; the next poll jumps to the case of that
 * line. The functions below are in src/async/async.c. */
#ifndef VOLT_DETAIL_AWAIT_H
#define VOLT_DETAIL_AWAIT_H

#include "../async.h"

VOLT_BEGIN_DECLS

VOLT_API void volt_frame_leave_(volt_frame *frame, int result);
VOLT_API int volt_frame_poll_shielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yields_(const volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API void volt_frame_check_(const volt_frame *frame, const char *function);

VOLT_END_DECLS

/* frame->step, when it is no line. */
enum {
  VOLT_STEP_FINALLY_ = 0x7ffffff0, /* go on at VOLT_FINALLY, or, without one, at the end */
  VOLT_STEP_END_ = 0x7ffffff1,     /* go on at the end: this is after VOLT_FINALLY */
  VOLT_STEP_ENDED_ = 0x7ffffff2    /* the function has returned */
};

/* Poll what the function awaits; after VOLT_FINALLY, shielded from a cancellation. */
static inline int volt_frame_poll_(volt_frame *frame, volt_ctx *ctx) {
  return frame->is_finally ? volt_frame_poll_shielded_(frame, ctx)
                           : volt_future_poll_ctx(frame->awaiting, ctx);
}

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

/* `goto volt_resume_` and the next poll enter at the case. otherwise: what to do with the
 * result. */
#define VOLT_AWAIT_(self, its_future, otherwise)                                     \
  do {                                                                               \
    (void)(self);                                                                    \
    volt_await_outside_of_BEGIN_and_END->awaiting = (its_future);                    \
    volt_await_outside_of_BEGIN_and_END->step = __LINE__;                            \
    if (0) {                                                                         \
      case __LINE__:;                                                                \
    }                                                                                \
    {                                                                                \
      int volt_result_ = volt_frame_poll_(volt_await_outside_of_BEGIN_and_END, ctx); \
      if (volt_result_ == VOLT_PENDING) return VOLT_PENDING;                         \
      volt_await_outside_of_BEGIN_and_END->awaiting = NULL;                          \
      otherwise;                                                                     \
    }                                                                                \
  } while (0)

#define VOLT_LEAVE_(its_result)                                           \
  do {                                                                    \
    volt_frame_leave_(volt_await_outside_of_BEGIN_and_END, (its_result)); \
    goto volt_resume_;                                                    \
  } while (0)

#define VOLT_AWAIT_TRY_(self, result, attempt, future)                    \
  do {                                                                    \
    (result) = VOLT_EAGAIN;                                               \
    if (VOLT_LIKELY(ctx->cancel == VOLT_CTX_GO_ON && ctx->budget > 0)) {  \
      (result) = (attempt);                                               \
      if ((result) != VOLT_EAGAIN) ctx->budget -= 1;                      \
    }                                                                     \
    if ((result) == VOLT_EAGAIN) VOLT_AWAIT_RESULT(self, result, future); \
  } while (0)

#define VOLT_YIELD_(self)                                                                  \
  do {                                                                                     \
    (void)(self);                                                                          \
    volt_await_outside_of_BEGIN_and_END->step = __LINE__;                                  \
    if (volt_frame_yields_(volt_await_outside_of_BEGIN_and_END, ctx)) return VOLT_PENDING; \
    if (0) {                                                                               \
      case __LINE__:;                                                                      \
    }                                                                                      \
    if (volt_frame_yielded_(volt_await_outside_of_BEGIN_and_END, ctx)) goto volt_resume_;  \
  } while (0)

#define VOLT_FINALLY_(self)   \
  (void)(self);               \
  if (0) {                    \
    case VOLT_STEP_FINALLY_:; \
  }                           \
  volt_await_outside_of_BEGIN_and_END->is_finally = 1

#endif
