#include "lessons/multihead/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "attn/text/width.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

std::string shape_of(std::initializer_list<std::size_t> extents) {
  return fmt::format("[{}]", fmt::join(extents, "×"));
}

/// A query that looks at one word in head 0 and at another in head 1; of one head the largest share.
std::string what_heads_disagree_on(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto axis = shape.size() - 1;
  const std::size_t keys = shape[axis], queries = shape[axis - 1], heads = shape[axis - 2];
  const auto share = [&](std::size_t head, std::size_t query, std::size_t key) {
    return weights.tensor->at((head * queries + query) * keys + key);
  };
  for (std::size_t query = 0; heads > 1 && query < queries; ++query) {
    const auto first = strongest_in_row(weights, query), second = strongest_in_row(weights, queries + query);
    const auto first_name = name_along(weights, axis, first), second_name = name_along(weights, axis, second);
    if (first_name == second_name) continue;
    return fmt::format("In head 0 \"{}\" looks most at \"{}\" ({:.4f}), in head 1 at \"{}\" ({:.4f}).",
                       name_along(weights, axis - 1, query), first_name, share(0, query, first), second_name,
                       share(1, query, second));
  }
  return strongest_pair(weights);
}

/// What head 0 of the model about looks for, and how far head 1 does the same.
std::string what_trained_heads_look_for(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto rows = shape[shape.size() - 2];
  std::size_t alike = 0, queries = 0;
  for (std::size_t query = 0; query < rows; ++query) {
    if (name_along(weights, shape.size() - 2, query) == "<pad>") continue;
    ++queries;
    alike += strongest_in_row(weights, query) == strongest_in_row(weights, rows + query) ? 1 : 0;
  }
  return fmt::format("{} This is head 0. Head 1 has the same strongest key in {}.",
                     who_is_about_whom(weights),
                     alike == queries ? "every row" : fmt::format("{} of {} rows", alike, queries));
}

/// "columns 4 to 7", "column 1": those of one of the parts that stand side by side.
std::string columns_of_part(std::size_t part, std::size_t width) {
  return width == 1 ? fmt::format("column {}", part)
                    : fmt::format("columns {} to {}", part * width, (part + 1) * width - 1);
}

/// Which columns of `whole` belong to head 0 and to the last head, of `width` columns each.
std::string columns_of_heads(const std::string& whole, std::size_t heads, std::size_t width) {
  if (heads == 1) return fmt::format("There is one head: it has all columns of {}.", whole);
  return fmt::format("Head 0 has {} of {}, head {} has {}.", columns_of_part(0, width), whole, heads - 1,
                     columns_of_part(heads - 1, width));
}

/// Which columns of Q became which head.
std::string about_the_cut(const attn::Event& Q_heads) {
  const auto& shape = Q_heads.tensor->shape;
  return columns_of_heads("Q", shape[shape.size() - 3], shape.back());
}

/// The name of the row whose entry is worked out: `"the"`.
std::string row_worked_out(const attn::Event& event) {
  const auto at = attn::entry_to_work_out(event);
  if (!at) return "i";
  const auto axis = event.axes.size() - 2;
  return fmt::format("\"{}\"", name_along(event, axis, (*at)[axis]));
}

/// Where the numbers of the worked entry of `heads` stand.
std::string where_its_numbers_are(const attn::Event& heads) {
  return fmt::format("Head 0: row {} of {} times column 0 of V_heads (--steps V_heads).",
                     row_worked_out(heads), heads.inputs.at(0));
}

/// What several heads are for, and how many of them have keys of their own.
std::string why_several_heads(const Workbench& bench) {
  const auto h = bench.heads(), kv = bench.kv_heads(), d_k = bench.d_k();
  if (h == 1) return "Here there is one head.";
  return fmt::format(
             "As softmax shares out 1, one head of {} numbers cannot give two words nearly 1 each, but {} "
             "heads of {} can. ",
             h * d_k, h, d_k) +
         (kv == h
              ? fmt::format("Each has its own keys and values (kv_heads={}; with 1 they would share).", kv)
              : fmt::format("Here they share {0} key and value head{1} (kv_heads={0}).", kv,
                            kv == 1 ? "" : "s"));
}

