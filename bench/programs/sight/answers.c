/* answers.c: what volt-top asks each second, of a process with many tasks that wait: a page of tasks,
 * and the objects. ns: CPU time of the thread that answers, for each task there is. */
#include <stdlib.h>
#include <string.h>

#include "sight.h"
#include "sight/answer/answer.h"
#include "sight/answer/sight_serve.h"

/* The last line is the end, not an error. */
static void require_end(const volt_json_ *to) {
  const char *at = to->at + to->size - 1;
  while (at > to->at && at[-1] != '\n') at--;
  sight_require(strncmp(at, "{\"volt\":1,\"a\":\"end\"", 19) == 0, "the answer comes to its end");
}

static void run_request(const sight_options *o, const char *request) {
  char *memory = malloc(SERVE_ANSWER_);
  sight_require(memory != NULL, "there is memory");
  sight_scene *s = sight_scene_begin(o);
  uint64_t cpu_ns = sight_thread_ns(), bytes = 0;
  for (uint64_t i = 0; i < o->operations; i++) {
    volt_json_ to = {.at = memory, .max = SERVE_ANSWER_};
    volt_answer_(request, strlen(request), &to);
    require_end(&to);
    bytes = to.size;
  }
  cpu_ns = sight_thread_ns() - cpu_ns;
  sight_scene_end(s);
  free(memory);
  sight_say("ns", (double)cpu_ns / ((double)o->tasks * (double)o->operations));
  sight_say("all_ns", (double)cpu_ns / (double)o->operations);
  sight_say("bytes", (double)bytes);
}

static void run_tasks(const sight_options *o) {
  run_request(o, "{\"volt\":1,\"q\":\"tasks\",\"limit\":1000}");
}

static void run_objects(const sight_options *o) {
  run_request(o, "{\"volt\":1,\"q\":\"objects\"}");
}

const sight_case sight_answer_cases[] = {
    {"answer-tasks", {.tasks = 100000, .workers = 2, .objects = 100, .operations = 9}, run_tasks},
    {"answer-objects",
     {.tasks = 100000, .workers = 2, .objects = 100, .operations = 9},
     run_objects},
    {0},
};
