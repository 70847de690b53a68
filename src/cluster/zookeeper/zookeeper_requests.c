/* zookeeper_requests.c: requests, their answers, and watches.
 *
 * A request is in `sent` while the client has it, and in `done` from its completion until
 * zookeeper_deliver_() has called its done(). The client completes in the order of submission. What
 * cannot be sent has no call, and is in `sent`, too, if there are requests before it.
 *
 * The transaction that made a node. A lone CREATE is a create2, whose answer has the node's Stat.
 * Within a transaction ZooKeeper's client asks for no Stat of a create. So the first node that is
 * made and whose name is known is also set, to the data that it has: that answer has the number of
 * the transaction, which is the same for all nodes that it made. A node that is sequential, made
 * with none of the others: created is 0. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strnlen */
#endif
#include <stdlib.h>
#include <string.h>

#include "../../core/os/check.h"
#include "zookeeper.h"
#include "zookeeper_link.h"
#include "zookeeper_log.h"
#include "zookeeper_requests.h"

/* ---- results ---- */

static int zookeeper_requests_result(zookeeper *b, int rc) {
  switch (rc) {
    case ZOK: return VOLT_OK;
    case ZNONODE: return VOLT_CLUSTER_ENONODE;
    case ZNODEEXISTS: return VOLT_CLUSTER_EEXISTS;
    case ZBADVERSION: return VOLT_CLUSTER_EVERSION;
    case ZNOTEMPTY: return VOLT_CLUSTER_ENOTEMPTY;
    case ZNOAUTH:
    case ZINVALIDACL:
    case ZAUTHFAILED: return VOLT_CLUSTER_EAUTH;
    case ZSESSIONEXPIRED: return VOLT_CLUSTER_EEXPIRED;
    case ZSYSTEMERROR:
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZCLOSING: return VOLT_CLUSTER_EAWAY;
    case ZRUNTIMEINCONSISTENCY: /* an answer to another request */
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
    case ZNOTREADONLY:
      b->is_distrusted = true; /* so that SESSION_AGAIN follows */
      return VOLT_CLUSTER_EAWAY;
    default:
      zookeeper_log_line_(b, VOLT_CLUSTER_WARN, "the ensemble answers: %s (%d)", zerror(rc), rc);
      return VOLT_EINVAL;
  }
}

static uint32_t zookeeper_requests_slots(const volt_cluster_request *r) {
  return r->kind == VOLT_CLUSTER_WRITE ? r->count + 1 : 0;
}

static bool zookeeper_requests_is_lone_create(const volt_cluster_request *r) {
  return r->kind == VOLT_CLUSTER_WRITE && r->count == 1 &&
         r->actions[0].kind == VOLT_CLUSTER_CREATE;
}

/* ---- queues ---- */

static void zookeeper_requests_push(zookeeper_queue *q, volt_cluster_request *r) {
  r->next = NULL;
  if (q->last)
    q->last->next = r;
  else
    q->first = r;
  q->last = r;
}

static volt_cluster_request *zookeeper_requests_pop(zookeeper_queue *q) {
  volt_cluster_request *r = q->first;
  q->first = r->next;
  if (!q->first) q->last = NULL;
  return r;
}

/* The oldest is answered, and with it those behind it that could not be sent. */
static void zookeeper_requests_answer_first(zookeeper *b, int rc) {
  b->sent.first->result = rc;
  do zookeeper_requests_push(&b->done, zookeeper_requests_pop(&b->sent));
  while (b->sent.first && !b->sent.first->of_backend);
}

/* A completion. Called under the lock. */
static zookeeper_call *zookeeper_requests_complete(const void *data, int rc) {
  zookeeper_call *call = (zookeeper_call *)(uintptr_t)data;
  zookeeper *b = call->backend;
  if (b->sent.first != call->request) volt_panic_("volt_cluster", "an answer out of order");
  zookeeper_requests_answer_first(b, rc);
  return call;
}

void zookeeper_abandon_(zookeeper *b) {
  while (b->sent.first) zookeeper_requests_answer_first(b, ZCLOSING);
}

