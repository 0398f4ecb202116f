// Fuzzes the answers of a NameNode or of an attacker in its place.
#include "runtime/hadoop/webhdfs_answer.h"

#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

void CheckEntry(const hadoop::HdfsEntry& entry) { CHECK(entry.length >= 0 && entry.permission >= 0); }

}  // namespace

void Read(std::string_view input) {
  if (const auto entry = hadoop::EntryIn(input); entry.ok()) CheckEntry(*entry);
  if (const auto listing = hadoop::ListingIn(input); listing.ok()) {
    for (const hadoop::HdfsEntry& entry : (*listing).entries) CheckEntry(entry);
  }
  if (const auto xattrs = hadoop::XattrsIn(input); xattrs.ok()) {
    for (const auto& [name, value] : *xattrs) CHECK(value.size() <= input.size());
  }
  (void)hadoop::BooleanIn(input).ok();
  (void)hadoop::TextIn(input, "Location").ok();
  const auto refusal = hadoop::RefusalIn({403, {}, std::string(input)});
  CHECK(refusal && !refusal->ToError("x", true).message.empty());
}

std::vector<std::string> Seeds() {
  const std::string entry =
      R"({"group":"g","length":5,"modificationTime":1700000000123,"owner":"eve","pathSuffix":"a","permission":"644","type":"FILE"})";
  return {R"({"boolean":true})",
          R"({"FileStatus":)" + entry + "}",
          R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[)" + entry +
              R"(]}},"remainingEntries":1}})",
          R"({"XAttrs":[{"name":"user.a","value":"0x00ff"},{"name":"user.b","value":null}]})",
          R"({"Location":"http://localhost:9864/webhdfs/v1/a?op=CREATE"})",
          R"({"RemoteException":{"exception":"IOException","javaClassName":"java.io.IOException","message":"a\nb"}})"};
}

}  // namespace tony::fuzz
