/* zookeeper_link.c: the client's handle: one session, over one connection after another.
 *
 * What has become of the connection is read from the client's state after each call of it, not from
 * the session events that it sends: there is one change at most in a call. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zookeeper.h"
#include "zookeeper_attempt.h"
#include "zookeeper_link.h"
#include "zookeeper_log.h"
#include "zookeeper_requests.h"
#include "zookeeper_socket.h"

enum { LINK_BATCH = 64 }; /* messages in one process() */

/* Before the next session is asked for, when one was refused. */
#define LINK_REFUSED_NS UINT64_C(1000000000)

/* No server of this address ever answers: connect() fails at once. */
static const char link_nobody[] = "255.255.255.255:1";

uint64_t zookeeper_now_ns_(void) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the handle ---- */

static void zookeeper_link_auth_done(int rc, const void *data) {
  zookeeper *b = (zookeeper *)(uintptr_t)data;
  (void)rc; /* a refusal is a state of the client */
  b->asks_auth = false;
}

#ifdef VOLT_ZOOKEEPER_TLS
/* As the client's headers have them; this one only if OpenSSL's are included. */
zhandle_t *zookeeper_init_ssl(const char *host, const char *cert, watcher_fn watcher,
                              int timeout_ms, const clientid_t *id, void *context, int flags);
extern ZooLogLevel logLevel;

/* It takes no log_callback_fn, and would write to standard error. */
static zhandle_t *zookeeper_link_init_tls(zookeeper *b, const char *host) {
  ZooLogLevel level = logLevel;
  zoo_set_debug_level((ZooLogLevel)0);
  zhandle_t *handle = zookeeper_init_ssl(host, b->tls, zookeeper_watcher_, b->session_ms, NULL, b,
                                         ZOO_NO_LOG_CLIENTENV);
  zoo_set_debug_level(level);
  if (handle) zoo_set_log_callback(handle, zookeeper_heed_);
  return handle;
}
#endif

static zhandle_t *zookeeper_link_init(zookeeper *b, const char *host) {
#ifdef VOLT_ZOOKEEPER_TLS
  if (b->tls) return zookeeper_link_init_tls(b, host);
#endif
  return zookeeper_init2(host, zookeeper_watcher_, b->session_ms, NULL, b, ZOO_NO_LOG_CLIENTENV,
                         zookeeper_heed_);
}

bool zookeeper_link_open_(zookeeper *b) {
  size_t size = strlen(b->at) + strlen(b->chroot) + 1;
  char *host = (char *)malloc(size);
  if (!host) return false;
  (void)snprintf(host, size, "%s%s", b->at, b->chroot);
  zookeeper_enter_(b);
  /* else it reads /dev/urandom, and seeds the process's random() */
  zoo_deterministic_conn_order(1);
  b->handle = zookeeper_link_init(b, host);
  if (b->handle) {
    (void)zoo_set_servers_resolution_delay(b->handle, -1);
    b->asks_auth =
        b->scheme && zoo_add_auth(b->handle, b->scheme, b->secret, (int)strlen(b->secret),
                                  zookeeper_link_auth_done, b) == ZOK;
  }
  zookeeper_leave_(b);
  free(host);
  return b->handle != NULL;
}

void zookeeper_link_free_(zookeeper *b) {
  if (!b->handle) return;
  if (b->socket.number >= 0) /* so that there is nothing to wait for */
    (void)volt_fd_shutdown(&b->socket, SHUT_RDWR);
  zookeeper_enter_(b);
  (void)zookeeper_close(b->handle);
  b->handle = NULL;
  zookeeper_leave_(b);
  zookeeper_socket_close_(b);
  zookeeper_abandon_(b);
}

void zookeeper_server_set_(zookeeper *b, const char *at) {
  zookeeper_enter_(b);
  /* it takes two addresses that differ in the port alone for the same */
  (void)zoo_set_servers(b->handle, link_nobody);
  if (at) (void)zoo_set_servers(b->handle, at);
  zookeeper_leave_(b);
}

/* ---- what the client waits for ---- */

static uint64_t zookeeper_link_until_ns(const struct timeval *in) {
  return zookeeper_now_ns_() + (uint64_t)in->tv_sec * 1000000000u + (uint64_t)in->tv_usec * 1000u;
}

