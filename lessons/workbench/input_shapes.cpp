#include "lessons/workbench/input_shapes.hpp"

#include <algorithm>
#include <charconv>

#include "lessons/lesson.hpp"

namespace lessons {

namespace {

/// The shape of the inputs of one name. An axis is a product, written with "·", of numbers and dimensions;
/// "1+" before it adds one, "[heads]" is there with --heads only, and "" follows from something else.
struct Row {
  std::string_view lesson;  ///< or empty for all lessons, where `id` is what stands after the last "/"
  std::string_view id;
  std::vector<std::string_view> axes;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"", "X", {"sentence", "d-model"}},
      {"", "X_source", {"source", "d-model"}},
      {"", "X_target", {"target", "d-model"}},
      {"transformer-block", "memory", {"memory", "d-model"}},
      {"", "Q", {"query", "d-k"}},
      {"", "K", {"key", "d-k"}},
      {"", "V", {"key", "d-v"}},
      {"", "d_output", {"query", "d-v"}},
      {"", "mask", {"query", "key"}},
      {"", "dropout_mask", {"[heads]", "query", "key"}},
      {"", "W_Q", {"d-model", "heads·d-k"}},
      {"", "W_K", {"d-model", "kv-heads·d-k"}},
      {"", "W_V", {"d-model", "kv-heads·d-v"}},
      {"", "W_O", {"heads·d-v", "d-model"}},
      {"", "W_1", {"d-model", "d-ff"}},
      {"", "b_1", {"d-ff"}},
      {"", "W_2", {"d-ff", "d-model"}},
      {"", "b_2", {"d-model"}},
      {"", "gain", {"d-model"}},
      {"", "bias", {"d-model"}},
      {"", "W_class", {"d-model", "classes"}},
      {"lookup", "query", {"d-k"}},
      {"lookup", "keys", {"sentence", "d-k"}},
      {"lookup", "values", {"sentence", "d-v"}},
      {"scoring", "queries", {"target", "d-model"}},
      {"scoring", "keys", {"source", "d-model"}},
      {"scoring", "W_a", {"d-model", "d-model"}},
      {"scoring", "W_q", {"d-model", "d-a"}},
      {"scoring", "W_k", {"d-model", "d-a"}},
      {"scoring", "v_a", {"d-a"}},
      {"positional", "learned/table", {"sentence", "d-model"}},
      {"positional", "relative/keys", {"", "d-model"}},
      {"positional", "t5/table", {"", "heads"}},
      {"seq2seq", "X_target", {"1+target", "d-model"}},
      {"seq2seq", "mask", {"1+target", "source"}},
      {"seq2seq", "encoder/W_ih", {"4·hidden", "d-model"}},
      {"seq2seq", "encoder/W_hh", {"4·hidden", "hidden"}},
      {"seq2seq", "encoder/b_ih", {"4·hidden"}},
      {"seq2seq", "encoder/b_hh", {"4·hidden"}},
      {"seq2seq", "encoder/reverse/W_ih", {"4·hidden", "d-model"}},
      {"seq2seq", "encoder/reverse/W_hh", {"4·hidden", "hidden"}},
      {"seq2seq", "encoder/reverse/b_ih", {"4·hidden"}},
      {"seq2seq", "encoder/reverse/b_hh", {"4·hidden"}},
      {"seq2seq", "decoder/W_ih", {"4·directions·hidden", ""}},
      {"seq2seq", "decoder/W_hh", {"4·directions·hidden", "directions·hidden"}},
      {"seq2seq", "decoder/b_ih", {"4·directions·hidden"}},
      {"seq2seq", "decoder/b_hh", {"4·directions·hidden"}},
      {"seq2seq", "attention/W_q", {"directions·hidden", "d-a"}},
      {"seq2seq", "attention/W_k", {"directions·hidden", "d-a"}},
      {"seq2seq", "attention/v_a", {"d-a"}},
      {"seq2seq", "attention/W_c", {"2·directions·hidden", "directions·hidden"}},
      {"seq2seq", "attention/W_Q", {"directions·hidden", ""}},
      {"seq2seq", "attention/W_K", {"directions·hidden", ""}},
      {"seq2seq", "attention/W_V", {"directions·hidden", ""}},
      {"seq2seq", "attention/W_O", {"", "directions·hidden"}},
      {"classifier", "positions", {"sentence", "d-model"}},
      {"generate", "embedding", {"", "d-model"}},
      {"generate", "positions", {"", "d-model"}},
      {"generate", "W_vocabulary", {"d-model", ""}},
      {"efficient", "linformer/E", {"rank", "sentence"}},
      {"efficient", "linformer/F", {"rank", "sentence"}},
      {"efficient", "performer/omega", {"features", "d-k"}},
      {"stability", "scores", {"", "sentence"}},
      {"patterns", "weights", {"[heads]", "sentence", "sentence"}},
      {"training", "dropout/mask", {""}},
      {"training", "clipping/gradients", {"layers", ""}},
  };
  return table;
}

