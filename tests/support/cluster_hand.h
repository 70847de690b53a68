/* cluster_hand.h: an ensemble of one server and one client, whose every answer the test gives.
 *
 * A request waits until the test has it carried out and answered, or loses its answer, done or not
 * done; or each is answered at once (answers_itself). Other hosts are nodes that the test makes. What was written is a text, one line for each
 * transaction: "+q0 +s/3 -h0 ok". */
#ifndef VOLT_TEST_CLUSTER_HAND_H
#define VOLT_TEST_CLUSTER_HAND_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/cluster_backend.h>
#include <volt/notify.h>
#include <volt/promise.h>
#include <volt/select.h>

#include "require.h"

enum { HAND_NODES = 4096, HAND_REQUESTS = 64, HAND_WATCHES = 64, HAND_LOG = 8192 };
#define HAND_MS UINT64_C(1000000)
#define HAND_SESSION_NS (6000 * HAND_MS)

typedef struct hand_node {
  char path[VOLT_CLUSTER_PATH];
  char data[1024];
  uint32_t size;
  volt_cluster_node stat;
  int32_t sequence; /* of the next child */
} hand_node;

typedef struct hand_watch {
  char path[VOLT_CLUSTER_PATH];
  bool of_children;
  uint32_t number;
} hand_watch;

struct volt_cluster_backend {
  volt_cluster_client client;
  volt_rt *rt;
  volt_notify news;
  volt_future news_future;
  volt_sleep_op nap;
  volt_future *either[2];
  volt_select select;
  hand_node nodes[HAND_NODES];
  uint32_t node_count;
  hand_watch watches[HAND_WATCHES];
  uint32_t watch_count;
  volt_cluster_request *asked[HAND_REQUESTS]; /* to be answered by the test */
  uint32_t asked_count;
  volt_cluster_request *answered[HAND_REQUESTS]; /* to be delivered by process() */
  uint32_t answered_count;
  uint32_t fired[HAND_WATCHES];
  uint32_t fired_count;
  enum volt_cluster_session_event events[8];
  uint32_t event_count;
  uint64_t transaction;
  uint64_t session;
  uint64_t since_ns;
  uint32_t connects;
  uint32_t reads;
  uint32_t writes;
  volt_cluster_request *late; /* a lost write that is still under way */
  bool is_closed;
  volt_promise closed;
  bool answers_itself;
  char log[HAND_LOG];
};

/* The one that the test uses; a back end's open() gives it. */
static volt_cluster_backend *hand;

static inline void hand_news(void) {
  volt_notify_one(&hand->news);
}

/* ---- nodes ---- */

static inline hand_node *hand_find(const char *path) {
  for (uint32_t i = 0; i < hand->node_count; i++) {
    if (strcmp(hand->nodes[i].path, path) == 0) return &hand->nodes[i];
  }
  return NULL;
}

static inline void hand_parent(char *to, const char *path) {
  snprintf(to, VOLT_CLUSTER_PATH, "%s", path);
  char *end = strrchr(to, '/');
  REQUIRE(end);
  *end = '\0';
}

static inline void hand_fire(const char *path, bool of_children) {
  for (uint32_t i = 0; i < hand->watch_count;) {
    hand_watch *w = &hand->watches[i];
    if (w->of_children == of_children && strcmp(w->path, path) == 0) {
      bool is_new = true; /* the same number on the same node: one event */
      for (uint32_t k = 0; k < hand->fired_count; k++) is_new &= hand->fired[k] != w->number;
      if (is_new) hand->fired[hand->fired_count++] = w->number;
      *w = hand->watches[--hand->watch_count];
    } else {
      i += 1;
    }
  }
}

static inline void hand_changed(const char *path, bool is_child_change) {
  char parent[VOLT_CLUSTER_PATH];
  hand_fire(path, false);
  if (!is_child_change) return;
  hand_fire(path, true);
  hand_parent(parent, path);
  hand_fire(parent, true);
}

