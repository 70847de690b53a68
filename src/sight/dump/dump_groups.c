/* dump_groups.c: see dump_groups.h.
 *
 * Algorithm: a hash table of groups, by place and object. Most tasks are found there. What is not
 * makes a new group; but tasks may each wait for an object of their own, a socket, or a timer, and
 * these must not fill the table. So a place has at most VOLT_GROUP_OBJECTS_MAX_ groups with
 * objects, and one more for the tasks whose objects have none. When they are all taken, a new
 * object takes the place of one that a single task waits for, if that one's turn has come. So an
 * object that many wait for gets a group, and keeps it, in whatever order the tasks are seen: once
 * it has been seen twice within so many.
 *
 * Place and object are hashes of 64 bits. Two that differ and are alike would be shown as one
 * group: of 1,000 groups this is so once in 10^13 dumps. */
#include "dump_groups.h"

/* The object of the group without one's own. */
#define GROUP_VARIOUS UINT64_MAX

static volt_dump_group_ **groups_bucket(volt_dump_groups_ *groups, uint64_t place,
                                        uint64_t object) {
  uint64_t h = volt_tree_mix_(place, object);
  return &groups->bucket[h % (2 * VOLT_GROUPS_MAX_)];
}

static volt_dump_group_ *groups_find(volt_dump_groups_ *groups, uint64_t place, uint64_t object) {
  volt_dump_group_ *at = *groups_bucket(groups, place, object);
  while (at && (at->place != place || at->object != object)) at = at->next;
  return at;
}

static void groups_link(volt_dump_groups_ *groups, volt_dump_group_ *g) {
  volt_dump_group_ **bucket = groups_bucket(groups, g->place, g->object);
  g->next = *bucket;
  *bucket = g;
}

static void groups_unlink(volt_dump_groups_ *groups, volt_dump_group_ *g) {
  volt_dump_group_ **at = groups_bucket(groups, g->place, g->object);
  while (*at != g) at = &(*at)->next;
  *at = g->next;
}

/* NULL: there is no room. */
static volt_dump_group_ *groups_new(volt_dump_groups_ *groups, uint64_t place, uint64_t object) {
  if (groups->count == VOLT_GROUPS_MAX_) return NULL;
  volt_dump_group_ *g = &groups->group[groups->count++];
  g->place = place;
  g->object = object;
  groups_link(groups, g);
  return g;
}

/* ---- its tasks ---- */

static void groups_find_youngest(volt_dump_group_ *g) {
  g->youngest = 0;
  for (unsigned i = 1; i < g->oldest; i++) {
    if (g->old[i].since_ns > g->old[g->youngest].since_ns) g->youngest = i;
  }
}

static void groups_keep(volt_dump_group_ *g, const volt_aged_ *aged) {
  if (g->oldest < VOLT_GROUP_OLDEST_) {
    g->old[g->oldest++] = *aged;
  } else if (aged->since_ns < g->old[g->youngest].since_ns) {
    g->old[g->youngest] = *aged;
  } else {
    return;
  }
  groups_find_youngest(g);
}

static void groups_add(volt_dump_group_ *g, const volt_tree_sum_ *sum, const volt_aged_ *aged) {
  g->count += 1;
  g->of.many = g->count > 1;
  g->of.wanted = g->of.wanted || (g->count > 1 && g->wanted != sum->wanted);
  g->wanted = sum->wanted;
  groups_keep(g, aged);
}

/* ---- places with many objects ---- */

/* g has one task: count it in the group of various objects of its place, and forget it. */
static void groups_fold(volt_dump_groups_ *groups, volt_dump_group_ *g) {
  volt_dump_group_ *various = g->various;
  if (various->count == 0) {
    various->tree = g->tree;
    various->stack = g->stack;
    various->name = g->name;
    various->how = g->how;
    various->is_fiber = g->is_fiber;
    various->rt = g->rt;
  }
  various->count += 1;
  various->of.objects = various->of.many = various->count > 1;
  various->of.wanted = various->of.wanted || (various->count > 1 && various->wanted != g->wanted);
  various->wanted = g->wanted;
  groups_keep(various, &g->old[0]);
  groups_unlink(groups, g);
  g->count = 0;
  g->oldest = 0;
  g->youngest = 0;
  g->of = (volt_tree_of_){0};
}

