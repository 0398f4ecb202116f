// main.args of an Azkaban step. TonY's job type put it first on the command line of TonY's client, as it stood; so it
// holds that program's options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"

namespace tony {

// The words of a command line, by the rules of Azkaban's ProcessJob, which are no shell's: only the blank separates;
// ' and " group and vanish, each literal within the other, the last one need not be closed; a backslash is a character
// like others; there are no empty words.
std::vector<std::string> SplitCommandLine(std::string_view line);

// "main.args (from train.job:2)"
std::string MainArgsOrigin(const Property& main_args);

// The options among its words: -x V, --x V, -x=V or --x=V; spec_file and spec_name stay empty. Of an option that is
// given twice the first counts, as in TonY, but all of -conf, -shell_env and -container_env. Stricter than TonY, which
// dropped whatever stood behind a word that it did not know: such a word, a value that is missing and a -conf or
// -..._env without NAME= are kInvalid. The message names the word by its number, never a value, which may be a secret.
Result<SubmitOptions> ParseMainArgs(const Property& main_args);

}  // namespace tony