static inline hand_node *hand_add(const char *path, const char *data, uint32_t size,
                                  uint64_t owner) {
  REQUIRE(hand->node_count < HAND_NODES && size < sizeof hand->nodes[0].data);
  hand_node *n = &hand->nodes[hand->node_count++];
  memset(n, 0, sizeof *n);
  snprintf(n->path, sizeof n->path, "%s", path);
  if (size) memcpy(n->data, data, size);
  n->size = size;
  n->stat = (volt_cluster_node){
      .created = hand->transaction, .changed = hand->transaction, .owner = owner};
  hand_changed(path, true);
  return n;
}

static inline void hand_drop(hand_node *n) {
  char path[VOLT_CLUSTER_PATH];
  snprintf(path, sizeof path, "%s", n->path);
  *n = hand->nodes[--hand->node_count];
  hand_changed(path, true);
}

static inline uint32_t hand_children(const char *path) {
  size_t length = strlen(path);
  uint32_t count = 0;
  for (uint32_t i = 0; i < hand->node_count; i++) {
    const char *p = hand->nodes[i].path;
    count += strncmp(p, path, length) == 0 && p[length] == '/' && !strchr(p + length + 1, '/');
  }
  return count;
}

/* ---- what the test does as others do ---- */

static inline void hand_make(const char *path, const char *data) {
  hand->transaction += 1;
  hand_add(path, data, (uint32_t)strlen(data), 0);
  hand_news();
}

static inline void hand_make_by(uint64_t owner, const char *path) {
  hand->transaction += 1;
  hand_add(path, "", 0, owner);
  hand_news();
}

static inline void hand_delete(const char *path) {
  hand_node *n = hand_find(path);
  REQUIRE(n);
  hand->transaction += 1;
  hand_drop(n);
  hand_news();
}

static inline void hand_set(const char *path, const char *data) {
  hand_node *n = hand_find(path);
  REQUIRE(n);
  hand->transaction += 1;
  n->size = (uint32_t)strlen(data);
  memcpy(n->data, data, n->size);
  n->stat.version += 1;
  n->stat.changed = hand->transaction;
  hand_changed(path, false);
  hand_news();
}

static inline int32_t hand_next(hand_node *parent) {
  int32_t number = parent->sequence;
  parent->sequence = number == INT32_MAX ? INT32_MIN : number + 1;
  return number;
}

/* The node, its directories, and so many slots that others have. */
static inline void hand_make_semaphore(const char *data, uint32_t taken) {
  static const char *const paths[] = {"/volt/x/q0", "/volt/x/h0", "/volt/x/s"};
  hand_make("/volt", "");
  hand_make("/volt/x", data);
  for (int i = 0; i < 3; i++) hand_make(paths[i], "");
  for (uint32_t i = 0; i < taken; i++) {
    char path[64];
    snprintf(path, sizeof path, "/volt/x/s/%u", (unsigned)i);
    hand_make_by(999, path);
  }
}

/* A host of others: enters the queue, or the holders. Returns its path, in static memory. */
static inline const char *hand_enter(char place, uint32_t host, const char *rest) {
  static char path[VOLT_CLUSTER_PATH];
  char directory[64];
  snprintf(directory, sizeof directory, "/volt/x/%c0", place);
  hand_node *parent = hand_find(directory);
  REQUIRE(parent);
  snprintf(path, sizeof path, "%s/%032x%s%010d", directory, (unsigned)host, rest,
           (int)hand_next(parent));
  hand_make_by(1000 + host, path);
  return path;
}

/* ---- carrying out ---- */

/* Whether one of the actions before a makes this node. */
static inline bool hand_is_made(const volt_cluster_request *r, const volt_cluster_action *a,
                                const char *path) {
  for (const volt_cluster_action *before = r->actions; before < a; before++) {
    if (before->kind == VOLT_CLUSTER_CREATE && strcmp(before->path, path) == 0) return true;
  }
  return false;
}

