#include "azkaban-plugin/step_request.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/config/azkaban_tags.h"

namespace tony::azkaban {
namespace {

constexpr std::string_view kUrl = "azkaban.url";
constexpr std::string_view kProject = "azkaban.flow.projectname";
constexpr std::string_view kProjectNumber = "azkaban.flow.projectid";
constexpr std::string_view kUuid = "azkaban.flow.uuid";
constexpr std::string_view kExecution = "azkaban.flow.execid";

Result<std::string> Required(const Properties& properties, std::string_view key) {
  std::string value = StepText(properties, key);
  if (!value.empty()) return value;
  return Error{ErrorCode::kInvalid, StrCat(key,
                                           ": missing from the step's properties; Azkaban sets it, so this is "
                                           "to be run by Azkaban, or with the property set by hand")};
}

// As one part of an address, whatever it holds.
std::string Encoded(std::string_view text, std::string_view also_plain = "") {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = kPlain.find(c) != kPlain.npos || also_plain.find(c) != also_plain.npos;
    out += is_plain ? std::string(1, c) : StrCat("%", kDigits[byte / 16], kDigits[byte % 16]);
  }
  return out;
}

std::string ThisMachine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string HostPart(const Properties& properties) {
  const std::string address = AzkabanAddress(properties);
  return Encoded(address.empty() ? ThisMachine() : address, ":[]");
}

// A project's name begins with a letter, so its number is no other project's name.
std::string ProjectPart(const Properties& properties) {
  for (const std::string_view key : {kProject, kProjectNumber})
    if (const std::string value = StepText(properties, key); !value.empty()) return Encoded(value);
  return "-";
}

// "/FLOW/JOB"; a step of an embedded flow has a path, "sub:train".
Result<std::string> PlaceInFlow(const Properties& properties) {
  TRY_ASSIGN(const std::string flow, Required(properties, "azkaban.flow.flowid"));
  std::string path = StepText(properties, "azkaban.flow.nested.path");
  if (path.empty()) path = StepText(properties, "azkaban.job.id");
  // Azkaban 2 says it only so.
  if (const char* name = std::getenv("JOB_NAME"); path.empty() && name) path = name;
  if (path.empty()) {
    TRY_ASSIGN(path, Required(properties, "azkaban.job.id"));
  }
  std::string place = StrCat("/", Encoded(flow));
  for (const std::string& part : Split(path, ':')) place += StrCat("/", Encoded(part));
  return place;
}

// What is told neither by this Azkaban nor by its administrator.
std::vector<std::string> Notes(const Properties& properties) {
  if (StepText(properties, kUuid).empty())
    return {StrCat("warning: ", kUuid,
                   " is missing from the step's properties: where another Azkaban or database has the same execution "
                   "number, flow and step, that step takes this job for its own")};
  std::vector<std::string> missing;
  if (AzkabanAddress(properties).empty()) missing.emplace_back(kUrl);
  if (StepText(properties, kProject).empty()) missing.emplace_back(kProject);
  if (missing.empty()) return {};
  return {StrCat("this Azkaban does not tell a step ", Join(missing, " and "),
                 "; that the job is this execution's shows ", kUuid)};
}

}  // namespace

Result<StepRequest> RequestOfStep(const Properties& properties) {
  StepRequest request;
  TRY_ASSIGN(const std::string number, Required(properties, kExecution));
  TRY_ASSIGN(const std::string place, PlaceInFlow(properties));
  const std::string uuid = StepText(properties, kUuid);
  const std::string execution = Encoded(uuid.empty() ? number : uuid);
  request.notes = Notes(properties);
  request.id = {StrCat("azkaban://", HostPart(properties), "/", ProjectPart(properties), "/", execution, place)};
  request.is_first_try = ParseInt(StepText(properties, "azkaban.job.attempt")).value_or(0) <= 0;
  return request;
}

}  // namespace tony::azkaban
