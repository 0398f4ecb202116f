// A private installation for a test, in which some of our programs are replaced by scripts that are slow, hang or fail.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/support/tony_runner.h"

namespace tony {

class Installation {
 public:
  // `scripts` maps a program to the script that /bin/sh runs in its place. The other programs are copies of the built
  // ones.
  Installation(const Sandbox& box, const std::map<std::string, std::string>& scripts)
      : box_(box), bin_(box.folder() / "bin") {
    std::filesystem::create_directory(bin_);
    for (const std::string program : {"tony", "tony-am", "tony-executor", "tony-keeper"}) {
      const auto script = scripts.find(program);
      if (script == scripts.end()) {
        std::filesystem::copy_file(std::filesystem::path(ProgramFolder()) / program, bin_ / program);
        continue;
      }
      std::ofstream(bin_ / program) << "#!/bin/sh\n" << script->second << "\n";
      std::filesystem::permissions(bin_ / program, std::filesystem::perms(0755));
    }
    std::filesystem::remove(box.home() / "programs");  // the store that all tests share
  }

  std::unique_ptr<Background> Start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (bin_ / "tony").string());
    return std::make_unique<Background>(arguments, box_.Environment(), box_.folder());
  }
  Ran Tony(const std::vector<std::string>& arguments) const { return Start(arguments)->Wait(); }

 private:
  const Sandbox& box_;
  const std::filesystem::path bin_;
};

// The last line of such a script: it becomes the built program.
inline std::string BecomeBuilt(const std::string& program) {
  return "exec " + ProgramFolder() + "/" + program + " \"$@\"";
}

}  // namespace tony