/* ---- completions ---- */

static void zookeeper_requests_done_void(int rc, const void *data) {
  (void)zookeeper_requests_complete(data, rc);
}

static void zookeeper_requests_done_stat(int rc, const struct Stat *stat, const void *data) {
  zookeeper_call *call = zookeeper_requests_complete(data, rc);
  if (stat) call->stat = *stat;
}

static void zookeeper_requests_done_create(int rc, const char *path, const struct Stat *stat,
                                           const void *data) {
  zookeeper_call *call = zookeeper_requests_complete(data, rc);
  volt_cluster_action *a = &call->request->actions[0];
  if (stat) call->stat = *stat;
  if (path && strlen(path) < sizeof a->path) strcpy(a->path, path);
}

static void zookeeper_requests_done_data(int rc, const char *value, int size,
                                         const struct Stat *stat, const void *data) {
  zookeeper_call *call = zookeeper_requests_complete(data, rc);
  volt_cluster_request *r = call->request;
  if (stat) call->stat = *stat;
  r->size = rc == ZOK && size > 0 ? (uint32_t)size : 0;
  if (r->size == 0) return;
  call->data = (char *)malloc(r->size);
  if (call->data) memcpy(call->data, value, r->size);
}

static void zookeeper_requests_done_names(int rc, const struct String_vector *names,
                                          const void *data) {
  zookeeper_call *call = zookeeper_requests_complete(data, rc);
  struct String_vector *from = (struct String_vector *)(uintptr_t)names;
  if (!from) return;
  call->names = *from; /* taken: the client frees what it finds there */
  from->count = 0;
  from->data = NULL;
}

/* Called under the lock. A session event to a watch is none. */
void zookeeper_watcher_(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
  zookeeper *b = (zookeeper *)(uintptr_t)zoo_get_context(handle);
  (void)state;
  (void)path;
  if (type == ZOO_SESSION_EVENT || ctx == b) return;
  if (b->fired_count == b->fired_room) {
    uint32_t room = b->fired_room ? 2 * b->fired_room : 16;
    uint32_t *fired = (uint32_t *)realloc(b->fired, room * sizeof *fired);
    if (!fired) {
      b->is_distrusted = true; /* the user looks again after SESSION_AGAIN */
      return;
    }
    b->fired = fired;
    b->fired_room = room;
  }
  b->fired[b->fired_count++] = (uint32_t)(uintptr_t)ctx;
}

/* ---- submit ---- */

static int zookeeper_requests_mode(const volt_cluster_action *a) {
  if (a->is_ephemeral) return a->is_sequential ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_EPHEMERAL;
  return a->is_sequential ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_PERSISTENT;
}

static const char *zookeeper_requests_data(const volt_cluster_action *a) {
  return a->data ? a->data : "";
}

/* The action whose node is also set; r->count: none. */
static uint32_t zookeeper_requests_known(const volt_cluster_request *r) {
  uint32_t i = 0;
  while (i < r->count && (r->actions[i].kind != VOLT_CLUSTER_CREATE || r->actions[i].is_sequential))
    i++;
  return i;
}

static void zookeeper_requests_make_op(zookeeper_call *call, zoo_op_t *op, volt_cluster_action *a) {
  switch (a->kind) {
    case VOLT_CLUSTER_CREATE:
      zoo_create_op_init(op, a->path, zookeeper_requests_data(a), (int)a->size, call->backend->acl,
                         zookeeper_requests_mode(a), a->path, sizeof a->path);
      break;
    case VOLT_CLUSTER_DELETE: zoo_delete_op_init(op, a->path, -1); break;
    case VOLT_CLUSTER_SET:
      zoo_set_op_init(op, a->path, zookeeper_requests_data(a), (int)a->size, (int)a->version, NULL);
      break;
    case VOLT_CLUSTER_CHECK: zoo_check_op_init(op, a->path, -1); break;
  }
}

