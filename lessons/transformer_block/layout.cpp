#include "lessons/transformer_block/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/text/width.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/transformer_block/sublayers.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

using attn::Activation;

namespace {

/// The steps of attention in the group `group`: earlier lessons taught them.
std::vector<attn::OnPage> attention_on_page(const std::string& group) {
  std::vector<attn::OnPage> steps;
  for (const auto* id : {"mask", "Q", "K", "V", "scores", "scaled", "masked", "weights", "heads"})
    steps.push_back(attn::in_one_line(group + "/" + id));
  steps.push_back({group + "/output", [](const attn::Event& output) {
                     return output.note + (output.note.empty() ? "" : " ") +
                            "A query is a token that asks: the rows are those of the tokens.";
                   }});
  return steps;
}

std::size_t zeros_of(const attn::TensorView& tensor) {
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < attn::element_count(tensor.shape); ++i) zeros += tensor.at(i) == 0.0 ? 1 : 0;
  return zeros;
}

/// Of ReLU's output: how many numbers are 0.
std::string count_zeros(const attn::Event& hidden) {
  constexpr const char* what_0_does = " Where a token has a 0, that row of W_2 adds nothing.";
  const auto zeros = zeros_of(*hidden.tensor);
  return fmt::format("{} {} of the {} numbers are 0.{}", hidden.note, zeros,
                     attn::element_count(hidden.tensor->shape), zeros > 0 ? what_0_does : "");
}

/// The row that is worked out: its mean and variance, and what is made of the number.
std::string about_layer_norm(const attn::Event& norm) {
  const auto& shape = norm.tensor->shape;
  const auto axis = shape.size() - 2;
  const auto word = name_along(norm, axis, attn::token_to_work_out(shape[axis]));
  return fmt::format(
      "LN(x) = (x − mean) / √(variance + 1e−05) · gain + bias\n"
      "Mean and variance v are those of row \"{}\" of residual_1. The 1e−05 keeps the root from being 0. "
      "Before the learned gain and bias the row has mean 0 and variance v / (v + 1e−05), nearly 1. After "
      "them it has others.",
      word);
}

/// Where the number that a sublayer adds comes from, and the row that the layer norm is worked out on.
std::string about_residual(const attn::Event& residual) {
  constexpr std::size_t most_numbers = 8;
  const auto& shape = residual.tensor->shape;
  const auto axis = shape.size() - 2, d = shape.back();
  const auto row = attn::token_to_work_out(shape[axis]);
  const auto word = name_along(residual, axis, row);
  std::string numbers;
  for (std::size_t j = 0; j < d && d <= most_numbers; ++j)
    numbers += fmt::format("{}{}", j == 0 ? "" : ", ",
                           attn::worked_number({{}, residual.tensor->at(row * d + j)}, 4));
  return fmt::format("The second number is {0}[{1}, 0]. The row \"{1}\" of {2}:{3}", residual.inputs.at(1),
                     word, residual.id,
                     numbers.empty() ? fmt::format(" --steps {}.", residual.id) : "\n" + numbers);
}

/// What ReLU is for, and how many numbers it cuts off.
std::string about_relu(const Workbench& bench, const attn::Event& hidden) {
  return fmt::format(
      "max(0, …) is called ReLU. It sets negatives to 0, here {0} of {1}. Without it W_1 and W_2 would do no "
      "more than one matrix [{2}×{2}].",
      zeros_of(*hidden.tensor), attn::element_count(hidden.tensor->shape), bench.d_model());
}

/// Where the numbers of the sum of the network's second layer stand.
std::string about_ffn_output(const attn::Event& output) {
  const auto& shape = output.tensor->shape;
  const auto axis = shape.size() - 2;
  return fmt::format("First factors: row \"{}\" of ffn/hidden (--steps ffn/hidden), 0s left out.",
                     name_along(output, axis, attn::token_to_work_out(shape[axis])));
}

/// What becomes of the shapes in a longer sentence.
std::string about_one_word_more(const Workbench& bench) {
  return bench.options.causal
             ? "One more word adds a row to X and output. The old rows stay."
             : "One more word adds a row to X and output and changes the old rows of output.";
}

