/* kind.h: the kinds of objects that threads and tasks wait for. Whatever asks for the kind of an object
 * compares the constant; what a kind is called, and as what it is counted, stands in the table alone. */
#ifndef VOLT_CORE_HOOKS_KIND_H
#define VOLT_CORE_HOOKS_KIND_H

#include <volt/base.h>

#include "../os/check.h"

/* Constant; its name for an inspector, and for what is counted; how its functions begin, for messages; the
 * kind as which it is counted. Behind NONE, which is 0, come those that are counted as themselves, in the order of
 * volt_counts(). */
#define VOLT_KIND_TABLE_(X)                                          \
  X(NONE, "", "volt", OTHER)                                         \
  X(OTHER, "parker", "volt_park_until", OTHER)                       \
  X(MUTEX, "mutex", "volt_mutex", MUTEX)                             \
  X(RWLOCK, "rwlock", "volt_rwlock", RWLOCK)                         \
  X(SEMAPHORE, "semaphore", "volt_sem", SEMAPHORE)                   \
  X(BUDGET, "budget", "volt_budget", BUDGET)                         \
  X(CHANNEL, "channel", "volt_chan", CHANNEL)                        \
  X(COND, "cond", "volt_cond", COND)                                 \
  X(NOTIFY, "notify", "volt_notify", NOTIFY)                         \
  X(LATCH, "latch", "volt_latch", LATCH)                             \
  X(BARRIER, "barrier", "volt_barrier", BARRIER)                     \
  X(ONCE, "once", "volt_once", ONCE)                                 \
  X(PROMISE, "promise", "volt_promise", PROMISE)                     \
  X(ONESHOT, "oneshot", "volt_oneshot", ONESHOT)                     \
  X(BROADCAST, "broadcast", "volt_broadcast", BROADCAST)             \
  X(WATCH, "watch", "volt_watch", WATCH)                             \
  X(MAILBOX, "mailbox", "volt_mailbox", MAILBOX)                     \
  X(TOKEN, "token", "volt_token", TOKEN)                             \
  X(BCS, "bcs_lock", "volt_bcs_lock", BCS)                           \
  X(TIMER, "timer", "volt_timer", TIMER)                             \
  X(TASK, "task", "volt_task", TASK)                                 \
  X(GROUP, "group", "volt_group", GROUP)                             \
  X(BLOCKING, "function", "volt_blocking", BLOCKING)                 \
  X(IO, "descriptor", "volt_fd", IO)                                 \
  X(CLUSTER, "cluster", "volt_cluster", CLUSTER)                     \
  X(WORKER, "worker", "volt_rt", WORKER)                             \
  X(LOCK, "internal lock", "volt", LOCK)                             \
  X(SLEEP, "", "volt_sleep", TIMER) /* it has no object */           \
  X(INTERVAL, "interval", "volt_interval", TIMER)                    \
  X(PERMIT_CHANNEL, "permit_channel", "volt_permit_chan", CHANNEL)   \
  X(SHARDED_RWLOCK, "sharded_rwlock", "volt_sharded_rwlock", RWLOCK) \
  X(CLUSTER_SEM, "cluster_sem", "volt_cluster_sem", CLUSTER)         \
  X(CLUSTER_LEASE, "cluster_lease", "volt_cluster_lease", CLUSTER)   \
  X(ACTOR, "actor", "volt_actor", OTHER)                             \
  X(LOOP, "loop", "volt_loop", OTHER)

typedef enum volt_kind_ {
#define VOLT_KIND_ENUM_(constant, name, api, counted) VOLT_KIND_##constant##_,
  VOLT_KIND_TABLE_(VOLT_KIND_ENUM_)
#undef VOLT_KIND_ENUM_
      VOLT_KINDS_
} volt_kind_;

/* How many are counted as themselves. */
enum { VOLT_KINDS_COUNTED_ = VOLT_KIND_LOCK_ };

/* Of a kind that is counted as itself: its number in volt_counts(). */
static inline unsigned volt_kind_number_(volt_kind_ kind) {
  VOLT_ASSERT((unsigned)kind - 1 < VOLT_KINDS_COUNTED_);
  return (unsigned)kind - 1;
}

/* "mutex"; "": there is no object. */
VOLT_API const char *volt_kind_name_(volt_kind_ kind);

extern const char *const volt_kind_apis_[VOLT_KINDS_];
extern const uint8_t volt_kinds_counted_[VOLT_KINDS_];

/* "volt_mutex": a message about such an object begins with it. */
static inline const char *volt_kind_api_(volt_kind_ kind) {
  return volt_kind_apis_[kind];
}

/* As which kind it is counted. */
static inline volt_kind_ volt_kind_counted_(volt_kind_ kind) {
  return (volt_kind_)volt_kinds_counted_[kind];
}

#endif
