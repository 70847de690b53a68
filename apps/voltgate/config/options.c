/* options.c: the table of all options. Where its text says `x`, x is printed as code. */
#define _GNU_SOURCE /* strcasecmp */
#include "config/options.h"

#include <string.h>
#include <strings.h>
#include <volt/tls.h>

#include "config/command.h"
#include "config/settings.h"

/* ---- words ---- */

static const struct option_word protocol_words[] = {{"tcp", PROTOCOL_TCP},
                                                    {"postgres", PROTOCOL_POSTGRES},
                                                    {"redis", PROTOCOL_REDIS},
                                                    {"permit", PROTOCOL_PERMIT},
                                                    {NULL, 0}};
static const struct option_word refuse_words[] = {{"close", REFUSE_CLOSE},
                                                  {"postgres", REFUSE_POSTGRES},
                                                  {"redis", REFUSE_REDIS},
                                                  {"http", REFUSE_HTTP},
                                                  {NULL, 0}};
static const struct option_word half_close_words[] = {
    {"leave", HALF_CLOSE_LEAVE}, {"keep", HALF_CLOSE_KEEP}, {NULL, 0}};
static const struct option_word proxy_words[] = {
    {"no", PROXY_HEADER_NO}, {"v2", PROXY_HEADER_V2}, {NULL, 0}};
static const struct option_word tls_words[] = {
    {"off", TLS_MODE_OFF}, {"server", TLS_MODE_SERVER}, {"pass", TLS_MODE_PASS}, {NULL, 0}};
static const struct option_word tls_min_words[] = {
    {"1.2", VOLT_TLS_1_2}, {"1.3", VOLT_TLS_1_3}, {NULL, 0}};
static const struct option_word server_tls_words[] = {{"off", SERVER_TLS_OFF},
                                                      {"require", SERVER_TLS_REQUIRE},
                                                      {"verify-ca", SERVER_TLS_VERIFY_CA},
                                                      {"verify-full", SERVER_TLS_VERIFY_FULL},
                                                      {NULL, 0}};
static const struct option_word server_tls_negotiation_words[] = {
    {"postgres", 0}, {"direct", 1}, {NULL, 0}};
static const struct option_word tenant_by_words[] = {
    {"none", TENANT_BY_NONE},         {"source", TENANT_BY_SOURCE},
    {"port", TENANT_BY_PORT},         {"user", TENANT_BY_USER},
    {"database", TENANT_BY_DATABASE}, {"label", TENANT_BY_LABEL},
    {"cgroup", TENANT_BY_CGROUP},     {NULL, 0}};
static const struct option_word io_words[] = {
    {"auto", IO_AUTO}, {"epoll", IO_EPOLL}, {"uring", IO_URING}, {NULL, 0}};
static const struct option_word format_words[] = {
    {"text", LOG_TEXT}, {"json", LOG_JSON}, {NULL, 0}};
static const struct option_word level_words[] = {
    {"error", LOG_ERROR}, {"warn", LOG_WARN}, {"info", LOG_INFO}, {"debug", LOG_DEBUG}, {NULL, 0}};
static const struct option_word sandbox_words[] = {
    {"no", SANDBOX_NO}, {"yes", SANDBOX_YES}, {"require", SANDBOX_REQUIRE}, {NULL, 0}};
static const struct option_word cluster_away_words[] = {{"keep", CLUSTER_AWAY_KEEP},
                                                        {"share", CLUSTER_AWAY_SHARE},
                                                        {"closed", CLUSTER_AWAY_CLOSED},
                                                        {NULL, 0}};
static const struct option_word cluster_acl_words[] = {
    {"open", CLUSTER_ACL_OPEN}, {"creator", CLUSTER_ACL_CREATOR}, {NULL, 0}};

/* ---- the table ---- */

#define MS UINT64_C(1000000)
#define YEAR UINT64_C(31536000000000000)

#define GATE(member) .owner = OPTION_OF_GATE, .offset = offsetof(struct gate_settings, member)
#define PROCESS(member) .owner = OPTION_OF_PROCESS, .offset = offsetof(struct settings, member)
#define TENANT(member) .owner = OPTION_OF_TENANT, .offset = offsetof(struct tenant_settings, member)
#define CLIENT(member) .owner = OPTION_OF_CLIENT, .offset = offsetof(struct client_settings, member)
#define UNDER(member) .owner = OPTION_OF_UNDER, .offset = offsetof(struct under_settings, member)
#define NUMBER(from, to) .kind = OPTION_NUMBER, .argument = "N", .least = (from), .most = (to)
#define TIME .kind = OPTION_TIME, .argument = "TIME", .least = 1, .most = YEAR, .can_be_zero = true
#define TIME_FROM(ns) .kind = OPTION_TIME, .argument = "TIME", .least = (ns), .most = YEAR
#define WORD(list, named) .kind = OPTION_WORD, .words = (list), .argument = (named)
#define YES_NO .kind = OPTION_YES, .argument = "yes|no"

