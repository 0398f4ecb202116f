// The output of commands. Answers go to standard output, and all messages go to standard error. Output is
// unbuffered, so that the reader of a pipe gets each line at once. A reader that has closed its end is not an error. A
// full disk is an error, which ExitAfterOutput() reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Reserves the descriptors of standard output and standard error if they are closed. Otherwise the next opened file
// would get such a descriptor, and messages would be written into that file. Writes to a reserved descriptor fail. Must
// be called before any file is opened.
void ReserveOutputs();

// Prints whole lines to standard output. On a terminal, removes control characters and wraps long lines.
void Print(std::string_view text);
// Prints text unchanged. For a terminal, the caller must have removed unsafe characters.
void PrintAsIs(std::string_view text, int fd = 1);
// Prints the text and a line end to standard output. The text is not wrapped, even on a terminal.
void PrintLine(std::string_view text);
// Prints a message and a line end to standard error, without control characters.
void Say(std::string_view line);

// Returns the exit code of a command that has printed its answer. The exit code is `exit` unless standard output lost
// text. In that case, prints the reason and returns 73 instead of 0. Must always be called on the same thread.
int ExitAfterOutput(int exit);

// Returns `json` with one member per line, indented. `json` must be valid and compact.
std::string IndentedJson(std::string_view json);

// With --json a failing verb prints this object on standard output, and a line for people on standard error:
//
//   {"schema":1,"error":{"code":65,"class":"spec_invalid","message":"...","retryable":false}}
//
// If a verb fails and still has data to report, it adds "error" to its own document instead, by FailWith().

std::string_view ClassName(ErrorCode code);  // e.g. "spec_invalid"
std::string ErrorJson(const Error& error);   // {"code":...,"class":...,"message":...,"retryable":...}

// Fail() and FailWith() end a command: they print the answer and the error, and return the exit code of the error.
int Fail(const Error& error, bool json);
// Ends a command that failed, with "error" added to the JSON object `document`.
int FailWith(const Error& error, std::string document);

// Suggests commands to type next, on standard error if that is a terminal. {"logs J -f", "status J"} becomes "next:
// tony logs J -f, tony status J", on as many lines as the terminal's width requires. Prints nothing with --json or
// --quiet.
void SuggestNext(const CommandLine& line, const std::vector<std::string>& commands);

}  // namespace tony
