/* check.c: what must hold, at every step.
 *
 * I1  At most `limit` slots are leased, or fewer than before if the limit was lowered.
 * I2  No slot has two holders whose permits are valid, by the clocks of their own hosts.
 * I3  The fence of a slot only rises, in the order in which valid permits are granted.
 * I4  A wait ends with a result (host.c), and within a bound while the world is quiet.
 * I5  The first host of a queue that is not marked is served within a bound while the world is quiet, if slots are
 *     free, or another host has more than its share.
 * I6  A session has one place in a queue and one among the holders at most.
 * I7  Nothing is written while no task wants anything (world.c).
 * I8  A permit that was not valid any more after its host has run is not valid again.
 * I9  A slot is taken by the first in the queue that is not marked, or by one before it.
 * I10 No node of a queue, a holder or a slot is left when all hosts have closed.
 * I11 An entry is marked only if it was the first one without a mark for four quanta. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "simulation.h"

/* ---- nodes ---- */

static watched *check_sem_of(world *w, const char *path, const char **rest) {
  if (strncmp(path, "/volt/", 6) != 0) return NULL;
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    size_t size = strlen(w->sem[i].name);
    if (strncmp(path + 6, w->sem[i].name, size) != 0) continue;
    if (path[6 + size] != 0 && path[6 + size] != '/') continue;
    *rest = path + 6 + size;
    return &w->sem[i];
  }
  return NULL;
}

/* For so long a transaction that was decided by the limit before may still come. */
static uint64_t check_grace_ns(const world *w) {
  return 4 * w->plan.session_ns + 2 * SECOND;
}

static void check_limit_set(world *w, watched *s, const char *data, uint32_t size) {
  char text[512];
  snprintf(text, sizeof text, "%.*s", (int)size, data ? data : "");
  const char *at = strstr(text, "\nlimit ");
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  uint32_t limit = at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
  uint32_t most = s->limit;
  if (now_ns < s->before_ns && s->limit_before > most) most = s->limit_before;
  s->limit_before = most;
  s->before_ns = now_ns + check_grace_ns(w);
  s->limit = limit;
}

/* The first that is not marked; NULL: none. */
static queued *check_first(watched *s) {
  for (uint32_t i = 0; i < s->queue_count; i++)
    if (!s->queue[i].is_marked) return &s->queue[i];
  return NULL;
}

/* Whether it is one that may take: those before the first without a mark may, too. */
static bool check_may_take(watched *s, uint64_t owner) {
  const queued *first = check_first(s);
  for (uint32_t i = 0; i < s->queue_count; i++) {
    if (s->queue[i].owner == owner) return true;
    if (&s->queue[i] == first) return false;
  }
  return false;
}

static void check_slot_changed(world *w, watched *s, const volt_ensemble_change *change,
                               const char *slot) {
  uint32_t i = (uint32_t)strtoul(slot, NULL, 10);
  REQUIRE(i < SLOTS_MAX);
  bool is_made = change->kind == VOLT_CLUSTER_CREATE;
  if (change->kind == VOLT_CLUSTER_SET) return;
  REQUIRE((s->owner[i] != 0) != is_made);
  s->owner[i] = is_made ? change->node.owner : 0;
  s->leased += is_made ? 1 : -1u;
  if (!is_made) return;
  if (!check_may_take(s, change->node.owner)) {
    world_fail(w, "I9: slot %u of %s is taken by session %" PRIx64 ", which is not the first", i,
               s->name, change->node.owner);
  }
  uint32_t limit = s->limit;
  if (volt_ensemble_now_ns(w->e) < s->before_ns && s->limit_before > limit) limit = s->limit_before;
  if (i >= limit)
    world_fail(w, "I1: slot %u of %s is leased, and the limit is %u", i, s->name, limit);
}

/* As the library computes it, or less. */
static uint64_t check_quantum_min_ns(const world *w) {
  return w->plan.quantum_ns > 0 ? w->plan.quantum_ns : 50 * MS;
}

static void check_marked(world *w, watched *s, const char *name) {
  queued *first = check_first(s);
  uint64_t since_ns = volt_ensemble_now_ns(w->e) - s->head_since_ns;
  w->results.marks += 1;
  if (!first || strcmp(first->name, name) != 0) {
    world_fail(w, "I11: %s is marked in the queue of %s, and is not the first", name, s->name);
  } else if (since_ns < check_quantum_min_ns(w) / 100 * 98 * 4) { /* clocks differ */
    world_fail(w, "I11: %s is marked in the queue of %s, and was the first for %" PRIu64 " ms only",
               name, s->name, since_ns / MS);
  } else {
    first->is_marked = true;
  }
}

