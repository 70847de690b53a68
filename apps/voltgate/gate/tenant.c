/* tenant.c: the tenants of a gate, by name.
 *
 * A tenant is made when a client of it comes. There are tenant-max at most, besides those that have
 * settings of their own and the one called "other", which is there from the beginning. If there are
 * as many, one that has no client gives its place and its memory to the new one: its series vanish
 * from the metrics, and if it comes back, its counters begin at 0, as those of a program that was
 * started again. If each has a client, the new one's clients belong to "other".
 *
 * Memory of tenants is never freed before the gate ends, because a note of turns.c may still point
 * to it; it is used again for another tenant. All of turns.c stays as it is then: that is correct,
 * because it belongs to no name.
 *
 * Locks: a bucket's for its list, and for a client to come to a tenant of it; `make`, before a
 * bucket's, to make or forget one. A client leaves without a lock. */
#include "gate/tenant.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TENANTS_BUCKETS = 256,
  TENANTS_LOOKED_AT = 64,
  TENANT_HASH = 17, /* "~" and 16 digits, at the end of a name that was cut */
  TENANT_NAME_CUT = TENANT_NAME_MAX - 1 - 3 /* such a name is at least as long */
};

struct bucket {
  pthread_mutex_t lock;
  struct tenant *first;
};

struct tenants {
  struct bucket buckets[TENANTS_BUCKETS];
  struct turns *turns;
  pthread_mutex_t make; /* for all that follows */
  const struct gate_settings *settings;
  struct tenant **all;
  size_t count, room;
  size_t made; /* those that may be forgotten */
  size_t hand; /* where to look for one to forget */
  struct tenant *other;
  struct lessor *lessor; /* or NULL */
};

/* ---- names ---- */

static uint64_t tenant_hash(const char *name) { /* FNV-1a */
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return hash;
}

void tenant_name(char to[TENANT_NAME_MAX], const char *name) {
  size_t size = strlen(name);
  if (size < TENANT_NAME_MAX) {
    memcpy(to, name, size + 1);
    return;
  }
  char hash[TENANT_HASH + 1];
  snprintf(hash, sizeof hash, "~%016llx", (unsigned long long)tenant_hash(name));
  size_t kept = TENANT_NAME_MAX - sizeof hash;
  while (kept > 0 && ((unsigned char)name[kept] & 0xc0) == 0x80) kept -= 1; /* not within UTF-8 */
  memcpy(to, name, kept);
  memcpy(to + kept, hash, sizeof hash);
}

static struct bucket *tenants_bucket(struct tenants *t, const char *name) {
  return &t->buckets[(tenant_hash(name) >> 32) % TENANTS_BUCKETS];
}

static struct tenant *bucket_find(const struct bucket *b, const char *name) {
  for (struct tenant *one = b->first; one; one = one->next) {
    if (strcmp(one->name, name) == 0) return one;
  }
  return NULL;
}

/* The tenant of that name, with a client more; or NULL. */
static struct tenant *bucket_enter(struct bucket *b, const char *name) {
  pthread_mutex_lock(&b->lock);
  struct tenant *one = bucket_find(b, name);
  if (one) atomic_fetch_add_explicit(&one->clients, 1, memory_order_relaxed);
  pthread_mutex_unlock(&b->lock);
  return one;
}

/* ---- make and forget: under `make` ---- */

/* The settings of a tenant by its name as it is kept. A section's name may be longer. */
static const struct tenant_settings *tenants_settings(const struct gate_settings *settings,
                                                      const char *name) {
  const struct tenant_settings *s = settings_tenant(settings, name);
  if (s->name || strlen(name) < TENANT_NAME_CUT) return s;
  for (size_t i = 0; i < settings->tenant_count; i++) {
    char kept[TENANT_NAME_MAX];
    tenant_name(kept, settings->tenants[i].name);
    if (strcmp(kept, name) == 0) return &settings->tenants[i];
  }
  return s;
}

/* It has no limit of its own any more, or is forgotten. */
static void tenants_end_lease(struct tenants *t, struct tenant *one) {
  struct lease *lease = tenant_lease(one);
  if (!lease) return;
  turns_member_set_lease(&one->turns, NULL);
  t->lessor->end(lease);
}

/* Its limit is the lease's to set, if it has one and there is a cluster. Returns the limit to set. */
static uint32_t tenants_lease_one(struct tenants *t, struct tenant *one, uint32_t limit) {
  const struct lease_target target = {&one->turns.permits, &one->turns.wants};
  if (limit == 0 || !t->lessor) {
    tenants_end_lease(t, one);
    return limit == 0 ? VOLT_SEM_MAX : limit;
  }
  struct lease *lease = t->lessor->lease(t->lessor, t->settings, one->name, limit, &target);
  turns_member_set_lease(&one->turns, lease);
  return limit; /* in force only if there was no memory for a lease */
}

