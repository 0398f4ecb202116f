// libFuzzer has main() and calls these functions. With --seeds=FOLDER the program only writes the seeds there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.h"
#include "tests/support/places.h"

namespace tony::fuzz {

namespace fs = std::filesystem;

std::vector<std::string> FilesOf(const std::string& folder, std::string_view ending) {
  std::vector<std::string> contents;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(SourceFolder()) / folder)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(ending)) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  std::sort(contents.begin(), contents.end());  // equal order on each machine
  return contents;
}

namespace {

void WriteSeeds(const fs::path& folder) {
  fs::create_directories(folder);
  int number = 0;
  for (const std::string& seed : Seeds()) {
    Read(seed);
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
  }
}

}  // namespace
}  // namespace tony::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kSeeds = "--seeds=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (!word.starts_with(kSeeds)) continue;
    tony::fuzz::WriteSeeds(word.substr(kSeeds.size()));
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tony::fuzz::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}