/* clang-format off */
const struct option options_table[] = {
  {.name = "listen", GATE(listen), .kind = OPTION_LISTEN, .group = "The gate", .argument = "ADDRESS",
   .help = "where clients connect to, as :6432; may be given several times",
   .manual =
     "Where clients connect to: `:6432` (every address of this machine), `127.0.0.1:6432`, "
     "`[::1]:6432`, `unix:/run/x.sock`, `unix:@name` (an abstract name), or `fd:NAME` (a socket "
     "that systemd has opened; NAME is its `FileDescriptorName=`). A port of 0 is one that the "
     "system chooses; the log says which. Several addresses stand behind commas in the file, or "
     "the option is given several times; all of them share one limit and one queue. With `protocol "
     "= permit`, TCP is for this machine, or with TLS. Each gate "
     "needs one. A reload opens new addresses and closes those that are gone."},
  {.name = "to", GATE(to), .kind = OPTION_SERVER, .group = "The gate", .argument = "ADDRESS",
   .help = "the server, as 127.0.0.1:5432 or db.example:5432",
   .manual =
     "The server that clients are connected to: `127.0.0.1:5432`, `[::1]:5432`, "
     "`db.example:5432`, or `unix:/run/postgresql/.s.PGSQL.5432`. A name is looked up for each "
     "connection. Each gate needs one, but for `protocol = permit`, which has no server."},
  {.name = "protocol", GATE(protocol), WORD(protocol_words, "tcp|postgres|redis|permit"),
   .group = "The gate", .preset = "tcp", .needs_restart = true,
   .help = "what a permit is held for: a connection, a transaction, a burst",
   .manual =
     "What a permit is held for. `tcp`: the life of a connection, whatever is spoken on it. "
     "`postgres`: a transaction; clients stay connected, and every client has a server connection "
     "of its own, so that everything of a session keeps working. `redis`: a burst of commands, "
     "`MULTI` to `EXEC` being one. `permit`: there is no server: clients ask the gate itself for "
     "amounts of `kinds`, and hold them as long as their connection lives."},
  {.name = "limit", GATE(limit), NUMBER(1, 1000000), .group = "The gate", .preset = "100",
   .help = "permits: how many clients use the server at once",
   .manual =
     "Permits: as many clients use the server at the same time. It is exact over all threads. "
     "When it is lowered, clients that hold permits keep them, and no client is admitted before fewer "
     "than the new limit are held. Until then `excess` says how many are held above it."},
  {.name = "queue", GATE(queue), NUMBER(0, 1000000), .group = "The gate", .preset = "1000",
   .help = "how many clients may wait for a permit",
   .manual =
     "How many clients may wait for a permit; one more is refused with `queue-full`. 0: a client "
     "is refused at once when no permit is free."},
  {.name = "queue-timeout", GATE(queue_timeout_ns), TIME, .group = "The gate", .preset = "5s",
   .preset_words = "5s; permit: 0",
   .help = "how long a client waits for a permit; 0: without end",
   .manual =
     "How long a client waits for a permit before it is refused with `queue-timeout`; 0: without "
     "end. It should be shorter than the client's own timeout: then the client learns the reason. "
     "With `protocol = permit` it is the most that a request may wait, and 0 if it is not given."},
  {.name = "clients", GATE(clients), NUMBER(1, 1000000), .group = "The gate", .preset = "10000",
   .help = "how many clients may be connected",
   .manual =
     "How many clients may be connected at once, those that hold permits and those that wait "
     "among them; one more is refused with `clients`."},

  {.name = "connect-timeout", GATE(connect_timeout_ns), TIME, .group = "Time limits",
   .preset = "5s", .help = "to connect to the server; 0: none",
   .manual =
     "How long it may take to look up the server's name and to connect. 0: until the system "
     "gives up."},
  {.name = "server-timeout", GATE(server_timeout_ns), TIME, .group = "Time limits", .preset = "0",
   .help = "a client waits for an answer, the server says nothing; 0: none",
   .manual =
     "How long the server may say nothing while a client waits for its answer. It should be longer "
     "than the longest query. 0: without end."},
  {.name = "idle-timeout", GATE(idle_timeout_ns), TIME, .group = "Time limits", .preset = "0",
   .help = "no byte in either direction; 0: none",
   .manual =
     "How long a connection may be without a byte in either direction. 0: without end. In the "
     "mode `tcp` an idle connection holds a permit, so this option matters most there."},
  {.name = "idle-in-transaction", GATE(idle_in_transaction_ns), TIME, .group = "Time limits",
   .preset = "0", .help = "postgres: a client is silent in a transaction; 0: none",
   .manual =
     "How long a client may be silent inside a transaction, where it holds a permit. Then it gets "
     "FATAL 25P03, its connection is closed, and the server rolls back. 0: without end. Only with "
     "`protocol = postgres`."},
  {.name = "login-timeout", GATE(login_timeout_ns), TIME, .group = "Time limits", .preset = "10s",
   .help = "PROXY header, TLS handshake, PostgreSQL login; 0: none",
   .manual =
     "How long a client may take for its PROXY header, the TLS handshake, and, with `protocol = "
     "postgres`, the startup and the authentication. 0: without end; then a client that never speaks "
     "stays connected."},
  {.name = "max-age", GATE(max_age_ns), TIME, .group = "Time limits", .preset = "0",
   .help = "an older connection ends when it holds no permit; 0: any age",
   .manual =
     "How old a connection may become. It is ended at the next moment at which it holds no permit; "
     "in the mode `tcp`, when the age is reached. So clients that are connected for ever look up the "
     "server's name again. 0: any age."},
  {.name = "drain-timeout", GATE(drain_timeout_ns), TIME, .group = "Time limits", .preset = "30s",
   .help = "after SIGTERM: until clients that are still there are cut off",
   .manual =
     "How long clients that are connected when voltgate drains (SIGTERM, `voltgate drain`, or a "
     "gate that a reload takes away) may take to finish. Then they are cut off. 0: without end."},

  {.name = "refuse", GATE(refuse), WORD(refuse_words, "HOW"), .group = "Refusals and overload",
   .preset_words = "by protocol; tcp: close",
   .help = "how a client learns it: close, postgres, redis, http",
   .manual =
     "How a client learns that it is refused. `postgres`: an ErrorResponse with an SQLSTATE and "
     "a message that has the values; `redis`: an error reply; `http`: 503 with Retry-After; "
     "`close`: the connection ends without words. If it is not given, the protocol says it; in "
     "the mode `tcp` that is `close`. A gate with `protocol = postgres` or `redis` can only "
     "have that or `close`."},
  {.name = "half-close", GATE(half_close), WORD(half_close_words, "leave|keep"),
   .group = "Refusals and overload", .preset = "leave",
   .help = "a queued client that sends no more: leaves or keeps its place",
   .manual =
     "What a client that shuts down its sending side means by it. `leave`: a queued client that does "
     "so has hung up, and leaves the queue at once. `keep`: it has sent all that it has to say, and "
     "keeps its place for the answer (as `nc -N` does); then only a reset shows that a queued client "
     "is gone. In the mode `tcp`, `keep` also lets a client go on sending after the server has ended; "
     "with `leave` the server's end is the connection's."},
  {.name = "breaker", GATE(breaker_failures), NUMBER(0, 1000000), .group = "Refusals and overload",
   .preset = "3", .help = "failures in a row (connect, first answer) that open it; 0: off",
   .manual =
     "After so many failures in a row to connect to the server, voltgate takes the server to be away: "
     "all clients that are queued and all that come are refused at once, with the reason, until it is "
     "back. A connection that the server accepts and does not answer is a failure, too: a login within "
     "`login-timeout`, a redis client's first commands within `server-timeout`. 0: never."},
  {.name = "breaker-retry", GATE(breaker_retry_ns), TIME_FROM(10 * MS),
   .group = "Refusals and overload", .preset = "250ms",
   .help = "how often voltgate tries whether the server is back",
   .manual = "While the breaker is open, or the server has not answered: how often voltgate tries to "
             "connect, and to get an answer. From `10ms`."},
  {.name = "shed-target", GATE(shed_target_ns), TIME, .group = "Refusals and overload",
   .preset = "0", .help = "refuse clients while all wait longer than this; 0: off",
   .manual =
     "Controlled delay (CoDel). While even the shortest wait within a `shed-interval` was above "
     "this target, a client that has waited twice the target is refused with `shed` when it "
     "would get its permit. Clients that are served are still served in the order of their arrival. 0: "
     "off."},
  {.name = "shed-interval", GATE(shed_interval_ns), TIME_FROM(MS),
   .group = "Refusals and overload", .preset = "100ms", .help = "the interval of shed-target",
   .manual = "The interval of `shed-target`; at least the target. From `1ms`."},

  {.name = "tenant-by", GATE(tenant_by), .kind = OPTION_TENANT_BY, .words = tenant_by_words,
   .group = "Tenants", .argument = "WHAT", .preset = "none",
   .help = "none, source[/BITS], port, user, database, label, cgroup",
   .manual =
     "What makes one tenant of clients; busy tenants get permits in turn. `source`: the client's "
     "address; `source/24`: the first 24 bits of an IPv4 address (of an IPv6 address: see "
     "`tenant-by-ipv6-bits`). `port`: the port that the client came to. `user`, `database`: of "
     "the startup packet, with `protocol = postgres`. With `protocol = permit`: `user`, the user whose "
     "process asks over a unix socket; `cgroup`, that of the process; `label`, of the request. `none`: there are no "
     "tenants."},
  {.name = "tenant-by-ipv6-bits", GATE(tenant_ipv6_bits), NUMBER(1, 128), .group = "Tenants",
   .preset = "64", .help = "bits of an IPv6 source that are one tenant",
   .manual = "With `tenant-by = source`: how many bits of an IPv6 address are one tenant."},
  {.name = "tenant-limit", GATE(tenant_default.limit), NUMBER(0, 1000000), .group = "Tenants",
   .preset = "0", .help = "permits of each tenant; 0: the gate's limit only",
   .manual =
     "How many permits each tenant may hold that has no section of its own. 0: as many as the "
     "gate has."},
  {.name = "tenant-weight", GATE(tenant_default.weight), NUMBER(1, 1000), .group = "Tenants",
   .preset = "1", .help = "grants in a row, when it is next: its share",
   .manual =
     "While several tenants wait, they get permits in turn. This is how many grants in a row a tenant "
     "gets that has no section of its own: its share, against the weights of the others."},
  {.name = "tenant-max", GATE(tenant_max), NUMBER(1, 1000000), .group = "Tenants",
   .preset = "1000", .help = "tenants with a name of their own; more are `other`",
   .manual =
     "How many tenants have a name of their own at the same time; those beyond share the tenant "
     "`other`."},

  {.name = "kinds", GATE(kinds), .kind = OPTION_LIMITS, .group = "A permit gate",
   .argument = "AMOUNTS", .preset_words = "none",
   .help = "permit: what there is, as cores=8,memory=16G; cores, memory: auto",
   .manual =
     "With `protocol = permit`: 1 to 8 kinds and how much there is of each, as `cores=8 memory=16G "
     "gpu=1`, behind blanks or commas. K, M, G and T are powers of 1024. `cores=auto` is the CPUs that "
     "the process may use, `memory=auto` the machine's memory in bytes. Amounts of a lowered limit are as "
     "with `limit`. Which kinds there are needs a restart; how much there is of each does not."},
  {.name = "most", GATE(most), .kind = OPTION_AMOUNTS, .group = "A permit gate",
   .argument = "AMOUNTS", .preset_words = "the limits", .help = "permit: what one request may ask for",
   .manual =
     "With `protocol = permit`: as much of these kinds may one request ask for, as `cores=4`. One that "
     "asks for more is refused with `never`."},
  {.name = "users", GATE(users), .kind = OPTION_TEXT, .group = "A permit gate",
   .argument = "NAME,@GROUP", .preset_words = "all that can open the socket",
   .help = "permit: which users may ask, as anna,1001,@build",
   .manual =
     "With `protocol = permit`: the users, by name or number, and the groups, behind `@`, whose processes "
     "may ask; others are refused with `who`. It needs a unix socket, because the kernel says there "
     "whose process it is. Names are looked up when the configuration is read."},
  {.name = "bypass", GATE(bypass), NUMBER(0, 1000000), .group = "A permit gate", .preset = "0",
   .needs_restart = true, .help = "permit: how many later requests may pass one that waits",
   .manual =
     "With `protocol = permit`: a request that fits may be granted before older ones that do not fit, "
     "but a waiting request is passed by at most so many, and the oldest is never delayed. 0: strictly "
     "in the order of arrival."},
  {.name = "claim-period", GATE(claim_period_ns), TIME, .group = "A permit gate", .preset = "2s",
   .needs_restart = true, .help = "permit: after the start, for clients that held before; 0: none",
   .manual =
     "With `protocol = permit`: for so long after the start, clients that held something when the "
     "process before ended get it again at once by `claim`, also above a limit; requests that `take` "
     "wait until it is over. 0: no client can claim."},

  {.name = "proxy-in", GATE(proxy_in), WORD(proxy_words, "no|v2"), .group = "PROXY protocol and TLS",
   .preset = "no", .help = "clients send a PROXY header",
   .manual =
     "`v2`: each client must begin with a header of the PROXY protocol, version 2 (version 1 is "
     "understood, too), and the address in it is the client's. Only behind a proxy that sends "
     "it: a client that sends its own can pretend to be any."},
  {.name = "proxy-out", GATE(proxy_out), WORD(proxy_words, "no|v2"),
   .group = "PROXY protocol and TLS", .preset = "no", .help = "the server gets a PROXY header",
   .manual = "`v2`: the server gets a header of the PROXY protocol, version 2, first."},
  {.name = "tls", GATE(tls), WORD(tls_words, "off|server|pass"), .group = "PROXY protocol and TLS",
   .preset = "off", .help = "TLS towards clients",
   .manual =
     "`server`: voltgate is the TLS server for clients, by `tls-cert` and `tls-key`; what it "
     "sends to the server is in the clear, unless `server-tls` says otherwise. `pass`: with `protocol = postgres`, clients and server "
     "speak TLS end to end; voltgate cannot see transactions then, so that such a connection "
     "holds a permit for its life. `off`: a PostgreSQL client that asks is answered no."},
  {.name = "tls-cert", GATE(tls_cert), .kind = OPTION_FILE, .argument = "FILE",
   .group = "PROXY protocol and TLS", .help = "the certificate and its chain, PEM",
   .manual = "With `tls = server`: the certificate and its chain, PEM. A reload reads it again."},
  {.name = "tls-key", GATE(tls_key), .kind = OPTION_FILE, .argument = "FILE",
   .group = "PROXY protocol and TLS", .help = "its private key, PEM",
   .manual = "With `tls = server`: the certificate's private key, PEM. A reload reads it again."},
  {.name = "tls-min", GATE(tls_min), WORD(tls_min_words, "1.2|1.3"),
   .group = "PROXY protocol and TLS", .preset = "1.2", .help = "the oldest version of TLS",
   .manual = "With `tls = server`: the oldest version that a client may speak."},
  {.name = "tls-required", GATE(tls_required), YES_NO, .group = "PROXY protocol and TLS",
   .preset = "no", .help = "postgres: refuse clients that do not ask for TLS",
   .manual =
     "With `tls = server` and `protocol = postgres`: whether clients that do not ask for TLS are "
     "refused. In the other modes TLS is always required."},
  {.name = "server-tls", GATE(server_tls), WORD(server_tls_words, "MODE"),
   .group = "PROXY protocol and TLS",
   .preset_words = "off, unless others ask",
   .help = "to the server: off, require, verify-ca, verify-full",
   .manual =
     "TLS towards the server. `verify-full`: its certificate has to lead to a root of `server-ca`, and to "
     "be for `server-name`. `verify-ca`: its name does not count. `require`: nothing is checked, so that "
     "a machine in between can pretend to be the server. `off`: in the clear. If it is not given, it is `verify-full` as "
     "soon as one of `server-ca`, `server-cert`, `server-name` and `server-tls-negotiation` is, and else "
     "`off`. A server whose certificate fails is one that is away: clients are refused with the reason, and "
     "the breaker counts it."},
  {.name = "server-ca", GATE(server_ca), .kind = OPTION_FILE, .argument = "FILE",
   .group = "PROXY protocol and TLS", .help = "roots for the server's certificate, PEM",
   .manual =
     "With `server-tls = verify-ca` or `verify-full`: the roots that are trusted, PEM. If it is not given: "
     "those of the system. A reload reads it again."},
  {.name = "server-cert", GATE(server_cert), .kind = OPTION_FILE, .argument = "FILE",
   .group = "PROXY protocol and TLS", .help = "voltgate's own certificate for the server, PEM",
   .manual =
     "The certificate, and its chain, that voltgate shows to the server if that asks for one; with "
     "`server-key`. It is the same for all clients. A reload reads it again."},
  {.name = "server-key", GATE(server_key), .kind = OPTION_FILE, .argument = "FILE",
   .group = "PROXY protocol and TLS", .help = "the private key of server-cert, PEM",
   .manual = "The private key of `server-cert`, PEM. A reload reads it again."},
  {.name = "server-name", GATE(server_name), .kind = OPTION_TEXT, .argument = "NAME",
   .group = "PROXY protocol and TLS", .preset_words = "the host of to",
   .help = "the name that the server's certificate is for",
   .manual =
     "The name that the server is asked for (SNI), and that its certificate is checked for; or an "
     "address. It is needed where `to` is a unix socket."},
  {.name = "server-tls-negotiation", GATE(server_tls_direct),
   WORD(server_tls_negotiation_words, "postgres|direct"), .group = "PROXY protocol and TLS",
   .preset = "postgres", .help = "postgres: SSLRequest first, or TLS at once",
   .manual =
     "With `protocol = postgres`: `postgres`: voltgate asks by SSLRequest first; `direct`: TLS begins at "
     "once, with ALPN `postgresql`, as PostgreSQL 17 can."},

  {.name = "config", PROCESS(config), .kind = OPTION_FILE, .argument = "FILE",
   .group = "The process", .help = "read gates and options from an INI file",
   .manual =
     "Read gates and options from this file. Options of the command line go before those of the "
     "file; options of a gate are of the gate `main`, which is in the file or is made by them."},
  {.name = "workers", PROCESS(workers), NUMBER(1, VOLT_RT_WORKERS_MAX), .group = "The process",
   .preset_words = "one for each CPU that it may use", .needs_restart = true, .help = "threads",
   .manual = "Threads that serve clients."},
  {.name = "io", PROCESS(io), WORD(io_words, "auto|epoll|uring"), .group = "The process",
   .preset = "epoll", .needs_restart = true, .help = "the interface for I/O",
   .manual =
     "The kernel's interface for I/O: `epoll`, `uring` (io_uring; voltgate does not start where "
     "it is not allowed), or `auto` (with one worker io_uring where it is allowed, else epoll)."},
  {.name = "metrics", PROCESS(metrics), .kind = OPTION_ADMIN, .argument = "ADDRESS",
   .group = "The process", .preset_words = "none", .needs_restart = true,
   .help = "the admin side: page, /status, /metrics; :9090 is 127.0.0.1:9090",
   .manual =
     "Where the admin side listens: the page, `/status`, `/queue`, `/holders`, `/metrics`, `/health`. `:9090` "
     "means `127.0.0.1:9090`; any other address has to be written out; `unix:PATH` works, too. "
     "Every client that can reach it can look; changes need the token."},
  {.name = "token-file", PROCESS(token_file), .kind = OPTION_FILE, .argument = "FILE",
   .group = "The process", .help = "its first line is the token that allows changes",
   .manual =
     "The file whose first line is the token that allows changes by the admin side. Only "
     "its owner may read it (mode 0600). Without it, the variable `VOLTGATE_TOKEN` of the "
     "environment is the token; without both, nothing can be changed. There is no option that "
     "takes the token itself, because others could see it in the list of processes."},
  {.name = "user", PROCESS(user), .kind = OPTION_TEXT, .argument = "NAME", .group = "The process",
   .needs_restart = true, .help = "become this user when the listeners are open",
   .manual =
     "Become this user, a name or a number, when listeners are open. Not needed where systemd starts "
     "voltgate as a user of its own."},
  {.name = "group", PROCESS(group), .kind = OPTION_TEXT, .argument = "NAME",
   .group = "The process", .preset_words = "the user's", .needs_restart = true,
   .help = "become this group", .manual = "Become this group, and leave all others."},
  {.name = "sandbox", PROCESS(sandbox), WORD(sandbox_words, "no|yes|require"),
   .group = "The process", .preset = "no", .needs_restart = true,
   .help = "give up rights by seccomp and Landlock",
   .manual =
     "Give up what is not needed any more, by seccomp and Landlock. `yes`: as far as the kernel "
     "has them; the log says what is missing. `require`: do not start without them."},
  {.name = "nofile", PROCESS(nofile), NUMBER(64, 1048576), .group = "The process",
   .preset_words = "the hard limit", .needs_restart = true, .help = "descriptors that may be open",
   .manual =
     "The limit of open descriptors. In the mode `tcp` a client that holds a permit needs two, "
     "one that waits needs one; with `postgres` and `redis` each client needs two."},
  {.name = "stall", PROCESS(stall_ns), TIME, .group = "The process", .preset = "100ms",
   .needs_restart = true, .help = "the log says when a worker stands still for so long; 0: never",
   .manual =
     "The log says when a worker has been in one step of one task for so long: which task, where in "
     "the source, and whether it computes or blocks. Every ten seconds voltgate looks for tasks "
     "that nothing can wake, too. 0: neither. A signal `SIGUSR2` writes all that waits to the log."},
  {.name = "end-unused", PROCESS(end_unused_ns), TIME, .group = "The process", .preset = "0",
   .preset_words = "0: never", .help = "end when there was no client for so long",
   .manual =
     "End, as by `SIGTERM`, when no gate has had a client for so long. For gates that are started when they are asked, "
     "as by a socket of systemd. `0`: never."},
  {.name = "sight", PROCESS(sight), .kind = OPTION_SOCKET, .argument = "PATH",
   .group = "The process", .needs_restart = true, .help = "let volt-top look at the tasks here",
   .manual =
     "A unix socket (mode 0600) at which `volt-top`, of the same user or of root, shows workers, "
     "tasks and what they wait for. It can change nothing. Its directory has to be writable for the "
     "user that voltgate becomes."},
  {.name = "handover", PROCESS(handover), .kind = OPTION_SOCKET, .argument = "PATH",
   .group = "The process", .needs_restart = true,
   .help = "let a later process take the listeners over here",
   .manual =
     "A unix socket (mode 0600) at which a later voltgate, of the same user or of root, takes the "
     "listeners over, so that a restart refuses no connection. Its directory has to be writable "
     "for the user that voltgate becomes."},
  {.name = "take-over", PROCESS(take_over), .kind = OPTION_SOCKET, .argument = "PATH",
   .group = "The process", .needs_restart = true,
   .help = "take the listeners over from the process there",
   .manual =
     "Take the listeners over from the voltgate that serves this path; it accepts no more then, and "
     "ends when its clients have finished. Until then both share each gate's limit; with a cluster "
     "each leases its own permits. If there is none, open them as always."},

  {.name = "cluster", PROCESS(cluster), .kind = OPTION_SERVERS, .group = "A cluster",
   .argument = "SERVERS", .needs_restart = true,
   .help = "one limit for several gates: ZooKeeper's servers, as zk1:2181,zk2:2181",
   .manual =
     "The servers of a ZooKeeper ensemble, behind commas: `zk1:2181,zk2:2181,zk3:2181`. With it the "
     "limit of each gate holds over all gates of all processes that use the same ensemble and the "
     "same `cluster-name`: no more than that many clients use the server at once. Each gate leases "
     "a part of the permits and gives back what it does not need. The ensemble keeps the limit: "
     "`limit` is what a gate writes there if it is the first; afterwards the ensemble's holds, and "
     "`voltgate limit` changes it for all gates. A limit of a tenant is one for all gates, too."},
  {.name = "cluster-name", GATE(cluster_name), .kind = OPTION_TEXT, .group = "A cluster",
   .argument = "NAME", .preset_words = "the gate's name", .needs_restart = true,
   .help = "gates of the same name share one limit",
   .manual =
     "Gates of different processes with the same name share one limit. 1 to 100 letters, digits, "
     "`_`, `.` and `-`, without a dot at the beginning."},
  {.name = "cluster-away", GATE(cluster_away), WORD(cluster_away_words, "keep|share|closed"),
   .group = "A cluster", .preset = "closed",
   .help = "while the ensemble is away: keep what was leased, a share, nothing",
   .manual =
     "What a gate does from the moment that its leases are not valid any more, about half a session "
     "after it has heard the ensemble last. `closed`: it admits no client; those that wait stay in "
     "the queue until their deadline. `keep`: it goes on with as many permits as it had leased; when "
     "its session has ended, others may lease them, so that the limit may be exceeded by as many. "
     "`share`: it goes on with the limit divided by the gates that were last seen, if it had leased "
     "as many; so gates that are all cut off are within the limit together, and it is exceeded by "
     "this share at most if only one is. In all three, clients that have a permit keep it until they "
     "release it, and a gate that has not reached the ensemble yet admits no client."},
  {.name = "cluster-root", PROCESS(cluster_root), .kind = OPTION_FILE, .group = "A cluster",
   .argument = "PATH", .preset = "/volt", .needs_restart = true,
   .help = "the node under which all is kept",
   .manual = "The node of the ensemble under which all is kept. It is made if it is missing."},
  {.name = "cluster-session", PROCESS(cluster_session_ns), TIME_FROM(100 * MS),
   .group = "A cluster", .preset = "10s", .needs_restart = true,
   .help = "after so long without a word, others get a dead gate's permits",
   .manual =
     "The session's time: when the ensemble has not heard a process for so long, others get what it "
     "had leased. The ensemble allows 2 to 20 of its ticks, and takes the nearest. From `100ms`."},
  {.name = "cluster-auth-file", PROCESS(cluster_auth_file), .kind = OPTION_FILE,
   .group = "A cluster", .argument = "FILE", .needs_restart = true,
   .help = "its first line: digest:USER:PASSWORD",
   .manual =
     "The file whose first line is this process's name and secret at the ensemble: "
     "`digest:USER:PASSWORD`. "
     "Only its owner may read it (mode 0600). ZooKeeper's connection is in the clear."},
  {.name = "cluster-acl", PROCESS(cluster_acl), WORD(cluster_acl_words, "open|creator"),
   .group = "A cluster", .preset_words = "creator, if there is an auth file",
   .needs_restart = true, .help = "which programs may change its nodes",
   .manual =
     "Which programs may read and change the nodes that this process makes. `open`: all that reach "
     "the ensemble. `creator`: only processes with the same `cluster-auth-file`."},
  {.name = "cluster-host", PROCESS(cluster_host), .kind = OPTION_TEXT, .group = "A cluster",
   .argument = "NAME", .preset_words = "the machine's name", .needs_restart = true,
   .help = "this process's name at the ensemble, for people",
   .manual = "What stands at the ensemble beside a leased permit, for people that look there."},
  {.name = "cluster-era", PROCESS(cluster_era), NUMBER(0, 1000000000), .group = "A cluster",
   .preset = "0", .needs_restart = true, .help = "raise it when the ensemble was made anew",
   .manual =
     "To be raised by one when the ensemble was replaced by a new, empty one, or by an older copy: "
     "until then gates that have seen the former one lease nothing from it. 0: as the ensemble "
     "says."},

  {.name = "log", PROCESS(log.path), .kind = OPTION_OUTPUT, .argument = "FILE|-|none",
   .group = "Logs", .preset = "-", .help = "where the log goes; -: standard error",
   .manual = "Where the log goes to: a file, `-` (standard error), or `none`."},
  {.name = "log-format", PROCESS(log.format), WORD(format_words, "text|json"), .group = "Logs",
   .preset = "text", .help = "the form of the log", .manual = "The form of the log: text, or JSON lines."},
  {.name = "log-level", PROCESS(log.level), WORD(level_words, "LEVEL"), .group = "Logs",
   .preset = "info", .help = "error, warn, info, debug",
   .manual = "What is logged: `error`, `warn`, `info` or `debug`, each with those before it."},
  {.name = "access-log", PROCESS(access.path), .kind = OPTION_OUTPUT, .argument = "FILE|-|none",
   .group = "Logs", .preset = "none", .help = "one line for each connection that has ended",
   .manual =
     "Where to write one line for each connection that has ended: a file, `-` (standard error), or "
     "`none`."},
  {.name = "access-format", PROCESS(access.format), WORD(format_words, "text|json"),
   .group = "Logs", .preset = "text", .help = "the form of the access log",
   .manual = "The form of the access log: text (logfmt), or JSON lines with the same keys."},

  {.name = "limit", TENANT(limit), NUMBER(0, 1000000), .group = "A tenant's section",
   .preset = "0", .help = "permits of this tenant; 0: the gate's limit only",
   .manual = "How many permits this tenant may hold. 0: as many as the gate has."},
  {.name = "weight", TENANT(weight), NUMBER(1, 1000), .group = "A tenant's section",
   .preset = "1", .help = "grants in a row, when it is next: its share",
   .manual =
     "How many grants in a row this tenant gets: 2 beside 1 is twice the share, while both wait."},
  {.name = "cost", TENANT(cost), NUMBER(1, 1000000), .group = "A tenant's section",
   .preset = "1", .help = "permits that each of its clients takes",
   .manual = "How many permits each client of this tenant takes at once."},

  {.name = "kinds", TENANT(kinds), .kind = OPTION_AMOUNTS, .group = "A tenant's section",
   .argument = "AMOUNTS", .preset_words = "the gate's limits only",
   .help = "permit: how much this tenant may hold, as cores=2",
   .manual =
     "With `protocol = permit`: how much of these kinds this tenant may hold. A request takes what it "
     "asks for of its tenant's first, in the order of arrival, and then the gate's."},

  {.name = "admin", CLIENT(admin), .kind = OPTION_ADMIN, .argument = "ADDRESS",
   .group = "Commands that ask", .preset = "127.0.0.1:9090",
   .help = "where the running voltgate has its admin side",
   .manual = "The address that `--metrics` of the running voltgate has."},
  {.name = "token-file", CLIENT(token_file), .kind = OPTION_FILE, .argument = "FILE",
   .group = "Commands that ask", .help = "the token that allows changes",
   .manual =
     "The file whose first line is the token; or `VOLTGATE_TOKEN` in the environment. `limit`, "
     "`reload` and `drain` need it."},
  {.name = "interval", CLIENT(interval_ns), TIME_FROM(100 * MS), .group = "Commands that ask",
   .preset = "1s", .help = "top: how often it asks",
   .manual = "`top`: how often it asks. From `100ms`."},
  {.name = "once", CLIENT(is_once), .kind = OPTION_FLAG, .group = "Commands that ask",
   .help = "top: print once, and end", .manual = "`top`: print once, and end."},
  {.name = "each", CLIENT(is_each), .kind = OPTION_FLAG, .group = "Commands that ask",
   .help = "dump: every task by itself, with the stacks of fibers",
   .manual = "`dump`: every task by itself, with the stacks of fibers."},

  {.name = "take", UNDER(take), .kind = OPTION_TEXT, .argument = "AMOUNTS",
   .group = "run COMMAND", .preset = "cores=1", .help = "what it needs, as cores=2,memory=4G",
   .manual =
     "What the command needs, of the kinds that the gate has, as `cores=2,memory=4G`. It gets all of it, or "
     "waits and holds nothing."},
  {.name = "gate", UNDER(gate), .kind = OPTION_TEXT, .argument = "SOCKET", .group = "run COMMAND",
   .preset_words = "this user's", .help = "a gate with protocol = permit: a path, or unix:@NAME, HOST:PORT",
   .manual =
     "Which gate to ask: the path of a socket, `unix:@NAME` or `HOST:PORT`. Without it: what "
     "`VOLTGATE_PERMITS` says, else `voltgate/permits.sock` below `XDG_RUNTIME_DIR`, else "
     "`/run/voltgate/permits.sock`."},
  {.name = "or-fail", UNDER(is_now), .kind = OPTION_FLAG, .group = "run COMMAND",
   .help = "do not wait: exit code 124 if it is not free",
   .manual = "Do not wait: if what it needs is not free at once, end with exit code 124."},
  {.name = "wait", UNDER(wait_ns), TIME, .group = "run COMMAND", .preset = "0",
   .preset_words = "0: for ever", .help = "how long it may wait; then exit code 124",
   .manual =
     "How long the command may wait for what it needs; then it ends with exit code 124. `0`: for as long "
     "as that takes."},
  {.name = "keep", UNDER(keeps), .kind = OPTION_FLAG, .group = "run COMMAND",
   .help = "what the command leaves behind keeps the permit",
   .manual =
     "The command inherits the connection, and is executed in place of voltgate. So the permit goes back "
     "when the last process that has inherited it has ended, as a daemon that the command has left "
     "behind. Nothing asks for the permit again if the gate ends meanwhile."},
  {.name = "jobs", UNDER(has_jobs), .kind = OPTION_FLAG, .group = "run COMMAND",
   .help = "the command is make: each further job takes a permit, too",
   .manual =
     "The command is GNU make, or what speaks its jobserver's protocol: it begins with one permit, and gets a "
     "token for each further one that the gate grants, as long as it takes them; tokens that it does not use go back. So "
     "several makes share what the gate has. A `-j` without a number is left out, because make would begin a jobserver "
     "of its own; do not give it one with a number. Not with `--keep`."},
  {.name = "label", UNDER(label), .kind = OPTION_TEXT, .argument = "TEXT", .group = "run COMMAND",
   .help = "what the gate shows beside the command",
   .manual = "What the gate shows beside the command, in its list and its page; at most 128 bytes."},
};
/* clang-format on */

