// Properties of a line in a log: the process that wrote it, its level, and whether it says anything of a failure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tony {

struct LogLine {
  // The line without the prefix of its process.
  std::string text;
  // The number of the line in the log, from 0.
  size_t place = 0;
};

// The lines of each process that a launcher's prefix names, as "[rank1]: "; "": of all others.
std::map<std::string, std::vector<LogLine>> ByProcess(const std::vector<std::string>& lines);

// A record of a logger that is about something wrong; one that is about something else.
bool IsLoggedError(std::string_view line);
bool IsLoggedOther(std::string_view line);

// Python's warning, or the line of the program that it quotes.
bool IsWarning(std::string_view line);

// mpirun's sentence on a process that says nothing itself.
bool IsOfMpirun(std::string_view line);

// Shells, launchers and runtimes write such a line after any failure, or it is a warning. The program did not end of
// it.
bool SaysNothing(std::string_view line);

// Places of the lines of mpirun's and torchrun's reports between rules of dashes.
std::vector<bool> InReports(const std::vector<std::string>& lines);

// The length of `prefix` at the begin of `line`, where the two may differ in numbers only: a time, a process. npos: the
// line has none.
size_t LikePrefix(std::string_view line, std::string_view prefix);

bool IsEmptyLine(std::string_view line);
bool Holds(std::string_view text, std::string_view part);

}  // namespace tony
