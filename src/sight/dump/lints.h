/* lints.h: what is wrong with a task for certain. lints.c says why it is certain. */
#ifndef VOLT_SIGHT_DUMP_LINTS_H
#define VOLT_SIGHT_DUMP_LINTS_H

#include "dump_tree.h"

typedef enum volt_lint_ {
  VOLT_LINT_NONE_,
  VOLT_LINT_LOST_,   /* it waits, and no registration is open: nothing can wake it */
  VOLT_LINT_GRANTED_ /* it has been granted something, was woken, and does not look at it */
} volt_lint_;

/* seen is claimed, and summed up in *sum. waited_ns: since its last poll. */
volt_lint_ volt_lint_of_(const volt_seen_ *seen, const volt_tree_sum_ *sum, uint64_t waited_ns);

/* "NOTHING CAN WAKE IT: no registration is open" */
void volt_lint_put_(volt_text_ *t, volt_lint_ lint, uint64_t waited_ns);

#endif
