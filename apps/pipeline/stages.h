/* stages.h: the stages but for the last, which is the main thread (pipeline.c). */
#ifndef PIPELINE_STAGES_H
#define PIPELINE_STAGES_H

#include "pipeline.h"
#include "step.h"

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
