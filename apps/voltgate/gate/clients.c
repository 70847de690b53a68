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

/* ---- the queue, to be looked at ----
 * to[] is a heap with the youngest at its top, which the next older one replaces. */

static void queued_swap(struct queued *a, struct queued *b) {
  struct queued kept = *a;
  *a = *b;
  *b = kept;
}

static void queued_lift(struct queued *to, size_t at) {
  while (at > 0 && to[at].ticket > to[(at - 1) / 2].ticket) {
    queued_swap(&to[at], &to[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
}

static void queued_sink(struct queued *to, size_t count) {
  size_t at = 0;
  for (;;) {
    size_t most = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (to[child].ticket > to[most].ticket) most = child;
    }
    if (most == at) return;
    queued_swap(&to[at], &to[most]);
    at = most;
  }
}

static void queued_set(struct queued *q, const struct client *one, uint64_t ticket) {
  q->ticket = ticket;
  q->since_ns = atomic_load_explicit(&one->since_ns, memory_order_relaxed);
  q->deadline_ns = atomic_load_explicit(&one->deadline_ns, memory_order_relaxed);
  snprintf(q->tenant, sizeof q->tenant, "%s", one->tenant ? one->tenant->name : "");
  client_address_text(one, q->address);
}

static size_t queued_add(struct queued *to, size_t count, size_t room, const struct client *one) {
  /* clients:L1 <- clients:S1: its tenant is set */
  if (atomic_load_explicit(&one->state, memory_order_acquire) != CLIENT_QUEUED) return count;
  uint64_t ticket = atomic_load_explicit(&one->ticket, memory_order_relaxed);
  if (count < room) {
    queued_set(&to[count], one, ticket);
    queued_lift(to, count);
    return count + 1;
  }
  if (ticket < to[0].ticket) {
    queued_set(&to[0], one, ticket);
    queued_sink(to, count);
  }
  return count;
}

static int queued_compare(const void *a, const void *b) {
  uint64_t left = ((const struct queued *)a)->ticket, right = ((const struct queued *)b)->ticket;
  return (left > right) - (left < right);
}

size_t clients_queued(struct clients *c, struct queued *to, size_t room) {
  size_t count = 0;
  if (room == 0) return 0;
  for (unsigned i = 0; i < CLIENTS_SHARDS; i++) {
    struct clients_shard *shard = &c->shards[i];
    pthread_mutex_lock(&shard->lock);
    for (const struct client *one = shard->first; one; one = one->next) {
      count = queued_add(to, count, room, one);
    }
    pthread_mutex_unlock(&shard->lock);
  }
  qsort(to, count, sizeof to[0], queued_compare);
  return count;
}
