/* budget.cpp: several things at once: what becomes of the request that needs all of them, and what a budget costs.
 *
 * usage: bench-budget [MILLISECONDS]    of each measurement; 1000
 *
 * 1. Four things of which there is one each. Eight threads, two for each thing, hold it for 200 us and ask again; one
 *    thread asks for all four. It is served by std::scoped_lock, which locks one and tries the others, and backs off; in the
 *    way of WaitForMultipleObjects (all of them when all are free at once, nothing is set aside); and by budgets.
 *    Printed: how often all four were had, the longest wait for them and how many others were served in it, and how
 *    many others were served in all.
 *
 * 2. Eight threads pass permits on: of one semaphore of 2, and of budgets of one and of three kinds with the same limit. Median
 *    of 9 interleaved rounds. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <volt/volt.h>

using std::chrono::steady_clock;

namespace {

enum { THINGS = 4, SMALL = 8, CONTENDERS = 8, ROUNDS = 9 };
const auto held_for = std::chrono::microseconds(200);

/* ---- 1: four things ---- */

struct way {
  virtual ~way() = default;
  virtual void take_one(unsigned thing) = 0;
  virtual void give_one(unsigned thing) = 0;
  virtual void take_all() = 0;
  virtual void give_all() = 0;
};

struct backs_off : way {
  std::mutex things[THINGS];
  void take_one(unsigned thing) override {
    things[thing].lock();
  }
  void give_one(unsigned thing) override {
    things[thing].unlock();
  }
  void take_all() override {
    std::lock(things[0], things[1], things[2], things[3]); /* what std::scoped_lock calls */
  }
  void give_all() override {
    for (std::mutex &thing : things) thing.unlock();
  }
};

struct all_at_once : way {
  std::mutex lock;
  std::condition_variable changed;
  unsigned taken = 0; /* a bit for each thing */
  void take(unsigned mask) {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return (taken & mask) == 0; });
    taken |= mask;
  }
  void give(unsigned mask) {
    {
      std::lock_guard<std::mutex> guard(lock);
      taken &= ~mask;
    }
    changed.notify_all();
  }
  void take_one(unsigned thing) override {
    take(1u << thing);
  }
  void give_one(unsigned thing) override {
    give(1u << thing);
  }
  void take_all() override {
    take((1u << THINGS) - 1);
  }
  void give_all() override {
    give((1u << THINGS) - 1);
  }
};

void must(int result) {
  if (result == VOLT_OK) return;
  std::fprintf(stderr, "%s\n", volt_strresult(result));
  std::abort();
}

struct by_budget : way {
  volt_budget budget;
  volt_amounts one[THINGS] = {}, all = {};
  explicit by_budget(uint32_t k) {
    uint64_t limits[THINGS];
    for (unsigned i = 0; i < THINGS; i++) limits[i] = one[i].of[i] = all.of[i] = 1;
    volt_budget_init_bypass(&budget, THINGS, limits, k);
  }
  ~by_budget() override {
    volt_budget_destroy(&budget);
  }
  void take_one(unsigned thing) override {
    must(volt_budget_acquire(&budget, &one[thing]));
  }
  void give_one(unsigned thing) override {
    volt_budget_release(&budget, &one[thing]);
  }
  void take_all() override {
    must(volt_budget_acquire(&budget, &all));
  }
  void give_all() override {
    volt_budget_release(&budget, &all);
  }
};

void measure(const char *name, way &way, std::chrono::milliseconds duration) {
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> small{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < SMALL; i++) {
    threads.emplace_back([&, i] {
      while (!is_over) {
        way.take_one(i % THINGS);
        std::this_thread::sleep_for(held_for);
        small += 1;
        way.give_one(i % THINGS);
      }
    });
  }
  uint64_t served = 0, others = 0;
  steady_clock::duration longest{0};
  std::thread large([&] {
    while (!is_over) {
      auto before = steady_clock::now();
      uint64_t before_small = small;
      way.take_all();
      auto waited = steady_clock::now() - before;
      if (waited > longest) {
        longest = waited;
        others = small - before_small;
      }
      served += !is_over;
      way.give_all();
      std::this_thread::sleep_for(held_for);
    }
  });
  std::this_thread::sleep_for(duration);
  uint64_t small_in_time = small;
  is_over = true; /* the small ones end, and so the large one is served at last */
  for (std::thread &thread : threads) thread.join();
  large.join();
  std::printf("%-34s %8llu %12.1f %10llu %10llu\n", name, static_cast<unsigned long long>(served),
              std::chrono::duration<double, std::milli>(longest).count(),
              static_cast<unsigned long long>(others),
              static_cast<unsigned long long>(small_in_time));
}

/* ---- 2: permits that are passed on ---- */

template <class Take, class Give>
double contend(std::chrono::milliseconds duration, Take take, Give give) {
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> total{0};
  std::vector<std::thread> threads;
  auto before = steady_clock::now();
  for (unsigned i = 0; i < CONTENDERS; i++) {
    threads.emplace_back([&] {
      uint64_t count = 0;
      for (; !is_over; count++) {
        take();
        for (volatile int spin = 0; spin < 100; spin = spin + 1) {
        }
        give();
      }
      total += count;
    });
  }
  std::this_thread::sleep_for(duration);
  is_over = true;
  for (std::thread &thread : threads) thread.join();
  double ns = std::chrono::duration<double, std::nano>(steady_clock::now() - before).count();
  return ns / static_cast<double>(total);
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

void measure_contended(std::chrono::milliseconds duration) {
  volt_sem sem = VOLT_SEM_INIT(2);
  volt_budget of_one = VOLT_BUDGET_INIT(1, 2), of_three = VOLT_BUDGET_INIT(3, 2, 2, 2);
  const volt_amounts one = {{1}}, three = {{1, 1, 1}};
  std::vector<double> by_sem, by_one, by_three;
  for (int i = 0; i < ROUNDS; i++) {
    by_sem.push_back(contend(
        duration, [&] { must(volt_sem_acquire(&sem, 1)); }, [&] { volt_sem_release(&sem, 1); }));
    by_one.push_back(contend(
        duration, [&] { must(volt_budget_acquire(&of_one, &one)); },
        [&] { volt_budget_release(&of_one, &one); }));
    by_three.push_back(contend(
        duration, [&] { must(volt_budget_acquire(&of_three, &three)); },
        [&] { volt_budget_release(&of_three, &three); }));
  }
  double base = median(by_sem);
  std::printf("%-34s %8.0f ns\n", "a volt_sem of 2", base);
  std::printf("%-34s %8.0f ns, %.2f\n", "a budget of one kind, 2", median(by_one),
              median(by_one) / base);
  std::printf("%-34s %8.0f ns, %.2f\n", "a budget of three kinds, 2 each", median(by_three),
              median(by_three) / base);
}

} // namespace

int main(int argc, char **argv) {
  const std::chrono::milliseconds duration(argc > 1 ? std::atoi(argv[1]) : 1000);
  std::printf("%-34s %8s %12s %10s %10s\n", "all four by", "served", "longest, ms", "others",
              "small");
  backs_off off;
  measure("std::scoped_lock, which backs off", off, duration);
  all_at_once at_once;
  measure("when all are free at once", at_once, duration);
  by_budget strict(0), some(16), any(VOLT_BUDGET_BYPASS_MAX);
  measure("a budget, in order", strict, duration);
  measure("a budget, bypass 16", some, duration);
  measure("a budget, any bypass", any, duration);
  std::printf("\n8 threads, a permit held for 100 spins: time for each\n");
  measure_contended(duration / 4);
  return 0;
}