static int zookeeper_requests_write(zookeeper_call *call) {
  volt_cluster_request *r = call->request;
  uint32_t known = zookeeper_requests_known(r), count = r->count;
  zoo_op_t *ops = (zoo_op_t *)calloc(count + 1, sizeof *ops);
  if (!ops) return ZSYSTEMERROR;
  for (uint32_t i = 0; i < count; i++) zookeeper_requests_make_op(call, &ops[i], &r->actions[i]);
  if (known < r->count) {
    volt_cluster_action *a = &r->actions[known];
    zoo_set_op_init(&ops[count++], a->path, zookeeper_requests_data(a), (int)a->size, -1,
                    &call->stat);
  }
  int rc = zoo_amulti(call->backend->handle, (int)count, ops, call->results,
                      zookeeper_requests_done_void, call);
  free(ops);
  return rc;
}

static int zookeeper_requests_send(zookeeper_call *call) {
  volt_cluster_request *r = call->request;
  zhandle_t *handle = call->backend->handle;
  watcher_fn watcher = r->watch ? zookeeper_watcher_ : NULL;
  void *watch = (void *)(uintptr_t)r->watch;
  switch (r->kind) {
    case VOLT_CLUSTER_WRITE: {
      const volt_cluster_action *a = r->actions;
      if (!zookeeper_requests_is_lone_create(r)) return zookeeper_requests_write(call);
      return zoo_acreate2(handle, a->path, zookeeper_requests_data(a), (int)a->size,
                          call->backend->acl, zookeeper_requests_mode(a),
                          zookeeper_requests_done_create, call);
    }
    case VOLT_CLUSTER_CHILDREN:
      return zoo_awget_children(handle, r->path, watcher, watch, zookeeper_requests_done_names,
                                call);
    case VOLT_CLUSTER_STAT:
      return zoo_awexists(handle, r->path, watcher, watch, zookeeper_requests_done_stat, call);
    case VOLT_CLUSTER_READ:
      return zoo_awget(handle, r->path, watcher, watch, zookeeper_requests_done_data, call);
    case VOLT_CLUSTER_TOUCH:
      return zoo_awexists(handle, "/", NULL, NULL, zookeeper_requests_done_stat, call);
  }
  return ZBADARGUMENTS;
}

