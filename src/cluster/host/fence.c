#include <volt/cluster.h>

int volt_cluster_fence_compare(const volt_cluster_fence *a, const volt_cluster_fence *b) {
  if (a->era != b->era) return a->era < b->era ? -1 : 1;
  if (a->epoch != b->epoch) return a->epoch < b->epoch ? -1 : 1;
  if (a->grant != b->grant) return a->grant < b->grant ? -1 : 1;
  return 0;
}
