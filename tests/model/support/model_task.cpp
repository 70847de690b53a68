// model_task.cpp: see model_task.hpp; and what the runtime calls to free a task of its pool.
#include "model_task.hpp"

void volt_pool_free_(volt_task *t) {
  EXPECT(t->frame.block != 0);
  model_task::of(t)->free();
}

int model_task::poll(volt_task *t, volt_ctx *ctx) {
  model_task *self = model_task::of(t);
  self->polls += 1;
  int result = self->body(self->model, self, ctx);
  self->ended += 1;
  return result;
}

model_task *model_task::make(volt_rt *rt, body_fn *body, void *model, trace *left, bool from_pool) {
  model_task *self = new model_task;
  volt_task_init(&self->task, poll);
  self->homed.home = 0;
  self->task.rt = rt;
  self->task.frame.shard = 0;
  self->task.entry.next = nullptr;
  self->task.frame.block = from_pool;
  self->body = body;
  self->model = model;
  self->left = left;
  return self;
}

void model_task::free() {
  left->freed += 1;
  left->polls = polls;
  left->result = task.frame.result;
  polls = 0;
  ended = 0;
  task.frame.result = 0xdead;
  task.joiner = nullptr;
  task.next = nullptr;
  homed.home = 0xdead;
  homed.behind = 0;
  task.entry.next = nullptr;
  task.sibling.next = nullptr;
  task.sibling.prev = nullptr;
  delete this;
}

// ---- events ----

bool event::poll(volt_ctx *ctx) {
  uint32_t state = volt_load_acquire(&state_);
  if (state != idle) return state == fired;
  wake_ = ctx->waker.wake;
  ctx_ = ctx->waker.ctx;
  if (!volt_cas_acq_rel(&state_, &state, armed)) return true;
  ctx->registered += 1;
  return false;
}

void event::fire() {
  if (volt_exchange_acq_rel(&state_, static_cast<uint32_t>(fired)) != armed) return;
  volt_wake_fn wake = wake_;
  wake(ctx_);
}

bool event::drop(volt_ctx *ctx) {
  uint32_t state = armed;
  if (!volt_cas_acq_rel(&state_, &state, idle)) return state != fired;
  void *registered = ctx_;
  ctx->drop(registered);
  return true;
}
