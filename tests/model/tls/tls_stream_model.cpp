// tls_stream_model: operations of a TLS stream beside each other, beside cancels, selects, a session that is saved, and a close.
// Checks stream.h I1, I2, I8, R1 to R4, R6, R7.
// PROGRAM: tls BATCH 2 MUTANTS SUPPORT model_tls.cpp model_io.cpp DEFINES tls small_sections
// PROGRAM: tls SOURCES tls_op.c step.c end.c op.c whole.c fd.c close.c call.c make.c watched.c select.c mutex.c bypass.c latch.c
// PROGRAM: tls SOURCES channel DEFINES -DVOLT_CHAN_POSITION_BITS_=3
#include "blocker.hpp"
#include "model_tls.hpp"
#include "select_channels.hpp"

struct tls_model : tls_world {
  blocker blockers[3];
  // Of the thread that runs: there when its operation has ended, because the wake may come later.
  blocker &mine() {
    return blockers[volt_model_thread()];
  }
  void check() override {
    for (auto &b : blockers) EXPECT(b.settled());
    expect_unused();
  }
};

// ---- two directions ----

// R4: a byte comes as a receiver is about to wait.
struct tls_recv_x_arrive : tls_model {
  void thread(unsigned index) override {
    if (index == 1) {
      arrive(1);
      return;
    }
    blocker &b = mine();
    make_recv(&op);
    EXPECT(b.poll_or_await(&op.future) == VOLT_OK && op.n == 1);
  }
};
MODEL(tls_recv_x_arrive, 2, bounded)

// I1, I2: one thread receives what has come, one sends.
struct tls_recv_x_send : tls_model {
  tls_recv_x_send() {
    arrive(1);
  }
  void thread(unsigned index) override {
    blocker &b = mine();
    if (index == 0) {
      make_recv(&op);
      EXPECT(b.poll_or_await(&op.future) == VOLT_OK && op.n == 1);
    } else {
      make_send(&other, 2);
      EXPECT(b.poll_or_await(&other.future) == VOLT_OK && other.n == 2);
    }
  }
  void check() override {
    EXPECT(ssl.written == 2 && left() == 0);
    tls_model::check();
  }
};
MODEL(tls_recv_x_send, 2, bounded)

// I3: a send that waits for room, as a receive tries the rest, too.
struct tls_recv_x_send_waits : tls_model {
  tls_recv_x_send_waits() {
    ssl.needs_room = true;
    ssl.plain = 1;
  }
  void thread(unsigned index) override {
    blocker &b = mine();
    if (index == 0) {
      make_recv(&op);
      EXPECT(b.poll_or_await(&op.future) == VOLT_OK && op.n == 1);
      arrive(2);
    } else {
      make_send(&other, 2);
      EXPECT(b.poll_or_await(&other.future) == VOLT_OK && other.n == 2);
    }
  }
  void check() override {
    EXPECT(ssl.written == 2 && !t->rest && left() == 0);
    tls_model::check();
  }
};
MODEL(tls_recv_x_send_waits, 2, bounded)

// A session is saved as another thread receives.
struct tls_recv_x_save : tls_model {
  tls_recv_x_save() {
    arrive(1);
  }
  void save() {
    size_t size;
    char session[4];
    int result = volt_tls_session_save(t, session, sizeof session, &size);
    EXPECT(result == VOLT_OK ? size == 1 && session[0] == 7 : result == VOLT_EAGAIN && size == 0);
  }
  void receive() {
    blocker &b = mine();
    make_recv(&op);
    EXPECT(b.poll_or_await(&op.future) == VOLT_OK && op.n == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      receive();
    } else {
      save();
    }
  }
};
MODEL(tls_recv_x_save, 2, bounded)

// ---- cancels ----

