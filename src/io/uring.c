/* uring.c: stands in until the back end is there. */
#include <errno.h>

#include "kinds.h"

int volt_uring_create_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell) {
  (void)out, (void)rt, (void)config, (void)doorbell;
  return VOLT_ERRNO(ENOSYS);
}
