/* element.hpp: what can be sent through the C objects, which copy bytes: a trivially copyable type,
 * or a std::unique_ptr, whose pointer is what is copied. Private. */
#ifndef VOLT_CPP_ELEMENT_HPP
#define VOLT_CPP_ELEMENT_HPP

#include <memory>
#include <type_traits>
#include <utility>

namespace volt::detail {

template <class T>
inline constexpr bool always_false = false;

/* How a T goes: carried is the type of the bytes. pack() and unpack() move it in and out of them;
 * drop() ends what was packed and not unpacked. */
template <class T>
struct element {
  static_assert(std::is_trivially_copyable_v<T>,
                "elements of a channel are copied as bytes: send a unique_ptr");
  using carried = T;
  static constexpr bool owns = false;
  static carried pack(T &value) noexcept {
    return value;
  }
  static T unpack(carried &bytes) noexcept {
    return bytes;
  }
  static void drop(carried &) noexcept {
  }
};

template <class T, class Deleter>
struct element<std::unique_ptr<T, Deleter>> {
  static_assert(std::is_empty_v<Deleter> && std::is_default_constructible_v<Deleter>,
                "the deleter of a unique_ptr that is sent must have no state");
  using carried = typename std::unique_ptr<T, Deleter>::pointer;
  static_assert(std::is_trivially_copyable_v<carried>, "the pointer is copied as bytes");
  static constexpr bool owns = true;
  static carried pack(std::unique_ptr<T, Deleter> &value) noexcept {
    return value.release();
  }
  static std::unique_ptr<T, Deleter> unpack(carried &bytes) noexcept {
    return std::unique_ptr<T, Deleter>(bytes);
  }
  static void drop(carried &bytes) noexcept {
    (void)unpack(bytes);
  }
};

/* Room for a T that is not made yet. */
template <class T>
struct room {
  alignas(T) unsigned char bytes[sizeof(T)];
  T *at() noexcept {
    return reinterpret_cast<T *>(bytes);
  }
};

} // namespace volt::detail

#endif
