/* glib.h: volt in a main loop of GLib. See volt/bridge.h.
 *
 *   volt_glib b;
 *   int result = volt_glib_open(&b, NULL, NULL);    the default context
 *   ... volt_spawn(volt_bridge_rt(&b.bridge), &task); volt_bridge_then(&b.bridge, ...);
 *   g_main_loop_run(loop);                          runs the tasks, calls the callbacks
 *
 *   volt_bridge_close(&b.bridge, closed, &b);       closed() may call g_main_loop_quit()
 *
 * The bridge is a source of the default priority. g_source_set_priority(b.source, ...) changes
 * that. A callback may run the context again, as for a dialog: the bridge goes on in there.
 *
 * A program that includes this links GLib and libvolt-rt. */
#ifndef VOLT_GLIB_H
#define VOLT_GLIB_H

#include <glib-unix.h>
#include <glib.h>

#include "bridge.h"

typedef struct volt_glib {
  volt_bridge bridge; /* first */
  GSource *source;
} volt_glib;

/* It may free the bridge, and with it the reference to the source. */
static inline gboolean volt_glib_readable_(gint descriptor, GIOCondition condition, gpointer b) {
  (void)descriptor;
  (void)condition;
  volt_bridge_run((volt_bridge *)b);
  return G_SOURCE_CONTINUE;
}

static inline void volt_glib_stop_(volt_bridge *b) {
  GSource *source = ((volt_glib *)b)->source;
  g_source_destroy(source);
  g_source_unref(source);
  volt_bridge_stopped(b);
}

/* Open a bridge in a context of GLib.
 * b: the caller's memory, until closed() is called. context: NULL: the default one. config: of the
 *   runtime, as volt_bridge_open().
 * Returns as volt_bridge_open().
 * Threads: the one that runs the context, or any while none does. */
static inline int volt_glib_open(volt_glib *b, GMainContext *context,
                                 const volt_rt_config *config) {
  int result = volt_bridge_open(&b->bridge, volt_glib_stop_, config);
  if (result != VOLT_OK) return result;
  b->source = g_unix_fd_source_new(volt_bridge_descriptor(&b->bridge), G_IO_IN);
  g_source_set_callback(b->source, G_SOURCE_FUNC(volt_glib_readable_), &b->bridge, NULL);
  g_source_set_can_recurse(b->source, TRUE);
  (void)g_source_attach(b->source, context);
  return VOLT_OK;
}

#endif
