/* call.h: what a blocking call waits for, and that its thread sleeps (sleepers.c shows it). */
#ifndef VOLT_CORE_PARK_CALL_H
#define VOLT_CORE_PARK_CALL_H

#include "../future/future_ops.h"
#include "../hooks/counters.h"

/* A blocking call that may come to sleep: what it waits for. Lives as long as the call. */
typedef struct volt_call_ {
  const char *name;            /* for messages */
  volt_kind_ kind;             /* of object; VOLT_KIND_NONE_: there is none */
  const volt_future_ops_ *ops; /* of object and n, as of volt_future_make_(); or NULL */
  void *object;
  uint32_t n;
  volt_future *future; /* that is awaited: all of the above but name is not used; or NULL */
  volt_waiter *waiter; /* that is queued; NULL: not known */
} volt_call_;

/* This thread is about to sleep in the call. Each is followed by an end. */
VOLT_API void volt_sleep_begin_(const volt_call_ *call, uint64_t deadline_ns);
VOLT_API void volt_sleep_end_(void);

#endif
