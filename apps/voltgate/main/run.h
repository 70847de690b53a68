/* run.h: a voltgate that serves: its start (start.c), and its main thread (serve.c). */
#ifndef VOLTGATE_MAIN_RUN_H
#define VOLTGATE_MAIN_RUN_H

#include "gate/certificates.h"
#include "program/program.h"

/* Run until it has been drained. argv[0] is no option. Returns the exit code. */
int start_program(int argc, char *const *argv);

/* Read the certificates and keys of a gate, or print what is wrong with them. Returns whether *out has them; else
 * it is empty. */
bool connect_read_certificates(struct certificates *out, const struct gate_settings *settings);

/* Read the certificates of each gate, connect to its server, by TLS if the gate says so, and print what comes of
 * it. Returns whether all is fine. It blocks, connect-timeout for each step at most. */
bool connect_to_servers(const struct settings *settings);

/* Block the signals that the main thread waits for; ignore SIGPIPE. Before there are threads. */
int serve_block_signals(void);

/* Serve until it has been drained. The main thread. */
int serve_program(struct program *p);

#endif
