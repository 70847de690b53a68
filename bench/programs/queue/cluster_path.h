/* cluster_path.h: a permit of a semaphore of the cluster, whose slots are leased: a path of paths.c. */
#ifndef VOLT_BENCH_CLUSTER_PATH_H
#define VOLT_BENCH_CLUSTER_PATH_H

/* Lease so many slots. */
void cluster_path_init(unsigned slots);
/* By futures, polled once each: take so many; take and release so many. */
void cluster_path_take(unsigned count);
void cluster_path_pair(unsigned count);

#endif
