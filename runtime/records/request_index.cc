#include "runtime/records/request_index.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kLongestId = 4096;

}  // namespace

Status RequestIndex::CheckId(const RequestId& request) {
  if (request.value.empty()) return Error{ErrorCode::kUsage, "request id: is empty"};
  if (request.value.size() > kLongestId)
    return Error{ErrorCode::kUsage,
                 StrCat("request id: has ", request.value.size(), " bytes, at most ", kLongestId, " are possible")};
  if (request.value.find('\0') != std::string::npos) return Error{ErrorCode::kUsage, "request id: has a NUL byte"};
  return Ok();
}

}  // namespace tony
