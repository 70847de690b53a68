/* tls.hpp: volt/tls.h in C++17: contexts, and streams over a volt::fd.
 *
 *   volt::tls::context roots(VOLT_TLS_CLIENT);
 *   volt::tls::stream page(roots, volt::dial(rt, "example.org:443").wait(), "example.org");
 *   page.handshake().wait_for(10s);                 or co_await page.handshake();
 *   page.send_all("GET / HTTP/1.0\r\n\r\n").wait();
 *   size_t n = page.recv(buffer).wait();            0: the peer sends no more
 *
 * Errors are volt::error with a code of volt/tls.h, such as VOLT_TLS_EEXPIRED; why() has the words for a
 * log. A stream does not move. It closes itself when it ends; no operation may be under way then. The
 * last argument of what moves bytes, `moved`, is as in cpp/fd.hpp: of a send that is given up, how many bytes
 * are committed. A program that includes it is linked with volt-tls. */
#ifndef VOLT_TLS_HPP
#define VOLT_TLS_HPP

#include <string>

#include "io.hpp"
#include "tls.h"

namespace volt {
namespace tls {

/* What a stream waits for, in itself: gives how many bytes were moved, or nothing. */
template <class Value, class Begin>
class [[nodiscard, gnu::warn_unused]] stream_operation
    : public operation<stream_operation<Value, Begin>, Value, volt_tls_op> {
  using base = operation<stream_operation<Value, Begin>, Value, volt_tls_op>;

 public:
  stream_operation(Begin begin, size_t * moved) noexcept : begin_(begin), moved_(moved) {
  }
  volt_future *begin(volt_tls_op & op) noexcept {
    return begin_(op);
  }
  Value take(int, volt_tls_op &op) noexcept {
    report(op);
    if constexpr (!std::is_void_v<Value>) return static_cast<Value>(op.n);
  }
  volt::result<Value> finish_result(int code, volt_tls_op &op) {
    report(op);
    return base::finish_result(code, op);
  }
#if VOLT_CPP_THROWS_
  Value finish(int code, volt_tls_op &op) {
    report(op);
    return base::finish(code, op);
  }
#endif
  void drop(volt_future * f, volt_tls_op & op) noexcept {
    volt_future_cancel(f);
    report(op);
  }

 private:
  void report(const volt_tls_op &op) noexcept {
    if (moved_) *moved_ = op.n;
  }
  Begin begin_;
  size_t *moved_;
};

/* Certificates, trust, versions: what many streams have in common. A copy is the same context. */
class context {
 public:
  /* None. */
  context() noexcept : c_(nullptr) {
  }
#if VOLT_CPP_THROWS_
  /* why: where to store the reason of a failure in words, or nullptr. */
  explicit context(volt_tls_role role, const volt_tls_config &config = volt_tls_config(),
                   std::string *why = nullptr)
      : c_(nullptr) {
    check(load(role, config, why));
  }
  /* Load it anew: volt_tls_context_reload(). */
  void reload(const volt_tls_config &config, std::string *why = nullptr) {
    char text[256] = "";
    int code = c_ ? volt_tls_context_reload(c_, &config, text, sizeof text)
                  : static_cast<int>(VOLT_EINVAL);
    if (why) *why = text;
    check(code);
  }
#endif
  /* The same; throws nothing but std::bad_alloc for why. */
  static volt::result<context> make(volt_tls_role role, const volt_tls_config &config,
                                    std::string *why = nullptr) {
    context made;
    int code = made.load(role, config, why);
    if (code != VOLT_OK) return volt::result<context>::failure(code);
    return volt::result<context>::success(code, std::move(made));
  }
  context(const context &other) noexcept
      : c_(other.c_ ? volt_tls_context_hold(other.c_) : nullptr) {
  }
  context(context &&other) noexcept : c_(std::exchange(other.c_, nullptr)) {
  }
  context &operator=(context other) noexcept {
    std::swap(c_, other.c_);
    return *this;
  }
  ~context() {
    volt_tls_context_drop(c_);
  }
  /* Let clients that ask for this name have the other one: volt_tls_context_name(). VOLT_EINVAL, too: one
   * of the two is none. forget() takes the name out. */
  [[nodiscard]] int name(const char *asked, const context &other) noexcept {
    if (!c_ || !other.c_) return VOLT_EINVAL;
    return volt_tls_context_name(c_, asked, other.c_);
  }
  [[nodiscard]] int forget(const char *asked) noexcept {
    return c_ ? volt_tls_context_name(c_, asked, nullptr) : static_cast<int>(VOLT_EINVAL);
  }
  volt_tls_context *c() const noexcept {
    return c_;
  }