// I2: a receiver gives up as a byte comes; the next one has it.
struct tls_cancel_x_arrive : tls_model {
  poller::trace trace;
  tls_cancel_x_arrive() {
    poller *p = new poller(&trace);
    make_recv(&op);
    EXPECT(p->poll(&op.future) == VOLT_PENDING);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      arrive(1);
      return;
    }
    volt_future_cancel(&op.future);
    EXPECT(op.n == 0);
    poison(&op.on.ready);
    blocker &b = mine();
    make_recv(&other);
    EXPECT(b.poll_or_await(&other.future) == VOLT_OK && other.n == 1);
  }
  void check() override {
    EXPECT(trace.gone(1));
    tls_model::check();
  }
};
MODEL(tls_cancel_x_arrive, 2, bounded)

// It is cancelled by its poll, which may have the lock by then, and while another thread sends.
struct tls_cancel_x_send : tls_model {
  void thread(unsigned index) override {
    blocker &b = mine();
    if (index == 1) {
      make_send(&other);
      EXPECT(b.poll_or_await(&other.future) == VOLT_OK && other.n == 1);
      return;
    }
    make_recv(&op);
    EXPECT(b.poll(&op.future) == VOLT_PENDING);
    b.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    EXPECT(b.poll_or_await(&op.future) == VOLT_ECANCELED && op.n == 0);
  }
  void check() override {
    EXPECT(ssl.written == 1);
    tls_model::check();
  }
};
MODEL(tls_cancel_x_send, 2, bounded)

// The same of one that waits for the lock, as another thread releases it.
struct tls_cancel_x_unlock : tls_model {
  blocker b;
  tls_cancel_x_unlock() {
    EXPECT(volt_mutex_try_lock(&t->lock) == VOLT_OK);
    make_recv(&op);
    EXPECT(b.poll(&op.future) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_mutex_unlock(&t->lock);
      return;
    }
    b.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    EXPECT(b.poll_or_await(&op.future) == VOLT_ECANCELED);
  }
};
MODEL(tls_cancel_x_unlock, 2, bounded)

// R1: in a select the element of a channel wins as a byte comes: then the byte is there still.
struct tls_select_x_element : tls_model {
  lane c;
  volt_model_element got;
  volt_future element;
  volt_future *branches[2];
  volt_select select;
  blocker b;
  static void nothing(void *) {
  }
  tls_select_x_element() {
    branches[0] = &op.future;
    branches[1] = &element;
    got.value = 0;
    make_recv(&op);
    volt_future_made(volt_chan_recv_future(&element, &c.chan, &got));
    volt_future_made(volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      arrive(1);
      EXPECT(c.send(7) == VOLT_OK);
      return;
    }
    b.ctx.drop = nothing; // as a task: what was dropped does not wake it
    EXPECT(b.poll_or_await(&select.future) == VOLT_OK);
  }
  void check() override {
    bool has_byte = volt_select_winner(&select) == 0;
    EXPECT(op.n == has_byte && left() == !has_byte);
    EXPECT(got.value == (has_byte ? 0 : 7) && c.left() == (has_byte ? 7 : 0));
    tls_model::check();
  }
};
MODEL(tls_select_x_element, 2, bounded)

// R1: no byte comes: the element wins.
struct tls_select_x_element_alone : tls_select_x_element {
  void thread(unsigned index) override {
    if (index == 0) {
      tls_select_x_element::thread(index);
    } else {
      EXPECT(c.send(7) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(volt_select_winner(&select) == 1 && op.n == 0 && got.value == 7);
    tls_model::check();
  }
};
MODEL(tls_select_x_element_alone, 2, bounded)

// ---- half a message ----

// R7: a receiver is about to wait; a send needs the other half, behind which there is data.
struct tls_half_message : tls_model {
  tls_half_message() {
    ssl.has_half = true;
    make_recv(&op);
  }
  void receive(int result) {
    blocker &own = mine();
    EXPECT(own.poll_or_await(&op.future) == result && op.n == (result == VOLT_OK ? 1u : 0u));
  }
  void send(int result) {
    blocker &own = mine();
    make_send(&other);
    EXPECT(own.poll_or_await(&other.future) == result);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      receive(VOLT_OK);
    } else {
      arrive(2);
      send(VOLT_OK);
    }
  }
  void check() override {
    EXPECT(left() == 0);
    tls_model::check();
  }
};
MODEL(tls_half_message, 2, bounded)

// R7: what the send reads is the stream's end: the receiver learns of it.
struct tls_half_end : tls_half_message {
  tls_half_end() {
    ssl.ends_there = true;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      receive(VOLT_TLS_EPROTOCOL);
    } else {
      arrive(1);
      send(VOLT_TLS_EPROTOCOL);
    }
  }
  void check() override {
    tls_model::check();
  }
};
MODEL(tls_half_end, 2, bounded)

