/* select.hpp: the first of several operations, or all of them.
 *
 *   auto first = co_await volt::select(jobs.recv(), stop.wait());   a std::variant
 *   if (first.index() == 0) use(std::get<0>(std::move(first)));
 *
 *   auto [a, b] = co_await volt::all(left.recv(), right.recv());    a std::tuple
 *
 *   auto first = volt::select(jobs.recv(), stop.wait()).wait();     a thread, a fiber
 *
 * A branch is an operation, a future of C (by reference or pointer; it gives its result code), or, in
 * a coroutine, a task. A branch that gives nothing is a std::monostate in the variant or tuple. All
 * of it is in the state of the wait: nothing is allocated. What a select and a join do about
 * branches that lose or fail is said in volt/select.h. */
#ifndef VOLT_CPP_SELECT_HPP
#define VOLT_CPP_SELECT_HPP

#include <tuple>

#include "../select.h"
#include "branch.hpp"

namespace volt {

/* The states and futures of several branches. Private. */
template <class Whole, class... Ops>
struct branches_state_ {
  std::tuple<typename Ops::state_type...> states;
  volt_future *futures[sizeof...(Ops)];
  Whole whole;
};

/* Operations side by side, and what is done to each. Private. */
template <class Whole, class... Ops>
class branches_ {
 public:
  using state_type = branches_state_<Whole, Ops...>;
  static constexpr std::size_t count = sizeof...(Ops);
  static constexpr auto indices = std::index_sequence_for<Ops...>();

  explicit branches_(Ops &&...ops) : ops_(std::move(ops)...) {
    std::apply([](auto &...its) { (its.forgo(), ...); }, ops_);
  }
  template <std::size_t... I>
  void begin(state_type &s, std::index_sequence<I...>) noexcept {
    ((s.futures[I] = std::get<I>(ops_).begin(std::get<I>(s.states))), ...);
  }
  template <std::size_t I>
  auto &op() noexcept {
    return std::get<I>(ops_);
  }
  /* All but one have ended, or are cancelled now: what they got is dropped. */
  template <std::size_t... I>
  void drop_all_but(std::size_t kept, state_type &s, std::index_sequence<I...>) {
    ((I == kept ? (void)0 : std::get<I>(ops_).drop(s.futures[I], std::get<I>(s.states))), ...);
  }
  void drop_all(state_type &s) {
    drop_all_but(count, s, indices);
  }

