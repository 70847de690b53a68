/* coro_chain.hpp: how a chain of coroutines waits. Not an interface: programs use volt/coro.hpp.
 *
 * Coroutines that await each other are a chain: the root, what it awaits, and so on down to the
 * leaf. One poller runs the chain: a C task (coro_spawn.hpp), or an async function of C
 * (coro_future.hpp). Its volt_frame has the future that the leaf awaits, as the frame of every
 * function of C has, so the chain is cancelled, shielded and dropped as such a function is. A poll
 * polls that future first. Only if that is ready, the leaf is resumed, and no other coroutine of the
 * chain: a needless wake resumes nothing.
 *
 * The future that the leaf awaits is made in the one slot of the chain. A state that is larger than
 * the slot is in the awaiter, so in the coroutine's frame.
 *
 * A child is started inside the co_await of its parent. If it ends without waiting, the parent goes
 * on without having been suspended. If it waits, all starts return to the poll. Below 64 starts
 * inside each other a child is started by the poll. So the stack is bounded without tail calls, which
 * not every compiler makes at every level of optimisation.
 *
 * The frames of a chain that waits may be destroyed at any time. The task that does so has the chain
 * drop what the leaf awaits first, before anything in a frame is destroyed. So awaiters need no
 * destructors. */
#ifndef VOLT_CPP_CORO_CHAIN_HPP
#define VOLT_CPP_CORO_CHAIN_HPP

#include <coroutine>
#include <cstddef>
#include <new>
#if defined(__has_include)
#if __has_include(<source_location>)
#include <source_location>
#endif
#endif
#include <type_traits>
#include <utility>

#include "../async.h"
#include "operation.hpp"

/* The last parameter of an await_transform(): where the co_await stands. A constant, which is used
 * where the coroutine waits. clang 14 does not say. */
#if defined(__cpp_lib_source_location)
#define VOLT_CORO_TELLS_ 1
#define VOLT_CORO_WHERE_       \
  , const volt_place_ *where = \
        static_cast<const volt_place_ *>(static_cast<const void *>(VOLT_CALLERS_PLACE_))
#else
#define VOLT_CORO_TELLS_ 0
#define VOLT_CORO_WHERE_ , const volt_place_ *where = nullptr
#endif

#define VOLT_CORO_BEGIN_ \
  namespace volt {       \
  inline namespace coro_ {
#define VOLT_CORO_END_ \
  }                    \
  }

VOLT_CORO_BEGIN_

/* Private. */
struct chain_ {
  static constexpr std::size_t slot_bytes = 480; /* a lock with a deadline; an I/O operation */
  static constexpr unsigned starts = 64;         /* inside each other */

  volt_frame *frame;            /* the poller's */
  volt_ctx *ctx;                /* of the poll that runs */
  std::coroutine_handle<> leaf; /* the coroutine that the next poll resumes */
  std::coroutine_handle<> next; /* the coroutine that this poll resumes next, or null */
  void *waiter;                 /* the awaiter of the leaf, while frame->awaiting is set */
  void (*drop_waiter)(void *waiter);
  int code;              /* what was awaited last has come to, or VOLT_PENDING */
  unsigned nested;       /* starts inside each other now */
  const volt_trail_ *at; /* of the coroutine that waits, or has waited last and not ended; nullptr:
                          * none has */
  alignas(std::max_align_t) unsigned char slot[slot_bytes];

  /* root: what the first poll resumes. */
  void begin(volt_frame *its_frame, std::coroutine_handle<> root) noexcept {
    ctx = nullptr;
    next = nullptr;
    code = VOLT_OK;
    nested = 0;
    at = nullptr;
    begin_in_zeros(its_frame, root);
  }
  /* The same, if all of it is zero. */
  void begin_in_zeros(volt_frame *its_frame, std::coroutine_handle<> root) noexcept {
    frame = its_frame;
    leaf = root;
    auto behind = reinterpret_cast<char *>(&at) - reinterpret_cast<char *>(its_frame);
    frame->step = VOLT_STEP_TRAIL_ + static_cast<uint32_t>(behind);
  }