// ---- a wait before the first step ----

// The last recv has found the end of what had come.
struct tls_dry : tls_model {
  tls_dry() {
    receive_first(1);
  }
  // Of so many bytes that have come it has had one.
  void receive_first(uint32_t n) {
    arrive(n);
    make_recv(&op);
    EXPECT(volt_future_poll(&op.future, volt_waker{nullptr, nullptr}) == VOLT_OK && op.n == 1);
    EXPECT(t->is_dry);
  }
  void receive() {
    blocker &b = mine();
    make_recv(&op);
    EXPECT(b.poll_or_await(&op.future) == VOLT_OK && op.n == 1);
  }
};

// R4, I8: a byte comes as a receiver is about to wait, and the next one waits, too.
struct tls_dry_x_arrive : tls_dry {
  void thread(unsigned index) override {
    if (index == 1) {
      arrive(1);
      return;
    }
    receive();
  }
  void check() override {
    EXPECT(left() == 0);
    tls_model::check();
  }
};
MODEL(tls_dry_x_arrive, 2, bounded)

// I8: a byte was decrypted with the one before, and no other comes.
struct tls_dry_x_send : tls_dry_x_arrive {
  tls_dry_x_send() {
    receive_first(2);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      receive();
      return;
    }
    blocker &b = mine();
    make_send(&other);
    EXPECT(b.poll_or_await(&other.future) == VOLT_OK && other.n == 1);
  }
};
MODEL(tls_dry_x_send, 2, bounded)

// R7, I8: half a message was received with the byte; a send receives the other half.
struct tls_dry_half_message : tls_dry_x_send {
  tls_dry_half_message() {
    receive();
    ssl.has_half = true;
    t->is_dry = 1;
  }
  void thread(unsigned index) override {
    if (index == 1) arrive(2);
    tls_dry_x_send::thread(index);
  }
};
MODEL(tls_dry_half_message, 2, bounded)

// I8: it waits as the stream is closed, or begins then.
struct tls_dry_x_close : tls_dry {
  void thread(unsigned index) override {
    if (index == 1) {
      close();
      return;
    }
    blocker &b = mine();
    make_recv(&op);
    EXPECT(b.poll_or_await(&op.future) == VOLT_ECLOSED && op.n == 0);
  }
};
MODEL(tls_dry_x_close, 2, bounded)

// ---- closes ----

// R2, R3: a receiver waits as the stream is closed and freed.
struct tls_close_x_recv : tls_model {
  blocker b;
  tls_close_x_recv() {
    make_recv(&op);
    EXPECT(b.poll(&op.future) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(b.await(&op.future) == VOLT_ECLOSED);
    } else {
      close_and_free();
    }
  }
};
MODEL(tls_close_x_recv, 2, bounded)

// R2: it gives up as the stream is closed and freed.
struct tls_close_x_cancel : tls_close_x_recv {
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&op.future);
    } else {
      close_and_free();
    }
  }
};
MODEL(tls_close_x_cancel, 2, bounded)

