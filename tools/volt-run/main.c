/* main.c: volt-run: a program with all its locks watched. It becomes that program; a report is made by another
 * volt-run, which the library begins in it (watch/snapshot.c). */
#define _GNU_SOURCE /* mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "common/options.h"
#include "refuse.h"
#include "report.h"
#include "report_orders.h"

enum {
  EXIT_CANNOT_WATCH = 126,
  EXIT_NO_PROGRAM = 127,
  TOP = 10,
  TOP_MAX = 100000,
  BYPASS_MOST = 255
};

struct options {
  const char *output, *json, *html, *on_deadlock, *orders;
  unsigned top;
  unsigned bypass; /* of volt's locks */
  bool serves;     /* they do the work */
  bool children;
  uint64_t attach;    /* a process, of which a report is made from outside; 0: none */
  const char *render; /* a descriptor's number: this process makes a report of it */
  char **program;
};

static const char usage[] =
    "usage: volt-run [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       volt-run [--output FILE] [--json FILE] [--html FILE] [--top N] --attach-report PID\n"
    "\n"
    "Runs the program, and watches who holds its mutexes, read-write locks and semaphores, and who "
    "waits for\n"
    "them: deadlocks are reported as they happen; at the end, and at SIGUSR2, what was waited "
    "for.\n"
    "\n"
    "  -o, --output FILE      append reports to this file instead of standard error\n"
    "      --json FILE        append each report as a line of JSON\n"
    "      --html FILE        write each report as a page for a browser, in place of the last one\n"
    "      --top N            so many locks in a report (10)\n"
    "      --on-deadlock WHAT report (go on), abort (end by SIGABRT), core (the same, with a "
    "core); report\n"
    "      --orders WHAT      report (orders in which locks were taken that could deadlock), off; "
    "report\n"
    "      --children         programs that it starts report at their end, too\n"
    "      --fair             volt's locks in place of glibc's: first come, first served\n"
    "      --bypass K         the same, but K callers (0 to 255) may pass the oldest that waits\n"
    "      --attach-report PID  make a report of a program that runs under volt-run, and print it: "
    "the\n"
    "                     program does not help, and may hang; FILE may be -\n"
    "  -h, --help\n";

static bool options_check(const struct options *o) {
  static const char *const ways[] = {"report", "abort", "core"};
  bool is_way = false;
  for (int i = 0; i < 3; i++) is_way = is_way || strcmp(o->on_deadlock, ways[i]) == 0;
  if (!is_way) {
    fprintf(stderr, "volt-run: --on-deadlock is report, abort or core, not %s\n", o->on_deadlock);
    return false;
  }
  if (strcmp(o->orders, "report") == 0 || strcmp(o->orders, "off") == 0) return true;
  fprintf(stderr, "volt-run: --orders is report or off, not %s\n", o->orders);
  return false;
}

/* bypass: as text. */
static bool options_serve(struct options *o, const char *bypass) {
  if (o->serves) {
    fputs("volt-run: --fair and --bypass exclude each other\n", stderr);
    return false;
  }
  o->serves = true;
  return option_unsigned("bypass", bypass, 0, BYPASS_MOST, &o->bypass);
}

