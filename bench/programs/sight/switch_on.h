/* switch_on.h: part of bench-tasks and bench-threads. By the environment, a row is measured with what
 * volt/sight.h switches on, and without:
 *   BENCH_SIGHT=FLAGS     volt_sight_enable() is called before main()
 *   BENCH_SIGHT_NAMES=1   bench-tasks: what the crew works on has a name, and so a histogram */
#ifndef VOLT_BENCH_SWITCH_ON_H
#define VOLT_BENCH_SWITCH_ON_H

/* Before the runs of a crew. object: where its first lock, semaphore or channel is. */
void bench_sight_begin(const void *object);

/* After them. Aborts if waits for the object were not recorded. */
void bench_sight_end(const void *object);

#endif
