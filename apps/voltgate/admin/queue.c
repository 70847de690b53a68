/* queue.c: which clients wait, and which hold permits, as JSON. */
#include <stdlib.h>

#include "admin/cluster_status.h"
#include "admin/status.h"

static uint64_t difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

/* Look at the `shown` oldest in that state. Returns NULL: no memory. Free it. */
static struct client_seen *look(struct gate *gate, enum client_state state, size_t shown,
                                size_t *count) {
  struct client_seen *seen = malloc((shown > 0 ? shown : 1) * sizeof *seen);
  if (seen != NULL) *count = clients_oldest(&gate->clients, state, seen, shown);
  return seen;
}

static void put_waiting(struct json *j, const struct client_seen *one, uint64_t now_ns) {
  json_put_number(j, "ticket", one->ticket);
  json_put_string(j, "client", one->address);
  json_put_string(j, "tenant", one->tenant);
  json_put_seconds(j, "age_s", difference(now_ns, one->since_ns));
  if (one->deadline_ns == 0) {
    json_put_null(j, "deadline_s");
  } else {
    json_put_seconds(j, "deadline_s", difference(one->deadline_ns, now_ns));
  }
}

static const char *work_name(enum client_work work) {
  switch (work) {
    case CLIENT_CONNECTING: break;
    case CLIENT_CONNECTED: return "connected";
    case CLIENT_ACTIVE: return "active";
    case CLIENT_RESTS: return "idle in transaction";
  }
  return "connecting";
}

/* A time that has begun, or none. */
static void put_since(struct json *j, const char *key, uint64_t since_ns, uint64_t now_ns) {
  if (since_ns == 0) {
    json_put_null(j, key);
  } else {
    json_put_seconds(j, key, difference(now_ns, since_ns));
  }
}

static void put_holder(struct json *j, const struct client_seen *one, uint64_t now_ns) {
  json_put_string(j, "client", one->address);
  json_put_string(j, "tenant", one->tenant);
  json_put_string(j, "user", one->user);
  json_put_string(j, "database", one->database);
  json_put_seconds(j, "held_s", difference(now_ns, one->since_ns));
  json_put_string(j, "state", work_name(one->work));
  put_since(j, "state_s", one->work == CLIENT_RESTS ? one->rests_ns : one->asked_ns, now_ns);
  put_since(j, "query_s", one->asked_ns, now_ns);
  json_put_number(j, "up", one->up);
  json_put_number(j, "down", one->down);
}

static void put_all(struct json *j, const struct client_seen *seen, size_t count, uint64_t now_ns,
                    void (*put)(struct json *, const struct client_seen *, uint64_t)) {
  for (size_t i = 0; i < count; i++) {
    json_put_object(j, NULL);
    json_put_number(j, "position", i + 1);
    put(j, &seen[i], now_ns);
    json_end_object(j);
  }
}

bool queue_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown) {
  size_t count = 0;
  struct client_seen *waiting = look(gate, CLIENT_QUEUED, shown, &count);
  if (waiting == NULL) return false;
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_number(&j, "length", atomic_load_explicit(&gate->queued, memory_order_relaxed));
  json_put_number(&j, "bound", atomic_load_explicit(&gate->queue_bound, memory_order_relaxed));
  json_put_seconds(&j, "now_s", now_ns);
  cluster_put_queue(&j, gate);
  json_put_array(&j, "waiting");
  put_all(&j, waiting, count, now_ns, put_waiting);
  json_end_array(&j);
  json_end_object(&j);
  OUTPUT(to, "\n");
  free(waiting);
  return !to->is_cut;
}

bool holders_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown) {
  size_t count = 0;
  struct client_seen *holders = look(gate, CLIENT_HOLDS, shown, &count);
  if (holders == NULL) return false;
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_number(&j, "held", gate_held(gate));
  json_put_number(&j, "limit", gate_limit(gate));
  json_put_seconds(&j, "now_s", now_ns);
  json_put_array(&j, "holders");
  put_all(&j, holders, count, now_ns, put_holder);
  json_end_array(&j);
  json_end_object(&j);
  OUTPUT(to, "\n");
  free(holders);
  return !to->is_cut;
}
