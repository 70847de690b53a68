/* histogram.h: how often which time was measured, by many threads at once: the histograms that the
 * library has of waits. A volt_shared_histogram_ is added to; it is read into a volt_histogram
 * (volt/counts.h). */
#ifndef COMMON_HISTOGRAM_H
#define COMMON_HISTOGRAM_H

#include "../../src/core/hooks/histogram.h"

#endif
