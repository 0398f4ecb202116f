// A job document in YAML: what is read, and what is refused because others would read it otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/config/job_document.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Json(const DocumentNode& node) {
  if (node.kind == DocumentNode::Kind::kNull) return "null";
  if (node.kind == DocumentNode::Kind::kText) return StrCat('"', node.text, '"');
  if (node.kind == DocumentNode::Kind::kBool || node.kind == DocumentNode::Kind::kNumber) return node.text;
  const bool is_object = node.kind == DocumentNode::Kind::kObject;
  std::string inside;
  for (size_t i = 0; i < node.items.size(); ++i) {
    inside += StrCat(i == 0 ? "" : ", ", is_object ? StrCat('"', node.names[i], "\": ") : "", Json(node.items[i]));
  }
  return is_object ? StrCat('{', inside, '}') : StrCat('[', inside, ']');
}

// As JSON; or "error: " and what is wrong.
std::string Read(const std::string& yaml) {
  const auto node = ParseDocumentYaml(yaml, "job.yaml");
  if (node.ok()) return Json(*node);
  EXPECT_EQ(node.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(node.error().message.find('\n'), std::string::npos);
  return StrCat("error: ", node.error().message);
}

TEST(DocumentYamlTest, IsWhatTheSameWouldBeInJson) {
  EXPECT_EQ(Read("# a job\nname: my job\nframework: \"tensorflow\"\ntags: [a, 'b']\ntasks:\n  worker:\n"
                 "    instances: 2\n    command: >-\n      python train.py\n      --lr 0.1\nenv:\n  NO: \"no\"\n  URL: "
                 "http://h:1/\n"),
            R"({"name": "my job", "framework": "tensorflow", "tags": ["a", "b"], "tasks": {"worker": {"instances": 2, )"
            R"("command": "python train.py --lr 0.1"}}, "env": {"NO": "no", "URL": "http://h:1/"}})");
  EXPECT_EQ(Read("\xEF\xBB\xBF{\"a\": [1, null, true, \"\\u00e4\"]}"), "{\"a\": [1, null, true, \"\xC3\xA4\"]}");
  EXPECT_EQ(Read("--- {}\n...\n"), "{}");
}

TEST(DocumentYamlTest, AWordWithoutQuotesIsWhatAllReadersTakeItFor) {
  for (const char* text :
       {"2g", "10.0.0.1", "a:b", "1-2", "-x", "y", "e5", "trueish", "yEs", "tRue", "0xg", ".", "..", "1_a"})
    EXPECT_EQ(Read(text), StrCat('"', text, '"'));
  for (const char* number : {"0", "-0", "1.50", "1e3", "0.1e-7", "12345678901234567890123"})
    EXPECT_EQ(Read(number), number);
  for (const char* null : {"~", "null", "Null", "NULL", "--- \n"}) EXPECT_EQ(Read(null), "null");
  for (const char* word : {"true", "True", "TRUE"}) EXPECT_EQ(Read(word), "true");
  for (const char* word : {"yes", "No", "ON", "off"}) EXPECT_THAT(Read(word), HasSubstr("write true or false"));
  for (const char* text : {"+1", "010", "0o17", "0x1F", "0b1", "1_000", ".5", "1.", "-.5", "1:30", "190:20:30.15",
                           ".inf", "-.INF", ".NaN", "2026-01-31", "2026-1-31T00:00:00Z", "+1e3", "1_0e3"}) {
    EXPECT_THAT(Read(text), StartsWith(StrCat("error: job.yaml:1: \"", text, "\" without quotes: "))) << text;
    EXPECT_EQ(Read(StrCat('\'', text, '\'')), StrCat('"', text, '"'));
    EXPECT_EQ(Read(StrCat("!!str ", text)), StrCat('"', text, '"'));
    EXPECT_EQ(Read(StrCat(text, ": {}")), StrCat("{\"", text, "\": {}}"));
  }
}

TEST(DocumentYamlTest, AnAliasIsWhatItNames) {
  EXPECT_EQ(Read("a: &x {m: 1g, l: [&y t]}\nb: *x\nc: *y"),
            R"({"a": {"m": "1g", "l": ["t"]}, "b": {"m": "1g", "l": ["t"]}, "c": "t"})");
  EXPECT_EQ(Read("a: *x"), "error: job.yaml:1: *x: nothing before it is named &x");
  EXPECT_EQ(Read("a: &x [*x]"), "error: job.yaml:1: *x: nothing before it is named &x");
  EXPECT_EQ(
      Read("a: &x {}\nb:\n  <<: *x"),
      "error: job.yaml:3: <<, a merge key, is not of YAML 1.2; write the members out, or name one value by & and *");
}

TEST(DocumentYamlTest, IsNoLargerThanAnyJob) {
  std::string laughs = "- &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 5; ++i) {
    laughs += StrCat("- &a", i, " [");
    for (int k = 0; k < 10; ++k) laughs += StrCat("*a", i - 1, ", ");
    laughs += "]\n";
  }
  EXPECT_EQ(Read(laughs), "error: job.yaml:5: more than 20000 values");
  EXPECT_EQ(Read("a: &a [[[[[[1]]]]]]\nb: [*a]"), "{\"a\": [[[[[[1]]]]]], \"b\": [[[[[[[1]]]]]]]}");
  EXPECT_EQ(Read("a: &a [[[[[[1]]]]]]\nb: [[*a]]"), "error: job.yaml:2: nested more than 8 deep");
  EXPECT_EQ(Read(std::string(100'000, '[')), "error: job.yaml:1: nested more than 8 deep");
  EXPECT_EQ(Read("[[[[[[[[[1]]]]]]]]]"), "error: job.yaml:1: nested more than 8 deep");
}

TEST(DocumentYamlTest, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(Read("a: 1\nb: 2\na: 3"), "error: job.yaml:3: member \"a\" twice");
  EXPECT_EQ(Read("a: 1\n[b]: 2"), "error: job.yaml:2: a member's name has to be a text");
  EXPECT_EQ(Read("a: !!int 1"), "error: job.yaml:1: the tag \"tag:yaml.org,2002:int\": only !!str is known, of a text");
  EXPECT_EQ(Read("a: !x {}"), "error: job.yaml:1: the tag \"!x\": only !!str is known, of a text");
  EXPECT_EQ(Read("a: 1\n---\nb: 1"), "error: job.yaml:2: a second document; one is a job");
  EXPECT_EQ(Read("# nothing\n"), "error: job.yaml:2: nothing in it");
  EXPECT_THAT(Read("a: 1\n\tb: 2"), StartsWith("error: job.yaml:2: not YAML: "));
  EXPECT_THAT(Read("a: [1\nb: 2"), StartsWith("error: job.yaml:2: not YAML: "));
  EXPECT_THAT(Read("a: \"x"), StartsWith("error: job.yaml:1: not YAML: "));
  EXPECT_THAT(Read("a: 1\nb: \x01"), StartsWith("error: job.yaml:2: not YAML: "));
  EXPECT_THAT(Read("a: \xFF"), StartsWith("error: job.yaml:1"));
  EXPECT_THAT(Read(std::string("a: \0", 4)), StartsWith("error: job.yaml:1: a NUL character"));
}

}  // namespace
}  // namespace tony
