#include "runtime/records/staged_files.h"

#include <boost/json.hpp>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace json = boost::json;

std::string_view ToString(StagedEntry::Form form) {
  switch (form) {
    case StagedEntry::Form::kLink:
      return "link";
    case StagedEntry::Form::kContents:
      return "contents";
    case StagedEntry::Form::kCopy:
      return "copy";
  }
  return "";
}

std::optional<StagedEntry::Form> FormFromString(std::string_view text) {
  for (const auto form : {StagedEntry::Form::kLink, StagedEntry::Form::kContents, StagedEntry::Form::kCopy}) {
    if (text == ToString(form)) return form;
  }
  return std::nullopt;
}

json::array ToArray(const std::vector<StagedEntry>& entries) {
  json::array array;
  for (const StagedEntry& entry : entries)
    array.push_back(json::object{{"name", entry.name}, {"path", entry.path.string()}, {"form", ToString(entry.form)}});
  return array;
}

Result<std::vector<StagedEntry>> ReadEntries(JsonReader& fields, std::string_view name) {
  std::vector<StagedEntry> entries;
  for (JsonReader& item : fields.List(name)) {
    StagedEntry entry{.name = item.String("name"), .path = item.String("path")};
    const auto form = FormFromString(item.String("form"));
    if (!form) item.Fail("form", "link, contents or copy");
    TRY(item.status());
    entry.form = *form;
    entries.push_back(std::move(entry));
  }
  TRY(fields.status());
  return entries;
}

}  // namespace

std::string KeyOf(const RemoteFile& file) {
  const std::string what =
      StrCat(file.path, '\0', file.size, '\0', ToMillis(file.modified), '\0', file.is_packed ? "packed" : "");
  return Sha256Hex(what) + "-remote";
}

std::string ToJson(const StagedFiles& files) {
  json::array roles;
  for (const auto& [role, entries] : files.roles)
    roles.push_back(json::object{{"role", role}, {"entries", ToArray(entries)}});
  return SerializeJson(
      json::object{{"schema", 1}, {"job", ToArray(files.job)}, {"roles", roles}, {"am", ToArray(files.am)}});
}

Result<StagedFiles> StagedFilesFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "manifest of staged files"));
  JsonReader fields(document);
  fields.Int("schema", 1, 1);
  TRY(fields.status());
  StagedFiles files;
  TRY_ASSIGN(files.job, ReadEntries(fields, "job"));
  TRY_ASSIGN(files.am, ReadEntries(fields, "am"));
  for (JsonReader& role : fields.List("roles")) {
    const std::string name = role.String("role");
    TRY_ASSIGN(files.roles[name], ReadEntries(role, "entries"));
  }
  TRY(fields.status());
  return files;
}

}  // namespace tony
