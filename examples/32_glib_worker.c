/* 32_glib_worker.c: a program with a main loop of GLib, as GTK's, has a worker thread compute. Each result
 * comes to the main thread as a callback, once. The user stops two jobs: one that runs, one that has not
 * begun. When a job's callback is called, no thread uses its memory any more.
 *
 *   cc -std=c11 32_glib_worker.c $(pkg-config --cflags --libs volt-rt glib-2.0)
 *
 * prints: primes: 78498 are below 1000000
 * prints: stopped, and had not begun
 * prints: stopped, and had begun
 * prints: 3 results, 3 in the main thread, which went on meanwhile */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/glib.h>
#include <volt/volt.h>

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

/* ---- a job: what a worker does, and the main thread waits for ---- */

static volt_glib bridge;

struct job {
  volt_bridge_call call;
  volt_blocking work;
  volt_token stop;                           /* the worker looks at it */
  int (*run)(struct job *job);               /* on a worker; VOLT_ECANCELED: it was stopped */
  void (*done)(struct job *job, int result); /* in the main thread, once; it may free the job */
};

static int run_job(void *arg) {
  struct job *job = arg;
  return job->run(job);
}

static void on_job(int result, void *arg) {
  struct job *job = arg;
  volt_token_destroy(&job->stop);
  job->done(job, result);
}

static void job_start(struct job *job) {
  volt_future *end = volt_blocking_future(&job->work, volt_bridge_rt(&bridge.bridge), run_job, job);
  volt_token_init(&job->stop);
  volt_bridge_then(&bridge.bridge, &job->call, end, on_job, job);
}

/* Ask a job that is not done to stop: done() is called all the same, with VOLT_ECANCELED, or with the result
 * that was there before. */
static void job_stop(struct job *job) {
  volt_token_cancel(&job->stop);  /* if it runs */
  volt_bridge_cancel(&job->call); /* if it has not begun */
}

/* ---- a window: counts primes, has a button ---- */

struct count {
  struct job job;
  unsigned below;
  atomic_uint begun; /* numbers that were looked at */
  unsigned primes;   /* the worker's until done() */
};

static struct window {
  GMainLoop *loop;
  GThread *main_thread;
  struct count *counts[3]; /* NULL: done */
  int drawn, results, in_main_thread;
} window;

static bool is_prime(unsigned n) {
  for (unsigned i = 2; i <= n / i; i++) {
    if (n % i == 0) return false;
  }
  return n > 1;
}

static int count_primes(struct job *job) {
  struct count *count = volt_container_of(job, struct count, job);
  for (unsigned n = 0; n != count->below; n++) {
    if (volt_token_is_cancelled(&job->stop)) return VOLT_ECANCELED;
    atomic_store(&count->begun, n + 1);
    count->primes += is_prime(n);
  }
  return VOLT_OK;
}

static void on_closed(void *arg) {
  g_main_loop_quit(arg);
}

static void show(struct job *job, int result) {
  struct count *count = volt_container_of(job, struct count, job);
  if (result == VOLT_OK) {
    printf("primes: %u are below %u\n", count->primes, count->below);
  } else {
    must(result == VOLT_ECANCELED ? VOLT_OK : result, "count");
    printf("stopped, and had %s\n", atomic_load(&count->begun) == 0 ? "not begun" : "begun");
  }
  window.results += 1;
  window.in_main_thread += g_thread_self() == window.main_thread;
  for (int i = 0; i < 3; i++) {
    if (window.counts[i] == count) window.counts[i] = NULL;
  }
  g_free(count);
  if (window.results == 3) volt_bridge_close(&bridge.bridge, on_closed, window.loop);
}

/* A frame. The user presses the buttons of the endless count and of the one behind it. */
static gboolean draw(gpointer unused) {
  struct count *endless = window.counts[1], *behind = window.counts[2];
  (void)unused;
  window.drawn += 1;
  if (endless == NULL || atomic_load(&endless->begun) == 0) return G_SOURCE_CONTINUE;
  job_stop(&behind->job);
  job_stop(&endless->job);
  return G_SOURCE_REMOVE;
}

int main(void) {
  static const unsigned below[] = {1000000, G_MAXUINT, G_MAXUINT}; /* hours: the user stops it */
  window.loop = g_main_loop_new(NULL, FALSE);
  window.main_thread = g_thread_self();
  must(volt_glib_open(&bridge, NULL, &(volt_rt_config){.blocking_max = 1}), "volt_glib_open");
  for (int i = 0; i < 3; i++) {
    struct count *count = window.counts[i] = g_new0(struct count, 1);
    count->job = (struct job){.run = count_primes, .done = show};
    count->below = below[i];
    job_start(&count->job);
  }
  (void)g_timeout_add(1, draw, NULL);

  g_main_loop_run(window.loop);
  g_main_loop_unref(window.loop);
  printf("%d results, %d in the main thread, which %s\n", window.results, window.in_main_thread,
         window.drawn > 0 ? "went on meanwhile" : "stood still");
}
