/* pg_script.c: a gate that passes bytes on in memory. */
#include "pg_script.h"

#include <stdlib.h>
#include <string.h>

void pg_side_add(struct pg_side *side, const void *bytes, size_t size) {
  if (side->room - side->size < size) {
    side->room = (side->size + size) * 2;
    side->bytes = realloc(side->bytes, side->room);
    if (side->bytes == NULL) abort();
  }
  if (size > 0) memcpy(side->bytes + side->size, bytes, size);
  side->size += size;
}

void pg_side_drop(struct pg_side *side, size_t size) {
  side->size -= size;
  if (side->size > 0) memmove(side->bytes, side->bytes + size, side->size);
}

void pg_side_free(struct pg_side *side) {
  free(side->bytes);
  *side = (struct pg_side){0};
}

void pg_side_message(struct pg_side *side, char type, const void *body, size_t size) {
  uint32_t length = (uint32_t)size + 4;
  char header[5] = {type, (char)(length >> 24), (char)(length >> 16), (char)(length >> 8),
                    (char)length};
  pg_side_add(side, header, sizeof header);
  pg_side_add(side, body, size);
}

void pg_gate_begin(struct pg_gate *g) {
  memset(g, 0, sizeof *g);
  pg_init(&g->pg);
}

void pg_gate_free(struct pg_gate *g) {
  pg_side_free(&g->up);
  pg_side_free(&g->down);
  pg_side_free(&g->to_server);
  pg_side_free(&g->to_client);
}

static void note(struct pg_gate *g, char event) {
  if (g->event_count < sizeof g->events - 1) g->events[g->event_count++] = event;
}

/* Pass on what may be: in front of the kept bytes, of which so many are there to be seen. */
static bool pass_up(struct pg_gate *g, size_t seen) {
  for (;;) {
    size_t n = SIZE_MAX;
    g->want = pg_from_client(&g->pg, g->up.bytes, seen, &n);
    if (n > seen) abort();
    pg_side_add(&g->to_server, g->up.bytes, n);
    pg_side_drop(&g->up, n);
    seen -= n;
    if (g->want == PG_GOES_ON && seen >= 5) abort();
    if (g->want == PG_MALFORMED) note(g, 'm');
    if (g->want != PG_NEEDS_PERMIT) return g->want != PG_MALFORMED;
    if (g->pg.has_permit) abort();
    note(g, 'n');
    pg_granted(&g->pg);
  }
}

bool pg_gate_client(struct pg_gate *g, const char *bytes, size_t size, size_t piece) {
  bool had = g->want == PG_WAITS || g->want == PG_ENDS;
  while (size > 0) {
    size_t part = size < piece ? size : piece;
    pg_side_add(&g->up, bytes, part);
    if (!pass_up(g, g->up.size)) return false;
    bytes += part;
    size -= part;
  }
  if (!had && g->want == PG_WAITS) note(g, 'w');
  if (!had && g->want == PG_ENDS) note(g, 'e');
  return true;
}

bool pg_gate_server(struct pg_gate *g, const char *bytes, size_t size, size_t piece) {
  while (size > 0) {
    size_t part = size < piece ? size : piece;
    size_t n = SIZE_MAX;
    pg_side_add(&g->down, bytes, part);
    enum pg_want want = pg_from_server(&g->pg, g->down.bytes, g->down.size, &n);
    if (n > g->down.size) abort();
    pg_side_add(&g->to_client, g->down.bytes, n);
    pg_side_drop(&g->down, n);
    if (want == PG_MALFORMED) {
      note(g, 'm');
      return false;
    }
    if (want != PG_GOES_ON || g->down.size >= 6) abort();
    bytes += part;
    size -= part;
  }
  if (pg_may_release(&g->pg)) {
    pg_released(&g->pg);
    g->released++;
    note(g, 'r');
  }
  if (g->want != PG_WAITS) return true;
  return pass_up(g, g->up.size);
}
