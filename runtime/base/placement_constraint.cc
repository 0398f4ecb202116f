#include "runtime/base/placement_constraint.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using Form = PlacementConstraint::Form;

constexpr int kDeepest = 20;
constexpr std::array<std::string_view, 3> kApplications = {"self", "not-self", "all"};
constexpr const char* kForms = "expected in, notin, cardinality, and(...), or(...) or ATTRIBUTE=VALUE";

// A piece of the text between commas.
struct Item {
  std::string_view text;
  size_t at = 0;  // its offset in the whole text
  bool Is(std::string_view word) const { return ToLower(text) == word; }
};

class ConstraintParser {
 public:
  explicit ConstraintParser(std::string_view text) : text_(text) {}

  Result<PlacementConstraint> Parse() {
    TRY_ASSIGN(PlacementConstraint constraint, ParseOne(0));
    if (at_ < text_.size()) return Bad(at_, "expected the end; and(C:C) or or(C:C) joins two constraints");
    return constraint;
  }

 private:
  static Error Bad(size_t at, std::string_view expected) {
    return InvalidError("at character ", at + 1, ": ", expected);
  }

  // Reads up to the next sign of `signs`, or to the end.
  Item Take(std::string_view signs) {
    const size_t end = std::min(text_.find_first_of(signs, at_), text_.size());
    const std::string_view piece = text_.substr(at_, end - at_);
    const std::string_view word = Trim(piece);
    const Item item{word, word.empty() ? at_ : static_cast<size_t>(word.data() - text_.data())};
    at_ = end;
    return item;
  }

  bool Skip(char sign) {
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  Result<PlacementConstraint> ParseOne(int depth) {
    const Item first = Take(",:()");
    if (at_ < text_.size() && text_[at_] == '(' && (first.Is("and") || first.Is("or"))) {
      ++at_;
      return ParseParts(first, depth + 1);
    }
    std::vector<Item> items = {first};
    // Like Hadoop, this ignores empty items.
    while (Skip(','))
      if (const Item item = Take(",:()"); !item.text.empty()) items.push_back(item);
    if (at_ < text_.size() && text_[at_] == '(') return Bad(at_, "a bracket may only follow and, or");
    if (first.Is("in") || first.Is("notin") || first.Is("cardinality")) return ParseTags(items);
    return ParseAttribute(items);
  }

  // Reads the rest of and(...) and or(...).
  Result<PlacementConstraint> ParseParts(const Item& word, int depth) {
    if (depth > kDeepest) return Bad(word.at, StrCat("expected at most ", kDeepest, " brackets within each other"));
    PlacementConstraint constraint{.form = word.Is("and") ? Form::kAnd : Form::kOr};
    do {
      TRY_ASSIGN(PlacementConstraint part, ParseOne(depth));
      constraint.parts.push_back(std::move(part));
    } while (Skip(':'));
    if (!Skip(')')) return Bad(at_, StrCat("expected ) of ", word.text, "("));
    while (at_ < text_.size() && Trim(text_.substr(at_, 1)).empty()) ++at_;
    return constraint;
  }

  Result<PlacementConstraint> ParseTags(std::vector<Item> items) const {
    const Item kind = items.front();
    if (items.size() < 2 || !(items[1].Is("node") || items[1].Is("rack")))
      return Bad(items.size() < 2 ? at_ : items[1].at, StrCat("expected node or rack after ", kind.text));
    PlacementConstraint constraint{.scope = ToLower(items[1].text)};
    if (kind.Is("in")) constraint.least = 1;
    if (kind.Is("in")) constraint.most = std::numeric_limits<int32_t>::max();
    if (kind.Is("cardinality")) TRY(TakeNumbers(items, constraint));
    for (size_t i = 2; i < items.size(); ++i) {
      TRY_ASSIGN(PlacementConstraint::Tag tag, ParseTag(items[i]));
      constraint.tags.push_back(std::move(tag));
    }
    if (constraint.tags.empty()) return Bad(at_, StrCat("expected a tag of containers after ", items[1].text));
    return constraint;
  }

  Status TakeNumbers(std::vector<Item>& items, PlacementConstraint& constraint) const {
    constexpr const char* kExpected = "expected cardinality,SCOPE,TAG,...,MIN,MAX with numbers MIN <= MAX";
    if (items.size() < 5) return Bad(at_, kExpected);
    const Item& last = items.back();
    const Item& before = items[items.size() - 2];
    const auto most = ParseInt(last.text), least = ParseInt(before.text);
    if (!least || *least < 0) return Bad(before.at, kExpected);
    if (!most || *most < *least || *most > std::numeric_limits<int32_t>::max()) return Bad(last.at, kExpected);
    constraint.least = static_cast<int32_t>(*least);
    constraint.most = static_cast<int32_t>(*most);
    items.resize(items.size() - 2);
    return Ok();
  }

  static Result<PlacementConstraint::Tag> ParseTag(const Item& item) {
    const size_t slash = item.text.find('/');
    if (item.text.find_first_of("=!") != item.text.npos) return Bad(item.at, "expected a tag, without = and !");
    if (slash == item.text.npos) return PlacementConstraint::Tag{.name = std::string(item.text)};
    const PlacementConstraint::Tag tag{std::string(item.text.substr(0, slash)),
                                       std::string(item.text.substr(slash + 1))};
    if (std::ranges::count(kApplications, tag.applications) == 0 || tag.name.empty() ||
        tag.name.find('/') != tag.name.npos)
      return Bad(item.at, "expected self, not-self or all before the / of a tag, and one tag behind it");
    return tag;
  }

  static Result<PlacementConstraint> ParseAttribute(const std::vector<Item>& items) {
    const Item& first = items.front();
    const size_t equals = first.text.find('=');
    if (equals == first.text.npos) return Bad(first.at, kForms);
    const bool differs = equals > 0 && first.text[equals - 1] == '!';
    PlacementConstraint one{.form = differs ? Form::kNotEqual : Form::kEqual};
    one.attribute = Trim(first.text.substr(0, differs ? equals - 1 : equals));
    if (one.attribute.empty() || one.attribute.find('!') != one.attribute.npos ||
        std::ranges::count(one.attribute, '/') > 1)
      return Bad(first.at, "expected the name of a node attribute before =, such as rm.yarn.io/os");
    PlacementConstraint all{.form = differs ? Form::kAnd : Form::kOr};
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string_view value = i == 0 ? Trim(first.text.substr(equals + 1)) : items[i].text;
      if (i > 0 && (items[i].Is("in") || items[i].Is("notin") || items[i].Is("cardinality")))
        return Bad(items[i].at,
                   "expected a value; if TAG=NUMBER is meant as in Hadoop's distributed shell, use "
                   "tony.<role>.allocation-tags and tony.<role>.instances instead");
      if (value.empty() || value.find_first_of("=!") != value.npos)
        return Bad(i == 0 ? first.at + equals + 1 : items[i].at, "expected a value, without = and !");
      one.value = value;
      all.parts.push_back(one);
    }
    return all.parts.size() == 1 ? one : all;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<PlacementConstraint> ParsePlacementConstraint(std::string_view text) { return ConstraintParser(text).Parse(); }

}  // namespace tony
