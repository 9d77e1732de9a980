#include "corpora/sentiment.hpp"

#include "attn/random/generator.hpp"
#include "fast/train/tasks/labelled_task.hpp"

namespace attn::train {

namespace {

class Sentiment final : public LabelledTask {
 public:
  Sentiment(const TaskOptions& options, const corpora::SentimentCorpus& corpus)
      : LabelledTask(
            {.words = 0, .classes = 0, .d_model = 16, .heads = 2, .d_k = 8, .d_v = 8, .is_of_sentence = true},
            options, corpus.vocabulary(), {"negative", "positive"}) {
    Generator generator(options.seed, drawing_examples);
    const auto draw_seen = [&](int count) {
      std::vector<Labelled> examples;
      for (int i = 0; i < count; ++i) examples.push_back(labelled(corpus.draw(generator)));
      return examples;
    };
    auto training = draw_seen(20000);
    std::vector<Labelled> unseen;
    for (int i = 0; i < 1000; ++i) {
      unseen_.push_back(corpus.draw_unseen_pair(generator));
      unseen.push_back(labelled(unseen_.back()));
    }
    set_examples(std::move(training), draw_seen(500), std::move(unseen));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys negators;
    for (std::size_t i = 0; i < unseen_.size(); ++i) {
      const auto reading = read(weights, sizes(), held_out().all()[i].input);
      if (unseen_[i].negator) negators.add(reading, unseen_[i].sentiment_word, *unseen_[i].negator);
    }
    return {{"unseen pairs right", accuracy(weights, sizes(), held_out().all())},
            negators.best("sentiment word → its negator")};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 5; ++i) {
      std::string line;
      for (const auto& word : unseen_[i].words) line += word + " ";
      const auto guess =
          static_cast<std::size_t>(read(weights, sizes(), held_out().all()[i].input).classes[0]);
      lines.push_back(line + "→ " + classes().words()[guess]);
    }
    return lines;
  }

 private:
  Labelled labelled(const corpora::LabelledSentence& sentence) const {
    return {words().ids(sentence.words), {sentence.is_positive ? 1 : 0}};
  }

  std::vector<corpora::LabelledSentence> unseen_;
};

}  // namespace

std::unique_ptr<Task> make_sentiment(const TaskOptions& options) {
  return std::make_unique<Sentiment>(options,
                                     corpora::SentimentCorpus::load(options.corpora + "/sentiment.txt"));
}

}  // namespace attn::train
