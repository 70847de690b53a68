/* 18_glib.c: threads work, and a main loop of GLib shows what they send, as a window would.
 * The loop waits for each message by a callback, which waits for the next. The channel is bounded,
 * so the threads wait for the loop. GLib's own timer goes on meanwhile.
 *
 *   cc -std=c11 18_glib.c $(pkg-config --cflags --libs volt-rt glib-2.0)
 *
 * prints: 200 of 200 steps shown; GLib's timer went on; closed */
#include <stdio.h>
#include <stdlib.h>
#include <volt/glib.h>
#include <volt/volt.h>

enum { WORKERS = 4, STEPS = 50, BUFFER = 8 };

static struct window {
  GMainLoop *loop;
  volt_glib bridge;
  volt_chan steps;
  uint64_t memory[2 * BUFFER]; /* of the channel */
  volt_bridge_call call;
  volt_future next;
  unsigned char step;
  int shown;
  bool ticked;
  bool closed;
} window;

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

static void on_closed(void *arg) {
  struct window *w = (struct window *)arg;
  w->closed = true;
  g_main_loop_quit(w->loop);
}

static void show_next(struct window *w);

static void on_step(int result, void *arg) {
  struct window *w = (struct window *)arg;
  if (result == VOLT_ECLOSED) { /* the workers have ended, and all that they sent was shown */
    volt_bridge_close(&w->bridge.bridge, on_closed, w);
    return;
  }
  must(result, "receive");
  w->shown += 1;
  show_next(w);
}

static void show_next(struct window *w) {
  volt_future *next = volt_chan_recv_future(&w->next, &w->steps, &w->step);
  volt_bridge_then(&w->bridge.bridge, &w->call, next, on_step, w);
}

static gpointer work(gpointer arg) {
  struct window *w = (struct window *)arg;
  for (unsigned char i = 0; i < STEPS; i++) {
    must(volt_chan_send(&w->steps, &i), "send");
  }
  return NULL;
}

/* Ends the channel when all workers have. */
static gpointer work_all(gpointer arg) {
  struct window *w = (struct window *)arg;
  GThread *threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) threads[i] = g_thread_new("worker", work, w);
  for (int i = 0; i < WORKERS; i++) g_thread_join(threads[i]);
  volt_chan_close(&w->steps);
  return NULL;
}

static gboolean on_tick(gpointer arg) {
  ((struct window *)arg)->ticked = true;
  return G_SOURCE_REMOVE;
}

int main(void) {
  struct window *w = &window;
  w->loop = g_main_loop_new(NULL, FALSE);
  must(volt_chan_init(&w->steps, BUFFER, sizeof w->step, w->memory, sizeof w->memory), "channel");
  must(volt_glib_open(&w->bridge, NULL, NULL), "volt_glib_open");
  (void)g_idle_add(on_tick, w);
  show_next(w);
  GThread *thread = g_thread_new("workers", work_all, w);

  g_main_loop_run(w->loop);
  g_thread_join(thread);
  volt_chan_destroy(&w->steps, NULL, NULL);
  g_main_loop_unref(w->loop);
  printf("%d of %d steps shown; GLib's timer %s; %s\n", w->shown, WORKERS * STEPS,
         w->ticked ? "went on" : "did not go on", w->closed ? "closed" : "not closed");
}
