/* wide_idle.c: idle.h for more workers. Not compiled as the library is: what an access costs is said
 * here.
 *
 * The word: bits 0..7 the watcher, 8..15 how many search, 16..23 how many are parked, and from 24 on how
 * often it has changed. Which ones are parked is beside it. */
#include "wide.h"

enum { SEARCHING = 1 << 8, PARKED = 1 << 16, CHANGED = 1 << 24, BYTE = 0xff };

void volt_idle_init_(volt_idle *idle) {
  (void)idle; /* all-zero */
}

unsigned volt_idle_watcher_(uint64_t word) {
  return (unsigned)word & BYTE;
}

unsigned volt_idle_searching_(uint64_t word) {
  return (unsigned)(word / SEARCHING) & BYTE;
}

static unsigned idle_parked(uint64_t word) {
  return (unsigned)(word / PARKED) & BYTE;
}

bool volt_idle_is_parked_(volt_idle *idle, uint64_t word, unsigned i) {
  (void)word;
  return idle->is_parked[i];
}

/* i is not parked. */
bool volt_idle_is_alone_(uint64_t word, unsigned i, unsigned workers) {
  (void)i;
  return idle_parked(word) + 1 >= workers;
}

static uint64_t idle_load(volt_idle *idle) {
  sim_load(&idle->word);
  return volt_load_relaxed(&idle->word);
}

/* A compare-and-swap. */
static bool idle_change(volt_idle *idle, uint64_t *seen, uint64_t next) {
  sim_rmw(&idle->word);
  uint64_t now = volt_load_relaxed(&idle->word);
  bool is_same = now == *seen;
  if (is_same) volt_store_relaxed(&idle->word, next + CHANGED);
  *seen = now;
  return is_same;
}

/* The word when worker i, which is parked, begins to search. */
static uint64_t idle_roused(uint64_t word, unsigned i) {
  if (volt_idle_watcher_(word) == i + 1) word -= i + 1;
  return word + SEARCHING - PARKED;
}

bool volt_idle_claim_(volt_idle *idle, unsigned i) {
  uint64_t word = idle_load(idle);
  while (idle->is_parked[i]) {
    if (!idle_change(idle, &word, idle_roused(word, i))) continue;
    idle->is_parked[i] = false;
    return true;
  }
  return false;
}

bool volt_idle_claim_alone_(volt_idle *idle, unsigned i) {
  return volt_idle_claim_(idle, i);
}

static bool idle_is_driven(unsigned i, unsigned keeper, uint64_t driven) {
  return i + 1 == keeper || (i < 64 && driven >> i & 1);
}

/* The lowest of the core's own group, if that is the candidate; else the lowest. */
static unsigned idle_choose(const volt_idle *idle, uint64_t word, unsigned keeper,
                            uint64_t driven) {
  unsigned any = VOLT_IDLE_WORKERS, spare = VOLT_IDLE_WORKERS, watcher = VOLT_IDLE_WORKERS;
  for (unsigned i = 0; i < VOLT_IDLE_WORKERS; i++) {
    if (!idle->is_parked[i]) continue;
    if (idle_is_driven(i, keeper, driven)) {
      if (spare == VOLT_IDLE_WORKERS) spare = i;
      continue;
    }
    if (i + 1 == volt_idle_watcher_(word)) {
      watcher = i;
      continue;
    }
    if (!sim_wake_near || i / sim_group == sim_core() / sim_group) return i;
    if (any == VOLT_IDLE_WORKERS) any = i;
  }
  if (any != VOLT_IDLE_WORKERS) return any;
  return watcher != VOLT_IDLE_WORKERS ? watcher : spare;
}

unsigned volt_idle_wake_one_(volt_idle *idle, unsigned keeper, uint64_t driven, bool is_urgent) {
  uint64_t word = idle_load(idle);
  for (;;) {
    if (volt_idle_watcher_(word) != 0 && !is_urgent) return VOLT_IDLE_WORKERS;
    unsigned i = idle_choose(idle, word, keeper, driven);
    if (i == VOLT_IDLE_WORKERS || volt_idle_searching_(word) >= sim_wake_while) {
      return VOLT_IDLE_WORKERS;
    }
    if (!idle_change(idle, &word, idle_roused(word, i))) continue;
    idle->is_parked[i] = false;
    return i;
  }
}

bool volt_idle_search_(volt_idle *idle, unsigned workers) {
  uint64_t word = idle_load(idle);
  for (;;) {
    unsigned searching = volt_idle_searching_(word);
    if (sim_search_most ? searching >= sim_search_most : 2 * searching >= workers) return false;
    if (idle_change(idle, &word, word + SEARCHING)) return true;
  }
}

static uint64_t idle_add(volt_idle *idle, uint64_t change) {
  sim_rmw(&idle->word);
  uint64_t word = volt_load_relaxed(&idle->word);
  volt_store_relaxed(&idle->word, word + change + CHANGED);
  return word;
}

/* The caller looks at all queues if it was the only one that searched: with a candidate, if so few do. */
uint64_t volt_idle_found_(volt_idle *idle) {
  uint64_t word = idle_add(idle, UINT64_C(0) - SEARCHING);
  uint64_t others = volt_idle_searching_(word) - 1;
  uint64_t shown = others < sim_wake_while ? 1 : others + 1;
  return word - (others + 1) * SEARCHING + shown * SEARCHING;
}

bool volt_idle_try_park_(volt_idle *idle, unsigned i, uint64_t *word, unsigned searching,
                         bool watches) {
  uint64_t next = *word + PARKED - (uint64_t)searching * SEARCHING + (watches ? i + 1 : 0);
  if (!idle_change(idle, word, next)) return false;
  idle->is_parked[i] = true;
  return true;
}

void volt_idle_park_(volt_idle *idle, unsigned i, unsigned searching) {
  idle_add(idle, PARKED - (uint64_t)searching * SEARCHING);
  idle->is_parked[i] = true;
}

void volt_idle_fence_(volt_idle *idle) {
  sim_rmw(&idle->word);
}

bool volt_idle_wants_work_(volt_idle *idle, bool is_urgent) {
  uint64_t word = idle_load(idle);
  bool is_watched = volt_idle_watcher_(word) != 0 && !is_urgent;
  return !is_watched && volt_idle_searching_(word) < sim_wake_while && idle_parked(word) > 0;
}
