/* queue.c: which clients wait, as JSON. */
#include <stdlib.h>

#include "admin/cluster_status.h"
#include "admin/status.h"

static uint64_t difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

bool queue_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown) {
  struct queued *waiting = malloc((shown > 0 ? shown : 1) * sizeof *waiting);
  if (waiting == NULL) return false;
  size_t count = shown > 0 ? clients_queued(&gate->clients, waiting, shown) : 0;
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_number(&j, "length", atomic_load_explicit(&gate->queued, memory_order_relaxed));
  json_put_number(&j, "bound", atomic_load_explicit(&gate->queue_bound, memory_order_relaxed));
  json_put_seconds(&j, "now_s", now_ns);
  cluster_put_queue(&j, gate);
  json_put_array(&j, "waiting");
  for (size_t i = 0; i < count; i++) {
    json_put_object(&j, NULL);
    json_put_number(&j, "position", i + 1);
    json_put_number(&j, "ticket", waiting[i].ticket);
    json_put_string(&j, "client", waiting[i].address);
    json_put_string(&j, "tenant", waiting[i].tenant);
    json_put_seconds(&j, "age_s", difference(now_ns, waiting[i].since_ns));
    if (waiting[i].deadline_ns == 0) {
      json_put_null(&j, "deadline_s");
    } else {
      json_put_seconds(&j, "deadline_s", difference(waiting[i].deadline_ns, now_ns));
    }
    json_end_object(&j);
  }
  json_end_array(&j);
  json_end_object(&j);
  OUTPUT(to, "\n");
  free(waiting);
  return !to->is_cut;
}
