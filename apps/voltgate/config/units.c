/* units.c: units.h. */
#define _GNU_SOURCE /* strdup */
#include "config/units.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>

#include "common/options.h"

/* ---- times ---- */

static const struct time_unit {
  const char *name;
  uint64_t ns;
} time_units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60 * UINT64_C(1000000000)},
    {"h", 3600 * UINT64_C(1000000000)},
    {"d", 86400 * UINT64_C(1000000000)},
};
enum { TIME_UNITS = sizeof time_units / sizeof *time_units };

static const struct time_unit *units_time_unit_named(const char *name) {
  for (size_t i = 0; i < TIME_UNITS; i++) {
    if (strcmp(name, time_units[i].name) == 0) return &time_units[i];
  }
  return NULL;
}

bool units_time(const char *text, uint64_t *out_ns) {
  uint64_t whole = 0, part = 0, parts = 1;
  const char *at = text;
  if (strcmp(text, "0") == 0) {
    *out_ns = 0;
    return true;
  }
  for (; isdigit((unsigned char)*at); at++) {
    if (at - text >= 15) return false;
    whole = whole * 10 + (uint64_t)(*at - '0');
  }
  if (at == text) return false;
  if (*at == '.') {
    const char *point = at++;
    for (; isdigit((unsigned char)*at); at++) {
      if (at - point > 5) return false; /* a day * 10^5 has room in 64 bits */
      part = part * 10 + (uint64_t)(*at - '0');
      parts *= 10;
    }
    if (parts == 1) return false;
  }
  const struct time_unit *unit = units_time_unit_named(at);
  if (unit == NULL || whole > UNITS_TIME_MOST_NS / unit->ns) return false;
  uint64_t ns = whole * unit->ns + unit->ns * part / parts;
  if (ns > UNITS_TIME_MOST_NS || (ns == 0 && (whole | part) != 0)) return false;
  *out_ns = ns;
  return true;
}

const char *units_time_text(uint64_t ns, char *to) {
  const struct time_unit *unit = &time_units[0];
  for (size_t i = 1; i < TIME_UNITS; i++) {
    if (ns % time_units[i].ns == 0) unit = &time_units[i];
  }
  snprintf(to, UNITS_TIME_TEXT, "%" PRIu64 "%s", ns / unit->ns, ns == 0 ? "" : unit->name);
  return to;
}

/* ---- addresses ---- */

/* Whether it is NAME:PORT or NAME:SERVICE, where NAME may be looked up. */
static bool units_is_name_with_port(const char *text) {
  if (strncmp(text, "fd:", 3) == 0) return false;
  const char *colon = strrchr(text, ':');
  if (colon == NULL || colon == text || colon - text > 253 || colon[1] == '\0') return false;
  bool has_letter = false;
  for (const char *at = text; at < colon; at++) {
    if (!isalnum((unsigned char)*at) && strchr("-._", *at) == NULL) return false;
    has_letter |= isalpha((unsigned char)*at) != 0;
  }
  if (!has_letter) return false; /* 1.2.3:80 is an address that is wrong */
  uint64_t port;
  if (isdigit((unsigned char)colon[1])) return number_read(colon + 1, 1, 65535, &port);
  for (const char *at = colon + 1; *at != '\0'; at++) {
    if (!isalnum((unsigned char)*at) && *at != '-') return false;
  }
  return strlen(colon + 1) <= 32;
}

static bool units_is_inherited_name(const char *name) {
  size_t length = strlen(name);
  if (length == 0 || length > 255) return false;
  for (; *name != '\0'; name++) {
    if (!isgraph((unsigned char)*name) || *name == ':') return false;
  }
  return true;
}

static bool units_is_everywhere(const volt_address *a) {
  if (a->as.any.sa_family == AF_INET) return a->as.v4.sin_addr.s_addr == htonl(INADDR_ANY);
  return a->as.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->as.v6.sin6_addr);
}

static const char *units_wrong_address(enum address_use use, int result) {
  if (result == VOLT_ERRNO(ENAMETOOLONG)) return "the path of a unix socket has at most 107 bytes";
  if (result == VOLT_ERRNO(ENODEV)) return "there is no such network interface";
  if (use == ADDRESS_SERVER) return "want HOST:PORT, [IPV6]:PORT or unix:PATH";
  if (use == ADDRESS_ADMIN) return "want :PORT, IPV4:PORT, [IPV6]:PORT or unix:PATH";
  return "want :PORT, IPV4:PORT, [IPV6]:PORT, unix:PATH, unix:@NAME or fd:NAME";
}

char *units_address(const char *text, enum address_use use, const char **why) {
  volt_address a;
  char full[VOLT_ADDRESS_TEXT];
  *why = "no memory";
  if (use == ADDRESS_LISTEN && strncmp(text, "fd:", 3) == 0) {
    if (units_is_inherited_name(text + 3)) return strdup(text);
    *why = "want fd:NAME, where NAME is one that systemd gives (FileDescriptorName=)";
    return NULL;
  }
  if (use == ADDRESS_ADMIN && *text == ':') {
    snprintf(full, sizeof full, "127.0.0.1%s", text);
    text = full;
  }
  int result = volt_address_parse(&a, text);
  if (result != VOLT_OK) {
    if (use == ADDRESS_SERVER && units_is_name_with_port(text)) return strdup(text);
    *why = units_wrong_address(use, result);
    return NULL;
  }
  if (a.as.any.sa_family == AF_UNIX) return strdup(text);
  if (use == ADDRESS_ADMIN && *text == '*') {
    *why = "to let every machine look, write 0.0.0.0:PORT or [::]:PORT";
    return NULL;
  }
  if (use == ADDRESS_SERVER && (units_is_everywhere(&a) || volt_address_port(&a) == 0)) {
    *why = "want the address of one server, with its port";
    return NULL;
  }
  return strdup(volt_address_text(&a, full));
}

static bool units_is_same_host(const volt_address *a, const volt_address *b) {
  if (a->as.any.sa_family == AF_INET) {
    return a->as.v4.sin_addr.s_addr == b->as.v4.sin_addr.s_addr;
  }
  return IN6_ARE_ADDR_EQUAL(&a->as.v6.sin6_addr, &b->as.v6.sin6_addr) &&
         a->as.v6.sin6_scope_id == b->as.v6.sin6_scope_id;
}

bool units_addresses_clash(const char *one, const char *other) {
  volt_address a, b;
  if (strcmp(strrchr(one, ':'), strrchr(other, ':')) != 0) return false; /* most: another port */
  if (strncmp(one, "fd:", 3) == 0 || strncmp(other, "fd:", 3) == 0) return strcmp(one, other) == 0;
  if (volt_address_parse(&a, one) != VOLT_OK || volt_address_parse(&b, other) != VOLT_OK) {
    return false;
  }
  if (a.as.any.sa_family == AF_UNIX || b.as.any.sa_family == AF_UNIX) {
    return strcmp(one, other) == 0;
  }
  if (volt_address_port(&a) != volt_address_port(&b) || volt_address_port(&a) == 0) return false;
  bool is_same_family = a.as.any.sa_family == b.as.any.sa_family;
  bool is_a = units_is_everywhere(&a), is_b = units_is_everywhere(&b);
  if (is_a && a.as.any.sa_family == AF_INET6) return true; /* it takes IPv4, too */
  if (is_b && b.as.any.sa_family == AF_INET6) return true;
  if (is_same_family && (is_a || is_b)) return true;
  return is_same_family && units_is_same_host(&a, &b);
}
