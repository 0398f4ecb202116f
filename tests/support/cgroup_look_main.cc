// Tells scripts/lane.sh which tests of cgroups may be skipped on this machine: "limits v1 unified".
#include <cstdio>

#include "tests/support/cgroup_look.h"

int main() {
  const tony::CgroupLook look = tony::LookForCgroups();
  std::printf("%s%s %s\n", look.limits.empty() ? "" : "limits ", look.limits.c_str(), look.unified ? "unified" : "");
  return 0;
}
