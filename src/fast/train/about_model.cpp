#include "fast/train/about_model.hpp"

#include <algorithm>
#include <utility>

namespace attn::train {

WeightTable weights_of(const AboutSizes& sizes) {
  WeightTable table;
  table.add("embedding", sizes.features + AboutExample::code_size, sizes.first.d_model);
  add_layer(table, layer_name(0), sizes.first);
  add_layer(table, layer_name(1), sizes.second);
  table.add("output/W_Q", sizes.second.d_model, sizes.d_name);
  table.add("output/W_K", AboutExample::code_size, sizes.d_name);
  return table;
}

AboutExample about_example(const std::vector<english::WordFeatures>& words,
                           const std::vector<std::string>& names, const std::vector<std::size_t>& about) {
  AboutExample example;
  for (const auto& word : words) {
    auto& numbers = example.words.emplace_back();
    for (const auto& [name, share] : word.named) {
      const auto found = std::lower_bound(names.begin(), names.end(), name);
      if (found != names.end() && *found == name)
        numbers.features.emplace_back(found - names.begin(), static_cast<float>(share));
    }
    std::transform(word.code.begin(), word.code.end(), numbers.code.begin(),
                   [](double number) { return static_cast<float>(number); });
  }
  example.about = about;
  return example;
}

AboutRun run(Tape<float>& tape, const Weights<float>& weights, const AboutSizes& sizes,
             const std::vector<const AboutExample*>& examples, bool is_causal) {
  Lengths lengths;
  for (const auto* example : examples) lengths.push_back(example->words.size());
  const std::size_t positions = *std::max_element(lengths.begin(), lengths.end()), batch = examples.size();
  const auto features = tape.constant(batch * positions, sizes.features + AboutExample::code_size);
  const auto codes = tape.constant(batch * positions, AboutExample::code_size);
  std::fill_n(features.value, features.size(), 0.0F);
  std::fill_n(codes.value, codes.size(), 0.0F);
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < lengths[sample]; ++position) {
      const auto& word = examples[sample]->words[position];
      float* row = features.value + (sample * positions + position) * features.columns;
      for (const auto& [feature, share] : word.features) row[feature] = share;
      std::copy(word.code.begin(), word.code.end(), row + sizes.features);
      std::copy(word.code.begin(), word.code.end(),
                codes.value + (sample * positions + position) * codes.columns);
    }
  Sublayers<float> sublayers(tape, weights, 0, nullptr);
  auto second = sizes.second;
  second.is_causal = is_causal;
  const auto x = tape.linear(features, weights("embedding"));
  const auto below = sublayers.block(x, layer_name(0), sizes.first, lengths),
             above = sublayers.block(below.output, layer_name(1), second, lengths);
  const auto query = tape.linear(above.output, weights("output/W_Q"));
  const auto key = tape.linear(codes, weights("output/W_K"));
  const auto named = tape.attend(query, key, key, {batch, positions, positions, 1}, lengths).weights;
  return {above.attended, named, {batch, positions, positions, second.heads, is_causal}};
}

namespace {

/// Where head 0 is to look, one row for each query: 0.75 at the word that it is about, 0.1 at itself, or
/// where it is about itself at the words that are about it, and 0.15 at all that it sees.
std::vector<std::vector<float>> shares_of(const std::vector<std::size_t>& about, bool is_causal) {
  constexpr float at_answer = 0.75F, at_own = 0.1F, at_all = 0.15F;
  std::vector<std::vector<float>> shares;
  for (std::size_t query = 0; query < about.size(); ++query) {
    const std::size_t seen = is_causal ? query + 1 : about.size();
    auto& row = shares.emplace_back(seen, at_all / static_cast<float>(seen));
    std::vector<std::size_t> own;
    for (std::size_t key = 0; key < seen; ++key)
      if (about[query] == query && about[key] == query && key != query) own.push_back(key);
    if (own.empty()) own.push_back(query);
    row[about[query]] += at_answer;
    for (const auto key : own) row[key] += at_own / static_cast<float>(own.size());
  }
  return shares;
}

}  // namespace

Examples examples_of(const AboutSizes& sizes, std::vector<AboutExample> given) {
  Examples trained;
  for (const auto& example : given) trained.lengths.push_back(example.words.size());
  trained.predictions = trained.lengths;
  trained.loss = [sizes, all = std::move(given)](auto& tape, const auto& weights, const auto& numbers,
                                                 float scale, double, Random* random) {
    constexpr float of_looks = 0.3F;
    std::vector<const AboutExample*> examples;
    for (const auto number : numbers) examples.push_back(&all[number]);
    const bool is_causal = random != nullptr && numbers.front() % 4 == 0;
    const auto result = run(tape, weights, sizes, examples, is_causal);
    std::vector<Look<float>> named, looks;
    for (std::size_t sample = 0; sample < examples.size(); ++sample) {
      auto about = examples[sample]->about;
      for (std::size_t query = 0; is_causal && query < about.size(); ++query)
        about[query] = std::min(about[query], query);  // where the answer comes later the word itself
      const auto shares = shares_of(about, is_causal);
      for (std::size_t query = 0; query < about.size(); ++query) {
        const std::size_t row = sample * result.sizes.queries + query;
        named.push_back({row, about[query], 1});
        for (std::size_t key = 0; key < shares[query].size(); ++key)
          looks.push_back({row, key, shares[query][key]});
      }
    }
    const HeadSizes of_names = {result.sizes.batch, result.sizes.queries, result.sizes.keys, 1};
    return tape.add(tape.loss_of_looks(result.named, of_names, 0, named, scale),
                    tape.loss_of_looks(result.second.weights, result.sizes, 0, looks, scale), of_looks);
  };
  return trained;
}

AboutReading read(const Weights<float>& weights, const AboutSizes& sizes, const AboutExample& example,
                  bool is_causal) {
  Tape<float> tape(false);
  const auto result = run(tape, weights, sizes, {&example}, is_causal);
  const std::size_t n = example.words.size();
  AboutReading reading = {.named = {}, .looks = rows_of(result.second.weights.value, n, n)};
  for (const auto& row : rows_of(result.named.value, n, n)) reading.named.push_back(strongest(row));
  return reading;
}

}  // namespace attn::train
