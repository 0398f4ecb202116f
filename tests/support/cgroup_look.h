// Checks whether cgroups can be made on this machine; if not, tests of cgroups are skipped. It reads the kernel's mount
// table and tries to make a cgroup, and uses none of the code under test: if that code finds no cgroup and this one
// does, a test fails.
#pragma once

#include <string>

namespace tony {

struct CgroupLook {
  // The version of the cgroups that can be made with a memory limit: "v1" or "v2"; empty if none can be made.
  std::string limits;
  // True if cgroups of v2 can be made, with limits or without.
  bool unified = false;
};
CgroupLook LookForCgroups();

}  // namespace tony