/// Which columns a head owns, and which it shares.
std::string about_columns(const Workbench& bench) {
  return std::string("The matrices of all heads stand side by side: head i has its own columns of W_Q") +
         (bench.kv_heads() == bench.heads() ? ", W_K and W_V" : " and shares those of W_K and W_V") +
         ", called W_Qⁱ, W_Kⁱ, W_Vⁱ (no powers).";
}

/// "head 1: columns 4 to 7 of W_Q and W_K, 8 to 15 of W_V"
std::string columns_of_head(const Workbench& bench, std::size_t head) {
  const auto kv = head * bench.kv_heads() / bench.heads();
  const auto of_Q = columns_of_part(head, bench.d_k());
  const auto without_word = [&](const std::string& columns) {
    constexpr std::string_view word = "columns ";
    return of_Q.starts_with(word) && columns.starts_with(word) ? columns.substr(word.size()) : columns;
  };
  const auto start = fmt::format("head {}: {} of W_Q", head, of_Q);
  const auto range = without_word(of_Q), of_K = without_word(columns_of_part(kv, bench.d_k())),
             of_V = without_word(columns_of_part(kv, bench.d_v()));
  if (range == of_K && of_K == of_V) return start + ", W_K and W_V";
  if (range == of_K) return start + fmt::format(" and W_K, {} of W_V", of_V);
  return start + fmt::format(", {} of W_K", of_K) +
         (of_K == of_V ? " and W_V" : fmt::format(", {} of W_V", of_V));
}

/// Of head 0 and the last head.
std::string columns_of_weights(const Workbench& bench) {
  const auto h = bench.heads();
  return columns_of_head(bench, 0) + (h == 1 ? "" : "\n" + columns_of_head(bench, h - 1));
}

}  // namespace

void choose_multihead_page(Workbench& bench) {
  using attn::in_one_line;
  const auto h = bench.heads(), d_k = bench.d_k(), d_v = bench.d_v();
  const bool see_the_new_word = !bench.options.causal && !bench.options.window;
  const auto about_output = [n = bench.plan.sentence.length(), see_the_new_word](const attn::Event& output) {
    return fmt::format(
        "Row {0} of concat times column 0 of W_O (--steps concat,W_O). One more word adds a row and makes "
        "each head's weights [{1}×{1}]{2}.",
        row_worked_out(output), n + 1, see_the_new_word ? ", so old rows change" : "");
  };
  const auto why_that_root = [h, d_k](const auto&) {
    if (h == 1) return std::string();
    return fmt::format(
        "K_heads is cut out of K in the same way (--steps K_heads). A score is a sum of {1} products, so the "
        "next line divides by √{1} and not by √{0}.",
        h * d_k, d_k);
  };
  std::vector<std::string> claims = {"merge-undoes-split", "equals-separate-heads"};
  if (bench.kv_heads() != bench.heads()) claims.push_back("kv-heads");
  bench.trace.page(
      {{"Q_heads", about_the_cut},
       {"reshape-alone"},
       {"sharing"},
       in_one_line("mask"),
       attn::without_table("scores", why_that_root),
       in_one_line("scaled"),
       in_one_line("masked"),
       {"weights", bench.options.model ? what_trained_heads_look_for : what_heads_disagree_on},
       {"dropped"},
       {"dropout-at-inference"},
       attn::without_table("heads", where_its_numbers_are),
       attn::without_table("concat", [h, d_v](const auto&) { return columns_of_heads("concat", h, d_v); }),
       bench.options.model ? attn::without_table("output", about_output)
                           : attn::OnPage{"output", about_output},
       {"residual"},
       {"normalized"}},
      std::move(claims));
}

void tell_multihead_idea(Workbench& bench) {
  bench.idea("Several attentions, called heads, give each word several mixtures of all words. " +
                 why_several_heads(bench) +
                 (bench.options.model ? " Head 0 is that of self-attention." : "") + "\n" +
                 about_columns(bench) + " Their results are concatenated and mixed by W_O.",
             "MultiHead(X) = Concat(head₀, …, headₕ₋₁) W_O\n"
             "headᵢ = Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)\n" +
                 columns_of_weights(bench));
}

