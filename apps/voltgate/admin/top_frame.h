/* top_frame.h: what voltgate top shows, as lines. */
#ifndef VOLTGATE_ADMIN_TOP_FRAME_H
#define VOLTGATE_ADMIN_TOP_FRAME_H

#include "admin/client.h"
#include "admin/screen.h"

enum top_order {
  TOP_BY_BUSYNESS,
  TOP_BY_ADMITTED,
  TOP_BY_WAIT,
  TOP_BY_REFUSED,
  TOP_BY_NAME,
  TOP_ORDERS
};

struct top {
  const char *admin;                 /* where the answers are from */
  json_t *status;                    /* NULL: none yet */
  json_t *queue, *holders, *history; /* of the gate that is chosen; NULL: none */
  size_t chosen;                     /* of status.gates */
  enum top_order order;              /* of tenants */
  const char *lost;                  /* why there is no answer; NULL: there is */
  char lost_since[16];
};

/* The gate that is chosen, or NULL. */
const json_t *top_frame_gate(const struct top *t);

/* Write a whole screen, or, if it is no terminal, all there is. */
void top_frame(struct screen *s, const struct top *t);

#endif