bool zookeeper_link_ask_(zookeeper *b) {
  struct timeval in = {0};
  int number = -1, events = 0;
  zookeeper_enter_(b);
  int rc = zookeeper_interest(b->handle, &number, &events, &in);
  zookeeper_leave_(b);
  b->client_until_ns = zookeeper_link_until_ns(&in);
  if (rc != ZOK && zoo_state(b->handle) == ZOO_CONNECTED_STATE) { /* it could not send a ping */
    b->is_distrusted = true;
    return false;
  }
  b->events = (events & ZOOKEEPER_READ ? POLLIN : 0u) | (events & ZOOKEEPER_WRITE ? POLLOUT : 0u);
  if (!zookeeper_socket_set_(b, rc == ZOK ? number : -1)) {
    zookeeper_server_set_(b, NULL); /* closes it: no request was sent over it yet */
    (void)snprintf(b->why, sizeof b->why, "no descriptor for the connection");
    return false;
  }
  return rc == ZOK && number < 0;
}

/* ---- what comes ---- */

static int zookeeper_link_events(const zookeeper *b) {
  if (b->socket.number < 0) return 0;
  struct pollfd p = {.fd = b->socket.number, .events = (short)b->events};
  if (poll(&p, 1, 0) <= 0) return 0;
  bool has_failed = (p.revents & (POLLERR | POLLHUP)) != 0;
  int events = 0;
  if (has_failed || (p.revents & POLLIN)) events |= ZOOKEEPER_READ;
  if ((b->events & POLLOUT) && (has_failed || (p.revents & POLLOUT))) events |= ZOOKEEPER_WRITE;
  return events;
}

/* A message has come, if is_message, over the connection of the session. */
static void zookeeper_link_note_heard(zookeeper *b, bool is_message) {
  if (!is_message || b->phase != ZOOKEEPER_CONNECTED) return;
  b->heard_ns = zookeeper_now_ns_();
  if (b->done.first) b->stalls = 0;
}

void zookeeper_link_receive_(zookeeper *b) {
  bool may_have_more = false; /* the socket, or with TLS the client */
  for (int i = 0; i < LINK_BATCH && b->handle; i++) {
    int events = may_have_more ? ZOOKEEPER_READ : zookeeper_link_events(b);
    if (!events) return;
    zookeeper_enter_(b);
    int rc = zookeeper_process(b->handle, events);
    zookeeper_leave_(b);
    zookeeper_link_note_heard(b, rc == ZOK && (events & ZOOKEEPER_READ));
    zookeeper_deliver_(b);
    if (zookeeper_link_check_(b) || b->phase != ZOOKEEPER_CONNECTED) {
      b->is_again = true;
      return;
    }
    b->events &= ~(unsigned)POLLOUT; /* written, or zookeeper_link_ask_() will say so */
    may_have_more = rc == ZOK && (events & ZOOKEEPER_READ);
  }
  b->is_again = true;
}

void zookeeper_link_drop_(zookeeper *b, const char *why) {
  b->is_distrusted = false;
  (void)volt_fd_shutdown(&b->socket, SHUT_RDWR);
  zookeeper_enter_(b);
  while (zoo_state(b->handle) == ZOO_CONNECTED_STATE) { /* what has come, then the end */
    if (zookeeper_process(b->handle, ZOOKEEPER_READ) != ZOK) break;
  }
  zookeeper_leave_(b);
  (void)snprintf(b->why, sizeof b->why, "%s", why);
}

/* ---- what has become of it ---- */

bool zookeeper_is_up_(const zookeeper *b) {
  return b->handle && !b->asks_auth && zoo_state(b->handle) == ZOO_CONNECTED_STATE;
}

bool zookeeper_is_trying_(const zookeeper *b) {
  int state = zoo_state(b->handle); /* 0: an attempt has failed */
  return state > 0 && state != ZOO_NOTCONNECTED_STATE;
}

static bool zookeeper_link_is_over(const zookeeper *b) {
  return is_unrecoverable(b->handle) != ZOK;
}

static bool zookeeper_link_is_left_over(const zookeeper *b) {
  return b->sent.first && zoo_state(b->handle) != ZOO_CONNECTED_STATE;
}

bool zookeeper_link_has_changed_(const zookeeper *b) {
  if (!b->handle) return false;
  return zookeeper_link_is_over(b) || zookeeper_link_is_left_over(b) ||
         (b->is_distrusted && b->phase == ZOOKEEPER_CONNECTED) ||
         zookeeper_is_up_(b) != (b->phase == ZOOKEEPER_CONNECTED) ||
         (b->phase == ZOOKEEPER_TRYING && !zookeeper_is_trying_(b));
}