  /* Run until the leaf waits or the root has ended. its_frame: as begin() was given.
   * Returns whether there was anything to run: if not, the leaf still waits. */
  VOLT_INLINED_ bool run(volt_frame *its_frame, volt_ctx *c) {
    if (its_frame->awaiting) {
      int r = volt_frame_poll_(its_frame, c);
      if (r == VOLT_PENDING) return false;
      its_frame->awaiting = nullptr;
      code = r;
    }
    ctx = c;
    leaf.resume();
    while (next) std::exchange(next, nullptr).resume();
    return true;
  }

  /* Await f: code is its result, or VOLT_PENDING: the leaf is to be suspended. */
  VOLT_INLINED_ void poll(volt_future *f, void *its_waiter, void (*drop_it)(void *)) noexcept {
    frame->awaiting = f;
    code = volt_frame_poll_(frame, ctx);
    if (code == VOLT_PENDING) {
      waiter = its_waiter;
      drop_waiter = drop_it;
    } else {
      frame->awaiting = nullptr;
    }
  }
  /* The leaf, whose trail this is, waits there, or is about to. */
  VOLT_INLINED_ void note(volt_trail_ *trail, const volt_place_ *where) noexcept {
    trail->place = where;
    at = trail;
  }
  /* The chain is going to be destroyed: the leaf awaits nothing any more. */
  void drop() {
    if (frame->awaiting) drop_waiter(waiter);
    frame->awaiting = nullptr;
  }

  /* Whether the poller is cancelled, and that is for this chain. */
  bool is_cancelled() const noexcept {
    if (VOLT_LIKELY(ctx->cancel == VOLT_CTX_GO_ON)) return false;
    return ctx->cancel == VOLT_CTX_CANCEL_ALL || !frame->is_finally;
  }
};

/* Whether a state is in the slot. Private. */
template <class State>
inline constexpr bool fits_slot_ =
    sizeof(State) <= chain_::slot_bytes && alignof(State) <= alignof(std::max_align_t) &&
    std::is_trivially_destructible_v<State> &&std::is_nothrow_default_constructible_v<State>;

template <class State, bool = fits_slot_<State>>
struct state_of_ {
  State &make(chain_ &c) noexcept {
    return *::new (static_cast<void *>(c.slot)) State;
  }
  State &in(chain_ &c) noexcept {
    return *std::launder(reinterpret_cast<State *>(c.slot));
  }
};
template <class State>
struct state_of_<State, false> {
  State state;
  State &make(chain_ &) noexcept {
    return state;
  }
  State &in(chain_ &) noexcept {
    return state;
  }
};

/* Awaits an operation, as VOLT_AWAIT_TRY() does: tries, and if that is not enough begins it, as it is
 * made. It is made where it stays. Private. */
template <class Op>
class op_awaiter_ {
  using state_type = typename Op::state_type;

 public:
  op_awaiter_(chain_ *chain, volt_trail_ *trail, const volt_place_ *where, Op &&op)
      : op_(std::move(op)) {
    op_.forgo();
    int code = try_first(*chain);
    if (VOLT_LIKELY(code == VOLT_OK)) {
      chain_of_ = nullptr;
    } else {
      start(chain, code, trail, where);
      chain_of_ = chain;
    }
  }
  op_awaiter_(const op_awaiter_ &) = delete;
  op_awaiter_ &operator=(const op_awaiter_ &) = delete;

  bool await_ready() const noexcept {
    return VOLT_LIKELY(!chain_of_) || chain_of_->code != VOLT_PENDING;
  }
  void await_suspend(std::coroutine_handle<> leaf) noexcept {
    chain_of_->leaf = leaf;
  }
  decltype(auto) await_resume() {
    if constexpr (Op::tries) {
      if (VOLT_LIKELY(!chain_of_)) return take_tried();
    }
    return op_.finish(chain_of_->code, state_.in(*chain_of_));
  }

