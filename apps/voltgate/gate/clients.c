/* clients.c: the clients of a gate, in shards, so that workers that add and remove do not meet. */
#include "gate/clients.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/tenant.h"

void clients_init(struct clients *c) {
  for (unsigned i = 0; i < CLIENTS_SHARDS; i++) {
    pthread_mutex_init(&c->shards[i].lock, NULL);
    c->shards[i].first = NULL;
  }
  atomic_init(&c->count, 0);
  atomic_init(&c->turn, 0);
}

void clients_destroy(struct clients *c) {
  for (unsigned i = 0; i < CLIENTS_SHARDS; i++) pthread_mutex_destroy(&c->shards[i].lock);
}

void clients_add(struct clients *c, struct client *one) {
  atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed);
  unsigned turn = atomic_fetch_add_explicit(&c->turn, 1, memory_order_relaxed);
  one->shard = (uint8_t)(turn % CLIENTS_SHARDS);
  struct clients_shard *shard = &c->shards[one->shard];
  pthread_mutex_lock(&shard->lock);
  one->previous = NULL;
  one->next = shard->first;
  if (one->next) one->next->previous = one;
  shard->first = one;
  pthread_mutex_unlock(&shard->lock);
}

void clients_remove(struct clients *c, struct client *one) {
  struct clients_shard *shard = &c->shards[one->shard];
  pthread_mutex_lock(&shard->lock);
  if (one->next) one->next->previous = one->previous;
  *(one->previous ? &one->previous->next : &shard->first) = one->next;
  pthread_mutex_unlock(&shard->lock);
  atomic_fetch_sub_explicit(&c->count, 1, memory_order_relaxed);
}

/* ---- addresses ---- */

void client_address_set(struct client *one, const volt_address *address) {
  one->address.family = AF_UNIX;
  one->address.port = 0;
  if (address->size == 0) return;
  one->address.family = (unsigned char)address->as.any.sa_family;
  if (one->address.family == AF_INET) {
    one->address.port = ntohs(address->as.v4.sin_port);
    memcpy(one->address.bytes, &address->as.v4.sin_addr, 4);
  } else if (one->address.family == AF_INET6) {
    one->address.port = ntohs(address->as.v6.sin6_port);
    memcpy(one->address.bytes, &address->as.v6.sin6_addr, 16);
  }
}

const char *client_address_text(const struct client *one, char to[VOLT_ADDRESS_TEXT]) {
  char number[INET6_ADDRSTRLEN];
  if (one->address.family != AF_INET && one->address.family != AF_INET6) return strcpy(to, "unix");
  inet_ntop(one->address.family, one->address.bytes, number, sizeof number);
  const char *form = one->address.family == AF_INET ? "%s:%u" : "[%s]:%u";
  snprintf(to, VOLT_ADDRESS_TEXT, form, number, one->address.port);
  return to;
}

/* ---- what they do ---- */

static uint64_t seen_read(const atomic_uint_fast64_t *number) {
  return atomic_load_explicit(number, memory_order_relaxed); /* a snapshot */
}

void client_begins(struct client_details *d, uint64_t now_ns) {
  /* relaxed, here and below: they are looked at, and nothing follows of it */
  atomic_store_explicit(&d->up_before, seen_read(&d->up), memory_order_relaxed);
  atomic_store_explicit(&d->down_before, seen_read(&d->down), memory_order_relaxed);
  client_rests(d, false, now_ns);
}

void client_rests(struct client_details *d, bool rests, uint64_t now_ns) {
  atomic_store_explicit(rests ? &d->rests_ns : &d->asked_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&d->work, rests ? CLIENT_RESTS : CLIENT_ACTIVE, memory_order_relaxed);
}

/* ---- to be looked at ----
 * to[] is a heap with the youngest at its top, which the next older one replaces. */

static void seen_swap(struct client_seen *a, struct client_seen *b) {
  struct client_seen kept = *a;
  *a = *b;
  *b = kept;
}

static void seen_lift(struct client_seen *to, size_t at) {
  while (at > 0 && to[at].order > to[(at - 1) / 2].order) {
    seen_swap(&to[at], &to[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
}

static void seen_sink(struct client_seen *to, size_t count) {
  size_t at = 0;
  for (;;) {
    size_t most = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (to[child].order > to[most].order) most = child;
    }
    if (most == at) return;
    seen_swap(&to[at], &to[most]);
    at = most;
  }
}

static uint64_t seen_since(const atomic_uint_fast64_t *now, const atomic_uint_fast64_t *before) {
  uint64_t first = seen_read(before), last = seen_read(now);
  return last > first ? last - first : 0;
}

static void seen_set_details(struct client_seen *seen, const struct client *one) {
  /* clients:L2 <- clients:S2: what they point to is there */
  const struct client_details *d = atomic_load_explicit(&one->details, memory_order_acquire);
  if (!d) return;
  seen->work = (enum client_work)atomic_load_explicit(&d->work, memory_order_relaxed);
  seen->asked_ns = seen_read(&d->asked_ns);
  seen->rests_ns = seen_read(&d->rests_ns);
  seen->up = seen_since(&d->up, &d->up_before);
  seen->down = seen_since(&d->down, &d->down_before);
  snprintf(seen->user, sizeof seen->user, "%s", d->user ? d->user : "");
  snprintf(seen->database, sizeof seen->database, "%s", d->database ? d->database : "");
}

static void seen_set(struct client_seen *seen, const struct client *one, uint64_t order) {
  *seen = (struct client_seen){.order = order,
                               .ticket = seen_read(&one->ticket),
                               .since_ns = seen_read(&one->since_ns),
                               .deadline_ns = seen_read(&one->deadline_ns)};
  snprintf(seen->tenant, sizeof seen->tenant, "%s", one->tenant ? one->tenant->name : "");
  client_address_text(one, seen->address);
  seen_set_details(seen, one);
}

static size_t seen_add(struct client_seen *to, size_t count, size_t room, enum client_state state,
                       const struct client *one) {
  /* clients:L1 <- clients:S1: its tenant is set */
  if (atomic_load_explicit(&one->state, memory_order_acquire) != state) return count;
  uint64_t order = seen_read(state == CLIENT_QUEUED ? &one->ticket : &one->since_ns);
  if (count < room) {
    seen_set(&to[count], one, order);
    seen_lift(to, count);
    return count + 1;
  }
  if (order < to[0].order) {
    seen_set(&to[0], one, order);
    seen_sink(to, count);
  }
  return count;
}

static int seen_compare(const void *a, const void *b) {
  uint64_t left = ((const struct client_seen *)a)->order;
  uint64_t right = ((const struct client_seen *)b)->order;
  return (left > right) - (left < right);
}

size_t clients_oldest(struct clients *c, enum client_state state, struct client_seen *to,
                      size_t room) {
  size_t count = 0;
  if (room == 0) return 0;
  for (unsigned i = 0; i < CLIENTS_SHARDS; i++) {
    struct clients_shard *shard = &c->shards[i];
    pthread_mutex_lock(&shard->lock);
    for (const struct client *one = shard->first; one; one = one->next) {
      count = seen_add(to, count, room, state, one);
    }
    pthread_mutex_unlock(&shard->lock);
  }
  qsort(to, count, sizeof to[0], seen_compare);
  return count;
}
