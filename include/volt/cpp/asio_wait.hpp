/* asio_wait.hpp: a wait in Asio: its block, and how it comes to its handler. Private. */
#ifndef VOLT_CPP_ASIO_WAIT_HPP
#define VOLT_CPP_ASIO_WAIT_HPP

#include <cstddef>

#include "../latch.h"
#include "../loop.h"
#include "../mutex.h"
#include "asio_error.hpp"
#include "operation.hpp"

VOLT_ASIO_BEGIN_

namespace asio_detail {

/* ---- a wait, whatever its types ---- */

/* The block of a wait. Its future is polled by a volt_loop, which says when it has to be polled again: then a
 * function, its errand, goes to the executor, in memory that is part of the block.
 *
 * Invariants
 *   I1  At most one errand is on its way: the loop notifies once between two polls, and what posts
 *       otherwise has closed the loop, and found that none is on its way.
 *   I2  The block is freed by the errand that finds the wait done, and that as many errands have come as were
 *       posted. That number stands once the loop is closed: no thread is in the waker then, and none will
 *       be. If none is on its way then, what has closed the loop posts one.
 *   I3  What was got is given to the handler, once, or given back.
 *
 * Races
 *   R1  Interleaving: the initiating function polls, the grant comes, and the executor polls on
 *       another thread before the first poll has returned. Prevented by: lock_.
 *   R2  Interleaving: a cancel finds the wait pending, and the grant comes before the cancel. Prevented
 *       by: volt_future_cancel() gives back what no poll has returned, or the future polls as VOLT_OK.
 *   R3  Interleaving: an errand sees the result and frees the block, while the granter is in the waker still, and
 *       posts. Prevented by: volt_loop_close() waits for it; I2.
 *   R4  Interleaving: the context ends while an errand is on its way; the service frees the block, and the
 *       errand, dropped by the executor, does so again. Prevented by: I2, where an errand that is
 *       dropped has come, too. */
class asio_wait {
  static constexpr size_t room_bytes_ = 192;

 public:
  asio_wait(const asio_wait &) = delete;
  asio_wait &operator=(const asio_wait &) = delete;

  /* What is posted to the executor. */
  class errand {
   public:
    /* Memory in the block. */
    template <class T>
    class room {
     public:
      using value_type = T;
      explicit room(asio_wait *w) noexcept : wait_(w) {
      }
      template <class U>
      room(const room<U> &other) noexcept : wait_(other.wait_) {
      }
      T *allocate(size_t n) {
        if (fits_(n)) return reinterpret_cast<T *>(wait_->room_);
        return static_cast<T *>(::operator new(n * sizeof(T)));
      }
      void deallocate(T *p, size_t n) noexcept {
        if (!fits_(n)) ::operator delete(p);
      }
      template <class U>
      bool operator==(const room<U> &other) const noexcept {
        return wait_ == other.wait_;
      }
      template <class U>
      bool operator!=(const room<U> &other) const noexcept {
        return wait_ != other.wait_;
      }

     private:
      template <class>
      friend class room;
      static bool fits_(size_t n) noexcept {
        return n * sizeof(T) <= room_bytes_ && alignof(T) <= alignof(std::max_align_t);
      }
      asio_wait *wait_;
    };
    using allocator_type = room<void>;

    explicit errand(asio_wait *w) noexcept : wait_(w) {
    }
    errand(errand &&other) noexcept : wait_(std::exchange(other.wait_, nullptr)) {
    }
    ~errand() {
      if (wait_) wait_->lose_errand_();
    }
    allocator_type get_allocator() const noexcept {
      return allocator_type(wait_);
    }
    void operator()() {
      std::exchange(wait_, nullptr)->run_errand_();
    }

   private:
    asio_wait *wait_;
  };

  /* A cancellation slot is emitted. */
  void cancel() noexcept {
    volt_mutex_lock(&lock_);
    if (!is_done_) {
      volt_future_cancel(future_); /* R2 */
      code_ = volt_future_poll(future_, volt_waker{nullptr, nullptr});
      finish_and_post_();
    }
    volt_mutex_unlock(&lock_);
  }
  /* The context ends: let the wait come to nothing. */
  void give_up() noexcept {
    volt_mutex_lock(&lock_);
    if (!is_dropped_) drop();
    is_dropped_ = true;
    if (!is_done_) finish_();
    volt_mutex_unlock(&lock_);
  }
  /* And free the block, or leave that to an errand. */
  void end_with_context() {
    give_up();
    if (none_on_its_way_()) free();
  }

 protected:
  asio_wait() noexcept {
    auto wake = [](void *self) noexcept { static_cast<asio_wait *>(self)->post_(); };
    volt_loop_init(&loop_, volt_waker{wake, this});
  }
  ~asio_wait() = default;

  /* Begin to wait. After the unlock the block may be gone. */
  void start() noexcept {
    volt_mutex_lock(&lock_);
    future_ = begin();
    code_ = volt_loop_poll(&loop_, future_);
    if (code_ != VOLT_PENDING) finish_and_post_();
    volt_mutex_unlock(&lock_);
  }
  volt_future *future() const noexcept {
    return future_;
  }
  int code() const noexcept {
    return code_;
  }

