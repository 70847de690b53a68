/* html_graph.c: which thread waits for which, as SVG: threads on a circle, those that wait for each other one behind
 * the other, so that a deadlock's circle is one. */
#include <inttypes.h>
#include <string.h>

#include "html.h"

enum { NODES = 24, GRAPH_WIDTH = 760, GRAPH_MIDDLE = GRAPH_WIDTH / 2 };

struct drawing {
  struct graph_thread node[NODES];
  bool in_circle[NODES];
  int count, radius, height;
};

/* Its number; -1: there is no place for it. */
static int node_of(struct drawing *d, const struct graph_thread *t, bool may_add) {
  for (int i = 0; i < d->count; i++) {
    if (d->node[i].tid == t->tid) return i;
  }
  if (!may_add || d->count == NODES) return -1;
  d->node[d->count] = *t;
  return d->count++;
}

/* From one thread of a circle to the one that it waits for, as far as that goes. */
static void nodes_follow(struct drawing *d, const struct graph *g, const struct graph_edge *from) {
  for (const struct graph_edge *e = from; e;) {
    int before = d->count;
    int at = node_of(d, &e->waiter, true);
    if (at >= 0) d->in_circle[at] = true;
    if (d->count == before) return;
    const struct graph_edge *next = NULL;
    for (uint32_t i = 0; i < g->count && !next; i++) {
      if (g->edge[i].in_circle && g->edge[i].waiter.tid == e->holder.tid) next = &g->edge[i];
    }
    e = next;
  }
}

static void nodes_place(struct drawing *d, const struct graph *g) {
  for (uint32_t i = 0; i < g->count && g->edge[i].in_circle; i++) nodes_follow(d, g, &g->edge[i]);
  for (uint32_t i = 0; i < g->count; i++) {
    (void)node_of(d, &g->edge[i].waiter, true);
    (void)node_of(d, &g->edge[i].holder, true);
  }
  d->radius = d->count < 13 ? 90 + 14 * d->count : 110 + 9 * d->count;
  d->height = 2 * d->radius + 110;
}

/* Without the library of mathematics: places on a circle by turning one by a 1/1024 of it. */
struct point {
  double x, y;
};

static struct point on_circle(const struct drawing *d, double share, double radius) {
  const double cosine = 0.99998117528260111, sine = 0.0061358846491544753; /* of 2 pi / 1024 */
  struct point at = {0, -1};
  for (int steps = (int)(share * 1024 + 0.5); steps > 0; steps--)
    at = (struct point){at.x * cosine - at.y * sine, at.x * sine + at.y * cosine};
  return (struct point){GRAPH_MIDDLE + at.x * radius, d->height / 2.0 + at.y * radius};
}

static struct point of_node(const struct drawing *d, int i, double radius) {
  return on_circle(d, (double)i / d->count, radius);
}

static void draw_node(const struct drawing *d, int i, FILE *to) {
  struct point at = of_node(d, i, d->radius), label = of_node(d, i, d->radius + 16);
  double off = label.x - GRAPH_MIDDLE;
  const char *anchor = off > 20 ? "start" : off < -20 ? "end" : "middle";
  double down = off > 20 || off < -20 ? 4 : label.y < at.y ? -2 : 12;
  fprintf(to, "<circle class=\"node%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>",
          d->in_circle[i] ? " bad" : "", at.x, at.y);
  fprintf(to, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", label.x,
          label.y + down, anchor);
  html_text(d->node[i].name, to);
  fprintf(to, " %d</text>", (int)(d->node[i].tid < 0 ? -d->node[i].tid : d->node[i].tid));
}

static void draw_edge(const struct report *r, const struct drawing *d, const struct graph_edge *e,
                      int from, int end, FILE *to) {
  char time[TEXT_TIME];
  struct point a = of_node(d, from, d->radius), b = of_node(d, end, d->radius);
  bool is_neighbour = (from + 1) % d->count == end;
  double middle = from + (end > from ? end - from : d->count - from + end) / 2.0;
  struct point by =
      is_neighbour ? on_circle(d, (from + 0.5) / d->count, d->radius * (d->count < 4 ? 1.3 : 1.08))
                   : on_circle(d, middle / d->count, d->radius * 0.25);
  if (from == end) by = of_node(d, from, d->radius - 60);
  fprintf(to,
          "<path class=\"edge%s%s\" marker-end=\"url(#%s)\" d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\">",
          e->is_now ? "" : " ended", e->in_circle ? " circle" : "", e->in_circle ? "bad" : "head",
          a.x + (from == end ? 5 : 0), a.y, by.x, by.y, b.x - (from == end ? 5 : 0), b.y);
  fprintf(
      to, "<title>%s%s: %s</title></path>", e->is_now ? "" : "waited for ",
      e->lock && e->lock <= r->s->lock_count ? report_kind(&r->lock[e->lock]) : "end of the thread",
      text_time(e->ns, time));
  if (!e->in_circle || !e->lock || e->lock > r->s->lock_count || d->count > 12) return;
  double x = (a.x + 2 * by.x + b.x) / 4, y = (a.y + 2 * by.y + b.y) / 4;
  double off = x - GRAPH_MIDDLE;
  const char *anchor = off > 20 ? "end" : off < -20 ? "start" : "middle";
  fprintf(to, "<text class=\"bad\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
          GRAPH_MIDDLE + off * 0.92, d->height / 2.0 + (y - d->height / 2.0) * 0.86, anchor,
          report_kind(&r->lock[e->lock]));
}

static void draw_heads(FILE *to) {
  static const char *const heads[] = {"head", "bad"};
  fputs("<defs>", to);
  for (int i = 0; i < 2; i++) {
    fprintf(
        to,
        "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"17\" refY=\"5\" markerWidth=\"9\" "
        "markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head%s\" "
        "d=\"M0 0L10 5L0 10z\"/></marker>",
        heads[i], i ? " bad" : "");
  }
  fputs("</defs>", to);
}

void html_graph(const struct report *r, const struct graph *g, FILE *to) {
  struct drawing d = {.count = 0};
  uint32_t left_out = 0;
  nodes_place(&d, g);
  fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>which thread waits for which</title>",
          GRAPH_WIDTH, d.height);
  draw_heads(to);
  for (uint32_t i = 0; i < g->count; i++) {
    int from = node_of(&d, &g->edge[i].waiter, false), end = node_of(&d, &g->edge[i].holder, false);
    if (from >= 0 && end >= 0) {
      draw_edge(r, &d, &g->edge[i], from, end, to);
    } else {
      left_out++;
    }
  }
  for (int i = 0; i < d.count; i++) draw_node(&d, i, to);
  fputs("</svg>\n", to);
  if (left_out)
    fprintf(to, "<p class=\"soft\">%u more waits are in the table alone.</p>\n", left_out);
}
