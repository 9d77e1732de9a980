#include "lessons/masking/numpy.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "lessons/sdpa.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

namespace {

/// The mask, made of the others where it is the combined one, and attention under it.
std::vector<std::string> code_of_mask(const std::string& name, const std::string& mask) {
  return {fmt::format("{}_mask = {}", name, mask),
          fmt::format("{0}_masked  = np.where({0}_mask, scaled, -np.inf)", name),
          fmt::format("{0}_weights = softmax({0}_masked)", name),
          fmt::format("{0}_output  = {0}_weights @ V", name)};
}

}  // namespace

void show_masking_code(Workbench& bench, const std::vector<std::size_t>& visible) {
  const auto& sentence = bench.plan.sentence;
  const auto length = sentence.is_padded() ? std::string("lengths") : fmt::format("{}", visible[0]);
  bench.trace.within("earlier", [&] { bench.code(softmax_code()); });
  auto lines = projection_code(bench, "X", "X");
  lines.insert(lines.end(), {"scores = Q @ K.T", "scaled = scores / np.sqrt(Q.shape[1])"});
  const std::string causal = "np.tril(np.ones(scaled.shape, bool))",
                    real = fmt::format("np.arange(len(X)) < {}", length);
  const std::map<std::string, std::string> masks = {
      {"causal", causal},
      {"padding", fmt::format("np.tile({}, (len(X), 1))", real)},
      {"combined", causal + "\ncombined_mask &= " + real}};
  for (const auto& line : code_of_mask(bench.options.mask, masks.at(bench.options.mask)))
    lines.push_back(line);
  lines[lines.size() - 2] += "  # softmax as in the lesson lookup";
  bench.code(lines);
  for (const std::string name : {"causal", "padding", "combined"})
    if (name != bench.options.mask)
      bench.trace.within(name, [&] { bench.code(code_of_mask(name, masks.at(name))); });
}

}  // namespace lessons
