/* sharded_rwlock_stress.c: readers of every shard and writers, in every way there is, some of which
 * give up. A writer changes two numbers that readers find equal; both count the writes. */
#include <string.h>

#include "harness.h"

enum { MOST = 8 };

static struct {
  volt_rwlock_shard shards[MOST];
  volt_sharded_rwlock lock;
  VOLT_PLAIN(uint64_t) first; /* under the lock, like what follows */
  char between[VOLT_CACHE_LINE];
  VOLT_PLAIN(uint64_t) second;
  VOLT_ATOMIC(uint64_t) writes;
} shared;

static const volt_waker nobody = {NULL, NULL};

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 50000));
}

/* Poll a few times, and give up if that is not enough. */
static int by_hand(stress_worker *w, volt_future *f) {
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 64); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, nobody);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready */
  return volt_future_poll(f, nobody);
}

static int lock_to_read(stress_worker *w, uint32_t shard) {
  volt_future f;
  switch (stress_below(w, 5)) {
    case 0: return volt_sharded_rwlock_try_read(&shared.lock, shard);
    case 1: return volt_sharded_rwlock_read_until(&shared.lock, shard, soon(w));
    case 2: return by_hand(w, volt_sharded_rwlock_read_future(&f, &shared.lock, shard));
    case 3:
      return volt_future_wait_until(volt_sharded_rwlock_read_future(&f, &shared.lock, shard),
                                    soon(w));
    default: volt_sharded_rwlock_read(&shared.lock, shard); return VOLT_OK;
  }
}

static int lock_to_write(stress_worker *w) {
  volt_sharded_write f;
  int result = VOLT_OK;
  switch (stress_below(w, 5)) {
    case 0: return volt_sharded_rwlock_try_write(&shared.lock);
    case 1: return volt_sharded_rwlock_write_until(&shared.lock, soon(w));
    case 2: result = by_hand(w, volt_sharded_rwlock_write_future(&f, &shared.lock)); break;
    case 3:
      result = volt_future_wait_until(volt_sharded_rwlock_write_future(&f, &shared.lock), soon(w));
      break;
    default: volt_sharded_rwlock_write(&shared.lock); return VOLT_OK;
  }
  memset((void *)&f, 0xa5, sizeof f); /* nothing may look at it any more */
  return result;
}

static bool read_one(stress_worker *w) {
  uint32_t shard = stress_below(w, 2) == 0 ? volt_sharded_rwlock_here(&shared.lock)
                                           : stress_below(w, shared.lock.count);
  if (lock_to_read(w, shard) != VOLT_OK) return false;
  uint64_t before = shared.first;
  stress_dawdle(w);
  STRESS_CHECK(shared.second == before);
  volt_sharded_rwlock_read_unlock(&shared.lock, shard);
  return true;
}

static bool write_one(stress_worker *w) {
  if (lock_to_write(w) != VOLT_OK) return false;
  shared.first += 1;
  stress_dawdle(w);
  shared.second += 1;
  (void)volt_fetch_add_relaxed(&shared.writes, 1); /* looked at when all have ended */
  volt_sharded_rwlock_write_unlock(&shared.lock);
  return true;
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    bool reads = stress_below(w, 4) != 0;
    if (reads ? read_one(w) : write_one(w)) {
      w->acquired += 1;
    } else {
      w->gave_up += 1;
    }
    stress_progress(w, reads ? "read" : "write");
  }
}

static void round_of(uint32_t shards) {
  volt_sharded_rwlock_init(&shared.lock, shared.shards, shards);
  shared.first = shared.second = 0;
  volt_store_relaxed(&shared.writes, 0); /* published by the threads' start */
  stress_round(stress_threads(), 30000000, body, NULL);
  STRESS_CHECK(shared.first == volt_load_relaxed(&shared.writes));
  STRESS_CHECK(shared.second == shared.first);
  STRESS_CHECK(volt_sharded_rwlock_readers(&shared.lock) == 0);
  STRESS_CHECK(volt_sharded_rwlock_waiters(&shared.lock) == 0);
  STRESS_CHECK(volt_sharded_rwlock_try_write(&shared.lock) == VOLT_OK);
  volt_sharded_rwlock_write_unlock(&shared.lock);
  volt_sharded_rwlock_destroy(&shared.lock);
}

int main(void) {
  stress_begin("sharded_rwlock", NULL, NULL);
  for (uint32_t turn = 0; stress_time_left(); turn++) round_of(1 + turn % MOST);
  return stress_end();
}
