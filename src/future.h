/* future.h: what a primitive says about an operation so that futures can drive it. */
#ifndef VOLT_SRC_FUTURE_H
#define VOLT_SRC_FUTURE_H

#include <volt/future.h>

#include "wait_queue.h"

/* Sequential: the future's owner calls them. */
typedef struct volt_future_ops_ {
  const volt_kind_ *kind;
  int (*start)(volt_future *f, volt_waker waker);      /* as x(): VOLT_OK, VOLT_PENDING, error */
  bool (*cancel)(volt_future *f);                      /* as x_cancel() */
  bool (*set_waker)(volt_future *f, volt_waker waker); /* as x_set_waker() */
  void (*give_back)(volt_future *f);                   /* undo a grant that nobody has seen */
} volt_future_ops_;

/* For every primitive whose operation is to take f->n permits of a wait queue. */
int volt_permit_future_start_(volt_future *f, volt_waker waker);
bool volt_permit_future_cancel_(volt_future *f);
bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker);
void volt_permit_future_give_back_(volt_future *f);

#define VOLT_PERMIT_FUTURE_OPS_(kind)                                                             \
  {                                                                                               \
    (kind), volt_permit_future_start_, volt_permit_future_cancel_, volt_permit_future_set_waker_, \
        volt_permit_future_give_back_                                                             \
  }

/* The body of every constructor. Returns f. */
volt_future *volt_future_make_(volt_future *f, const volt_future_ops_ *ops, void *object,
                               uint32_t n);

#endif
