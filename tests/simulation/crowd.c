/* crowd.c: many healthy hosts that come at once.
 *
 * A round: 100 to 300 hosts begin at the same moment, and their tasks want permits all the time. So their
 * first writes wait for each other at the leader, which carries out so many in a second, and not more.
 * Nothing fails, and no link is slow.
 *
 * C1  No host is marked.
 * C2  No host rests.
 * C3  No host is without a permit for much longer than the order of the queue makes it.
 * And of check.c: I1, I2, I3, I6, I8, I9. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "require.h"
#include "simulation.h"

static void crowd_plan_of(plan *p, uint64_t seed) {
  rng random = rng_seeded(seed * 2654435761u + 11);
  memset(p, 0, sizeof *p);
  p->seed = seed;
  p->hosts = 100 + rng_below(&random, HOSTS_MAX - 99);
  p->tasks = 2;
  p->sems = 1;
  p->limit = 4 + rng_below(&random, 13);
  p->session_ns = 10 * SECOND;
  p->section_ns = 10 * MS;
  p->think_ns = MS;
  p->each_fault_ns = SECOND;
  p->ensemble = (volt_ensemble_config){.seed = seed, .servers = 3, .hop_ns = MS / 4};
  p->ensemble.hop_more_ns = MS / 10;
  p->ensemble.log_ns = MS + rng_below(&random, 3) * MS;
  p->ensemble.log_more_ns = MS / 2;
  p->ensemble.tick_ns = 2 * SECOND;
  p->ensemble.writes_per_s = 1500 + rng_below(&random, 1500);
}

/* What C3 allows: the time in which each slot goes to its part of the hosts, each of which keeps it for a
 * quantum, as the library computes it, and half as long again. */
static uint64_t crowd_round_ns(const plan *p) {
  uint64_t quantum_ns = 8 * MS * p->limit > 50 * MS ? 8 * MS * p->limit : 50 * MS;
  uint64_t give_ns = p->section_ns + 4 * (6 * p->ensemble.hop_ns + p->ensemble.log_ns);
  return (p->hosts / p->limit + 1) * (quantum_ns + give_ns) / 2 * 3;
}

/* C3. come_ns: when all have come. */
static void crowd_check_waits(world *w, uint64_t come_ns) {
  uint64_t now_ns = volt_ensemble_now_ns(w->e), most_ns = crowd_round_ns(&w->plan);
  for (uint32_t i = 0; i < w->plan.hosts; i++) {
    const host *h = &w->hosts[i];
    uint64_t since_ns = h->granted_ns > 0 ? h->granted_ns : come_ns;
    uint64_t waited_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    if (waited_ns > w->results.wait_most_ns) w->results.wait_most_ns = waited_ns;
    if (waited_ns > most_ns) {
      world_fail(w, "C3: host %u has had no permit for %" PRIu64 " ms, more than %" PRIu64,
                 h->number, waited_ns / MS, most_ns / MS);
      return;
    }
  }
}

/* C1, C2 */
static void crowd_check_healthy(world *w) {
  if (w->results.marks > 0) world_fail(w, "C1: %" PRIu64 " hosts were marked", w->results.marks);
  for (uint32_t i = 0; i < w->plan.hosts && !w->has_failed; i++) {
    volt_cluster_lease_stats stats;
    volt_cluster_sem_stats(w->hosts[i].sem[0], &stats);
    if (stats.rests == 0) continue;
    world_fail(w, "C2: host %u has rested, and its link is good", w->hosts[i].number);
  }
}

bool crowd_run(world *w, uint64_t seed, bool is_traced, bool is_shown) {
  plan p;
  crowd_plan_of(&p, seed);
  world_begin(w, &p, is_traced);
  world_phase(w, PHASE_QUIET);
  for (uint32_t i = 0; i < p.hosts; i++) host_begin(w, &w->hosts[i]);
  /* Each makes some five writes for that. And one takes after the other. */
  uint64_t round_ns = crowd_round_ns(&p), writes = 5 * p.hosts;
  uint64_t come_ns = w->phase_ns + writes * SECOND / p.ensemble.writes_per_s + SECOND;
  while (volt_ensemble_now_ns(w->e) < come_ns + 3 * round_ns && !w->has_failed) {
    world_go_on(w, 50 * MS);
    crowd_check_waits(w, come_ns);
  }
  crowd_check_healthy(w);
  if (is_shown || w->has_failed) {
    printf("seed %" PRIu64 ": %u hosts, limit %u, %u writes/s: %" PRIu64
           " permits, longest without %" PRIu64 " ms of %" PRIu64 ", %" PRIu64 " marks\n",
           seed, p.hosts, p.limit, p.ensemble.writes_per_s, w->results.grants,
           w->results.wait_most_ns / MS, round_ns / MS, w->results.marks);
  }
  if (w->has_failed) return false; /* what is left is the process's to free */
  world_end(w);
  return !w->has_failed;
}
