// semaphore.hpp: what one writes with Boost.Fiber, which has none: with a mutex and a condition
// variable. It lets the running fiber overtake those that wait.
#ifndef VOLT_BENCH_PEERS_BOOST_SEMAPHORE_HPP
#define VOLT_BENCH_PEERS_BOOST_SEMAPHORE_HPP

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>
#include <chrono>
#include <mutex>

class semaphore {
 public:
  explicit semaphore(unsigned permits) : permits_(permits) {
  }

  void acquire() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    if (permits_ == 0) {
      waiters_ += 1;
      given_.wait(lock, [this] { return permits_ > 0; });
      waiters_ -= 1;
    }
    permits_ -= 1;
  }

  // Wait at most until the scheduler has been round once, when it sees whose deadline has passed:
  // what comes nearest to giving up what is not there after one yield.
  bool acquire_or_give_up() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    if (permits_ == 0) {
      waiters_ += 1;
      auto at_once = std::chrono::steady_clock::now();
      bool is_given = given_.wait_until(lock, at_once, [this] { return permits_ > 0; });
      waiters_ -= 1;
      if (!is_given) return false;
    }
    permits_ -= 1;
    return true;
  }

  // Nobody is notified if nobody waits, and the mutex is free again when somebody is.
  void release() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    permits_ += 1;
    bool is_awaited = waiters_ > 0;
    lock.unlock();
    if (is_awaited) given_.notify_one();
  }

  unsigned available() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    return permits_;
  }

  unsigned waiters() {
    std::unique_lock<boost::fibers::mutex> lock(mutex_);
    return waiters_;
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable given_;
  unsigned permits_, waiters_ = 0;
};

#endif
