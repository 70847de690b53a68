/* scene.c: tasks that wait: each for a permit of one of some semaphores, in a loop. */
#include <stdlib.h>

#include "sight.h"

struct one {
  volt_task task;
  volt_future permit;
  volt_sem *sem;
  sight_scene *scene;
  int result;
};

struct sight_scene {
  volt_rt *rt;
  uint32_t tasks, objects;
  struct one **one;
  volt_sem *sem;
  volt_sem has_come; /* a permit for each task that is about to wait */
};

static int one_poll(volt_task *t, volt_ctx *ctx) {
  struct one *self = volt_container_of(t, struct one, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    volt_sem_release(&self->scene->has_come, 1);
    VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->permit, self->sem, 1));
    if (self->result != VOLT_OK) break;
  }
  VOLT_RETURN(self, VOLT_OK);
  VOLT_TASK_END(self);
}

/* A task says in the poll in which it will wait that it is about to. So when all have said so, all
 * wait but the last of each worker, which does in a moment. */
static void scene_wait(sight_scene *s) {
  for (uint32_t i = 0; i < s->tasks; i++) {
    sight_require(volt_sem_acquire(&s->has_come, 1) == VOLT_OK, "a task has come");
  }
}

sight_scene *sight_scene_begin(const sight_options *o) {
  sight_scene *s = calloc(1, sizeof *s);
  sight_require(s != NULL, "there is memory");
  volt_rt_config config = {.workers = o->workers};
  sight_require(volt_rt_create(&s->rt, &config) == VOLT_OK, "there is a runtime");
  s->tasks = o->tasks;
  s->objects = o->objects;
  s->one = calloc(o->tasks, sizeof *s->one);
  s->sem = calloc(o->objects, sizeof *s->sem);
  sight_require(s->one && s->sem, "there is memory");
  volt_sem_init(&s->has_come, 0);
  for (uint32_t i = 0; i < o->objects; i++) volt_sem_init(&s->sem[i], 0);
  for (uint32_t i = 0; i < o->tasks; i++) {
    struct one *one = VOLT_TASK_NEW(s->rt, struct one, one_poll);
    sight_require(one != NULL, "there is memory");
    one->sem = &s->sem[i % o->objects];
    one->scene = s;
    s->one[i] = one;
    sight_require(volt_spawn(s->rt, &one->task) == VOLT_OK, "a task is spawned");
  }
  scene_wait(s);
  return s;
}

volt_rt *sight_scene_rt(sight_scene *s) {
  return s->rt;
}

void sight_scene_stir(sight_scene *s) {
  for (uint32_t i = 0; i < s->tasks; i++) volt_sem_release(&s->sem[i % s->objects], 1);
  scene_wait(s);
}

void sight_scene_end(sight_scene *s) {
  for (uint32_t i = 0; i < s->objects; i++) volt_sem_close(&s->sem[i]);
  for (uint32_t i = 0; i < s->tasks; i++) {
    sight_require(volt_task_join(&s->one[i]->task) == VOLT_OK, "a task ends");
    volt_task_detach(&s->one[i]->task);
  }
  for (uint32_t i = 0; i < s->objects; i++) volt_sem_destroy(&s->sem[i]);
  volt_sem_destroy(&s->has_come);
  volt_rt_destroy(s->rt);
  free(s->sem);
  free(s->one);
  free(s);
}

/* What the other rows stand on, so that they can be read beside it. */
static void run_scene(const sight_options *o) {
  uint64_t began = sight_process_ns();
  sight_scene *s = sight_scene_begin(o);
  uint64_t there = sight_process_ns();
  for (uint64_t i = 0; i < o->operations; i++) sight_scene_stir(s);
  uint64_t stirred = sight_process_ns();
  sight_scene_end(s);
  sight_say("spawn_ns", (double)(there - began) / o->tasks);
  sight_say("ns", (double)(stirred - there) / ((double)o->tasks * (double)o->operations));
}

const sight_case sight_scene_cases[] = {
    {"scene", {.tasks = 100000, .workers = 2, .objects = 100, .operations = 5}, run_scene},
    {0},
};
