// workers.cpp: threads that run fibers, and the stacks of these.
#include <memory>
#include <mutex>
#include <thread>

#include "boost_bench.hpp"

// One thread alone has the library's default scheduler, round_robin, which has no lock. Thieves who
// find nothing go on looking, as is their default: if they slept, nobody would wake them for what
// there is to steal.
workers::workers(unsigned count) {
  for (unsigned i = 1; i < count; i++) {
    threads_.emplace_back([this, count] {
      fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
      std::unique_lock<fibers::mutex> lock(mutex_);
      over_.wait(lock, [this] { return is_over_; });
    });
  }
  if (count > 1) fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
}

workers::~workers() {
  {
    std::unique_lock<fibers::mutex> lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  for (std::thread &t : threads_) t.join();
}

// ---- stacks ----

// Two pages: a fiber needs most of that when it ends, because it is unwound. The pool grows by so
// many stacks at most, that few of them lie idle.
static constexpr std::size_t stack_bytes = 8192, first_stacks = 32, most_stacks = 1024;

struct stacks::shared {
  bool has_lock;
  std::mutex mutex;
  fibers::pooled_fixedsize_stack pool{stack_bytes, first_stacks, most_stacks};
};

stacks::stacks(unsigned workers) : shared_(std::make_shared<shared>()) {
  shared_->has_lock = workers > 1;
}

boost::context::stack_context stacks::allocate() {
  if (!shared_->has_lock) return shared_->pool.allocate();
  std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->pool.allocate();
}

void stacks::deallocate(boost::context::stack_context &stack) {
  if (!shared_->has_lock) return shared_->pool.deallocate(stack);
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->pool.deallocate(stack);
}
