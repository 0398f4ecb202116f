// Where a command's words go: the answer to standard output, everything said on the way to standard error. Unbuffered,
// so that a reader at the other end of a pipe has each line at once. A reader that has gone is no error; a disk that is
// full is one, which ExitOfAnswer() tells.
#pragma once

#include <string_view>

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

}  // namespace tony
