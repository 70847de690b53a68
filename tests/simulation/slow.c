/* slow.c: what hosts on slow links cost the others.
 *
 * A round: some healthy hosts alone, for a while; then hosts with slow links come. What no host has had of what
 * the healthy ones had alone is lost. In one round of four the servers' disks are slow, in one of four
 * that of one server is, from the beginning. In one of three there is a mortal besides, among the
 * healthy ones at first: then it dies again and again while it waits in the queue, and its place stays until
 * its session has ended.
 *
 * S1  At most a quarter is lost.
 * S2  No healthy host is without a permit for longer than a session's time and a half for each slow host and
 *     for itself, and its rest, if all writes are slow.
 * S3  A slow host whose link is good enough to hold a lease gets permits.
 * S4  A slot that its host cannot use is given back within half a session.
 * S5  No entry is the first without a mark, while slots are free, for longer than half a session's time and
 *     twelve quanta.
 * And of check.c: I1, I2, I3, I6, I8, I9, I11. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "require.h"
#include "simulation.h"

enum { SLOW_MAX = 3, ALONE_SESSIONS = 4, WITH_SESSIONS = 24 };

typedef struct slow_link {
  uint64_t up_ns, down_ns, more_ns;
} slow_link;

/* What a seed means besides. */
typedef struct slow_plan {
  uint32_t healthy, slow;
  slow_link link[SLOW_MAX];
  bool has_mortal; /* the last host */
  uint64_t born_ns;
  uint64_t disk_ns[3]; /* of the servers */
  uint64_t head, head_since_ns;
  uint64_t useless_since_ns[SLOTS_MAX];
} slow_plan;

/* ---- what a seed means ---- */

/* The longest from a request to its answer. */
static uint64_t slow_round_ns(const world *w, const slow_plan *slow, const slow_link *link) {
  const volt_ensemble_config *c = &w->plan.ensemble;
  uint64_t disk_ns = 0;
  for (int i = 0; i < 3; i++) disk_ns = slow->disk_ns[i] > disk_ns ? slow->disk_ns[i] : disk_ns;
  return link->up_ns + link->down_ns + 2 * link->more_ns + 6 * c->hop_ns + c->log_ns + disk_ns;
}

/* From a twentieth of the session's time to a third, rather short. */
static void slow_link_of(slow_link *link, const plan *p, rng *random) {
  uint64_t chance = 1 + rng_below(random, 100);
  uint64_t round_ns = p->session_ns / 20 + p->session_ns * chance * chance / 10000 * 17 / 60;
  link->up_ns = round_ns * (1 + rng_below(random, 9)) / 10;
  link->more_ns = rng_below(random, 2) ? round_ns * rng_below(random, 30) / 100 : 0;
  link->down_ns = round_ns - link->up_ns;
}

static void slow_disks_of(slow_plan *slow, rng *random) {
  uint32_t how = rng_below(random, 4), one = rng_below(random, 3);
  uint64_t ns = (1 + rng_below(random, 40)) * MS;
  for (uint32_t i = 0; i < 3; i++) slow->disk_ns[i] = how == 0 || (how == 1 && i == one) ? ns : 0;
}

static void slow_plan_of(slow_plan *slow, plan *p, uint64_t seed) {
  rng random = rng_seeded(seed * 2654435761u + 7);
  memset(p, 0, sizeof *p);
  memset(slow, 0, sizeof *slow);
  p->seed = seed;
  slow->healthy = 1 + rng_below(&random, 5);
  slow->slow = 1 + rng_below(&random, SLOW_MAX);
  slow->has_mortal = rng_below(&random, 3) == 0;
  p->hosts = slow->healthy + slow->slow + slow->has_mortal;
  p->tasks = 4;
  p->sems = 1;
  p->limit = 1 + rng_below(&random, rng_below(&random, 2) ? 2 : 8);
  p->session_ns = (rng_below(&random, 4) ? 1 + rng_below(&random, 3) : 10) * SECOND;
  p->section_ns = 20 * MS;
  p->think_ns = MS;
  p->each_fault_ns = SECOND;
  p->ensemble = (volt_ensemble_config){.seed = seed, .servers = 3, .hop_ns = MS / 4};
  p->ensemble.log_ns = MS + rng_below(&random, 4) * MS;
  p->ensemble.tick_ns = p->session_ns / 5;
  for (uint32_t i = 0; i < slow->slow; i++) slow_link_of(&slow->link[i], p, &random);
  slow_disks_of(slow, &random);
}

