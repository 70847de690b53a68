// groups.hpp: a group in memory of its own, and tasks for it.
#ifndef VOLT_MODEL_GROUPS_HPP
#define VOLT_MODEL_GROUPS_HPP

#include "fake_rt.hpp"

enum { FAILURE = -99, RESULT = 7 };

struct group_model : model {
  fake_rt rt;
  event never;
  volt_group *g = new volt_group; // whoever needs it after it was destroyed is reported
  model_task::trace left[2];

  explicit group_model(unsigned how = VOLT_GROUP_FAIL_FAST) {
    volt_group_init_how(g, how);
  }
  model_task *make(unsigned i, model_task::body_fn *body) {
    return model_task::make(rt.handle(), body, this, &left[i], true);
  }
  void spawn(unsigned i, model_task::body_fn *body) {
    EXPECT(volt_group_spawn(g, rt.handle(), &make(i, body)->task) == VOLT_OK);
  }
  void destroy() {
    volt_group_destroy(g);
    g->count = 0;
    g->result = 0;
    g->is_cancelled = 0;
    g->waiter = nullptr;
    g->running.next = nullptr;
    g->cancelled.next = nullptr;
    g->ended.next = nullptr;
    delete g;
    g = nullptr;
  }
  // At quiescence.
  void expect_over(int result) {
    rt.drain();
    EXPECT(rt.alive() == 0);
    if (!g) return;
    EXPECT(volt_group_count(g) == 0 && g->result == result && !g->waiter);
    destroy();
  }

  // *t was taken: it returned that, and is given back.
  void expect_taken(volt_task *t, int result) {
    EXPECT(volt_task_result(t) == result);
    volt_task_detach(t);
  }

  // ---- what the tasks do ----

  static int succeed(void *, model_task *, volt_ctx *) {
    return VOLT_OK;
  }
  static int fail(void *, model_task *, volt_ctx *) {
    return FAILURE;
  }
  // Ends when it is told to, and never else.
  static int until_cancelled(void *m, model_task *, volt_ctx *ctx) {
    group_model *self = static_cast<group_model *>(m);
    if (ctx->cancel == VOLT_CTX_GO_ON) {
      self->never.poll(ctx);
      return VOLT_PENDING;
    }
    self->never.drop(ctx);
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }
};

#endif
