/* ensemble_watch.h: watches of a server, by path and by connection. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_WATCH_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_WATCH_H

#include <volt/ensemble.h>

#include "ensemble_write.h"

enum { ENSEMBLE_WATCH_BUCKETS = 1024 };

typedef struct ensemble_watch {
  struct ensemble_watch *next, **here; /* of its bucket */
  struct ensemble_watch *of_link, **here_of_link;
  struct ensemble_link *link;
  bool is_children; /* else of the node itself */
  char *path;
} ensemble_watch;

void ensemble_watch_(volt_ensemble *e, struct ensemble_link *link, const char *path,
                     bool is_children);
void ensemble_watches_free_(struct ensemble_link *link);
void ensemble_watches_fire_(volt_ensemble *e, uint32_t server, const ensemble_part *part);
void ensemble_watches_refresh_(volt_ensemble *e, struct ensemble_link *link,
                               const ensemble_item *item);

#endif