 private:
  std::tuple<Ops...> ops_;
};

/* For volt::select(): among branches that are ready at once, the first in the order of the arguments
 * wins. Otherwise it is any of them. */
struct biased_t {
  explicit biased_t() = default;
};
inline constexpr biased_t biased{};

/* What volt::select() returns. */
template <class... Ops>
class [[nodiscard, gnu::warn_unused]] select_operation
    : public operation<select_operation<Ops...>, std::variant<branch_value_<Ops>...>,
                       branches_state_<volt_select, Ops...>> {
 public:
  using value_type = std::variant<branch_value_<Ops>...>;
  using state_type = branches_state_<volt_select, Ops...>;

  explicit select_operation(unsigned how, Ops &&...ops) : all_(std::move(ops)...), how_(how) {
  }
  volt_future *begin(state_type & s) noexcept {
    all_.begin(s, all_.indices);
    return volt_select_future(&s.whole, s.futures, all_.count, how_);
  }
  value_type take(int code, state_type &s) {
    all_.drop_all_but(winner(s), s, all_.indices);
    return take_winner<0>(code, s, [](auto &op, int its, auto &state) -> decltype(auto) {
      return op.take(its, state);
    });
  }
#if VOLT_CPP_THROWS_
  value_type finish(int code, state_type &s) {
    all_.drop_all_but(winner(s), s, all_.indices);
    if (winner(s) == none) throw_(code);
    return take_winner<0>(code, s, [](auto &op, int its, auto &state) -> decltype(auto) {
      return op.finish(its, state);
    });
  }
#endif
  volt::result<value_type> finish_result(int code, state_type &s) {
    using given = volt::result<value_type>;
    if (VOLT_LIKELY(volt_is_ok(code))) return given::success(code, take(code, s));
    all_.drop_all_but(winner(s), s, all_.indices);
    return winner(s) == none ? given::failure(code) : fail_winner<0>(code, s);
  }
  void drop(volt_future * f, state_type & s) {
    volt_future_cancel(f);
    all_.drop_all(s);
  }

 private:
  static constexpr std::size_t none = UINT32_MAX;
  static std::size_t winner(const state_type &s) noexcept {
    return volt_select_winner(&s.whole);
  }
  template <std::size_t I, class Take>
  value_type take_winner(int code, state_type &s, Take take_from) {
    if constexpr (I + 1 < sizeof...(Ops)) {
      if (winner(s) != I) return take_winner<I + 1>(code, s, take_from);
    }
    auto &op = all_.template op<I>();
    auto &state = std::get<I>(s.states);
    if constexpr (std::is_void_v<decltype(take_from(op, code, state))>) {
      take_from(op, code, state);
      return value_type(std::in_place_index<I>);
    } else {
      return value_type(std::in_place_index<I>, take_from(op, code, state));
    }
  }
  /* The winner has failed. It may give that as its value, or throw what is no volt::error. */
  template <std::size_t I>
  volt::result<value_type> fail_winner(int code, state_type &s) {
    using given = volt::result<value_type>;
    if constexpr (I + 1 < sizeof...(Ops)) {
      if (winner(s) != I) return fail_winner<I + 1>(code, s);
    }
    using op_type = std::tuple_element_t<I, std::tuple<Ops...>>;
    auto &op = all_.template op<I>();
    auto &state = std::get<I>(s.states);
    if constexpr (never_fails_<op_type>) {
      return given::success(VOLT_OK, value_type(std::in_place_index<I>, op.finish(code, state)));
    } else {
      (void)op.finish_result(code, state);
      return given::failure(code);
    }
  }

  branches_<volt_select, Ops...> all_;
  unsigned how_;
};

/* Wait for the first of several: gives a std::variant, whose index says which. The others are
 * cancelled. If the first one has failed, so has the select. */
template <class... Branches>
select_operation<branch_<Branches>...> select(Branches &&...branches) {
  return select_operation<branch_<Branches>...>(VOLT_SELECT_FAIR,
                                                make_branch_(std::forward<Branches>(branches))...);
}
template <class... Branches>
select_operation<branch_<Branches>...> select(biased_t, Branches &&...branches) {
  return select_operation<branch_<Branches>...>(VOLT_SELECT_BIASED,
                                                make_branch_(std::forward<Branches>(branches))...);
}

/* What volt::all() returns. */
template <class... Ops>
class [[nodiscard, gnu::warn_unused]] all_operation
    : public operation<all_operation<Ops...>, std::tuple<branch_value_<Ops>...>,
                       branches_state_<volt_join, Ops...>> {
 public:
  using value_type = std::tuple<branch_value_<Ops>...>;
  using state_type = branches_state_<volt_join, Ops...>;

  explicit all_operation(Ops && ...ops) : all_(std::move(ops)...) {
  }
  volt_future *begin(state_type & s) noexcept {
    all_.begin(s, all_.indices);
    return volt_join_future(&s.whole, s.futures, all_.count,
                            none_fails ? VOLT_JOIN_ALL : VOLT_JOIN_FAIL_FAST);
  }
  value_type take(int, state_type &s) {
    return take_each(s, all_.indices);
  }
#if VOLT_CPP_THROWS_
  value_type finish(int code, state_type &s) {
    if (VOLT_LIKELY(is_whole(code, s))) return take_each(s, all_.indices);
    std::size_t failed = drop_all_but_failed(code, s);
    finish_one(failed, code, s, all_.indices);
    throw_(code);
  }
#endif
  volt::result<value_type> finish_result(int code, state_type &s) {
    using given = volt::result<value_type>;
    if (VOLT_LIKELY(is_whole(code, s))) return given::success(VOLT_OK, take_each(s, all_.indices));
    std::size_t failed = drop_all_but_failed(code, s);
    finish_one_result(failed, code, s, all_.indices);
    return given::failure(code);
  }
  void drop(volt_future * f, state_type & s) {
    volt_future_cancel(f);
    all_.drop_all(s);
  }

 private:
  static constexpr bool none_fails = (never_fails_<Ops> && ...);

  /* Whether each branch has a value: also if it failed, where that is its value. */
  bool is_whole(int code, state_type &s) noexcept {
    return volt_is_ok(code) || (none_fails && code == first_failure(s, all_.indices));
  }
  template <std::size_t... I>
  int first_failure(state_type & s, std::index_sequence<I...>) noexcept {
    int first = VOLT_OK;
    ((first == VOLT_OK && !volt_is_ok(ready_code_(s.futures[I]))
          ? (void)(first = ready_code_(s.futures[I]))
          : (void)0),
     ...);
    return first;
  }
  template <std::size_t... I>
  value_type take_each(state_type & s, std::index_sequence<I...>) {
    return value_type{take_one<I>(s)...}; /* braces: in this order */
  }
  template <std::size_t I>
  auto take_one(state_type & s) {
    using op_type = std::tuple_element_t<I, std::tuple<Ops...>>;
    auto &op = all_.template op<I>();
    auto &state = std::get<I>(s.states);
    int code = ready_code_(s.futures[I]);
    if constexpr (never_fails_<op_type>) {
      return op.finish(code, state);
    } else if constexpr (std::is_void_v<decltype(op.take(code, state))>) {
      op.take(code, state);
      return std::monostate();
    } else {
      return op.take(code, state);
    }
  }
  /* Returns the first branch that has failed with this code, because it may know more; or count. */
  std::size_t drop_all_but_failed(int code, state_type &s) {
    std::size_t failed = 0;
    while (failed < all_.count && ready_code_(s.futures[failed]) != code) failed += 1;
    all_.drop_all_but(failed, s, all_.indices);
    return failed;
  }
#if VOLT_CPP_THROWS_
  template <std::size_t... I>
  void finish_one(std::size_t at, int code, state_type &s, std::index_sequence<I...>) {
    ((I == at ? (void)all_.template op<I>().finish(code, std::get<I>(s.states)) : (void)0), ...);
  }
#endif
  template <std::size_t... I>
  void finish_one_result(std::size_t at, int code, state_type &s, std::index_sequence<I...>) {
    ((I == at ? (void)all_.template op<I>().finish_result(code, std::get<I>(s.states)) : (void)0),
     ...);
  }

  branches_<volt_join, Ops...> all_;
};

/* Wait for all of several: gives a std::tuple. If one fails, the others are cancelled, what they had
 * got is given back as by a branch that loses a select, and the whole fails as that one did. What
 * cannot be given back, an element of a channel or bytes, is dropped; its operation can report how much
 * that was (`moved`). If all of them are made by volt::as_result() or are futures of C, none cancels
 * the others: each gives its own failure. Two locks at once may be a deadlock: take them one after the
 * other. */
template <class... Branches>
all_operation<branch_<Branches>...> all(Branches &&...branches) {
  return all_operation<branch_<Branches>...>(make_branch_(std::forward<Branches>(branches))...);
}

} // namespace volt

#endif
