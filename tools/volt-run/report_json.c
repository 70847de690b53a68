/* report_json.c: the report for programs. Times are in nanoseconds. */
#include <inttypes.h>
#include <stdlib.h>

#include "report.h"
#include "report_graph.h"
#include "report_orders.h"

static void json_text(const char *text, FILE *to) {
  fputc('"', to);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(to, "\\%c", c);
    } else if (c < 0x20 || c > 0x7e) {
      fprintf(to, "\\u%04x", c);
    } else {
      fputc(c, to);
    }
  }
  fputc('"', to);
}

static void json_place(const struct report *r, uintptr_t at, FILE *to) {
  char place[512];
  symbols_text(r->symbols, at, place, sizeof place);
  json_text(place, to);
}

static void json_stack(const struct report *r, const uintptr_t *stack, uint32_t depth, uintptr_t at,
                       FILE *to) {
  fputc('[', to);
  if (depth == 0 && at) json_place(r, at, to);
  for (uint32_t i = 0; i < depth && i < BOOKS_DEPTH; i++) {
    if (i) fputc(',', to);
    json_place(r, stack[i], to);
  }
  fputc(']', to);
}

static void json_name(int32_t tid, const char *name, FILE *to) {
  fprintf(to, "{\"tid\":%d,\"has_ended\":%s,\"name\":", (int)(tid < 0 ? -tid : tid),
          tid < 0 ? "true" : "false");
  json_text(name, to);
  fputc('}', to);
}

static void json_thread(const struct report *r, uint32_t number, FILE *to) {
  json_name(atomic_load(&r->thread[number].tid), r->thread[number].name, to);
}

static void json_lock(const struct report *r, uint32_t lock, FILE *to) {
  if (lock > r->s->lock_count) {
    fprintf(to, "\"kind\":\"object\"");
    return;
  }
  const struct books_lock *l = &r->lock[lock];
  fprintf(to, "\"kind\":\"%s\",\"address\":\"%#" PRIxPTR "\",\"made_at\":", report_kind(l),
          atomic_load(&l->address));
  json_place(r, atomic_load(&l->made_at), to);
}

static void json_times(const char *name, const _Atomic uint32_t *times, uint64_t longest,
                       FILE *to) {
  fprintf(
      to, "\"%s\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"longest\":%" PRIu64 ",\"histogram\":[",
      name, report_quantile(times, 0.5, longest), report_quantile(times, 0.99, longest), longest);
  const char *before = "";
  for (uint32_t i = 0; i < BOOKS_TIMES; i++) { /* the end of each part that has any, and how many */
    if (!atomic_load(&times[i])) continue;
    fprintf(to, "%s[%" PRIu64 ",%u]", before, books_time_end(i), atomic_load(&times[i]));
    before = ",";
  }
  fprintf(to, "]}");
}

static void json_moment(const struct report *r, const char *name, const struct books_moment *m,
                        FILE *to) {
  fprintf(to, "\"%s\":", name);
  if (!m->tid) {
    fprintf(to, "null");
    return;
  }
  fprintf(to, "{\"ns\":%" PRIu64 ",\"thread\":", m->ns);
  json_name(m->tid, m->name, to);
  fprintf(to, ",\"at\":");
  json_place(r, m->at, to);
  fprintf(to, ",\"stack\":");
  json_stack(r, m->stack, m->depth, 0, to);
  fputc('}', to);
}

static void json_detail(const struct report *r, const struct books_detail *d, FILE *to) {
  fputc('{', to);
  json_lock(r, d->lock, to);
  fprintf(to, ",\"acquires\":%" PRIu64 ",\"waits\":%" PRIu64 ",\"waited_ns\":%" PRIu64 ",",
          atomic_load(&r->lock[d->lock].acquires), atomic_load(&d->waits),
          atomic_load(&d->waited_ns));
  json_times("wait_ns", d->wait_times, d->longest_wait.ns, to);
  fputc(',', to);
  json_times("hold_ns", d->hold_times, d->longest_hold.ns, to);
  fprintf(to,
          ",\"signals\":%" PRIu64 ",\"signals_to_none\":%" PRIu64 ",\"waits_again\":%" PRIu64 ",",
          atomic_load(&d->signals), atomic_load(&d->signals_to_none), atomic_load(&d->waits_again));
  json_moment(r, "longest_wait", &d->longest_wait, to);
  fputc(',', to);
  json_moment(r, "its_hold", &d->its_hold, to);
  fputc(',', to);
  json_moment(r, "longest_hold", &d->longest_hold, to);
  fprintf(to, ",\"faults\":%u,\"fault\":\"%s\",", atomic_load(&d->faults),
          report_fault(atomic_load(&d->fault)));
  json_moment(r, "fault_at", &d->fault_at, to);
  fputc('}', to);
}