static inline int hand_check(const volt_cluster_request *r, volt_cluster_action *a) {
  char parent[VOLT_CLUSTER_PATH];
  hand_node *n = hand_find(a->path);
  if (a->kind == VOLT_CLUSTER_CREATE) {
    hand_parent(parent, a->path);
    bool has_parent = !parent[0] || hand_find(parent) || hand_is_made(r, a, parent);
    if (!has_parent) return VOLT_CLUSTER_ENONODE;
    return !a->is_sequential && n ? (int)VOLT_CLUSTER_EEXISTS : (int)VOLT_OK;
  }
  if (!n) return VOLT_CLUSTER_ENONODE;
  if (a->kind == VOLT_CLUSTER_DELETE && hand_children(a->path)) return VOLT_CLUSTER_ENOTEMPTY;
  if (a->kind == VOLT_CLUSTER_SET && a->version >= 0 && a->version != n->stat.version) {
    return VOLT_CLUSTER_EVERSION;
  }
  return VOLT_OK;
}

static inline void hand_note(const char *what, const char *path) {
  const char *name = strncmp(path, "/volt/x/", 8) == 0 ? path + 8 : path;
  char shown[VOLT_CLUSTER_PATH];
  snprintf(shown, sizeof shown, "%s", name);
  char *slash = strrchr(shown, '/');
  if (slash && (shown[0] == 'q' || shown[0] == 'h')) *slash = '\0';
  if (hand->answers_itself) return; /* for ever */
  size_t length = strlen(hand->log);
  REQUIRE(length + strlen(shown) + 8 < sizeof hand->log);
  snprintf(hand->log + length, sizeof hand->log - length, "%s%s ", what, shown);
}

static inline void hand_do(volt_cluster_action *a) {
  char parent[VOLT_CLUSTER_PATH];
  static const char *const signs[] = {"+", "-", "=", "?"};
  hand_note(signs[a->kind], a->path);
  hand_node *n = hand_find(a->path);
  switch (a->kind) {
    case VOLT_CLUSTER_CREATE:
      hand_parent(parent, a->path);
      if (a->is_sequential) {
        size_t length = strlen(a->path);
        snprintf(a->path + length, sizeof a->path - length, "%010d",
                 (int)hand_next(hand_find(parent)));
      }
      n = hand_add(a->path, a->data, a->size, a->is_ephemeral ? hand->session : 0);
      a->node = n->stat;
      break;
    case VOLT_CLUSTER_DELETE: hand_drop(n); break;
    case VOLT_CLUSTER_SET:
      memcpy(n->data, a->data, a->size);
      n->size = a->size;
      n->stat.version += 1;
      n->stat.changed = hand->transaction;
      hand_changed(a->path, false);
      break;
    case VOLT_CLUSTER_CHECK: break;
  }
}

static inline int hand_transact(volt_cluster_request *r) {
  int result = VOLT_OK;
  hand->transaction += 1;
  for (uint32_t i = 0; i < r->count; i++) {
    r->actions[i].result = result == VOLT_OK ? hand_check(r, &r->actions[i]) : VOLT_CLUSTER_EUNDONE;
    if (result == VOLT_OK) result = r->actions[i].result;
  }
  for (uint32_t i = 0; i < r->count && result == VOLT_OK; i++) hand_do(&r->actions[i]);
  if (result != VOLT_OK) hand_note("failed", "");
  if (!hand->answers_itself) strcat(hand->log, "| "); /* there is room: hand_note() */
  return result;
}

static inline void hand_watch_set(const volt_cluster_request *r) {
  if (!r->watch) return;
  REQUIRE(hand->watch_count < HAND_WATCHES);
  hand_watch *w = &hand->watches[hand->watch_count++];
  *w = (hand_watch){.of_children = r->kind == VOLT_CLUSTER_CHILDREN, .number = r->watch};
  snprintf(w->path, sizeof w->path, "%s", r->path);
}

