/* values.hpp: in C++ what carries values, but no channel: watch, broadcast, oneshot.
 *
 *   volt::watch<config> settings(config{...});         the latest value
 *   volt::watcher<config> seen(settings);
 *   config now = seen.next().wait();                   waits for a version that it has not seen
 *
 *   volt::broadcast<event, 64> events;                 every receiver receives every value
 *   auto mine = events.subscribe();
 *   event e = mine.recv().wait();                      or throws volt::error(VOLT_ELAGGED)
 *
 *   volt::oneshot<answer> reply;                       one value, once; also a unique_ptr
 *
 * Each is its C struct and its memory: volt/watch.h, broadcast.h, oneshot.h. */
#ifndef VOLT_CPP_VALUES_HPP
#define VOLT_CPP_VALUES_HPP

#include "../broadcast.h"
#include "../oneshot.h"
#include "../watch.h"
#include "element.hpp"
#include "operation.hpp"

namespace volt {

/* ---- watch ---- */

/* What watch.changed() and watcher.next() return: gives the value. */
template <class T>
class [[nodiscard, gnu::warn_unused]] changed_operation
    : public operation<changed_operation<T>, T> {
 public:
  static constexpr bool tries = true;
  changed_operation(volt_watch & w, uint64_t & seen) noexcept : watch_(&w), seen_(&seen) {
  }
  int try_now() noexcept {
    return volt_watch_try_changed(watch_, seen_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_watch_changed_future(&f, watch_, seen_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_watch_changed_until(watch_, seen_, deadline_ns);
  }
  T take(int, volt_future &) noexcept {
    detail::room<T> room;
    *seen_ = volt_watch_get(watch_, room.bytes);
    return *room.at();
  }

 private:
  volt_watch *watch_;
  uint64_t *seen_;
};

/* The latest value of a type that is trivially copyable (volt/watch.h). */
template <class T>
class watch {
  static_assert(std::is_trivially_copyable_v<T>, "a watch copies its value as bytes");

 public:
  using value_type = T;
  /* Its version 1 is this. */
  explicit watch(const T &initial) noexcept {
    volt_watch_init(&c_, sizeof(T), value_.bytes, &initial);
  }
  ~watch() {
    volt_watch_destroy(&c_);
  }
  watch(const watch &) = delete;
  watch &operator=(const watch &) = delete;

  /* Make this the value. Returns false: it is closed. */
  bool send(const T &value) noexcept {
    return volt_watch_send(&c_, &value) == VOLT_OK;
  }
  /* Let fn(T &) change the value in place; other users wait meanwhile. If fn returns true, that is
   * a new version. fn must not throw (terminates). Returns false: there is none, or it is
   * closed. */
  template <class Fn>
  bool modify(Fn &&fn) noexcept {
    using plain = std::remove_reference_t<Fn>;
    auto call = [](void *value, void *arg) noexcept -> bool {
      return (*static_cast<plain *>(arg))(*static_cast<T *>(value));
    };
    return volt_watch_modify(&c_, call, const_cast<void *>(static_cast<const void *>(&fn))) ==
           VOLT_OK;
  }
  T get() noexcept {
    detail::room<T> room;
    (void)volt_watch_get(&c_, room.bytes);
    return *room.at();
  }
  /* Wait for another version than seen, which becomes that version: gives the value. */
  changed_operation<T> changed(uint64_t &seen) noexcept {
    return changed_operation<T>(c_, seen);
  }
  uint64_t version() const noexcept {
    return volt_watch_version(&c_);
  }
  /* Allow no more changes. Watchers still see the last version, then get VOLT_ECLOSED. */
  void close() noexcept {
    volt_watch_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_watch_is_closed(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_watch_waiters(&c_);
  }
  volt_watch *c() noexcept {
    return &c_;
  }

 private:
  volt_watch c_;
  detail::room<T> value_;
};

/* One that has seen the versions of a watch up to one: none at first. Of one owner. */
template <class T>
class watcher {
 public:
  explicit watcher(watch<T> &w) noexcept : watch_(&w) {
  }
  /* Wait for a version that it has not seen: gives the value. */
  changed_operation<T> next() noexcept {
    return watch_->changed(seen_);
  }
  uint64_t seen() const noexcept {
    return seen_;
  }

 private:
  watch<T> *watch_;
  uint64_t seen_ = 0;
};

/* ---- broadcast ---- */

/* What a receiver's recv() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] broadcast_operation
    : public operation<broadcast_operation<T>, T> {
 public:
  static constexpr bool tries = true;
  explicit broadcast_operation(volt_broadcast_receiver & r) noexcept : receiver_(&r) {
  }
  int try_now() noexcept {
    return volt_broadcast_try_recv(receiver_, room_.bytes);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_broadcast_recv_future(&f, receiver_, room_.bytes);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_broadcast_recv_until(receiver_, room_.bytes, deadline_ns);
  }
  T take(int, volt_future &) noexcept {
    return *room_.at();
  }

 private:
  volt_broadcast_receiver *receiver_;
  detail::room<T> room_;
};

/* One receiver. A copy is another one, at the same position. Not to be moved while recv() waits. */
template <class T>
class broadcast_receiver {
 public:
  explicit broadcast_receiver(volt_broadcast &b) noexcept {
    volt_broadcast_subscribe(&b, &c_);
  }
  /* Receive the next value. VOLT_ELAGGED: some were overwritten before; go on. VOLT_ECLOSED. */
  broadcast_operation<T> recv() noexcept {
    return broadcast_operation<T>(c_);
  }
  volt::result<T> try_recv() noexcept {
    return recv().result_now();
  }
  /* How many values it has lost, could receive now, and will learn to have lost. */
  uint64_t lost() const noexcept {
    return volt_broadcast_lost(&c_);
  }
  uint64_t size() const noexcept {
    return volt_broadcast_len(&c_);
  }
  uint64_t lag() const noexcept {
    return volt_broadcast_lag(&c_);
  }
  volt_broadcast_receiver *c() noexcept {
    return &c_;
  }

 private:
  volt_broadcast_receiver c_;
};

/* A stream of values of which the newest N are kept (volt/broadcast.h). */
template <class T, uint32_t N>
class broadcast {
  static_assert(std::is_trivially_copyable_v<T>, "a broadcast copies its values as bytes");
  static_assert(N > 0, "a broadcast keeps one value at least");

 public:
  using value_type = T;
  broadcast() noexcept {
    int code = volt_broadcast_init(&c_, N, sizeof(T), ring_, sizeof ring_);
    if (code != VOLT_OK) misuse_("volt_broadcast_init() has failed");
  }
  ~broadcast() {
    volt_broadcast_destroy(&c_);
  }
  broadcast(const broadcast &) = delete;
  broadcast &operator=(const broadcast &) = delete;

  /* Send to all receivers there are. Never waits. Returns false: it is closed. */
  bool send(const T &value) noexcept {
    return volt_broadcast_send(&c_, &value) == VOLT_OK;
  }
  /* A receiver of what is sent from now on. */
  broadcast_receiver<T> subscribe() noexcept {
    return broadcast_receiver<T>(c_);
  }
  /* Allow no more sends. */
  void close() noexcept {
    volt_broadcast_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_broadcast_is_closed(&c_);
  }
  uint64_t sent() const noexcept {
    return volt_broadcast_sent(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_broadcast_waiters(&c_);
  }
  volt_broadcast *c() noexcept {
    return &c_;
  }

 private:
  volt_broadcast c_;
  alignas(T) unsigned char ring_[N * sizeof(T)];
};

/* ---- oneshot ---- */

/* What oneshot.recv() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] oneshot_operation
    : public operation<oneshot_operation<T>, T> {
  using element = detail::element<T>;

 public:
  static constexpr bool tries = true;
  explicit oneshot_operation(volt_oneshot & o) noexcept : oneshot_(&o) {
  }
  int try_now() noexcept {
    return volt_oneshot_try_recv(oneshot_, room_.bytes);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_oneshot_recv_future(&f, oneshot_, room_.bytes);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_oneshot_recv_until(oneshot_, room_.bytes, deadline_ns);
  }
  T take(int, volt_future &) noexcept {
    return element::unpack(*room_.at());
  }

 private:
  volt_oneshot *oneshot_;
  detail::room<typename element::carried> room_;
};

/* What oneshot.settled() returns. */
class [[nodiscard, gnu::warn_unused]] settled_operation
    : public operation<settled_operation, void> {
 public:
  explicit settled_operation(volt_oneshot & o) noexcept : oneshot_(&o) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_oneshot_closed_future(&f, oneshot_);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_oneshot *oneshot_;
};

/* One value, from one sender to one receiver (volt/oneshot.h). A value that is not received ends
 * with it. */
template <class T>
class oneshot {
  using element = detail::element<T>;
  using carried = typename element::carried;

 public:
  using value_type = T;
  oneshot() noexcept {
    volt_oneshot_init(&c_, sizeof(carried), slot_.bytes);
  }
  ~oneshot() {
    detail::room<carried> left;
    if (element::owns && volt_oneshot_try_recv(&c_, left.bytes) == VOLT_OK) {
      element::drop(*left.at());
    }
    volt_oneshot_destroy(&c_);
  }
  oneshot(const oneshot &) = delete;
  oneshot &operator=(const oneshot &) = delete;

  /* Send the value. A second one aborts. Returns false: it is closed; the value ends. */
  bool send(T value) noexcept {
    carried bytes = element::pack(value);
    if (volt_oneshot_send(&c_, &bytes) == VOLT_OK) return true;
    element::drop(bytes);
    return false;
  }
  /* Receive the value. VOLT_ECLOSED: none will come. */
  oneshot_operation<T> recv() noexcept {
    return oneshot_operation<T>(c_);
  }
  volt::result<T> try_recv() noexcept {
    return recv().result_now();
  }
  /* Wait until a value was sent; VOLT_ECLOSED: it was closed instead, so nothing is wanted. */
  settled_operation settled() noexcept {
    return settled_operation(c_);
  }
  /* Give up, from either side. */
  void close() noexcept {
    volt_oneshot_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_oneshot_is_closed(&c_);
  }
  bool is_empty() const noexcept {
    return volt_oneshot_is_empty(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_oneshot_waiters(&c_);
  }
  volt_oneshot *c() noexcept {
    return &c_;
  }

 private:
  volt_oneshot c_;
  detail::room<carried> slot_;
};

} // namespace volt

#endif
