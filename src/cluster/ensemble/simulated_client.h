/* simulated_client.h: the client of the simulated ensemble, as the ensemble and the hosts call it. */
#ifndef VOLT_CLUSTER_ENSEMBLE_SIMULATED_CLIENT_H
#define VOLT_CLUSTER_ENSEMBLE_SIMULATED_CLIENT_H

#include <volt/cluster_backend.h>

#include "ensemble_host.h"
#include "ensemble_message.h"

void simulated_arrived_(volt_cluster_backend *b, ensemble_message *m); /* takes it */
void simulated_clock_changed_(volt_cluster_backend *b);
void simulated_disconnect_(volt_cluster_backend *b);
void simulated_kill_(volt_cluster_backend *b);
uint32_t simulated_server_(const volt_cluster_backend *b);
ensemble_host *simulated_host_(const volt_cluster_backend *b);

#endif
