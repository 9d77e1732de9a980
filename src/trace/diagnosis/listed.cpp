#include "trace/diagnosis/listed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace attn {

std::string listed(const std::vector<std::string>& words, std::string_view conjunction) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), conjunction, words.back());
}

namespace {

struct Remark {
  std::string tensor;  ///< "a", "a for Q"
  std::string said;    ///< " is transposed."
  bool is_name = false;
};

Remark parts_of(const std::string& sentence) {
  constexpr std::string_view taken = " is taken for ";
  const auto blank = std::min(sentence.find(' '), sentence.size());
  const auto tensor = sentence.substr(0, blank), said = sentence.substr(blank);
  if (!said.starts_with(taken)) return {tensor, said};
  const auto end = std::min(said.find(',', taken.size()), said.size() - 1);
  if (said.find(' ', taken.size()) < end) return {tensor, said};
  return {fmt::format("{} for {}", tensor, said.substr(taken.size(), end - taken.size())),
          " is taken for that of the lesson" + said.substr(end), true};
}

}  // namespace

std::vector<std::string> in_few_lines(const std::vector<std::string>& remarks) {
  constexpr std::size_t most_lines = 3, most_named = 3;
  std::map<std::string, std::vector<std::string>> tensors_by_said;
  for (const auto& remark : remarks) {
    const auto parts = parts_of(remark);
    tensors_by_said[parts.said].push_back(parts.tensor);
  }
  std::vector<std::string> lines;
  for (const auto& remark : remarks) {
    const auto [tensor, said, is_name] = parts_of(remark);
    const auto& all = tensors_by_said[said];
    if (all.size() <= most_lines) lines.push_back(remark);
    if (all.size() <= most_lines || tensor != all.front()) continue;
    const auto named = is_name ? all.size() : most_named;
    lines.push_back(
        fmt::format("Each of {} tensors ({}{}){}", all.size(),
                    fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                    is_name ? "" : ", …", said));
  }
  return lines;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace attn
