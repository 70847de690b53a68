/* frame.h: what the library checks of functions that await. */
#ifndef VOLT_ASYNC_FRAME_H
#define VOLT_ASYNC_FRAME_H

#include <volt/async.h>

VOLT_BEGIN_DECLS

/* The function of this frame has returned result: abort if it has not come to its end. poll: the poll
 * function. */
VOLT_API void volt_frame_check_end_(const volt_frame *frame, uintptr_t poll, int result);

/* Abort: a task of this frame makes a call that can block its worker. */
VOLT_API VOLT_NORETURN void volt_frame_blocks_(const volt_frame *frame, uintptr_t poll,
                                               const void *task, const char *call);

VOLT_END_DECLS
#endif