/* names and data of an answer live until the next */
static inline void hand_list(volt_cluster_request *r) {
  static const char *names[HAND_NODES];
  static char copies[HAND_NODES][96];
  size_t length = strlen(r->path);
  r->names = names;
  for (uint32_t i = 0; i < hand->node_count; i++) {
    const char *p = hand->nodes[i].path;
    if (strncmp(p, r->path, length) != 0 || p[length] != '/' || strchr(p + length + 1, '/')) {
      continue;
    }
    snprintf(copies[r->name_count], sizeof copies[0], "%s", p + length + 1);
    names[r->name_count] = copies[r->name_count];
    r->name_count += 1;
  }
}

static inline int hand_read(volt_cluster_request *r) {
  hand_node *n = hand_find(r->path);
  if (r->kind == VOLT_CLUSTER_TOUCH) return VOLT_OK;
  if (n || r->kind == VOLT_CLUSTER_STAT) hand_watch_set(r);
  if (!n) return VOLT_CLUSTER_ENONODE;
  r->node = n->stat;
  return VOLT_OK;
}

/* What an answer points to is copied as it is delivered. */
static inline void hand_deliver(volt_cluster_request *r) {
  static char data[sizeof hand->nodes[0].data];
  hand_node *n = hand_find(r->path);
  if (r->result == VOLT_OK && r->kind == VOLT_CLUSTER_CHILDREN) hand_list(r);
  if (r->result == VOLT_OK && r->kind == VOLT_CLUSTER_READ && n) {
    memcpy(data, n->data, n->size);
    r->data = data;
    r->size = n->size;
  }
  r->done(r);
}

static inline void hand_answer_as(uint32_t i, int result) {
  volt_cluster_request *r = hand->asked[i];
  r->result = result;
  memmove(&hand->asked[i], &hand->asked[i + 1],
          (hand->asked_count - i - 1) * sizeof hand->asked[0]);
  hand->asked_count -= 1;
  hand->answered[hand->answered_count++] = r;
  hand_news();
}

/* Carry out the oldest request, and answer it. */
static inline void hand_answer(void) {
  REQUIRE(hand->asked_count);
  volt_cluster_request *r = hand->asked[0];
  if (r->kind == VOLT_CLUSTER_WRITE && hand->late) {
    volt_cluster_request *late = hand->late;
    hand->late = NULL;
    (void)hand_transact(late);
  }
  hand_answer_as(0, r->kind == VOLT_CLUSTER_WRITE ? hand_transact(r) : hand_read(r));
}

/* ---- the back end ---- */

static inline int hand_open(volt_cluster_backend **b, const volt_cluster_config *config,
                            const volt_cluster_client *client) {
  hand->client = *client;
  hand->rt = config->rt;
  *b = hand;
  return VOLT_OK;
}

static inline uint64_t hand_now(const volt_cluster_backend *b) {
  return volt_rt_now_ns(b->rt);
}

static inline void hand_submit(volt_cluster_backend *b, volt_cluster_request *r) {
  REQUIRE(b->asked_count < HAND_REQUESTS && !b->is_closed);
  r->sent_ns = hand_now(b);
  r->name_count = 0;
  if (r->kind == VOLT_CLUSTER_WRITE) b->writes += 1;
  if (r->kind != VOLT_CLUSTER_WRITE) b->reads += 1;
  b->asked[b->asked_count++] = r;
  if (b->answers_itself) hand_answer();
}

static inline volt_future *hand_wait(volt_cluster_backend *b, uint64_t until_ns) {
  b->either[0] = volt_notify_wait_future(&b->news_future, &b->news);
  b->either[1] = volt_sleep_future(&b->nap, volt_rt_timers(b->rt), until_ns);
  return volt_select_future(&b->select, b->either, 2, VOLT_SELECT_BIASED);
}