/* Where a thread waits, and what it holds. */
static void json_stands(const struct report *r, const struct books_thread *t, FILE *to) {
  fprintf(to, "\"stack\":");
  json_stack(r, t->stack, atomic_load(&t->depth), atomic_load(&t->at), to);
  fprintf(to, ",\"holds\":[");
  uint32_t held = atomic_load(&t->held_count);
  for (uint32_t k = 0; k < held && k < BOOKS_HELD; k++) {
    fprintf(to, "%s{", k ? "," : "");
    json_lock(r, t->held[k].lock, to);
    fprintf(to, ",\"taken_at\":");
    json_place(r, t->held[k].at, to);
    fputc('}', to);
  }
  fputc(']', to);
}

static void json_circle(const struct report *r, FILE *to) {
  for (uint32_t i = 0; i < r->s->circle_count && i < 64; i++) {
    const struct books_thread *t = &r->thread[r->s->circle_thread[i]];
    fprintf(to, "%s{\"thread\":", i ? "," : "");
    json_thread(r, r->s->circle_thread[i], to);
    fprintf(to, ",\"waits_for\":{");
    if (r->s->circle_lock[i]) {
      json_lock(r, r->s->circle_lock[i], to);
    } else {
      fprintf(to, "\"kind\":\"thread\"");
    }
    fprintf(to, "},");
    json_stands(r, t, to);
    fputc('}', to);
  }
}

static void json_waits_now(const struct report *r, const struct books_thread *t, FILE *to) {
  unsigned how = atomic_load(&t->how) & ~(unsigned)BOOKS_IS_TIMED;
  uint32_t lock = atomic_load(&t->waits_for);
  if (how == BOOKS_RUNS) {
    fprintf(to, "null");
    return;
  }
  fprintf(to, "{\"ns\":%" PRIu64 ",\"waits_for\":{", report_waits_now_ns(r, t));
  if (lock) {
    json_lock(r, lock, to);
  } else {
    fprintf(to, "\"kind\":\"thread\"");
  }
  fprintf(to, "},");
  json_stands(r, t, to);
  fputc('}', to);
}

static void json_threads(const struct report *r, FILE *to) {
  bool is_first = true;
  for (uint32_t i = 1; i <= r->s->thread_count; i++) {
    const struct books_thread *t = &r->thread[i];
    fprintf(to, "%s{\"thread\":", is_first ? "" : ",");
    is_first = false;
    json_thread(r, i, to);
    fprintf(to, ",\"waits\":%" PRIu64 ",\"waited_ns\":%" PRIu64 ",\"waits_now\":", t->waits,
            t->waited_ns);
    json_waits_now(r, t, to);
    fputc('}', to);
  }
}

static void json_mode(unsigned how, FILE *to) {
  fprintf(to, ",\"shared\":%s}", how == BOOKS_READS_IT ? "true" : "false");
}

static void json_step(const struct report *r, const struct orders_step *s, FILE *to) {
  const struct books_stack *held = orders_held_stack(r, s), *taken = orders_stack(r, s);
  fprintf(to, "{\"thread\":");
  json_name(s->order->tid, s->order->name, to);
  fprintf(to, ",\"holds\":{");
  json_lock(r, s->held->lock, to);
  json_mode(s->held->how, to);
  fprintf(to, ",\"held_stack\":");
  json_stack(r, held ? held->at : NULL, held ? held->depth : 0, s->held->at, to);
  fprintf(to, ",\"takes\":{");
  json_lock(r, s->order->lock, to);
  json_mode(s->order->how, to);
  fprintf(to, ",\"stack\":");
  json_stack(r, taken ? taken->at : NULL, taken ? taken->depth : 0, s->order->at, to);
  fputc('}', to);
}

