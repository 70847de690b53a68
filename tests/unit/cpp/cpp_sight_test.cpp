/* cpp_sight_test.cpp: volt/cpp/sight.hpp: names that end with their scope; dumps as a string, to a
 * stream, and piece by piece. What they say is in dump_test.c. */
#include <sstream>
#include <string>

#include "unit.hpp"

struct waiter {
  volt_task task;
  volt_future f;
  volt_sem *sem;
};

static int wait_poll(volt_task *t, volt_ctx *ctx) {
  waiter *self = volt_container_of(t, waiter, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f, self->sem, 1));
  VOLT_TASK_END(self);
}

/* A task that waits for a permit. */
struct scene {
  volt_rt_config config{};
  volt::runtime rt;
  volt::semaphore pool{0};
  waiter w{};

  static volt_rt_config one_worker() {
    volt_rt_config config{};
    config.workers = 1;
    return config;
  }
  scene() : rt(one_worker()) {
    volt_task_init(&w.task, wait_poll);
    w.sem = pool.c();
    EXPECT_CODE(volt_spawn(rt.c(), &w.task), VOLT_OK);
    UNTIL(volt_sem_waiters(pool.c()) == 1);
  }
  ~scene() {
    volt_sem_release(pool.c(), 1);
    EXPECT_CODE(volt_task_join(&w.task), VOLT_OK);
  }
};

static bool has(const std::string &text, const char *words) {
  return text.find(words) != std::string::npos;
}

TEST(a_name_ends_with_its_scope) {
  volt::mutex m;
  volt_sem c = VOLT_SEM_INIT(0);
  int any = 0;
  {
    volt::named a(m, "a"), b(c, "b"), d(any, "d");
    EXPECT(a && b && d);
    EXPECT(std::string(volt_name_of(m.c())) == "a" && std::string(volt_name_of(&c)) == "b");
    EXPECT(std::string(volt_name_of(&any)) == "d");
  }
  EXPECT(!volt_name_of(m.c()) && !volt_name_of(&c) && !volt_name_of(&any));
}

TEST(a_dump_is_a_string) {
  scene s;
  volt::named name(s.pool, "pool");
  UNTIL(has(volt::dump_text(), "volt_sem_acquire 1 of 'pool' (semaphore 0x"));
  EXPECT(!has(volt::dump_text(VOLT_DUMP_NO_TASKS), "volt_sem_acquire"));
}

TEST(a_dump_goes_to_a_stream) {
  scene s;
  std::ostringstream out;
  EXPECT_CODE(volt::dump(out), VOLT_OK);
  EXPECT(has(out.str(), "'volt': 1 worker, 1 task"));
  out.setstate(std::ios::failbit);
  EXPECT_CODE(volt::dump(out), VOLT_ECANCELED);
}

struct refusing : std::stringbuf {
  std::streamsize xsputn(const char *, std::streamsize) override {
    throw 1;
  }
};

TEST(a_stream_that_throws_ends_it) {
  refusing buffer;
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);
  scene s;
  EXPECT_CODE(volt::dump(out), VOLT_ECANCELED);
}

TEST(a_dump_goes_to_a_function) {
  scene s;
  size_t bytes = 0;
  EXPECT_CODE(volt::dump([&](std::string_view piece) { bytes += piece.size(); }), VOLT_OK);
  EXPECT(bytes > 0);
  EXPECT_CODE(volt::dump([](std::string_view) { return false; }), VOLT_ECANCELED);
  std::string text;
  auto append = [&](std::string_view piece) { text += piece; };
  EXPECT_CODE(volt::dump_of(s.rt, append), VOLT_OK);
  EXPECT(has(text, "1 worker, 1 task"));
  EXPECT_CODE(volt::dump_of(s.rt.c(), append, 1u << 20), VOLT_EINVAL);
}

int main() {
  return run_unit_tests();
}
