/* mailbox.hpp: volt/mailbox.h in C++: an unbounded channel of objects that carry their own node.
 *
 *   struct job : volt::mailbox_node { ... };
 *   volt::mailbox<job> jobs;
 *
 *   jobs.send(std::make_unique<job>(...));             never waits; false: it is closed
 *   std::unique_ptr<job> next = jobs.recv().wait();    or throws volt::closed
 *
 * Nothing is copied and nothing allocated. What is left in the mailbox is deleted with it. */
#ifndef VOLT_CPP_MAILBOX_HPP
#define VOLT_CPP_MAILBOX_HPP

#include <memory>

#include "../mailbox.h"
#include "operation.hpp"

namespace volt {

/* What an object that is sent is derived from. */
struct mailbox_node : volt_mailbox_node {
  mailbox_node() noexcept : volt_mailbox_node() {
  }
  /* A copy is in no mailbox. */
  mailbox_node(const mailbox_node &) noexcept : mailbox_node() {
  }
  mailbox_node &operator=(const mailbox_node &) noexcept {
    return *this;
  }
};

/* What mailbox.recv() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] mailbox_operation
    : public operation<mailbox_operation<T>, std::unique_ptr<T>> {
 public:
  static constexpr bool tries = true;
  explicit mailbox_operation(volt_mailbox & m) noexcept : mailbox_(&m) {
  }
  int try_now() noexcept {
    return volt_mailbox_try_recv(mailbox_, &node_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_mailbox_recv_future(&f, mailbox_, &node_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_mailbox_recv_until(mailbox_, &node_, deadline_ns);
  }
  std::unique_ptr<T> take(int, volt_future &) noexcept {
    return std::unique_ptr<T>(static_cast<T *>(static_cast<mailbox_node *>(node_)));
  }

 private:
  volt_mailbox *mailbox_;
  volt_mailbox_node *node_ = nullptr;
};

/* An unbounded channel of T, which is derived from volt::mailbox_node (volt/mailbox.h). */
template <class T>
class mailbox {
 public:
  constexpr mailbox() noexcept : c_ VOLT_MAILBOX_INIT {
  }
  ~mailbox() {
    static_assert(std::is_base_of_v<mailbox_node, T>, "T is derived from volt::mailbox_node");
    volt_mailbox_destroy(
        &c_,
        [](volt_mailbox_node *node, void *) {
          delete static_cast<T *>(static_cast<mailbox_node *>(node));
        },
        nullptr);
  }
  mailbox(const mailbox &) = delete;
  mailbox &operator=(const mailbox &) = delete;

  /* Send an object; it is given up also if that fails. Returns false: the mailbox is closed. */
  bool send(std::unique_ptr<T> &&object) noexcept {
    std::unique_ptr<T> own(std::move(object));
    return send(own);
  }
  /* The same; it is emptied if it was sent, else it is still the caller's. */
  bool send(std::unique_ptr<T> &object) noexcept {
    mailbox_node *node = object.get();
    if (!node) misuse_("an empty unique_ptr is sent to a volt::mailbox");
    T *sent = object.release(); /* it may be gone when the call returns */
    if (volt_mailbox_send(&c_, node) == VOLT_OK) return true;
    object.reset(sent);
    return false;
  }

  /* Receive the oldest object: gives a unique_ptr. VOLT_ECLOSED if it is closed and empty. */
  mailbox_operation<T> recv() noexcept {
    return mailbox_operation<T>(c_);
  }
  volt::result<std::unique_ptr<T>> try_recv() noexcept {
    return recv().result_now();
  }

  /* End the sending: receivers get what was sent before, then VOLT_ECLOSED. */
  void close() noexcept {
    volt_mailbox_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_mailbox_is_closed(&c_);
  }

  /* Snapshots. */
  uint64_t size() const noexcept {
    return volt_mailbox_len(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_mailbox_waiters(&c_);
  }
  volt_mailbox *c() noexcept {
    return &c_;
  }

 private:
  volt_mailbox c_;
};

} // namespace volt

#endif
