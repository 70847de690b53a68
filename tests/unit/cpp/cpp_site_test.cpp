// cpp_site_test.cpp: a function in C++ knows where its source is, too: a template, a lambda, a member, and one
// lambda within another function's BEGIN and END.
#include <volt/runtime.h>

#include "unit.hpp"

namespace {

struct job {
  volt_task task;
  const char *inside; // what a lambda within has said
};

bool is(const char *name, const char *expected) {
  return std::strcmp(name, expected) == 0;
}

const volt_site_ *site_of(const volt_task *t) {
  if (t->frame.site == 0) return nullptr;
  return reinterpret_cast<const volt_site_ *>(reinterpret_cast<uintptr_t>(t->poll) +
                                              static_cast<uintptr_t>(intptr_t{t->frame.site}));
}

const char *run(volt_task_fn *poll) {
  job j = {};
  volt_task_init(&j.task, poll);
  EXPECT(j.task.frame.site == 0);
  volt_waker none = {nullptr, nullptr};
  volt_ctx ctx = VOLT_CTX_INIT(none);
  EXPECT_CODE(poll(&j.task, &ctx), VOLT_OK);
  const volt_site_ *site = site_of(&j.task);
  EXPECT(site);
  EXPECT(std::strstr(site->file, "cpp_site_test.cpp"));
  EXPECT(site->bytes == sizeof(job));
  return site->function;
}

template <int N>
int numbered(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  VOLT_TASK_END(self);
}

struct maker {
  static int member(volt_task *t, volt_ctx *ctx) {
    job *self = volt_container_of(t, job, task);
    (void)ctx;
    VOLT_TASK_BEGIN(self);
    VOLT_TASK_END(self);
  }
};

int has_lambda(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  (void)ctx;
  volt_task_fn *inside = [](volt_task *its, volt_ctx *its_ctx) -> int {
    job *it = volt_container_of(its, job, task);
    (void)its_ctx;
    VOLT_TASK_BEGIN(it);
    VOLT_TASK_END(it);
  };
  VOLT_TASK_BEGIN(self);
  self->inside = run(inside);
  EXPECT(is(self->inside, "operator()"));
  VOLT_TASK_END(self);
}

} // namespace

TEST(each_has_its_own) {
  EXPECT(is(run(numbered<1>), "numbered"));
  EXPECT(is(run(numbered<2>), "numbered"));
  EXPECT(is(run(maker::member), "member"));
  EXPECT(is(run(has_lambda), "has_lambda"));
}

int main() {
  return run_unit_tests();
}
