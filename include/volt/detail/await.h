/* detail/await.h: how an async function returns at an await and is entered again there.
 *
 * Not an interface: programs use volt/async.h. A function is a switch over frame->step, from BEGIN
 * to END. An await stores its line there and returns; the next poll jumps to the case of that
 * line. The functions below are in src/async/async.c. */
#ifndef VOLT_DETAIL_AWAIT_H
#define VOLT_DETAIL_AWAIT_H

#include "../async.h"
#include "holders.h"

/* Where a function is: one for each, among the constants of its module. Inspectors read it. */
typedef struct volt_site_ {
  const char *file;
  const char *function;
  uint32_t bytes; /* of its struct */
  uint32_t version;
  uint32_t line;                                       /* where it begins */
  volt_future *(*inside)(const void *its, unsigned i); /* VOLT_ASYNC_SHOWS(); else NULL */
} volt_site_;

enum { VOLT_SITE_VERSION_ = 2 };

/* Where an await of a coroutine is: what a std::source_location points to. It begins as a volt_site_
 * does. */
typedef struct volt_place_ {
  const char *file;
  const char *function;
  uint32_t line;
  uint32_t column;
} volt_place_;

/* Of each coroutine, in its frame. Written as it waits. Coroutines that await each other are a
 * trail, from the one that waits to the root. */
typedef struct volt_trail_ {
  void *parent;                         /* the coroutine that awaits it; NULL: it has not waited */
  const struct volt_trail_ *awaited_by; /* if it has a parent */
  const volt_place_ *place;             /* at which it waits, or has waited last; NULL: not known */
} volt_trail_;

VOLT_BEGIN_DECLS

VOLT_API void volt_frame_leave_(volt_frame *frame, int result);
VOLT_API int volt_frame_poll_shielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yields_(const volt_frame *frame, volt_ctx *ctx);
VOLT_API bool volt_frame_yielded_(volt_frame *frame, volt_ctx *ctx);
VOLT_API void volt_frame_check_(const volt_frame *frame, const char *function);

VOLT_END_DECLS

/* frame->step, when it is no line. */
enum {
  VOLT_STEP_TRAIL_ = 0x7f000000,   /* + n: coroutines; n bytes behind the frame is a pointer to the
                                    * trail of the one that waits */
  VOLT_STEP_FINALLY_ = 0x7ffffff0, /* go on at VOLT_FINALLY, or, without one, at the end */
  VOLT_STEP_END_ = 0x7ffffff1,     /* go on at the end: this is after VOLT_FINALLY */
  VOLT_STEP_ENDED_ = 0x7ffffff2    /* the function has returned */
};

/* The trail of the coroutines that the frame's poller runs, innermost first; NULL: it runs none, or
 * none has waited. */
static inline const volt_trail_ *volt_frame_trail_(const volt_frame *frame) {
  uint32_t step = frame->step;
  if (step <= VOLT_STEP_TRAIL_ || step >= VOLT_STEP_FINALLY_) return NULL;
  size_t behind = step - VOLT_STEP_TRAIL_;
  return *(const volt_trail_ *const *)(const void *)((const char *)frame + behind);
}
static inline const volt_trail_ *volt_trail_outer_(const volt_trail_ *trail) {
  return trail->parent ? trail->awaited_by : NULL;
}

/* Poll what the function awaits; after VOLT_FINALLY, shielded from a cancellation. */
static inline int volt_frame_poll_(volt_frame *frame, volt_ctx *ctx) {
  return frame->is_finally ? volt_frame_poll_shielded_(frame, ctx)
                           : volt_future_poll_ctx(frame->awaiting, ctx);
}

#if VOLT_SIGHT /* what is locked in this poll is locked here */
static inline int volt_frame_poll_at_(volt_frame *frame, volt_ctx *ctx, const char *file,
                                      uint32_t line) {
  volt_awaits_ outside = volt_party_awaits_(file, line);
  int result = volt_frame_poll_(frame, ctx);
  volt_party_awaited_(outside);
  return result;
}
#define VOLT_FRAME_POLL_(frame, ctx) volt_frame_poll_at_((frame), (ctx), __FILE__, __LINE__)
#else
#define VOLT_FRAME_POLL_(frame, ctx) volt_frame_poll_((frame), (ctx))
#endif

/* Note where the function is that is polled by `poll`; not if that is of a module 2 GiB away. */
static VOLT_INLINED_ void volt_frame_note_site_(volt_frame *frame, const volt_site_ *site,
                                                uintptr_t poll) {
  int64_t offset = (int64_t)((uintptr_t)site - poll);
  if (VOLT_LIKELY((int32_t)offset == offset)) frame->site = (int32_t)offset;
}

/* What was noted for it; NULL: nothing. */
static inline const volt_site_ *volt_frame_site_(int32_t noted, uintptr_t poll) {
  return noted == 0 ? NULL : (const volt_site_ *)(poll + (uintptr_t)(intptr_t)noted);
}

/* its: the volt_task or the volt_async of *self. The descriptor is noted once, as it begins. */
#define VOLT_FRAME_BEGIN_(self, its)                                                           \
  static const volt_site_ volt_site_of_BEGIN_ = {__FILE__,           __func__, sizeof *(self), \
                                                 VOLT_SITE_VERSION_, __LINE__, NULL};          \
  volt_frame *const volt_await_outside_of_BEGIN_and_END = &(its).frame;                        \
  goto volt_resume_;                                                                           \
  volt_resume_:                                                                                \
  switch (volt_await_outside_of_BEGIN_and_END->step) {                                         \
    case 0:                                                                                    \
      volt_frame_note_site_(volt_await_outside_of_BEGIN_and_END, &volt_site_of_BEGIN_,         \
                            (uintptr_t)(its).poll);

/* Noted at each poll, because it costs less than to see whether it is there. */
#define VOLT_FRAME_SHOWS_(self, its, its_inside)                                                 \
  do {                                                                                           \
    static const volt_site_ volt_site_of_SHOWS_ = {__FILE__,           __func__, sizeof *(self), \
                                                   VOLT_SITE_VERSION_, __LINE__, (its_inside)};  \
    volt_frame_note_site_(&(its).frame, &volt_site_of_SHOWS_, (uintptr_t)(its).poll);            \
  } while (0)

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
      int volt_result_ = VOLT_FRAME_POLL_(volt_await_outside_of_BEGIN_and_END, ctx); \
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

#define VOLT_AWAIT_TRY_(self, result, attempt, future)                                   \
  do {                                                                                   \
    if (VOLT_LIKELY(volt_ctx_goes_on_(ctx))) {                                           \
      (result) = (attempt);                                                              \
      if ((result) != VOLT_EAGAIN) ctx->budget -= 1;                                     \
    } else {                                                                             \
      (result) = VOLT_EAGAIN;                                                            \
    }                                                                                    \
    if (VOLT_UNLIKELY((result) == VOLT_EAGAIN)) VOLT_AWAIT_RESULT(self, result, future); \
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