size_t options_count(void) {
  _Static_assert(sizeof options_table / sizeof *options_table <= OPTIONS_MOST, "too many options");
  return sizeof options_table / sizeof *options_table;
}

/* ---- names ---- */

const struct option *options_find(const char *name, unsigned owners) {
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if ((o->owner & owners) != 0 && strcmp(o->name, name) == 0) return o;
  }
  return NULL;
}

enum { NAME_MOST = 40 };

/* How many letters have to be changed, added, left out or swapped with their neighbour. */
static unsigned options_distance(const char *one, const char *other) {
  size_t m = strlen(one), n = strlen(other);
  unsigned row[3][NAME_MOST + 1];
  for (size_t j = 0; j <= n; j++) row[0][j] = (unsigned)j;
  for (size_t i = 1; i <= m; i++) {
    unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    now[0] = (unsigned)i;
    for (size_t j = 1; j <= n; j++) {
      unsigned best = last[j - 1] + (one[i - 1] != other[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool is_swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (is_swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[m % 3][n];
}

const char *options_nearest(const char *name, unsigned owners) {
  const char *nearest = NULL;
  size_t length = strlen(name);
  if (length < 2 || length > NAME_MOST) return NULL;
  unsigned best = length <= 4 ? 2 : length <= 8 ? 3 : 4;
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if ((o->owner & owners) == 0) continue;
    unsigned d = options_distance(name, o->name);
    if (d >= 2 && strncmp(o->name, name, length) == 0) d = 1; /* its beginning */
    if (d < best) {
      best = d;
      nearest = o->name;
    }
  }
  return nearest;
}
