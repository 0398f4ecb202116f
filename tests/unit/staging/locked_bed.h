// A test bed for environments from lock files: a store, and a folder on PATH for fake programs.
#pragma once

#include <cstdlib>
#include <string>

#include "runtime/base/strings.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {

class LockedTest : public StagingTest {
 protected:
  LockedTest() { setenv("PATH", StrCat(tools_.string(), ":/usr/bin:/bin").c_str(), 1); }
  ~LockedTest() override { setenv("PATH", path_.c_str(), 1); }

  void Program(const std::string& name, const std::string& text) const {
    Write(tools_ / name, text);
    std::filesystem::permissions(tools_ / name, std::filesystem::perms(0755));
  }
  JobSpec JobWith(const std::string& lock) const {
    JobSpec spec = Job();
    spec.python_venv = (src_ / lock).string();
    spec.roles[0].command = "venv/bin/python3 train.py";
    return spec;
  }
  fs_path Made(const std::string& lock) { return Staged(JobWith(lock)); }
  Error RefusedOf(const std::string& lock, const std::string& text) {
    Write(src_ / lock, text);
    return Refused(JobWith(lock));
  }

  const fs_path tools_ = temp_.path() / "tools";
  const std::string path_ = std::getenv("PATH");
};

}  // namespace tony
