/* 16_cluster_simulated.c: a host that is stopped, and writes too late: a test that takes no time.
 * Two hosts share a semaphore with one slot, on an ensemble in memory. The first is stopped while its
 * task has the permit; its session ends, and the second host gets the slot. When the first goes on,
 * its task does not know yet, and writes. The resource refuses that by the fence.
 *
 *   cc -std=c11 16_cluster_simulated.c $(pkg-config --cflags --libs volt-cluster)
 *
 * prints: first: written
 * prints: second: written
 * prints: first: refused, its fence is older
 * prints: first: the permit is lost */
#include <stdio.h>
#include <stdlib.h>
#include <volt/ensemble.h>
#include <volt/volt.h>

static const uint64_t second = 1000000000;

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

/* What the permit protects. It knows the newest fence it has seen. (Of several slots: one each.) */
static volt_cluster_fence newest;

static void write_to_resource(const char *from, const volt_cluster_permit *permit) {
  volt_cluster_fence fence = volt_cluster_permit_fence(permit);
  if (volt_cluster_fence_compare(&fence, &newest) < 0) {
    printf("%s: refused, its fence is older\n", from);
    return;
  }
  newest = fence;
  printf("%s: written\n", from);
}

struct host {
  volt_task task;
  const char *name;
  uint32_t number;
  volt_rt *rt;
  volt_cluster *cluster;
  volt_cluster_sem *sem;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_future lost, closed;
  volt_sleep_op sleep;
};

/* Write, work for a second, write again. */
static int host_poll(volt_task *t, volt_ctx *ctx) {
  struct host *self = volt_container_of(t, struct host, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_cluster_acquire_future(&self->acquire, self->sem, &self->permit));
  write_to_resource(self->name, &self->permit);
  VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(self->rt),
                                     volt_rt_now_ns(self->rt) + second));
  if (self->number == 0) {
    write_to_resource(self->name, &self->permit);
    VOLT_AWAIT(self, volt_cluster_permit_lost_future(&self->lost, &self->permit));
    printf("%s: the permit is lost\n", self->name);
  }
  VOLT_FINALLY(self);
  volt_cluster_release(&self->permit);
  VOLT_TASK_END(self);
}

static void open_host(struct host *h, volt_ensemble *e, const char *name) {
  volt_cluster_config config = {.kind = volt_cluster_simulated(), .of_kind = e, .name = name};
  volt_cluster_sem_config of_sem = {.limit = 1};
  h->name = name;
  h->number = volt_ensemble_host_add(e);
  h->rt = config.rt = volt_ensemble_host_rt(e, h->number);
  must(volt_cluster_open(&h->cluster, &config), "volt_cluster_open");
  must(volt_cluster_sem_open(&h->sem, h->cluster, "shop", &of_sem), "volt_cluster_sem_open");
  volt_task_init(&h->task, host_poll);
  must(volt_spawn(h->rt, &h->task), "volt_spawn");
}

static void close_host(struct host *h, volt_ensemble *e) {
  volt_future *closed = volt_cluster_close_future(&h->closed, h->cluster);
  must(volt_ensemble_run_future(e, closed, volt_ensemble_now_ns(e) + 2 * second), h->name);
  volt_cluster_destroy(h->cluster);
}

int main(void) {
  static struct host first, other;
  volt_ensemble *e;
  must(volt_ensemble_create(&e, &(volt_ensemble_config){.seed = 1}), "volt_ensemble_create");
  open_host(&first, e, "first");
  volt_ensemble_run(e, 1500000000); /* the world's clock begins at one second */
  volt_ensemble_host_stop(e, first.number);
  open_host(&other, e, "second");
  volt_ensemble_run(e, 20 * second); /* longer than the session of 10 s */
  volt_ensemble_host_continue(e, first.number);
  volt_ensemble_run(e, 30 * second);
  close_host(&first, e);
  close_host(&other, e);
  volt_ensemble_destroy(e);
}
