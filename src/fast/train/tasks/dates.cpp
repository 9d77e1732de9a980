#include "corpora/dates.hpp"

#include <algorithm>
#include <unordered_set>

#include "attn/random/generator.hpp"
#include "fast/train/tasks/translation_task.hpp"

namespace attn::train {

namespace {

std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> result;
  for (const char character : text) result.emplace_back(1, character);
  return result;
}

class Dates final : public TranslationTask {
 public:
  explicit Dates(const TaskOptions& options)
      : TranslationTask({.attention = DecoderAttention::luong_general,
                         .source_words = 0,
                         .target_words = 0,
                         .d_model = 16,
                         .hidden = 16,
                         .d_a = 16},
                        options, characters(corpora::date_source_characters()),
                        characters(corpora::date_target_characters())) {
    Generator generator(options.seed, drawing_examples);
    std::unordered_set<std::string> drawn;
    const auto draw_new = [&](std::size_t count) {
      std::vector<corpora::DateExample> dates;
      while (dates.size() < count) {
        auto date = corpora::draw_date(generator);
        if (drawn.insert(date.source).second) dates.push_back(std::move(date));
      }
      return dates;
    };
    const auto training = draw_new(20000);
    dates_ = draw_new(500);
    set(model()->table(), examples(training), examples(draw_new(500)), examples(dates_));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    std::vector<Score> scores = {{"exact dates", share_of(exact(weights, held_out()))}};
    const auto heads = model()->attending_heads(weights, held_out().sources(), held_out().targets());
    if (heads.empty()) return scores;
    Share best = {0, 0};
    for (const auto& head : heads)
      if (const auto share = right_fields(head); share.value() >= best.value()) best = share;
    scores.push_back({"character → a character of its field", best});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto first = held_out().sources().begin();
    const auto dates = translate(weights, {first, first + 5}, 15);
    for (std::size_t i = 0; i < dates.size(); ++i) {
      std::string written;
      for (const int word : dates[i]) written += target_words().words()[static_cast<std::size_t>(word)];
      lines.push_back(dates_[i].source + " → " + written);
    }
    return lines;
  }

 private:
  TranslationExamples examples(const std::vector<corpora::DateExample>& dates) const {
    Sequences sources, targets;
    for (const auto& date : dates) {
      sources.push_back(source_words().ids(characters(date.source)));
      targets.push_back(target_words().ids(characters(date.target)));
    }
    return {model(), std::move(sources), std::move(targets)};
  }

  /// Of the digits, how many look most at a character of the field that decides them.
  Share right_fields(const AttendingHead& head) const {
    const auto& rows = head.weights;
    Share digits = {0, 0};
    for (std::size_t i = 0; i < dates_.size(); ++i)
      for (std::size_t t = 0; t < rows[i].size(); ++t) {
        const auto& field = dates_[i].fields[t];
        if (!field) continue;
        const auto strongest = static_cast<std::size_t>(
            std::max_element(rows[i][t].begin(), rows[i][t].end()) - rows[i][t].begin());
        ++digits.all;
        digits.right += strongest >= field->begin && strongest < field->end;
      }
    return digits;
  }

  std::vector<corpora::DateExample> dates_;
};

}  // namespace

std::unique_ptr<Task> make_dates(const TaskOptions& options) {
  return std::make_unique<Dates>(options);
}

}  // namespace attn::train
