/* fd.hpp: volt/io.h in C++: descriptors, and what is waited for on them.
 *
 *   volt::fd connection = listener.accept().wait();
 *   std::array<char, 4096> buffer;
 *   size_t n = connection.recv(buffer).wait_for(30s);       0: the peer sends no more
 *   connection.send(std::string_view(buffer.data(), n)).wait();
 *
 * A volt::fd closes its descriptor when it ends. It may be moved while no operation is under way on
 * it. (A move of one that the runtime watches already costs a system call.) What an operation is
 * given, buffers above all, must stay until it is over. Errors of the system are volt::error with
 * the code VOLT_ERRNO(e).
 *
 * The last argument of what moves bytes, `moved`, is where to store how many were: also if that
 * fails, ends early, loses a volt::select(), or is dropped by a volt::all(). Bytes that were received
 * or sent stay so. */
#ifndef VOLT_CPP_FD_HPP
#define VOLT_CPP_FD_HPP

#include <fcntl.h>

#include <string_view>

#include "../io.h"
#include "runtime.hpp"

namespace volt {

class fd;

namespace detail {

/* An operation of I/O: Begin makes its future. It gives how many bytes were moved, or nothing.
 * moved: where to store that whatever comes of the wait, or nullptr. */
template <class Value, class Begin>
class [[nodiscard, gnu::warn_unused]] io_operation
    : public operation<io_operation<Value, Begin>, Value, volt_op> {
  using base = operation<io_operation<Value, Begin>, Value, volt_op>;

 public:
  io_operation(Begin begin, size_t * moved) noexcept : begin_(begin), moved_(moved) {
  }
  volt_future *begin(volt_op & op) noexcept {
    return begin_(op);
  }
  Value take(int, volt_op &op) noexcept {
    tell(op);
    if constexpr (!std::is_void_v<Value>) return static_cast<Value>(op.n);
  }
  volt::result<Value> finish_result(int code, volt_op &op) {
    tell(op);
    return base::finish_result(code, op);
  }
#if VOLT_CPP_THROWS_
  Value finish(int code, volt_op &op) {
    tell(op);
    return base::finish(code, op);
  }
#endif
  void drop(volt_future * f, volt_op & op) noexcept {
    volt_future_cancel(f);
    tell(op);
  }

 private:
  void tell(const volt_op &op) noexcept {
    if (moved_) *moved_ = op.n;
  }
  Begin begin_;
  size_t *moved_;
};

template <class Value, class Begin>
io_operation<Value, Begin> io(Begin begin, size_t *moved = nullptr) noexcept {
  return io_operation<Value, Begin>(begin, moved);
}

/* What has data() and size(), of bytes: std::array<char, N>, std::vector<std::byte>, std::span. */
template <class Bytes>
using if_bytes = std::enable_if_t<
    sizeof(*std::declval<Bytes &>().data()) == 1 &&
    !std::is_const_v<std::remove_pointer_t<decltype(std::declval<Bytes &>().data())>>>;

} // namespace detail

/* A descriptor, or none. */
class fd {
 public:
  /* None. */
  fd() noexcept : c_() {
    c_.number = -1;
  }
#if VOLT_CPP_THROWS_
  /* Take a descriptor over: volt_fd_init(). It is the caller's still if this throws. */
  template <class Runtime>
  fd(Runtime &&rt, int number, unsigned flags = 0) : fd() {
    check(volt_fd_init(&c_, detail::rt_of(rt), number, flags));
  }
#endif
  /* The same; throws nothing. */
  template <class Runtime>
  static volt::result<fd> make(Runtime &&rt, int number, unsigned flags = 0) noexcept {
    fd d;
    int code = volt_fd_init(&d.c_, detail::rt_of(rt), number, flags);
    if (code != VOLT_OK) return volt::result<fd>::failure(code);
    return volt::result<fd>::success(code, std::move(d));
  }
  /* No operation may be under way on other (aborts). */
  fd(fd &&other) noexcept : fd() {
    move_(other);
  }
  fd &operator=(fd &&other) noexcept {
    if (this == &other) return *this;
    close();
    move_(other);
    return *this;
  }
  /* Closes it. No operation may be under way (aborts). */
  ~fd() {
    close();
  }