static void check_queue_changed(world *w, watched *s, const volt_ensemble_change *change,
                                const char *name) {
  if (change->kind == VOLT_CLUSTER_SET) {
    check_marked(w, s, name);
    return;
  }
  if (change->kind == VOLT_CLUSTER_CREATE) {
    if (s->queue_count == s->queue_size) {
      s->queue_size = s->queue_size ? 2 * s->queue_size : 64;
      s->queue = (queued *)realloc(s->queue, s->queue_size * sizeof *s->queue);
      REQUIRE(s->queue);
    }
    uint32_t generation = (uint32_t)strtoul(name + 1, NULL, 10), at = s->queue_count++;
    while (at > 0 && s->queue[at - 1].generation > generation) {
      s->queue[at] = s->queue[at - 1];
      at -= 1;
    }
    queued *q = &s->queue[at];
    q->generation = generation;
    q->created = change->node.created;
    q->owner = change->node.owner;
    q->is_marked = false;
    snprintf(q->name, sizeof q->name, "%s", name);
    return;
  }
  w->results.departures += 1;
  for (uint32_t i = 0; i < s->queue_count; i++) {
    if (strcmp(s->queue[i].name, name) != 0) continue;
    memmove(&s->queue[i], &s->queue[i + 1], (s->queue_count - i - 1) * sizeof *s->queue);
    s->queue_count -= 1;
    return;
  }
  REQUIRE(false && "a node of the queue is known");
}

static void check_note_head(const world *w, watched *s) {
  const queued *first = check_first(s);
  uint64_t head = first ? first->created : 0;
  if (head == s->head) return;
  s->head = head;
  s->head_since_ns = volt_ensemble_now_ns(w->e);
  s->due_since_ns = 0;
}

void check_changed(void *ctx, const volt_ensemble_change *change) {
  world *w = (world *)ctx;
  const char *rest;
  watched *s = check_sem_of(w, change->path, &rest);
  if (!s) return;
  if (*rest == 0) {
    if (change->kind == VOLT_CLUSTER_DELETE) check_limit_set(w, s, NULL, 0);
    if (change->kind != VOLT_CLUSTER_DELETE) check_limit_set(w, s, change->data, change->size);
    return;
  }
  const char *name = strchr(rest + 1, '/');
  if (!name) return; /* a directory */
  if (rest[1] == 's') check_slot_changed(w, s, change, name + 1);
  if (rest[1] == 'q') check_queue_changed(w, s, change, rest + 1);
  if (rest[1] == 'h' && change->kind == VOLT_CLUSTER_DELETE) w->results.departures += 1;
  check_note_head(w, s);
}

/* ---- permits ---- */

static bool check_is_valid(const worker *t) {
  if (t->h->is_dead || t->session == t->h->void_session) return false;
  return volt_cluster_permit_is_valid(&t->permit);
}

static void check_against(world *w, const worker *t) {
  const watched *s = &w->sem[t->sem];
  for (const worker *other = s->held[t->fence.slot]; other; other = other->next_of_slot) {
    if (other == t || !check_is_valid(other) || !check_is_valid(t)) continue;
    world_fail(w,
               "I2: slot %u of %s is held by host %u (epoch %" PRIx64
               ") and host %u (epoch %" PRIx64 "), both valid",
               t->fence.slot, s->name, t->h->number, t->fence.epoch, other->h->number,
               other->fence.epoch);
    return;
  }
}

static void check_fence(world *w, const worker *t) {
  watched *s = &w->sem[t->sem];
  uint32_t i = t->fence.slot;
  if (!check_is_valid(t)) return;
  if (s->has_last[i] && volt_cluster_fence_compare(&s->last[i], &t->fence) >= 0) {
    world_fail(w,
               "I3: the fence of slot %u of %s goes from %u.%" PRIx64 ".%" PRIu64 " to %u.%" PRIx64
               ".%" PRIu64,
               i, s->name, s->last[i].era, s->last[i].epoch, s->last[i].grant, t->fence.era,
               t->fence.epoch, t->fence.grant);
  }
  s->last[i] = t->fence;
  s->has_last[i] = true;
}

void check_granted(worker *t) {
  if (t->h->is_dead) return;
  REQUIRE(t->fence.slot < SLOTS_MAX);
  volt_cluster_stats_of stats;
  volt_cluster_stats(t->h->cluster, &stats);
  t->session = stats.session;
  worker **slot = &t->w->sem[t->sem].held[t->fence.slot];
  t->holds = true;
  t->was_invalid = false;
  t->next_of_slot = *slot;
  t->here_of_slot = slot;
  if (*slot) (*slot)->here_of_slot = &t->next_of_slot;
  *slot = t;
  t->next_of_host = t->h->holding;
  t->here_of_host = &t->h->holding;
  if (t->next_of_host) t->next_of_host->here_of_host = &t->next_of_host;
  t->h->holding = t;
  world_trace(t->w,
              "host %u task %u holds slot %u.%" PRIx64 ".%" PRIu64 ", valid until %" PRIu64
              " (now %" PRIu64 ")",
              t->h->number, t->number, t->fence.slot, t->fence.epoch, t->fence.grant,
              volt_cluster_permit_valid_until_ns(&t->permit) / 1000,
              volt_ensemble_host_now_ns(t->w->e, t->h->number) / 1000);
  check_fence(t->w, t);
  check_against(t->w, t);
}

