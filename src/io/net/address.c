/* address.c: addresses of sockets as text. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sockaddr_un, if_nametoindex */
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path) };

static int address_none(volt_address *a, int result) {
  memset(a, 0, sizeof *a);
  return result;
}

/* ---- from text ---- */

static int address_parse_unix(volt_address *a, const char *name) {
  size_t size = strlen(name);
  bool is_abstract = name[0] == '@';
  if (size <= is_abstract) return address_none(a, VOLT_EINVAL);
  if (size >= sizeof a->as.local.sun_path) return address_none(a, VOLT_ERRNO(ENAMETOOLONG));
  a->as.local.sun_family = AF_UNIX;
  memcpy(a->as.local.sun_path, name, size);
  if (is_abstract) a->as.local.sun_path[0] = 0;
  a->size = (socklen_t)(PATH_AT + size + !is_abstract); /* a path has a 0 at its end */
  return VOLT_OK;
}

/* Returns the port, or -1. */
static int address_parse_port(const char *text) {
  int port = 0;
  if (!*text || strlen(text) > 5) return -1;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return -1;
    port = port * 10 + (*text - '0');
  }
  return port <= UINT16_MAX ? port : -1;
}

/* name: of an interface, or its number. Returns its number, or 0. */
static uint32_t address_parse_scope(const char *name) {
  int saved = errno;
  unsigned index = if_nametoindex(name);
  errno = saved;
  if (index) return index;
  char *end;
  unsigned long number = name[0] >= '0' && name[0] <= '9' ? strtoul(name, &end, 10) : 0;
  errno = saved;
  return number > 0 && !*end && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* host: between the brackets. */
static int address_parse_v6(volt_address *a, char *host, int port) {
  char *scope = strchr(host, '%');
  if (scope) *scope++ = 0;
  if (inet_pton(AF_INET6, host, &a->as.v6.sin6_addr) != 1) return address_none(a, VOLT_EINVAL);
  if (scope && !(a->as.v6.sin6_scope_id = address_parse_scope(scope)))
    return address_none(a, VOLT_ERRNO(ENODEV));
  a->as.v6.sin6_family = AF_INET6;
  a->as.v6.sin6_port = htons((uint16_t)port);
  a->size = sizeof a->as.v6;
  return VOLT_OK;
}

static int address_parse_v4(volt_address *a, const char *host, int port) {
  if (inet_pton(AF_INET, host, &a->as.v4.sin_addr) != 1) return address_none(a, VOLT_EINVAL);
  a->as.v4.sin_family = AF_INET;
  a->as.v4.sin_port = htons((uint16_t)port);
  a->size = sizeof a->as.v4;
  return VOLT_OK;
}

int volt_address_parse(volt_address *a, const char *text) {
  (void)address_none(a, VOLT_OK);
  if (strncmp(text, "unix:", 5) == 0) return address_parse_unix(a, text + 5);
  char host[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE + 2];
  const char *colon = strrchr(text, ':');
  size_t size = colon ? (size_t)(colon - text) : sizeof host;
  int port = colon ? address_parse_port(colon + 1) : -1;
  if (port < 0 || size >= sizeof host) return VOLT_EINVAL;
  memcpy(host, text, size);
  host[size] = 0;
  if (size == 0 || strcmp(host, "*") == 0) strcpy(host, "[::]");
  size = strlen(host);
  if (host[0] != '[') return address_parse_v4(a, host, port);
  if (host[size - 1] != ']') return VOLT_EINVAL;
  host[size - 1] = 0;
  return address_parse_v6(a, host + 1, port);
}

/* ---- from the system ---- */

int volt_address_set(volt_address *a, const struct sockaddr *from, socklen_t size) {
  (void)address_none(a, VOLT_OK);
  if (size < sizeof from->sa_family) return VOLT_EINVAL;
  sa_family_t family;
  memcpy(&family, from, sizeof family);
  bool fits = (family == AF_INET && size == sizeof a->as.v4) ||
              (family == AF_INET6 && size == sizeof a->as.v6) ||
              (family == AF_UNIX && size >= PATH_AT && size <= sizeof a->as.local);
  if (!fits) return VOLT_EINVAL;
  memcpy(&a->as, from, size);
  a->size = size;
  return VOLT_OK;
}

/* ---- to text ---- */

static void address_write_unix(const volt_address *a, char *to) {
  memcpy(to, "unix:", 5);
  to += 5;
  size_t size = a->size - PATH_AT;
  for (size_t i = 0; i < size; i++) {
    char c = a->as.local.sun_path[i];
    bool is_abstract = a->as.local.sun_path[0] == 0;
    if (c == 0 && !is_abstract) break;
    if (c == 0 && i == 0) c = '@';
    *to++ = c >= ' ' && c <= '~' ? c : '?';
  }
  *to = 0;
}

const char *volt_address_text(const volt_address *a, char *to) {
  char host[INET6_ADDRSTRLEN];
  int saved = errno;
  if (a->size < sizeof a->as.any.sa_family) {
    strcpy(to, "?");
  } else if (a->as.any.sa_family == AF_UNIX) {
    address_write_unix(a, to);
  } else if (a->as.any.sa_family == AF_INET) {
    (void)inet_ntop(AF_INET, &a->as.v4.sin_addr, host, sizeof host);
    (void)snprintf(to, VOLT_ADDRESS_TEXT, "%s:%u", host, volt_address_port(a));
  } else if (a->as.any.sa_family == AF_INET6) {
    (void)inet_ntop(AF_INET6, &a->as.v6.sin6_addr, host, sizeof host);
    char scope[12] = "";
    if (a->as.v6.sin6_scope_id) snprintf(scope, sizeof scope, "%%%u", a->as.v6.sin6_scope_id);
    (void)snprintf(to, VOLT_ADDRESS_TEXT, "[%s%s]:%u", host, scope, volt_address_port(a));
  } else {
    strcpy(to, "?");
  }
  errno = saved;
  return to;
}

uint16_t volt_address_port(const volt_address *a) {
  if (a->size < sizeof a->as.any.sa_family) return 0;
  if (a->as.any.sa_family == AF_INET) return ntohs(a->as.v4.sin_port);
  return a->as.any.sa_family == AF_INET6 ? ntohs(a->as.v6.sin6_port) : 0;
}