  /* Make the future; drop what it has got. */
  virtual volt_future *begin() noexcept = 0;
  virtual void drop() noexcept = 0;
  /* Post the errand to the executor. */
  virtual void post(errand e) = 0;
  /* Take it from the context's list. */
  virtual void leave() noexcept = 0;
  /* Free the block, and call the handler, or not. */
  virtual void complete() = 0;
  virtual void free() = 0;

 private:
  friend class asio_service;

  /* Any thread: it is what wakes. */
  void post_() noexcept {
    volt_latch_add(&posted_, 1);
    post(errand(this));
  }
  void run_errand_() {
    volt_mutex_lock(&lock_);
    came_ += 1;
    if (!is_done_) {
      code_ = volt_loop_poll(&loop_, future_);
      if (code_ != VOLT_PENDING) finish_();
    }
    bool is_last = none_on_its_way_();
    volt_mutex_unlock(&lock_);
    if (is_last) complete();
  }
  /* The executor has dropped it. */
  void lose_errand_() {
    volt_mutex_lock(&lock_);
    came_ += 1;
    volt_mutex_unlock(&lock_);
    leave();
    end_with_context();
  }
  void finish_() noexcept {
    is_done_ = true;
    (void)volt_loop_close(&loop_); /* R3 */
  }
  void finish_and_post_() noexcept {
    finish_();
    if (none_on_its_way_()) post_();
  }
  bool none_on_its_way_() const noexcept {
    return is_done_ && came_ == volt_latch_count(&posted_);
  }

  asio_wait *next_ = nullptr; /* in the list of the context */
  asio_wait *before_ = nullptr;
  volt_latch posted_ VOLT_LATCH_INIT(0); /* counts up only */
  volt_loop loop_;
  volt_mutex lock_ VOLT_MUTEX_INIT; /* of what is below, and of polls */
  volt_future *future_ = nullptr;
  uint32_t came_ = 0;
  int code_ = VOLT_PENDING;
  bool is_done_ = false;    /* the future is ready, or was dropped, and the loop is closed */
  bool is_dropped_ = false; /* what it has got was given back */
  alignas(std::max_align_t) unsigned char room_[room_bytes_];
};

/* The waits of an execution context, which it ends when it ends. */
class asio_service : public net::execution_context::service {
 public:
  using key_type = asio_service;
  static inline net::execution_context::id id;

  explicit asio_service(net::execution_context &context)
      : net::execution_context::service(context) {
  }
  ~asio_service() {
    volt_mutex_destroy(&lock_);
  }
  void add(asio_wait *w) noexcept {
    volt_mutex_lock(&lock_);
    w->next_ = first_;
    if (first_) first_->before_ = w;
    first_ = w;
    volt_mutex_unlock(&lock_);
  }
  /* Does nothing if it has been removed. */
  void remove(asio_wait *w) noexcept {
    volt_mutex_lock(&lock_);
    remove_(w);
    volt_mutex_unlock(&lock_);
  }

 private:
  void remove_(asio_wait *w) noexcept {
    if (first_ != w && !w->before_) return;
    (w->before_ ? w->before_->next_ : first_) = w->next_;
    if (w->next_) w->next_->before_ = w->before_;
    w->next_ = w->before_ = nullptr;
  }
  /* No thread runs the context any more. First all waits end, so that none gets what another one gives
   * back; then their handlers do, which may be anything. */
  void shutdown() override {
    volt_mutex_lock(&lock_);
    for (asio_wait *w = first_; w; w = w->next_) w->give_up();
    while (asio_wait *w = first_) {
      remove_(w);
      volt_mutex_unlock(&lock_);
      w->end_with_context();
      volt_mutex_lock(&lock_);
    }
    volt_mutex_unlock(&lock_);
  }

  volt_mutex lock_ VOLT_MUTEX_INIT_BYPASS(VOLT_BYPASS);
  asio_wait *first_ = nullptr;
};

/* The service of an executor's context; nullptr: it has none. */
template <class Executor>
asio_service *asio_service_of(const Executor &executor) {
  using context = net::execution::context_as_t<net::execution_context &>;
  if constexpr (net::can_query<const Executor &, context>::value) {
    return &net::use_service<asio_service>(net::query(executor, context()));
  } else if constexpr (net::is_executor<Executor>::value) {
    return &net::use_service<asio_service>(executor.context());
  } else {
    return nullptr;
  }
}

/* ---- and with its types ---- */

template <class Executor>
class asio_wait_in : public asio_wait {
 protected:
  explicit asio_wait_in(const Executor &executor)
      : work_(executor), service_(asio_service_of(executor)) {
  }
  ~asio_wait_in() = default;
  void enter() noexcept {
    if (service_) service_->add(this);
  }
  void leave() noexcept override {
    if (service_) service_->remove(this);
  }
  void post(errand e) override {
    net::post(work_.get_executor(), std::move(e));
  }
  net::executor_work_guard<Executor> work_; /* the context runs until the handler has been called */

