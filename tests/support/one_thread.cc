// Linked into all unit tests, in front of the C library: a test may start a thread only if the list THREADS of its
// program contains its source. The build with the thread sanitizer has the tests of these sources only.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

extern const char kSourcesWithThreads[];  // e.g. " a_test.cc b_test.cc "

namespace {

std::string SourceOfTest() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const testing::TestSuite* suite = testing::UnitTest::GetInstance()->current_test_suite();
  if (test == nullptr && suite != nullptr) test = suite->GetTestInfo(0);
  const std::string source = test == nullptr ? "" : test->file();
  return source.substr(source.rfind('/') + 1);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
  const std::string source = SourceOfTest();
  if (std::string(kSourcesWithThreads).find(" " + source + " ") == std::string::npos) {
    const std::string why = source + " starts a thread: name it in THREADS of its program, in CMakeLists.txt\n";
    if (write(STDERR_FILENO, why.data(), why.size()) < 0) std::_Exit(1);
    std::abort();
  }
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, run, argument);
}