static struct tenant *tenants_allocate(struct tenants *t) {
  if (t->count == t->room) {
    size_t room = t->room ? 2 * t->room : 16;
    struct tenant **all = realloc(t->all, room * sizeof all[0]);
    if (!all) return NULL;
    t->all = all;
    t->room = room;
  }
  struct tenant *one = calloc(1, sizeof *one);
  if (!one) return NULL;
  turns_member_init(&one->turns, t->turns, VOLT_SEM_MAX, 1, 1);
  t->all[t->count] = one;
  t->count += 1;
  return one;
}

static void tenants_insert(struct tenants *t, struct tenant *one, const char *name,
                           unsigned clients) {
  const struct tenant_settings *s = tenants_settings(t->settings, name);
  snprintf(one->name, sizeof one->name, "%s", name);
  atomic_store_explicit(&one->clients, clients, memory_order_relaxed);
  struct bucket *b = tenants_bucket(t, name);
  pthread_mutex_lock(&b->lock);
  one->next = b->first;
  b->first = one;
  pthread_mutex_unlock(&b->lock);
  uint32_t limit = tenants_lease_one(t, one, s->limit);
  turns_member_set(&one->turns, limit, s->weight, s->cost); /* reports it, too */
}

/* Take it out of its bucket if it has no client. */
static bool tenants_forget(struct tenants *t, struct tenant *one) {
  struct bucket *b = tenants_bucket(t, one->name);
  pthread_mutex_lock(&b->lock);
  /* tenant:C1 <- tenant:C2: all that its clients did to it */
  bool is_idle = !one->is_kept && atomic_load_explicit(&one->clients, memory_order_acquire) == 0;
  if (is_idle) {
    struct tenant **link = &b->first;
    while (*link != one) link = &(*link)->next;
    *link = one->next;
  }
  pthread_mutex_unlock(&b->lock);
  if (!is_idle) return false;
  tenants_end_lease(t, one);
  volt_shared_histogram_clear_(&one->wait);
  volt_shared_histogram_clear_(&one->hold);
  atomic_store_explicit(&one->refused, 0, memory_order_relaxed);
  return true;
}

/* One that was forgotten, or NULL. */
static struct tenant *tenants_find_idle(struct tenants *t) {
  for (size_t i = 0; i < TENANTS_LOOKED_AT && i < t->count; i++) {
    t->hand = (t->hand + 1) % t->count;
    if (tenants_forget(t, t->all[t->hand])) return t->all[t->hand];
  }
  return NULL;
}

/* Make the tenants that have sections, and say which those are. Returns false: no memory. */
static bool tenants_make_sections(struct tenants *t) {
  for (size_t i = 0; i < t->settings->tenant_count; i++) {
    char name[TENANT_NAME_MAX];
    tenant_name(name, t->settings->tenants[i].name);
    if (bucket_find(tenants_bucket(t, name), name)) continue; /* only `make` changes the list */
    struct tenant *one = tenants_allocate(t);
    if (!one) return false;
    one->is_kept = true;
    tenants_insert(t, one, name, 0);
  }
  return true;
}

static struct tenant *tenants_make(struct tenants *t, const char *name) {
  struct tenant *one = NULL;
  if (t->made < t->settings->tenant_max) {
    one = tenants_allocate(t);
    if (one) t->made += 1;
  } else {
    one = tenants_find_idle(t);
    if (!one) {
      atomic_fetch_add_explicit(&t->other->clients, 1, memory_order_relaxed);
      return t->other;
    }
  }
  if (one) tenants_insert(t, one, name, 1);
  return one;
}

/* ---- */

struct tenants *tenants_new(struct turns *turns, const struct gate_settings *settings) {
  struct tenants *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->turns = turns;
  t->settings = settings;
  for (unsigned i = 0; i < TENANTS_BUCKETS; i++) pthread_mutex_init(&t->buckets[i].lock, NULL);
  pthread_mutex_init(&t->make, NULL);
  t->other = tenants_allocate(t);
  if (t->other) {
    t->other->is_kept = t->other->is_spare = true;
    tenants_insert(t, t->other, "other", 0);
  }
  if (!t->other || !tenants_make_sections(t)) {
    tenants_free(t);
    return NULL;
  }
  return t;
}

