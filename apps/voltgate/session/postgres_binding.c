/* postgres_binding.c: SCRAM with channel binding, where TLS ends at the gate.
 *
 * A server that speaks TLS offers SCRAM-SHA-256-PLUS, too, which binds a login to the certificate that the
 * client has seen: the gate's. Three cases:
 *
 *   client in the clear      it must not be offered that: libpq takes it for an attack. The name is changed
 *                            into one that no client knows, of the same length. The client says that it
 *                            cannot bind ("n"), which the server takes.
 *   the same certificate     it works.
 *   other certificates       it fails, as it is made to. A name that is changed would not help: a client that
 *                            could bind then says so ("y"), and the server refuses that. The log says it.
 *
 * The list comes in one record of TLS, as the server's first message or behind NegotiateProtocolVersion. So
 * it is looked for where what was received begins, and behind that message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strnlen */
#endif
#include "session/postgres_binding.h"

#include <stdatomic.h>
#include <string.h>

#include "process/log.h"

enum { BINDING_HEAD = 9, BINDING_SASL = 10, BINDING_ROOM = 64 };

static const char binding_name[] = "SCRAM-SHA-256-PLUS", binding_other[] = "SCRAM-SHA-256-NONE";
_Static_assert(sizeof binding_name == sizeof binding_other, "the message keeps its length");

static uint32_t binding_number(const char *at) {
  const unsigned char *b = (const unsigned char *)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* How many bytes NegotiateProtocolVersion has, if that comes first: a client has asked for a newer protocol,
 * or for options that the server does not know. */
static size_t binding_skip(const char *bytes, size_t size) {
  if (size < BINDING_HEAD || bytes[0] != 'v') return 0;
  size_t end = (size_t)binding_number(bytes + 1) + 1;
  return end < size ? end : size;
}

/* The name in AuthenticationSASL. Returns NULL: it is another message, or does not offer it. */
static char *binding_find(char *bytes, size_t size) {
  if (size < BINDING_HEAD || bytes[0] != 'R' || binding_number(bytes + 5) != BINDING_SASL)
    return NULL;
  size_t end = (size_t)binding_number(bytes + 1) + 1;
  if (end > size) end = size;
  for (size_t at = BINDING_HEAD; at < end && bytes[at]; at += strnlen(bytes + at, end - at) + 1) {
    if (end - at >= sizeof binding_name && strcmp(bytes + at, binding_name) == 0) return bytes + at;
  }
  return NULL;
}

static bool binding_is_the_same(const struct session *s) {
  unsigned char client[BINDING_ROOM], server[BINDING_ROOM];
  size_t size, other;
  return volt_tls_end_point(s->client.tls, client, sizeof client, &size) == VOLT_OK &&
         volt_tls_end_point(s->server->link.tls, server, sizeof server, &other) == VOLT_OK &&
         size == other && memcmp(client, server, size) == 0;
}

static atomic_flag binding_was_said = ATOMIC_FLAG_INIT;

void postgres_binding_look(struct session *s, char *bytes, size_t size) {
  if (!s->server->link.tls) return;
  size_t skipped = binding_skip(bytes, size);
  char *name = binding_find(bytes + skipped, size - skipped);
  if (!name) return;
  if (!s->client.tls) {
    memcpy(name, binding_other, sizeof binding_other);
  } else if (!binding_is_the_same(s) &&
             !atomic_flag_test_and_set_explicit(&binding_was_said, memory_order_relaxed)) {
    log_line(LOG_WARN, s->gate->name,
             "the server offers SCRAM with channel binding, which fails through this gate: its "
             "certificate is "
             "not the server's. Clients need channel_binding=disable, or the gate the server's "
             "certificate and key");
  }
}
