// Properties of a line in a log: the process that wrote the line, its level, and whether the line may explain a
// failure.
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

// Returns the lines of each process. The key is the prefix that a launcher puts before the lines of that process, e.g.
// "[rank1]: ". Lines without a prefix have the key "".
std::map<std::string, std::vector<LogLine>> ByProcess(const std::vector<std::string>& lines);

// IsLoggedError() returns whether the line is a log record about a problem. IsLoggedOther() returns whether it is any
// other log record.
bool IsLoggedError(std::string_view line);
bool IsLoggedOther(std::string_view line);

// Returns whether the line is a Python warning, or the line of the program that the warning quotes.
bool IsWarning(std::string_view line);

// Returns whether mpirun wrote the line. Such lines are about a process that left no message itself.
bool IsMpirunMessage(std::string_view line);

// Returns whether the line explains nothing: a warning, or a line that shells, launchers and runtimes write after any
// failure.
bool ExplainsNothing(std::string_view line);

// Returns for each line whether it is in a report of mpirun or torchrun, between two lines of dashes.
std::vector<bool> InReports(const std::vector<std::string>& lines);

// Returns the length of `prefix` at the beginning of `line`. Numbers in the two may differ, e.g. a time or a process
// id. Returns npos if the line does not begin with the prefix.
size_t MatchingPrefixSize(std::string_view line, std::string_view prefix);

bool IsEmptyLine(std::string_view line);
bool Holds(std::string_view text, std::string_view part);

}  // namespace tony
