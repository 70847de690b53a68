/* variant_grant.h: the two ends of a waiter's life, the same in every variant: made ready to wait by its
 * owner; claimed by one releaser, and told. */
#ifndef VOLT_VARIANTS_VARIANT_GRANT_H
#define VOLT_VARIANTS_VARIANT_GRANT_H

#include "core/permits.h"
#include "state.h"

/* A waiter that nobody else can reach any more, and that has not been told yet. */
typedef struct volt_variant_claim_ {
  volt_waiter *waiter;
  volt_waiter *node; /* what stood in the FIFO for it: the waiter itself, or memory to be freed */
  volt_waker waker;
  uint32_t state; /* what it will be told: VOLT_WAITER_GRANTED_ or VOLT_WAITER_CLOSED_ */
  uint32_t id;
} volt_variant_claim_;

typedef struct volt_batch_ {
  unsigned count;
  volt_variant_claim_ claims[VOLT_WAKE_BATCH];
} volt_batch_;

/* Make *w, unused or completed, wait for n permits of object. name: for the message, if it is in
 * use. The owner's own until it is linked. */
void volt_waiter_prepare_(const char *name, void *object, volt_waiter *w, uint32_t n,
                          volt_waker waker);

/* What must be known of *w once it has been told: taken before. */
volt_variant_claim_ volt_variant_claim_of_(volt_waiter *w, volt_waiter *node, uint32_t state);

/* Nothing is held. Tell all of them, then give their nodes to spent() (or NULL), then call all
 * their wakers. No foreign code runs before the last of them has been told. */
void volt_publish_(const volt_variant_claim_ *claims, unsigned count,
                   void (*spent)(volt_waiter *node));

/* Permits given and permits there cannot be more than VOLT_SEM_MAX: else abort. */
void volt_check_excess_(const char *name, const void *object, uint32_t given, uint32_t there);

#endif
