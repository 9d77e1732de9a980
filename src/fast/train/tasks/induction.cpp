#include "corpora/sequences.hpp"

#include "attn/random/generator.hpp"
#include "fast/train/tasks/labelled_task.hpp"

namespace attn::train {

namespace {

class Induction final : public LabelledTask {
 public:
  explicit Induction(const TaskOptions& options)
      : LabelledTask({.words = 0,
                      .classes = 0,
                      .d_model = 32,
                      .heads = 1,
                      .d_k = 16,
                      .d_v = 32,
                      .layers = 2,
                      .positions = Positions::rotary,
                      .is_causal = true,
                      .has_norm = false},
                     options, corpora::symbol_labels(symbols), corpora::symbol_labels(symbols)) {
    Generator generator(options.seed, drawing_examples);
    const auto draw = [&](std::size_t count) {
      std::vector<corpora::InductionSequence> sequences;
      for (std::size_t i = 0; i < count; ++i)
        sequences.push_back(corpora::draw_induction(generator, sequence_length, symbols));
      return sequences;
    };
    const auto training = draw(20000);
    sequences_ = draw(500);
    set_examples(labelled(training), labelled(draw(500)), labelled(sequences_));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys right_keys;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const auto reading = read(weights, sizes(), held_out().all()[i].input);
      const auto& keys = sequences_[i].right_keys;
      for (std::size_t query = 0; query < keys.size(); ++query)
        if (keys[query]) right_keys.add(reading, query, *keys[query]);
    }
    return {{"next tokens right", accuracy(weights, sizes(), held_out().all())},
            right_keys.best("repeated token → what followed it")};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& example = held_out().all()[i];
      const auto classes_read = read(weights, sizes(), example.input).classes;
      std::string read_line, written;
      for (std::size_t t = 0; t < example.input.size(); ++t) {
        read_line += words().words()[static_cast<std::size_t>(example.input[t])] + " ";
        written += example.targets[t] < 0
                       ? "· "
                       : classes().words()[static_cast<std::size_t>(classes_read[t])] + " ";
      }
      lines.push_back(read_line);
      lines.push_back(written);
    }
    return lines;
  }

 private:
  static constexpr std::size_t sequence_length = 24, symbols = 26;

  static std::vector<Labelled> labelled(const std::vector<corpora::InductionSequence>& sequences) {
    std::vector<Labelled> examples;
    for (const auto& sequence : sequences) examples.push_back(labelled(sequence));
    return examples;
  }

  static Labelled labelled(const corpora::InductionSequence& sequence) {
    Labelled example;
    const auto& tokens = sequence.tokens;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      example.input.push_back(static_cast<int>(tokens[t]));
      const bool is_determined = sequence.right_keys[t] && t + 1 < tokens.size();
      example.targets.push_back(is_determined ? static_cast<int>(tokens[t + 1]) : -1);
    }
    return example;
  }

  std::vector<corpora::InductionSequence> sequences_;
};

}  // namespace

std::unique_ptr<Task> make_induction(const TaskOptions& options) {
  return std::make_unique<Induction>(options);
}

}  // namespace attn::train
