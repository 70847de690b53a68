/* sight.hpp: volt/sight.h and volt/name.h in C++: names for objects, and dumps as a string, to a
 * stream, or piece by piece.
 *
 *   volt::semaphore pool(8);
 *   volt::named its_name(pool, "pool");                until the end of the scope
 *
 *   volt::dump(std::cerr);
 *   std::string text = volt::dump_text();
 *   volt::dump([&](std::string_view piece) { log(piece); });
 *
 * What a dump says is in volt/sight.h. */
#ifndef VOLT_CPP_SIGHT_HPP
#define VOLT_CPP_SIGHT_HPP

#include <ostream>
#include <string>
#include <string_view>

#include "../sight.h"
#include "runtime.hpp"

namespace volt {

namespace detail {

/* Where an object is, as a dump shows it: its C struct if c() gives one, else itself. */
template <class Object>
auto address_of(Object &object, int) noexcept -> decltype(static_cast<const void *>(object.c())) {
  return object.c();
}
template <class Object>
const void *address_of(Object &object, long) noexcept {
  return &object;
}

/* A volt_sink: ctx is a function that is given each piece, and may return whether to go on. */
template <class F>
bool dump_piece(void *ctx, const char *text, size_t length) noexcept {
  F &f = *static_cast<F *>(ctx);
  const std::string_view piece(text, length);
  if constexpr (std::is_convertible_v<decltype(f(piece)), bool>) {
    return f(piece);
  } else {
    f(piece);
    return true;
  }
}

} // namespace detail

/* Name an object while this lives: one of volt, of C or C++, a task, or anything that has an
 * address. The object outlives this. The name is the caller's, and usually a literal. */
class named {
 public:
  template <class Object>
  named(Object &object, const char *name) noexcept : object_(detail::address_of(object, 0)) {
    is_named_ = volt_name(object_, name) == VOLT_OK;
  }
  named(named &&) = delete;
  ~named() {
    if (is_named_) volt_unname(object_);
  }
  /* Whether there was room for the name. */
  explicit operator bool() const noexcept {
    return is_named_;
  }

 private:
  const void *object_;
  bool is_named_;
};

/* volt_dump() of all runtimes and threads, or of one runtime, to a function that gets each piece as
 * a std::string_view. If it returns a bool, false ends the dump. It must not throw, and not call
 * volt.
 * rt: a volt_rt *, or anything whose c() is one. how: of volt_dump_how.
 * Returns as volt_dump(). */
template <class Sink, class = std::enable_if_t<std::is_invocable_v<Sink &, std::string_view>>>
int dump(Sink &&sink, unsigned how = 0) noexcept {
  using function = std::remove_reference_t<Sink>;
  return volt_dump(nullptr, how, detail::dump_piece<function>, &sink);
}
template <class Runtime, class Sink,
          class = std::enable_if_t<std::is_invocable_v<Sink &, std::string_view>>>
int dump_of(Runtime &&rt, Sink &&sink, unsigned how = 0) noexcept {
  using function = std::remove_reference_t<Sink>;
  return volt_dump(detail::rt_of(rt), how, detail::dump_piece<function>, &sink);
}

/* The same to a stream, until that has failed.
 * Returns as volt_dump(); VOLT_ECANCELED: the stream has failed, or threw. */
inline int dump(std::ostream &out, unsigned how = 0) noexcept {
  auto sink = [&out](std::string_view piece) {
#if VOLT_CPP_THROWS_
    try {
      out << piece;
    } catch (...) {
      return false;
    }
#else
    out << piece;
#endif
    return out.good();
  };
  return dump(sink, how);
}

/* The same as a string: all of it, or what there was memory for. */
inline std::string dump_text(unsigned how = 0) {
  std::string text;
  auto sink = [&text](std::string_view piece) {
#if VOLT_CPP_THROWS_
    try {
      text.append(piece);
    } catch (...) {
      return false;
    }
#else
    text.append(piece);
#endif
    return true;
  };
  (void)dump(sink, how);
  return text;
}

} // namespace volt

#endif
