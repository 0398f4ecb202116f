// Linked into tests that are declared ONE_THREAD (tests/CMakeLists.txt): goes before the C library's.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept {
  constexpr std::string_view kWhy = "this test is declared ONE_THREAD, and starts a thread\n";
  if (write(STDERR_FILENO, kWhy.data(), kWhy.size()) < 0) std::_Exit(1);
  std::abort();
}
