/* hash.c: the third stage: tasks of volt's runtime, each with a lane of its own. */
#define _GNU_SOURCE
#include "stages.h"

/* Hash what has come. Returns whether the file is done. */
static bool handle(struct hash_task *h) {
  struct block *block = &h->block;
  if (!block->buffer) {
    block->file->sum = sha256_end(&block->file->hash);
    return true;
  }
  sha256_add(&block->file->hash, block->buffer, block->bytes);
  pipeline_free_buffer(h->pipeline, block->buffer);
  return false;
}

static int hash_poll(volt_task *t, volt_ctx *ctx) {
  struct hash_task *self = volt_container_of(t, struct hash_task, task);
  struct pipeline *p = self->pipeline;
  VOLT_TASK_BEGIN(self);
  for (;;) {
    block_chan_recv_future(&self->step.operation, self->lane, &self->block);
    VOLT_AWAIT_RESULT(self, self->result, step_future(&self->step, &p->stop));
    if (step_result(&self->step, self->result) != VOLT_OK) break;
    if (!handle(self)) continue;
    file_chan_send_future(&self->step.operation, &p->sums, &self->block.file);
    VOLT_AWAIT_RESULT(self, self->result, step_future(&self->step, &p->stop));
    if (step_result(&self->step, self->result) != VOLT_OK) break;
  }
  VOLT_TASK_END(self);
}

void hash_task_init(struct hash_task *h, struct pipeline *p, block_chan *lane) {
  *h = (struct hash_task){.pipeline = p, .lane = lane};
  volt_task_init(&h->task, hash_poll);
}
