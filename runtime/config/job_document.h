// A job document as it is read: JSON or YAML, strictly, as what two readers could understand differently is refused.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/names.h"
#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"

namespace tony {

struct DocumentNode {
  enum class Kind { kNull, kBool, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                 // of a number or boolean: as JSON writes it
  std::vector<std::string> names;   // of an object: each item's
  std::vector<DocumentNode> items;  // of an array or object, in the order of the text
};
constexpr auto NamesOf(DocumentNode::Kind) {
  return EnumNames("null", "true or false", "a number", "a text", "a list", "an object");
}

inline constexpr size_t kMostDocumentDepth = 8;        // a job document has 5
inline constexpr size_t kMostDocumentValues = 20'000;  // a hundred times what jobs have

// kInvalid with "name:line" for what is no JSON, a member that is there twice, bytes that are not UTF-8, and for what
// is nested deeper or has more values than any job.
Result<DocumentNode> ParseDocumentJson(std::string_view text, const std::string& name);

// The same of YAML 1.2, with aliases. Refused besides: what YAML 1.1 reads otherwise (yes, 010, 1:30, 2026-01-31; in
// quotes they are texts), merge keys, tags but !!str, and a second document.
Result<DocumentNode> ParseDocumentYaml(std::string_view text, const std::string& name);

// A name or value from outside, for a message: in quotes, on one line, cut.
std::string InQuotes(std::string_view text, size_t longest = 60);

// The members of a job document (job_document.h) that say one thing each, and what they set.

// The members of the object at `path`, "" of the whole document. Those named `read_elsewhere` are known and left alone.
// `conf` is behind all others of the result's conf.
Result<SubmitFlags> ReadMembers(const DocumentNode& object, const std::string& path,
                                std::span<const std::string_view> read_elsewhere);

// NAME: value, without those that are null.
Result<std::vector<std::pair<std::string, std::string>>> ReadPairs(const DocumentNode& object, const std::string& path);

// The job document: one object with all that a job is made of. A program hands it over as JSON (`tony submit -`); a file
// is JSON or, FILE.yaml or FILE.yml, YAML. Each of its values becomes one of the keys of keys.cc or one of the
// submit flags; it has no meaning of its own. Its members, all optional, null meaning not given:
//   properties  the text of a job file or, beginning with <, of a tony.xml; or an object KEY: value, like a job file
//   spec        an object with the members below: the base of everything
//   name framework queue executes task_params src_dir python_venv python_binary_path
//   secrets: an object NAME: value, variables of the tasks that are written nowhere else
//   tags resources: lists · env conf: objects NAME: value · tasks: ROLE -> { instances, memory, ... }
// Precedence, low to high: defaults < spec < properties < the administrator's tony-site.xml < the other members (conf
// highest of them) < the flags of the command line. An origin is the member's path: "tasks.worker.memory",
// "spec.tasks.worker.memory", "conf"; of `properties` with its line, "properties:3".

struct JobDocument {
  Properties base;   // of `spec`: what becomes of it whatever the others say
  SubmitFlags spec;  // the rest: options of one command may have several ranks, and roles are known when all is
  Properties properties;
  bool has_step_properties = false;  // `properties` are a job file's, not a tony.xml's
  SubmitFlags members;
  std::map<std::string, std::string> secrets;
};

// kInvalid names `name` and the line, or the member and what was expected. No message holds a variable's or a key's
// value.
enum class DocumentFormat { kJson, kYaml };
Result<JobDocument> ReadJobDocument(std::string_view text, const std::string& name,
                                    DocumentFormat format = DocumentFormat::kJson);

// NAME: value of the tasks' secrets, one JSON object. kInvalid as above.
Result<std::map<std::string, std::string>> ReadSecrets(std::string_view text, const std::string& name);

// What holds of the command line's flags, the document's members, what its properties say beside tony.* (`step`) and
// its spec. `files`: all of the rank of a file.
SubmitFlags FlagsWithDocument(SubmitFlags flags, JobDocument document, SubmitFlags step, const Properties& files);

}  // namespace tony
