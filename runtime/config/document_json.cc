#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/document_node.h"

namespace tony {

namespace json = boost::json;

namespace {

// What boost::json::basic_parser calls, value by value.
class Builder {
 public:
  static constexpr size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX, max_string_size = SIZE_MAX;
  using Code = json::error_code;
  using Text = json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& code) { return Open(DocumentNode::Kind::kObject, code); }
  bool on_object_end(size_t, Code&) { return Close(); }
  bool on_array_begin(Code& code) { return Open(DocumentNode::Kind::kArray, code); }
  bool on_array_end(size_t, Code&) { return Close(); }
  bool on_key_part(Text part, size_t, Code&) { return Append(part); }
  bool on_key(Text part, size_t, Code& code) {
    Append(part);
    std::string name = std::exchange(text_, {});
    if (!open_.back().seen.insert(name).second) return Refuse(StrCat("member ", InQuotes(name), " twice"), code);
    open_.back().node.names.push_back(std::move(name));
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) { return Append(part); }
  bool on_string(Text part, size_t, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kText, code); }
  bool on_number_part(Text part, Code&) { return Append(part); }
  bool on_int64(int64_t, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_uint64(uint64_t, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_double(double, Text part, Code& code) { return Append(part) && Scalar(DocumentNode::Kind::kNumber, code); }
  bool on_bool(bool value, Code& code) {
    return Append(value ? "true" : "false") && Scalar(DocumentNode::Kind::kBool, code);
  }
  bool on_null(Code& code) { return Scalar(DocumentNode::Kind::kNull, code); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

  DocumentNode TakeRoot() { return std::move(root_); }
  const std::string& problem() const { return problem_; }  // ours; empty: the text is no JSON

 private:
  struct Frame {
    DocumentNode node;
    std::set<std::string> seen;
  };

  bool Append(Text part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool Refuse(std::string problem, Code& code) {
    problem_ = std::move(problem);
    code = json::error::syntax;
    return false;
  }

  bool Count(Code& code) {
    return ++values_ <= kMostDocumentValues || Refuse(StrCat("more than ", kMostDocumentValues, " values"), code);
  }

  bool Scalar(DocumentNode::Kind kind, Code& code) {
    if (!Count(code)) return false;
    Put({.kind = kind, .text = std::exchange(text_, {})});
    return true;
  }

  bool Open(DocumentNode::Kind kind, Code& code) {
    if (!Count(code)) return false;
    open_.push_back({{.kind = kind}, {}});
    return true;
  }

  bool Close() {
    DocumentNode done = std::move(open_.back().node);
    open_.pop_back();
    Put(std::move(done));
    return true;
  }

  void Put(DocumentNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  std::vector<Frame> open_;  // from the outermost
  std::string text_;         // of what is being read
  size_t values_ = 0;
  DocumentNode root_;
  std::string problem_;
};

// "3: ..., at byte 14 of the line"
Error FailureAt(std::string_view text, size_t offset, const std::string& name, std::string_view what) {
  const size_t line_start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  return {ErrorCode::kInvalid, StrCat(name, ":", LineIndex(text).LineOf(offset), ": ", what, ", at byte ",
                                      offset - line_start + 1, " of the line")};
}

}  // namespace

Result<DocumentNode> ParseDocumentJson(std::string_view text, const std::string& name) {
  TRY(CheckConfigText(text, name));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // an editor's byte order mark
  json::parse_options options;
  options.max_depth = kMostDocumentDepth;
  json::basic_parser<Builder> parser(options);
  json::error_code code;
  const size_t parsed = parser.write_some(false, text.data(), text.size(), code);
  const std::string& problem = parser.handler().problem();
  if (!problem.empty()) return FailureAt(text, parsed, name, problem);
  if (code == json::error::too_deep)
    return FailureAt(text, parsed, name, StrCat("nested more than ", kMostDocumentDepth, " deep"));
  if (code) return FailureAt(text, parsed, name, StrCat("not JSON: ", code.message()));
  if (parsed < text.size()) return FailureAt(text, parsed, name, "not JSON: more behind its end");
  return parser.handler().TakeRoot();
}

}  // namespace tony
