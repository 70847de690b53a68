/* resolve.c: names that are looked up with getaddrinfo(), on the blocking pool. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getaddrinfo */
#endif
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>

/* The result for what getaddrinfo() says. */
static int resolve_result(int error, int system_error) {
  switch (error) {
    case 0: return VOLT_OK;
    case EAI_NONAME:
#ifdef EAI_NODATA
    case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
    case EAI_ADDRFAMILY:
#endif
      return VOLT_ERRNO(ENXIO);
    case EAI_AGAIN: return VOLT_ERRNO(EREMOTEIO);
    case EAI_FAIL: return VOLT_ERRNO(EPROTO);
    case EAI_MEMORY: return VOLT_ENOMEM;
    case EAI_SYSTEM: return VOLT_ERRNO(system_error ? system_error : EIO);
    default: return VOLT_EINVAL; /* EAI_SERVICE, ... */
  }
}

/* The next of the list, from at on, that is of this family, or with is_other of another. */
static const struct addrinfo *resolve_next(const struct addrinfo *at, int family, bool is_other) {
  while (at && (at->ai_family != family) != is_other) at = at->ai_next;
  return at;
}

/* Copy the list into *to, the families by turns, the one that comes first first. Returns how many
 * there are. */
static size_t resolve_copy(volt_address *to, const struct addrinfo *list) {
  const int family = list->ai_family;
  const struct addrinfo *one = resolve_next(list, family, false);
  const struct addrinfo *other = resolve_next(list, family, true);
  size_t count = 0;
  for (bool is_other = false; one || other; is_other = !is_other) {
    const struct addrinfo **from = (is_other && other) || !one ? &other : &one;
    if (volt_address_set(&to[count], (*from)->ai_addr, (*from)->ai_addrlen) == VOLT_OK) count++;
    *from = resolve_next((*from)->ai_next, family, from == &other);
  }
  return count;
}

static int resolve_keep(volt_resolve *r, const struct addrinfo *list) {
  size_t count = 0;
  for (const struct addrinfo *at = list; at; at = at->ai_next) count++;
  if (count == 0) return VOLT_ERRNO(ENXIO);
  volt_address *addresses = (volt_address *)malloc(count * sizeof *addresses);
  if (!addresses) return VOLT_ENOMEM;
  r->addresses = addresses;
  r->count = resolve_copy(addresses, list);
  return r->count > 0 ? (int)VOLT_OK : VOLT_ERRNO(ENXIO);
}

/* On the blocking pool. In r->text the host and the service each have a 0 behind them. */
static int resolve_call(void *arg) {
  volt_resolve *r = (volt_resolve *)arg;
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *list = NULL;
  int saved = errno;
  errno = 0;
  r->error = getaddrinfo(r->text, r->text + strlen(r->text) + 1, &hints, &list);
  int result = resolve_result(r->error, errno);
  errno = saved;
  if (result == VOLT_OK) result = resolve_keep(r, list);
  if (list) freeaddrinfo(list);
  return result;
}

/* Part the host from the service. Returns false if one of them is missing. */
static bool resolve_split(volt_resolve *r) {
  char *colon = strrchr(r->text, ':');
  if (!colon || colon == r->text || !colon[1]) return false;
  *colon = 0;
  size_t size = (size_t)(colon - r->text);
  if (r->text[0] != '[') return !strchr(r->text, ':');
  if (size < 3 || colon[-1] != ']') return false;
  memmove(r->text, r->text + 1, size - 2); /* [::1]:http */
  memmove(r->text + size - 2, colon, strlen(colon + 1) + 2);
  return true;
}

/* Returns VOLT_PENDING if it is a name. */
static int resolve_without_lookup(volt_resolve *r) {
  int result = volt_address_parse(&r->one, r->text);
  if (result == VOLT_EINVAL && strncmp(r->text, "unix:", 5) != 0 && resolve_split(r))
    return VOLT_PENDING;
  if (result != VOLT_OK) return result;
  r->addresses = &r->one;
  r->count = 1;
  return VOLT_OK;
}

static int resolve_run(volt_async *a, volt_ctx *ctx) {
  volt_resolve *r = volt_container_of(a, volt_resolve, async);
  int result;
  VOLT_ASYNC_BEGIN(r);
  result = resolve_without_lookup(r);
  if (result != VOLT_PENDING) VOLT_RETURN(r, result);
  VOLT_AWAIT_RESULT(r, result, volt_blocking_future(&r->call, r->rt, resolve_call, r));
  if (result != VOLT_OK) volt_resolve_free(r);
  VOLT_RETURN(r, result);
  VOLT_ASYNC_END(r);
}

volt_future *volt_resolve_future(volt_resolve *r, volt_rt *rt, const char *text) {
  size_t size = strlen(text) + 1;
  r->addresses = NULL;
  r->count = 0;
  r->rt = rt;
  r->error = 0;
  if (size > sizeof r->text) size = 0; /* "" is neither an address nor a name */
  memcpy(r->text, text, size);
  if (size == 0) r->text[0] = 0;
  return volt_async_future(&r->async, resolve_run);
}

const char *volt_resolve_error(const volt_resolve *r) {
  return r->error && r->error != EAI_SYSTEM ? gai_strerror(r->error) : NULL;
}

void volt_resolve_free(volt_resolve *r) {
  if (r->addresses != &r->one) free((void *)(uintptr_t)r->addresses);
  r->addresses = NULL;
  r->count = 0;
}
