// `tony completion SHELL`: the script that makes a shell ask `tony complete` where Tab is pressed. And that: a
// candidate a line, "WORD<Tab>TEXT"; the line ":files" stands for the shell's own files.
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/completion_words.h"
#include "runtime/cli/output.h"

namespace tony {
namespace {

// Bash breaks words at : and =, which are in ours: so the line is split here, and of a candidate only what is behind
// the last of them is handed back.
constexpr std::string_view kBash = R"(# tony's completion for bash: source <(tony completion bash)
_tony() {
  local line=${COMP_LINE:0:COMP_POINT} words word candidate files=
  read -r -a words <<<"$line"
  case $line in *[[:blank:]]) words+=('') ;; esac
  word=${words[${#words[@]} - 1]}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [ "$candidate" = :files ]; then files=1; else COMPREPLY+=("${candidate:${#word}}"); fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
  local part=${word##*[:=]} i
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$part${COMPREPLY[i]}; done
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$part")
  fi
  case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _tony tony
)";

constexpr std::string_view kZsh = R"(#compdef tony
# tony's completion for zsh: as _tony in a folder of $fpath, or source <(tony completion zsh)
_tony() {
  local line word text files=
  local -a described open
  while IFS=$'\t' read -r word text; do
    if [[ $word == :files ]]; then
      files=1
    elif [[ $word == *= ]]; then
      open+=("${word//:/\\:}${text:+:$text}")
    else
      described+=("${word//:/\\:}${text:+:$text}")
    fi
  done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#described} )) && _describe -V tony described
  (( ${#open} )) && _describe -V tony open -S ''
  [[ -n $files ]] && _files
  return 0
}
if [[ ${funcstack[1]-} == _tony ]]; then _tony "$@"; else compdef _tony tony; fi
)";

constexpr std::string_view kFish = R"(# tony's completion for fish: tony completion fish | source
function __tony_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l word (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$word"
    else
      echo $line
    end
  end
end
complete -c tony -f -k -a '(__tony_complete)'
)";

}  // namespace

Result<int> RunCompletion(const CommandLine& line) {
  const std::string& shell = line.words().front();
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    return Error{ErrorCode::kUsage, StrCat("completion: unknown shell \"", shell, "\"; expected bash, zsh or fish")};
  PrintAsIs(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return 0;
}

Result<int> RunComplete(const CommandLine& line) {
  std::string text;
  const Candidates found = Complete(line.words());
  for (const Candidate& candidate : found.words)
    text += StrCat(candidate.word, candidate.text.empty() ? "" : "\t", candidate.text, "\n");
  if (found.files) text += ":files\n";
  PrintAsIs(text);
  return 0;
}

}  // namespace tony
