/* answer.c: what a request is answered with: what the server has itself, or a file. */
#define _GNU_SOURCE
#include "connection.h"

#define INDEX "index.html"

static void answer(struct connection *self, int status, const struct resource *resource,
                   const char *content) {
  struct session *s = &self->work->session;
  struct response response;
  struct counters *counters = &self->server->counters;
  session_answer(s, status, resource, self->now, &response);
  count(counters, COUNT_BYTES, response.count);
  if (response.count == 0) return;
  if (content != NULL) {
    put_text(&s->out, (struct text){content + response.first, (size_t)response.count});
  } else {
    self->at = response.first;
    self->left = response.count;
  }
}

/* Whether the path is one of those that the server answers itself; then it was answered. */
static bool answer_own(struct connection *self) {
  static const char hello[] = "Hello, world!\n";
  const struct options *options = self->server->options;
  const struct request *r = &self->work->session.request;
  struct resource resource = {.modified = NO_DATE};
  if (r->is_directory) return false;
  if (options->has_hello && strcmp(r->path, "hello") == 0) {
    resource.type = "text/plain; charset=utf-8";
    resource.size = sizeof hello - 1;
    answer(self, 200, &resource, hello);
    return true;
  }
  if (options->has_status && strcmp(r->path, "status") == 0) {
    char *text = self->work->status;
    struct writer to = {text, text + STATUS_MAX, false};
    server_write_status(&to, self->server);
    resource.type = "application/json";
    resource.size = (uint64_t)(to.at - text);
    resource.is_live = true;
    answer(self, 200, &resource, text);
    return true;
  }
  return false;
}

static void answer_file(struct connection *self, struct file *file) {
  answer(self, 200, &file->resource, file->is_in_memory ? file->content : NULL);
  if (self->left > 0) {
    self->file = file; /* until it is sent */
  } else {
    file_release(&self->server->files, file);
  }
}

/* The file that a path means: of a directory, its index. NULL: there can be none. */
static const char *file_path(struct connection *self) {
  const struct request *r = &self->work->session.request;
  char *path = self->work->path;
  if (!r->is_directory) return strlen(r->path) < PATH_LIMIT ? r->path : NULL;
  struct writer to = {path, path + PATH_LIMIT - 1, false};
  put_string(&to, r->path);
  if (to.at > path) PUT(&to, "/");
  PUT(&to, INDEX);
  *to.at = '\0';
  return to.is_cut ? NULL : path;
}

/* Answers without waiting, if that is possible. */
bool answer_at_once(struct connection *self) {
  struct server *server = self->server;
  if (answer_own(self)) return true;
  const char *path = server->has_files ? file_path(self) : NULL;
  if (path == NULL) {
    answer(self, 404, NULL, NULL);
    return true;
  }
  struct file *file = files_try(&server->files, path, self->now_ns);
  if (file == NULL) return false;
  count(&server->counters, COUNT_CACHED, 1);
  answer_file(self, file);
  return true;
}

volt_future *answer_find(struct connection *self) {
  count(&self->server->counters, COUNT_OPENED, 1);
  return find_future(&self->work->find, &self->server->files, file_path(self), self->now,
                     self->now_ns);
}

void answer_found(struct connection *self) {
  struct find *found = &self->work->find;
  int status = found->status;
  connection_look_at_clocks(self);
  if (status == 301 && self->work->session.request.is_directory) status = 404; /* of an index */
  if (status == 200) {
    answer_file(self, found->file);
  } else {
    answer(self, status, NULL, NULL);
  }
}
