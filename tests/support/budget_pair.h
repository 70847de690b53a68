/* budget_pair.h: a volt_budget beside the sequential one: every operation is done to both, and all that can be seen
 * is compared. Operations are drawn from a source of numbers: random, or a fuzzer's bytes. */
#ifndef VOLT_TEST_BUDGET_PAIR_H
#define VOLT_TEST_BUDGET_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget_sequential.h"

#define PAIR_CHECK(condition) ((condition) ? (void)0 : pair_fail(__LINE__, #condition))
static inline void pair_fail(int line, const char *what) {
  fprintf(stderr, "budget_pair.h:%d: not so: %s\n", line, what);
  abort();
}

enum { PAIR_NAMES = 96 };

/* A number below bound (above 0). */
typedef uint32_t pair_draw(void *source, uint32_t bound);

typedef struct pair {
  volt_budget budget;
  sequential_budget model;
  bool is_closed;
  uint64_t unit;
  volt_amounts need[PAIR_NAMES]; /* of each name: what it asks for, or holds */
  volt_waiter waiter[PAIR_NAMES];
  volt_future future[PAIR_NAMES];
  bool by_future[PAIR_NAMES], holds[PAIR_NAMES];
  uint32_t passed[PAIR_NAMES]; /* by later ones, counted here */
  uint64_t arrival[PAIR_NAMES], arrivals;
  uint32_t acquires; /* of 64 steps: in some rounds so many that the queue is long */
  pair_draw *draw;
  void *source;
} pair;

static const volt_waker pair_no_waker = {NULL, NULL};

static inline void pair_init(pair *p, pair_draw *draw, void *source) {
  uint64_t limits[VOLT_BUDGET_KINDS];
  memset((void *)p, 0, sizeof *p);
  p->draw = draw;
  p->source = source;
  uint32_t kinds = 1 + draw(source, 3), k = draw(source, 4);
  if (draw(source, 8) == 0) kinds = VOLT_BUDGET_KINDS;
  if (draw(source, 8) == 0) k = VOLT_BUDGET_BYPASS_MAX;
  uint64_t unit = draw(source, 4) == 0 ? VOLT_BUDGET_MAX / 8 : 1;
  for (uint32_t i = 0; i < kinds; i++) limits[i] = unit * (1 + draw(source, 8));
  p->unit = unit;
  p->acquires = draw(source, 2) == 0 ? 24 : 50;
  volt_budget_init_bypass(&p->budget, kinds, limits, k);
  p->model.kinds = kinds;
  p->model.k = k;
  for (uint32_t i = 0; i < kinds; i++) p->model.limit[i] = limits[i];
}

/* ---- all that can be seen ---- */

static inline int pair_result(pair *p, unsigned name) {
  if (p->model.result[name] == VOLT_PENDING && p->by_future[name])
    return volt_future_poll(&p->future[name], pair_no_waker);
  return p->by_future[name] ? volt_future_poll(&p->future[name], pair_no_waker)
                            : volt_waiter_result(&p->waiter[name]);
}

/* A wait of that name has ended since the last look: those that came before and still wait were passed. */
static inline void pair_granted(pair *p, unsigned name) {
  for (uint32_t i = 0; i < p->model.count; i++) {
    unsigned other = p->model.waiting[i].name;
    if (p->arrival[other] >= p->arrival[name]) continue;
    p->passed[other] += 1;
    PAIR_CHECK(p->passed[other] <= p->model.k);
  }
}

static inline void pair_compare(pair *p) {
  volt_budget_state state;
  volt_budget_inspect(&p->budget, &state);
  PAIR_CHECK(state.waiters == p->model.count && state.is_closed == p->is_closed);
  if (state.waiters > 0) PAIR_CHECK(state.passed == p->model.waiting[0].passed);
  for (uint32_t i = 0; i < p->model.kinds; i++) {
    uint64_t held = p->model.held[i], limit = p->model.limit[i];
    PAIR_CHECK(state.of[i].held == held && state.of[i].limit == limit);
    PAIR_CHECK(state.of[i].free == (held < limit ? limit - held : 0));
    PAIR_CHECK(state.of[i].excess == (held > limit ? held - limit : 0));
    uint64_t wanted = state.waiters > 0 ? p->model.waiting[0].need->of[i] : 0;
    PAIR_CHECK(state.of[i].aside == (wanted < state.of[i].free ? wanted : state.of[i].free));
  }
}

/* ---- operations ---- */

/* Each wait that has ended in one has ended in the other one, and in the same way. before: what waited. */
static inline void pair_follow(pair *p, const bool *before) {
  for (unsigned name = 0; name < PAIR_NAMES; name++) {
    if (!before[name] || p->model.result[name] == VOLT_PENDING) continue;
    int result = pair_result(p, name);
    PAIR_CHECK(result == p->model.result[name]);
    p->holds[name] = result == VOLT_OK;
    if (result == VOLT_OK) pair_granted(p, name);
  }
  for (uint32_t i = 0; i < p->model.count; i++)
    PAIR_CHECK(pair_result(p, p->model.waiting[i].name) == VOLT_PENDING);
  pair_compare(p);
}

