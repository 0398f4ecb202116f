#include "azkaban-plugin/step_properties.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/client/machine_check.h"
#include "runtime/client/spec_input.h"
#include "runtime/config/azkaban_tags.h"

namespace tony::azkaban {
namespace {

Result<std::string> Required(const Properties& properties, std::string_view key) {
  std::string value = StepText(properties, key);
  if (!value.empty()) return value;
  return Error{ErrorCode::kInvalid, StrCat(key,
                                           ": missing from the step's properties; Azkaban sets it, so this is "
                                           "to be run by Azkaban, or with the property set by hand")};
}

// As one part of an address, whatever it holds.
std::string Encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += kPlain.find(c) == kPlain.npos ? StrCat("%", kDigits[byte / 16], kDigits[byte % 16]) : std::string(1, c);
  }
  return out;
}

std::string ThisMachine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// Executions are numbered by the web server, which servers before 4.0 do not name.
std::string HostOf(const Properties& properties) {
  const std::string host = AzkabanHost(properties);
  return host.empty() ? ThisMachine() : host;
}

// A step of an embedded flow has a path, "sub:train".
Result<RequestId> RequestOf(const Properties& properties) {
  TRY_ASSIGN(const std::string execution, Required(properties, "azkaban.flow.execid"));
  TRY_ASSIGN(const std::string flow, Required(properties, "azkaban.flow.flowid"));
  std::string path = StepText(properties, "azkaban.flow.nested.path");
  if (path.empty()) path = StepText(properties, "azkaban.job.id");
  // Azkaban 2 says it only so.
  if (const char* name = std::getenv("JOB_NAME"); path.empty() && name) path = name;
  if (path.empty()) {
    TRY_ASSIGN(path, Required(properties, "azkaban.job.id"));
  }
  std::string id = StrCat("azkaban://", Encoded(HostOf(properties)), "/", Encoded(execution), "/", Encoded(flow));
  for (const std::string& part : Split(path, ':')) id += StrCat("/", Encoded(part));
  return RequestId{id};
}

}  // namespace

Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory) {
  std::error_code error;
  const auto type = std::filesystem::status(property_file, error).type();
  // A pipe that nobody writes to would keep the step for ever.
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular)
    return Error{ErrorCode::kInvalid, StrCat("JOB_PROP_FILE ", property_file.string(), ": not a file")};
  const SubmitOptions options = {.spec_file = property_file.string(), .spec_name = "the step's properties"};
  TRY_ASSIGN(const Properties properties, LoadProperties(options, directory));
  Step step;
  TRY_ASSIGN(step.request, RequestOf(properties));
  step.attachment = StepText(properties, "azkaban.job.attachment.file");
  TRY_ASSIGN(step.job, CheckedJobSpec(properties, directory));
  return step;
}

}  // namespace tony::azkaban