void tenants_free(struct tenants *t) {
  if (!t) return;
  for (size_t i = 0; i < t->count; i++) {
    volt_sem_destroy(&t->all[i]->turns.grants);
    volt_sem_destroy(&t->all[i]->turns.permits);
    free(t->all[i]);
  }
  free(t->all);
  for (unsigned i = 0; i < TENANTS_BUCKETS; i++) pthread_mutex_destroy(&t->buckets[i].lock);
  pthread_mutex_destroy(&t->make);
  free(t);
}

struct tenant *tenants_enter(struct tenants *t, const char *whole_name) {
  char name[TENANT_NAME_MAX];
  tenant_name(name, whole_name);
  struct bucket *b = tenants_bucket(t, name);
  struct tenant *one = bucket_enter(b, name);
  if (one) return one;
  pthread_mutex_lock(&t->make);
  one = bucket_enter(b, name); /* another thread may have made it */
  if (!one) one = tenants_make(t, name);
  pthread_mutex_unlock(&t->make);
  return one;
}

void tenant_leave(struct tenants *t, struct tenant *tenant) {
  (void)t;
  /* tenant:C2 -> tenant:C1 */
  atomic_fetch_sub_explicit(&tenant->clients, 1, memory_order_release);
}

void tenants_set(struct tenants *t, const struct gate_settings *settings) {
  pthread_mutex_lock(&t->make);
  t->settings = settings;
  for (size_t i = 0; i < t->count; i++) {
    struct tenant *one = t->all[i];
    const struct tenant_settings *s = tenants_settings(settings, one->name);
    uint32_t limit = tenants_lease_one(t, one, s->limit);
    turns_member_set(&one->turns, limit, s->weight, s->cost);
    bool is_kept = one == t->other || s->name != NULL;
    if (is_kept != one->is_kept) t->made += is_kept ? (size_t)-1 : 1;
    one->is_kept = is_kept;
  }
  (void)tenants_make_sections(t); /* no memory: it is made when a client comes */
  pthread_mutex_unlock(&t->make);
}

bool tenants_set_limit(struct tenants *t, const char *whole_name, uint32_t limit) {
  char name[TENANT_NAME_MAX];
  tenant_name(name, whole_name);
  pthread_mutex_lock(&t->make);
  struct tenant *one = bucket_find(tenants_bucket(t, name), name);
  if (one) {
    uint32_t set = tenants_lease_one(t, one, limit);
    if (!tenant_lease(one)) volt_sem_set_limit(&one->turns.permits, set);
    turns_report(&one->turns.note);
    if (!one->is_kept) t->made -= 1;
    one->is_kept = true; /* until new settings are read */
  }
  pthread_mutex_unlock(&t->make);
  return one != NULL;
}

struct lease *tenants_lease(struct tenants *t, const char *whole_name) {
  char name[TENANT_NAME_MAX];
  tenant_name(name, whole_name);
  struct bucket *b = tenants_bucket(t, name);
  pthread_mutex_lock(&b->lock);
  struct tenant *one = bucket_find(b, name);
  struct lease *lease = one ? tenant_lease(one) : NULL;
  pthread_mutex_unlock(&b->lock);
  return lease;
}

bool tenants_lease_from(struct tenants *t, struct lessor *lessor) {
  bool is_whole = true;
  pthread_mutex_lock(&t->make);
  t->lessor = lessor;
  for (size_t i = 0; i < t->count; i++) {
    struct tenant *one = t->all[i];
    uint32_t limit = tenants_settings(t->settings, one->name)->limit;
    (void)tenants_lease_one(t, one, limit);
    is_whole = is_whole && (limit == 0 || tenant_lease(one));
  }
  pthread_mutex_unlock(&t->make);
  return is_whole;
}

void tenants_end_leases(struct tenants *t) {
  pthread_mutex_lock(&t->make);
  for (size_t i = 0; i < t->count; i++) tenants_end_lease(t, t->all[i]);
  pthread_mutex_unlock(&t->make);
}

uint64_t tenant_admitted(const struct tenant *tenant) {
  volt_histogram waits = {.count = 0};
  volt_shared_histogram_read_(&tenant->wait, &waits);
  return waits.count;
}

void tenants_tell(struct tenants *t) {
  pthread_mutex_lock(&t->make);
  for (size_t i = 0; i < t->count; i++) turns_report(&t->all[i]->turns.note);
  pthread_mutex_unlock(&t->make);
}

void tenants_each(struct tenants *t, void (*visit)(void *arg, struct tenant *tenant), void *arg) {
  for (unsigned i = 0; i < TENANTS_BUCKETS; i++) {
    struct bucket *b = &t->buckets[i];
    pthread_mutex_lock(&b->lock);
    for (struct tenant *one = b->first; one; one = one->next) visit(arg, one);
    pthread_mutex_unlock(&b->lock);
  }
}
