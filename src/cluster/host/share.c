/* share.c: the host's half of a lease alone: the program counts, and has a limit of its own.
 *
 * Algorithm: it does not matter which slot serves which holder. The driver keeps the numbers
 * in an array, and says to the program how many they are. What is taken back is recalled: the program's
 * limit is lower by it. Recalled slots are free as far as no more is held than the limit.
 *
 * Invariants
 *   I1  The program's limit is slots - recalled, whenever the driver has returned.
 *   I2  recalled <= slots. The last `marked` of the array have numbers beyond the cluster's limit, and
 *       marked <= recalled.
 *
 * Races
 *   R1  Interleaving: the program releases, and finds that the driver does not wait; the driver says
 *       that it waits, counts what is held, and does not see the release. Prevented by: both change
 *       the word `waits` in between: the driver after it has set the limit, and before it counts; the
 *       program in is_waiting(), after its release. Of two changes of one word, one comes first. If
 *       it is the program's, the driver's count acquires the release. If it is the driver's, the
 *       program finds the word set, and calls look(). (Each change reads the last one, so none may be
 *       a mere store.)
 *
 * Labels: share */
#include "../../core/os/check.h"
#include "lease.h"
#include "local.h"
#include "local_sem.h"

static cluster_share *share_of(void *ctx) {
  return (cluster_share *)ctx;
}

#define SHARE_WATCHES UINT32_C(0x80000000)

static void share_publish_waits(cluster_share *s) {
  /* share:W1 <-> share:W1: of this and is_waiting(), the later one sees what came before the
   * earlier one (R1) */
  (void)volt_exchange_acq_rel(&s->waits, s->recalled | (s->watches ? SHARE_WATCHES : 0));
}

static void share_set_limit(cluster_share *s) {
  s->user.set_limit(s->slots - s->recalled, s->user.ctx);
  share_publish_waits(s); /* R1: before it counts what is held */
}

static uint32_t share_wanted(void *ctx) {
  cluster_share *s = share_of(ctx);
  uint32_t wanted = s->user.wanted(s->user.ctx);
  volt_store_relaxed(&s->held, s->user.held(s->user.ctx)); /* both: for share_count() */
  volt_store_relaxed(&s->wanted, wanted);
  return s->is_closed ? 0 : wanted;
}

static uint32_t share_room(void *ctx) {
  return share_of(ctx)->capacity - share_of(ctx)->slots;
}

static void share_add(void *ctx, const cluster_slot *slots, uint32_t count) {
  cluster_share *s = share_of(ctx);
  VOLT_CHECK(count <= share_room(s), "volt_cluster_lease", "%p: %u slots, room for %u", (void *)s,
             count, share_room(s));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = s->slots - s->marked; /* I2: the marked ones stay last */
    s->slot[s->slots] = s->slot[at];
    s->slot[at] = slots[i];
    s->slots += 1;
  }
  share_set_limit(s);
}

static void share_take_back(void *ctx, uint32_t count) {
  cluster_share *s = share_of(ctx);
  uint32_t most = s->slots - s->recalled;
  s->recalled += count < most ? count : most;
  share_set_limit(s);
}

static void share_swap(cluster_share *s, uint32_t a, uint32_t b) {
  cluster_slot slot = s->slot[a];
  s->slot[a] = s->slot[b];
  s->slot[b] = slot;
}

/* What was recalled by number alone stays so, as far as there are other slots. */
static uint32_t share_take_back_from(void *ctx, uint32_t first_slot) {
  cluster_share *s = share_of(ctx);
  uint32_t news = 0;
  for (uint32_t i = s->slots - s->marked; i > 0; i--) {
    if (s->slot[i - 1].slot < first_slot) continue;
    s->marked += 1;
    news += 1;
    share_swap(s, i - 1, s->slots - s->marked);
  }
  if (news) share_take_back(s, news);
  return s->marked;
}

static uint32_t share_collect(void *ctx, cluster_slot *slots, uint32_t max) {
  cluster_share *s = share_of(ctx);
  if (s->recalled == 0) return 0;
  uint32_t held = s->user.held(s->user.ctx), limit = s->slots - s->recalled;
  uint32_t excess = held > limit ? held - limit : 0;
  uint32_t count = s->recalled > excess ? s->recalled - excess : 0;
  if (count > max) count = max;
  for (uint32_t i = 0; i < count; i++) slots[i] = s->slot[--s->slots];
  s->recalled -= count;
  s->marked -= s->marked < count ? s->marked : count;
  share_publish_waits(s); /* I1: the limit stays */
  return count;
}

/* One lease is void: as if it had been collected. */
static void share_lose_one(cluster_share *s, uint32_t i) {
  if (i >= s->slots - s->marked) {
    s->marked -= 1;
    s->recalled -= 1;
  }
  for (s->slots -= 1; i < s->slots; i++) s->slot[i] = s->slot[i + 1];
  if (s->recalled > s->slots) s->recalled = s->slots;
}

static void share_lose(void *ctx, const cluster_slot *slot) {
  cluster_share *s = share_of(ctx);
  uint32_t before = s->slots;
  if (slot) {
    for (uint32_t i = s->slots; i > 0; i--)
      if (s->slot[i - 1].slot == slot->slot) share_lose_one(s, i - 1);
  } else {
    s->slots = s->recalled = s->marked = 0;
  }
  if (s->slots == before) return;
  share_set_limit(s);
  if (!slot && s->user.lost) s->user.lost(s->user.ctx);
}

static uint32_t share_idle(void *ctx) {
  cluster_share *s = share_of(ctx);
  uint32_t limit = s->slots - s->recalled, held = s->user.held(s->user.ctx);
  return held < limit ? limit - held : 0;
}

static uint32_t share_watch_idle(void *ctx, bool on) {
  share_of(ctx)->watches = on;
  share_publish_waits(share_of(ctx)); /* R1: before it counts what is held */
  return share_idle(ctx);
}

/* Any thread; so it asks the program nothing. */
static void share_count(void *ctx, volt_cluster_lease_stats *stats) {
  cluster_share *s = share_of(ctx);
  uint32_t held = volt_load_relaxed(&s->held), wanted = volt_load_relaxed(&s->wanted);
  stats->used = held;
  stats->owed = volt_load_relaxed(&s->waits) & ~SHARE_WATCHES;
  stats->waiting = wanted > held ? wanted - held : 0;
  stats->lost = 0;
}

static void share_close(void *ctx) {
  cluster_share *s = share_of(ctx);
  s->is_closed = true;
  share_take_back(s, s->slots);
}

static bool share_is_free(void *ctx) {
  (void)ctx; /* what is held is the program's own */
  return true;
}

const cluster_local cluster_share_local_ = {.wanted = share_wanted,
                                            .add = share_add,
                                            .room = share_room,
                                            .take_back = share_take_back,
                                            .take_back_from = share_take_back_from,
                                            .collect = share_collect,
                                            .lose = share_lose,
                                            .idle = share_idle,
                                            .watch_idle = share_watch_idle,
                                            .count = share_count,
                                            .close = share_close,
                                            .is_free = share_is_free};

bool volt_cluster_lease_is_waiting(const volt_cluster_lease *l) {
  cluster_share *s = share_of(lease_ctx_(l));
  /* share:W1 <-> share:W1: of this and the driver's look, the later one sees what came before the
   * earlier one (R1) */
  return volt_fetch_add_acq_rel(&s->waits, 0) != 0;
}
