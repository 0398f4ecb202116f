// An LD_PRELOAD library that makes the system's resolver hang at one name, as behind a name server that does not
// answer. README.md lists the variables.
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Longer than any caller may wait.
constexpr unsigned kHangsSeconds = 120;

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const char* const hangs = getenv("NAMES_SHIM_HANGS");
  if (host != nullptr && hangs != nullptr && strcmp(host, hangs) == 0) {
    sleep(kHangsSeconds);
    return EAI_AGAIN;
  }
  using Resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto resolve = reinterpret_cast<Resolve>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return resolve(host, service, hints, found);
}
