// A disk that fails. From its making to Repair() the n-th operation on files below one folder fails, once or with all
// that come after it. Operations are those of tests/support/file_front.h, but close. Syncs that do not fail are left
// out: they take most of the time, and power cuts are tests/power's.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/result.h"

namespace tony {

struct DiskFault {
  int nth = 1;    // of the operations that may fail so, counted from 1
  int error = 0;  // EIO, EINTR: any; ENOSPC: what needs room, and of a write one half is written; EMFILE: what opens;
                  // EROFS: what changes something
  bool stays = true;  // else once
};

// One at a time; made and destroyed while no other thread uses files.
class FaultyDisk {
 public:
  // Operations are counted from now on, or from Break() on where the disk is sound at first.
  FaultyDisk(const std::filesystem::path& folder, const DiskFault& fault, bool is_sound = false);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;

  void Break();
  void Repair();               // no operation fails any more
  bool HasFailed() const;      // there were as many operations
  std::string failed() const;  // the name of the operation that failed first
  std::string point() const;   // for people: "EIO at operation 4, rename of .../record.json, once"

 private:
  class Hook;
  std::unique_ptr<Hook> hook_;
};

template <class T>
Status StatusOf(const Result<T>& result) {
  return result.ok() ? Ok() : Status(result.error());
}

// A call that is tried on such a disk.
struct FailingCall {
  std::function<void(const std::filesystem::path&)> prepare;  // makes what is there before, on a sound disk
  std::function<Status(const std::filesystem::path&)> call;
  // Reads what is there, on a sound disk. `done`: the call said so. If not, it may be done all the same, or not at all.
  std::function<void(const std::filesystem::path&, bool done)> look = [](const std::filesystem::path&, bool) {};
  bool names_the_file = true;      // an error does
  bool tells_every_fault = false;  // but that of an access: it does more then
};

// Does the call on a new folder for each fault: for every n, each error, once and for good. Each time it expects that
// an error names a path below the folder, that a sync that failed is told, that the call leaks no descriptor, and that
// it succeeds on the disk when that is sound again. After a fault that came once it expects no file with a leading dot
// that is not there without a fault, unless it was the removal that failed. It looks after the fault and after the
// success.
void TryEveryFault(const FailingCall& failing);

}  // namespace tony
