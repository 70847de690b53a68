/* settings.h: what voltgate is to do. Settings are read once and never changed; a reload reads
 * new ones. */
#ifndef VOLTGATE_CONFIG_SETTINGS_H
#define VOLTGATE_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/net.h>

#include "wire/permit.h"
#include "wire/refusal.h"

enum protocol { PROTOCOL_TCP, PROTOCOL_POSTGRES, PROTOCOL_REDIS, PROTOCOL_PERMIT };
enum half_close { HALF_CLOSE_LEAVE, HALF_CLOSE_KEEP };
enum proxy_header { PROXY_HEADER_NO, PROXY_HEADER_V2 };
enum server_tls {
  SERVER_TLS_OFF,
  SERVER_TLS_REQUIRE,
  SERVER_TLS_VERIFY_CA,
  SERVER_TLS_VERIFY_FULL
};
enum tls_mode { TLS_MODE_OFF, TLS_MODE_SERVER, TLS_MODE_PASS };
enum tenant_by {
  TENANT_BY_NONE,
  TENANT_BY_SOURCE,
  TENANT_BY_PORT, /* the port that the client came to */
  TENANT_BY_USER,
  TENANT_BY_DATABASE,
  TENANT_BY_LABEL, /* of a request at a permit gate */
  TENANT_BY_CGROUP /* of the process that asks there */
};

enum cluster_away { CLUSTER_AWAY_CLOSED, CLUSTER_AWAY_KEEP, CLUSTER_AWAY_SHARE };
enum cluster_acl { CLUSTER_ACL_USUAL, CLUSTER_ACL_OPEN, CLUSTER_ACL_CREATOR };

/* Users and groups of this machine. */
enum { USERS_MOST = 64 };
struct user_set {
  uint32_t count;
  struct user_one {
    uint32_t id;
    bool is_group;
  } of[USERS_MOST];
};

/* A tenant that has a section of its own. */
struct tenant_settings {
  char *name;
  uint32_t limit;  /* 0: none but the gate's */
  uint32_t weight; /* at least 1 */
  uint32_t cost;   /* permits that each of its clients takes, at least 1 */
  struct permit_amounts
      kinds;    /* of a permit gate: how much it may hold; a kind that is not there: all */
  uint32_t uid; /* with tenant-by = user at a permit gate: whose it is */
};

/* One gate. Times are in nanoseconds; 0: none. */
struct gate_settings {
  char *name;
  char **listen;
  size_t listen_count;
  char *to;
  enum protocol protocol;
  uint32_t limit;
  uint32_t queue;
  uint32_t clients;
  bool clients_given; /* it is no preset: so many are meant to be served */
  uint64_t queue_timeout_ns;
  uint64_t connect_timeout_ns;
  uint64_t server_timeout_ns;
  uint64_t idle_timeout_ns;
  uint64_t idle_in_transaction_ns;
  uint64_t login_timeout_ns;
  uint64_t max_age_ns;
  uint64_t drain_timeout_ns;
  enum refuse refuse;
  enum half_close half_close;
  uint32_t breaker_failures; /* 0: off */
  uint64_t breaker_retry_ns;
  uint64_t shed_target_ns; /* 0: off */
  uint64_t shed_interval_ns;
  enum proxy_header proxy_in;
  enum proxy_header proxy_out;
  enum tenant_by tenant_by;
  uint32_t tenant_ipv4_bits, tenant_ipv6_bits; /* of TENANT_BY_SOURCE */
  struct tenant_settings tenant_default;       /* name NULL */
  uint32_t tenant_max;
  struct tenant_settings *tenants; /* in the order of their names */
  size_t tenant_count;
  enum tls_mode tls;
  char *tls_cert, *tls_key;
  int tls_min; /* enum volt_tls_protocol */
  bool tls_required;
  enum server_tls server_tls;
  char *server_ca, *server_cert, *server_key;
  char *server_name;     /* NULL: the host of to */
  int server_tls_direct; /* without SSLRequest */
  char *cluster_name;    /* NULL: the gate's name */
  enum cluster_away cluster_away;
  /* of a permit gate */
  struct permit_amounts kinds; /* and their limits */
  struct permit_amounts most;  /* that one request may ask for; a kind that is not there: any */
  char *users;                 /* as written, or NULL */
  struct user_set allowed;     /* the users that it names; none: all */
  uint32_t bypass;
  uint64_t claim_period_ns;
};

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };
enum sandbox_mode { SANDBOX_NO, SANDBOX_YES, SANDBOX_REQUIRE };
enum io_choice { IO_EPOLL, IO_AUTO, IO_URING };