const Row* row_of(const Lesson& lesson, const std::string& id) {
  const auto find = [](std::string_view of_lesson, std::string_view name) -> const Row* {
    const auto row = std::find_if(rows().begin(), rows().end(),
                                  [&](const Row& one) { return one.lesson == of_lesson && one.id == name; });
    return row == rows().end() ? nullptr : &*row;
  };
  if (const auto* row = find(lesson.name, id)) return row;
  return find("", std::string_view(id).substr(id.find_last_of('/') + 1));
}

/// How many of the things that a dimension only ever multiplies with there are; 0 for all other dimensions.
std::size_t multiplicity(std::string_view factor, const Options& options) {
  const auto heads = options.heads.value_or(1);
  if (factor == "heads") return heads;
  if (factor == "kv-heads") return options.kv_heads.value_or(heads);
  if (factor == "directions") return options.bidirectional ? 2 : 1;
  return 0;
}

/// A query is a token of the target and a key one of the source where there are two texts, else both are of
/// the sentence.
std::string_view text_of(std::string_view dimension, const Lesson& lesson, const Options& options) {
  const bool is_pair = !lesson.uses("sentence") || !options.source.empty() || !options.target.empty();
  if (dimension == "query") return is_pair ? "target" : "sentence";
  if (dimension == "key") return is_pair ? "source" : "sentence";
  return dimension;
}

/// As the trace names it: "token", "head·d_k", or "d_k" where there are no heads.
std::string name_of_axis(std::string_view axis, const Options& options) {
  if (axis == "sentence") return "token";
  constexpr std::string_view of_kv_heads = "kv-heads·", of_heads = "heads·";
  std::string group;
  if (axis.starts_with(of_kv_heads)) {
    axis.remove_prefix(of_kv_heads.size());
    group = options.kv_heads ? "kv_head·" : "head·";
  } else if (axis.starts_with(of_heads)) {
    axis.remove_prefix(of_heads.size());
    group = "head·";
  }
  std::string name(axis);
  std::replace(name.begin(), name.end(), '-', '_');
  return options.heads ? group + name : name;
}

Extent extent_of(std::string_view axis, const Lesson& lesson, const Options& options) {
  constexpr std::string_view times = "·", one_more = "1+";
  Extent extent{.dimension = "", .name = name_of_axis(axis, options)};
  if (axis.starts_with(one_more)) {
    extent.offset = 1;
    axis.remove_prefix(one_more.size());
  }
  while (!axis.empty()) {
    const auto end = std::min(axis.find(times), axis.size());
    const auto factor = axis.substr(0, end);
    axis.remove_prefix(std::min(end + times.size(), axis.size()));
    std::size_t number = multiplicity(factor, options);
    const bool is_last_factor = axis.empty();
    if (number == 0) std::from_chars(factor.data(), factor.data() + factor.size(), number);
    if (number == 0 || (is_last_factor && factor == "heads"))
      extent.dimension = text_of(factor, lesson, options);
    else
      extent.multiplier *= number;
  }
  return extent;
}

}  // namespace

std::optional<std::vector<Extent>> input_shape(const Lesson& lesson, const std::string& id,
                                               const Options& options) {
  const auto* row = row_of(lesson, id);
  if (row == nullptr) return std::nullopt;
  std::vector<Extent> extents;
  for (const auto axis : row->axes) {
    const bool is_optional = axis == "[heads]";
    if (is_optional && !options.heads) continue;
    extents.push_back(extent_of(is_optional ? "heads" : axis, lesson, options));
  }
  return extents;
}

std::optional<std::string_view> option_of_input(const Lesson& lesson, const std::string& id) {
  if (lesson.name == "scaling" && id == "d_k") return "d-k-list";
  if (lesson.name == "scaling" && id == "samples") return "samples";
  if (lesson.name == "complexity" && id == "n") return "lengths";
  if (lesson.name == "complexity" && id == "d") return "d-model";
  return std::nullopt;
}

}  // namespace lessons
