// What may stand where a person presses Tab, from the table of verbs, the jobs of this machine and the table of keys.
// One source for all shells: their scripts (completion.cc) ask `tony complete`.
#pragma once

#include <string>
#include <vector>

namespace tony {

struct Candidate {
  std::string word;
  std::string text = {};  // what it is, in a line; may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // files of the shell's, too
};

// `words` are those behind "tony", up to the one that is being typed, which comes last and may be empty. Waits for the
// disk of this machine alone: of a cluster's jobs only those are known that this machine has heard of.
Candidates Complete(const std::vector<std::string>& words);

}  // namespace tony
