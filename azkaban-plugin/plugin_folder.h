// What the job type is made of inside of Azkaban's folder of job types: names, the first texts of its two property
// files, and how an upgrade changes them. Pure text; install.h puts it in place.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/os/start_program.h"

namespace tony::azkaban {

inline constexpr std::string_view kTypeName = "tony";
// What LinkedIn's flows say; links to `tony`.
inline constexpr std::string_view kAliases[] = {"TonyJob", "TensorFlowJob"};
inline constexpr std::string_view kPrivateFile = "private.properties";  // read by the server alone
inline constexpr std::string_view kPluginFile = "plugin.properties";    // defaults of every job's properties
inline constexpr std::string_view kAdapter = "tony-azkaban";
// What the adapter and the jobs run, beside it.
inline constexpr std::string_view kPrograms[] = {"tony", kJobPrograms[0], kJobPrograms[1], kJobPrograms[2]};
// What a step with tony.scheduler=yarn needs beside those.
inline constexpr std::string_view kYarnFile = "tony-yarn-am.tar.gz";
inline constexpr std::string_view kProgramsFolder = "bin";
inline constexpr std::string_view kOwnFolder = "${plugin.dir}";  // Azkaban's name for the job type's folder
// How folders begin that an installation builds in; they stand beside the folder of job types, never in it.
inline constexpr std::string_view kWorkPrefix = ".tony-install-";

// As the server reads them: java.util.Properties, bytes are ISO-8859-1.
Result<Properties> ParseServerProperties(std::string_view bytes, const std::string& name);

// Whether Azkaban, which splits `command` at spaces, knows quotes and expands ${x} and $(x), leaves this path whole.
bool MayStandInCommand(std::string_view path);

std::string FirstPrivateText();
std::string FirstPluginText(std::string_view command);

// `text` with `key` set to `value`, which needs no escapes: the line of the key is replaced, or one is added at the
// end. All else stays byte for byte. Unchanged if it says so already.
std::string WithValue(std::string_view text, std::string_view key, std::string_view value);

}  // namespace tony::azkaban
