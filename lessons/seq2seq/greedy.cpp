#include <algorithm>
#include <utility>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "lessons/documents/part_run.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

namespace {

/// The part decoder.md with the inputs of a run, one step at a time.
class Decoder {
 public:
  explicit Decoder(const DocumentRun& run)
      : h_(run.sheet().tensor("decoder/s_0")), c_(run.sheet().tensor("decoder/c_0")), part_(run.bench()) {
    const auto& bench = run.bench();
    const auto& lesson = *bench.plan.lesson;
    part_.set("heads_here", static_cast<double>(bench.heads()));
    for (const auto& input : lesson.inputs(bench.options)) {
      const auto* found = run.sheet().find(input.id);
      found != nullptr ? part_.set(input.id, *found) : part_.set(input.id, 0.0);
    }
    part_.read_front(*lesson.document);
    part_.set("page/states", run.sheet().tensor("page/states"));
  }

  /// Reads y [batch×1×d_model], the word that was written before.
  void read(Tensor<3> y) {
    const auto given = {
        std::pair("X_target", owned_view(std::move(y), {"batch", "decoder/target", "d_model"})),
        std::pair("decoder/s_0", h_), std::pair("decoder/c_0", c_)};
    if (sheet_.definitions().empty()) {
      for (const auto& [name, view] : given) part_.set(name, view);
      part_.tell_part("parts/decoder.md",
                      {"under decoder/", "query = decoder/target", "key = source", "states = page/states",
                       "output = context", "seen = source < lengths"});
      sheet_ = part_.sheet();
    } else {
      for (const auto& [name, view] : given) sheet_.set(name, view);
      compute_again();
    }
    h_ = only_row("decoder/h");
    c_ = only_row("decoder/c");
  }

  /// The one row of the step `name` that sample b has.
  const double* row_of(const char* name, std::size_t b) const {
    const auto& step = sheet_.tensor(name);
    return static_cast<const double*>(step.data) + static_cast<std::ptrdiff_t>(b) * step.strides.front();
  }

 private:
  void compute_again() {
    for (const auto& step : sheet_.definitions()) {
      const auto* const recurrence = sheet_.recurrence_of(step.name);
      if (recurrence == nullptr)
        sheet_.set(step.name, sheet_.rounded_value(step));
      else if (recurrence->steps.back().name == step.name)
        sheet_.compute_rows(*recurrence);
    }
  }

  /// [batch×hidden]
  formula::View only_row(const char* name) const {
    auto view = formula::owned_alone(sheet_.tensor(name));
    view.axes.erase(view.axes.begin() + 1);
    view.shape.erase(view.shape.begin() + 1);
    view.strides.erase(view.strides.begin() + 1);
    return view;
  }

  formula::View h_, c_;  ///< the state before the next step
  PartRun part_;
  formula::Sheet sheet_;  ///< once the part was told
};

/// How many words more than the source has a decoder may write.
std::size_t words_beyond_the_source(const Workbench& bench) {
  return bench.options.model ? 5 : 1;
}

}  // namespace

void write_greedily(DocumentRun& run, Texts& texts) {
  const auto& bench = run.bench();
  const auto& sources = bench.plan.source;
  const auto& vocabulary = texts.vocabulary;
  const auto end = vocabulary.size() - 1;
  const auto vectors = vectors_to_read(run, vocabulary);
  std::vector<std::vector<std::size_t>> numbers(sources.size());
  texts.writes.tokens.resize(sources.size());
  const auto is_finished = [&](std::size_t b) {
    return numbers[b].size() >= sources.tokens[b].size() + words_beyond_the_source(bench) ||
           (!numbers[b].empty() && numbers[b].back() == end);
  };
  auto y = vectors_at(vectors, Tensor<2>({sources.size(), 1}, static_cast<double>(end)));
  Decoder decoder(run);
  for (bool is_writing = true; is_writing;) {
    decoder.read(y);
    y.fill(0.0);
    is_writing = false;
    for (std::size_t b = 0; b < sources.size(); ++b) {
      if (is_finished(b)) continue;
      const auto number = attn::argmax(decoder.row_of("decoder/probabilities", b), vocabulary.size());
      const auto word = bench.options.model
                            ? carried_over(vocabulary[number], sources.tokens[b],
                                           decoder.row_of("decoder/weights", b), bench.options)
                            : vocabulary[number];
      numbers[b].push_back(number);
      texts.writes.tokens[b].push_back(word);
      if (is_finished(b)) continue;
      texts.reads.tokens[b].push_back(word);
      std::copy_n(&vectors(number, 0), y.shape(2), &y(b, 0, 0));
      is_writing = true;
    }
  }
  texts.words = in_rows(numbers);
}

Tensor<2> vectors_to_read(const DocumentRun& run, const std::vector<std::string>& vocabulary) {
  auto& bench = run.bench();
  if (reads_its_own_words(bench.options)) return run.copy_of<double, 2>(target_embedding);
  auto words = vocabulary;
  words.back() = attn::start_token;
  const auto known = bench.known_vectors_of({{words}});
  Tensor<2> vectors({words.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return attn::round_to(bench.trace.dtype(), vectors);  // as they are where they are given
}

Tensor<3> vectors_at(const Tensor<2>& vectors, const Tensor<2>& words) {
  Tensor<3> all = xt::zeros<double>({words.shape(0), words.shape(1), vectors.shape(1)});
  for (std::size_t b = 0; b < words.shape(0); ++b)
    for (std::size_t t = 0; t < words.shape(1); ++t)
      if (words(b, t) >= 0.0)
        std::copy_n(&vectors(static_cast<std::size_t>(words(b, t)), 0), vectors.shape(1), &all(b, t, 0));
  return all;
}

}  // namespace lessons
