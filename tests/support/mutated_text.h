// Makes damaged texts from a valid one: bytes flipped, cut, doubled and spliced.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace tony {

inline std::string MutatedText(std::string text, const std::vector<std::string>& pieces, std::mt19937& random) {
  const auto below = [&random](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t edits = 1 + below(5); edits > 0; --edits) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 3:
        text.insert(at, pieces[below(pieces.size())]);
        break;
      case 4:
        if (!text.empty()) text[at] = static_cast<char>('a' + below(26));
        break;
      default:
        if (below(3) == 0) text.resize(at);
    }
  }
  return text;
}

}  // namespace tony
