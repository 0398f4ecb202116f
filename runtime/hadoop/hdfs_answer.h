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

// Returns true if this exception means that the NameNode is in standby, an observer, or still starting. It has not
// executed the call.
bool IsStandbyException(std::string_view exception);

// A call of WebHDFS that only the active NameNode answers. It asks for a token, and changes nothing, because NameNodes
// give tokens only to owners of Kerberos tickets. Observers answer calls that only read, but minutes behind, so a
// client of several NameNodes makes this call before it believes an answer.
inline constexpr char kActiveOperation[] = "GETDELEGATIONTOKEN";

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