 private:
  int try_first(chain_ &c) noexcept {
    if constexpr (Op::tries) {
      volt_ctx *ctx = c.ctx;
      if (VOLT_LIKELY(volt_ctx_goes_on_(ctx))) {
        int code = op_.try_now();
        if (code != VOLT_EAGAIN) ctx->budget -= 1;
        return code;
      }
    }
    return VOLT_EAGAIN;
  }
  /* code: what the try has come to. */
  VOLT_NOINLINE void start(chain_ *chain, int code, volt_trail_ *trail, const volt_place_ *where) {
    if (code == VOLT_EAGAIN) {
      const volt_trail_ *before = chain->at;
      chain->note(trail,
                  where); /* before the poll, which may suspend a fiber: an inspector looks */
      chain->poll(op_.begin(state_.make(*chain)), this, drop);
      if (chain->code != VOLT_PENDING) chain->at = before; /* else it may end, and be `at` */
    } else {
      chain->code = code;
    }
  }
  decltype(auto) take_tried() {
    state_type unused; /* begin() has not seen one, so take() does not read it */
    return op_.take(VOLT_OK, unused);
  }
  static void drop(void *waiter) {
    auto *self = static_cast<op_awaiter_ *>(waiter);
    chain_ *c = self->chain_of_;
    self->op_.drop(c->frame->awaiting, self->state_.in(*c));
  }

  Op op_;
  chain_ *chain_of_; /* nullptr: it was done at once, with VOLT_OK */
  [[no_unique_address]] state_of_<state_type> state_;
};

/* Awaits a future of C, as it is made: gives its result. Private. */
class future_awaiter_ {
 public:
  future_awaiter_(chain_ *chain, volt_future *f, volt_trail_ *trail,
                  const volt_place_ *where) noexcept
      : chain_of_(chain) {
    chain->poll(f, chain, drop);
    if (chain->code == VOLT_PENDING) chain->note(trail, where);
  }
  bool await_ready() const noexcept {
    return chain_of_->code != VOLT_PENDING;
  }
  void await_suspend(std::coroutine_handle<> leaf) noexcept {
    chain_of_->leaf = leaf;
  }
  int await_resume() const noexcept {
    return chain_of_->code;
  }

 private:
  static void drop(void *chain) {
    volt_future_cancel(static_cast<chain_ *>(chain)->frame->awaiting);
  }
  chain_ *chain_of_;
};

/* What volt::yield() returns. */
struct [[nodiscard]] yield_operation {};

/* Lets others run. Private. */
class yield_awaiter_ {
 public:
  explicit yield_awaiter_(chain_ *chain) noexcept : chain_of_(chain) {
  }
  bool await_ready() noexcept {
    if (chain_of_->is_cancelled()) return true;
    chain_of_->ctx->yield = true;
    return false;
  }
  void await_suspend(std::coroutine_handle<> leaf) noexcept {
    chain_of_->leaf = leaf;
  }
#if VOLT_CPP_THROWS_
  void await_resume() {
    if (obeys()) throw canceled();
  }
#else
  result<void> await_resume() noexcept {
    return obeys() ? result<void>::failure(VOLT_ECANCELED) : result<void>::success(VOLT_OK);
  }
#endif

 private:
  /* Returns whether it is cancelled. A cancel that is for one await is used up. */
  bool obeys() noexcept {
    if (VOLT_LIKELY(!chain_of_->is_cancelled())) return false;
    volt_ctx *ctx = chain_of_->ctx;
    if (ctx->cancel == VOLT_CTX_CANCEL_ONCE) ctx->cancel = VOLT_CTX_GO_ON;
    return true;
  }
  chain_ *chain_of_;
};

VOLT_CORO_END_

#endif
