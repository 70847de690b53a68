/* listener.c: an address that a gate listens at. */
#define _GNU_SOURCE /* asprintf */
#include "program/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/systemd.h"

static char *listener_words(const char *gate, const char *text, const char *why) {
  char *words = NULL;
  if (asprintf(&words, "gate %s: cannot listen on %s: %s", gate, text, why) < 0) return strdup(why);
  return words;
}

static int listener_find_inherited(const char *gate, const char *text, struct inheritance *from) {
  for (size_t i = 0; from && i < from->count; i++) {
    struct inherited *one = &from->sockets[i];
    bool is_there = strcmp(one->text, text) == 0 || strcmp(one->address, text) == 0;
    if (one->number < 0 || !is_there || strcmp(one->gate, gate) != 0) continue;
    int number = one->number;
    one->number = -1;
    return number;
  }
  return -1;
}

static const char *listener_is_wrong(int number) {
  int listens = 0, type = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return "it is no socket";
  size = sizeof type;
  (void)getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size);
  return listens && type == SOCK_STREAM ? NULL : "it is no stream socket that listens";
}

/* Note where it listens. */
static void listener_note(struct listener *l, const char *text) {
  struct sockaddr_storage raw;
  socklen_t size = sizeof raw;
  volt_address at;
  if (getsockname(l->number, (struct sockaddr *)&raw, &size) == 0 &&
      volt_address_set(&at, (struct sockaddr *)&raw, size) == VOLT_OK) {
    (void)volt_address_text(&at, l->address);
  } else {
    snprintf(l->address, sizeof l->address, "%s", text);
  }
  bool has_path = strncmp(text, "unix:", 5) == 0 && text[5] != '@';
  if (has_path) l->path = strdup(text + 5);
}

static const char *listener_bind(struct listener *l, volt_rt *rt, const char *text) {
  volt_address at;
  volt_fd fd = {0};
  int result = volt_address_parse(&at, text);
  if (result == VOLT_OK) result = volt_listen(&fd, rt, &at, 0, VOLT_LISTEN_REPLACE_UNIX);
  if (result == VOLT_OK) l->number = volt_fd_detach(&fd);
  if (result == VOLT_ERRNO(EACCES) && volt_address_port(&at) > 0) {
    return "Permission denied: this port is for root, or for CAP_NET_BIND_SERVICE";
  }
  return result == VOLT_OK ? NULL : volt_strerror(result);
}

static const char *listener_take_named(struct listener *l, const char *name,
                                       struct inheritance *from) {
  struct systemd_listeners *systemd = from ? from->systemd : NULL;
  l->number = systemd ? systemd_listener(systemd, name) : -1;
  if (l->number < 0) return "no socket of that name was passed (LISTEN_FDNAMES)";
  const char *why = listener_is_wrong(l->number);
  if (!why) return NULL;
  close(l->number);
  l->number = -1;
  return why;
}

char *listener_open(struct listener *l, volt_rt *rt, const char *gate, const char *text,
                    struct inheritance *from) {
  const char *why = NULL;
  *l = (struct listener){.number = listener_find_inherited(gate, text, from)};
  l->is_lent = l->number >= 0; /* until this process accepts there */
  if (l->number < 0) {
    bool is_named = strncmp(text, "fd:", 3) == 0;
    why = is_named ? listener_take_named(l, text + 3, from) : listener_bind(l, rt, text);
  }
  if (why) return listener_words(gate, text, why);
  l->text = strdup(text);
  listener_note(l, text);
  if (l->text) return NULL;
  listener_close(l);
  return listener_words(gate, text, "there is no memory");
}

void listener_close(struct listener *l) {
  if (l->number >= 0 && !l->is_accepting) close(l->number);
  l->number = -1;
  if (l->path && !l->is_lent) unlink(l->path);
  free(l->path);
  free(l->text);
  l->path = l->text = NULL;
}
