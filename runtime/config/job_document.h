// Reads a job document, JSON or YAML. The reader is strict: a text that two readers could understand differently is
// refused.
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
  // The value as text. A number or a boolean has the text that JSON would have.
  std::string text;
  std::vector<std::string> names;  // names of an object's members
  // The values of an array or object, in the order of the text.
  std::vector<DocumentNode> items;
};
constexpr auto NamesOf(DocumentNode::Kind) {
  return EnumNames("null", "true or false", "a number", "a text", "a list", "an object");
}

inline constexpr size_t kMostDocumentDepth = 8;        // a job document has 5 levels
inline constexpr size_t kMostDocumentValues = 20'000;  // about 100 times a usual job

// Parses a JSON text. Returns kInvalid with "name:line" in these cases: the text is not JSON or not UTF-8, a member
// occurs twice, or the nesting or the number of values exceeds the limits above.
Result<DocumentNode> ParseDocumentJson(std::string_view text, const std::string& name,
                                       size_t most_values = kMostDocumentValues);
// Returns the JSON text of a value, without blanks.
std::string ToJson(const DocumentNode& node);

// Parses a text in YAML 1.2, with aliases, and refuses what ParseDocumentJson() refuses. Also refuses texts that YAML
// 1.1 reads in another way (yes, 010, 1:30, 2026-01-31; in quotes they are texts), merge keys, tags except !!str, and a
// second document.
Result<DocumentNode> ParseDocumentYaml(std::string_view text, const std::string& name);

// Returns a name or value from outside in a form for messages: in quotes, on one line, cut to `longest` bytes.
std::string InQuotes(std::string_view text, size_t longest = 60);

// ---- Members of a job document that set one property or one submit flag each

// Reads the members of the object at `path`; "" is the whole document. Members in `read_elsewhere` are known and
// skipped. In the result's `conf`, the settings from the member "conf" stand behind those from all other members.
Result<SubmitFlags> ReadMembers(const DocumentNode& object, const std::string& path,
                                std::span<const std::string_view> read_elsewhere);

// Returns the pairs NAME: value of an object, without the pairs that are null.
Result<std::vector<std::pair<std::string, std::string>>> ReadPairs(const DocumentNode& object, const std::string& path);

// The job document: one object that contains everything about a job. A program passes it as JSON (`tony submit -`). A
// file is JSON or, if its name is FILE.yaml or FILE.yml, YAML. Each value becomes one of the keys of keys.cc or one of
// the submit flags; the document adds no meaning of its own. All members are optional, and null means not given:
//   properties  the text of a job file or, if it begins with <, of a tony.xml; or an object KEY: value, like a job file
//   spec        an object with the members below, which everything else overrides
//   name framework queue executes task_params src_dir python_venv python_binary_path
//   secrets: an object NAME: value, variables of the tasks that are written nowhere else
//   tags resources: lists · env conf: objects NAME: value · tasks: ROLE -> { instances, memory, ... }
// Precedence, low to high: defaults < spec < properties < the administrator's tony-site.xml < the other members (conf
// highest of them) < the flags of the command line. An origin is the member's path: "tasks.worker.memory",
// "spec.tasks.worker.memory", "conf". For `properties` it has the line: "properties:3".

struct JobDocument {
  // The keys that `spec` sets, even if other parts of the document also set them.
  Properties base;
  // The part of `spec` that is not in `base`. MergeDocumentFlags() merges it with the flags of the command line and of
  // the job file, which override it. The result is applied when all keys are set, because the roles are known only
  // then.
  SubmitFlags spec;
  Properties properties;
  // True: `properties` have the form of a job file. False: they have the form of a tony.xml.
  bool has_step_properties = false;
  SubmitFlags members;
  std::map<std::string, std::string> secrets;
};

// Reads a job document. kInvalid names the document (`name`) and the line, or the member and what was expected. A
// message never contains the value of a variable or a key.
enum class DocumentFormat { kJson, kYaml };
Result<JobDocument> ReadJobDocument(std::string_view text, const std::string& name,
                                    DocumentFormat format = DocumentFormat::kJson);

// Reads the secret variables of the tasks: one JSON object NAME: value. The function returns the same errors as
// ReadJobDocument().
Result<std::map<std::string, std::string>> ReadSecrets(std::string_view text, const std::string& name);

// Merges the flags of four sources. If several sources set a flag, the source with the highest precedence counts. From
// high to low precedence, the sources are: the command line (`flags`), the document's members, the document's
// properties except tony.* (`step`), and the document's spec. `files` has all properties with the precedence of a file.
SubmitFlags MergeDocumentFlags(SubmitFlags flags, JobDocument document, SubmitFlags step, const Properties& files);

}  // namespace tony
