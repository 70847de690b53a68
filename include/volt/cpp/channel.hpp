/* channel.hpp: volt/channel.h in C++: a bounded channel of values of one type.
 *
 *   volt::channel<job, 64> jobs;                       its ring is in it
 *   volt::channel<job> jobs(n);                        its ring is allocated, once
 *
 *   jobs.send(job{...}).wait();                        waits while the ring is full
 *   job next = jobs.recv().wait_for(1s);               or throws volt::timed_out, volt::closed
 *   for (job next : jobs) ...                          until it is closed and empty
 *   jobs.close();
 *
 * A value is copied as bytes, so its type is trivially copyable; or it is a std::unique_ptr, which
 * is moved. What is left in the channel is destroyed with it. send(std::move(p)) gives p up, also
 * if it fails; send(p), of a unique_ptr that has a name, leaves it with the caller if it fails. */
#ifndef VOLT_CPP_CHANNEL_HPP
#define VOLT_CPP_CHANNEL_HPP

#include "../channel.h"
#include "element.hpp"
#include "operation.hpp"

namespace volt {

namespace detail {

/* The bytes of a ring, as volt_chan_bytes() counts them. */
constexpr size_t ring_bytes(uint32_t capacity, size_t elem_bytes) noexcept {
  size_t places = 1;
  while (places < capacity) places *= 2;
  return places * ((elem_bytes + 7) / 8 * 8 + 8);
}

} // namespace detail

/* What channel.send() of a value returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] send_operation : public operation<send_operation<T>, void> {
 public:
  static constexpr bool tries = true;
  send_operation(volt_chan & c, T value) noexcept : chan_(&c), value_(value) {
  }
  int try_now() noexcept {
    return volt_chan_try_send_(chan_, &value_, sizeof value_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_chan_send_future(&f, chan_, &value_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    int code = try_now();
    return code == VOLT_EAGAIN ? volt_chan_send_until(chan_, &value_, deadline_ns) : code;
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_chan *chan_;
  T value_;
};

/* What channel.send() of a unique_ptr returns. It owns the object until that is sent: or, if it was
 * made from an lvalue, leaves it there. */
template <class T>
class [[nodiscard, gnu::warn_unused]] send_pointer_operation
    : public operation<send_pointer_operation<T>, void> {
 public:
  static constexpr bool tries = true;
  send_pointer_operation(volt_chan & c, T && pointer) noexcept
      : chan_(&c), own_(std::move(pointer)) {
  }
  send_pointer_operation(volt_chan & c, T & pointer) noexcept : chan_(&c), other_(&pointer) {
  }
  send_pointer_operation(send_pointer_operation &&) noexcept = default;
  int try_now() noexcept {
    raw_ = from_().get();
    return volt_chan_try_send_(chan_, &raw_, sizeof raw_);
  }
  volt_future *begin(volt_future & f) noexcept {
    raw_ = from_().get();
    return volt_chan_send_future(&f, chan_, &raw_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    int code = try_now();
    return code == VOLT_EAGAIN ? volt_chan_send_until(chan_, &raw_, deadline_ns) : code;
  }
  void take(int, volt_future &) noexcept {
    (void)from_().release();
  }

 private:
  T &from_() noexcept {
    return other_ ? *other_ : own_;
  }
  volt_chan *chan_;
  T own_;
  T *other_ = nullptr;
  typename detail::element<T>::carried raw_{};
};

/* What channel.recv() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] recv_operation : public operation<recv_operation<T>, T> {
  using element = detail::element<T>;
  using carried = typename element::carried;

 public:
  static constexpr bool tries = true;
  explicit recv_operation(volt_chan & c) noexcept : chan_(&c) {
  }
  int try_now() noexcept {
    return volt_chan_try_recv_(chan_, room_.bytes, sizeof(carried));
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_chan_recv_future(&f, chan_, room_.bytes);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    int code = try_now();
    return code == VOLT_EAGAIN ? volt_chan_recv_until(chan_, room_.bytes, deadline_ns) : code;
  }
  T take(int, volt_future &) noexcept {
    return element::unpack(*room_.at());
  }

 private:
  volt_chan *chan_;
  detail::room<carried> room_;
};

/* What channel.send_many() and recv_many() return: gives how many were moved, at least one. */
template <class Elem>
class [[nodiscard, gnu::warn_unused]] many_operation
    : public operation<many_operation<Elem>, uint32_t> {
  static constexpr bool sends = std::is_const_v<Elem>;

 public:
  static constexpr bool tries = true;
  many_operation(volt_chan & c, Elem * elems, uint32_t n, uint32_t * moved) noexcept
      : chan_(&c), elems_(elems), count_(n), told_(moved) {
    if (told_) *told_ = 0;
  }
  int try_now() noexcept {
    if constexpr (sends)
      return volt_chan_try_send_many(chan_, elems_, count_, &moved_);
    else
      return volt_chan_try_recv_many(chan_, elems_, count_, &moved_);
  }
  volt_future *begin(volt_future & f) noexcept {
    future_ = &f;
    if constexpr (sends)
      return volt_chan_send_many_future(&f, chan_, elems_, count_);
    else
      return volt_chan_recv_many_future(&f, chan_, elems_, count_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    if constexpr (sends) {
      return volt_chan_send_many_until(chan_, elems_, count_, &moved_, deadline_ns);
    } else {
      return volt_chan_recv_many_until(chan_, elems_, count_, &moved_, deadline_ns);
    }
  }
  uint32_t take(int, volt_future &) noexcept {
    uint32_t moved = future_ ? volt_chan_future_moved(future_) : moved_;
    if (told_) *told_ = moved;
    return moved;
  }

 private:
  volt_chan *chan_;
  Elem *elems_;
  uint32_t count_;
  uint32_t moved_ = 0;
  uint32_t *told_;
  volt_future *future_ = nullptr;
};

/* What channel.closing() returns. */
class [[nodiscard, gnu::warn_unused]] closing_operation
    : public operation<closing_operation, void> {
 public:
  explicit closing_operation(volt_chan & c) noexcept : chan_(&c) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_chan_closed_future(&f, chan_);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_chan *chan_;
};

/* One that counts as a sender: the channel closes when the last one ends. A copy counts, too. */
class counted_sender {
 public:
  /* An empty one counts nothing. */
  counted_sender() noexcept = default;
  /* It is empty if the last one has ended before. */
  explicit counted_sender(volt_chan &c) noexcept
      : chan_(volt_chan_add_sender(&c) == VOLT_OK ? &c : nullptr) {
  }
  counted_sender(const counted_sender &other) noexcept : chan_(other.chan_) {
    if (chan_ && volt_chan_add_sender(chan_) != VOLT_OK) chan_ = nullptr;
  }
  counted_sender(counted_sender &&other) noexcept : chan_(other.chan_) {
    other.chan_ = nullptr;
  }
  counted_sender &operator=(counted_sender other) noexcept {
    std::swap(chan_, other.chan_);
    return *this;
  }
  ~counted_sender() {
    if (chan_) volt_chan_drop_sender(chan_);
  }
  explicit operator bool() const noexcept {
    return chan_ != nullptr;
  }

 private:
  volt_chan *chan_ = nullptr;
};

/* A channel of at most N values; of as many as its constructor says, if N is 0. */
template <class T, uint32_t N = 0>
class channel {
  using element = detail::element<T>;
  using carried = typename element::carried;
  static_assert(N <= VOLT_CHAN_MAX, "at most VOLT_CHAN_MAX elements");

 public:
  using value_type = T;

  /* One with its ring in itself. */
  template <uint32_t M = N, class = std::enable_if_t<(M > 0)>>
  channel() noexcept {
    begin_(N, ring_.bytes, sizeof ring_.bytes);
  }
  /* One with a ring that is allocated. capacity: 1..VOLT_CHAN_MAX (else aborts). */
  template <uint32_t M = N, class = std::enable_if_t<M == 0>>
  explicit channel(uint32_t capacity) {
    size_t bytes = volt_chan_bytes(capacity, sizeof(carried));
    ring_.memory.reset(new uint64_t[bytes / 8]);
    begin_(capacity, ring_.memory.get(), bytes);
  }
  ~channel() {
    if constexpr (element::owns) {
      volt_chan_destroy(
          &c_, [](void *elem, void *) { element::drop(*static_cast<carried *>(elem)); }, nullptr);
    } else {
      volt_chan_destroy(&c_, nullptr, nullptr);
    }
  }
  channel(const channel &) = delete;
  channel &operator=(const channel &) = delete;

  /* Send a value, or a unique_ptr, which is given up also if that fails. VOLT_ECLOSED. */
  auto send(T &&value) noexcept {
    if constexpr (element::owns)
      return send_pointer_operation<T>(c_, std::move(value));
    else
      return send_operation<T>(c_, value);
  }
  /* The same; a unique_ptr is emptied if it was sent, else it is still the caller's. It must stay
   * where it is until then. */
  template <class U = T, class = std::enable_if_t<detail::element<U>::owns>>
  send_pointer_operation<T> send(T &value) noexcept {
    return send_pointer_operation<T>(c_, value);
  }
  template <class U = T, class = std::enable_if_t<!detail::element<U>::owns>>
  send_operation<T> send(const T &value) noexcept {
    return send_operation<T>(c_, value);
  }
  template <class U>
  volt::result<void> try_send(U &&value) noexcept {
    return send(std::forward<U>(value)).result_now();
  }

  /* Receive the oldest value. VOLT_ECLOSED if it is closed and empty. */
  recv_operation<T> recv() noexcept {
    return recv_operation<T>(c_);
  }
  volt::result<T> try_recv() noexcept {
    return recv().result_now();
  }

  /* Send, or receive, the first of n values, at least one: gives how many. elems: the caller's.
   * moved: where to store that, also if it is dropped by a volt::all(); 0: none were. */
  many_operation<const T> send_many(const T *elems, uint32_t n,
                                    uint32_t *moved = nullptr) noexcept {
    static_assert(!element::owns, "send one unique_ptr at a time");
    return many_operation<const T>(c_, elems, n, moved);
  }
  many_operation<T> recv_many(T *elems, uint32_t n, uint32_t *moved = nullptr) noexcept {
    static_assert(!element::owns, "receive one unique_ptr at a time");
    return many_operation<T>(c_, elems, n, moved);
  }

  /* End the sending: senders get VOLT_ECLOSED, receivers first what was sent before. */
  void close() noexcept {
    volt_chan_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_chan_is_closed(&c_);
  }
  /* Wait until it is closed. */
  closing_operation closing() noexcept {
    return closing_operation(c_);
  }
  /* One that counts as a sender: when the last one ends, the channel closes. */
  counted_sender sender() noexcept {
    return counted_sender(c_);
  }

  /* Snapshots. */
  uint32_t size() const noexcept {
    return volt_chan_len(&c_);
  }
  uint32_t capacity() const noexcept {
    return volt_chan_capacity(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_chan_waiters(&c_);
  }
  uint32_t senders() const noexcept {
    return volt_chan_senders(&c_);
  }
  /* The channel as C code uses it: of T, or of the pointer in the unique_ptr. */
  volt_chan *c() noexcept {
    return &c_;
  }

#if VOLT_CPP_THROWS_
  /* For `for (T value : channel)`, by a thread or a fiber: receives until it is closed and
   * empty. */
  class iterator {
   public:
    explicit iterator(channel *from) : from_(from) {
      ++*this;
    }
    T &&operator*() noexcept {
      return std::move(*value_);
    }
    iterator &operator++() {
      value_ = from_->recv().result();
      if (!value_ && value_.code() != VOLT_ECLOSED) throw_(value_.code());
      return *this;
    }
    struct end {};
    bool operator!=(end) const noexcept {
      return bool(value_);
    }

   private:
    channel *from_;
    volt::result<T> value_ = volt::result<T>::failure(VOLT_ECLOSED);
  };
  iterator begin() {
    return iterator(this);
  }
  typename iterator::end end() noexcept {
    return {};
  }
#endif

 private:
  void begin_(uint32_t capacity, void *memory, size_t bytes) noexcept {
    int code = volt_chan_init(&c_, capacity, sizeof(carried), memory, bytes);
    if (code != VOLT_OK) misuse_("a volt::channel of no capacity, or of too much");
  }

  struct inside {
    alignas(8) unsigned char bytes[detail::ring_bytes(N, sizeof(carried))];
  };
  struct outside {
    std::unique_ptr<uint64_t[]> memory;
  };
  volt_chan c_;
  std::conditional_t<(N > 0), inside, outside> ring_;
};

} // namespace volt

#endif
