// Where a command's words go: the answer to standard output, everything said on the way to standard error. Unbuffered,
// so that a reader at the other end of a pipe has each line at once. A reader that has gone is no error; a disk that is
// full is one, which ExitOfAnswer() tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony {

// First of all: standard output and error that were closed are not given to the next files that are opened, into which
// words would go then. Writing there fails as before.
void HoldOutputs();

// Standard output, in whole lines; on a terminal without control characters, and broken where that ends.
void Print(std::string_view text);
// What a terminal must not get has been taken out.
void PrintAsIs(std::string_view text, int fd = 1);
void PrintLine(std::string_view text);  // standard output, with a line end; also on a terminal one line
void Say(std::string_view line);        // standard error, with a line end; without control characters

// Of a command whose answer was printed: `exit`, but 73 for 0 if standard output did not take all of it, as long as
// this process lives; says why. From one thread.
int ExitOfAnswer(int exit);

// One member a line, indented. `json`: valid and compact.
std::string IndentedJson(std::string_view json);

// What a failing verb prints with --json on standard output, beside the line on standard error that people read:
//
//   {"schema":1,"error":{"code":65,"class":"spec_invalid","message":"...","retryable":false}}
//
// A verb that has something to tell although it failed puts "error" into its own document instead: FailWith().

std::string_view ClassName(ErrorCode code);  // "spec_invalid"
std::string ErrorJson(const Error& error);   // {"code":...,"class":...,"message":...,"retryable":...}

// These print the answer, say the error and return its exit code: the end of a command.
int Fail(const Error& error, bool json);
int FailWith(const Error& error, std::string document);  // the JSON object `document`, with "error" added

// Says what a person may type next, on standard error, where that is a terminal: "next: tony logs J -f, tony status J" for {"logs J -f", "status J"}, in
// as many lines as it has columns for. Not with --json or --quiet.
void SayNext(const CommandLine& line, const std::vector<std::string>& commands);

}  // namespace tony
