// Prints the cgroups of this machine, e.g. "limits v1 unified", so that tests/lanes/tasks.sh knows which tests may be
// skipped.
#include <cstdio>

#include "tests/support/cgroup_look.h"

int main() {
  const tony::CgroupLook look = tony::LookForCgroups();
  std::printf("%s%s %s\n", look.limits.empty() ? "" : "limits ", look.limits.c_str(), look.unified ? "unified" : "");
  return 0;
}
