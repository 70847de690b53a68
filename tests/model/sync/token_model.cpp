// token_model: trees of cancellation tokens.
// Checks token.c I1, I3, I4 and R1-R7; a case names the race it is after.
// PROGRAM: monitors
#include "model.hpp"

// A parent and a child, and a waiter of each.
struct token_model : model {
  volt_token parent, child;
  volt_waiter w[3];
  wake_count woken[3];
  int result[3] = {VOLT_OK, VOLT_OK, VOLT_OK};

  token_model() {
    volt_token_init(&parent);
    volt_token_init_child(&child, &parent);
  }
  int wait(unsigned i, volt_token *t) {
    return result[i] = volt_token_wait_waiter(t, &w[i], woken[i].waker());
  }
  // Whoever had to queue was told, and woken once.
  void expect_told(unsigned i) {
    if (result[i] == VOLT_PENDING) EXPECT(granted(&w[i]));
    EXPECT(woken[i].seen() == (result[i] == VOLT_PENDING ? 1u : 0u));
  }
};

// R4, C1: somebody queues meanwhile; what came before the cancel is seen.
struct token_wait_x_cancel : token_model {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 0 && wait(0, &parent) == VOLT_OK) EXPECT(message == 1);
    if (index == 1) {
      message = 1;
      volt_token_cancel(&parent);
    }
  }
  void check() override {
    expect_told(0);
    EXPECT(volt_token_is_cancelled(&parent) && volt_token_is_cancelled(&child));
  }
};
MODEL(token_wait_x_cancel, 2, full)

// R4: the same, below.
struct token_child_wait_x_cancel : token_model {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 0 && wait(0, &child) == VOLT_OK) EXPECT(message == 1);
    if (index == 1) {
      message = 1;
      volt_token_cancel(&parent);
    }
  }
  void check() override {
    expect_told(0);
  }
};
MODEL(token_child_wait_x_cancel, 2, full)

// C1: one who asks.
struct token_asked_x_cancel : token_model {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 0 && volt_token_is_cancelled(&child)) EXPECT(message == 1);
    if (index == 1) {
      message = 1;
      volt_token_cancel(&parent);
    }
  }
};
MODEL(token_asked_x_cancel, 2, full)

// R5: who leaves meanwhile is told the truth.
struct token_leave_x_cancel : token_model {
  bool was_cancelled = false;
  token_leave_x_cancel() {
    EXPECT(wait(0, &child) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      was_cancelled = volt_token_cancel_wait(&child, &w[0]);
      if (!was_cancelled) EXPECT(granted(&w[0]) && volt_token_is_cancelled(&child));
      poison(&w[0]);
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
  }
};
MODEL(token_leave_x_cancel, 2, bounded)

// R1: a child is made meanwhile: it is cancelled, however they meet.
struct token_init_child_x_cancel : token_model {
  volt_token late;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_init_child(&late, &child);
      wait(0, &late);
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    EXPECT(volt_token_is_cancelled(&late));
    expect_told(0);
  }
};
MODEL(token_init_child_x_cancel, 2, bounded)