/* What the client takes amiss, or leaks for. */
static bool zookeeper_requests_is_path(const char *path, uint32_t room) {
  size_t size = strnlen(path, VOLT_CLUSTER_PATH);
  if (path[0] != '/' || size + room >= VOLT_CLUSTER_PATH) return false;
  if (strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../")) return false;
  return size == 1 || room > 0 || path[size - 1] != '/';
}

static bool zookeeper_requests_is_fit(const volt_cluster_request *r) {
  if (r->kind == VOLT_CLUSTER_TOUCH) return true;
  if (r->kind != VOLT_CLUSTER_WRITE) return zookeeper_requests_is_path(r->path, 0);
  for (uint32_t i = 0; i < r->count; i++) {
    const volt_cluster_action *a = &r->actions[i];
    bool is_numbered = a->kind == VOLT_CLUSTER_CREATE && a->is_sequential;
    if (!zookeeper_requests_is_path(a->path, is_numbered ? 11 : 0)) return false;
  }
  return r->count > 0;
}

static void zookeeper_requests_submit_call(zookeeper *b, volt_cluster_request *r) {
  zookeeper_call *call = (zookeeper_call *)r->of_backend;
  call->backend = b;
  call->request = r;
  zookeeper_requests_push(&b->sent, r);
  zookeeper_enter_(b);
  if (zookeeper_requests_send(call) != ZOK)
    b->is_distrusted = true; /* no memory: the client may have it */
  zookeeper_leave_(b);
}

/* It cannot be sent. Its answer comes behind those of the requests before it. */
static void zookeeper_requests_refuse(zookeeper *b, volt_cluster_request *r, int rc) {
  r->result = rc;
  zookeeper_requests_push(b->sent.first ? &b->sent : &b->done, r);
}

void zookeeper_submit_(zookeeper *b, volt_cluster_request *r) {
  int rc = ZOK;
  r->of_backend = NULL;
  r->sent_ns = zookeeper_now_ns_();
  if (b->phase != ZOOKEEPER_CONNECTED || !zookeeper_is_up_(b)) {
    rc = b->phase == ZOOKEEPER_IDLE && b->session ? ZSESSIONEXPIRED : ZCONNECTIONLOSS;
  } else if (!zookeeper_requests_is_fit(r)) {
    rc = ZBADARGUMENTS;
  } else {
    r->of_backend =
        calloc(1, sizeof(zookeeper_call) + zookeeper_requests_slots(r) * sizeof(zoo_op_result_t));
    if (!r->of_backend) rc = ZSYSTEMERROR;
  }
  if (rc == ZOK) {
    zookeeper_requests_submit_call(b, r);
  } else {
    zookeeper_requests_refuse(b, r, rc);
  }
}

/* ---- deliver ---- */

static void zookeeper_requests_fill_node(volt_cluster_node *node, const struct Stat *stat) {
  node->created = (uint64_t)stat->czxid;
  node->changed = (uint64_t)stat->mzxid;
  node->owner = (uint64_t)stat->ephemeralOwner;
  node->version = (uint32_t)stat->version;
}

/* Of a WRITE: what has become of each action. */
static void zookeeper_requests_fill_actions(zookeeper *b, volt_cluster_request *r, int rc) {
  const zookeeper_call *call = (const zookeeper_call *)r->of_backend;
  bool is_lone = zookeeper_requests_is_lone_create(r);
  uint32_t known = is_lone ? 0 : zookeeper_requests_known(r);
  for (uint32_t i = 0; i < r->count; i++) {
    volt_cluster_action *a = &r->actions[i];
    int own = call && !is_lone ? call->results[i].err : rc;
    a->result = own == ZRUNTIMEINCONSISTENCY || (own == ZOK && rc != ZOK)
                    ? (int)VOLT_CLUSTER_EUNDONE
                    : zookeeper_requests_result(b, own);
    if (rc != ZOK || a->kind != VOLT_CLUSTER_CREATE) continue;
    zookeeper_requests_fill_node(&a->node, &call->stat);
    a->node.owner = a->is_ephemeral ? b->session : 0;
    if (i != known) a->node.version = 0;
  }
}

static void zookeeper_requests_fill(zookeeper *b, volt_cluster_request *r) {
  const zookeeper_call *call = (const zookeeper_call *)r->of_backend;
  int rc = r->result;
  r->result = zookeeper_requests_result(b, rc);
  if (r->kind == VOLT_CLUSTER_WRITE) {
    zookeeper_requests_fill_actions(b, r, rc);
    return;
  }
  if (r->kind == VOLT_CLUSTER_TOUCH && rc == ZNONODE) r->result = VOLT_OK; /* no chroot yet */
  if (rc != ZOK) return;
  zookeeper_requests_fill_node(&r->node, &call->stat);
  r->names = (const char *const *)call->names.data;
  r->name_count = (uint32_t)call->names.count;
  r->data = call->data;
  if (r->kind == VOLT_CLUSTER_READ && r->size > 0 && !r->data) r->result = VOLT_ENOMEM;
}

static void zookeeper_requests_free_call(zookeeper_call *call) {
  if (!call) return;
  (void)deallocate_String_vector(&call->names);
  free(call->data);
  free(call);
}

/* What is submitted meanwhile is not delivered in this call. */
void zookeeper_deliver_(zookeeper *b) {
  zookeeper_queue done = b->done;
  b->done = (zookeeper_queue){NULL, NULL};
  while (done.first) {
    volt_cluster_request *r = zookeeper_requests_pop(&done);
    zookeeper_call *call = (zookeeper_call *)r->of_backend;
    zookeeper_requests_fill(b, r);
    r->of_backend = NULL;
    r->done(r); /* r may be submitted again */
    zookeeper_requests_free_call(call);
  }
  uint32_t count = b->fired_count;
  b->fired_count = 0;
  for (uint32_t i = 0; i < count; i++) b->client.on_event(b->client.ctx, b->fired[i]);
}

bool zookeeper_has_news_(const zookeeper *b) {
  return b->done.first || b->fired_count > 0;
}
