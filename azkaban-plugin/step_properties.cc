#include "azkaban-plugin/step_properties.h"

#include "runtime/base/strings.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/choose_backend.h"
#include "runtime/config/azkaban_tags.h"

namespace tony::azkaban {

Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory) {
  std::error_code error;
  const auto type = std::filesystem::status(property_file, error).type();
  // A pipe that nobody writes to would keep the step for ever.
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular)
    return Error{ErrorCode::kInvalid, StrCat("JOB_PROP_FILE ", property_file.string(), ": not a file")};
  const SubmitOptions options = {.spec_file = property_file.string(), .spec_name = "the step's properties"};
  TRY_ASSIGN(const Properties properties, LoadProperties(options, directory, ReadFromCluster));
  Step step;
  TRY_ASSIGN(step.request, RequestOfStep(properties));
  step.attachment = StepText(properties, "azkaban.job.attachment.file");
  TRY_ASSIGN(step.job, CheckedJobSpec(properties, directory));
  return step;
}

}  // namespace tony::azkaban
