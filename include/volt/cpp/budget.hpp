/* budget.hpp: volt/budget.h in C++: a budget of several kinds of permits, and the guard that holds amounts.
 *
 *   volt::budget machine({8, 16 * GiB, 4});
 *   volt::amounts one(machine, {{2, 4 * GiB, 1}});                 waits; releases at the end of the block
 *   auto some = machine.acquire({{1, GiB}}).wait_for(10ms);        or throws volt::timed_out
 *   auto more = co_await machine.acquire({{0, GiB}});              a coroutine
 *
 * c() gives the volt_budget, for C code that uses the same budget. */
#ifndef VOLT_CPP_BUDGET_HPP
#define VOLT_CPP_BUDGET_HPP

#include <initializer_list>
#include <string>

#include "../budget.h"
#include "operation.hpp"

namespace volt {

class budget;

/* The one that holds amounts of a budget. It may be moved, also to another thread. */
class [[nodiscard]] amounts {
 public:
  amounts() noexcept = default;
  /* Take over what the caller has acquired. */
  amounts(volt_budget &b, const volt_amounts &of, adopt_t) noexcept : budget_(&b), of_(of) {
  }
#if VOLT_CPP_THROWS_
  /* Wait for these amounts: the same as b.acquire(need).wait(). */
  [[nodiscard]] inline amounts(budget &b, const volt_amounts &need);
#endif
  amounts(amounts &&other) noexcept : budget_(other.budget_), of_(other.disown()) {
  }
  amounts &operator=(amounts &&other) noexcept {
    if (this == &other) return *this;
    release();
    budget_ = other.budget_;
    of_ = other.disown();
    return *this;
  }
  ~amounts() {
    release();
  }

  /* Whether it holds anything. */
  explicit operator bool() const noexcept {
    for (uint64_t amount : of_.of) {
      if (amount != 0) return true;
    }
    return false;
  }
  /* How much it holds of a kind; 0 of one that no budget has. */
  uint64_t count(uint32_t kind) const noexcept {
    return kind < VOLT_BUDGET_KINDS ? of_.of[kind] : 0;
  }
  /* Give all that it holds back now. */
  void release() noexcept {
    if (*this) {
      const volt_amounts all = disown();
      volt_budget_release(budget_, &all);
    }
  }
  /* Give a part back now: at most what it holds of each kind (aborts). */
  void release(const volt_amounts &part) noexcept {
    if (!*this && is_nothing_(part)) return; /* its budget may have ended */
    if (!take_out_(part)) misuse_("a volt::amounts releases more than it holds");
    volt_budget_release(budget_, &part);
  }
  /* Take a part out, into a guard of its own: at most what it holds of each kind (aborts). */
  amounts split(const volt_amounts &part) noexcept {
    if (!take_out_(part)) misuse_("a volt::amounts splits off more than it holds");
    return is_nothing_(part) ? amounts() : amounts(*budget_, part, adopt);
  }
  /* Give them up without releasing them. Returns how much: the caller releases it. */
  [[nodiscard]] volt_amounts disown() noexcept {
    const volt_amounts all = of_;
    of_ = volt_amounts{};
    return all;
  }

