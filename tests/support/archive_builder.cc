#include "tests/support/archive_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

namespace tony {
namespace {

void SetForm(archive* out, ArchiveForm form) {
  switch (form) {
    case ArchiveForm::kZip:
      archive_write_set_format_zip(out);
      return;
    case ArchiveForm::kTar:
      break;
    case ArchiveForm::kTarGz:
      archive_write_add_filter_gzip(out);
      break;
    case ArchiveForm::kTarXz:
      archive_write_add_filter_xz(out);
      break;
    case ArchiveForm::kTarBz2:
      archive_write_add_filter_bzip2(out);
      break;
    case ArchiveForm::kTarZst:
      archive_write_add_filter_zstd(out);
      break;
  }
  archive_write_set_format_gnutar(out);  // writes names as plain bytes
}

mode_t TypeOf(BuiltEntry::Kind kind) {
  switch (kind) {
    case BuiltEntry::Kind::kFile:
    case BuiltEntry::Kind::kHardLink:
      return AE_IFREG;
    case BuiltEntry::Kind::kFolder:
      return AE_IFDIR;
    case BuiltEntry::Kind::kSymlink:
      return AE_IFLNK;
    case BuiltEntry::Kind::kPipe:
      return AE_IFIFO;
    case BuiltEntry::Kind::kDevice:
      return AE_IFCHR;
  }
  abort();
}

void Add(archive* out, const BuiltEntry& built) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, built.name.c_str());
  archive_entry_set_filetype(entry, TypeOf(built.kind));
  archive_entry_set_perm(entry, built.mode);
  archive_entry_set_mtime(entry, built.modified, 0);
  const bool file = built.kind == BuiltEntry::Kind::kFile;
  archive_entry_set_size(entry, file ? static_cast<la_int64_t>(built.content.size()) : 0);
  if (built.kind == BuiltEntry::Kind::kSymlink) archive_entry_set_symlink(entry, built.content.c_str());
  if (built.kind == BuiltEntry::Kind::kHardLink) archive_entry_set_hardlink(entry, built.content.c_str());
  const int written = archive_write_header(out, entry);
  if (written != ARCHIVE_OK && written != ARCHIVE_WARN) {
    std::fprintf(stderr, "archive builder: %s\n", archive_error_string(out));
    abort();
  }
  if (file && !built.content.empty()) archive_write_data(out, built.content.data(), built.content.size());
  archive_entry_free(entry);
}

}  // namespace

void BuildArchive(const std::filesystem::path& file, ArchiveForm form, const std::vector<BuiltEntry>& entries,
                  const std::string& password) {
  archive* out = archive_write_new();
  SetForm(out, form);
  if (!password.empty()) {
    archive_write_set_options(out, "zip:encryption=zipcrypt");
    archive_write_set_passphrase(out, password.c_str());
  }
  if (archive_write_open_filename(out, file.c_str()) != ARCHIVE_OK) abort();
  for (const BuiltEntry& entry : entries) Add(out, entry);
  if (archive_write_close(out) != ARCHIVE_OK) abort();
  archive_write_free(out);
}

}  // namespace tony
