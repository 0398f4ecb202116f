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
// {"schema":1,"request_id":...,"newest_submission":...,"job":...,"submission":...,"adopter":...,"before":{"job",
// "submission","adopter"},"written":...}. Of id and adopter, which are any bytes, each that is no printable ASCII
// character, and each
// '%', is three: "%0A".
std::string ToJson(const KeptRequest& kept);
Result<KeptRequest> KeptRequestFromJson(std::string_view text);

std::string RevocationToJson(Instant until);
Result<Instant> RevocationFromJson(std::string_view text);

}  // namespace tony
