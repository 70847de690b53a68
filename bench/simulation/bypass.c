/* bypass.c: the word is value (1 held) << 32 | how many may still pass << 8 | flags. */
#include "bypass.h"

#include "../../src/core/future_ops.h"
#include "../../src/core/spin.h"
#include "machine.h"

#define QUEUED UINT64_C(1)
#define LOCKED UINT64_C(2)
#define OPEN UINT64_C(8)
#define NUDGED UINT64_C(16)
#define LEFT_ONE UINT64_C(256)
#define LEFT (UINT64_C(255) * LEFT_ONE)
#define HELD (UINT64_C(1) << 32)

enum { WAITER_PENDING = VOLT_WAITER_PENDING_, WAITER_NUDGED = 77 };

static uint64_t head_says(const bypass_mutex *m) {
  return m->head ? QUEUED | OPEN | m->k * LEFT_ONE : 0;
}

/* word: what was seen of it. Returns VOLT_OK, or VOLT_EAGAIN: it is held. */
static int bypass_take(bypass_mutex *m, uint64_t word) {
  for (unsigned spins = 0;;) {
    if (word & HELD) return VOLT_EAGAIN;
    if (word & LOCKED) {
      volt_pause_(&spins);
      word = volt_load_relaxed(&m->word);
    } else {
      uint64_t next = word + HELD - (word & QUEUED ? LEFT_ONE : 0);
      if (volt_cas_acquire(&m->word, &word, next)) return VOLT_OK;
    }
  }
}

int bypass_try_lock(bypass_mutex *m) {
  uint64_t word = 0;
  if (volt_cas_acquire(&m->word, &word, HELD)) return VOLT_OK;
  return word & OPEN ? bypass_take(m, word) : VOLT_EAGAIN;
}

/* Take the lock of the queue. */
static uint64_t bypass_lock_word(bypass_mutex *m) {
  for (unsigned spins = 0;;) {
    uint64_t word = volt_load_relaxed(&m->word);
    if (word & LOCKED) {
      volt_pause_(&spins);
    } else if (volt_cas_acquire(&m->word, &word, word | LOCKED)) {
      return word;
    }
  }
}

static void bypass_link(bypass_mutex *m, volt_waiter *w) {
  w->next = NULL;
  w->need = 1;
  if (m->head) {
    m->tail->next = w;
  } else {
    m->head = w;
  }
  m->tail = w;
}

static void bypass_unlink_head(bypass_mutex *m) {
  volt_waiter *w = m->head;
  w->need = 0;
  m->head = w->next;
  if (!m->head) m->tail = NULL;
}

static int bypass_acquire(bypass_mutex *m, volt_waiter *w, volt_waker waker) {
  w->wake = waker.wake;
  w->ctx = waker.ctx;
  volt_store_relaxed(&w->state, WAITER_PENDING);
  for (unsigned spins = 0;;) {
    uint64_t word = volt_load_relaxed(&m->word);
    if (word & LOCKED) {
      volt_pause_(&spins);
    } else if (!(word & HELD)) {
      if (bypass_take(m, word) == VOLT_OK) return VOLT_OK;
    } else if (volt_cas_acquire(&m->word, &word, word | QUEUED | LOCKED)) {
      bypass_link(m, w);
      volt_store_release(&m->word, m->head == w ? HELD | head_says(m) : word);
      return VOLT_PENDING;
    }
  }
}

void bypass_unlock(bypass_mutex *m) {
  uint64_t word = HELD;
  if (volt_cas_release(&m->word, &word, 0)) return;
  for (unsigned spins = 0;;) {
    if (word & LOCKED) {
      volt_pause_(&spins);
      word = volt_load_relaxed(&m->word);
    } else if (!(word & QUEUED) || ((word & NUDGED) && (word & LEFT))) {
      if (volt_cas_release(&m->word, &word, word - HELD)) return;
    } else if (volt_cas_acq_rel(&m->word, &word, word | LOCKED)) {
      break;
    }
  }
  volt_waiter *w = m->head;
  volt_waker waker = {w->wake, w->ctx};
  bool is_nudged = volt_load_relaxed(&w->state) == WAITER_NUDGED;
  if (!is_nudged && (word & LEFT)) {
    volt_store_relaxed(&w->state, WAITER_NUDGED);
    volt_store_release(&m->word, (word - HELD) | NUDGED);
    waker.wake(waker.ctx);
    return;
  }
  bypass_unlink_head(m);
  volt_store_release(&m->word, HELD | head_says(m));
  volt_store_release(&w->state, VOLT_WAITER_GRANTED_);
  if (!is_nudged) waker.wake(waker.ctx); /* the nudge was its wake */
}

static int bypass_await(volt_waiter *w) {
  for (unsigned spins = 0; volt_load_acquire(&w->state) != VOLT_WAITER_GRANTED_;)
    volt_pause_(&spins);
  return VOLT_OK;
}

/* The nudged head. */
static int bypass_look(bypass_mutex *m, volt_waiter *w, volt_ctx *ctx) {
  uint64_t word = bypass_lock_word(m);
  if (w->need == 0) {
    volt_store_release(&m->word, word);
    return bypass_await(w);
  }
  if (!(word & HELD)) {
    bypass_unlink_head(m);
    volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_);
    volt_store_release(&m->word, HELD | head_says(m));
    return VOLT_OK;
  }
  volt_store_relaxed(&w->state, WAITER_PENDING);
  ctx->registered += 1;
  volt_store_release(&m->word, word & ~(NUDGED | LEFT));
  return VOLT_PENDING;
}

static int bypass_poll(volt_future *f, volt_ctx *ctx) {
  bypass_mutex *m = (bypass_mutex *)f->object;
  if (f->state == VOLT_FUTURE_INIT_) {
    int result = bypass_acquire(m, &f->waiter, ctx->waker);
    ctx->registered += result == VOLT_PENDING;
    return result;
  }
  uint32_t state = volt_load_acquire(&f->waiter.state);
  if (state == WAITER_NUDGED) return bypass_look(m, &f->waiter, ctx);
  return state == VOLT_WAITER_GRANTED_ ? (int)VOLT_OK : (int)VOLT_PENDING;
}

static bool bypass_cancel(volt_future *f) {
  (void)f;
  sim_stop("this mutex is not for tasks that are cancelled");
}

static const volt_future_ops_ bypass_ops = {.poll = bypass_poll, .cancel = bypass_cancel};

volt_future *bypass_lock_future(volt_future *f, bypass_mutex *m) {
  return volt_future_make_(f, &bypass_ops, m, 1);
}
