#include "lessons/documents/last_mentions.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace lessons {

namespace {

/// The names that stand in a section.
class Mentions {
 public:
  explicit Mentions(const Scope& scope) : scope_(scope) {}

  void add(const document::Block& block) {
    if (block.definition) add(block.definition->expr);
    add(block.code.text());
    add(block.prose);
    add(block.call);
    for (const auto& row : block.rows)
      for (const auto& cell : row.cells) add(cell.prose);
  }

  const std::set<std::string>& names() const { return names_; }

 private:
  void add(const formula::Expr& x) {
    for (const auto& part : x->parts) add(part);
    add_name(x->name);
  }

  void add(const document::Prose& prose) {
    for (const auto& piece : prose) {
      if (piece.value) add(*piece.value);
      if (piece.call) add(*piece.call);
      if (!piece.choice) continue;
      for (const auto& branch : piece.choice->branches) {
        if (branch.condition) add(*branch.condition);
        add(branch.content);
      }
    }
  }

  void add(const document::Call& call) {
    add(call.name);
    for (const auto& argument : call.arguments) add(argument);
  }

  void add(std::string_view text) {
    constexpr std::string_view ends = " ()[],:;";
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = std::min(text.find_first_of(ends, begin), text.size());
      if (end > begin) add_name(std::string(text.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  void add_name(const std::string& name) {
    if (!names_.insert(name).second) return;
    names_.insert(scope_.prefix + scope_.name_of(name));
    if (const auto renamed = scope_.renamed.find(name); renamed != scope_.renamed.end()) add(renamed->second);
  }

  const Scope& scope_;
  std::set<std::string> names_;
};

}  // namespace

std::map<std::string, std::size_t> last_mentions(const std::vector<Section>& sections) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Mentions mentions(sections[i].scope);
    for (const auto* block : sections[i].blocks) mentions.add(*block);
    for (const auto& name : mentions.names()) last[name] = i;
  }
  return last;
}

}  // namespace lessons
