/* begin.c: the first steps of a session, on the task that accepts. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "session/login.h"
#include "session/session.h"

/* ---- tenants that are known by the connection ---- */

static void begin_mask(unsigned char *bytes, unsigned size, unsigned bits) {
  for (unsigned i = 0; i < size; i++) {
    unsigned kept = bits >= 8 * (i + 1) ? 8 : bits > 8 * i ? bits - 8 * i : 0;
    bytes[i] &= (unsigned char)(0xff00u >> kept);
  }
}

/* "10.1.2.0/24"; a whole address without its bits. */
static void begin_source_name(const struct client *client, const struct gate_settings *settings,
                              char *name, size_t room) {
  bool is_v4 = client->address.family == AF_INET;
  if (!is_v4 && client->address.family != AF_INET6) {
    snprintf(name, room, "unix");
    return;
  }
  unsigned size = is_v4 ? 4 : 16;
  unsigned bits = is_v4 ? settings->tenant_ipv4_bits : settings->tenant_ipv6_bits;
  unsigned char bytes[16];
  char text[INET6_ADDRSTRLEN];
  memcpy(bytes, client->address.bytes, size);
  begin_mask(bytes, size, bits);
  inet_ntop(client->address.family, bytes, text, sizeof text);
  if (bits >= 8 * size) {
    snprintf(name, room, "%s", text);
  } else {
    snprintf(name, room, "%s/%u", text, bits);
  }
}

bool session_find_tenant(struct session *s, uint16_t port) {
  const struct gate_settings *settings = gate_settings(s->gate);
  char name[INET6_ADDRSTRLEN + sizeof "/128"];
  switch (settings->tenant_by) {
    case TENANT_BY_SOURCE:
      begin_source_name(&s->entry, settings, name, sizeof name);
      return session_set_tenant(s, name);
    case TENANT_BY_PORT:
      snprintf(name, sizeof name, "%u", port);
      return session_set_tenant(s, name);
    case TENANT_BY_NONE:
    case TENANT_BY_USER:
    case TENANT_BY_DATABASE:
    case TENANT_BY_LABEL:
    case TENANT_BY_CGROUP: break;
  }
  return true;
}

/* ---- a client that was accepted ---- */

static void begin_address(struct session *s) {
  volt_address peer;
  if (volt_fd_peer(&s->client.fd, &peer) == VOLT_OK) client_address_set(&s->entry, &peer);
}

static bool begin_is_one_too_many(const struct session *s) {
  /* relaxed: acceptors that run at once may let in one more each */
  return atomic_load_explicit(&s->gate->clients.count, memory_order_relaxed) >
         gate_settings(s->gate)->clients;
}

/* Take the place in the queue now, in the order of accept: the first poll of the wait queues it. It
 * has no waker; the session's own task gives it one by its first poll. */
static void begin_queue(struct session *s) {
  static const volt_waker none = {NULL, NULL};
  if (session_admit(s) == VOLT_EAGAIN) (void)volt_future_poll(s->wait.permit, none);
}

void session_resume(struct session *s, uint64_t accepted_ns) {
  uint64_t now_ns = session_now_ns(s);
  s->entry.accepted_ns = accepted_ns;
  s->wait.news_seen = volt_watch_version(&s->gate->news);
  begin_address(s);
  (void)volt_fd_nodelay(&s->client.fd);
  atomic_store_explicit(&s->entry.state, CLIENT_LOGIN, memory_order_relaxed); /* not seen yet */
  atomic_store_explicit(&s->entry.since_ns, now_ns, memory_order_relaxed);    /* not seen yet */
  admission_init(&s->admission, s->gate, &s->entry);
  clients_add(&s->gate->clients, &s->entry);
  s->is_entered = true;
  statistics_count(&s->gate->statistics, COUNT_ACCEPTED, 1);
}

void session_begin(struct session *s) {
  session_resume(s, session_now_ns(s));
  if (begin_is_one_too_many(s)) {
    session_refuse(s, REASON_CLIENTS);
    session_leave_clients(s); /* its last words may have to wait until it can hear them */
    return;
  }
  s->needs_login = login_is_needed(s);
  if (s->needs_login) return;
  if (!session_find_tenant(s, s->port)) return;
  if (s->protocol == PROTOCOL_TCP) begin_queue(s);
}

bool session_client_address(const struct session *s, volt_address *to) {
  const struct client *client = &s->entry;
  memset(to, 0, sizeof *to);
  if (client->address.family == AF_INET) {
    to->as.v4.sin_family = AF_INET;
    to->as.v4.sin_port = htons(client->address.port);
    memcpy(&to->as.v4.sin_addr, client->address.bytes, 4);
    to->size = sizeof to->as.v4;
  } else if (client->address.family == AF_INET6) {
    to->as.v6.sin6_family = AF_INET6;
    to->as.v6.sin6_port = htons(client->address.port);
    memcpy(&to->as.v6.sin6_addr, client->address.bytes, 16);
    to->size = sizeof to->as.v6;
  }
  return to->size != 0;
}
