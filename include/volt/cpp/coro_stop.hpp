/* coro_stop.hpp: a volt_token that requests a stop of C++. Part of volt/coro.hpp. (The other way
 * round: volt::spawn() with a std::stop_token.) */
#ifndef VOLT_CPP_CORO_STOP_HPP
#define VOLT_CPP_CORO_STOP_HPP

#include <memory>

#include "../token.h"
#include "coro_spawn.hpp"

#if defined(__cpp_lib_jthread)

VOLT_CORO_BEGIN_

/* Requests a stop when a token is cancelled, while this lives: for code of others that takes a
 * std::stop_token.
 *
 *   volt::stop_when stop(shutdown);
 *   work(stop.get_token());
 *
 * The token lives longer than this. The callbacks of the stop run on the thread that cancels the
 * token. Its constructor allocates. */
class stop_when {
 public:
  explicit stop_when(volt_token *token) : token_(token), state_(std::make_shared<state>()) {
    state_->self = state_; /* before the wake */
    if (volt_token_wait_waiter(token_, &state_->waiter, volt_waker{stop, state_.get()}) ==
        VOLT_OK) {
      stop(state_.get());
    }
  }
  /* An object of C++ whose c() gives the token. */
  template <class Token>
  explicit stop_when(Token &token) : stop_when(token.c()) {
  }
  stop_when(const stop_when &) = delete;
  stop_when &operator=(const stop_when &) = delete;
  ~stop_when() {
    if (volt_token_cancel_wait(token_, &state_->waiter)) state_->self.reset();
  }

  std::stop_token get_token() const noexcept {
    return state_->source.get_token();
  }

 private:
  /* The waker has a share of it, which the one that ends the wait gives up: the waker, or the
   * destructor if no wake will come. */
  struct state {
    volt_waiter waiter{};
    std::stop_source source;
    std::shared_ptr<state> self;
  };
  static void stop(void *of) noexcept {
    std::shared_ptr<state> mine = std::move(static_cast<state *>(of)->self);
    (void)mine->source.request_stop();
  }

  volt_token *token_;
  std::shared_ptr<state> state_;
};

VOLT_CORO_END_

#endif
#endif
