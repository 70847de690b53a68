/* stages.h: the stages but for the last, which is the main thread (pipeline.c). */
#ifndef PIPELINE_STAGES_H
#define PIPELINE_STAGES_H

#include "pipeline.h"

/* ---- one wait of a stage: for a channel, or for the token ---- */

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

/* ---- the stages ---- */

/* Send the paths of all regular files in and below the roots. A thread. p: a struct pipeline. */
void *walk_run(void *p);

/* Take paths, read the files, send their blocks, until there are no more. A thread. p: a struct
 * pipeline. */
void *read_run(void *p);

/* Take the blocks of one lane, hash them, send the files that are done. */
struct hash_task {
  volt_task task;
  struct pipeline *pipeline;
  block_chan *lane;
  struct block block;
  struct step step;
  int result;
};

void hash_task_init(struct hash_task *h, struct pipeline *p, block_chan *lane);

#endif
