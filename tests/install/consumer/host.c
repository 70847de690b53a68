/* A stranger's program with a limit for many machines: no ensemble is there, so no permit is given. */
#include <stdio.h>
#include <volt/cluster.h>
#include <volt/io.h>

static int try_one(volt_cluster *cluster) {
  volt_cluster_sem *sem;
  volt_cluster_permit permit;
  volt_cluster_sem_config config = {.limit = 8};
  if (volt_cluster_sem_open(&sem, cluster, "shop", &config) != VOLT_OK) return 3;
  if (volt_cluster_try_acquire(sem, &permit) != VOLT_EAGAIN) return 4;
  if (volt_cluster_acquire_until(sem, &permit, volt_deadline_ns(1000000)) != VOLT_ETIMEDOUT) {
    return 5;
  }
  volt_cluster_sem_close(sem);
  return 0;
}

int main(void) {
  volt_rt *rt;
  volt_cluster *cluster;
  volt_future closing;
  volt_rt_config config = {.workers = 1, .io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  volt_cluster_config where = {.rt = rt, .servers = "127.0.0.1:1"};
  if (volt_cluster_open(&cluster, &where) != VOLT_OK) return 2;
  int code = try_one(cluster);
  int closed = volt_future_wait(volt_cluster_close_future(&closing, cluster));
  if (code == 0 && closed != VOLT_CLUSTER_EAWAY) code = 6;
  volt_cluster_destroy(cluster);
  puts("closed");
  /* On a busy machine the lookup of the server has not ended, and is a task that is cancelled here. */
  return volt_rt_destroy(rt) <= 1 ? code : 7;
}
