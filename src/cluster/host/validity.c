/* validity.c: until when the leases of a session are valid.
 *
 * A read proves nothing. A follower that is cut off from the leader goes on answering reads, while
 * the leader ends the session. So what counts is that a write was answered: a majority carried it
 * out, and the leader let it pass, because the session lived.
 *
 * That says that the session lived at some time after the write was sent. It does not say for how
 * much longer, because a write that a follower forwards does not count as a sign of life: the
 * follower reports the sessions that it has heard when the leader asks, each half tick.
 *
 *   T   the session's time, two ticks at least
 *   a   when the newest answered write was sent
 *   b   when the newest write was sent that was answered before a
 *   k   when the newest request was sent that was answered before b - T/4; or, if that is later,
 *       when the client began to make its present connection, which is reported at once
 *   valid_until = min(a + T/2, k + 5T/6)
 *
 * Why: the follower had heard the request of k when it answered, at b - T/4 or before. The leader asks
 * each half tick, T/4 or less, so it has asked since, or it was stopped, and asks as soon as it goes
 * on. It let the write of b pass, so it ran. The follower's answer had the session in it; it is on its
 * way before the write of a, which was sent a whole round later, and on the same connection. The
 * leader let the write of a pass after that, so it had heard of the session not before k, and does not
 * end it before k + T. A sixth of T is left for clocks that differ (1 %, and 2 % are less than T/6) and
 * for what a leader rounds. The follower of that time may die and take younger signs of life with it:
 * they are not counted. A new leader gives each session its whole time again.
 *   With a in the place of b there is a hole: a leader that was stopped goes on, and lets the write of
 * a pass, which has waited for it, before it asks; then the follower dies.
 *   The bound a + T/2 has another reason: it limits what a wrong assumption about ticks can cost.
 *
 * Requests may be under way together, so what is known does not wait for a round. With a write each w, a
 * request each r, and rounds that take d:
 *   a is d + w old at most; b is d + w older; k is T/4 + d + r older
 *   valid_until is at least 7T/12 - 3d - 2w - r ahead
 * session.c has w and r, and so the greatest d. With one request at a time w and r cannot be less than d.
 *
 * Requests are kept in rings, one for each T/64 at most, so that a ring spans T. Those that were heard are
 * kept for T/4 + 2d + 2w. */
#include "validity.h"

void validity_begin_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns) {
  v->session_ns = session_ns;
  v->write_ns = 0;
  v->bar_ns = 0;
  v->known_ns = since_ns;
  v->writes.count = v->heard.count = 0;
}

void validity_again_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns) {
  if (session_ns < v->session_ns) v->session_ns = session_ns;
  if (since_ns > v->known_ns) v->known_ns = since_ns;
}

static void validity_keep(validity_ring *ring, uint64_t each_ns, uint64_t sent_ns,
                          uint64_t answered_ns) {
  uint32_t last = (ring->first + ring->count + VALIDITY_RING - 1) % VALIDITY_RING;
  if (ring->count > 0 && sent_ns < ring->at[last].sent_ns + each_ns) return;
  if (ring->count == VALIDITY_RING) {
    ring->first = (ring->first + 1) % VALIDITY_RING;
    ring->count -= 1;
  }
  uint32_t at = (ring->first + ring->count++) % VALIDITY_RING;
  ring->at[at].sent_ns = sent_ns;
  ring->at[at].answered_ns = answered_ns;
}

/* Take out those that were answered by then. *sent_ns becomes when the newest of them was sent. */
static void validity_pass(validity_ring *ring, uint64_t by_ns, uint64_t *sent_ns) {
  while (ring->count > 0 && ring->at[ring->first].answered_ns <= by_ns) {
    if (ring->at[ring->first].sent_ns > *sent_ns) *sent_ns = ring->at[ring->first].sent_ns;
    ring->first = (ring->first + 1) % VALIDITY_RING;
    ring->count -= 1;
  }
}

void validity_heard_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns) {
  validity_keep(&v->heard, v->session_ns / 64, sent_ns, answered_ns);
}

void validity_wrote_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns) {
  if (sent_ns > v->write_ns) v->write_ns = sent_ns;
  validity_pass(&v->writes, v->write_ns, &v->bar_ns);
  validity_keep(&v->writes, v->session_ns / 64, sent_ns, answered_ns);
  uint64_t quarter_ns = v->session_ns / 4;
  if (v->bar_ns > quarter_ns) validity_pass(&v->heard, v->bar_ns - quarter_ns, &v->known_ns);
  validity_heard_(v, sent_ns, answered_ns);
}

uint64_t validity_until_(const cluster_validity *v) {
  if (v->write_ns == 0 || v->known_ns == 0) return 0;
  uint64_t by_write_ns = v->write_ns + v->session_ns / 2;
  uint64_t by_leader_ns = v->known_ns + v->session_ns / 6 * 5;
  return by_write_ns < by_leader_ns ? by_write_ns : by_leader_ns;
}
