/* zookeeper_servers.c: the names of the servers, and the addresses that they have now.
 *
 * Names are looked up on the runtime's blocking pool, one after another, before each round of
 * attempts. A name that is not found is left out; if none is found, the addresses of before stay.
 *   A lookup is a task of its own, because the system's call cannot be ended, and may take many seconds
 * if no name server answers. A host that is closed does not wait for it: it leaves the task, which
 * touches nothing of the host. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strndup */
#endif
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/os/hash.h"
#include "zookeeper_servers.h"

enum { SERVERS_PORT = 65535 };

/* "host:port": a host, or an address with brackets if it is of IPv6; a number. */
static bool zookeeper_servers_is_name(const char *text, size_t size) {
  size_t host = size;
  unsigned port = 0;
  while (host > 0 && text[host - 1] != ':') host--;
  if (host < 2 || host == size) return false;
  for (size_t i = host; i < size; i++) {
    if (text[i] < '0' || text[i] > '9' || port > SERVERS_PORT) return false;
    port = port * 10 + (unsigned)(text[i] - '0');
  }
  if (port == 0 || port > SERVERS_PORT || size >= VOLT_RESOLVE_TEXT) return false;
  host--;
  if (text[0] == '[') return host > 2 && text[host - 1] == ']';
  return !memchr(text, ':', host) && !memchr(text, '*', host) && !memchr(text, ' ', host);
}

static int zookeeper_servers_add(zookeeper_servers *s, const char *text, size_t size) {
  if (!zookeeper_servers_is_name(text, size)) return VOLT_EINVAL;
  char **names = (char **)realloc(s->names, (s->name_count + 1) * sizeof *names);
  if (!names) return VOLT_ENOMEM;
  s->names = names;
  names[s->name_count] = strndup(text, size);
  if (!names[s->name_count]) return VOLT_ENOMEM;
  s->name_count++;
  return VOLT_OK;
}

int zookeeper_servers_init_(zookeeper_servers *s, volt_rt *rt, const char *servers, size_t size) {
  int result = VOLT_OK;
  s->rt = rt;
  s->random = (uint64_t)(uintptr_t)s ^ volt_now_ns();
  for (size_t at = 0; at <= size && result == VOLT_OK;) {
    const char *comma = (const char *)memchr(servers + at, ',', size - at);
    size_t end = comma ? (size_t)(comma - servers) : size;
    result = zookeeper_servers_add(s, servers + at, end - at);
    at = end + 1;
  }
  return result;
}

void zookeeper_servers_free_(zookeeper_servers *s) {
  for (uint32_t i = 0; i < s->name_count; i++) free(s->names[i]);
  free(s->names);
  free(s->addresses);
}

uint64_t zookeeper_random_(zookeeper_servers *s) {
  return volt_random_(&s->random);
}

void zookeeper_address_text_(const volt_address *a, char to[ZOOKEEPER_ADDRESS_TEXT]) {
  char text[VOLT_ADDRESS_TEXT];
  const char *from = volt_address_text(a, text);
  size_t at = 0;
  for (; *from && at + 1 < ZOOKEEPER_ADDRESS_TEXT; from++) {
    if (*from != '[' && *from != ']') to[at++] = *from;
  }
  to[at] = 0;
}

/* ---- the lookup: a task ---- */

enum { SERVERS_MOST = 64 };

/* Its memory is its own, and the runtime's when it has ended. */
typedef struct zookeeper_lookup {
  volt_task task;
  volt_rt *rt;
  const char *name; /* that is being looked up */
  int result;
  volt_resolve resolve;
  uint32_t count;
  uint32_t failed; /* the number of a name that was not found, plus 1; 0: none */
  uint32_t number;
  char why[80];
  volt_address addresses[SERVERS_MOST];
  char names[]; /* each with a 0 behind it, and another 0 */
} zookeeper_lookup;

static void zookeeper_servers_lookup_add(zookeeper_lookup *l, const volt_address *a) {
  if (a->as.any.sa_family != AF_INET && a->as.any.sa_family != AF_INET6) return;
  for (uint32_t i = 0; i < l->count; i++) {
    const volt_address *other = &l->addresses[i];
    if (other->size == a->size && memcmp(&other->as, &a->as, a->size) == 0) return;
  }
  if (l->count < SERVERS_MOST) l->addresses[l->count++] = *a;
}

