/* inspector.h: a thread that looks at all tasks of all runtimes, again and again, beside a stress
 * test: what the test checks must hold all the same. With VOLT_STRESS_INSPECT=1 in the environment. */
#ifndef VOLT_STRESS_INSPECTOR_H
#define VOLT_STRESS_INSPECTOR_H

#include <stdint.h>

/* Start it, if the environment says so. */
void inspector_begin(uint64_t seed);

/* End it, and print what it has seen. */
void inspector_end(void);

#endif
