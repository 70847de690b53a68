/* away.c: how many permits a gate may use while its ensemble is away.
 *
 *   never reached --- connected, or leased ----> here --- leases lost, and it cannot be reached ---.
 *                                                ^  '---- not connected, and nothing is leased --.  |
 *                                                '------- leased, or reached again <-- away <----'--'
 *
 * While it is here, what is leased holds. A lost connection changes nothing by itself: leases are
 * valid for a while. That they are lost while the ensemble can be reached (a person has deleted the
 * node, or the session has ended and a new one is there) is not `away`: then nothing is leased.
 *
 * It is reached again when what says so cannot be old: a server that is cut off from the others goes
 * on answering reads. A new session, or leases that are valid again, were agreed by a majority. A
 * connection that has lasted for a session's time was, too, because a server that is cut off ends its
 * connections before. If nothing was leased when it went away, nothing depends on it.
 *
 * `keep` goes on with what was leased; `share` with the limit divided by the hosts, if as much was
 * leased, so that the gates of a cluster which are all cut off are within the limit together, and one
 * that is cut off alone exceeds it by its share at most; `closed` admits no client. */
#include "cluster/away.h"

static void away_is_here(struct away *a) {
  a->is_reached = a->is_here = true;
  a->had = a->share = 0;
}

static void away_is_away(struct away *a, uint32_t had, const struct away_sees *sees) {
  uint32_t share = a->all / (a->hosts ? a->hosts : 1);
  a->is_here = false;
  a->had = had;
  a->share = share < had ? share : had;
  a->session = sees->session;
  a->since_ns = 0;
}

void away_leased(struct away *a, uint32_t leased) {
  a->before = a->leased;
  a->leased = leased;
  if (leased > 0) away_is_here(a);
}

static void away_know(struct away *a, uint32_t all, uint32_t hosts) {
  if (all) a->all = all;
  if (hosts) a->hosts = hosts;
}

void away_lost(struct away *a, const struct away_sees *sees, uint32_t all, uint32_t hosts) {
  bool is_valid = sees->now_ns < sees->valid_until_ns;
  if (!a->is_here || (sees->is_connected && is_valid)) return;
  away_know(a, all, hosts);
  away_is_away(a, a->before, sees);
}

static bool away_is_reached_again(struct away *a, const struct away_sees *sees) {
  if (!sees->is_connected) {
    a->since_ns = 0;
    return false;
  }
  if (a->since_ns == 0) a->since_ns = sees->now_ns;
  return a->had == 0 || sees->session != a->session || sees->now_ns < sees->valid_until_ns ||
         sees->now_ns - a->since_ns >= sees->session_ns;
}

void away_look(struct away *a, const struct away_sees *sees, uint32_t all, uint32_t hosts) {
  if (a->is_here && sees->is_connected) {
    away_know(a, all, hosts);
  } else if (a->is_here) {
    if (a->leased == 0) away_is_away(a, 0, sees);
  } else if (away_is_reached_again(a, sees)) {
    away_is_here(a);
  }
}

enum lease_mode away_mode(const struct away *a, enum cluster_away choice) {
  if (a->is_here) return LEASE_LEASED;
  if (!a->is_reached) return LEASE_CLOSED;
  switch (choice) {
    case CLUSTER_AWAY_KEEP: return LEASE_KEEP;
    case CLUSTER_AWAY_SHARE: return LEASE_SHARE;
    case CLUSTER_AWAY_CLOSED: break;
  }
  return LEASE_CLOSED;
}

uint32_t away_limit(const struct away *a, enum cluster_away choice) {
  switch (away_mode(a, choice)) {
    case LEASE_LEASED: return a->leased;
    case LEASE_KEEP: return a->had;
    case LEASE_SHARE: return a->share;
    case LEASE_CLOSED: break;
  }
  return 0;
}
