/* privileges.c: the process's limits, and the rights that it gives up for good.
 *
 * The order matters: groups before the group, the group before the user, because after the user
 * there is no right left to change the others. setresuid() of a root to another user drops the
 * capabilities; what a capability by file or an ambient one leaves is cleared, too. */
#define _GNU_SOURCE
#include "process/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/base.h>

#include "common/options.h"

uint64_t privileges_raise_descriptors(uint64_t wanted) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlim_t target = wanted > 0 ? (rlim_t)wanted : limit.rlim_max;
  struct rlimit raised = {.rlim_cur = target,
                          .rlim_max = target > limit.rlim_max ? target : limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (target < limit.rlim_max) raised.rlim_cur = target;
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0) return (uint64_t)limit.rlim_cur;
  }
  return (uint64_t)raised.rlim_cur;
}

static int privileges_failed(char *words, size_t room, const char *what, int e) {
  snprintf(words, room, "%s: %s", what, strerror(e));
  return VOLT_ERRNO(e);
}

/* A number of decimal digits, or -1. (uid_t)-1 is no user. */
static long long privileges_read_id(const char *name) {
  uint64_t id;
  return number_read(name, 0, UINT32_MAX - 1, &id) ? (long long)id : -1;
}

struct identity {
  uid_t user;
  gid_t group;
};

static int privileges_find(const char *user, const char *group, struct identity *out, char *words,
                           size_t room) {
  const struct passwd *found_user = NULL;
  const struct group *found_group = NULL;
  *out = (struct identity){.user = getuid(), .group = getgid()};
  if (user != NULL) {
    long long id = privileges_read_id(user);
    found_user = id >= 0 ? getpwuid((uid_t)id) : getpwnam(user);
    if (found_user == NULL && id < 0) return privileges_failed(words, room, user, ENOENT);
    out->user = found_user != NULL ? found_user->pw_uid : (uid_t)id;
    if (found_user != NULL) {
      out->group = found_user->pw_gid;
    } else if (group == NULL) {
      return privileges_failed(words, room, "a user without a name needs a group", EINVAL);
    }
  }
  if (group == NULL) return VOLT_OK;
  long long id = privileges_read_id(group);
  if (id < 0 && (found_group = getgrnam(group)) == NULL)
    return privileges_failed(words, room, group, ENOENT);
  out->group = found_group != NULL ? found_group->gr_gid : (gid_t)id;
  return VOLT_OK;
}

/* Whether the process has that identity, and the old one cannot be had back. */
static bool privileges_is_identity(const struct identity *id) {
  uid_t user, effective_user, saved_user;
  gid_t group, effective_group, saved_group;
  if (getresuid(&user, &effective_user, &saved_user) != 0 ||
      getresgid(&group, &effective_group, &saved_group) != 0)
    return false;
  if (user != id->user || effective_user != id->user || saved_user != id->user) return false;
  if (group != id->group || effective_group != id->group || saved_group != id->group) return false;
  return id->user == 0 || (setuid(0) != 0 && seteuid(0) != 0);
}

static int privileges_become(const struct identity *id, char *words, size_t room) {
  if (setgroups(0, NULL) != 0) {
    const char *what = geteuid() == 0 ? "setgroups" : "only root may become another user or group";
    return privileges_failed(words, room, what, errno);
  }
  if (setresgid(id->group, id->group, id->group) != 0)
    return privileges_failed(words, room, "setresgid", errno);
  if (setresuid(id->user, id->user, id->user) != 0)
    return privileges_failed(words, room, "setresuid", errno);
  if (!privileges_is_identity(id))
    return privileges_failed(words, room, "the old identity is not gone", EPERM);
  return VOLT_OK;
}

/* Clears all capabilities of the calling thread, so that no later call can use one. */
static int privileges_drop_capabilities(char *words, size_t room) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (syscall(SYS_capset, &header, none) != 0)
    return privileges_failed(words, room, "capset", errno);
  return VOLT_OK;
}

int privileges_give_socket(const char *path, const char *user, const char *group, char *words,
                           size_t room) {
  struct identity id;
  struct stat about;
  int result = privileges_find(user, group, &id, words, room);
  if (result != VOLT_OK || (user == NULL && group == NULL)) return result;
  int fd =
      open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); /* another file of that name is left alone */
  if (fd < 0) return privileges_failed(words, room, path, errno);
  if (fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    result = privileges_failed(words, room, path, ENOTSOCK);
  } else if (fchownat(fd, "", id.user, id.group, AT_EMPTY_PATH) != 0) {
    result = privileges_failed(words, room, path, errno);
  }
  close(fd);
  return result;
}

int privileges_drop(const char *user, const char *group, char *words, size_t room) {
  struct identity id;
  int result = privileges_find(user, group, &id, words, room);
  if (result == VOLT_OK && (user != NULL || group != NULL))
    result = privileges_become(&id, words, room);
  if (result == VOLT_OK && user != NULL && id.user != 0)
    result = privileges_drop_capabilities(words, room);
  if (result != VOLT_OK) return result;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return privileges_failed(words, room, "PR_SET_NO_NEW_PRIVS", errno);
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return privileges_failed(words, room, "PR_SET_DUMPABLE", errno);
  return VOLT_OK;
}
