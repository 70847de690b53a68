// clients.h: what admission.c uses of a client, for a model.
#ifndef VOLT_MODEL_CLIENTS_H
#define VOLT_MODEL_CLIENTS_H

#include <stdatomic.h>

// What is only looked at by the admin side: no scheduling point.
template <typename T>
struct quiet {
  T value = 0;
  T load(rl::memory_order, rl::debug_info_param) const {
    return value;
  }
  void store(T next, rl::memory_order, rl::debug_info_param) {
    value = next;
  }
  T fetch_add(T more, rl::memory_order, rl::debug_info_param) {
    value += more;
    return value - more;
  }
  T exchange(T next, rl::memory_order, rl::debug_info_param) {
    T before = value;
    value = next;
    return before;
  }
  T fetch_sub(T less, rl::memory_order, rl::debug_info_param) {
    value -= less;
    return value + less;
  }
};

struct tenant;

enum client_state { CLIENT_LOGIN, CLIENT_IDLE, CLIENT_QUEUED, CLIENT_HOLDS };

struct client {
  struct tenant *tenant;
  quiet<uint64_t> ticket, since_ns, deadline_ns;
  quiet<uint32_t> state;
};

#endif
