// model_alarm.cpp: see model_alarm.hpp.
#include "model_alarm.hpp"

#include "core/park/spin.h"
#include "rt/host/alarm.h"

static model_bell *bell_of(void *bell) {
  return static_cast<model_bell *>(bell);
}

static void ring(void *bell) {
  volt_unpark(&bell_of(bell)->rings);
}

volt_waker model_bell::waker() {
  return volt_waker{ring, this};
}

bool volt_alarm_open_(volt_alarm_ *) {
  return false;
}

bool volt_alarm_watch_(volt_alarm_ *, int) {
  return false;
}

void volt_alarm_take_(volt_alarm_ *a) {
  model_bell *bell = bell_of(a->bell);
  bell->seen += volt_unparks_since_(&bell->rings, bell->seen);
}

volt_waker volt_alarm_waker_(const volt_alarm_ *a) {
  return volt_waker{ring, a->bell};
}

void volt_alarm_set_(volt_alarm_ *, uint64_t) {
}

void volt_alarm_close_(volt_alarm_ *a) {
  a->bell = nullptr;
}
