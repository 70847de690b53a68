/* jobs.h: a jobserver for make, whose tokens are permits. */
#ifndef VOLTGATE_RUN_JOBS_H
#define VOLTGATE_RUN_JOBS_H

#include "run/hold.h"

/* How many tokens one command has at most, beside the permit that it begins with. */
enum { RUN_JOBS_MOST = 64 };

struct run_jobs;

/* Make the pipe, which the command inherits, and say in MAKEFLAGS what it is. of: has its permit; each token is
 * as much more. Returns NULL, and standard error says why: nothing was made. */
struct run_jobs *run_jobs_begin(struct run_hold *of);

/* Leave out each -j and --jobs without a number: make would take it for a jobserver of its own, without a limit. words: in
 * argv. */
void run_jobs_leave_out(char *const *words);

/* A future that serves tokens until it is cancelled. */
volt_future *run_jobs_future(struct run_jobs *j);

/* Give all tokens back, wherever they are, and close the pipe. j: may be NULL. The future is cancelled before. */
void run_jobs_end(struct run_jobs *j);

#endif
