/* bridge_scene.h: a loop with a bridge in it, and what callbacks have said. A scene that has ended
 * has as many descriptors, and as much memory, as before it began. */
#ifndef VOLT_TEST_BRIDGE_SCENE_H
#define VOLT_TEST_BRIDGE_SCENE_H

#include <dirent.h>
#include "any_loop.h"
#include "thread_team.h"
#include "unit.h"

typedef struct scene {
  any_loop *loop;
  volt_bridge *b;
  VOLT_ATOMIC(uint64_t) held; /* bytes that the runtime has */
  int descriptors;            /* that were open before */
  bool is_closing;
  unsigned closed; /* calls of closed() */
} scene;

static inline int scene_descriptors(void) {
  int count = -1; /* the directory's own */
  DIR *all = opendir("/proc/self/fd");
  REQUIRE(all);
  for (struct dirent *e; (e = readdir(all)) != NULL;) count += e->d_name[0] != '.';
  closedir(all);
  return count;
}

static inline void *scene_alloc_(size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((scene *)ctx)->held, bytes);
  return malloc(bytes);
}

static inline void scene_free_(void *memory, size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((scene *)ctx)->held, 0 - (uint64_t)bytes);
  free(memory);
}

static inline volt_rt_config scene_config(scene *s) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.seed = 1;
  config.allocator = (volt_rt_allocator){scene_alloc_, scene_free_, s};
  return config;
}

/* The loop alone. What it keeps for ever it has by now: a first one was made before. */
static inline void scene_make_loop(scene *s) {
  memset((void *)s, 0, sizeof *s);
  s->descriptors = scene_descriptors();
  s->loop = any_loop_make();
}

static inline void scene_begin_with(scene *s, const volt_rt_config *config) {
  int result = any_loop_open(s->loop, &s->b, config);
  if (result != VOLT_OK) fprintf(stderr, "open: %s\n", volt_strresult(result));
  REQUIRE(result == VOLT_OK);
}

static inline void scene_begin(scene *s) {
  scene_make_loop(s);
  volt_rt_config config = scene_config(s);
  scene_begin_with(s, &config);
}

/* closed(): at once the memory is gone, so a use of it is found. */
static inline void scene_closed(void *arg) {
  scene *s = (scene *)arg;
  s->closed += 1;
  free(s->b);
  s->b = NULL;
}

static inline void scene_close(scene *s) {
  s->is_closing = true;
  volt_bridge_close(s->b, scene_closed, s);
}

/* Run the loop until it is so. */
#define SCENE_RUN_UNTIL(s, condition)              \
  do {                                             \
    while (!(condition)) any_loop_wait((s)->loop); \
  } while (0)

/* Nothing that is under way can come to an end by itself: the loop has handled all there is. */
static inline void scene_settle(scene *s) {
  for (int i = 0; i < 5; i++) any_loop_look(s->loop);
}

static inline void scene_free_loop(scene *s) {
  any_loop_free(s->loop);
  REQUIRE(volt_load_relaxed(&s->held) == 0);
  REQUIRE(scene_descriptors() == s->descriptors);
}

/* It is closed already, or closes now. */
static inline void scene_end(scene *s) {
  if (!s->is_closing) scene_close(s);
  SCENE_RUN_UNTIL(s, s->closed > 0);
  scene_settle(s);
  REQUIRE(s->closed == 1);
  scene_free_loop(s);
}

/* A wait for a permit, and what its callback was told. */
typedef struct asked {
  volt_bridge_call call;
  volt_future future;
  unsigned calls;
  int result;
  void (*then)(struct asked *self);
  scene *s;
  volt_sem *sem;
} asked;

static inline void asked_called(int result, void *arg) {
  asked *a = (asked *)arg;
  a->calls += 1;
  a->result = result;
  if (a->then) a->then(a);
}

static inline void ask_again(asked *a) {
  volt_future_made(volt_sem_acquire_future(&a->future, a->sem, 1));
  volt_bridge_then(a->s->b, &a->call, &a->future, asked_called, a);
}

static inline asked *ask(scene *s, volt_sem *sem, void (*then)(asked *self)) {
  asked *a = (asked *)calloc(1, sizeof *a);
  REQUIRE(a);
  a->then = then;
  a->s = s;
  a->sem = sem;
  a->result = VOLT_PENDING;
  ask_again(a);
  return a;
}

/* Before the first scene: what the loop's library, libc and volt keep for ever. */
static inline void scene_warm_up(void) {
  scene s;
  scene_begin(&s);
  volt_bridge *other;
  REQUIRE(any_loop_open(s.loop, &other, NULL) == VOLT_OK); /* the most doorbells at a time */
  scene t = {.b = other};
  volt_bridge_close(other, scene_closed, &t);
  scene_close(&s);
  SCENE_RUN_UNTIL(&s, s.closed > 0 && t.closed > 0);
  any_loop_free(s.loop);
}

#endif
