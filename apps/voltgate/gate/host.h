/* host.h: what the process gives to all its gates. */
#ifndef VOLTGATE_GATE_HOST_H
#define VOLTGATE_GATE_HOST_H

#include <volt/semaphore.h>
#include <volt/token.h>

struct gate_host {
  volt_sem descriptors; /* that clients may take: accept waits for them */
  volt_token stop;      /* cancelled: sessions end at once */
};

#endif
