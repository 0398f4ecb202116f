// A disk that fails. Between construction and Repair() the n-th operation on files below one folder fails, alone or
// with all later operations. Operations are those of tests/support/file_front.h except close. Successful syncs do not
// sync, because they would take most of the time; tests/power tests power cuts.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/result.h"

namespace tony {

struct DiskFault {
  // The number of the first failing operation, counted from 1 over all operations that can fail with `error`.
  int nth = 1;
  // EIO and EINTR: any operation fails. ENOSPC: operations that need space fail, and a failing write still writes half.
  // EMFILE: opens fail. EROFS: operations that change something fail.
  int error = 0;
  bool stays = true;  // false: only one operation fails
};

// At most one FaultyDisk exists. It is made and destroyed while no other thread uses files.
class FaultyDisk {
 public:
  // Operations are counted from now on; if `is_sound`, from Break() on.
  FaultyDisk(const std::filesystem::path& folder, const DiskFault& fault, bool is_sound = false);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;

  void Break();
  void Repair();           // From now on no operation fails.
  bool HasFailed() const;  // True if an operation has failed.
  // Returns the name of the operation that failed first.
  std::string failed() const;
  // Returns a text for people, e.g. "EIO at operation 4, rename of .../record.json, once".
  std::string point() const;

 private:
  class Hook;
  std::unique_ptr<Hook> hook_;
};

template <class T>
Status StatusOf(const Result<T>& result) {
  return result.ok() ? Ok() : Status(result.error());
}

// A call to test on such a disk.
struct FailingCall {
  // Makes the initial state on a sound disk.
  std::function<void(const std::filesystem::path&)> prepare;
  std::function<Status(const std::filesystem::path&)> call;
  // Checks the result on a sound disk. `done`: the call reported success. A call that failed may still have done its
  // work, or none of it.
  std::function<void(const std::filesystem::path&, bool done)> look = [](const std::filesystem::path&, bool) {};
  // Errors name a path below the folder.
  bool names_the_file = true;
  // The call reports each failing operation except access, after which it does more.
  bool tells_every_fault = false;
};

// Runs the call in a new folder for each fault: for every n and each error, once and permanently. Each time it expects
// that an error names a path below the folder, that a failed sync is reported, that the call leaks no descriptor, and
// that the call succeeds after the repair. After a fault that happened once it expects no additional file with a
// leading dot, except if the failed operation was the removal. It calls `look` after the fault and after the success.
void TryEveryFault(const FailingCall& failing);

}  // namespace tony
