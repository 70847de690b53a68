/* graph_cycles.c: the cycles of a graph (graph.c), and the parties that wait behind them. A party
 * that cannot go on waits for at least one other that cannot; one such is chosen for each. So from
 * each party one way leads on, and every way ends in a cycle. */
#include "graph_internal.h"

/* The first thing that a stuck party waits for and that a stuck party is to give. */
static volt_term_ *graph_stuck_term(volt_graph_ *g, const volt_waiting_ *p) {
  for (uint32_t i = p->first; i < p->first + p->count; i++) {
    if (!TERM(g, i)->can && TERM(g, i)->by != 0) return TERM(g, i);
  }
  return NULL;
}

/* Let `by` of each term that cannot end be a party that is stuck: one that holds something, if there
 * is one. */
static void graph_choose(volt_graph_ *g) {
  for (uint32_t i = 0; i < g->terms.count; i++) TERM(g, i)->by = 0;
  for (unsigned holders = 0; holders < 2; holders++) {
    for (uint32_t i = 0; i < g->parties.count; i++) {
      if (PARTY(g, i)->ends) continue;
      for (uint32_t e = PARTY(g, i)->waited_for; e != 0; e = EDGE(g, e - 1)->next) {
        const graph_edge *edge = EDGE(g, e - 1);
        bool is_stuck = TERM(g, edge->term)->ends != VOLT_ENDS_HOLDERS_ || !PARTY(g, i)->runs;
        if (is_stuck && edge->is_before != (holders != 0)) TERM(g, edge->term)->by = i + 1;
      }
    }
  }
}

/* Where the party has taken what the term waits for, if its list says so. */
static void graph_find_place(volt_graph_ *g, volt_term_ *t) {
  const volt_waiting_ *by = PARTY(g, t->by - 1);
  for (uint32_t i = by->held; i < by->held + by->held_count; i++) {
    if (HELD(g, i)->object != t->object) continue;
    t->file = HELD(g, i)->file;
    t->taken_line = HELD(g, i)->line;
  }
}

static void graph_report_party(volt_graph_ *g, volt_graph_report_ *report, void *ctx,
                               unsigned cycle, uint32_t place, uint32_t party) {
  volt_waiting_ *p = PARTY(g, party);
  volt_term_ *t = graph_stuck_term(g, p);
  p->is_listed = true;
  if (!t) return;
  graph_find_place(g, t);
  report(ctx, cycle, place, p, t, PARTY(g, t->by - 1));
}

static uint32_t graph_next(volt_graph_ *g, uint32_t party) {
  const volt_term_ *t = graph_stuck_term(g, PARTY(g, party));
  return t ? t->by - 1 : party;
}

/* Say the cycle that leads from a party, unless it was said before. Returns whether it was. */
static bool graph_report_cycle(volt_graph_ *g, volt_graph_report_ *report, void *ctx,
                               unsigned cycle, uint32_t party) {
  uint32_t mark = party + 1, at = party, place = 0;
  while (!PARTY(g, at)->is_listed && PARTY(g, at)->mark != mark) {
    PARTY(g, at)->mark = mark;
    at = graph_next(g, at);
  }
  if (PARTY(g, at)->is_listed) return false;
  for (uint32_t i = at; !PARTY(g, i)->is_listed; i = graph_next(g, i)) {
    graph_report_party(g, report, ctx, cycle, place++, i);
  }
  return true;
}

void volt_graph_report_all_(volt_graph_ *g, volt_graph_report_ *report, void *ctx) {
  unsigned cycles = 0;
  graph_choose(g);
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (PARTY(g, i)->ends || PARTY(g, i)->is_listed) continue;
    if (graph_report_cycle(g, report, ctx, cycles + 1, i)) cycles += 1;
  }
  for (uint32_t i = 0; i < g->parties.count; i++) {
    if (!PARTY(g, i)->ends && !PARTY(g, i)->is_listed)
      graph_report_party(g, report, ctx, 0, UINT32_MAX, i);
  }
}
