// The file of a journal as its writer uses it. Seam: the real one, and the tests' file on a full or failing disk.
//
// Beside it lies `journal.written`: how many bytes the journal had when they were last acted upon. A journal shorter
// than that has lost decisions, which a torn tail never does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/records/decisions.h"

namespace tony::am {

// Messages of its errors say why, not on what: "no space left on device".
class JournalFile {
 public:
  virtual ~JournalFile() = default;
  virtual Status Append(std::string_view bytes) = 0;  // an error may leave a part of them behind
  virtual Status CutTo(size_t size) = 0;
  virtual Status Sync() = 0;
  // A new file with this content takes the old one's place, both synced with their folder. After an error either is
  // there, whole, and is what the next call is about.
  virtual Status Replace(std::string_view content) = 0;
  virtual void NoteWritten(size_t size) = 0;  // into journal.written; best effort
};

struct OpenedJournalFile {
  std::unique_ptr<JournalFile> file;
  std::string content;  // without the torn tail, in this version
  size_t torn_bytes = 0;
  bool outdated = false;  // the file itself is of an earlier version
  std::vector<Decision> decisions;
};

// Changes nothing in a file that is there. kInvalid: a journal of a later version, or damaged; says where and how.
Result<OpenedJournalFile> OpenJournalFile(const std::string& path);

}  // namespace tony::am