void check_releases(worker *t) {
  if (!t->holds) return;
  t->holds = false;
  *t->here_of_slot = t->next_of_slot;
  if (t->next_of_slot) t->next_of_slot->here_of_slot = t->here_of_slot;
  *t->here_of_host = t->next_of_host;
  if (t->next_of_host) t->next_of_host->here_of_host = t->here_of_host;
  world_trace(t->w, "host %u task %u releases slot %u", t->h->number, t->number, t->fence.slot);
}

static void check_stays_lost(world *w, worker *t) {
  bool is_valid = check_is_valid(t);
  if (is_valid && t->was_invalid) {
    world_fail(w, "I8: the permit of slot %u of %s of host %u is valid again", t->fence.slot,
               w->sem[t->sem].name, t->h->number);
  }
  t->was_invalid = !is_valid;
}

/* Only a host that has run can make a permit valid. */
void check_step(world *w) {
  uint32_t ran = volt_ensemble_host_ran(w->e);
  if (ran == VOLT_ENSEMBLE_NONE) return;
  for (uint32_t i = 0; i < w->host_count; i++) {
    const host *h = &w->hosts[i];
    if (!h->is_there || h->number != ran) continue;
    for (worker *t = h->holding; t; t = t->next_of_host) {
      if (w->sem[t->sem].held[t->fence.slot]->next_of_slot) check_against(w, t);
      check_stays_lost(w, t);
    }
  }
}

/* ---- bounds ---- */

/* As the library computes it, or more. */
static uint64_t check_quantum_ns(const world *w) {
  uint32_t slots = w->sem[0].limit > w->plan.limit ? w->sem[0].limit : w->plan.limit;
  uint64_t ns = 8 * MS * (w->plan.hosts < slots ? w->plan.hosts : slots);
  if (ns < 50 * MS) ns = 50 * MS;
  return w->plan.quantum_ns > ns ? w->plan.quantum_ns : ns;
}

static uint64_t check_write_ns(const world *w) {
  const volt_ensemble_config *c = &w->plan.ensemble;
  return 6 * (c->hop_ns + c->hop_more_ns) + c->log_ns + c->log_more_ns;
}

/* Those that have slots may have to look one after the other. */
static uint64_t check_head_bound_ns(const world *w) {
  uint64_t each_ns = check_quantum_ns(w) + 8 * check_write_ns(w);
  return (w->plan.hosts + 3) * each_ns + 2 * w->plan.section_ns + SECOND / 5;
}

/* Its host is served after all others, and again, until all before the task in its host were. */
static uint64_t check_wait_bound_ns(const world *w) {
  uint64_t quantum_ns = check_quantum_ns(w), section_ns = w->plan.section_ns;
  uint64_t at_once = quantum_ns > section_ns ? quantum_ns / section_ns : 1;
  uint64_t rounds = (w->plan.tasks + at_once - 1) / at_once;
  uint64_t each_ns = quantum_ns + 2 * section_ns + 10 * check_write_ns(w);
  return rounds * (w->plan.hosts + 3) * each_ns + SECOND;
}

/* All that queue are served once more, one after the other. */
uint64_t check_idle_bound_ns(const world *w) {
  uint64_t linger_ns = w->plan.linger_ns > 0 ? w->plan.linger_ns : check_quantum_ns(w);
  return check_wait_bound_ns(w) + 3 * linger_ns * w->plan.hosts + w->plan.think_ns + SECOND;
}

static bool check_is_quiet(const world *w) {
  return w->phase == PHASE_QUIET || w->phase == PHASE_IDLE;
}

/* A wait counts from when the world is quiet. */
static uint64_t check_waited_ns(const world *w, uint64_t since_ns) {
  uint64_t quiet_ns = w->phase_ns;
  uint64_t from_ns = since_ns > quiet_ns ? since_ns : quiet_ns;
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  return check_is_quiet(w) && now_ns > from_ns ? now_ns - from_ns : 0;
}

void check_waits(worker *t) {
  world_trace(t->w, "host %u task %u wants %s", t->h->number, t->number, t->w->sem[t->sem].name);
}

