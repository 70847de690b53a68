/* zookeeper.c: the kind of ensemble that is ZooKeeper: what it is made of, and process(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strndup, explicit_bzero */
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "zookeeper.h"
#include "zookeeper_attempt.h"
#include "zookeeper_link.h"
#include "zookeeper_log.h"

#define ZOOKEEPER_SESSION_NS UINT64_C(10000000000)
#define ZOOKEEPER_SESSION_MAX_NS UINT64_C(3600000000000)

/* ---- open ---- */

/* "host:port,host:port/path" */
static int zookeeper_take_servers(zookeeper *b, const char *servers) {
  if (!servers) return VOLT_EINVAL;
  size_t size = strcspn(servers, "/");
  b->chroot = strdup(servers[size] && servers[size + 1] ? servers + size : "");
  if (!b->chroot) return VOLT_ENOMEM;
  if (b->chroot[0] && b->chroot[strlen(b->chroot) - 1] == '/') return VOLT_EINVAL;
  return zookeeper_servers_init_(&b->servers, b->rt, servers, size);
}

/* "scheme:what it wants" */
static int zookeeper_take_auth(zookeeper *b, const char *auth) {
  if (!auth) return VOLT_OK;
  const char *colon = strchr(auth, ':');
  if (!colon || colon == auth || !colon[1]) return VOLT_EINVAL;
  b->scheme = strndup(auth, (size_t)(colon - auth));
  b->secret = strdup(colon + 1);
  return b->scheme && b->secret ? (int)VOLT_OK : (int)VOLT_ENOMEM;
}

static int zookeeper_take_acl(zookeeper *b, const char *acl) {
  if (!acl) acl = b->scheme ? "creator" : "open";
  bool is_creator = strcmp(acl, "creator") == 0;
  if (!is_creator && strcmp(acl, "open") != 0) return VOLT_EINVAL;
  if (is_creator && !b->scheme) return VOLT_EINVAL;
  b->acl = is_creator ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  return VOLT_OK;
}

static int zookeeper_take_tls(zookeeper *b, const char *tls) {
  if (!tls) return VOLT_OK;
#ifdef VOLT_ZOOKEEPER_TLS
  b->tls = strdup(tls);
  return b->tls ? (int)VOLT_OK : (int)VOLT_ENOMEM;
#else
  zookeeper_log_line_(b, VOLT_CLUSTER_ERROR, "the client library was built without TLS");
  return VOLT_EINVAL;
#endif
}

static int zookeeper_take(zookeeper *b, const volt_cluster_config *config) {
  uint64_t session_ns = config->session_ns ? config->session_ns : ZOOKEEPER_SESSION_NS;
  if (session_ns < 1000000 || session_ns > ZOOKEEPER_SESSION_MAX_NS) return VOLT_EINVAL;
  b->session_ms = (int)(session_ns / 1000000);
  int result = zookeeper_take_servers(b, config->servers);
  if (result == VOLT_OK) result = zookeeper_take_auth(b, config->auth);
  if (result == VOLT_OK) result = zookeeper_take_acl(b, config->acl);
  if (result == VOLT_OK) result = zookeeper_take_tls(b, config->tls);
  return result;
}

static int zookeeper_open_timer(zookeeper *b) {
  int number = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (number < 0) return VOLT_ENOMEM;
  int result = volt_fd_init(&b->timer, b->rt, number, 0);
  if (result != VOLT_OK) (void)close(number);
  return result;
}

/* A secret is not left in memory that is free. */
static void zookeeper_forget(char *secret) {
  if (secret) explicit_bzero(secret, strlen(secret));
  free(secret);
}

static void zookeeper_free(zookeeper *b) {
  volt_fd_close(&b->timer);
  zookeeper_servers_free_(&b->servers);
  zookeeper_forget(b->secret);
  zookeeper_forget(b->tls);
  free(b->scheme);
  free(b->chroot);
  free(b->fired);
  free(b);
}

