/* tally.c: the statistics of the run. */
#include "tally.h"

void tally_init(struct tally *tally) {
  *tally = (struct tally){.counts = {0}};
  volt_mutex_init(&tally->lock);
}

void tally_add(struct tally *tally, struct counts more) {
  volt_mutex_lock_no_deadline(&tally->lock);
  tally->counts.found += more.found;
  tally->counts.summed += more.summed;
  tally->counts.repeated += more.repeated;
  tally->counts.skipped += more.skipped;
  tally->counts.slow += more.slow;
  tally->counts.bytes += more.bytes;
  tally->counts.symlinks += more.symlinks;
  tally->counts.walked |= more.walked;
  volt_mutex_unlock(&tally->lock);
}

struct counts tally_read(struct tally *tally) {
  volt_mutex_lock_no_deadline(&tally->lock);
  struct counts counts = tally->counts;
  volt_mutex_unlock(&tally->lock);
  return counts;
}

void tally_destroy(struct tally *tally) {
  volt_mutex_destroy(&tally->lock);
}