/* The group that a new object of the place gets: a new one, or that of an object that is folded; or
 * that of various objects. */
static volt_dump_group_ *groups_of_object(volt_dump_groups_ *groups, volt_dump_group_ *various,
                                          uint64_t object) {
  if (various->members < VOLT_GROUP_OBJECTS_MAX_) {
    volt_dump_group_ *g = groups_new(groups, various->place, object);
    if (!g) return various;
    g->various = various;
    g->sibling = various->sibling;
    various->sibling = g;
    various->members += 1;
    return g;
  }
  volt_dump_group_ *turn = various->turn ? various->turn : various->sibling;
  various->turn = turn->sibling;
  if (turn->count != 1) return various;
  groups_fold(groups, turn);
  turn->object = object;
  groups_link(groups, turn);
  return turn;
}

/* NULL: there is no room. */
static volt_dump_group_ *groups_of(volt_dump_groups_ *groups, uint64_t place, uint64_t object) {
  volt_dump_group_ *g = groups_find(groups, place, object);
  if (g) return g;
  if (object == 0) return groups_new(groups, place, 0);
  volt_dump_group_ *various = groups_find(groups, place, GROUP_VARIOUS);
  if (!various) various = groups_new(groups, place, GROUP_VARIOUS);
  return various ? groups_of_object(groups, various, object) : NULL;
}

volt_dump_group_ *volt_groups_count_(volt_dump_groups_ *groups, const volt_tree_sum_ *sum,
                                     const volt_aged_ *aged) {
  volt_dump_group_ *g = groups_of(groups, sum->place, sum->object);
  if (!g) {
    groups->elsewhere += 1;
    return NULL;
  }
  groups_add(g, sum, aged);
  if (g->object == GROUP_VARIOUS) g->of.objects = g->count > 1;
  return g;
}

static unsigned groups_singles(const volt_dump_group_ *various) {
  unsigned count = 0;
  for (const volt_dump_group_ *g = various->sibling; g; g = g->sibling) count += g->count == 1;
  return count;
}

void volt_groups_fold_(volt_dump_groups_ *groups) {
  for (unsigned i = 0; i < groups->count; i++) {
    volt_dump_group_ *various = &groups->group[i];
    if (various->object != GROUP_VARIOUS) continue;
    if (various->count == 0 && groups_singles(various) < VOLT_GROUP_SINGLES_) continue;
    for (volt_dump_group_ *g = various->sibling; g; g = g->sibling) {
      if (g->count == 1) groups_fold(groups, g);
    }
  }
}

/* ---- sorting: few, and without qsort(), which may allocate ---- */

static bool groups_is_first(const volt_dump_group_ *a, const volt_dump_group_ *b) {
  return a->count != b->count ? a->count > b->count : a < b; /* or as they were found */
}

unsigned volt_groups_sort_(volt_dump_groups_ *groups, unsigned rt, volt_dump_group_ **order) {
  unsigned count = 0;
  for (unsigned i = 0; i < groups->count; i++) {
    volt_dump_group_ *g = &groups->group[i];
    if (g->count == 0 || g->rt != rt) continue;
    unsigned at = count++;
    for (; at > 0 && groups_is_first(g, order[at - 1]); at--) order[at] = order[at - 1];
    order[at] = g;
  }
  return count;
}

void volt_group_sort_oldest_(volt_dump_group_ *g) {
  for (unsigned i = 1; i < g->oldest; i++) {
    volt_aged_ aged = g->old[i];
    unsigned at = i;
    for (; at > 0 && aged.since_ns < g->old[at - 1].since_ns; at--) g->old[at] = g->old[at - 1];
    g->old[at] = aged;
  }
}
