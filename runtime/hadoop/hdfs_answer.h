// Refusals and listings, which both protocols of HDFS have.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/hdfs.h"

namespace tony::hadoop {

// A refusal by a NameNode, a DataNode, or a gateway in front of them.
struct HdfsRefusal {
  int status = 0;         // HTTP status; 0: by RPC
  std::string exception;  // e.g. "SafeModeException"; empty: not Hadoop's answer
  std::string message;    // first line of the message

  // Returns true if the refusal means that the file or attribute already exists.
  bool IsAlreadyThere() const;
  // Returns true if the refusal means that the token has ended, or that the NameNode does not know it.
  bool IsOfToken() const;
  // Converts the refusal to an error. `subject` has the form "CREATE /a/b". `writes` is true for an operation that
  // writes.
  Error ToError(std::string_view subject, bool writes) const;
};

struct HdfsListing {
  std::vector<HdfsEntry> entries;
  int64_t remaining = 0;
};

// Requests the entries behind the name `after`, which is empty at first.
using AskListing = std::function<Hdfs::Handle(const std::string& after, Hdfs::Done<Result<HdfsListing>> done)>;
// Lists a folder: requests the entries after the last received one until none remain.
[[nodiscard]] Hdfs::Handle ListAll(const std::string& path, AskListing ask,
                                   Hdfs::Done<Result<std::vector<HdfsEntry>>> done);

}  // namespace tony::hadoop
