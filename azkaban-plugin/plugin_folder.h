// The files of the job type in Azkaban's folder of job types: their names, the text of the two property files in a new
// installation, and the changes that an upgrade makes to these texts. Pure text; install.h puts the files in place.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/os/start_program.h"

namespace tony::azkaban {

inline constexpr std::string_view kTypeName = "tony";
// The names of the job type in LinkedIn's flows. An installation makes them links to `tony`.
inline constexpr std::string_view kAliases[] = {"TonyJob", "TensorFlowJob"};
inline constexpr std::string_view kPrivateFile = "private.properties";  // read only by the server
inline constexpr std::string_view kPluginFile = "plugin.properties";    // defaults of every job's properties
inline constexpr std::string_view kAdapter = "tony-azkaban";
// The programs that the adapter and the jobs run. An installation puts these programs into the adapter's folder.
inline constexpr std::string_view kPrograms[] = {"tony", kJobPrograms[0], kJobPrograms[1], kJobPrograms[2]};
// A further file that a step with tony.scheduler=yarn needs.
inline constexpr std::string_view kYarnFile = "tony-yarn-am.tar.gz";
inline constexpr std::string_view kProgramsFolder = "bin";
inline constexpr std::string_view kOwnFolder = "${plugin.dir}";  // Azkaban's variable for the folder
// The prefix of the folders in which an installation builds its files. These folders are next to the folder of job
// types, never inside it.
inline constexpr std::string_view kWorkPrefix = ".tony-install-";

// Parses a property file as the executor server does: as java.util.Properties, with bytes in ISO-8859-1.
Result<Properties> ParseServerProperties(std::string_view bytes, const std::string& name);

// Returns true if Azkaban leaves this path unchanged in `command`. Azkaban splits `command` at spaces, interprets
// quotes, and expands ${x} and $(x).
bool MayStandInCommand(std::string_view path);

std::string FirstPrivateText();
std::string FirstPluginText(std::string_view command);

// Returns `text` with `key` set to `value`, which must not need escapes. The line of the key is replaced, or a line is
// added at the end. Everything else stays byte for byte. If the key has this value already, `text` is returned
// unchanged.
std::string WithValue(std::string_view text, std::string_view key, std::string_view value);

}  // namespace tony::azkaban
