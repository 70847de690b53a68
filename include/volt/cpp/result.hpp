/* result.hpp: errors of volt in C++: exceptions, and a result that is a value or an error.
 *
 * What waits is asked in one of two ways (operation.hpp):
 *
 *   volt::lock guard = mutex.lock().wait();                     the value, or it throws volt::error
 *   volt::result<volt::lock> r = mutex.lock().result_for(5ms);  the value or a code; throws nothing
 *   if (!r) log(r.text());
 *
 * The codes are those of volt/base.h. A program that is compiled with -fno-exceptions has the
 * second way only. All its files have to be compiled with the same choice. */
#ifndef VOLT_CPP_RESULT_HPP
#define VOLT_CPP_RESULT_HPP

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "../base.h"

/* Whether exceptions are compiled. Private. */
#if defined(__cpp_exceptions)
#define VOLT_CPP_THROWS_ 1
#else
#define VOLT_CPP_THROWS_ 0
#endif

namespace volt {

/* Private: the program has broken a rule. Says which, and aborts. */
[[noreturn]] inline void misuse_(const char *what) noexcept {
  std::fprintf(stderr, "volt: %s\n", what);
  std::abort();
}

/* What went wrong, as a code of volt/base.h. Allocates nothing. */
class error : public std::exception {
 public:
  /* text: what what() gives, in static memory; nullptr: the text of the code. */
  explicit error(int code, const char *text = nullptr) noexcept : code_(code), text_(text) {
  }
  /* The code: VOLT_ECLOSED, VOLT_ETIMEDOUT, VOLT_ERRNO(e), ... */
  int code() const noexcept {
    return code_;
  }
  /* The errno value of a VOLT_ERRNO(e); 0 for every other code. */
  int system_code() const noexcept {
    return volt_errno(code_);
  }
  /* What has failed, if more is known than the code; else the text of the code, volt_strerror().
   * In static memory. */
  const char *what() const noexcept override {
    return text_ ? text_ : volt_strerror(code_);
  }

 private:
  int code_;
  const char *text_;
};

/* VOLT_ECANCELED: the task or fiber that waits was cancelled. Let it pass, and so end. */
class canceled : public error {
 public:
  canceled() noexcept : error(VOLT_ECANCELED) {
  }
};

/* VOLT_ECLOSED: what was waited for is closed. */
class closed : public error {
 public:
  closed() noexcept : error(VOLT_ECLOSED) {
  }
};

/* VOLT_ETIMEDOUT: the deadline has passed. */
class timed_out : public error {
 public:
  timed_out() noexcept : error(VOLT_ETIMEDOUT) {
  }
};

#if VOLT_CPP_THROWS_
/* Throw the error of a code that is a failure: volt::canceled, closed, timed_out, or
 * volt::error. */
[[noreturn]] VOLT_NOINLINE inline void throw_(int code) {
  if (code == VOLT_ECANCELED) throw canceled();
  if (code == VOLT_ECLOSED) throw closed();
  if (code == VOLT_ETIMEDOUT) throw timed_out();
  throw error(code);
}

/* Throw if a code is a failure, for results of the C functions: `volt::check(volt_listen(...))`. */
inline void check(int code) {
  if (VOLT_UNLIKELY(!volt_is_ok(code))) throw_(code);
}
#endif

/* A value, or the code of a failure. To read the value of a failure aborts, but for value(), which
 * throws. */
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  /* A failure. code: not a success (aborts). */
  static result failure(int code) noexcept {
    if (volt_is_ok(code)) misuse_("a volt::result without a value");
    return result(code);
  }
  /* A success. code: VOLT_OK, or how it succeeded: VOLT_LEADER, VOLT_DONE. */
  template <class... Args>
  static result success(int code, Args &&...args) {
    result r(none_);
    r.set_(code, std::forward<Args>(args)...);
    return r;
  }

  result(result &&r) noexcept(std::is_nothrow_move_constructible_v<T>) : code_(none_) {
    move_from_(r);
  }
  result(const result &r) = delete;
  result &operator=(const result &r) = delete;
  /* If the move of the value throws, this is a failure. */
  result &operator=(result &&r) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this != &r) {
      if (ok()) value_.~T();
      code_ = none_;
      move_from_(r);
    }
    return *this;
  }
  ~result() {
    if (ok()) value_.~T();
  }

  explicit operator bool() const noexcept {
    return ok();
  }
  int code() const noexcept {
    return code_;
  }
  /* The text of the code, in static memory. */
  const char *text() const noexcept {
    return volt_strerror(code_);
  }

  T &operator*() &noexcept {
    return need_value_();
  }
  const T &operator*() const &noexcept {
    return const_cast<result *>(this)->need_value_();
  }
  T &&operator*() &&noexcept {
    return std::move(need_value_());
  }
  T *operator->() noexcept {
    return &need_value_();
  }
  const T *operator->() const noexcept {
    return &const_cast<result *>(this)->need_value_();
  }
  template <class Other>
  T value_or(Other &&other) && {
    return ok() ? std::move(value_) : static_cast<T>(std::forward<Other>(other));
  }
#if VOLT_CPP_THROWS_
  T &value() & {
    check(code_);
    return value_;
  }
  T &&value() && {
    check(code_);
    return std::move(value_);
  }
#endif

 private:
  static constexpr int none_ = VOLT_ECANCELED; /* while there is no value yet */

  explicit result(int code) noexcept : code_(code) {
  }
  /* There is a value when it has been made. */
  template <class... Args>
  void set_(int code, Args &&...args) {
    ::new (static_cast<void *>(&value_)) T(std::forward<Args>(args)...);
    code_ = code;
  }
  void move_from_(result &r) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (r.ok()) {
      set_(r.code_, std::move(r.value_));
    } else {
      code_ = r.code_;
    }
  }
  bool ok() const noexcept {
    return volt_is_ok(code_);
  }
  T &need_value_() noexcept {
    if (VOLT_UNLIKELY(!ok())) misuse_("the value of a volt::result that is a failure");
    return value_;
  }

  int code_;
  union {
    T value_;
  };
};

/* A success, or the code of a failure. */
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  static result failure(int code) noexcept {
    if (volt_is_ok(code)) misuse_("a failure with a code of success");
    return result(code);
  }
  static result success(int code) noexcept {
    return result(code);
  }

  explicit operator bool() const noexcept {
    return volt_is_ok(code_);
  }
  int code() const noexcept {
    return code_;
  }
  const char *text() const noexcept {
    return volt_strerror(code_);
  }
#if VOLT_CPP_THROWS_
  void value() const {
    check(code_);
  }
#endif

 private:
  explicit result(int code) noexcept : code_(code) {
  }
  int code_;
};

} // namespace volt

#endif
