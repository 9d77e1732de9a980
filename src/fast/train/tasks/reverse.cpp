#include "corpora/sequences.hpp"

#include "attn/random/generator.hpp"
#include "fast/train/tasks/labelled_task.hpp"

namespace attn::train {

namespace {

class Reverse final : public LabelledTask {
 public:
  explicit Reverse(const TaskOptions& options)
      : LabelledTask({.words = 0,
                      .classes = 0,
                      .d_model = 32,
                      .heads = 1,
                      .d_k = 16,
                      .d_v = 32,
                      .positions = Positions::learned,
                      .longest = 16,
                      .has_norm = false},
                     options, corpora::symbol_labels(symbols), corpora::symbol_labels(symbols)) {
    Generator generator(options.seed, drawing_examples);
    const auto draw = [&](std::size_t count, std::size_t length) {
      std::vector<Labelled> examples;
      for (std::size_t i = 0; i < count; ++i)
        examples.push_back(labelled(corpora::draw_reverse(generator, length, symbols)));
      return examples;
    };
    auto training = draw(20000, sequence_length), held_out = draw(500, sequence_length);
    longer_ = draw(200, sequence_length + 4);
    set_examples(std::move(training), draw(500, sequence_length), std::move(held_out));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys right_keys;
    for (const auto& example : held_out().all()) {
      const auto reading = read(weights, sizes(), example.input);
      for (std::size_t query = 0; query < example.input.size(); ++query)
        right_keys.add(reading, query, example.input.size() - 1 - query);
    }
    return {{"symbols right", accuracy(weights, sizes(), held_out().all())},
            right_keys.best("place → its mirror image"),
            {"symbols right, 4 longer than in training", accuracy(weights, sizes(), longer_)}};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& example = held_out().all()[i];
      std::string line;
      for (const int symbol : example.input) line += words().words()[static_cast<std::size_t>(symbol)] + " ";
      line += "→ ";
      for (const int symbol : read(weights, sizes(), example.input).classes)
        line += classes().words()[static_cast<std::size_t>(symbol)] + " ";
      lines.push_back(line);
    }
    return lines;
  }

 private:
  static constexpr std::size_t sequence_length = 10, symbols = 26;

  static Labelled labelled(const std::vector<std::size_t>& symbols) {
    return {{symbols.begin(), symbols.end()}, {symbols.rbegin(), symbols.rend()}};
  }

  std::vector<Labelled> longer_;
};

}  // namespace

std::unique_ptr<Task> make_reverse(const TaskOptions& options) {
  return std::make_unique<Reverse>(options);
}

}  // namespace attn::train
