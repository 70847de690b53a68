/* 15_cluster.c: run a command with a permit of a semaphore that many machines share.
 * As many of them run at once as LIMIT says, wherever they were started; the others wait. The command
 * finds its fence in its environment, for what it writes to (15_cluster.sql). It is ended when its
 * permit is lost, because this host was cut off from the ensemble.
 *
 *   cc -std=c11 15_cluster.c $(pkg-config --cflags --libs volt-cluster)
 *   ./a.out zk1:2181,zk2:2181,zk3:2181 shop 4 psql -v ON_ERROR_STOP=1 -f 15_cluster_write.sql
 *
 * prints: usage: 15_cluster SERVERS NAME LIMIT COMMAND [ARGUMENT]... */
#define _GNU_SOURCE /* environ */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/cluster.h>
#include <volt/process.h>
#include <volt/volt.h>

static volt_rt *rt;
static volt_cluster *cluster;
static volt_cluster_sem *sem;

struct job {
  volt_task task;
  const char *const *command;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_process child;
  volt_process_wait wait;
  volt_future lost;
  volt_future *either[2];
  volt_select select;
  int result, exit_code;
};

/* Start the command, with the fence in its environment. */
static int start(struct job *self) {
  volt_cluster_fence fence = volt_cluster_permit_fence(&self->permit);
  char text[4][40];
  size_t count = 0;
  while (environ[count]) count++;
  const char **all = calloc(count + 5, sizeof *all);
  if (!all) return VOLT_ENOMEM;
  snprintf(text[0], sizeof text[0], "VOLT_SLOT=%" PRIu32, fence.slot);
  snprintf(text[1], sizeof text[1], "VOLT_ERA=%" PRIu32, fence.era);
  snprintf(text[2], sizeof text[2], "VOLT_EPOCH=%" PRIu64, fence.epoch);
  snprintf(text[3], sizeof text[3], "VOLT_GRANT=%" PRIu64, fence.grant);
  for (size_t i = 0; i < 4; i++) all[i] = text[i];
  for (size_t i = 0; i < count; i++) all[4 + i] = environ[i];
  volt_process_config config = {.arguments = self->command, .environment = all};
  int result = volt_process_start(&self->child, rt, &config);
  free(all);
  return result;
}

/* The end of the command, or the loss of the permit. */
static volt_future *end_or_loss(struct job *self) {
  self->either[0] = volt_process_wait_future(&self->wait, &self->child);
  self->either[1] = volt_cluster_permit_lost_future(&self->lost, &self->permit);
  return volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED);
}

static int job_poll(volt_task *t, volt_ctx *ctx) {
  struct job *self = volt_container_of(t, struct job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_cluster_acquire_future(&self->acquire, sem, &self->permit));
  self->result = start(self);
  if (self->result == VOLT_OK) {
    VOLT_AWAIT_RESULT(self, self->result, end_or_loss(self));
    if (volt_select_winner(&self->select) == 1) {
      fprintf(stderr, "the permit is lost: the command is ended\n");
      VOLT_AWAIT_RESULT(self, self->result,
                        volt_process_end_future(&self->wait, &self->child, 1000000000));
    }
    int status = volt_process_status(&self->child);
    self->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    volt_process_close(&self->child);
  }
  volt_cluster_release(&self->permit);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
  static struct job job;
  if (argc < 5) {
    printf("usage: 15_cluster SERVERS NAME LIMIT COMMAND [ARGUMENT]...\n");
    return argc == 1 ? 0 : 2;
  }
  volt_rt_config of_rt = {.workers = 1, .io = volt_io_auto()};
  volt_cluster_config of_cluster = {.servers = argv[1]};
  volt_cluster_sem_config of_sem = {.limit = (uint32_t)strtoul(argv[3], NULL, 10)};
  must(volt_rt_create(&rt, &of_rt), "volt_rt_create");
  of_cluster.rt = rt;
  must(volt_cluster_open(&cluster, &of_cluster), argv[1]);
  must(volt_cluster_sem_open(&sem, cluster, argv[2], &of_sem), argv[2]);
  job.command = (const char *const *)&argv[4];
  volt_task_init(&job.task, job_poll);
  must(volt_spawn(rt, &job.task), "spawn");
  must(volt_task_join(&job.task), argv[4]);
  volt_future closed;
  if (volt_future_wait(volt_cluster_close_future(&closed, cluster)) != VOLT_OK) {
    fprintf(stderr, "no server answers: the slot is free when the session has ended\n");
  }
  volt_cluster_destroy(cluster);
  volt_rt_destroy(rt);
  return job.exit_code;
}