std::vector<std::string> multihead_flow(const Workbench& bench, bool is_masked) {
  const auto n = bench.plan.sentence.length(), h = bench.heads();
  struct Split {
    std::string whole, cut, heads;
  };
  const auto split = [n](std::size_t heads, std::size_t d) {
    return Split{shape_of({n, heads * d}), shape_of({n, heads, d}), shape_of({heads, n, d})};
  };
  const std::array splits = {split(h, bench.d_k()), split(bench.kv_heads(), bench.d_k()),
                             split(bench.kv_heads(), bench.d_v())};
  const auto widest = [&](std::string Split::*shape) {
    std::size_t width = 0;
    for (const auto& one : splits) width = std::max(width, attn::display_width(one.*shape));
    return width;
  };
  const auto whole = widest(&Split::whole), cut = widest(&Split::cut), heads = widest(&Split::heads);
  const std::array starts = {"├ W_Q → Q ", "├ W_K → K ", "└ W_V → V "};
  const std::array ends = {
      std::string("┐"),
      fmt::format("┼ {}softmax → weights {}", is_masked ? "mask → " : "", shape_of({h, n, n})),
      fmt::format("┴ heads {}", shape_of({h, n, bench.d_v()}))};

  auto lines = std::vector{attn::pad_right("X " + shape_of({n, bench.d_model()}), whole + 13) +
                           attn::pad_right("reshape", cut + 3) + "transpose"};
  for (std::size_t i = 0; i < splits.size(); ++i)
    lines.push_back(fmt::format("{}{} → {} → {} {}", starts[i], attn::pad_right(splits[i].whole, whole),
                                attn::pad_right(splits[i].cut, cut), attn::pad_right(splits[i].heads, heads),
                                ends[i]));
  lines.push_back(fmt::format("heads → transpose {} → reshape {} → W_O → output {}",
                              shape_of({n, h, bench.d_v()}), shape_of({n, h * bench.d_v()}),
                              shape_of({n, bench.d_model()})));
  const auto d_model = bench.d_model(), kv = bench.kv_heads();
  lines.push_back(fmt::format("with W_Q {}, W_K {}, W_V {}, W_O {}", shape_of({d_model, h * bench.d_k()}),
                              shape_of({d_model, kv * bench.d_k()}), shape_of({d_model, kv * bench.d_v()}),
                              shape_of({h * bench.d_v(), d_model})));
  return lines;
}

void show_reshape_alone(Workbench& bench, const Tensor<3>& Q) {
  constexpr std::size_t most_rows = 3, most_numbers = 4;
  const auto n = Q.shape(1), h = bench.heads(), d_k = bench.d_k();
  if (h == 1 || n == 1) return;
  const auto tokens = bench.plan.sentence.labels().of(0);
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < std::min(n, most_rows); ++row) {
    const auto token = row / h, first = row % h * d_k;
    std::string numbers;
    for (std::size_t j = first; j < first + std::min(d_k, most_numbers); ++j)
      numbers += fmt::format("{:9.4f}", Q(0, token, j));
    if (d_k > most_numbers) numbers += " …";
    rows.push_back(fmt::format("{}{}   is Q[{}, {}…{}]",
                               attn::pad_right(fmt::format("\"{}\" gets", attn::shorten(tokens[row], 8)), 15),
                               numbers, attn::shorten(tokens[token], 8), first, first + d_k - 1));
  }
  if (n > most_rows) rows.push_back("…");
  bench.trace.note("reshape-alone", "What a reshape without the transpose would give head 0",
                   fmt::format("A reshape from {} straight to {} has the right shape but the wrong rows: it "
                               "cuts each row of Q into {}, and head 0 gets the first {} pieces:",
                               shape_of({n, h * d_k}), shape_of({h, n, d_k}), h, n),
                   fmt::format("{}", fmt::join(rows, "\n")));
}

void try_after_multihead(Workbench& bench) {
  if (bench.options.model)
    return bench.try_next({{"multihead --sentence \"the king who saw the small cats slept\"",
                            "where do the heads look for \"slept\", and what comes out?"},
                           {"multihead --model none --kv-heads 1", "heads share keys and values"},
                           {"positional", "tell attention where the words stand"}},
                          {{"multihead --sentence \"a cat ate the apple because it was hungry\"",
                            "whom does \"hungry\" look at? And \"rotten\" in its place?"}});
  bench.try_next({{"multihead --heads 4", "which shapes change, and which stay?"},
                  {"multihead --kv-heads 1", "both heads read the same keys and values"},
                  {"positional", "tell attention where the words stand"}});
}

}  // namespace lessons
