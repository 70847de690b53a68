/* permit_channel.hpp: volt/permit_channel.h in C++: a bounded channel whose senders take a place
 * before they have a value.
 *
 *   volt::permit_channel<job, 64> jobs;
 *   volt::place<job> place = jobs.reserve().wait();    waits for a place
 *   place.send(make_job());                            does not wait; false: it is closed
 *
 * A place that is not sent with is given back. Values are as those of a volt::channel. */
#ifndef VOLT_CPP_PERMIT_CHANNEL_HPP
#define VOLT_CPP_PERMIT_CHANNEL_HPP

#include "../permit_channel.h"
#include "channel.hpp"

namespace volt {

/* A place in a permit_channel. It may be moved. */
template <class T>
class [[nodiscard]] place {
  using element = detail::element<T>;

 public:
  place() noexcept = default;
  /* Take over a place that the caller has reserved. */
  place(volt_permit_chan &c, adopt_t) noexcept : chan_(&c) {
  }
  place(place &&other) noexcept : chan_(other.release()) {
  }
  place &operator=(place &&other) noexcept {
    volt_permit_chan *c = other.release();
    give_back();
    chan_ = c;
    return *this;
  }
  ~place() {
    give_back();
  }

  /* Whether it has a place. */
  explicit operator bool() const noexcept {
    return chan_ != nullptr;
  }
  /* Send a value with it, which it must have (aborts). Returns false: the channel is closed, and the
   * value ends. */
  bool send(T value) noexcept {
    volt_permit_chan *c = release();
    if (!c) misuse_("a volt::place that is none is sent with");
    auto carried = element::pack(value);
    if (volt_permit_chan_send_reserved(c, &carried) == VOLT_OK) return true;
    element::drop(carried);
    return false;
  }
  /* Give it back now. */
  void give_back() noexcept {
    volt_permit_chan *c = release();
    if (c) volt_permit_chan_unreserve(c);
  }
  /* Give it up without giving it back. Returns the channel, or nullptr: the caller gives it back. */
  [[nodiscard]] volt_permit_chan *release() noexcept {
    volt_permit_chan *c = chan_;
    chan_ = nullptr;
    return c;
  }

 private:
  volt_permit_chan *chan_ = nullptr;
};

/* What reserve() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] reserve_operation
    : public operation<reserve_operation<T>, place<T>> {
 public:
  static constexpr bool tries = true;
  explicit reserve_operation(volt_permit_chan & c) noexcept : chan_(&c) {
  }
  int try_now() noexcept {
    return volt_permit_chan_try_reserve(chan_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_permit_chan_reserve_future(&f, chan_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_permit_chan_reserve_until(chan_, deadline_ns);
  }
  place<T> take(int, volt_future &) noexcept {
    return place<T>(*chan_, adopt);
  }

 private:
  volt_permit_chan *chan_;
};

/* What recv() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] permit_recv_operation
    : public operation<permit_recv_operation<T>, T> {
  using element = detail::element<T>;

 public:
  static constexpr bool tries = true;
  explicit permit_recv_operation(volt_permit_chan & c) noexcept : chan_(&c) {
  }
  int try_now() noexcept {
    return volt_permit_chan_try_recv(chan_, room_.bytes);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_permit_chan_recv_future(&f, chan_, room_.bytes);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_permit_chan_recv_until(chan_, room_.bytes, deadline_ns);
  }
  T take(int, volt_future &) noexcept {
    return element::unpack(*room_.at());
  }

 private:
  volt_permit_chan *chan_;
  detail::room<typename element::carried> room_;
};

/* A channel of at most N values, with places that are reserved. */
template <class T, uint32_t N>
class permit_channel {
  using element = detail::element<T>;
  using carried = typename element::carried;
  static_assert(N > 0 && N <= VOLT_CHAN_MAX, "1 to VOLT_CHAN_MAX places");

 public:
  using value_type = T;
  permit_channel() noexcept {
    int code = volt_permit_chan_init(&c_, N, sizeof(carried), ring_, sizeof ring_);
    if (code != VOLT_OK) misuse_("volt_permit_chan_init() has failed");
  }
  ~permit_channel() {
    void (*drop)(void *, void *) = nullptr;
    if (element::owns) {
      drop = [](void *elem, void *) { element::drop(*static_cast<carried *>(elem)); };
    }
    volt_permit_chan_destroy(&c_, drop, nullptr);
  }
  permit_channel(const permit_channel &) = delete;
  permit_channel &operator=(const permit_channel &) = delete;

  /* Take a place: gives a volt::place. VOLT_ECLOSED. */
  reserve_operation<T> reserve() noexcept {
    return reserve_operation<T>(c_);
  }
  volt::result<place<T>> try_reserve() noexcept {
    return reserve().result_now();
  }
  /* Receive the oldest value. VOLT_ECLOSED if it is closed and empty. */
  permit_recv_operation<T> recv() noexcept {
    return permit_recv_operation<T>(c_);
  }
  volt::result<T> try_recv() noexcept {
    return recv().result_now();
  }
  /* No more places and no more sends; receivers get what is left, then VOLT_ECLOSED. */
  void close() noexcept {
    volt_permit_chan_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_permit_chan_is_closed(&c_);
  }
  /* Snapshots: how many values there are, and how many places are free. */
  uint32_t size() const noexcept {
    return volt_permit_chan_len(&c_);
  }
  uint32_t free_places() noexcept {
    return volt_permit_chan_free(&c_);
  }
  volt_permit_chan *c() noexcept {
    return &c_;
  }

 private:
  volt_permit_chan c_;
  alignas(8) unsigned char ring_[detail::ring_bytes(N, sizeof(carried))];
};

} // namespace volt

#endif
