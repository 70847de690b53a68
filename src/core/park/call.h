/* call.h: a blocking call says what it waits for while its thread sleeps, so that dumps can show it
 * (sleepers.c). */
#ifndef VOLT_CORE_PARK_CALL_H
#define VOLT_CORE_PARK_CALL_H

#include "../future/future_ops.h"
#include "../hooks/counters.h"

/* A blocking call that may come to sleep: what it waits for. Lives as long as the call. */
typedef struct volt_call_ {
  const char *name;            /* for messages */
  volt_kind_ kind;             /* of object; VOLT_KIND_NONE_: there is none */
  const volt_future_ops_ *ops; /* ops, object, n: what volt_future_make_() would get; or NULL */
  void *object;
  uint32_t n;
  volt_future *future; /* the awaited one: of the members above only name is used then; or NULL */
  volt_waiter *waiter; /* the queued one; NULL: not known */
} volt_call_;

/* This thread is about to sleep in the call. Each begin is followed by one volt_sleep_end_(). */
VOLT_API void volt_sleep_begin_(const volt_call_ *call, uint64_t deadline_ns);
VOLT_API void volt_sleep_end_(void);

#endif
