/* coro_memory.hpp: where the frames of coroutines are. Not an interface: programs use volt/coro.hpp.
 *
 * A frame comes from the pool of the runtime whose task calls the coroutine. Of a coroutine that is
 * called elsewhere it comes from the pool that volt::spawn(rt, f, args...) has named for the call,
 * else from malloc(). A coroutine whose first arguments are std::allocator_arg and an allocator has
 * its frame from that. The frame knows where it is from, so it is freed on any thread. */
#ifndef VOLT_CPP_CORO_MEMORY_HPP
#define VOLT_CPP_CORO_MEMORY_HPP

#include <cstddef>
#include <memory>
#include <utility>

#include "../runtime.h"

namespace volt {

/* Coroutines that this thread calls, while this lives, are for a runtime. Private. */
class frames_for_ {
 public:
  explicit frames_for_(volt_rt *rt) noexcept : before_(volt_rt_alloc_for_(rt)) {
  }
  frames_for_(const frames_for_ &) = delete;
  frames_for_ &operator=(const frames_for_ &) = delete;
  ~frames_for_() {
    (void)volt_rt_alloc_for_(before_);
  }

 private:
  volt_rt *before_;
};

/* Stands before the volt_block_ of a frame that is from an allocator. Private. */
struct foreign_head_ {
  void (*give)(foreign_head_ *head) noexcept;
};

/* How a frame is taken from an allocator, of which the head has a copy. Private. */
template <class Allocator>
struct foreign_frame_ {
  struct alignas(std::max_align_t) unit {
    unsigned char bytes[alignof(std::max_align_t)];
  };
  using rebound = typename std::allocator_traits<Allocator>::template rebind_alloc<unit>;
  using traits = std::allocator_traits<rebound>;
  static_assert(std::is_pointer_v<typename traits::pointer>,
                "the frame of a coroutine is from an allocator with plain pointers");
  struct alignas(std::max_align_t) head : foreign_head_ {
    head(rebound &&a, std::size_t n) noexcept
        : foreign_head_{&foreign_frame_::give}, allocator(std::move(a)), units(n) {
    }
    rebound allocator;
    std::size_t units;
  };

  static void *take(const Allocator &allocator, std::size_t bytes) {
    rebound its(allocator);
    std::size_t whole = sizeof(head) + sizeof(volt_block_) + bytes;
    std::size_t units = (whole + sizeof(unit) - 1) / sizeof(unit);
    unit *memory = traits::allocate(its, units);
    if (!memory) return nullptr;
    head *h = ::new (static_cast<void *>(memory)) head(std::move(its), units);
    auto *block = reinterpret_cast<volt_block_ *>(h + 1);
    block->rt = reinterpret_cast<volt_rt *>(static_cast<foreign_head_ *>(h));
    block->block = 0;
    block->is_foreign = 1;
    return block + 1;
  }
  static void give(foreign_head_ *of) noexcept {
    head *h = static_cast<head *>(of);
    rebound its(std::move(h->allocator));
    std::size_t units = h->units;
    h->~head();
    traits::deallocate(its, reinterpret_cast<unit *>(h), units);
  }
};

/* operator new and delete of every promise. (The templates are inlined always, because gcc takes them
 * for mismatched with the delete.) Private. */
struct frame_memory_ {
  static void *operator new(std::size_t bytes) noexcept {
    return volt_rt_alloc_(bytes);
  }
  template <class Allocator, class... Args>
  VOLT_INLINED_ static void *operator new(std::size_t bytes, std::allocator_arg_t,
                                          const Allocator &allocator, const Args &...) noexcept {
    return from_(allocator, bytes);
  }
  template <class Self, class Allocator, class... Args>
  VOLT_INLINED_ static void *operator new(std::size_t bytes, const Self &, std::allocator_arg_t,
                                          const Allocator &allocator, const Args &...) noexcept {
    return from_(allocator, bytes);
  }
  static void operator delete(void *memory, std::size_t) noexcept {
    auto *block = static_cast<volt_block_ *>(memory) - 1;
    if (VOLT_LIKELY(!block->is_foreign)) {
      volt_rt_free_(memory);
    } else {
      give_(block);
    }
  }

 private:
  template <class Allocator>
  static void *from_(const Allocator &allocator, std::size_t bytes) noexcept {
#if defined(__cpp_exceptions)
    try {
      return foreign_frame_<Allocator>::take(allocator, bytes);
    } catch (...) {
      return nullptr;
    }
#else
    return foreign_frame_<Allocator>::take(allocator, bytes);
#endif
  }
  static void give_(volt_block_ *block) noexcept {
    auto *head = reinterpret_cast<foreign_head_ *>(block->rt);
    head->give(head);
  }
};

} // namespace volt

#endif