/* Where lines go to. path: NULL: nowhere; "-": standard error. */
struct log_settings {
  char *path;
  enum log_format format;
  enum log_level level;
};

/* The process and all its gates. */
struct settings {
  char *config;     /* the file, or NULL */
  char *warnings;   /* what is allowed and looks wrong: lines, or NULL */
  uint32_t workers; /* 0: one for each CPU that the process may use */
  enum io_choice io;
  char *metrics; /* the admin side's address, or NULL */
  char *token_file;
  char *token; /* what allows changes, or NULL: nothing does; of the file or of VOLTGATE_TOKEN */
  struct log_settings log, access; /* the access log has no level */
  char *user, *group;
  enum sandbox_mode sandbox;
  uint32_t nofile;        /* 0: the hard limit */
  uint64_t stall_ns;      /* 0: workers are not watched */
  uint64_t end_unused_ns; /* without clients for so long: it ends; 0: never */
  char *sight;            /* the socket of volt-top, or NULL */
  char *handover;
  char *take_over;
  char *cluster; /* servers of the ensemble, or NULL: limits are this process's alone */
  char *cluster_root;
  uint64_t cluster_session_ns;
  char *cluster_auth_file;
  char *cluster_auth; /* what it says, or NULL */
  enum cluster_acl cluster_acl;
  char *cluster_host; /* NULL: the machine's name */
  uint32_t cluster_era;
  struct gate_settings *gates;
  size_t gate_count;
};

/* What to do after the command line was read. */
enum settings_result { SETTINGS_RUN, SETTINGS_WRONG };

/* Read the options argv[1..], and the configuration file that they name. Prints on standard error
 * all that is wrong, each with its file and line or its option; and what looks wrong, as a warning.
 * *out is the caller's, to be freed by settings_free(), if it returns SETTINGS_RUN. argv stays as
 * long as the process. */
enum settings_result settings_read(struct settings *out, int argc, char *const *argv);

/* Read them again, as a reload does: the same options, the file as it is now. Returns NULL, or what
 * is wrong: lines without a newline at the end, which the caller frees. Prints nothing. It may
 * block. */
char *settings_reread(struct settings *out, int argc, char *const *argv);

void settings_free(struct settings *s);

/* The gate of that name, or NULL. */
const struct gate_settings *settings_gate(const struct settings *s, const char *name);

/* The tenant of that name: of its own section, or what is said of all. */
const struct tenant_settings *settings_tenant(const struct gate_settings *g, const char *name);

/* What a reload makes of a gate. */
enum gate_change {
  GATE_SAME,
  GATE_ADDED,   /* is in the new settings only */
  GATE_REMOVED, /* is in the old settings only */
  GATE_CHANGED, /* takes its new settings where it is */
  GATE_REBOUND  /* the same, and listens at other addresses */
};
struct gate_difference {
  const char *name; /* of the settings that it is in */
  enum gate_change change;
};

/* What is different between two settings. Its strings last as long as both. */
struct settings_difference {
  struct gate_difference *gates; /* the new ones in their order, then those that are gone */
  size_t gate_count;
  char *summary; /* one line: "limit of gate main, gate shop added"; NULL: nothing */
  char *restart; /* one line: "workers, user": the options that need a restart; NULL: none */
};

/* Compare them. Returns false: no memory, and *out is empty. */
bool settings_compare(struct settings_difference *out, const struct settings *old,
                      const struct settings *now);
void settings_difference_free(struct settings_difference *d);

#endif
