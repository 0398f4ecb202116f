#include <yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/job_document.h"

namespace tony {
namespace {

using Kind = DocumentNode::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t CountDigits(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

// Returns true for an exponent behind a number, e.g. "e-5".
bool IsExponent(std::string_view text) {
  if (text.empty() || ToLower(text.substr(0, 1)) != "e") return false;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && CountDigits(text) == text.size();
}

// Returns true for a number as RFC 8259, section 6, defines it.
bool IsJsonNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t whole = CountDigits(text);
  if (whole == 0 || (whole > 1 && text.front() == '0')) return false;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    const size_t fraction = CountDigits(text.substr(1));
    if (fraction == 0) return false;
    text.remove_prefix(1 + fraction);
  }
  return text.empty() || IsExponent(text);
}

bool BeginsWithDate(std::string_view text) {
  if (CountDigits(text) != 4 || text.substr(4, 1) != "-") return false;
  text.remove_prefix(5);
  const size_t month = CountDigits(text);
  return (month == 1 || month == 2) && text.substr(month, 1) == "-" && CountDigits(text.substr(month + 1)) > 0;
}

// Returns true if YAML 1.1 or 1.2 reads the text as a number, a time or a date: 0x1F, 010, 1_000, .5, 1:30, .inf,
// 2026-01-31.
bool IsNumberToSome(std::string_view text) {
  if (BeginsWithDate(text)) return true;
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const std::string lower = ToLower(text);
  if (lower == ".inf" || lower == ".nan") return true;
  for (const char* base : {"0x", "0o", "0b"})
    if (lower.starts_with(base)) return lower.find_first_not_of("0123456789abcdef_", 2) == std::string::npos;
  if (const size_t exponent = lower.find('e'); exponent != std::string::npos && IsExponent(lower.substr(exponent)))
    text = text.substr(0, exponent);
  return std::ranges::any_of(text, IsDigit) && text.find_first_not_of("0123456789_.:") == std::string::npos &&
         std::ranges::count(text, '.') <= 1;
}

// Returns true for "true", "True" and "TRUE" if `lower` is "true", because YAML accepts only these forms of a word.
bool IsWord(std::string_view text, std::string_view lower) {
  if (ToLower(text) != lower) return false;
  const bool has_small_letters = std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  return text.substr(1) == lower.substr(1) || !has_small_letters;
}

// Returns the value of a text without quotes, by YAML 1.2's core schema.
Result<DocumentNode> Resolve(std::string text) {
  if (text.empty() || text == "~" || IsWord(text, "null")) return DocumentNode{};
  for (const char* word : {"true", "false"})
    if (IsWord(text, word)) return DocumentNode{.kind = Kind::kBool, .text = word};
  if (IsJsonNumber(text)) return DocumentNode{.kind = Kind::kNumber, .text = std::move(text)};
  const bool is_switch = std::ranges::any_of(std::initializer_list<const char*>{"yes", "no", "on", "off"},
                                             [&](const char* word) { return IsWord(text, word); });
  if (is_switch || IsNumberToSome(text)) {
    return Error{ErrorCode::kInvalid,
                 StrCat(InQuotes(text), " without quotes: YAML readers differ on its meaning; ",
                        is_switch ? "write true or false, or put it in quotes" : "put it in quotes")};
  }
  return DocumentNode{.kind = Kind::kText, .text = std::move(text)};
}

std::string_view View(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

struct Event {
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&raw); }  // does nothing for an empty event

  yaml_event_t raw{};
};

