/* cluster_scene.h: a host on an ensemble by hand, with semaphores whose users are numbers. */
#ifndef VOLT_TEST_CLUSTER_SCENE_H
#define VOLT_TEST_CLUSTER_SCENE_H

#include "by_hand.h"
#include "cluster/host/lease.h"
#include "cluster/host/local.h"
#include "cluster_hand.h"

enum { USER_SLOTS = 300 };

/* The host's half of a semaphore: tasks hold and wait, as the test says. */
typedef struct user {
  volt_cluster_lease *lease;
  uint32_t held;
  uint32_t waiting;
  uint32_t room;
  cluster_slot slots[USER_SLOTS]; /* the first `held` are held */
  uint32_t count;
  uint32_t owed; /* of those that are held, the last ones; of those by number, none */
  cluster_slot freed[USER_SLOTS];
  uint32_t freed_count;
  uint32_t added;
  uint32_t lost;
  uint32_t closed;
  uint32_t destroyed;
} user;

static inline uint32_t user_idle(void *ctx) {
  user *u = (user *)ctx;
  return u->count - u->held;
}

static inline uint32_t user_watch_idle(void *ctx, bool on) {
  (void)on; /* a release rings anyhow */
  return user_idle(ctx);
}

static inline uint32_t user_wanted(void *ctx) {
  user *u = (user *)ctx;
  return u->held + u->waiting;
}

static inline uint32_t user_room(void *ctx) {
  user *u = (user *)ctx;
  return u->room - u->count;
}

/* Tasks that wait take what is idle, but for what is owed. */
static inline void user_serve(user *u) {
  while (u->waiting > 0 && u->held < u->count) {
    u->held += 1;
    u->waiting -= 1;
  }
}

static inline void user_add(void *ctx, const cluster_slot *slots, uint32_t count) {
  user *u = (user *)ctx;
  REQUIRE(count <= user_room(u));
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < u->count; k++) REQUIRE(u->slots[k].slot != slots[i].slot);
    u->slots[u->count++] = slots[i];
  }
  u->added += count;
  user_serve(u);
}

static inline void user_free(user *u, uint32_t i) {
  u->freed[u->freed_count++] = u->slots[i];
  memmove(&u->slots[i], &u->slots[i + 1], (u->count - i - 1) * sizeof u->slots[0]);
  u->count -= 1;
}

static inline void user_take_back(void *ctx, uint32_t count) {
  user *u = (user *)ctx;
  REQUIRE(count + u->owed <= u->count);
  while (count > 0 && u->held < u->count) {
    user_free(u, u->count - 1);
    count -= 1;
  }
  u->owed += count;
}

static inline uint32_t user_take_back_from(void *ctx, uint32_t first) {
  user *u = (user *)ctx;
  uint32_t count = 0;
  for (uint32_t i = u->count; i-- > 0;) {
    if (u->slots[i].slot < first) continue;
    count += 1;
    if (i >= u->held) {
      user_free(u, i);
    } else {
      u->owed += 1; /* any of them; the test releases all */
    }
  }
  return count;
}

static inline uint32_t user_collect(void *ctx, cluster_slot *slots, uint32_t max) {
  user *u = (user *)ctx;
  uint32_t count = 0;
  while (count < max && u->freed_count > 0) slots[count++] = u->freed[--u->freed_count];
  return count;
}

static inline void user_lose(void *ctx, const cluster_slot *slot) {
  user *u = (user *)ctx;
  REQUIRE(!slot || u->count > 0);
  for (uint32_t i = u->count; i-- > 0;) {
    if (slot && u->slots[i].slot != slot->slot) continue;
    u->lost += 1;
    if (i < u->held) u->held -= 1;
    memmove(&u->slots[i], &u->slots[i + 1], (u->count - i - 1) * sizeof u->slots[0]);
    u->count -= 1;
  }
  if (!slot) u->owed = 0;
  if (!slot) u->freed_count = 0;
}

static inline void user_say(void *ctx, volt_cluster_lease_stats *stats) {
  user *u = (user *)ctx;
  stats->used = u->held;
  stats->waiting = u->waiting;
  stats->owed = u->owed + u->freed_count;
}

static inline void user_close(void *ctx) {
  user *u = (user *)ctx;
  u->closed += 1;
  u->waiting = 0;
  user_take_back(u, u->count - u->owed);
}

static inline bool user_is_free(void *ctx) {
  return ((user *)ctx)->held == 0;
}

static inline void user_destroy(void *ctx) {
  ((user *)ctx)->destroyed += 1;
}

