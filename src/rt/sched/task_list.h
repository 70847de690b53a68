/* task_list.h: a list of tasks: a ring of links. The head is a link of no task. Under its owner's
 * lock. */
#ifndef VOLT_RT_SCHED_TASK_LIST_H
#define VOLT_RT_SCHED_TASK_LIST_H

#include <volt/task.h>

#include "../../core/os/check.h"
#include "short_lock.h"
#include "task.h"

/* How many tasks are asked to end under the lock in one go. */
#ifndef VOLT_CANCEL_BATCH
#define VOLT_CANCEL_BATCH 64
#endif

static inline void volt_task_list_init_(volt_task_link *head) {
  head->next = head;
  head->prev = head;
}

static inline bool volt_task_list_is_empty_(volt_task_link *head) {
  return head->next == head;
}

/* Right behind `before`. */
static inline void volt_task_list_insert_(volt_task_link *before, volt_task_link *link) {
  volt_task_link *next = before->next;
  link->prev = before;
  next->prev = link;
  link->next = next;
  before->next = link;
}

static inline void volt_task_list_append_(volt_task_link *head, volt_task_link *link) {
  volt_task_list_insert_(head->prev, link);
}

static inline void volt_task_list_remove_(volt_task_link *link) {
  link->prev->next = link->next;
  link->next->prev = link->prev;
}

/* Take the first task out of `from`, which is not empty, and append it to `to`. */
typedef volt_task *volt_task_list_take_fn_(volt_task_link *from, volt_task_link *to);

/* Ask every task in `from` to end, and move it to `to`. The lock is not held when this is called.
 * A task that was asked does not end before volt_task_deliver_(), which is called without the lock,
 * because the end of a task takes the lock. Returns how many were asked. */
static inline uint64_t volt_task_list_cancel_(volt_short_lock *lock, volt_task_link *from,
                                              volt_task_link *to, volt_task_list_take_fn_ *take) {
  uint64_t asked = 0;
  bool more;
  do {
    volt_task *batch[VOLT_CANCEL_BATCH];
    bool schedule[VOLT_CANCEL_BATCH];
    unsigned count = 0;
    volt_short_lock_lock_(lock);
    while (count < VOLT_CANCEL_BATCH && !volt_task_list_is_empty_(from)) {
      volt_task *t = take(from, to);
      if (volt_task_ask_(t, &schedule[count])) batch[count++] = t;
    }
    more = !volt_task_list_is_empty_(from); /* else not even the lock is touched again */
    volt_short_lock_unlock_(lock);
    for (unsigned i = 0; i < count; i++) volt_task_deliver_(batch[i], schedule[i]);
    asked += count;
  } while (more);
  return asked;
}

/* In volt_group.how of a group that was made. It never changes, so it is read without the lock. */
#define VOLT_GROUP_MADE_ (UINT32_C(1) << 31)

static inline void volt_group_check_init_(const volt_group *g) {
  VOLT_CHECK(g->how & VOLT_GROUP_MADE_, "volt_group", "%p was not initialised: volt_group_init()",
             (const void *)g);
}

#endif
