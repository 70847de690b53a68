/* step.h: one wait of a stage: for a channel, or for the token. */
#ifndef PIPELINE_STEP_H
#define PIPELINE_STEP_H

#include <volt/volt.h>

struct step {
  volt_future operation;
  volt_future stop;
  volt_future *both[2];
  volt_select select;
};

/* The operation (step->operation, made by the caller), unless the token is cancelled. Returns a
 * future: what the operation returns, or VOLT_ECANCELED. */
volt_future *step_future(struct step *step, volt_token *stop);

/* The same for a thread. */
int step_blocking(struct step *step, volt_token *stop);

/* Why a select that has ended with this result has ended. */
int step_result(const struct step *step, int result);

#endif