// Reads the document recursively, down to kMostDocumentDepth.
class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    CHECK(yaml_parser_initialize(&parser_) != 0);  // fails only if memory is short
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() { yaml_parser_delete(&parser_); }

  Result<DocumentNode> Read() {
    Event start, document, first, end, more;
    TRY(Next(start));
    TRY(Next(document));
    if (document.raw.type != YAML_DOCUMENT_START_EVENT) return At(document, "the document is empty");
    TRY(Next(first));
    TRY_ASSIGN(DocumentNode root, ReadNode(first, 0));
    TRY(Next(end));
    TRY(Next(more));
    if (more.raw.type != YAML_STREAM_END_EVENT) return At(more, "the file has a second document; a job is one document");
    return root;
  }

 private:
  Error At(size_t line, std::string_view what) const {
    return {ErrorCode::kInvalid, StrCat(name_, ":", line, ": ", what)};
  }
  Error At(const Event& event, std::string_view what) const { return At(event.raw.start_mark.line + 1, what); }

  Status Next(Event& event) {
    if (yaml_parser_parse(&parser_, &event.raw) != 0) return Ok();
    const bool by_byte = parser_.error == YAML_READER_ERROR;
    return At(by_byte ? LineIndex(text_).LineOf(std::min(parser_.problem_offset, text_.size()))
                      : parser_.problem_mark.line + 1,
              StrCat("not YAML: ", parser_.problem ? parser_.problem : "no memory"));
  }

  Status Count(const Event& event, size_t values = 1) {
    values_ += values;
    if (values_ <= kMostDocumentValues) return Ok();
    return At(event, StrCat("the document has more than ", kMostDocumentValues, " values"));
  }

  Result<DocumentNode> ReadNode(const Event& event, size_t depth) {
    TRY(Count(event));
    DocumentNode node;
    const yaml_char_t* anchor = nullptr;
    if (event.raw.type == YAML_ALIAS_EVENT) {
      TRY_ASSIGN(node, ReadAlias(event, depth));
    } else if (event.raw.type == YAML_SCALAR_EVENT) {
      anchor = event.raw.data.scalar.anchor;
      TRY_ASSIGN(node, ReadScalar(event));
    } else if (event.raw.type == YAML_SEQUENCE_START_EVENT) {
      anchor = event.raw.data.sequence_start.anchor;
      TRY(CheckTag(event, event.raw.data.sequence_start.tag));
      TRY_ASSIGN(node, ReadList(event, depth + 1));
    } else {
      anchor = event.raw.data.mapping_start.anchor;
      TRY(CheckTag(event, event.raw.data.mapping_start.tag));
      TRY_ASSIGN(node, ReadObject(event, depth + 1));
    }
    if (anchor) anchors_.insert_or_assign(std::string(View(anchor)), node);
    return node;
  }

  Result<DocumentNode> ReadAlias(const Event& event, size_t depth) {
    const std::string anchor(View(event.raw.data.alias.anchor));
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return At(event, StrCat("*", anchor, ": this alias has no earlier anchor &", anchor));
    const Extent extent = ExtentOf(found->second);
    TRY(Count(event, extent.values - 1));
    TRY(CheckDepth(event, depth + extent.depth));
    return found->second;
  }

  Result<DocumentNode> ReadScalar(const Event& event) {
    const auto& scalar = event.raw.data.scalar;
    std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    TRY(CheckTag(event, scalar.tag, YAML_STR_TAG));
    if (scalar.tag || scalar.style != YAML_PLAIN_SCALAR_STYLE)
      return DocumentNode{.kind = Kind::kText, .text = std::move(text)};
    auto resolved = Resolve(std::move(text));
    if (!resolved.ok()) return At(event, resolved.error().message);
    return resolved;
  }

  Result<DocumentNode> ReadList(const Event& start, size_t depth) {
    TRY(CheckDepth(start, depth));
    DocumentNode list{.kind = Kind::kArray};
    while (true) {
      Event event;
      TRY(Next(event));
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) return list;
      TRY_ASSIGN(DocumentNode item, ReadNode(event, depth));
      list.items.push_back(std::move(item));
    }
  }

  Result<DocumentNode> ReadObject(const Event& start, size_t depth) {
    TRY(CheckDepth(start, depth));
    DocumentNode object{.kind = Kind::kObject};
    std::set<std::string> seen;
    while (true) {
      Event key, value;
      TRY(Next(key));
      if (key.raw.type == YAML_MAPPING_END_EVENT) return object;
      TRY_ASSIGN(std::string name, ReadName(key));
      if (!seen.insert(name).second) return At(key, StrCat("member ", InQuotes(name), " occurs twice"));
      TRY(Next(value));
      TRY_ASSIGN(DocumentNode item, ReadNode(value, depth));
      object.names.push_back(std::move(name));
      object.items.push_back(std::move(item));
    }
  }

  // A member's name is always a text. For example, NO may be the name of a variable, so it is not read as a boolean.
  Result<std::string> ReadName(const Event& event) {
    if (event.raw.type != YAML_SCALAR_EVENT) return At(event, "a member's name must be a text");
    const auto& scalar = event.raw.data.scalar;
    TRY(CheckTag(event, scalar.tag, YAML_STR_TAG));
    std::string name(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (name == "<<" && scalar.style == YAML_PLAIN_SCALAR_STYLE)
      return At(event,
                "<< is a merge key, which YAML 1.2 does not have; write each member out, or repeat the whole object "
                "by an anchor (&NAME) and an alias (*NAME)");
    return name;
  }

  Status CheckTag(const Event& event, const yaml_char_t* tag, std::string_view allowed = {}) const {
    if (!tag || View(tag) == allowed) return Ok();
    return At(event,
              StrCat("the tag ", InQuotes(View(tag)), " is not accepted; the only accepted tag is !!str (a text)"));
  }

  Status CheckDepth(const Event& event, size_t depth) const {
    if (depth <= kMostDocumentDepth) return Ok();
    return At(event, StrCat("nested deeper than ", kMostDocumentDepth, " levels"));
  }

  struct Extent {
    size_t values = 1;  // the node and everything in it
    size_t depth = 0;   // levels of lists and objects
  };
  static Extent ExtentOf(const DocumentNode& node) {
    Extent whole;
    for (const DocumentNode& item : node.items) {
      const Extent extent = ExtentOf(item);
      whole.values += extent.values;
      whole.depth = std::max(whole.depth, extent.depth);
    }
    if (node.kind == Kind::kArray || node.kind == Kind::kObject) ++whole.depth;
    return whole;
  }

  const std::string_view text_;
  const std::string& name_;
  yaml_parser_t parser_{};
  size_t values_ = 0;
  std::map<std::string, DocumentNode> anchors_;
};

}  // namespace

Result<DocumentNode> ParseDocumentYaml(std::string_view text, const std::string& name) {
  TRY(CheckConfigText(text, name));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return YamlReader(text, name).Read();
}

}  // namespace tony
