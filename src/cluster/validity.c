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
 * What was heard is kept in a ring, one entry for each T/64 at most, so it spans T/2, which is
 * more than a heartbeat and T/4. */
#include "validity.h"

void validity_begin_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns) {
  v->session_ns = session_ns;
  v->write_ns = 0;
  v->bar_ns = 0;
  v->next_bar_ns = 0;
  v->next_bar_answered_ns = UINT64_MAX;
  v->known_ns = since_ns;
  v->first = 0;
  v->count = 0;
}

void validity_again_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns) {
  if (session_ns < v->session_ns) v->session_ns = session_ns;
  if (since_ns > v->known_ns) v->known_ns = since_ns;
}

static uint32_t validity_at(const cluster_validity *v, uint32_t i) {
  return (v->first + i) % VALIDITY_HEARD;
}

void validity_heard_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns) {
  if (v->count > 0) {
    uint64_t last_ns = v->heard[validity_at(v, v->count - 1)].sent_ns;
    if (sent_ns < last_ns + v->session_ns / 64) return;
  }
  if (v->count == VALIDITY_HEARD) {
    v->first = validity_at(v, 1);
    v->count -= 1;
  }
  uint32_t at = validity_at(v, v->count++);
  v->heard[at].sent_ns = sent_ns;
  v->heard[at].answered_ns = answered_ns;
}

/* A write that was sent at sent_ns was answered. */
static void validity_move_bar(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns) {
  bool is_first = v->next_bar_ns == 0;
  if (!is_first && v->next_bar_answered_ns > sent_ns) return; /* they were under way together */
  if (!is_first) v->bar_ns = v->next_bar_ns;
  v->next_bar_ns = sent_ns;
  v->next_bar_answered_ns = answered_ns;
}

void validity_wrote_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns) {
  if (sent_ns > v->write_ns) v->write_ns = sent_ns;
  validity_move_bar(v, sent_ns, answered_ns);
  while (v->count > 0 && v->heard[v->first].answered_ns + v->session_ns / 4 <= v->bar_ns) {
    if (v->heard[v->first].sent_ns > v->known_ns) v->known_ns = v->heard[v->first].sent_ns;
    v->first = validity_at(v, 1);
    v->count -= 1;
  }
  validity_heard_(v, sent_ns, answered_ns);
}

uint64_t validity_until_(const cluster_validity *v) {
  if (v->write_ns == 0 || v->known_ns == 0) return 0;
  uint64_t by_write_ns = v->write_ns + v->session_ns / 2;
  uint64_t by_leader_ns = v->known_ns + v->session_ns / 6 * 5;
  return by_write_ns < by_leader_ns ? by_write_ns : by_leader_ns;
}
