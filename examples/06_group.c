/* 06_group.c: a request asks three shards at once, and needs the answers of all.
 * The tasks of a volt_group end together: the first that fails cancels the others.
 * Waiting for the group waits for every task of it, so their memory can be on the stack.
 *
 *   cc -std=c11 06_group.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: all shards up: result 0, 60 rows, 0 questions cancelled
 * prints: shard 2 is down: result -100, 0 rows, 2 questions cancelled */
#include <stdio.h>
#include <stdlib.h>
#include <volt/runtime.h>
#include <volt/volt.h>

enum { SHARDS = 3, SHARD_IS_DOWN = -100 /* a result of our own: any negative number */ };

struct shard {
  volt_sem answers; /* a permit for each answer that has come */
  int rows;
  bool is_down;
};

struct question {
  volt_task task;
  volt_future answer;
  struct shard *shard;
  int rows;
  bool was_cancelled;
};

static int question_poll(volt_task *t, volt_ctx *ctx) {
  struct question *self = volt_container_of(t, struct question, task);
  VOLT_TASK_BEGIN(self);
  if (self->shard->is_down) VOLT_RETURN(self, SHARD_IS_DOWN);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->answer, &self->shard->answers, 1));
  self->rows = self->shard->rows;
  VOLT_FINALLY(self);
  self->was_cancelled = VOLT_LEAVING(self) == VOLT_ECANCELED;
  VOLT_TASK_END(self);
}

static void must(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

static void request(volt_rt *rt, struct shard *shards, const char *name) {
  struct question questions[SHARDS] = {{.rows = 0}};
  int rows = 0, cancelled = 0;
  volt_group group;
  volt_group_init(&group);
  for (int i = 0; i < SHARDS; i++) {
    questions[i].shard = &shards[i];
    volt_task_init(&questions[i].task, question_poll);
    /* this fails if a question has failed already: then this one never begins */
    int spawned = volt_group_spawn(&group, rt, &questions[i].task);
    if (spawned != VOLT_OK) questions[i].was_cancelled = true;
  }
  int result = volt_group_wait(&group); /* the first failure, if any */
  volt_group_destroy(&group);
  for (int i = 0; i < SHARDS; i++) {
    rows += questions[i].rows;
    cancelled += questions[i].was_cancelled;
  }
  printf("%s: result %d, %d rows, %d questions cancelled\n", name, result, rows, cancelled);
}

int main(void) {
  struct shard shards[SHARDS] = {{.rows = 10}, {.rows = 20}, {.rows = 30}};
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "runtime");
  for (int i = 0; i < SHARDS; i++) volt_sem_init(&shards[i].answers, 1);
  request(rt, shards, "all shards up");
  shards[2].is_down = true; /* and the others do not answer any more: they wait for ever */
  request(rt, shards, "shard 2 is down");
  volt_rt_destroy(rt);
  return EXIT_SUCCESS;
}
