/* budget_sequential.h: what a volt_budget does, once more: sequential, slow, and as its header says it. A test
 * does the same to both, and compares. */
#ifndef VOLT_TEST_BUDGET_SEQUENTIAL_H
#define VOLT_TEST_BUDGET_SEQUENTIAL_H

#include <volt/budget.h>

enum { SEQUENTIAL_MAX = 128 };

typedef struct sequential_request {
  const volt_amounts *need;
  unsigned name;
  uint32_t passed; /* by how many later ones */
} sequential_request;

typedef struct sequential_budget {
  uint32_t kinds, k, count; /* count: of waiting */
  uint64_t held[VOLT_BUDGET_KINDS], limit[VOLT_BUDGET_KINDS];
  sequential_request waiting[SEQUENTIAL_MAX]; /* oldest first */
  int result[SEQUENTIAL_MAX];                 /* of each name */
} sequential_budget;

static inline bool sequential_fits(const sequential_budget *s, const volt_amounts *need,
                                   const volt_amounts *aside) {
  for (uint32_t i = 0; i < s->kinds; i++) {
    uint64_t set_aside = aside ? aside->of[i] : 0;
    if (need->of[i] > 0 && s->held[i] + set_aside + need->of[i] > s->limit[i]) return false;
  }
  return true;
}

static inline bool sequential_is_possible(const sequential_budget *s, const volt_amounts *need) {
  for (uint32_t i = 0; i < s->kinds; i++) {
    if (need->of[i] > s->limit[i]) return false;
  }
  return true;
}

/* The one at that place ends its wait. */
static inline void sequential_end(sequential_budget *s, uint32_t place, int result) {
  s->result[s->waiting[place].name] = result;
  s->count -= 1;
  for (uint32_t i = place; i < s->count; i++) s->waiting[i] = s->waiting[i + 1];
}

/* Whether the one at that place is the next to be granted. */
static inline bool sequential_is_next(const sequential_budget *s, uint32_t place) {
  const sequential_request *oldest = &s->waiting[0], *it = &s->waiting[place];
  if (place == 0) return sequential_fits(s, it->need, NULL);
  return place < VOLT_BUDGET_REACH && oldest->passed < s->k &&
         sequential_fits(s, it->need, oldest->need);
}

static inline void sequential_serve(sequential_budget *s) {
  for (uint32_t place = 0; place < s->count; place++) {
    if (!sequential_is_next(s, place)) continue;
    for (uint32_t i = 0; i < place; i++) s->waiting[i].passed += 1;
    for (uint32_t i = 0; i < s->kinds; i++) s->held[i] += s->waiting[place].need->of[i];
    sequential_end(s, place, VOLT_OK);
    place = UINT32_MAX; /* from the oldest on again */
  }
}

/* Returns as volt_budget_acquire_waiter(). */
static inline int sequential_acquire(sequential_budget *s, unsigned name,
                                     const volt_amounts *need) {
  const sequential_request request = {need, name, 0};
  if (!sequential_is_possible(s, need)) return s->result[name] = VOLT_EINVAL;
  s->result[name] = VOLT_PENDING;
  s->waiting[s->count++] = request;
  sequential_serve(s);
  return s->result[name];
}

static inline bool sequential_cancel(sequential_budget *s, unsigned name) {
  for (uint32_t i = 0; i < s->count; i++) {
    if (s->waiting[i].name != name) continue;
    sequential_end(s, i, VOLT_ECANCELED);
    sequential_serve(s);
    return true;
  }
  return false;
}

static inline void sequential_release(sequential_budget *s, const volt_amounts *amounts) {
  for (uint32_t i = 0; i < s->kinds; i++) s->held[i] -= amounts->of[i];
  sequential_serve(s);
}

static inline void sequential_set_limit(sequential_budget *s, uint32_t kind, uint64_t limit) {
  s->limit[kind] = limit;
  for (uint32_t i = 0; i < s->count;) {
    if (sequential_is_possible(s, s->waiting[i].need)) {
      i++;
    } else {
      sequential_end(s, i, VOLT_EINVAL);
    }
  }
  sequential_serve(s);
}

static inline void sequential_close(sequential_budget *s) {
  while (s->count > 0) sequential_end(s, 0, VOLT_ECLOSED);
}

#endif
