#include "runtime/config/job_document.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/document_members.h"
#include "runtime/config/document_node.h"

namespace tony {
namespace {

// By what a text is, as it has no file's name.
Status ReadPropertiesText(const std::string& text, JobDocument& document) {
  std::string_view start = text;
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  document.has_step_properties = !Trim(start).starts_with('<');
  const auto parse = document.has_step_properties ? ParseJavaProperties : ParseRawHadoopXml;
  TRY_ASSIGN(document.properties, parse(text, "properties"));
  return Ok();
}

Status ReadProperties(const DocumentNode& node, JobDocument& document) {
  if (node.kind == DocumentNode::Kind::kText) return ReadPropertiesText(node.text, document);
  if (node.kind != DocumentNode::Kind::kObject) {
    return Error{ErrorCode::kInvalid,
                 StrCat("properties: expected a text or an object KEY: value, not ", ToString(node.kind))};
  }
  document.has_step_properties = true;
  TRY_ASSIGN(const auto pairs, ReadPairs(node, "properties"));
  for (const auto& [key, value] : pairs) document.properties.Set(key, value, "properties");
  return Ok();
}

void YieldToAll(const std::vector<SubmitFlags::Setting>& higher, SubmitFlags& lower) {
  for (const SubmitFlags::Setting& setting : higher) YieldTo(setting.key, lower);
}

Result<std::map<std::string, std::string>> SecretsOf(const DocumentNode& node, const std::string& path) {
  TRY_ASSIGN(const auto pairs, ReadPairs(node, path));
  return std::map<std::string, std::string>(pairs.begin(), pairs.end());
}

Status ReadDocument(const DocumentNode& root, JobDocument& document) {
  constexpr std::string_view kLayers[] = {"properties", "secrets", "spec"};
  TRY_ASSIGN(document.members, ReadMembers(root, "", kLayers));
  YieldToAll(document.members.conf, document.members);
  for (size_t i = 0; i < root.names.size(); ++i) {
    const DocumentNode& member = root.items[i];
    if (member.kind == DocumentNode::Kind::kNull) continue;
    if (root.names[i] == "properties") TRY(ReadProperties(member, document));
    if (root.names[i] == "secrets") {
      TRY_ASSIGN(document.secrets, SecretsOf(member, "secrets"));
    }
    if (root.names[i] == "spec") {
      TRY_ASSIGN(document.spec, ReadMembers(member, "spec", {}));
    }
  }
  YieldToAll(document.spec.conf, document.spec);
  ApplySettings(document.spec, document.base);
  document.spec.conf.clear();
  document.spec.shell_env.clear();
  return Ok();
}

}  // namespace

Result<JobDocument> ReadJobDocument(std::string_view text, const std::string& name, DocumentFormat format) {
  const auto parse = format == DocumentFormat::kYaml ? ParseDocumentYaml : ParseDocumentJson;
  TRY_ASSIGN(const DocumentNode root, parse(text, name));
  if (root.kind != DocumentNode::Kind::kObject)
    return Error{ErrorCode::kInvalid, StrCat(name, ": expected an object, not ", ToString(root.kind))};
  JobDocument document;
  if (const Status read = ReadDocument(root, document); !read.ok()) return Annotate(read.error(), name);
  return document;
}

Result<std::map<std::string, std::string>> ReadSecrets(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const DocumentNode root, ParseDocumentJson(text, name));
  return SecretsOf(root, name);
}

SubmitFlags FlagsWithDocument(SubmitFlags flags, JobDocument document, SubmitFlags step, const Properties& files) {
  for (const auto& [key, property] : files.all()) YieldTo(key, document.spec);
  YieldToAll(step.conf, document.spec);
  for (const auto* higher : {&document.members.conf, &flags.conf}) {
    YieldToAll(*higher, document.spec);
    YieldToAll(*higher, step);
  }
  YieldToAll(flags.conf, document.members);
  step = WithDefaults(std::move(step), document.spec);
  return WithDefaults(std::move(flags), WithDefaults(std::move(document.members), step));
}

}  // namespace tony
