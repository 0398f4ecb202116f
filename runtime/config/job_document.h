// The job document: one object with all that a job is made of. A program hands it over as JSON (`tony submit -`); a file
// is JSON or, FILE.yaml or FILE.yml, YAML. Each of its values becomes one of the keys of key_table.cc or one of the
// submit flags; it has no meaning of its own. Its members, all optional, null meaning not given:
//   properties  the text of a job file or, beginning with <, of a tony.xml; or an object KEY: value, like a job file
//   spec        an object with the members below: the base of everything
//   name framework queue executes task_params src_dir python_venv python_binary_path
//   secrets: an object NAME: value, variables of the tasks that are written nowhere else
//   tags resources: lists · env conf: objects NAME: value · tasks: ROLE -> { instances, memory, ... }
// Precedence, low to high: defaults < spec < properties < the administrator's tony-site.xml < the other members (conf
// highest of them) < the flags of the command line. An origin is the member's path: "tasks.worker.memory",
// "spec.tasks.worker.memory", "conf"; of `properties` with its line, "properties:3".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"

namespace tony {

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