 private:
  int load(volt_tls_role role, const volt_tls_config &config, std::string *why) {
    char text[256] = "";
    int code = volt_tls_context_create(&c_, role, &config, text, sizeof text);
    if (why) *why = text;
    return code;
  }
  volt_tls_context *c_;
};

/* One side of a TLS connection, or none. */
class stream {
 public:
  /* None, until start() has. */
  stream() noexcept : c_() {
  }
#if VOLT_CPP_THROWS_
  /* d: a stream socket that is connected. name: of the server that a client wants; a server: nullptr. */
  stream(const context &with, volt::fd d, const char *name = nullptr) : stream() {
    check(start(with, std::move(d), name));
  }
#endif
  /* The same. VOLT_EINVAL, too: with is none. */
  [[nodiscard]] int start(const context &with, volt::fd d, const char *name = nullptr) noexcept {
    close();
    if (!with.c()) return VOLT_EINVAL;
    fd_ = std::move(d);
    int code = volt_tls_init(&c_, with.c(), fd_.c(), name);
    if (code != VOLT_OK) fd_.close();
    return code;
  }
  stream(const stream &) = delete;
  stream &operator=(const stream &) = delete;
  ~stream() {
    close();
  }

  auto handshake() noexcept {
    return make_<void>(
        [t = &c_](volt_tls_op &op) noexcept { return volt_tls_handshake_future(&op, t); });
  }
  /* Receive what is there, at most size bytes: gives how many; 0: the peer sends no more. */
  auto recv(void *to, size_t size, size_t *moved = nullptr) noexcept {
    return make_<size_t>(
        [t = &c_, to, size](volt_tls_op &op) noexcept {
          return volt_tls_recv_future(&op, t, to, size);
        },
        moved);
  }
  template <class Bytes, class = volt::detail::if_bytes<Bytes>>
  auto recv(Bytes &&to, size_t *moved = nullptr) noexcept {
    return recv(to.data(), to.size(), moved);
  }
  /* Send one record: gives how many bytes. */
  auto send(const void *from, size_t size, size_t *moved = nullptr) noexcept {
    return make_<size_t>(
        [t = &c_, from, size](volt_tls_op &op) noexcept {
          return volt_tls_send_future(&op, t, from, size);
        },
        moved);
  }
  auto send_all(const void *from, size_t size, size_t *moved = nullptr) noexcept {
    return make_<void>(
        [t = &c_, from, size](volt_tls_op &op) noexcept {
          return volt_tls_send_all_future(&op, t, from, size);
        },
        moved);
  }
  auto send_all(std::string_view from, size_t *moved = nullptr) noexcept {
    return send_all(from.data(), from.size(), moved);
  }
  /* Say that nothing more will be sent. */
  auto shutdown() noexcept {
    return make_<void>(
        [t = &c_](volt_tls_op &op) noexcept { return volt_tls_shutdown_future(&op, t); });
  }
  /* End the operations that are under way, with VOLT_ECLOSED, and close it. */
  auto closing() noexcept {
    return make_<void>(
        [t = &c_](volt_tls_op &op) noexcept { return volt_tls_close_future(&op, t); });
  }
  void close() noexcept {
    volt_tls_close(&c_);
    fd_.close();
  }

  /* As the functions of C: volt_tls_why() and its like. */
  const char *why() const noexcept {
    return volt_tls_why(&c_);
  }
  const char *version() const noexcept {
    return volt_tls_version(&c_);
  }
  const char *cipher() const noexcept {
    return volt_tls_cipher(&c_);
  }
  const char *asked() const noexcept {
    return volt_tls_asked(&c_);
  }
  bool is_resumed() const noexcept {
    return volt_tls_is_resumed(&c_);
  }
  std::string alpn() const {
    char text[256];
    return std::string(volt_tls_alpn(&c_, text, sizeof text));
  }
  std::string peer() const {
    char text[512];
    return std::string(volt_tls_peer(&c_, text, sizeof text));
  }
  volt_tls *c() noexcept {
    return &c_;
  }

 private:
  template <class Value, class Begin>
  static stream_operation<Value, Begin> make_(Begin begin, size_t *moved = nullptr) noexcept {
    return stream_operation<Value, Begin>(begin, moved);
  }
  volt_tls c_;
  volt::fd fd_;
};

} // namespace tls
} // namespace volt

#endif
