/* step.c: one wait of a stage: for a channel, or for the token.
 *
 * The token comes first: who could go on, and is to stop, stops. An element that was granted in the
 * instant in which the token was cancelled is not lost: a select takes one branch or the other. */
#include "step.h"

enum { STOP, OPERATION };

volt_future *step_future(struct step *step, volt_token *stop) {
  step->both[STOP] = volt_token_future(&step->stop, stop);
  step->both[OPERATION] = &step->operation;
  return volt_select_future(&step->select, step->both, 2, VOLT_SELECT_BIASED);
}

int step_result(const struct step *step, int result) {
  return volt_select_winner(&step->select) == STOP ? VOLT_ECANCELED : result;
}

int step_blocking(struct step *step, volt_token *stop) {
  return step_result(step, volt_block_on(step_future(step, stop), VOLT_NO_DEADLINE));
}