void check_ends_wait(worker *t) {
  world *w = t->w;
  uint64_t waited_ns = check_waited_ns(w, t->since_ns);
  if (t->result != VOLT_OK) {
    world_trace(w, "host %u task %u: its wait ends: %d", t->h->number, t->number, t->result);
  }
  if (!t->h->is_dead && waited_ns > w->results.wait_most_ns) w->results.wait_most_ns = waited_ns;
}

static void check_one_place(world *w, const watched *s) {
  for (uint32_t i = 0; i < s->queue_count; i++) {
    for (uint32_t j = i + 1; j < s->queue_count; j++) {
      if (s->queue[i].owner != s->queue[j].owner) continue;
      world_fail(w, "I6: session %" PRIx64 " is twice in the queue of %s: %s and %s",
                 s->queue[i].owner, s->name, s->queue[i].name, s->queue[j].name);
      return;
    }
  }
}

static uint32_t check_leased_by(const watched *s, uint64_t session) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < SLOTS_MAX; i++) count += s->owner[i] == session;
  return count;
}

static bool check_is_first_of(const watched *s, uint32_t slot) {
  for (uint32_t i = 0; i < slot; i++) {
    if (s->owner[i] == s->owner[slot]) return false;
  }
  return true;
}

/* How many sessions have slots or are in the queue; *most: what one of them has, but not `but`. */
static uint32_t check_hosts(const watched *s, uint64_t but, uint32_t *most) {
  uint32_t hosts = 0;
  *most = 0;
  for (uint32_t i = 0; i < SLOTS_MAX; i++) {
    if (s->owner[i] == 0 || !check_is_first_of(s, i)) continue;
    uint32_t leased = check_leased_by(s, s->owner[i]);
    hosts += 1;
    if (s->owner[i] != but && leased > *most) *most = leased;
  }
  for (uint32_t i = 0; i < s->queue_count; i++) hosts += check_leased_by(s, s->queue[i].owner) == 0;
  return hosts;
}

/* Whether the first in the queue has to be served soon. */
static bool check_is_due(watched *s) {
  const queued *first = check_first(s);
  if (!first) return false;
  if (s->leased < s->limit) return true;
  uint64_t head = first->owner;
  uint32_t most, has = check_leased_by(s, head), hosts = check_hosts(s, head, &most);
  uint32_t high = (s->limit + hosts - 1) / hosts, low = s->limit / hosts;
  return most > has && (most > high || (most == high && high > low));
}

static void check_head(world *w, watched *s) {
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  if (!check_is_due(s)) {
    s->due_since_ns = 0;
    return;
  }
  if (s->due_since_ns == 0) s->due_since_ns = now_ns;
  uint64_t waited_ns = check_waited_ns(w, s->due_since_ns);
  if (waited_ns > w->results.head_most_ns) w->results.head_most_ns = waited_ns;
  if (waited_ns <= check_head_bound_ns(w)) return;
  world_fail(w, "I5: %s is first in the queue of %s for %" PRIu64 " ms, more than %" PRIu64,
             check_first(s)->name, s->name, waited_ns / MS, check_head_bound_ns(w) / MS);
}

static void check_waiter(world *w, const worker *t) {
  if (!t->is_waiting || w->sem[t->sem].limit == 0) return;
  uint64_t waited_ns = check_waited_ns(w, t->since_ns);
  if (waited_ns <= check_wait_bound_ns(w)) return;
  world_fail(w, "I4: host %u task %u waits for %" PRIu64 " ms, more than %" PRIu64, t->h->number,
             t->number, waited_ns / MS, check_wait_bound_ns(w) / MS);
}

void check_bounds(world *w) {
  if (!check_is_quiet(w)) return;
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    check_head(w, &w->sem[i]);
    check_one_place(w, &w->sem[i]);
  }
  for (uint32_t i = 0; i < w->host_count; i++) {
    const host *h = &w->hosts[i];
    if (!h->is_there || h->is_dead) continue;
    for (uint32_t j = 0; j < w->plan.tasks; j++) check_waiter(w, &h->workers[j]);
  }
}

/* ---- begin and end ---- */

void check_begin(world *w) {
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    memset(&w->sem[i], 0, sizeof w->sem[i]);
    snprintf(w->sem[i].name, sizeof w->sem[i].name, "shop%u", i);
  }
}

void check_end(world *w) {
  for (uint32_t i = 0; i < w->plan.sems; i++) free(w->sem[i].queue);
}

void check_nothing_left(world *w) {
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    const watched *s = &w->sem[i];
    if (s->leased == 0 && s->queue_count == 0) continue;
    world_fail(w, "I10: %u slots and %u places in the queue of %s are left", s->leased,
               s->queue_count, s->name);
  }
}
