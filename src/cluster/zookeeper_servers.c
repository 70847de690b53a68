/* zookeeper_servers.c: the names of the servers, and the addresses that they have now.
 *
 * Names are looked up on the runtime's blocking pool, one after another, before each round of
 * attempts. A name that is not found is left out; if none is found, the addresses of before stay. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strndup */
#endif
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zookeeper_parts.h"

enum { SERVERS_PORT = 65535 };

/* "host:port": a host, or an address with brackets if it is of IPv6; a number. */
static bool servers_is_name(const char *text, size_t size) {
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

static int servers_add(zookeeper_servers *s, const char *text, size_t size) {
  if (!servers_is_name(text, size)) return VOLT_EINVAL;
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
    result = servers_add(s, servers + at, end - at);
    at = end + 1;
  }
  return result;
}

void zookeeper_servers_free_(zookeeper_servers *s) {
  volt_resolve_free(&s->resolve);
  for (uint32_t i = 0; i < s->name_count; i++) free(s->names[i]);
  free(s->names);
  free(s->addresses);
  free(s->fresh);
}

uint64_t zookeeper_random_(zookeeper_servers *s) {
  uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
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

/* ---- the lookup ---- */

static bool servers_take_address(zookeeper_servers *s, const volt_address *a) {
  if (a->as.any.sa_family != AF_INET && a->as.any.sa_family != AF_INET6) return true;
  for (uint32_t i = 0; i < s->fresh_count; i++) {
    if (s->fresh[i].size == a->size && memcmp(&s->fresh[i].as, &a->as, a->size) == 0) return true;
  }
  volt_address *more = (volt_address *)realloc(s->fresh, (s->fresh_count + 1) * sizeof *more);
  if (!more) return false;
  s->fresh = more;
  more[s->fresh_count++] = *a;
  return true;
}

static void servers_take(zookeeper_servers *s) {
  const char *why = volt_resolve_error(&s->resolve);
  if (s->result == VOLT_OK) {
    for (size_t i = 0; i < s->resolve.count; i++) {
      if (!servers_take_address(s, &s->resolve.addresses[i])) break;
    }
  } else {
    s->failed = s->names[s->name];
    (void)snprintf(s->why, sizeof s->why, "%s", why ? why : volt_strerror(s->result));
  }
  volt_resolve_free(&s->resolve);
}

/* In an order by chance, so that hosts spread over the servers. */
static void servers_replace(zookeeper_servers *s) {
  if (s->fresh_count == 0) return;
  for (uint32_t i = s->fresh_count - 1; i > 0; i--) {
    uint32_t other = (uint32_t)(zookeeper_random_(s) % (i + 1));
    volt_address saved = s->fresh[i];
    s->fresh[i] = s->fresh[other];
    s->fresh[other] = saved;
  }
  free(s->addresses);
  s->addresses = s->fresh;
  s->count = s->fresh_count;
  s->fresh = NULL;
  s->fresh_count = 0;
}

static int servers_run(volt_async *a, volt_ctx *ctx) {
  zookeeper_servers *s = volt_container_of(a, zookeeper_servers, async);
  VOLT_ASYNC_BEGIN(s);
  s->fresh_count = 0;
  s->failed = NULL;
  for (s->name = 0; s->name < s->name_count; s->name++) {
    VOLT_AWAIT_RESULT(s, s->result, volt_resolve_future(&s->resolve, s->rt, s->names[s->name]));
    servers_take(s);
    if (s->result == VOLT_ECANCELED) VOLT_RETURN(s, VOLT_ECANCELED);
  }
  servers_replace(s);
  VOLT_ASYNC_END(s);
}

volt_future *zookeeper_servers_future_(zookeeper_servers *s) {
  return volt_async_future(&s->async, servers_run);
}
