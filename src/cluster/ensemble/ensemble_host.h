/* ensemble_host.h: the hosts of the clients. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_HOST_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_HOST_H

#include <volt/cluster_backend.h>

#include "ensemble.h"

typedef struct ensemble_host {
  ensemble_event alarm; /* first: it runs */
  volt_ensemble *e;
  uint32_t number;
  volt_rt *rt; /* NULL: none */
  volt_cluster_backend *client;
  uint64_t base_ns, base_rt_ns, base_boot_ns; /* the clocks at some moment */
  int32_t per_million;                        /* how much they go wrong since */
  uint64_t up_ns, down_ns, more_ns;           /* its link is so much slower */
  bool is_stopped, is_suspended, is_cut, is_killed;
  bool is_running, is_woken;
  bool loses_request, loses_answer;
} ensemble_host;

ensemble_host *ensemble_host_at_(const volt_ensemble *e, uint32_t host, const char *call);
ensemble_host *ensemble_host_of_(const volt_ensemble *e, const volt_rt *rt);
uint64_t ensemble_boot_ns_(const ensemble_host *h);
uint64_t ensemble_boot_at_ns_(const ensemble_host *h,
                              uint64_t boot_ns); /* when it is so late there */
void ensemble_hosts_end_(volt_ensemble *e);

#endif
