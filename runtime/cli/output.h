// Where a command's words go: the answer to standard output, everything said on the way to standard error. Unbuffered,
// so that a reader at the other end of a pipe has each line at once. A reader that has gone is no error; a disk that is
// full is one, which ExitOfAnswer() tells.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

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

std::string JsonString(std::string_view text);  // quoted and escaped; bytes that are not UTF-8 become U+FFFD
// The JSON object `object` with `fields` (name -> JSON value) added at its end.
std::string WithFields(std::string object, const std::map<std::string, std::string>& fields);

std::string HumanDuration(Duration length);  // "0.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"

}  // namespace tony
