/* kinds.h: how each back end is made; each as volt_io_kind.create. */
#ifndef VOLT_IO_BACKEND_KINDS_H
#define VOLT_IO_BACKEND_KINDS_H

#include "../../rt/host/driver.h"

int volt_epoll_create_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell);
int volt_uring_create_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell);

#endif