 private:
  asio_service *service_;
};

/* The allocator of a handler; Asio's own, if it has none. */
template <class Handler>
auto asio_allocator_of(const Handler &handler) noexcept {
#if VOLT_ASIO_VERSION_ >= 102200
  return net::get_associated_allocator(handler, net::recycling_allocator<void>());
#else
  return net::get_associated_allocator(handler);
#endif
}

/* Signatures of handlers. */
template <class Value>
struct asio_completion {
  static_assert(
      std::is_default_constructible_v<Value>,
      "a handler gets an empty value with an error: it has to have a default constructor");
  using signature = void(errors::error_code, Value);
  template <class Handler>
  static void call(Handler &handler, volt::result<Value> &result) {
    if (result)
      std::move(handler)(errors::error_code(), std::move(*result));
    else
      std::move(handler)(asio_error(result.code()), Value());
  }
};
template <>
struct asio_completion<void> {
  using signature = void(errors::error_code);
  template <class Handler>
  static void call(Handler &handler, volt::result<void> &result) {
    std::move(handler)(asio_error(result.code()));
  }
};

template <class Handler, class Executor, class Op>
class asio_wait_of final : public asio_wait_in<Executor> {
  using given_allocator = decltype(asio_allocator_of(std::declval<const Handler &>()));
  using allocator =
      typename std::allocator_traits<given_allocator>::template rebind_alloc<asio_wait_of>;
  using memory = std::allocator_traits<allocator>;

 public:
  /* Make one, and begin to wait. executor: where the handler runs. */
  static void make(Handler &&handler, const Executor &executor, Op &&op) {
    allocator from(asio_allocator_of(handler));
    unused block{from, memory::allocate(from, 1)};
    block.is_made = ::new (static_cast<void *>(block.at))
        asio_wait_of(std::move(handler), executor, std::move(op));
    block.is_made->connect_();
    asio_wait_of *w = std::exchange(block.at, nullptr);
    w->enter();
    w->start();
  }

 private:
  /* What becomes of a block if something throws before the wait begins. */
  struct unused {
    allocator &from;
    asio_wait_of *at, *is_made = nullptr;
    ~unused() {
      if (!at) return;
      if (is_made) is_made->~asio_wait_of();
      memory::deallocate(from, at, 1);
    }
  };

  asio_wait_of(Handler &&handler, const Executor &executor, Op &&op)
      : asio_wait_in<Executor>(executor), handler_(std::move(handler)), op_(std::move(op)) {
    op_.forgo();
  }
  ~asio_wait_of() = default;

  void connect_() {
#if VOLT_ASIO_CANCELS_
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    using type = net::cancellation_type;
    asio_wait *w = this;
    slot.assign([w](net::cancellation_type_t asked) {
      if ((asked & (type::terminal | type::partial | type::total)) != type::none) w->cancel();
    });
#endif
  }
  void disconnect_() noexcept {
#if VOLT_ASIO_CANCELS_
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
#endif
  }

  volt_future *begin() noexcept override {
    return op_.begin(state_);
  }
  void drop() noexcept override {
    op_.drop(this->future(), state_);
  }
  void complete() override {
    disconnect_();
    this->leave();
    auto result = op_.finish_result(this->code(), state_);
    auto work = std::move(this->work_);
    Handler handler(std::move(handler_));
    free_(handler);
    asio_completion<typename Op::value_type>::call(handler, result);
  }
  void free() override {
    disconnect_();
    Handler handler(std::move(handler_)); /* ends when the block has been freed */
    free_(handler);
  }
  void free_(const Handler &handler) noexcept {
    allocator from(asio_allocator_of(handler));
    this->~asio_wait_of();
    memory::deallocate(from, this, 1);
  }

  Handler handler_;
  Op op_;
  typename Op::state_type state_;
};

/* The initiating function. */
struct asio_initiate {
  template <class Handler, class Op>
  void operator()(Handler &&handler, Op op) const {
    using executor = net::associated_executor_t<std::decay_t<Handler>>;
    begin_<executor>(std::forward<Handler>(handler), net::get_associated_executor(handler),
                     std::move(op));
  }
  template <class Handler, class Op, class Executor>
  void operator()(Handler &&handler, Op op, const Executor &or_there) const {
    using executor = net::associated_executor_t<std::decay_t<Handler>, Executor>;
    begin_<executor>(std::forward<Handler>(handler),
                     net::get_associated_executor(handler, or_there), std::move(op));
  }

 private:
  template <class Executor, class Handler, class Op>
  void begin_(Handler &&handler, const Executor &executor, Op &&op) const {
    using type = std::decay_t<Handler>;
    asio_wait_of<type, Executor, Op>::make(type(std::forward<Handler>(handler)), executor,
                                           std::move(op));
  }
};

template <class Op>
using asio_signature = typename asio_completion<typename Op::value_type>::signature;

template <class T>
inline constexpr bool is_asio_context = std::is_base_of_v<net::execution_context, T>;

} // namespace asio_detail

} // namespace on_asio or on_boost_asio
} // namespace volt

#endif