// R2: the child ends when its waiter has been told, perhaps by somebody else than the cancel that
// has it on its list; its memory is written over.
struct token_destroy_child_x_cancel : token_model {
  token_destroy_child_x_cancel() {
    EXPECT(wait(0, &child) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_cancel_wait(&child, &w[0]);
      volt_token_destroy(&child);
      poison(&child.queue);
      child.next_cancelled = nullptr;
      child.next = nullptr;
      child.child = nullptr;
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    EXPECT(!parent.child);
    volt_token_destroy(&parent);
  }
};
MODEL(token_destroy_child_x_cancel, 2, bounded)

// R2: two on the list; the second ends meanwhile.
struct token_destroy_second_x_cancel : token_model {
  token_destroy_second_x_cancel() {
    EXPECT(wait(0, &parent) == VOLT_PENDING);
    EXPECT(wait(1, &child) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_cancel_wait(&child, &w[1]);
      volt_token_destroy(&child);
      poison(&child.queue);
      child.next_cancelled = nullptr;
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    expect_told(0);
    volt_token_destroy(&parent);
  }
};
MODEL(token_destroy_second_x_cancel, 2, bounded)

// R2: whoever is told ends the first on the list at once: what comes after it is known by then.
struct token_destroy_first_x_cancel : token_model {
  volt_token second;
  token_destroy_first_x_cancel() {
    volt_token_init_child(&second, &parent);
    EXPECT(wait(0, &second) == VOLT_PENDING); // the youngest is the first
    EXPECT(wait(1, &child) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_cancel_wait(&second, &w[0]);
      volt_token_destroy(&second);
      poison(&second.queue);
      second.next_cancelled = nullptr;
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    expect_told(1);
    EXPECT(volt_token_is_cancelled(&child));
  }
};
MODEL(token_destroy_first_x_cancel, 2, bounded)

// R3: from two levels. When either returns, all that it is for is cancelled.
struct token_two_cancels : token_model {
  volt_token below;
  token_two_cancels() {
    volt_token_init_child(&below, &child);
    EXPECT(wait(0, &child) == VOLT_PENDING);
    EXPECT(wait(1, &below) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    volt_token_cancel(index == 0 ? &parent : &child);
    EXPECT(volt_token_is_cancelled(&child) && volt_token_is_cancelled(&below));
    if (index == 0) EXPECT(volt_token_is_cancelled(&parent));
  }
  void check() override {
    expect_told(0);
    expect_told(1);
  }
};
MODEL(token_two_cancels, 2, bounded)

// R5: two waiters of one token, more than a batch, while somebody else has turns with it.
struct token_batch_x_turns : token_model {
  token_batch_x_turns() {
    EXPECT(wait(0, &child) == VOLT_PENDING);
    EXPECT(wait(1, &child) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_cancel_wait(&child, &w[1]);
      wait(2, &child);
    }
    if (index == 1) volt_token_cancel(&parent);
  }
  void check() override {
    EXPECT(woken[0].seen() == 1);
    EXPECT(woken[1].seen() == (granted(&w[1]) ? 1u : 0u));
    expect_told(2);
  }
};
MODEL(token_batch_x_turns, 2, bounded)

// R6, R7: the root ends, and is freed, while its child, or who is below that, is used.
struct token_root_ends : model {
  volt_token *top = new volt_token();
  volt_token child, below, late;
  volt_waiter w;
  wake_count woken;
  token_root_ends() {
    volt_token_init(top);
    volt_token_init_child(&child, top);
    volt_token_init_child(&below, &child);
    EXPECT(volt_token_wait_waiter(&below, &w, woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      use();
      return;
    }
    volt_token_destroy(top);
    poison(&top->queue);
    top->root = top->parent = top->child = top->next = top->prev = top->next_cancelled = nullptr;
    delete top;
  }
  virtual void use() = 0;
  void end(volt_token *t) {
    volt_token_destroy(t);
    poison(&t->queue);
    t->root = t->parent = t->child = t->next = t->prev = t->next_cancelled = nullptr;
  }
};

// Cancelled from the child, what is below it is cancelled.
struct token_root_ends_x_cancel_child : token_root_ends {
  void use() override {
    volt_token_cancel(&child);
    EXPECT(volt_token_is_cancelled(&child) && volt_token_is_cancelled(&below));
  }
  void check() override {
    EXPECT(granted(&w) && woken.seen() == 1);
    end(&child);
    end(&below);
  }
};
MODEL(token_root_ends_x_cancel_child, 2, bounded)

// A child is made below; it hears of the new root's end.
struct token_root_ends_x_init_child : token_root_ends {
  void use() override {
    volt_token_init_child(&late, &below);
  }
  void check() override {
    volt_token_cancel(&child);
    EXPECT(volt_token_is_cancelled(&late) && granted(&w));
    end(&below);
    end(&child);
    end(&late);
  }
};
MODEL(token_root_ends_x_init_child, 2, bounded)

// It ends from above and from below.
struct token_root_ends_x_below_ends : token_root_ends {
  void use() override {
    volt_token_cancel_wait(&below, &w);
    end(&below);
  }
  void check() override {
    EXPECT(!child.child && !child.parent && !child.root && woken.seen() == 0);
    end(&child);
  }
};
MODEL(token_root_ends_x_below_ends, 2, bounded)

// The root, and the child that is to be one.
struct token_root_ends_x_child_ends : token_root_ends {
  void use() override {
    end(&child);
  }
  void check() override {
    EXPECT(!below.parent && !below.root);
    volt_token_cancel(&below);
    EXPECT(granted(&w));
    end(&below);
  }
};
MODEL(token_root_ends_x_child_ends, 2, bounded)

// A token in the middle ends while the root is cancelled: whoever is below hears of it.
struct token_middle_ends_x_cancel : token_model {
  volt_token below;
  token_middle_ends_x_cancel() {
    volt_token_init_child(&below, &child);
    EXPECT(wait(0, &below) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_token_destroy(&child);
      poison(&child.queue);
      child.root = child.parent = child.child = child.next = child.prev = child.next_cancelled =
          nullptr;
    } else {
      volt_token_cancel(&parent);
    }
  }
  void check() override {
    expect_told(0);
    EXPECT(volt_token_is_cancelled(&below));
    volt_token_destroy(&parent);
    volt_token_cancel(&below);
    volt_token_destroy(&below);
  }
};
MODEL(token_middle_ends_x_cancel, 2, bounded)

// A select of it and a semaphore: one of the two, and nothing is lost.
struct token_select : token_model {
  volt_sem sem;
  volt_future branch[2];
  volt_future *branches[2] = {&branch[0], &branch[1]};
  volt_select select;
  token_select() {
    volt_sem_init(&sem, 0);
    volt_future_made(volt_token_wait_future(&branch[0], &parent));
    volt_future_made(volt_sem_acquire_future(&branch[1], &sem, 1));
    volt_future_made(volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&select.future, woken[0].waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_token_cancel(&parent);
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(volt_future_poll(&select.future, woken[1].waker()) == VOLT_OK);
    bool token_won = volt_select_winner(&select) == 0;
    EXPECT(volt_sem_available(&sem) == (token_won ? 1u : 0u));
  }
};
MODEL(token_select, 2, bounded)

// Wakers run with nothing held: whoever is told makes another child, and asks.
struct token_waker_reenters : token_model {
  volt_token late;
  token_waker_reenters() {
    EXPECT(volt_token_wait_waiter(&child, &w[0], volt_waker{reenter, this}) == VOLT_PENDING);
  }
  static void reenter(void *ctx) {
    auto *self = static_cast<token_waker_reenters *>(ctx);
    volt_token_init_child(&self->late, &self->child);
    EXPECT(volt_token_is_cancelled(&self->late));
  }
  void thread(unsigned index) override {
    if (index == 0) volt_token_cancel(&parent);
    if (index == 1) wait(1, &parent);
  }
  void check() override {
    EXPECT(granted(&w[0]) && volt_token_is_cancelled(&late));
    expect_told(1);
  }
};
MODEL(token_waker_reenters, 2, bounded)
