/*
 * Does the same as Azkaban's program of this name, which is in no published artifact: it is setuid root, only the
 * executor server may run it, and it runs a command as a user. Azkaban also calls it as root, to give files to that
 * user.
 *
 *   execute-as-user USER COMMAND [ARGUMENT...]
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kNotChanged = 10, kNoUser = 20, kUsage = 30 };

static int fail(int code, const char* what, const char* name) {
  fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
  return code;
}

int main(int argc, char** argv) {
  const struct passwd* user;
  if (argc < 3) {
    fprintf(stderr, "usage: execute-as-user USER COMMAND [ARGUMENT...]\n");
    return kUsage;
  }
  user = getpwnam(argv[1]);
  if (user == NULL) return fail(kNoUser, "no user", argv[1]);
  printf("Changing user: user: %s, uid: %d, gid: %d\n", argv[1], (int)user->pw_uid, (int)user->pw_gid);
  if (initgroups(argv[1], user->pw_gid) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)
    return fail(kNotChanged, "cannot become", argv[1]);
  printf("user command starting from: %s\n", argv[2]);
  fflush(stdout);
  execvp(argv[2], argv + 2);
  return fail(1, "cannot run", argv[2]);
}