/* ---- what must hold ---- */

/* S4. A host that is not connected cannot give anything back. */
static void slow_check_slot(world *w, slow_plan *slow, uint32_t i, const host *h) {
  volt_cluster_stats_of stats;
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  volt_cluster_stats(h->cluster, &stats);
  if (stats.session != w->sem[0].owner[i]) return;
  bool is_useless = stats.state == VOLT_CLUSTER_CONNECTED &&
                    stats.valid_until_ns <= volt_ensemble_host_now_ns(w->e, h->number);
  if (!is_useless || slow->useless_since_ns[i] == 0) {
    slow->useless_since_ns[i] = is_useless ? now_ns : 0;
  } else if (now_ns > slow->useless_since_ns[i] + w->plan.session_ns / 2) {
    world_fail(w, "S4: host %u keeps slot %u, which it cannot use, for %" PRIu64 " ms", h->number,
               i, (now_ns - slow->useless_since_ns[i]) / MS);
  }
}

static void slow_check_slots(world *w, slow_plan *slow) {
  for (uint32_t i = 0; i < w->plan.limit; i++) {
    if (w->sem[0].owner[i] == 0) slow->useless_since_ns[i] = 0;
    for (uint32_t k = 0; k < w->host_count && w->sem[0].owner[i] != 0; k++) {
      const host *h = &w->hosts[k];
      if (h->is_there && !h->is_dead) slow_check_slot(w, slow, i, h);
    }
  }
}

/* S5 */
static void slow_check_first(world *w, slow_plan *slow) {
  const watched *s = &w->sem[0];
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  bool is_stuck = s->head != 0 && s->leased < s->limit;
  if (!is_stuck || s->head != slow->head) {
    slow->head = is_stuck ? s->head : 0;
    slow->head_since_ns = now_ns;
  }
  uint64_t stuck_ns = slow->head != 0 ? now_ns - slow->head_since_ns : 0;
  if (stuck_ns > w->plan.session_ns / 2 + 12 * 64 * MS) {
    world_fail(w, "S5: %" PRIu64 " ms, slots are free, and the first takes none", stuck_ns / MS);
  }
}

/* Of a healthy host whose servers have slow disks: they make it one that rests. */
static uint64_t slow_rest_ns(const world *w, const slow_plan *slow) {
  static const slow_link none = {0, 0, 0};
  uint64_t rest_ns = 8 * 4 * slow_round_ns(w, slow, &none), most_ns = 8 * w->plan.session_ns;
  if (w->plan.hosts > w->plan.limit) rest_ns = rest_ns * w->plan.hosts / w->plan.limit;
  return rest_ns < most_ns ? rest_ns : most_ns;
}

/* S2 */
static void slow_check_waits(world *w, const slow_plan *slow) {
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  uint64_t most_ns = w->plan.session_ns / 2 * 3 * (slow->slow + 1) + slow_rest_ns(w, slow);
  for (uint32_t i = 0; i < slow->healthy; i++) {
    const host *h = &w->hosts[i];
    uint64_t waited_ns = h->granted_ns > 0 ? now_ns - h->granted_ns : 0;
    if (waited_ns > w->results.wait_most_ns) w->results.wait_most_ns = waited_ns;
    if (waited_ns > most_ns) {
      world_fail(w, "S2: host %u has had no permit for %" PRIu64 " ms", h->number, waited_ns / MS);
    }
  }
}

/* S3 */
static void slow_check_share(world *w, const slow_plan *slow) {
  for (uint32_t i = 0; i < slow->slow; i++) {
    const host *h = &w->hosts[slow->healthy + i];
    bool is_usable = slow_round_ns(w, slow, &slow->link[i]) < w->plan.session_ns / 8;
    if (is_usable && h->grants == 0) world_fail(w, "S3: host %u has had no permit", h->number);
  }
}

/* It dies six sessions after it was born, or later, when it waits and has no slot. */
static void slow_mortal(world *w, slow_plan *slow) {
  if (!slow->has_mortal || slow->born_ns == 0) return;
  host *h = &w->hosts[w->plan.hosts - 1];
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  volt_cluster_lease_stats stats;
  if (h->is_there && h->is_dead) (void)host_reap(h);
  if (!h->is_there) {
    host_begin(w, h);
    slow->born_ns = now_ns;
  }
  volt_cluster_sem_stats(h->sem[0], &stats);
  bool may_die = !h->is_dead && now_ns > slow->born_ns + 6 * w->plan.session_ns;
  if (may_die && stats.is_queued && stats.leased + stats.unproved + stats.owed == 0) host_kill(h);
}

