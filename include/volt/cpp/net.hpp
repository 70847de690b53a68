/* net.hpp: volt/net.h in C++: addresses, listeners, names that are looked up, connections.
 *
 *   volt::listener listener(rt, "127.0.0.1:0");
 *   volt::fd client = volt::dial(rt, listener.local().text().c_str()).wait_for(5s);
 *   volt::fd server = listener.accept().wait();
 *
 * The texts of addresses are those of volt/net.h. */
#ifndef VOLT_CPP_NET_HPP
#define VOLT_CPP_NET_HPP

#include <string>
#include <vector>

#include "../net.h"
#include "fd.hpp"
#include "time.hpp"

namespace volt {

/* An address of a socket. */
class address {
 public:
  /* None. */
  address() noexcept : c_() {
  }
  explicit address(const volt_address &c) noexcept : c_(c) {
  }
#if VOLT_CPP_THROWS_
  /* From text: "127.0.0.1:80", "[::1]:80", ":80", "unix:/run/x.sock". No name is looked up. */
  explicit address(const char *text) : c_() {
    check(volt_address_parse(&c_, text));
  }
#endif
  static volt::result<address> parse(const char *text) noexcept {
    address a;
    int code = volt_address_parse(&a.c_, text);
    if (code != VOLT_OK) return volt::result<address>::failure(code);
    return volt::result<address>::success(code, a);
  }
  std::string text() const {
    char text[VOLT_ADDRESS_TEXT];
    return std::string(volt_address_text(&c_, text));
  }
  uint16_t port() const noexcept {
    return volt_address_port(&c_);
  }
  volt_address *c() noexcept {
    return &c_;
  }
  const volt_address *c() const noexcept {
    return &c_;
  }

 private:
  volt_address c_;
};

/* The address that a socket has, or is connected to. */
inline volt::result<address> local_address(const fd &d) noexcept {
  address a;
  int code = volt_fd_local(d.c(), a.c());
  if (code != VOLT_OK) return volt::result<address>::failure(code);
  return volt::result<address>::success(code, a);
}
inline volt::result<address> peer_address(const fd &d) noexcept {
  address a;
  int code = volt_fd_peer(d.c(), a.c());
  if (code != VOLT_OK) return volt::result<address>::failure(code);
  return volt::result<address>::success(code, a);
}

#if VOLT_CPP_THROWS_
/* Two unix sockets that are connected with each other. type: SOCK_STREAM, ... */
template <class Runtime>
std::pair<fd, fd> open_pair(Runtime &&rt, int type = SOCK_STREAM) {
  std::pair<fd, fd> ends;
  check(volt_pair_open(ends.first.c(), ends.second.c(), detail::rt_of(rt), type));
  return ends;
}
/* A pipe: what is written to second can be read from first. */
template <class Runtime>
std::pair<fd, fd> open_pipe(Runtime &&rt) {
  std::pair<fd, fd> ends;
  check(volt_pipe_open(ends.first.c(), ends.second.c(), detail::rt_of(rt)));
  return ends;
}
/* A datagram socket at an address. flags: of volt_listen_flags. */
template <class Runtime>
fd bind_udp(Runtime &&rt, const address &at, unsigned flags = 0) {
  fd d;
  check(volt_udp_bind(d.c(), detail::rt_of(rt), at.c(), flags));
  return d;
}
#endif

/* What listener.pause() returns. */
class [[nodiscard, gnu::warn_unused]] pause_operation
    : public operation<pause_operation, void, no_state> {
 public:
  pause_operation(volt_accept_pause & p, volt_rt * rt, int code) noexcept
      : pause_(&p), rt_(rt), code_(code) {
  }
  volt_future *begin(no_state &) noexcept {
    if (!rt_) return volt_future_known_(&pause_->async.future, code_); /* it never listened */
    return volt_accept_pause_future(pause_, rt_, code_);
  }
  void take(int, no_state &) noexcept {
  }

 private:
  volt_accept_pause *pause_;
  volt_rt *rt_;
  int code_;
};

/* A stream socket that listens. It does not move. */
class listener {
 public:
#if VOLT_CPP_THROWS_
  /* flags: of volt_listen_flags. backlog: 0: as many as the system allows. */
  template <class Runtime>
  listener(Runtime &&rt, const address &at, unsigned flags = 0, int backlog = 0)
      : rt_(detail::rt_of(rt)) {
    check(volt_listen(fd_.c(), rt_, at.c(), backlog, flags));
  }
  template <class Runtime>
  listener(Runtime &&rt, const char *at, unsigned flags = 0, int backlog = 0)
      : listener(rt, address(at), flags, backlog) {
  }
  /* The address that it has. */
  address local() const {
    return local_address(fd_).value();
  }
#endif
  /* One that listens at nothing, until start() has. */
  listener() noexcept : rt_(nullptr) {
  }
  template <class Runtime>
  [[nodiscard]] int start(Runtime &&rt, const address &at, unsigned flags = 0,
                          int backlog = 0) noexcept {
    rt_ = detail::rt_of(rt);
    return volt_listen(fd_.c(), rt_, at.c(), backlog, flags);
  }
  listener(const listener &) = delete;
  listener &operator=(const listener &) = delete;

