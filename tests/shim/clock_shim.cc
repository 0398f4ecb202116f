// An LD_PRELOAD library that makes the clocks of one program wrong, as after a person has set the machine's clock or
// the machine has slept. The machine's own clocks do not change. README.md lists the variables.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

// Returns the file with the clocks' errors; null in every program except the chosen one.
const char* FileOfClocks() {
  static const char* const file = [] {
    const char* const program = getenv("CLOCK_SHIM_PROGRAM");
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    const char* const name = strrchr(path, '/');
    const bool meant = program != nullptr && name != nullptr && strcmp(name + 1, program) == 0;
    return meant ? static_cast<const char*>(getenv("CLOCK_SHIM_FILE")) : nullptr;
  }();
  return file;
}

// Returns the seconds that the file adds to the clock. The file has two numbers, for the wall clock and the boot clock.
// Without the file nothing is added.
long AddedTo(clockid_t clock) {
  const char* const file = FileOfClocks();
  const int fd = file != nullptr ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return 0;
  char text[64] = "";
  (void)!read(fd, text, sizeof text - 1);
  close(fd);
  long wall = 0, boot = 0;
  sscanf(text, "%ld %ld", &wall, &boot);
  return clock == CLOCK_REALTIME ? wall : boot;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)) time->tv_sec += AddedTo(clock);
  return static_cast<int>(result);
}

// The Kerberos library reads the clock with these two.
extern "C" int gettimeofday(struct timeval* time, void*) noexcept {
  struct timespec now = {};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

extern "C" time_t time(time_t* time) noexcept {
  struct timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}