 private:
  static bool is_nothing_(const volt_amounts &part) noexcept {
    for (uint64_t amount : part.of) {
      if (amount != 0) return false;
    }
    return true;
  }
  bool take_out_(const volt_amounts &part) noexcept {
    for (uint32_t i = 0; i < VOLT_BUDGET_KINDS; i++) {
      if (part.of[i] > of_.of[i]) return false;
    }
    for (uint32_t i = 0; i < VOLT_BUDGET_KINDS; i++) of_.of[i] -= part.of[i];
    return true;
  }
  volt_budget *budget_ = nullptr;
  volt_amounts of_{};
};

/* What budget.acquire() returns. It can be made from a volt_budget of C as well. */
class [[nodiscard, gnu::warn_unused]] acquire_amounts_operation
    : public operation<acquire_amounts_operation, volt::amounts> {
 public:
  static constexpr bool tries = true;
  acquire_amounts_operation(volt_budget & b, const volt_amounts &need) noexcept
      : budget_(&b), need_(need) {
  }
  int try_now() noexcept {
    return volt_budget_try_acquire(budget_, &need_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_budget_acquire_future(&f, budget_, &need_); /* it does not move from now on */
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_budget_acquire_until(budget_, &need_, deadline_ns);
  }
  volt::amounts take(int, volt_future &) noexcept {
    return volt::amounts(*budget_, need_, adopt);
  }

 private:
  volt_budget *budget_;
  volt_amounts need_;
};

/* Permits of several kinds, fair to threads, fibers, coroutines and tasks (volt/budget.h). */
class budget {
 public:
  /* One with these limits, of 1 to VOLT_BUDGET_KINDS kinds (aborts). */
  explicit budget(std::initializer_list<uint64_t> limits) noexcept {
    init_(limits, 0);
  }
  /* The same; at most k later requests pass a waiter. */
  static budget with_bypass(uint32_t k, std::initializer_list<uint64_t> limits) noexcept {
    return budget(limits, k);
  }
  ~budget() {
    volt_budget_destroy(&c_);
  }
  budget(const budget &) = delete;
  budget &operator=(const budget &) = delete;

  /* Take these amounts: gives a volt::amounts. VOLT_ECLOSED if it is closed, VOLT_EINVAL if they are more
   * than a limit. */
  acquire_amounts_operation acquire(const volt_amounts &need) noexcept {
    return acquire_amounts_operation(c_, need);
  }
  /* Take these amounts if they are there and no waiter has to come first. */
  volt::result<volt::amounts> try_acquire(const volt_amounts &need) noexcept {
    return acquire(need).result_now();
  }
  /* What a request waits for, in words. */
  std::string explain(const volt_amounts &need) const {
    char text[128];
    (void)volt_budget_explain(&c_, &need, text, sizeof text);
    return text;
  }
  /* name: the caller's, usually a literal; it has to stay as long as the budget. */
  void name_kind(uint32_t kind, const char *name) noexcept {
    volt_budget_name_kind(&c_, kind, name);
  }

  /* The limit of a kind; what is held of it, and free; by how much what is held exceeds the limit. */
  uint64_t limit(uint32_t kind) const noexcept {
    return volt_budget_limit(&c_, kind);
  }
  void set_limit(uint32_t kind, uint64_t limit) noexcept {
    volt_budget_set_limit(&c_, kind, limit);
  }
  uint64_t held(uint32_t kind) const noexcept {
    return volt_budget_held(&c_, kind);
  }
  uint64_t available(uint32_t kind) const noexcept {
    return volt_budget_available(&c_, kind);
  }
  uint64_t excess(uint32_t kind) const noexcept {
    return volt_budget_excess(&c_, kind);
  }
  /* All that is known of it at one moment. */
  volt_budget_state inspect() const noexcept {
    volt_budget_state state;
    volt_budget_inspect(&c_, &state);
    return state;
  }

  /* End all waits, now and later, with VOLT_ECLOSED. What is held can still be released. */
  void close() noexcept {
    volt_budget_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_budget_is_closed(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_budget_waiters(&c_);
  }
  /* The budget as C code uses it. */
  volt_budget *c() noexcept {
    return &c_;
  }

 private:
  budget(std::initializer_list<uint64_t> limits, uint32_t k) noexcept {
    init_(limits, k);
  }
  void init_(std::initializer_list<uint64_t> limits, uint32_t k) noexcept {
    volt_budget_init_bypass(&c_, static_cast<uint32_t>(limits.size()), limits.begin(), k);
  }
  volt_budget c_;
};

#if VOLT_CPP_THROWS_
inline amounts::amounts(budget &b, const volt_amounts &need) : amounts(b.acquire(need).wait()) {
}
#endif

} // namespace volt

#endif