static inline void hand_process(volt_cluster_backend *b) {
  while (b->fired_count) b->client.on_event(b->client.ctx, b->fired[--b->fired_count]);
  uint32_t count = b->answered_count;
  b->answered_count = 0;
  for (uint32_t i = 0; i < count; i++) hand_deliver(b->answered[i]);
  for (uint32_t i = 0; i < b->event_count; i++) {
    enum volt_cluster_session_event event = b->events[i];
    b->client.on_session(b->client.ctx, event, b->session, HAND_SESSION_NS, b->since_ns);
  }
  b->event_count = 0;
}

static inline volt_future *hand_close(volt_cluster_backend *b) {
  static volt_future f;
  b->is_closed = true;
  while (b->asked_count) hand_answer_as(0, VOLT_CLUSTER_EAWAY);
  hand_process(b);
  volt_promise_complete(&b->closed, VOLT_OK);
  return volt_promise_future(&f, &b->closed);
}

static inline void hand_destroy(volt_cluster_backend *b) {
  (void)b;
}

/* ---- answering ---- */

enum hand_fate { HAND_DONE, HAND_NOT_DONE, HAND_LATE };

/* A transaction whose client is gone. */
static inline void hand_lose_write(const volt_cluster_request *r, enum hand_fate fate) {
  static volt_cluster_request request;
  static volt_cluster_action actions[256];
  static char data[256][256];
  REQUIRE(r->count <= 256);
  request = (volt_cluster_request){.kind = r->kind, .actions = actions, .count = r->count};
  for (uint32_t i = 0; i < r->count; i++) {
    actions[i] = r->actions[i];
    if (!actions[i].data) continue;
    REQUIRE(actions[i].size <= sizeof data[0]);
    memcpy(data[i], actions[i].data, actions[i].size);
    actions[i].data = data[i];
  }
  if (fate == HAND_DONE) (void)hand_transact(&request);
  if (fate == HAND_LATE) hand->late = &request;
}

/* Lose the connection. What was asked is done and the answers are lost; or it is not done; or it is
 * done later, before the next write. */
static inline void hand_lose(enum hand_fate fate) {
  while (hand->asked_count) {
    volt_cluster_request *r = hand->asked[0];
    if (r->kind == VOLT_CLUSTER_WRITE) hand_lose_write(r, fate);
    hand_answer_as(0, VOLT_CLUSTER_EAWAY);
  }
  hand->watch_count = 0;
  hand->events[hand->event_count++] = VOLT_CLUSTER_SESSION_AWAY;
  hand_news();
}

static inline void hand_say(enum volt_cluster_session_event event) {
  hand->since_ns = hand_now(hand);
  hand->events[hand->event_count++] = event;
  hand_news();
}

static inline void hand_connect(volt_cluster_backend *b) {
  b->connects += 1;
  if (b->answers_itself) hand_say(VOLT_CLUSTER_SESSION_NEW);
}

static inline void hand_begin_session(uint64_t session) {
  hand->session = session;
  hand_say(VOLT_CLUSTER_SESSION_NEW);
}

/* Delete what a session has made. */
static inline void hand_end_session(uint64_t session) {
  hand->transaction += 1;
  for (uint32_t i = 0; i < hand->node_count;) {
    if (hand->nodes[i].stat.owner == session) {
      hand_drop(&hand->nodes[i]);
    } else {
      i += 1;
    }
  }
}

static const volt_cluster_kind hand_kind = {.name = "by hand",
                                            .open = hand_open,
                                            .connect = hand_connect,
                                            .submit = hand_submit,
                                            .wait_future = hand_wait,
                                            .process = hand_process,
                                            .now_ns = hand_now,
                                            .close_future = hand_close,
                                            .destroy = hand_destroy};

/* ---- life ---- */

static inline void hand_begin(void) {
  hand = (volt_cluster_backend *)calloc(1, sizeof *hand);
  REQUIRE(hand);
  volt_notify_init(&hand->news);
  volt_promise_init(&hand->closed, NULL);
  hand->transaction = 100;
}

static inline void hand_end(void) {
  free(hand);
  hand = NULL;
}

#endif
