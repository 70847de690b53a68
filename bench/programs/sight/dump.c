/* dump.c: dumps of tasks that wait, in groups and each by itself, and of tasks that run meanwhile.
 * ns: CPU time of the thread that dumps, for each task. all_ns: of the whole dump, by the clock; the
 * shortest. held_p99_ns and so on: CPU time for which a batch of tasks is held back. The longest are
 * not the dump's doing: on a machine that is busy, time that an interrupt takes, or another guest of
 * the host, counts as the thread's. */
#include <pthread.h>
#include <stdlib.h>

#include "sight.h"
#include "sight/dump/dump.h"

typedef struct counted {
  uint64_t bytes, lines;
} counted;

static bool count(void *ctx, const char *text, size_t length) {
  counted *c = ctx;
  c->bytes += length;
  for (size_t i = 0; i < length; i++) c->lines += text[i] == '\n';
  return true;
}

/* ---- for how long batches are held back ---- */

enum { BATCHES = 1000000 };

static uint64_t *batch_ns; /* of each */
static unsigned batches;
static uint64_t batch_began_ns;
static bool is_in_batch;

/* The clock of a dump, which it asks as a batch begins and as it ends. */
static uint64_t batch_clock_ns(void) {
  uint64_t now_ns = sight_thread_ns();
  is_in_batch = !is_in_batch;
  if (is_in_batch) {
    batch_began_ns = now_ns;
  } else if (batches < BATCHES) {
    batch_ns[batches++] = now_ns - batch_began_ns;
  }
  return now_ns;
}

static int batch_longer(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void say_batches(void) {
  sight_require(batches > 0 && !is_in_batch, "there were batches");
  qsort(batch_ns, batches, sizeof *batch_ns, batch_longer);
  sight_say("held_p50_ns", (double)batch_ns[batches / 2]);
  sight_say("held_p99_ns", (double)batch_ns[(uint64_t)batches * 99 / 100]);
  sight_say("held_p999_ns", (double)batch_ns[(uint64_t)batches * 999 / 1000]);
  sight_say("held_longest_ns", (double)batch_ns[batches - 1]);
  free(batch_ns);
}

/* ---- dumps ---- */

typedef struct measured {
  uint64_t cpu_ns, all_ns;
  counted text; /* of the last */
} measured;

static void measure(volt_dump_ *d, volt_rt *rt, unsigned how, measured *m) {
  counted text = {0, 0};
  uint64_t cpu_ns = sight_thread_ns(), began_ns = volt_now_ns();
  sight_require(volt_dump_in_(d, rt, how, count, &text) == VOLT_OK, "it dumps");
  uint64_t all_ns = volt_now_ns() - began_ns;
  m->cpu_ns += sight_thread_ns() - cpu_ns;
  if (m->all_ns == 0 || all_ns < m->all_ns) m->all_ns = all_ns;
  m->text = text;
}

static volt_dump_ *dump_memory(void) {
  volt_dump_ *d = volt_dump_new_();
  batch_ns = calloc(BATCHES, sizeof *batch_ns);
  sight_require(d != NULL && batch_ns != NULL, "there is memory");
  d->clock_ns = batch_clock_ns;
  return d;
}

static void say(const measured *m, const sight_options *o) {
  sight_say("ns", (double)m->cpu_ns / ((double)o->tasks * (double)o->operations));
  sight_say("all_ns", (double)m->all_ns);
  sight_say("lines", (double)m->text.lines);
  sight_say("bytes", (double)m->text.bytes);
  say_batches();
}

static void run_how(const sight_options *o, unsigned how, uint64_t lines) {
  measured m = {0};
  sight_scene *s = sight_scene_begin(o);
  volt_dump_ *d = dump_memory();
  for (uint64_t i = 0; i < o->operations; i++) measure(d, sight_scene_rt(s), how, &m);
  sight_require(m.text.lines >= lines, "the tasks are in the text");
  volt_dump_free_(d);
  sight_scene_end(s);
  say(&m, o);
}

static void run_grouped(const sight_options *o) {
  run_how(o, 0, 10);
}

static void run_each(const sight_options *o) {
  run_how(o, VOLT_DUMP_EACH, o->tasks);
}

/* ---- while all tasks run ---- */

typedef struct stirring {
  sight_scene *scene;
  VOLT_ATOMIC(uint32_t) is_over;
} stirring;

static void *stir(void *arg) {
  stirring *s = arg;
  while (volt_load_relaxed(&s->is_over) == 0) sight_scene_stir(s->scene);
  return NULL;
}

static void run_stirred(const sight_options *o) {
  measured m = {0};
  stirring s = {.scene = sight_scene_begin(o)};
  pthread_t thread;
  volt_dump_ *d = dump_memory();
  sight_require(pthread_create(&thread, NULL, stir, &s) == 0, "there is a thread");
  for (uint64_t i = 0; i < o->operations; i++) measure(d, sight_scene_rt(s.scene), 0, &m);
  volt_store_relaxed(&s.is_over, 1);
  pthread_join(thread, NULL);
  volt_dump_free_(d);
  sight_scene_end(s.scene);
  say(&m, o);
}

const sight_case sight_dump_cases[] = {
    {"dump", {.tasks = 100000, .workers = 2, .objects = 100, .operations = 9}, run_grouped},
    {"dump-each", {.tasks = 100000, .workers = 2, .objects = 100, .operations = 5}, run_each},
    {"dump-stirred", {.tasks = 20000, .workers = 2, .objects = 100, .operations = 25}, run_stirred},
    {0},
};
