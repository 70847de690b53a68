/* stack_report.h: a fiber that overflows its stack is named before the process ends. */
#ifndef VOLT_RT_FIBER_STACK_REPORT_H
#define VOLT_RT_FIBER_STACK_REPORT_H

#include "../sched/worker.h"

struct volt_fiber;

/* A fiber has ended, and has its stack still: say so if it has used more than three quarters of it.
 * In debug builds; each fiber that has. */
void volt_stack_report_used_(const struct volt_fiber *f);

/* A runtime begins, and ends: no thread of it runs. */
void volt_stack_report_open_(volt_rt *rt);
void volt_stack_report_close_(volt_rt *rt);

/* This thread runs the tasks of w from here on; or no more. */
void volt_stack_report_begin_(volt_worker *w);
void volt_stack_report_end_(volt_worker *w);

#endif
