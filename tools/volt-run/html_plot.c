/* html_plot.c: histograms, and waits over time, as SVG. */
#include <inttypes.h>

#include "html.h"

enum { PLOT_WIDTH = 480, PLOT_HEIGHT = 120, PLOT_FLOOR = 96, PLOT_TOP = 14, TIME_WIDTH = 1040 };

static double plot_share(uint64_t value, uint64_t most) {
  return most ? (double)value / (double)most * (PLOT_FLOOR - PLOT_TOP) : 0;
}

/* A bar that can be seen, also of the least. */
static void plot_bar(double x, double width, double height, const char *class, FILE *to) {
  if (height < 1.5) height = 1.5;
  fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", class, x,
          PLOT_FLOOR - height, width, height);
}

static void plot_label(double x, const char *anchor, const char *text, FILE *to) {
  fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>", x, PLOT_FLOOR + 16, anchor,
          text);
}

/* ---- histograms ---- */

struct range {
  uint32_t first, last;
  uint64_t most;
};

static struct range range_of(const _Atomic uint32_t *times) {
  struct range found = {.first = BOOKS_TIMES};
  for (uint32_t i = 0; i < BOOKS_TIMES; i++) {
    uint32_t n = atomic_load(&times[i]);
    if (n == 0) continue;
    if (found.first == BOOKS_TIMES) found.first = i;
    found.last = i;
    if (n > found.most) found.most = n;
  }
  return found;
}

void html_histogram(const char *name, const _Atomic uint32_t *times, FILE *to) {
  struct range range = range_of(times);
  if (range.most == 0) return;
  bool is_hold = name[0] == 'h';
  char from[TEXT_TIME], end[TEXT_TIME];
  uint32_t parts = range.last - range.first + 1 < 12 ? 12 : range.last - range.first + 1;
  double step = (double)PLOT_WIDTH / parts;
  fprintf(to,
          "<svg viewBox=\"0 0 %d %d\" role=\"img\" data-name=\"%s\"><title>%s, by how long</title>"
          "<line class=\"line\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>",
          PLOT_WIDTH, PLOT_HEIGHT, name, is_hold ? "holds" : "waits", PLOT_WIDTH, PLOT_FLOOR,
          PLOT_FLOOR);
  for (uint32_t i = range.first; i <= range.last; i++) {
    uint32_t n = atomic_load(&times[i]);
    if (n == 0) continue;
    plot_bar((i - range.first) * step + 1, step - 2, plot_share(n, range.most),
             is_hold ? "hold" : "bar", to);
    fprintf(to, "<title>%s to %s: <data>%" PRIu64 " %u</data></title></rect>",
            text_time(i ? books_time_end(i - 1) : 0, from), text_time(books_time_end(i), end),
            books_time_end(i), n);
  }
  plot_label(0, "start", text_time(range.first ? books_time_end(range.first - 1) : 0, from), to);
  plot_label((range.last - range.first + 1) * step, "end",
             text_time(books_time_end(range.last), end), to);
  fprintf(to, "<text x=\"0\" y=\"10\">%s: most in one bar %" PRIu64 "</text></svg>\n",
          is_hold ? "holds" : "waits", range.most);
}

/* ---- over time ---- */

/* How many threads waited at once, on the average of a slot. */
void html_over_time(const struct report *r, FILE *to) {
  struct report_slots s;
  uint64_t most = 0;
  char width[TEXT_TIME], end[TEXT_TIME];
  report_slots(r, &s);
  for (uint32_t i = 0; i < s.count; i++) most = s.ns[i] > most ? s.ns[i] : most;
  double step = (double)TIME_WIDTH / s.count;
  fprintf(to,
          "<svg viewBox=\"0 0 %d %d\" role=\"img\" data-name=\"over_time\" data-slot_ns=\"%" PRIu64
          "\"><title>waits over time</title><line class=\"line\" x1=\"0\" x2=\"%d\" y1=\"%d\" "
          "y2=\"%d\"/>",
          TIME_WIDTH, PLOT_HEIGHT, s.width_ns, TIME_WIDTH, PLOT_FLOOR, PLOT_FLOOR);
  for (uint32_t i = 0; i < s.count; i++) {
    if (s.ns[i] == 0 && s.waits[i] == 0) continue;
    plot_bar(i * step, step > 3 ? step - 1 : step, plot_share(s.ns[i], most), "bar", to);
    fprintf(to, "<title>slot %u: waits %" PRIu64 ", %" PRIu64 " ns</title></rect>", i, s.waits[i],
            s.ns[i]);
  }
  plot_label(0, "start", "0", to);
  plot_label(TIME_WIDTH, "end", text_time(s.count * s.width_ns, end), to);
  fprintf(to,
          "<text x=\"0\" y=\"10\">threads that waited at once: up to %.2f; each bar is "
          "%s</text></svg>\n",
          (double)most / (double)s.width_ns, text_time(s.width_ns, width));
}