static int zookeeper_open(volt_cluster_backend **out, const volt_cluster_config *config,
                          const volt_cluster_client *client) {
  zookeeper *b = (zookeeper *)calloc(1, sizeof *b);
  *out = NULL;
  if (!b) return VOLT_ENOMEM;
  b->rt = config->rt;
  b->client = *client;
  b->socket.number = -1;
  b->number = -1;
  b->timer.number = -1;
  int result = b->rt ? (int)VOLT_OK : (int)VOLT_EINVAL;
  if (result == VOLT_OK) result = zookeeper_take(b, config);
  if (result == VOLT_OK) result = zookeeper_open_timer(b);
  if (result == VOLT_OK)
    *out = (volt_cluster_backend *)b;
  else
    zookeeper_free(b);
  return result;
}

/* ---- the wait, and process() ---- */

static zookeeper *zookeeper_of(volt_cluster_backend *b) {
  return (zookeeper *)b;
}

static void zookeeper_connect(volt_cluster_backend *of) {
  zookeeper *b = zookeeper_of(of);
  if (b->phase != ZOOKEEPER_IDLE || b->is_closing) return;
  b->session = 0;
  zookeeper_attempt_first_(b);
}

static void zookeeper_submit(volt_cluster_backend *b, volt_cluster_request *r) {
  zookeeper_submit_(zookeeper_of(b), r);
}

static bool zookeeper_uses_client(const zookeeper *b) {
  return b->handle && (b->phase == ZOOKEEPER_TRYING || b->phase == ZOOKEEPER_CONNECTED);
}

/* 0: process() has something to do at once. */
static uint64_t zookeeper_due_ns(const zookeeper *b) {
  uint64_t due = zookeeper_attempt_due_ns_(b);
  if (b->is_again || zookeeper_has_news_(b) || zookeeper_link_has_changed_(b)) return 0;
  if (b->until_ns < due) due = b->until_ns;
  if (zookeeper_uses_client(b) && b->client_until_ns < due) due = b->client_until_ns;
  return due;
}

static volt_future *zookeeper_wait(volt_cluster_backend *of, uint64_t until_ns) {
  zookeeper *b = zookeeper_of(of);
  b->until_ns = until_ns;
  if (zookeeper_uses_client(b) && !zookeeper_link_has_changed_(b)) (void)zookeeper_link_ask_(b);
  b->wait.due_ns = zookeeper_due_ns(b);
  return zookeeper_wait_future_(b);
}

static void zookeeper_process_all(volt_cluster_backend *of) {
  zookeeper *b = zookeeper_of(of);
  b->is_again = false;
  zookeeper_deliver_(b);
  (void)zookeeper_link_check_(b);
  if (zookeeper_uses_client(b)) zookeeper_link_receive_(b);
  zookeeper_attempt_(b);
}

static uint64_t zookeeper_now(const volt_cluster_backend *b) {
  (void)b;
  return zookeeper_now_ns_();
}

/* ---- the end ---- */

static volt_future *zookeeper_end(volt_cluster_backend *b) {
  return zookeeper_close_future_(zookeeper_of(b));
}

static void zookeeper_destroy(volt_cluster_backend *of) {
  zookeeper *b = zookeeper_of(of);
  if (!b) return;
  zookeeper_wait_end_(b);
  zookeeper_link_free_(b);
  zookeeper_socket_close_(b);
  zookeeper_free(b);
}

const volt_cluster_kind *volt_cluster_zookeeper(void) {
  static const volt_cluster_kind kind = {.name = "zookeeper",
                                         .open = zookeeper_open,
                                         .connect = zookeeper_connect,
                                         .submit = zookeeper_submit,
                                         .wait_future = zookeeper_wait,
                                         .process = zookeeper_process_all,
                                         .now_ns = zookeeper_now,
                                         .close_future = zookeeper_end,
                                         .destroy = zookeeper_destroy};
  return &kind;
}
