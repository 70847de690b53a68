/* thread_team.c */
#define _GNU_SOURCE /* pthread_kill */
#include "thread_team.h"

#include <dirent.h>
#include <signal.h>

#include "require.h"

static void *run_member(void *arg) {
  struct thread_team_member *m = (struct thread_team_member *)arg;
  thread_team *t = m->team;
  (void)volt_fetch_add_relaxed(&t->arrived, 1); /* nothing is handed over by it */
  WAIT_UNTIL(volt_load_relaxed(&t->arrived) == t->count);
  t->body(t->arg, m->index);
  return NULL;
}

void thread_team_start(thread_team *t, uint32_t count, thread_team_fn body, void *arg) {
  REQUIRE(count > 0 && count <= THREAD_TEAM_MAX);
  t->count = count;
  t->body = body;
  t->arg = arg;
  volt_store_relaxed(&t->arrived, 0);
  for (uint32_t i = 0; i < count; i++) {
    t->members[i].team = t;
    t->members[i].index = i;
    REQUIRE(pthread_create(&t->members[i].thread, NULL, run_member, &t->members[i]) == 0);
  }
}

void thread_team_join(thread_team *t) {
  for (uint32_t i = 0; i < t->count; i++) {
    REQUIRE(pthread_join(t->members[i].thread, NULL) == 0);
  }
}

void thread_team_run(uint32_t count, thread_team_fn body, void *arg) {
  thread_team t;
  thread_team_start(&t, count, body, arg);
  thread_team_join(&t);
}

unsigned thread_team_of_process(void) {
  unsigned count = 0;
  DIR *tasks = opendir("/proc/self/task");
  REQUIRE(tasks != NULL);
  for (struct dirent *e; (e = readdir(tasks)) != NULL;) count += e->d_name[0] != '.';
  closedir(tasks);
  return count;
}

void thread_team_signal(thread_team *t, int signal) {
  for (uint32_t i = 0; i < t->count; i++) {
    REQUIRE(pthread_kill(t->members[i].thread, signal) == 0);
  }
}
