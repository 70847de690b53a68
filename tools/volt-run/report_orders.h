/* report_orders.h: orders in which locks were taken that could end in a deadlock. */
#ifndef VOLT_RUN_REPORT_ORDERS_H
#define VOLT_RUN_REPORT_ORDERS_H

#include "report.h"

enum { ORDERS_LONGEST = 8, ORDERS_MOST = 64 };

/* A thread that holds one lock takes another one, which the next step holds. */
struct orders_step {
  const struct books_order *order;
  const struct books_held *held; /* of those of the order */
  uint32_t thread;               /* the tag of one that has done it; in no two steps the same */
};

struct orders_circle {
  uint32_t length;
  struct orders_step step[ORDERS_LONGEST];
};

struct orders {
  uint32_t count;
  struct orders_circle circle[ORDERS_MOST];
  bool is_cut_short; /* there may be more */
};

/* Returns NULL: there is no memory, or no order at all. To be freed. */
struct orders *orders_search(const struct report *r);

/* Whether this lock is one object for certain: it was initialised by a call, which is seen, or its memory is not given
 * back. Other memory may have been used for one lock, and then for another, without any call. */
bool orders_is_one(const struct report *r, uint32_t lock, uint32_t generation);
bool orders_are_certain(const struct report *r, const struct orders_circle *c);

/* The stack with which it took what it holds, and that with which it took the next one. NULL: only held->at, order->at
 * are known. */
const struct books_stack *orders_held_stack(const struct report *r, const struct orders_step *s);
const struct books_stack *orders_stack(const struct report *r, const struct orders_step *s);

#endif