static inline void pair_draw_need(pair *p, volt_amounts *need) {
  memset((void *)need, 0, sizeof *need);
  for (uint32_t i = 0; i < p->model.kinds; i++) {
    uint32_t amount = p->draw(p->source, 10); /* also more than there can be */
    if (p->draw(p->source, 2) == 0) need->of[i] = amount * p->unit;
  }
  if (p->draw(p->source, 16) == 0 && p->model.limit[0] > 0) {
    for (uint32_t i = 0; i < p->model.kinds; i++) need->of[i] = p->model.limit[i]; /* everything */
  }
  bool is_nothing = true;
  for (uint32_t i = 0; i < p->model.kinds; i++) is_nothing = is_nothing && need->of[i] == 0;
  if (is_nothing) need->of[0] = p->unit;
}

static inline void pair_acquire(pair *p, unsigned name) {
  volt_amounts *need = &p->need[name];
  if (p->holds[name] || p->model.result[name] == VOLT_PENDING) return;
  pair_draw_need(p, need);
  p->arrival[name] = ++p->arrivals;
  p->passed[name] = 0;
  p->by_future[name] = p->draw(p->source, 2) == 0;
  int want = p->is_closed ? (int)VOLT_ECLOSED : sequential_acquire(&p->model, name, need), got;
  p->model.result[name] = want;
  if (p->by_future[name]) {
    got = volt_future_poll(volt_budget_acquire_future(&p->future[name], &p->budget, need),
                           pair_no_waker);
  } else {
    memset((void *)&p->waiter[name], 0, sizeof p->waiter[name]);
    got = volt_budget_acquire_waiter(&p->budget, &p->waiter[name], need, pair_no_waker);
  }
  PAIR_CHECK(got == want);
  p->holds[name] = got == VOLT_OK;
  if (got == VOLT_OK) pair_granted(p, name);
}

static inline void pair_try(pair *p, unsigned name) {
  volt_amounts *need = &p->need[name];
  char words[80];
  if (p->holds[name] || p->model.result[name] == VOLT_PENDING) return;
  pair_draw_need(p, need);
  p->arrival[name] = ++p->arrivals;
  int want = p->is_closed ? (int)VOLT_ECLOSED : sequential_acquire(&p->model, name, need);
  if (want == VOLT_PENDING) {
    want = VOLT_EAGAIN;
    PAIR_CHECK(sequential_cancel(&p->model, name));
  }
  PAIR_CHECK(volt_budget_explain(&p->budget, need, words, sizeof words) == want);
  PAIR_CHECK(volt_budget_try_acquire(&p->budget, need) == want);
  p->holds[name] = want == VOLT_OK;
  if (want == VOLT_OK) pair_granted(p, name);
}

static inline void pair_cancel(pair *p, unsigned name) {
  if (p->model.result[name] != VOLT_PENDING) return;
  PAIR_CHECK(sequential_cancel(&p->model, name));
  if (p->by_future[name]) {
    volt_future_cancel(&p->future[name]);
  } else {
    PAIR_CHECK(volt_budget_cancel(&p->budget, &p->waiter[name]));
  }
}

/* Of what the name holds, a part or all. */
static inline void pair_release(pair *p, unsigned name) {
  volt_amounts part = {{0}};
  bool is_left = false;
  if (!p->holds[name]) return;
  bool is_part = p->draw(p->source, 3) == 0;
  for (uint32_t i = 0; i < p->model.kinds; i++) {
    part.of[i] = p->need[name].of[i];
    if (is_part) part.of[i] = p->unit * p->draw(p->source, 1 + (uint32_t)(part.of[i] / p->unit));
    p->need[name].of[i] -= part.of[i];
    is_left = is_left || p->need[name].of[i] > 0;
  }
  p->holds[name] = is_left;
  sequential_release(&p->model, &part);
  volt_budget_release(&p->budget, &part);
}

static inline void pair_set_limit(pair *p) {
  uint32_t kind = p->draw(p->source, p->model.kinds);
  uint64_t limit = p->unit * p->draw(p->source, 9);
  sequential_set_limit(&p->model, kind, limit);
  volt_budget_set_limit(&p->budget, kind, limit);
}

static inline void pair_step(pair *p) {
  bool before[PAIR_NAMES];
  unsigned name = p->draw(p->source, PAIR_NAMES), what = p->draw(p->source, 64);
  for (unsigned i = 0; i < PAIR_NAMES; i++) before[i] = p->model.result[i] == VOLT_PENDING;
  if (what < p->acquires) {
    pair_acquire(p, name);
  } else if (what < p->acquires + 5) {
    pair_try(p, name);
  } else if (what < p->acquires + 7) {
    pair_cancel(p, name);
  } else if (what < 62) {
    for (unsigned i = 0; i < PAIR_NAMES && !p->holds[name]; i++) name = (name + 1) % PAIR_NAMES;
    pair_release(p, name);
  } else if (what < 63 || p->draw(p->source, 64) > 0) {
    pair_set_limit(p);
  } else {
    if (!p->is_closed) sequential_close(&p->model);
    p->is_closed = true;
    volt_budget_close(&p->budget);
  }
  if (before[name] && p->model.result[name] == VOLT_ECANCELED) before[name] = false;
  pair_follow(p, before);
}

static inline void pair_end(pair *p) {
  for (unsigned name = 0; name < PAIR_NAMES; name++) pair_cancel(p, name);
  volt_budget_destroy(&p->budget);
}

#endif
