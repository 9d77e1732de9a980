#include "trace/diagnosis/dump.hpp"

#include <utility>

#include "trace/diagnosis/catalogue.hpp"

namespace attn {

void Dump::assume(std::string sentence) {
  if (!sentence.empty() && !contains(assumptions, sentence)) assumptions.push_back(std::move(sentence));
}

void Dump::leave_out(const std::string& name, std::string sentence) {
  if (!contains(unknown, name)) unknown.push_back(name);
  assume(std::move(sentence));
}

}  // namespace attn