  explicit operator bool() const noexcept {
    return number() >= 0;
  }
  /* Its number, or -1. */
  int number() const noexcept {
    return volt_fd_number(&c_);
  }
  /* Give the descriptor back. Returns its number, or -1: the caller closes it. */
  [[nodiscard]] int release() noexcept {
    return volt_fd_detach(&c_);
  }
  void close() noexcept {
    volt_fd_close(&c_);
  }
  /* End the operations that are under way, with VOLT_ECLOSED, and close it. */
  auto closing() noexcept {
    return detail::io<void>(
        [d = &c_](volt_op &op) noexcept { return volt_fd_close_future(&op, d); });
  }

  /* ---- sockets and pipes ---- */

  /* Receive what is there, at most size bytes: gives how many; 0: no more will come. */
  auto recv(void *to, size_t size, int flags = 0, size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, to, size, flags](volt_op &op) noexcept {
          return volt_fd_recv_future(&op, d, to, size, flags);
        },
        moved);
  }
  template <class Bytes, class = detail::if_bytes<Bytes>>
  auto recv(Bytes &&to, int flags = 0, size_t *moved = nullptr) noexcept {
    return recv(to.data(), to.size(), flags, moved);
  }
  /* Send all. */
  auto send(const void *from, size_t size, int flags = 0, size_t *moved = nullptr) noexcept {
    return detail::io<void>(
        [d = &c_, from, size, flags](volt_op &op) noexcept {
          return volt_fd_send_future(&op, d, from, size, flags);
        },
        moved);
  }
  auto send(std::string_view from, int flags = 0, size_t *moved = nullptr) noexcept {
    return send(from.data(), from.size(), flags, moved);
  }
  /* One message, with addresses and what else it says: gives how many bytes. */
  auto recvmsg(msghdr &message, int flags = 0, size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, m = &message, flags](volt_op &op) noexcept {
          return volt_fd_recvmsg_future(&op, d, m, flags);
        },
        moved);
  }
  auto sendmsg(const msghdr &message, int flags = 0, size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, m = &message, flags](volt_op &op) noexcept {
          return volt_fd_sendmsg_future(&op, d, m, flags);
        },
        moved);
  }
  auto connect(const sockaddr *to, socklen_t size) noexcept {
    return detail::io<void>([d = &c_, to, size](volt_op &op) noexcept {
      return volt_fd_connect_future(&op, d, to, size);
    });
  }
  /* Wait for a connection: gives a volt::fd. volt::listener (net.hpp) has more. */
  inline auto accept() noexcept;
  /* Wait until it is ready for one of events, as poll() says: gives what it is ready for. */
  auto ready(unsigned events) noexcept {
    return detail::io<unsigned>(
        [d = &c_, events](volt_op &op) noexcept { return volt_fd_ready_future(&op, d, events); });
  }
  /* Send size bytes of a file, from an offset on: gives how many. */
  auto sendfile(fd &file, int64_t at, size_t size, size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, f = &file.c_, at, size](volt_op &op) noexcept {
          return volt_fd_sendfile_future(&op, d, f, at, size);
        },
        moved);
  }

  /* ---- files, and all that can be read and written ---- */

  /* Read what is there, at most size bytes: gives how many; 0: the end. at: -1: the position. */
  auto read(void *to, size_t size, int64_t at = -1, size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, to, size, at](volt_op &op) noexcept {
          return volt_fd_read_future(&op, d, to, size, at);
        },
        moved);
  }
  template <class Bytes, class = detail::if_bytes<Bytes>>
  auto read(Bytes &&to, int64_t at = -1, size_t *moved = nullptr) noexcept {
    return read(to.data(), to.size(), at, moved);
  }
  /* Write all. */
  auto write(const void *from, size_t size, int64_t at = -1, size_t *moved = nullptr) noexcept {
    return detail::io<void>(
        [d = &c_, from, size, at](volt_op &op) noexcept {
          return volt_fd_write_future(&op, d, from, size, at);
        },
        moved);
  }
  auto write(std::string_view from, int64_t at = -1, size_t *moved = nullptr) noexcept {
    return write(from.data(), from.size(), at, moved);
  }
  /* Once: gives how many bytes. */
  auto readv(const iovec *parts, unsigned count, int64_t at = -1,
             size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, parts, count, at](volt_op &op) noexcept {
          return volt_fd_readv_future(&op, d, parts, count, at);
        },
        moved);
  }
  auto writev(const iovec *parts, unsigned count, int64_t at = -1,
              size_t *moved = nullptr) noexcept {
    return detail::io<size_t>(
        [d = &c_, parts, count, at](volt_op &op) noexcept {
          return volt_fd_writev_future(&op, d, parts, count, at);
        },
        moved);
  }
  /* fsync(), or fdatasync(). how: of volt_fd_sync. */
  auto sync(unsigned how = VOLT_FD_SYNC_ALL) noexcept {
    return detail::io<void>(
        [d = &c_, how](volt_op &op) noexcept { return volt_fd_sync_future(&op, d, how); });
  }

  /* ---- without waiting ---- */

  /* Try recv() once: gives how many bytes. VOLT_EAGAIN. */
  volt::result<size_t> try_recv(void *to, size_t size, int flags = 0) noexcept {
    size_t n = 0;
    int code = volt_fd_try_recv(&c_, to, size, flags, &n);
    return count_(code, n);
  }
  /* Try send() once: gives how many bytes, which may be less than size. */
  volt::result<size_t> try_send(const void *from, size_t size, int flags = 0) noexcept {
    size_t n = 0;
    int code = volt_fd_try_send(&c_, from, size, flags, &n);
    return count_(code, n);
  }
  volt::result<fd> try_accept() noexcept {
    fd out;
    int code = volt_fd_try_accept(&c_, &out.c_);
    if (code != VOLT_OK) return volt::result<fd>::failure(code);
    return volt::result<fd>::success(code, std::move(out));
  }

  /* The descriptor as C code uses it. */
  volt_fd *c() noexcept {
    return &c_;
  }
  const volt_fd *c() const noexcept {
    return &c_;
  }

 private:
  static volt::result<size_t> count_(int code, size_t n) noexcept {
    return volt_is_ok(code) ? volt::result<size_t>::success(code, n)
                            : volt::result<size_t>::failure(code);
  }
  /* This one is none. Detached, a descriptor is watched by nothing, and aborts if it is in use. */
  void move_(fd &other) noexcept {
    volt_fd_move_(&c_, &other.c_);
  }
  volt_fd c_;
};