static void json_orders(const struct report *r, FILE *to) {
  struct orders *found = orders_search(r);
  for (uint32_t i = 0; found && i < found->count; i++) {
    const struct orders_circle *c = &found->circle[i];
    fprintf(to, "%s{\"certain\":%s,\"steps\":[", i ? "," : "",
            orders_are_certain(r, c) ? "true" : "false");
    for (uint32_t k = 0; k < c->length; k++) {
      if (k) fputc(',', to);
      json_step(r, &c->step[k], to);
    }
    fprintf(to, "]}");
  }
  fprintf(to, "],\"orders_cut_short\":%s,\"orders_left_out\":%u",
          found && found->is_cut_short ? "true" : "false", r->s->orders_left_out);
  free(found);
}

static void json_graph(const struct report *r, FILE *to) {
  struct graph g;
  if (!graph_open(&g, r)) return;
  for (uint32_t i = 0; i < g.count; i++) {
    const struct graph_edge *e = &g.edge[i];
    fprintf(to, "%s{\"waiter\":", i ? "," : "");
    json_name(e->waiter.tid, e->waiter.name, to);
    fprintf(to, ",\"holder\":");
    json_name(e->holder.tid, e->holder.name, to);
    fprintf(to, ",\"waits_for\":{");
    if (e->lock) {
      json_lock(r, e->lock, to);
    } else {
      fprintf(to, "\"kind\":\"thread\"");
    }
    fprintf(to, "},\"ns\":%" PRIu64 ",\"is_now\":%s,\"in_circle\":%s}", e->ns,
            e->is_now ? "true" : "false", e->in_circle ? "true" : "false");
  }
  graph_close(&g);
}

static void json_slots(const struct report *r, FILE *to) {
  struct report_slots s;
  report_slots(r, &s);
  fprintf(to, "{\"slot_ns\":%" PRIu64 ",\"waits\":[", s.width_ns);
  for (uint32_t i = 0; i < s.count; i++) fprintf(to, "%s%" PRIu64, i ? "," : "", s.waits[i]);
  fprintf(to, "],\"waited_ns\":[");
  for (uint32_t i = 0; i < s.count; i++) fprintf(to, "%s%" PRIu64, i ? "," : "", s.ns[i]);
  fprintf(to, "]}");
}

/* One line for each report. */
void report_json(const struct report *r, FILE *to) {
  static const char *const whys[] = {"end", "asked", "deadlock"};
  struct report_sums sums = report_sum(r);
  fprintf(to, "{\"why\":\"%s\",\"program\":", whys[r->s->why % 3]);
  json_text(r->s->program, to);
  fprintf(to,
          ",\"pid\":%d,\"lasted_ns\":%" PRIu64
          ",\"threads_now\":%u,\"objects\":%u,\"waits\":%" PRIu64 ",\"waited_ns\":%" PRIu64
          ",\"deadlocks\":%" PRIu64 ",\"unwatched\":%" PRIu64 ",\"is_standstill\":%s,\"circle\":[",
          (int)r->s->pid, r->s->now_ns - r->s->begun_ns, sums.threads, sums.objects, sums.waits,
          sums.waited_ns, r->s->deadlocks, r->s->unwatched, r->s->is_standstill ? "true" : "false");
  json_circle(r, to);
  fprintf(to, "],\"orders\":[");
  json_orders(r, to);
  fprintf(to, ",\"locks\":[");
  for (uint32_t i = 0; i < r->ordered; i++) {
    if (i) fputc(',', to);
    json_detail(r, &r->detail[r->order[i]], to);
  }
  fprintf(to, "],\"threads\":[");
  json_threads(r, to);
  fprintf(to, "],\"graph\":[");
  json_graph(r, to);
  fprintf(to, "],\"over_time\":");
  json_slots(r, to);
  fprintf(to, "}\n");
}