static inline cluster_local user_local(user *u) {
  return (cluster_local){.wanted = user_wanted,
                         .add = user_add,
                         .room = user_room,
                         .take_back = user_take_back,
                         .take_back_from = user_take_back_from,
                         .collect = user_collect,
                         .lose = user_lose,
                         .idle = user_idle,
                         .watch_idle = user_watch_idle,
                         .count = user_say,
                         .close = user_close,
                         .is_free = user_is_free,
                         .destroy = user_destroy,
                         .ctx = u};
}

/* ---- the host ---- */

static by_hand h;
static volt_cluster *cluster;
static user u;

static inline void scene_run(void) {
  by_hand_run(&h);
}

/* Called before each answer. Returns whether something else has become of what was asked. */
static bool (*scene_interfere)(void);

/* Carry out and answer all that is asked, and what comes of it. */
static inline void scene_answer(void) {
  scene_run();
  for (int i = 0; hand->asked_count > 0; i++) {
    REQUIRE(i < 10000); /* it would never rest */
    if (!scene_interfere || !scene_interfere()) hand_answer();
    scene_run();
  }
}

/* Let time pass, and answer, in steps of a millisecond. */
static inline void scene_pass(uint64_t ms) {
  for (uint64_t i = 0; i < ms; i++) {
    volt_rt_advance(h.rt, HAND_MS);
    scene_answer();
  }
}

/* Let time pass, and answer nothing. */
static inline void scene_wait(uint64_t ms) {
  for (uint64_t i = 0; i < ms; i++) {
    volt_rt_advance(h.rt, HAND_MS);
    scene_run();
  }
}

static inline void scene_want(user *who, uint32_t tasks) {
  who->waiting += tasks;
  user_serve(who);
  lease_ring_(who->lease);
}

/* So many tasks release. What is owed is paid first. */
static inline void scene_release(user *who, uint32_t tasks) {
  for (uint32_t i = 0; i < tasks; i++) {
    REQUIRE(who->held > 0);
    who->held -= 1;
    if (who->owed > 0) {
      who->owed -= 1;
      user_free(who, who->held);
    }
    user_serve(who);
  }
  lease_ring_(who->lease);
}

static inline void scene_open(void) {
  volt_cluster_config config = {.rt = h.rt, .kind = &hand_kind, .name = "here"};
  assert_result(volt_cluster_open(&cluster, &config), VOLT_OK);
}

static inline void scene_open_lease(user *who, const char *name,
                                    const volt_cluster_sem_config *config) {
  memset(who, 0, sizeof *who);
  who->room = 256;
  cluster_local local = user_local(who);
  assert_result(lease_open_(&who->lease, cluster, name, config, &local), VOLT_OK);
}

static inline volt_cluster_lease_stats scene_stats(user *who) {
  volt_cluster_lease_stats stats;
  volt_cluster_lease_stats_get(who->lease, &stats);
  return stats;
}

static inline volt_cluster_stats_of scene_host(void) {
  volt_cluster_stats_of stats;
  volt_cluster_stats(cluster, &stats);
  return stats;
}

/* A host with a session, and a lease of "x" that asks for nothing yet. */
static inline void scene_begin_with(const volt_cluster_sem_config *config) {
  scene_open();
  scene_open_lease(&u, "x", config);
  scene_run();
  hand_begin_session(1);
  scene_answer();
  hand->log[0] = '\0';
}

static inline int scene_close(void) {
  volt_future f;
  volt_future_made(volt_cluster_close_future(&f, cluster));
  int result = volt_rt_run_until(h.rt, &f, VOLT_NO_DEADLINE);
  return result;
}

static inline int scene_set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_rt_advance(h.rt, 1000 * HAND_MS);
  hand_begin();
  scene_interfere = NULL;
  memset(&u, 0, sizeof u);
  cluster = NULL;
  return 0;
}

static inline int scene_tear_down(void **state) {
  (void)state;
  if (cluster) {
    assert_result(scene_close(), VOLT_OK);
    u.held = 0; /* lost permits are released */
    volt_cluster_destroy(cluster);
  }
  hand_end();
  by_hand_end(&h, 0);
  return 0;
}

/* What was written since the last call. */
#define expect_writes(text)               \
  do {                                    \
    assert_string_equal(hand->log, text); \
    hand->log[0] = '\0';                  \
  } while (0)

/* How many nodes below this one there are. */
#define expect_nodes(path, count) assert_int_equal(hand_children(path), count)

static const volt_cluster_sem_config scene_limit_3 = {.limit = 3};
#define SCENE_DATA(limit) \
  "volt-cluster 1\nlimit " limit "\nlease 0\nquantum_ms 50\nera 1\nqueue 0\nturn 0\n"

#endif