static void zookeeper_servers_lookup_take(zookeeper_lookup *l) {
  const char *why = volt_resolve_error(&l->resolve);
  l->number += 1;
  if (l->result == VOLT_OK) {
    for (size_t i = 0; i < l->resolve.count; i++)
      zookeeper_servers_lookup_add(l, &l->resolve.addresses[i]);
  } else {
    l->failed = l->number;
    (void)snprintf(l->why, sizeof l->why, "%s", why ? why : volt_strerror(l->result));
  }
  volt_resolve_free(&l->resolve);
}

static int zookeeper_servers_lookup_poll(volt_task *t, volt_ctx *ctx) {
  zookeeper_lookup *self = volt_container_of(t, zookeeper_lookup, task);
  VOLT_TASK_BEGIN(self);
  for (self->name = self->names; *self->name; self->name += strlen(self->name) + 1) {
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_resolve_future(&self->resolve, self->rt, self->name));
    zookeeper_servers_lookup_take(self);
    if (self->result == VOLT_ECANCELED) break; /* the host does not wait for it any more */
  }
  VOLT_TASK_END(self);
}

static zookeeper_lookup *zookeeper_servers_lookup_new(const zookeeper_servers *s) {
  size_t size = 1;
  for (uint32_t i = 0; i < s->name_count; i++) size += strlen(s->names[i]) + 1;
  zookeeper_lookup *l = (zookeeper_lookup *)volt_task_new(s->rt, sizeof(zookeeper_lookup) + size,
                                                          zookeeper_servers_lookup_poll);
  if (!l) return NULL;
  l->rt = s->rt;
  char *to = l->names;
  for (uint32_t i = 0; i < s->name_count; i++) to = stpcpy(to, s->names[i]) + 1;
  return l;
}

/* ---- what comes of it ---- */

/* In an order by chance, so that hosts spread over the servers. */
static void zookeeper_servers_shuffle(zookeeper_servers *s) {
  for (uint32_t i = s->count - 1; i > 0; i--) {
    uint32_t other = (uint32_t)(zookeeper_random_(s) % (i + 1));
    volt_address saved = s->addresses[i];
    s->addresses[i] = s->addresses[other];
    s->addresses[other] = saved;
  }
}

static void zookeeper_servers_take(zookeeper_servers *s, const zookeeper_lookup *l) {
  s->failed = l->failed ? s->names[l->failed - 1] : NULL;
  (void)snprintf(s->why, sizeof s->why, "%s", l->why);
  volt_address *addresses = l->count ? (volt_address *)malloc(l->count * sizeof *addresses) : NULL;
  if (!addresses) return; /* those of before stay */
  memcpy(addresses, l->addresses, l->count * sizeof *addresses);
  free(s->addresses);
  s->addresses = addresses;
  s->count = l->count;
  zookeeper_servers_shuffle(s);
}

static int zookeeper_servers_begin(zookeeper_servers *s) {
  s->lookup = zookeeper_servers_lookup_new(s);
  int result = volt_spawn(s->rt, s->lookup ? &s->lookup->task : NULL);
  if (result == VOLT_OK) return VOLT_OK;
  if (s->lookup) volt_task_detach(&s->lookup->task);
  s->lookup = NULL;
  (void)snprintf(s->why, sizeof s->why, "%s", volt_strerror(result));
  return result;
}

static int zookeeper_servers_run(volt_async *a, volt_ctx *ctx) {
  zookeeper_servers *s = volt_container_of(a, zookeeper_servers, async);
  VOLT_ASYNC_BEGIN(s);
  s->result = zookeeper_servers_begin(s);
  if (s->result != VOLT_OK) VOLT_RETURN(s, s->result);
  VOLT_AWAIT_RESULT(s, s->result, volt_task_join_future(&s->joined, &s->lookup->task));
  if (s->result == VOLT_ECANCELED) { /* a close. What the system does for it ends by itself */
    (void)volt_task_cancel(&s->lookup->task);
  } else {
    zookeeper_servers_take(s, s->lookup);
  }
  volt_task_detach(&s->lookup->task);
  s->lookup = NULL;
  VOLT_RETURN(s, s->result);
  VOLT_ASYNC_END(s);
}

volt_future *zookeeper_servers_future_(zookeeper_servers *s) {
  return volt_async_future(&s->async, zookeeper_servers_run);
}
