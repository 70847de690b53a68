// model_alarm.hpp: alarm.h without a descriptor.
#ifndef VOLT_MODEL_ALARM_HPP
#define VOLT_MODEL_ALARM_HPP

#include <volt/bridge.h>
#include <volt/park.h>

// The alarm of the one bridge that there is, which outlives it: a count, as behind a descriptor. A ring
// and the look at it are ordered, as a write and a read of one file are.
struct model_bell {
  volt_parker rings;
  uint32_t seen; // the loop's own

  volt_waker waker();
};

#endif