/// The page with trained weights: attention whole, and sums without their tables.
void choose_trained_block_page(Workbench& bench) {
  using attn::in_one_line;
  const bool is_relu = activation_of(bench) == Activation::relu;
  const attn::Notice about_relu_here = [&bench](const auto& hidden) { return about_relu(bench, hidden); };
  std::vector<attn::OnPage> page = {in_one_line("X"), {"attention-recalled"}};
  for (const auto* id : {"mask", "scaled", "masked"})
    page.push_back(in_one_line(std::string("attention/") + id));
  page.push_back({"attention/weights", who_is_about_whom});
  page.push_back(in_one_line("attention/heads"));
  page.push_back(in_one_line("attention/output"));
  page.push_back(attn::without_table("residual_1", about_residual));
  page.push_back(attn::without_table("norm_1", about_layer_norm));
  page.push_back(attn::without_table("ffn/hidden", is_relu ? about_relu_here : attn::Notice(count_zeros)));
  page.push_back(attn::without_table("ffn/output", about_ffn_output));
  page.push_back(attn::without_table("residual_2", about_residual));
  page.push_back(attn::without_table("output", [&bench](const auto&) { return about_one_word_more(bench); }));
  page.push_back({"norm-order"});
  page.push_back({"stack"});
  bench.trace.page(
      page, {"attention/rows-sum-to-1", "norm_1/mean-and-variance", "ffn/mixes-no-tokens", "no-look-ahead"});
}

}  // namespace

void choose_block_page(Workbench& bench) {
  const bool is_post = norm_order_of(bench) == NormOrder::post;
  if (bench.options.model && is_post && !bench.options.memory) return choose_trained_block_page(bench);
  std::vector<attn::OnPage> page = {{"decoder-is-causal"}, {"X"}};
  const auto add_sublayer = [&](const std::vector<attn::OnPage>& steps, const char* residual,
                                const char* norm) {
    if (!is_post) page.push_back({norm});
    page.insert(page.end(), steps.begin(), steps.end());
    page.push_back({residual});
    if (is_post) page.push_back({norm});
  };
  add_sublayer(attention_on_page("attention"), "residual_1", "norm_1");
  page.push_back({"norm-order"});
  page.push_back(attn::in_one_line("memory"));
  add_sublayer(attention_on_page("cross"), "residual_cross", "norm_cross");
  const attn::OnPage hidden = {"ffn/hidden",
                               activation_of(bench) == Activation::relu ? count_zeros : attn::Notice()};
  add_sublayer({hidden, {"ffn/output"}}, "residual_2", is_post ? "output" : "norm_2");
  if (!is_post) page.push_back(attn::in_one_line("output"));
  bench.trace.page(page, {"attention/rows-sum-to-1", "norm_1/mean-and-variance", "output/mean-and-variance",
                          "norm_2/mean-and-variance", "ffn/mixes-no-tokens", "ffn/gelu-is-near-relu",
                          "straight-way", "no-look-ahead"});
}

namespace {

/// "X [4×4] ┬→ attention → + → LN → norm_1 [4×4]", and below it the way around the sublayer.
void add_sublayer_flow(std::vector<std::string>& lines, NormOrder order, const std::string& x,
                       const std::string& sublayer, const std::string& result) {
  const bool is_post = order == NormOrder::post;
  const auto way = fmt::format("┬→ {}{} → ", is_post ? "" : "LN → ", sublayer);
  lines.push_back(x + " " + way + "+ → " + (is_post ? "LN → " : "") + result);
  auto around = std::string(attn::display_width(x) + 1, ' ') + "└";
  for (std::size_t i = 1; i < attn::display_width(way); ++i) around += "─";
  lines.push_back(around + "┘");
}

}  // namespace

std::vector<std::string> block_flow(const Workbench& bench) {
  const auto order = norm_order_of(bench);
  const bool has_memory = bench.options.memory.has_value();
  const auto rows = [&](const std::string& name) {
    return fmt::format("{} [{}×{}]", name, bench.plan.sentence.length(), bench.d_model());
  };
  const std::string prefix = order == NormOrder::post ? "norm_" : "residual_";
  const auto attended = rows(prefix + "1"), looked = has_memory ? rows(prefix + "cross") : attended;
  std::vector<std::string> lines;
  add_sublayer_flow(lines, order, rows("X"), fmt::format("attention, heads={}", bench.heads()), attended);
  if (has_memory)
    add_sublayer_flow(lines, order, attended,
                      fmt::format("attention to memory [{}×{}]", bench.plan.memory.length(), bench.d_model()),
                      looked);
  add_sublayer_flow(lines, order, looked,
                    fmt::format("W_1 → {} [{}×{}] → W_2", bench.options.activation,
                                bench.plan.sentence.length(), *bench.options.d_ff),
                    rows("output"));
  const auto d = bench.d_model(), d_ff = *bench.options.d_ff;
  const auto attention = "with " + shapes_of_projections(bench) + ",",
             network = fmt::format("W_1 [{0}×{1}], W_2 [{1}×{0}]", d, d_ff);
  if (attn::display_width(attention + network) < 78)
    lines.push_back(attention + " " + network);
  else
    lines.insert(lines.end(), {attention, "     " + network});
  return lines;
}

}  // namespace lessons
