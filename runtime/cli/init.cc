// `tony init`: a job that runs, to begin with. With --json: {"schema":1,"kind":KIND,"files":[...]}
#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/init_templates.h"
#include "runtime/cli/output.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobFile = "job.yaml";

Result<JobTemplate> TemplateOf(const std::string& kind) {
  std::vector<std::string> known;
  for (const JobTemplate& candidate : JobTemplates()) {
    if (candidate.kind == kind) return candidate;
    known.emplace_back(candidate.kind);
  }
  return Error{ErrorCode::kUsage, StrCat("init: unknown kind \"", kind, "\"; expected one of ", Join(known, ", "))};
}

// A file of the user's like any other: its mode is the umask's matter.
Status WriteFile(const fs::path& name, std::string_view text) {
  const UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return FileError(ErrorCode::kCannotWrite, "make", name, errno);
  return WriteAll(file.get(), text, name);
}

// All files or none.
Status Write(const JobTemplate& job) {
  for (const std::string_view name : {std::string_view(kJobFile), job.program}) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(name, ignored)))
      return Error{ErrorCode::kCannotWrite, StrCat("init: ", name, " is there already; nothing was written")};
  }
  TRY(WriteFile(kJobFile, job.job_text));
  return WriteFile(job.program, job.program_text);
}

}  // namespace

Result<int> RunInit(const CommandLine& line) {
  const std::string kind = line.words().empty() ? std::string(JobTemplates().front().kind) : line.words().front();
  TRY_ASSIGN(const JobTemplate job, TemplateOf(kind));
  TRY(Write(job));
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"kind":)", JsonString(job.kind), R"(,"files":[)", JsonString(kJobFile), ",",
                     JsonString(job.program), "]}"));
    return 0;
  }
  const std::string needs =
      job.needs.empty() ? "" : StrCat(", which needs ", job.needs, " in the python3 of your PATH");
  PrintLine(StrCat("wrote ", kJobFile, " and ", job.program, needs));
  PrintLine(StrCat("next: tony submit ", kJobFile));
  return 0;
}

}  // namespace tony
