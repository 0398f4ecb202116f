// The text forms of what RequestIndex keeps.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/submit_course.h"

namespace tony {

struct KeptRequest {
  RequestId id;
  RequestRecord record;
  Instant written{};  // by the writer's clock; the epoch: not told
};
// In the texts of ids, adopters and runs, which are any bytes, each byte that is no printable ASCII character, and each
// '%', is three characters: "%0A".
std::string ToJson(const KeptRequest& kept);
Result<KeptRequest> KeptRequestFromJson(std::string_view text);

std::string RevocationToJson(Instant until);
Result<Instant> RevocationFromJson(std::string_view text);

}  // namespace tony