/* Returns how many permits there were. */
static uint64_t slow_pass(world *w, slow_plan *slow, uint32_t sessions) {
  uint64_t before = w->results.valid, each_ns = w->plan.session_ns / 50;
  for (uint32_t i = 0; i < 50 * sessions && !w->has_failed; i++) {
    world_go_on(w, each_ns);
    slow_check_slots(w, slow);
    slow_check_first(w, slow);
    slow_check_waits(w, slow);
    slow_mortal(w, slow);
  }
  return w->results.valid - before;
}

/* ---- a round ---- */

static void slow_begin(world *w, const slow_plan *slow) {
  for (uint32_t i = 0; i < 3; i++) volt_ensemble_server_slow(w->e, i, slow->disk_ns[i]);
  world_phase(w, PHASE_SLOW);
  w->host_count = w->plan.hosts;
  for (uint32_t i = 0; i < slow->healthy; i++) host_begin(w, &w->hosts[i]);
  if (slow->has_mortal) host_begin(w, &w->hosts[w->plan.hosts - 1]);
  world_go_on(w, 2 * w->plan.session_ns);
}

static void slow_come(world *w, slow_plan *slow) {
  slow->born_ns = volt_ensemble_now_ns(w->e); /* from now on it may die */
  for (uint32_t i = 0; i < slow->slow; i++) {
    host *h = &w->hosts[slow->healthy + i];
    const slow_link *link = &slow->link[i];
    host_begin(w, h);
    volt_ensemble_host_slow(w->e, h->number, link->up_ns, link->down_ns, link->more_ns);
  }
}

void slow_show(const world *w, const slow_plan *slow) {
  const plan *p = &w->plan;
  const results *r = &w->results;
  printf("seed %" PRIu64 ": %u healthy, limit %u, T %" PRIu64 " s, disks %" PRIu64 " %" PRIu64
         " %" PRIu64 " ms: %" PRIu64 " permits of %" PRIu64 ", %.2f; longest without %" PRIu64
         " ms; %" PRIu64 " marks%s; slow:",
         p->seed, slow->healthy, p->limit, p->session_ns / SECOND, slow->disk_ns[0] / MS,
         slow->disk_ns[1] / MS, slow->disk_ns[2] / MS, r->grants, r->grants_alone,
         (double)r->grants / (double)r->grants_alone, r->wait_most_ns / MS, r->marks,
         slow->has_mortal ? ", a mortal" : "");
  for (uint32_t i = 0; i < slow->slow; i++) {
    printf(" %.3f T (%" PRIu64 ")",
           (double)slow_round_ns(w, slow, &slow->link[i]) / (double)p->session_ns,
           w->hosts[slow->healthy + i].grants);
  }
  printf("\n");
}

bool slow_run(world *w, uint64_t seed, bool is_traced, bool is_shown) {
  static slow_plan slow;
  plan p;
  slow_plan_of(&slow, &p, seed);
  world_begin(w, &p, is_traced);
  slow_begin(w, &slow);
  uint64_t alone = slow_pass(w, &slow, ALONE_SESSIONS);
  slow_come(w, &slow);
  uint64_t had = slow_pass(w, &slow, WITH_SESSIONS);
  w->results.grants = had;
  w->results.grants_alone = alone * WITH_SESSIONS / ALONE_SESSIONS;
  if (!w->has_failed) slow_check_share(w, &slow);
  if (4 * had < 3 * w->results.grants_alone) {
    world_fail(w, "S1: %" PRIu64 " permits; the healthy hosts alone had %" PRIu64, had,
               w->results.grants_alone);
  }
  if (is_shown || w->has_failed) slow_show(w, &slow);
  if (w->has_failed) return false; /* what is left is the process's to free */
  for (uint32_t i = 0; i < slow.slow; i++)
    volt_ensemble_host_slow(w->e, w->hosts[slow.healthy + i].number, 0, 0, 0);
  world_go_on(w, 2 * p.session_ns); /* the session of one that has died ends */
  world_end(w);
  return !w->has_failed;
}
