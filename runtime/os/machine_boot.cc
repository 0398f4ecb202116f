#include "runtime/os/machine_boot.h"

#include <unistd.h>

#include <ctime>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string BootId() {
  const auto id = ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(Trim(*id)) : "";
}

Instant BootTime(Instant now) {
  timespec up{};
  clock_gettime(CLOCK_BOOTTIME, &up);  // sleep of the machine included
  return now -
         std::chrono::duration_cast<Duration>(std::chrono::seconds(up.tv_sec) + std::chrono::nanoseconds(up.tv_nsec));
}

}  // namespace tony
