/* dump_groups.h: tasks that stand at the same place and wait for the same object, counted in memory
 * that does not grow. dump_groups.c says what is done when there are more. */
#ifndef VOLT_SIGHT_DUMP_DUMP_GROUPS_H
#define VOLT_SIGHT_DUMP_DUMP_GROUPS_H

#include "dump_tree.h"

enum {
  VOLT_GROUPS_MAX_ = 1024,
  VOLT_GROUP_OBJECTS_MAX_ = 256, /* groups of one place that differ in their objects */
  VOLT_GROUP_OLDEST_ = 10,
  VOLT_GROUP_SINGLES_ = 10 /* so many groups of one place with one task each are not shown singly */
};

/* What is said of one task of a group. */
typedef struct volt_aged_ {
  const void *task;   /* may be gone: a number */
  const void *object; /* that it waits for, or NULL. The same */
  uint64_t since_ns;
  uint32_t polls;
  bool is_cancelled;
} volt_aged_;

static inline volt_aged_ volt_aged_of_(const volt_seen_ *seen, const void *object) {
  return (volt_aged_){.task = seen->task,
                      .object = object,
                      .since_ns = seen->since_ns,
                      .polls = seen->polls,
                      .is_cancelled = seen->is_cancelled};
}

typedef struct volt_dump_group_ {
  uint64_t place, object; /* as volt_tree_sum_; of which runtime is in the place */
  uint64_t count;
  unsigned rt;
  uint32_t wanted;
  volt_seen_how_ how;
  bool is_fiber;
  volt_tree_of_ of;
  volt_called_ name; /* of each of its tasks */
  unsigned oldest;   /* so many, the youngest of them at [youngest] */
  unsigned youngest;
  volt_aged_ old[VOLT_GROUP_OLDEST_];
  volt_tree_ tree;        /* of one of them */
  volt_stack_seen_ stack; /* the same */
  /* private */
  struct volt_dump_group_ *next;    /* in its bucket */
  struct volt_dump_group_ *various; /* of its place. Its own: the first of those with objects */
  struct volt_dump_group_ *sibling; /* the next of these */
  struct volt_dump_group_ *turn;    /* of various: the one to fold next, if it has but one task */
  unsigned members;
} volt_dump_group_;

/* All-zero at first. */
typedef struct volt_dump_groups_ {
  unsigned count;
  uint64_t elsewhere; /* tasks that are in no group */
  volt_dump_group_ group[VOLT_GROUPS_MAX_];
  volt_dump_group_ *bucket[2 * VOLT_GROUPS_MAX_];
} volt_dump_groups_;

/* Count a task. Returns its group; NULL: there is no room, and it is counted as elsewhere. If the
 * count of the group is 1, the caller fills in name and tree, and all that is said of every
 * member. */
volt_dump_group_ *volt_groups_count_(volt_dump_groups_ *groups, const volt_tree_sum_ *sum,
                                     const volt_aged_ *aged);

/* All tasks are counted. Put those together that have objects of their own. */
void volt_groups_fold_(volt_dump_groups_ *groups);

/* Sort those of a runtime into order: the largest first. Returns how many there are. */
unsigned volt_groups_sort_(volt_dump_groups_ *groups, unsigned rt, volt_dump_group_ **order);

/* Sort old[]: the one that has waited longest first. */
void volt_group_sort_oldest_(volt_dump_group_ *group);

#endif