// R2, R3: a byte comes, so it has been woken, or has the byte, as the stream is closed and freed.
struct tls_close_x_woken : tls_close_x_recv {
  tls_close_x_woken() {
    arrive(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      int result = b.await(&op.future);
      EXPECT(result == VOLT_OK ? op.n == 1 : result == VOLT_ECLOSED && op.n == 0);
    } else {
      close_and_free();
    }
  }
};
MODEL(tls_close_x_woken, 2, bounded)

// R2, R3: a send has sent one record, and waits for room.
struct tls_close_x_send : tls_model {
  blocker b;
  tls_close_x_send() {
    ssl.needs_room = true;
    make_send(&op, 2);
    EXPECT(b.poll(&op.future) == VOLT_PENDING && op.n == 1);
    arrive(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(b.await(&op.future) == VOLT_ECLOSED);
    } else {
      close_and_free();
    }
  }
};
MODEL(tls_close_x_send, 2, bounded)

// R6: an operation begins as the stream is closed; its memory is not used again.
struct tls_close_x_begin : tls_model {
  tls_close_x_begin() {
    arrive(1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      close();
      return;
    }
    blocker &b = mine();
    make_recv(&op);
    int result = b.poll_or_await(&op.future);
    EXPECT(result == VOLT_OK ? op.n == 1 : result == VOLT_ECLOSED && op.n == 0);
  }
};
MODEL(tls_close_x_begin, 2, bounded)

// R6: a session is saved as the stream is closed.
struct tls_close_x_save : tls_recv_x_save {
  void thread(unsigned index) override {
    if (index == 0) {
      save();
    } else {
      close();
    }
  }
};
MODEL(tls_close_x_save, 2, bounded)

// R6: two threads close: one of them does.
struct tls_close_x_close : tls_model {
  VOLT_ATOMIC(uint32_t) closed;
  void thread(unsigned index) override {
    volt_tls_op *mine = index == 0 ? &op : &closer;
    int result = volt_future_wait(volt_tls_close_future(mine, t));
    EXPECT(result == VOLT_OK || result == VOLT_EINVAL);
    if (result == VOLT_OK) volt_fetch_add_relaxed(&closed, 1u);
  }
  void check() override {
    EXPECT(volt_load_relaxed(&closed) == 1);
    tls_model::check();
  }
};
MODEL(tls_close_x_close, 2, bounded)

// A close is given up while it waits for the lock, which a receive has; or it closes.
struct tls_close_given_up : tls_recv_x_save {
  poller::trace trace;
  bool was_closed = false;
  void give_up() {
    poller *p = new poller(&trace);
    volt_future_made(volt_tls_close_future(&closer, t));
    int result = p->poll(&closer.future);
    if (result == VOLT_PENDING) volt_future_cancel(&closer.future);
    was_closed = volt_future_poll(&closer.future, volt_waker{nullptr, nullptr}) == VOLT_OK;
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      give_up();
      return;
    }
    blocker &b = mine();
    make_recv(&op);
    int result = b.poll_or_await(&op.future);
    EXPECT(result == VOLT_OK ? op.n == 1 : result == VOLT_ECLOSED && op.n == 0);
  }
  void check() override {
    bool closes = volt_load_relaxed(&t->uses) & VOLT_TLS_CLOSES_;
    EXPECT(closes == was_closed && (t->ssl == nullptr) == was_closed);
    tls_model::check();
  }
};
MODEL(tls_close_given_up, 2, bounded)

// R2, R3: both directions are under way.
struct tls_close_x_both : tls_model {
  tls_close_x_both() {
    arrive(1);
  }
  void use(volt_tls_op *which) {
    blocker &b = mine();
    int result = b.poll_or_await(&which->future);
    EXPECT(result == VOLT_OK ? which->n == 1 : result == VOLT_ECLOSED && which->n == 0);
  }
  void thread(unsigned index) override {
    if (index == 0) make_recv(&op);
    if (index == 1) make_send(&other);
    if (index == 2) {
      close();
    } else {
      use(index == 0 ? &op : &other);
    }
  }
};
MODEL(tls_close_x_both, 3, bounded)
