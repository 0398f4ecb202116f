#include "am/replay.h"

#include <utility>

#include "runtime/base/strings.h"

namespace tony::am {

Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions) {
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  Job job(records.job(), std::move(spec));
  for (size_t i = 0; i < decisions.size(); ++i) {
    const auto actions = job.Evolve(decisions[i]);
    if (actions.ok()) continue;
    const std::string where = StrCat(records.PlaceOfJournal(), ": decision ", i + 1, ", ", Name(decisions[i]));
    return Annotate({ErrorCode::kInvalid, actions.error().message}, where);
  }
  return job;
}

}  // namespace tony::am
