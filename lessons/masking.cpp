/// Masks: who may look at whom, and how a key is hidden. The lesson is the document masking.md. Sources:
/// Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3 (the decoder's mask, with −∞); its
/// published code writes −10⁹ instead.

#include <algorithm>
#include <string>
#include <vector>

#include "attn/text/width.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

namespace {

/// The masks of one sentence side by side, a row a query and a column a key: that of the shortest sentence,
/// in which there is most padding.
std::string pictures(const DocumentRun& run) {
  constexpr std::size_t most = 9, widest_name = 8;
  const auto& sentence = run.bench().plan.sentence;
  const auto lengths = sentence.lengths();
  const auto b = static_cast<std::size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
  const auto places = places_shown(sentence.length(), most);
  const auto padded = [&](const std::string& cells) {
    return attn::pad_right(cells, std::max(2 * places.size(), widest_name));
  };
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const auto& i : places)
    rows.push_back({!i                               ? "…"
                    : *i < sentence.tokens[b].size() ? as_row_name(sentence.tokens[b][*i])
                                                     : "<pad>"});
  for (const std::string name : {"causal", "padding", "combined"}) {
    const auto mask = run.copy_of<bool, 3>(name + "_mask");
    rows.front().push_back(padded(name));
    for (std::size_t row = 0; row < places.size(); ++row) {
      std::string cells;
      for (const auto& j : places)
        if (places[row]) cells += !j ? "… " : mask(b, *places[row], *j) ? "■ " : "□ ";
      rows[row + 1].push_back(places[row] ? padded(cells) : "");
    }
  }
  return in_columns(rows);
}

void run_masking(Workbench& bench) {
  Functions functions;
  add_weights_of(functions, "language", "language");
  functions.texts["pictures"] = pictures;
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode masking_code = {.give = give_about, .sharpen = sharpen_token, .run = run_masking};

}  // namespace lessons
