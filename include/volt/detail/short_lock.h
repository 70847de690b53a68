/* detail/short_lock.h: the lock that a group embeds. Its protocol is in src/rt/sched/short_lock.h. */
#ifndef VOLT_DETAIL_SHORT_LOCK_H
#define VOLT_DETAIL_SHORT_LOCK_H

#include "../base.h"
#include "atomic.h"

/* Members are private. */
typedef struct volt_short_lock {
  VOLT_ATOMIC(uint32_t) word; /* 0 free, 1 held */
} volt_short_lock;

#endif
