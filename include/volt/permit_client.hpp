/* permit_client.hpp: volt/permit_client.h in C++17: permits of a voltgate, over a socket.
 *
 *   volt::permit_client broker(rt);
 *   broker.connect("unix:/run/voltgate/permits.sock").wait_for(5s);
 *   broker.acquire("cores=2 memory=4G").wait();      or co_await broker.acquire(...)
 *   ...
 *   broker.release().wait();                         or let it end: its connection closes
 *
 * Errors are volt::error with the codes of volt/permit_client.h; words() has the gate's words. An
 * acquire that is given up leaves no permit held: outcome(). A client does not move. It closes itself when it
 * ends; no operation may be under way then. A program that includes it is linked with volt-io. */
#ifndef VOLT_PERMIT_CLIENT_HPP
#define VOLT_PERMIT_CLIENT_HPP

#include "io.hpp"
#include "permit_client.h"

namespace volt {

/* What a permit_client waits for, in itself. */
template <class Begin>
class [[nodiscard, gnu::warn_unused]] permit_operation
    : public operation<permit_operation<Begin>, void, no_state> {
 public:
  explicit permit_operation(Begin begin) noexcept : begin_(begin) {
  }
  volt_future *begin(no_state &) noexcept {
    return begin_();
  }
  void take(int, no_state &) noexcept {
  }

 private:
  Begin begin_;
};

/* A connection to a gate, or none yet. */
class permit_client {
 public:
  template <class Runtime,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Runtime>, permit_client>>>
  explicit permit_client(Runtime &&rt) noexcept {
    volt_permit_client_init(&c_, detail::rt_of(rt));
  }
  permit_client(const permit_client &) = delete;
  permit_client &operator=(const permit_client &) = delete;
  ~permit_client() {
    volt_permit_client_close(&c_);
  }

  /* to: read when the wait begins. */
  auto connect(const char *to) noexcept {
    return make_([c = &c_, to]() noexcept { return volt_permit_client_connect_future(c, to); });
  }
  /* request: its texts are read when the wait begins. */
  auto acquire(const volt_permit_request &request) noexcept {
    return make_(
        [c = &c_, request]() noexcept { return volt_permit_client_acquire_future(c, &request); });
  }
  /* amounts: "cores=2 memory=4G"; the same. */
  auto acquire(const char *amounts) noexcept {
    volt_permit_request request{};
    request.text = amounts;
    return acquire(request);
  }
  /* Give back these amounts; nullptr: all. */
  auto release(const char *amounts = nullptr) noexcept {
    return make_(
        [c = &c_, amounts]() noexcept { return volt_permit_client_release_future(c, amounts); });
  }
  /* Wait until the connection has ended. It always fails, with why: VOLT_ECLOSED, VOLT_ERRNO(e). */
  auto lost() noexcept {
    return make_([c = &c_]() noexcept { return volt_permit_client_lost_future(c); });
  }
  /* Wait until outcome() is final. */
  auto settle() noexcept {
    return make_([c = &c_]() noexcept { return volt_permit_client_settle_future(c); });
  }
  void close() noexcept {
    volt_permit_client_close(&c_);
  }

  /* The connection, with what it holds, is the caller's: the number of the descriptor. */
  [[nodiscard]] int detach() noexcept {
    return volt_permit_client_detach(&c_);
  }

  /* As the functions of C. */
  uint32_t place() const noexcept {
    return volt_permit_client_place(&c_);
  }
  volt_permit_outcome outcome() const noexcept {
    return volt_permit_client_outcome(&c_);
  }
  uint64_t held(const char *kind) const noexcept {
    return volt_permit_client_held(&c_, kind);
  }
  explicit operator bool() const noexcept {
    return volt_permit_client_holds(&c_);
  }
  const char *id() const noexcept {
    return volt_permit_client_id(&c_);
  }
  const char *words() const noexcept {
    return volt_permit_client_words(&c_);
  }
  volt_permit_client *c() noexcept {
    return &c_;
  }

 private:
  template <class Begin>
  static permit_operation<Begin> make_(Begin begin) noexcept {
    return permit_operation<Begin>(begin);
  }
  volt_permit_client c_;
};

} // namespace volt

#endif
