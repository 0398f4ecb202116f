// The output of commands. The answer goes to standard output, and all messages go to standard error. Output is
// unbuffered, so that the reader of a pipe gets each line at once. A reader that has closed its end is not an error. A
// full disk is an error, which ExitAfterOutput() reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Must be called before any file is opened. If standard output or error is closed, its descriptor is reserved.
// Otherwise the next opened file would get the descriptor, and messages would be written into that file. Writes to the
// reserved descriptor still fail.
void ReserveOutputs();

// Prints whole lines to standard output. On a terminal, removes control characters and wraps long lines.
void Print(std::string_view text);
// Prints text from which the caller has already removed what a terminal must not get.
void PrintAsIs(std::string_view text, int fd = 1);
// Prints to standard output, with a line end. A terminal gets the text unwrapped.
void PrintLine(std::string_view text);
// Prints to standard error, without control characters and with a line end.
void Say(std::string_view line);

// Returns the exit code of a command that has printed its answer. The code is `exit`, or 73 instead of 0 if any
// output of this process to standard output was lost; the reason is then printed. Must always be called from the same
// thread.
int ExitAfterOutput(int exit);

// Returns `json` with one member per line, indented. `json` must be valid and compact.
std::string IndentedJson(std::string_view json);

// With --json a failing verb prints this object on standard output, and a line for people on standard error:
//
//   {"schema":1,"error":{"code":65,"class":"spec_invalid","message":"...","retryable":false}}
//
// A verb that has data to report although it failed adds "error" to its own document instead: FailWith().

std::string_view ClassName(ErrorCode code);  // e.g. "spec_invalid"
std::string ErrorJson(const Error& error);   // {"code":...,"class":...,"message":...,"retryable":...}

// Fail() and FailWith() end a command: they print the answer and the error, and return the exit code of the error.
int Fail(const Error& error, bool json);
// Adds "error" to the JSON object `document`.
int FailWith(const Error& error, std::string document);

// Suggests commands to type next, on standard error if that is a terminal. {"logs J -f", "status J"} becomes "next:
// tony logs J -f, tony status J", on as many lines as the terminal's width requires. Prints nothing with --json or
// --quiet.
void SuggestNext(const CommandLine& line, const std::vector<std::string>& commands);

}  // namespace tony
