/* wide_idle.c: idle.h for more workers. Not compiled as the library is: what an access costs is said
 * here. */
#include "wide.h"

void volt_idle_init_(volt_idle *idle) {
  (void)idle; /* all-zero */
}

unsigned volt_idle_searching_(uint64_t word) {
  (void)word;
  return 0;
}

static uint64_t idle_load(volt_idle *idle) {
  sim_load(&idle->word);
  return volt_load_relaxed(&idle->word);
}

/* A compare-and-swap: whether nothing has changed since it was `seen`. */
static bool idle_change(volt_idle *idle, uint64_t seen) {
  sim_rmw(&idle->word);
  if (volt_load_relaxed(&idle->word) != seen) return false;
  volt_store_relaxed(&idle->word, seen + 1);
  return true;
}

bool volt_idle_claim_(volt_idle *idle, unsigned i) {
  for (;;) {
    uint64_t seen = idle_load(idle);
    if (!idle->is_parked[i]) return false;
    if (!idle_change(idle, seen)) continue;
    idle->is_parked[i] = false;
    idle->searching += 1;
    return true;
  }
}

bool volt_idle_claim_alone_(volt_idle *idle, unsigned i) {
  return volt_idle_claim_(idle, i);
}

/* The lowest that is not spare, of the core's own group first, if that is the candidate; else the
 * lowest. */
static unsigned idle_choose(const volt_idle *idle, uint64_t spare) {
  unsigned other = VOLT_IDLE_WORKERS, spared = VOLT_IDLE_WORKERS;
  for (unsigned i = 0; i < VOLT_IDLE_WORKERS; i++) {
    if (!idle->is_parked[i]) continue;
    bool is_spare = i < 64 && spare >> i & 1;
    if (!is_spare && (!sim_wake_near || i / sim_group == sim_core() / sim_group)) return i;
    unsigned *lowest = is_spare ? &spared : &other;
    if (*lowest == VOLT_IDLE_WORKERS) *lowest = i;
  }
  return other < VOLT_IDLE_WORKERS ? other : spared;
}

unsigned volt_idle_wake_one_(volt_idle *idle, uint64_t spare) {
  for (;;) {
    uint64_t seen = idle_load(idle);
    unsigned i = idle_choose(idle, spare);
    if (i == VOLT_IDLE_WORKERS || idle->searching >= sim_wake_while) return VOLT_IDLE_WORKERS;
    if (!idle_change(idle, seen)) continue;
    idle->is_parked[i] = false;
    idle->searching += 1;
    return i;
  }
}

bool volt_idle_search_(volt_idle *idle, unsigned workers) {
  for (;;) {
    uint64_t seen = idle_load(idle);
    if (sim_search_most ? idle->searching >= sim_search_most : 2 * idle->searching >= workers)
      return false;
    if (!idle_change(idle, seen)) continue;
    idle->searching += 1;
    return true;
  }
}

static void idle_add(volt_idle *idle) {
  sim_rmw(&idle->word);
  volt_store_relaxed(&idle->word, volt_load_relaxed(&idle->word) + 1);
}

bool volt_idle_found_(volt_idle *idle) {
  idle_add(idle);
  idle->searching -= 1;
  return idle->searching < sim_wake_while;
}

void volt_idle_park_(volt_idle *idle, unsigned i, unsigned searching) {
  idle_add(idle);
  idle->is_parked[i] = true;
  idle->searching -= searching;
}

void volt_idle_fence_(volt_idle *idle) {
  sim_rmw(&idle->word);
}

bool volt_idle_wants_work_(volt_idle *idle) {
  idle_load(idle);
  if (idle->searching >= sim_wake_while) return false;
  for (unsigned i = 0; i < VOLT_IDLE_WORKERS; i++) {
    if (idle->is_parked[i]) return true;
  }
  return false;
}
