// Whether cgroups can be made on this machine: what decides if tests of cgroups are skipped. Looks at the kernel's
// mount table and tries it, and knows nothing of the code under test: where that finds no cgroup and this does, a test
// fails.
#pragma once

#include <string>

namespace tony {

struct CgroupLook {
  std::string limits;    // where cgroups with a memory limit can be made: "v1" or "v2"; empty: nowhere
  bool unified = false;  // cgroups of v2 can be made, with limits or without
};
CgroupLook LookForCgroups();

}  // namespace tony
