#include "trace/diff/words_diff.hpp"

#include <string_view>
#include <unordered_map>

#include "trace/diff/text_page.hpp"

namespace attn {

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;
using Events = std::unordered_map<std::string_view, const StoredWords*>;

Events events_of(const StoredTrace& trace) {
  Events events;
  for (const auto& words : trace.words()) events.emplace(words.id, &words);
  return events;
}

std::string member_of(const Members& members, const std::string& name) {
  for (const auto& [member, value] : members)
    if (member == name) return value;
  return "";
}

bool is_tensor(const StoredTrace& trace, const std::string& id) {
  return trace.find(id) != nullptr;
}

bool are_close(const std::string& a, const std::string& b, const Tolerance& tolerance) {
  const auto number_a = number_in(a), number_b = number_in(b);
  return number_a && number_b && tolerance.accepts(*number_a, *number_b);
}

class Comparison {
 public:
  explicit Comparison(const Tolerance& tolerance) : tolerance_(tolerance) {}

  void add(const std::string& id, const std::string& member, const std::string& a, const std::string& b) {
    if (a == b) return;
    diffs_.push_back({.id = id, .member = member, .a = a, .b = b});
    diffs_.back().is_within_tolerance = member == "value" && are_close(a, b, tolerance_);
  }

  void add_event(const StoredWords& a, const StoredWords& b) {
    for (const auto& [name, value] : a.members) add(a.id, name, value, member_of(b.members, name));
    for (const auto& [name, value] : b.members)
      if (member_of(a.members, name).empty()) add(b.id, name, "", value);
  }

  std::vector<WordsDiff> finish() { return std::move(diffs_); }

 private:
  Tolerance tolerance_;
  std::vector<WordsDiff> diffs_;
};

}  // namespace

std::vector<WordsDiff> compare_words(const StoredTrace& a, const StoredTrace& b, const Tolerance& tolerance) {
  if (a.words().empty() || b.words().empty()) return {};
  Comparison comparison(tolerance);
  comparison.add("", "title", a.header().title, b.header().title);
  const auto in_a = events_of(a), in_b = events_of(b);
  for (const auto& words : a.words()) {
    if (const auto other = in_b.find(words.id); other != in_b.end()) {
      comparison.add_event(words, *other->second);
    } else if (!is_tensor(a, words.id)) {
      comparison.add(words.id, "", member_of(words.members, "kind"), "");
    }
  }
  for (const auto& words : b.words())
    if (in_a.count(words.id) == 0 && !is_tensor(b, words.id))
      comparison.add(words.id, "", "", member_of(words.members, "kind"));
  return comparison.finish();
}

}  // namespace attn