/* The connection was lost in a send, and the client would send what is outstanding again, over the
 * next connection. An attempt that fails makes it complete everything. */
static void zookeeper_link_clear(zookeeper *b) {
  zookeeper_server_set_(b, NULL);
  for (int i = 0; i < 2 && b->sent.first; i++) { /* the first may be a pause */
    struct timeval in;
    int number, events;
    zookeeper_enter_(b);
    (void)zookeeper_interest(b->handle, &number, &events, &in);
    zookeeper_leave_(b);
  }
  if (b->sent.first) zookeeper_session_end_(b, VOLT_CLUSTER_SESSION_EXPIRED, "the client is stuck");
}

static void zookeeper_link_begins(zookeeper *b) {
  enum volt_cluster_session_event event =
      b->has_session ? VOLT_CLUSTER_SESSION_AGAIN : VOLT_CLUSTER_SESSION_NEW;
  uint64_t now = zookeeper_now_ns_();
  b->phase = ZOOKEEPER_CONNECTED;
  b->has_session = true;
  b->is_distrusted = false;
  b->session = (uint64_t)zoo_client_id(b->handle)->client_id;
  b->session_ns = (uint64_t)zoo_recv_timeout(b->handle) * 1000000u;
  b->heard_ns = now;
  b->rounds = 0;
  b->has_complained = false;
  if (event == VOLT_CLUSTER_SESSION_NEW) {
    zookeeper_log_line_(b, VOLT_CLUSTER_INFO, "connected to %s, session 0x%llx of %llu ms", b->at,
                        (unsigned long long)b->session,
                        (unsigned long long)b->session_ns / 1000000u);
  } else {
    zookeeper_log_line_(b, VOLT_CLUSTER_INFO, "connected again, to %s, after %llu ms", b->at,
                        (unsigned long long)(now - b->away_ns) / 1000000u);
  }
  b->client.on_session(b->client.ctx, event, b->session, b->session_ns, b->asked_ns);
}

static void zookeeper_link_ends(zookeeper *b) {
  zookeeper_socket_close_(b);
  b->away_ns = zookeeper_now_ns_();
  zookeeper_log_line_(b, VOLT_CLUSTER_WARN, "connection to %s lost: %s", b->at, b->why);
  b->has_complained = true;
  zookeeper_attempt_again_(b);
  zookeeper_deliver_(b);
  b->client.on_session(b->client.ctx, VOLT_CLUSTER_SESSION_AWAY, b->session, b->session_ns, 0);
}

void zookeeper_session_end_(zookeeper *b, enum volt_cluster_session_event event, const char *why) {
  zookeeper_link_free_(b);
  b->phase = ZOOKEEPER_IDLE;
  b->pause_until_ns = 0;
  if (event == VOLT_CLUSTER_SESSION_REFUSED)
    b->pause_until_ns = zookeeper_now_ns_() + LINK_REFUSED_NS;
  b->has_session = false;
  b->asks_auth = false;
  b->is_distrusted = false;
  zookeeper_log_line_(
      b, event == VOLT_CLUSTER_SESSION_REFUSED ? VOLT_CLUSTER_ERROR : VOLT_CLUSTER_WARN,
      "session 0x%llx has ended: %s", (unsigned long long)b->session, why);
  zookeeper_deliver_(b);
  b->client.on_session(b->client.ctx, event, b->session, b->session_ns, 0);
}

bool zookeeper_link_check_(zookeeper *b) {
  if (!b->handle) return false;
  if (zookeeper_link_is_left_over(b)) zookeeper_link_clear(b);
  if (!b->handle) return true;
  bool is_up = zookeeper_is_up_(b);
  if (zoo_state(b->handle) == ZOO_AUTH_FAILED_STATE) {
    zookeeper_session_end_(b, VOLT_CLUSTER_SESSION_REFUSED, "the ensemble refuses the auth");
  } else if (zookeeper_link_is_over(b)) {
    zookeeper_session_end_(b, VOLT_CLUSTER_SESSION_EXPIRED, "it has expired");
  } else if (is_up && b->phase != ZOOKEEPER_CONNECTED) {
    zookeeper_link_begins(b);
  } else if (!is_up && b->phase == ZOOKEEPER_CONNECTED) {
    zookeeper_link_ends(b);
  } else {
    return false;
  }
  return true;
}