static enum options_result options_read(struct options *o, int argc, char **argv) {
  enum {
    JSON = 256,
    HTML,
    TOP_OPTION,
    ON_DEADLOCK,
    ORDERS,
    CHILDREN,
    FAIR,
    BYPASS,
    ATTACH,
    RENDER
  };
  static const struct option known[] = {{"output", required_argument, NULL, 'o'},
                                        {"json", required_argument, NULL, JSON},
                                        {"html", required_argument, NULL, HTML},
                                        {"top", required_argument, NULL, TOP_OPTION},
                                        {"on-deadlock", required_argument, NULL, ON_DEADLOCK},
                                        {"orders", required_argument, NULL, ORDERS},
                                        {"children", no_argument, NULL, CHILDREN},
                                        {"fair", no_argument, NULL, FAIR},
                                        {"bypass", required_argument, NULL, BYPASS},
                                        {"attach-report", required_argument, NULL, ATTACH},
                                        {"render", required_argument, NULL, RENDER},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};
  for (int option; (option = getopt_long(argc, argv, "+o:h", known, NULL)) != -1;) {
    switch (option) {
      case 'o': o->output = optarg; break;
      case JSON: o->json = optarg; break;
      case HTML: o->html = optarg; break;
      case TOP_OPTION:
        if (!option_unsigned("top", optarg, 1, TOP_MAX, &o->top)) return OPTIONS_WRONG;
        break;
      case ON_DEADLOCK: o->on_deadlock = optarg; break;
      case ORDERS: o->orders = optarg; break;
      case CHILDREN: o->children = true; break;
      case FAIR:
        if (!options_serve(o, "0")) return OPTIONS_WRONG;
        break;
      case BYPASS:
        if (!options_serve(o, optarg)) return OPTIONS_WRONG;
        break;
      case ATTACH:
        if (!option_number("attach-report", optarg, 1, INT_MAX, &o->attach)) return OPTIONS_WRONG;
        break;
      case RENDER: o->render = optarg; break;
      case 'h': fputs(usage, stdout); return OPTIONS_HELP_SHOWN;
      default: return OPTIONS_WRONG;
    }
  }
  o->program = argv + optind;
  bool has_program = *o->program != NULL;
  if (!o->render && has_program == (o->attach != 0)) {
    fputs(usage, stderr);
    return OPTIONS_WRONG;
  }
  return options_check(o) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* ---- a report ---- */

/* By one write, so that reports of several threads stand one behind the other. */
static bool render_put(int file, const char *text, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(file, text + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool render_to(const char *path, int flags, const char *text, size_t size) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  bool is_done = file >= 0 && render_put(file, text, size);
  if (!is_done) fprintf(stderr, "volt-run: %s: %s\n", path, strerror(errno));
  if (file >= 0) close(file);
  return is_done;
}

static bool render_write(const char *path, const char *text, size_t size) {
  if (!path) return render_put(STDERR_FILENO, text, size);
  if (strcmp(path, "-") == 0) return render_put(STDOUT_FILENO, text, size);
  return render_to(path, O_APPEND, text, size);
}

/* As open() would have made it. */
static mode_t render_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* A browser finds the last page or this one, never a part of it; but where no file can be made beside it, it is written
 * in place, and so is what is no plain file. */
static bool render_replace(const char *path, const char *text, size_t size) {
  char real[PATH_MAX], other[PATH_MAX];
  struct stat is;
  if (strcmp(path, "-") == 0) return render_write(path, text, size);
  if (stat(path, &is) == 0 && !S_ISREG(is.st_mode)) return render_write(path, text, size);
  if (realpath(path, real)) path = real; /* a link stays one */
  bool has_room = snprintf(other, sizeof other, "%s.XXXXXX", path) < (int)sizeof other;
  int file = has_room ? mkostemp(other, O_CLOEXEC) : -1;
  if (file < 0) return render_to(path, O_TRUNC, text, size);
  bool is_done = render_put(file, text, size) && fchmod(file, render_mode()) == 0;
  close(file);
  is_done = is_done && rename(other, path) == 0;
  if (is_done) return true;
  fprintf(stderr, "volt-run: %s: %s\n", path, strerror(errno));
  (void)unlink(other);
  return false;
}

static bool render_as(void (*print)(const struct report *r, FILE *to), const struct report *r,
                      const char *path, bool (*write_to)(const char *, const char *, size_t)) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (memory) print(r, memory);
  bool is_done = memory && fclose(memory) == 0 && write_to(path, text, size);
  free(text);
  return is_done;
}

/* At the end of a program in which no thread has waited, and none could for ever, nothing is said. */
static bool render_has_news(const struct report *r) {
  if (r->s->why != SNAPSHOT_AT_END || r->s->detail_count || r->s->unwatched) return true;
  struct orders *found = orders_search(r);
  bool has_news = found && found->count > 0;
  free(found);
  return has_news;
}

static int render_of(const struct options *o, int file, const char *text_to) {
  struct report r;
  if (!report_open(&r, file, o->top)) return EXIT_FAILURE;
  bool has_news = render_has_news(&r);
  bool is_done = !has_news || !o->json || render_as(report_json, &r, o->json, render_write);
  if (has_news && o->html) is_done = render_as(report_html, &r, o->html, render_replace) && is_done;
  if (has_news && (o->output || (!o->json && !o->html)))
    is_done = render_as(report_text, &r, text_to, render_write) && is_done;
  report_close(&r);
  return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int render(const struct options *o) {
  uint64_t file;
  if (!option_number("render", o->render, 0, INT_MAX, &file)) return EXIT_FAILURE;
  return render_of(o, (int)file, o->output);
}

/* From outside; by default to standard output. */
static int attach(const struct options *o) {
  int file = attach_copy((pid_t)o->attach);
  return file < 0 ? EXIT_FAILURE : render_of(o, file, o->output ? o->output : "-");
}

/* ---- the program ---- */

/* Beside this program, where it was built; or where it was installed. */
static bool find_library(char *to, size_t size, const char *self) {
  const char *slash = strrchr(self, '/');
  int parent = slash ? (int)(slash - self) : 0;
  snprintf(to, size, "%.*s/libvolt-pthread.so", parent, self);
  if (access(to, R_OK) == 0) return true;
  snprintf(to, size, "%.*s/" VOLT_RUN_LIBRARY, parent, self);
  return access(to, R_OK) == 0;
}

/* As execvp() finds it. Returns false: there is none. */
static bool find_program(char *to, size_t size, const char *name) {
  const char *path = getenv("PATH");
  if (strchr(name, '/') || !path) return snprintf(to, size, "%s", name) < (int)size;
  for (const char *at = path;;) {
    size_t length = strcspn(at, ":");
    snprintf(to, size, "%.*s%s%s", (int)length, at, length ? "/" : "", name);
    if (access(to, X_OK) == 0) return true;
    if (at[length] == '\0') return false;
    at += length + 1;
  }
}

/* The program may change its directory, or be in another one by then. */
static bool set_path(const char *name, const char *path) {
  char whole[PATH_MAX];
  if (!path) return unsetenv(name) == 0;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || !realpath(path, whole)) {
    fprintf(stderr, "volt-run: %s: %s\n", path, strerror(errno));
    return false;
  }
  close(file);
  return setenv(name, whole, 1) == 0;
}

static bool set_serving(const struct options *o) {
  char number[16];
  snprintf(number, sizeof number, "%u", o->bypass);
  return (o->serves ? setenv("VOLT_RUN_SERVE", number, 1) : unsetenv("VOLT_RUN_SERVE")) == 0;
}

static bool set_environment(const struct options *o, const char *self, const char *library) {
  char preload[2 * PATH_MAX], number[16];
  const char *others = getenv("LD_PRELOAD");
  snprintf(preload, sizeof preload, "%s%s%s", library, others && *others ? ":" : "",
           others ? others : "");
  bool is_done = set_path("VOLT_RUN_OUTPUT", o->output) && set_path("VOLT_RUN_JSON", o->json) &&
                 set_path("VOLT_RUN_HTML", o->html);
  snprintf(number, sizeof number, "%u", o->top);
  is_done = is_done && setenv("VOLT_RUN_TOP", number, 1) == 0;
  snprintf(number, sizeof number, "%d", (int)getpid());
  is_done = is_done && setenv("VOLT_RUN_PID", number, 1) == 0 &&
            setenv("VOLT_RUN_PROGRAM", self, 1) == 0 &&
            setenv("VOLT_RUN_ON_DEADLOCK", o->on_deadlock, 1) == 0 &&
            setenv("VOLT_RUN_ORDERS", o->orders, 1) == 0 && setenv("LD_PRELOAD", preload, 1) == 0;
  return is_done &&
         (o->children ? setenv("VOLT_RUN_CHILDREN", "1", 1) : unsetenv("VOLT_RUN_CHILDREN")) == 0;
}

static int run(const struct options *o) {
  char self[PATH_MAX] = "", library[PATH_MAX], program[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0 || !find_library(library, sizeof library, self)) {
    fprintf(stderr, "volt-run: libvolt-pthread.so is not where it was installed\n");
    return EXIT_CANNOT_WATCH;
  }
  const char *why =
      find_program(program, sizeof program, o->program[0]) ? refuse_why(program) : NULL;
  if (why) {
    fprintf(stderr, "volt-run: %s cannot be watched: %s\n", program, why);
    return EXIT_CANNOT_WATCH;
  }
  if (!set_environment(o, self, library) || !set_serving(o)) return EXIT_CANNOT_WATCH;
  execvp(o->program[0], o->program);
  fprintf(stderr, "volt-run: %s: %s\n", o->program[0], strerror(errno));
  return errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_WATCH;
}

int main(int argc, char **argv) {
  struct options o = {.on_deadlock = "report", .orders = "report", .top = TOP};
  switch (options_read(&o, argc, argv)) {
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
    case OPTIONS_RUN: break;
  }
  if (o.attach) return attach(&o);
  return o.render ? render(&o) : run(&o);
}