  /* Wait for a connection: gives a volt::fd. A failure: see pause(). */
  auto accept() noexcept {
    return fd_.accept();
  }
  /* Wait until it makes sense to accept again after this failure; if it does not, that fails as
   * well. code: of the failure. */
  pause_operation pause(int code) noexcept {
    return pause_operation(pause_, rt_, code);
  }
  /* End the accept that is under way, and close it. */
  auto closing() noexcept {
    return fd_.closing();
  }
  void close() noexcept {
    fd_.close();
  }
  volt::fd &socket() noexcept {
    return fd_;
  }

 private:
  volt_rt *rt_;
  volt::fd fd_;
  volt_accept_pause pause_{};
};

namespace detail {

/* A lookup, whose addresses end with it. */
struct resolve_state : volt_resolve {
  resolve_state() noexcept : volt_resolve() {
  }
  ~resolve_state() {
    volt_resolve_free(this);
  }
};

} // namespace detail

/* What resolve() returns. */
class [[nodiscard, gnu::warn_unused]] resolve_operation
    : public operation<resolve_operation, std::vector<address>, detail::resolve_state> {
 public:
  resolve_operation(volt_rt * rt, const char *text) noexcept : rt_(rt), text_(text) {
  }
  volt_future *begin(detail::resolve_state & s) noexcept {
    return volt_resolve_future(&s, rt_, text_);
  }
  std::vector<address> take(int, detail::resolve_state &s) {
    return std::vector<address>(s.addresses, s.addresses + s.count);
  }

 private:
  volt_rt *rt_;
  const char *text_;
};

/* Look a name up: gives a std::vector of addresses, one at least, which it allocates. text: read
 * when the wait begins. */
template <class Runtime>
resolve_operation resolve(Runtime &&rt, const char *text) noexcept {
  return resolve_operation(detail::rt_of(rt), text);
}

/* What dial() returns. */
class [[nodiscard, gnu::warn_unused]] dial_operation
    : public operation<dial_operation, fd, volt_dial> {
 public:
  dial_operation(volt_rt * rt, const char *to, const volt_dial_config &config) noexcept
      : rt_(rt), to_(to), config_(config) {
  }
  volt_future *begin(volt_dial & s) noexcept {
    return volt_dial_future(&s, rt_, out_.c(), to_, &config_);
  }
  fd take(int, volt_dial &) noexcept {
    return std::move(out_);
  }

 private:
  volt_rt *rt_;
  const char *to_;
  volt_dial_config config_;
  fd out_;
};

/* Connect to what a text stands for, a name or an address: gives a volt::fd. to: read when the wait
 * begins. */
template <class Runtime>
dial_operation dial(Runtime &&rt, const char *to,
                    const volt_dial_config &config = volt_dial_config()) noexcept {
  return dial_operation(detail::rt_of(rt), to, config);
}

} // namespace volt

#endif