/* An operation that makes a descriptor, in itself: gives a volt::fd. */
template <class Begin>
class [[nodiscard, gnu::warn_unused]] filling_operation
    : public operation<filling_operation<Begin>, fd, volt_op> {
 public:
  explicit filling_operation(Begin begin) noexcept : begin_(begin) {
  }
  volt_future *begin(volt_op & op) noexcept {
    return begin_(op, out_.c());
  }
  fd take(int, volt_op &) noexcept {
    return std::move(out_);
  }

 private:
  Begin begin_;
  fd out_;
};

inline auto fd::accept() noexcept {
  auto begin = [d = &c_](volt_op &op, volt_fd *out) noexcept {
    return volt_fd_accept_future(&op, d, out);
  };
  return filling_operation<decltype(begin)>(begin);
}

/* Open a file: gives a volt::fd. path: the caller's until it is done. flags, mode: as open(). */
template <class Runtime>
auto open(Runtime &&rt, const char *path, int flags, mode_t mode = 0644) noexcept {
  auto begin = [r = detail::rt_of(rt), path, flags, mode](volt_op &op, volt_fd *out) noexcept {
    return volt_open_future(&op, r, out, AT_FDCWD, path, flags, mode);
  };
  return filling_operation<decltype(begin)>(begin);
}

} // namespace volt

#endif
