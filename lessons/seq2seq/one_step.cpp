#include "lessons/seq2seq/one_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

using attn::Index;
using attn::Known;
using attn::Worked;

/// Row t: [batch×a×n×d] → [batch×a×d].
Tensor<3> row_of_each(const Tensor<4>& x, std::size_t t) {
  auto rows = Tensor<3>::from_shape({x.shape(0), x.shape(1), x.shape(3)});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t a = 0; a < x.shape(1); ++a) std::copy_n(&x(b, a, t, 0), x.shape(3), &rows(b, a, 0));
  return rows;
}

/// Σ a(k) · b(k), k < count.
template <class A, class B>
Worked sum_of_products_at(std::size_t count, A a, B b) {
  std::vector<Worked> products;
  for (std::size_t k = 0; k < count; ++k) products.push_back(Worked::product({a(k), b(k)}));
  return Worked::sum(std::move(products));
}

/// What is 0 takes no room.
void add_unless_zero(std::vector<Worked>& terms, Worked term) {
  if (term.value() != 0.0) terms.push_back(std::move(term));
}

/// One step of a decoder. Its numbers are rows of the tensors `decoder/…`, which is where each comes from;
/// its worked entries say how that row follows from the other tensors of this step. Only `energy`, `scaled`
/// and `masked` have no such tensor: they are computed here.
class OneStep {
 public:
  OneStep(Workbench& bench, const Seq2SeqRun& run, std::size_t t)
      : bench_(bench),
        run_(run),
        t_(t),
        width_(state_width(bench)),
        attends_first_(run.weights.decoder.attends_first()),
        has_heads_(attends_as(bench, "multihead")),
        context_(attn::step_of(run.decoder.context, t)),
        h_(attn::step_of(run.decoder.states.h, t)),
        c_(attn::step_of(run.decoder.states.c, t)),
        gates_(row_of_each(run.decoder.gates, t)),
        logits_(attn::step_of(run.decoder.logits, t)) {}

  void show() {
    if (attends_first_) show_query();
    if (attends_first_) attend();
    step();
    if (!attends_first_) attend();
    if (!attends_first_) show_attentional();
    write();
  }

 private:
  std::string states_id() const { return encoder_states_id(bench_); }
  Known<3> states() const { return {states_id(), run_.source.states}; }

  /// Number k of the state or of the memory before.
  Worked before(const char* first_id, const Tensor<2>& first, const char* id, const Tensor<3>& rows,
                std::size_t b, std::size_t k) const {
    return t_ == 0 ? Known<2>{first_id, first}({b, k}) : Known<3>{id, rows}({b, t_ - 1, k});
  }
  Worked state_before(std::size_t b, std::size_t k) const {
    return before("decoder/s_0", run_.encoder.s_0, "decoder/h", run_.decoder.states.h, b, k);
  }
  Worked memory_before(std::size_t b, std::size_t k) const {
    return before("decoder/c_0", run_.encoder.c_0, "decoder/c", run_.decoder.states.c, b, k);
  }
  const char* state_before_id() const { return t_ == 0 ? "decoder/s_0" : "decoder/h"; }

  /// Number k of the state that asks.
  Worked query(std::size_t b, std::size_t k) const {
    return attends_first_ ? Known<2>{"query", query_}({b, k}) : Known<2>{"h", h_}({b, k});
  }

  void show_query() {
    query_ = t_ == 0 ? run_.encoder.s_0 : attn::step_of(run_.decoder.states.h, t_ - 1);
    if (asks_with_word(bench_)) return show_query_with_word();
    query_ = bench_.trace.step(
        {.id = "query",
         .title = "The state before asks",
         .formula = t_ == 0 ? "decoder/s_0" : fmt::format("row {} of decoder/h", t_ - 1),
         .from = {state_before_id()},
         .axes = {"hidden"},
         .note = "The cell has not made its step yet, so there is no other state to ask with.",
         .worked = [this](const Index& at) { return state_before(at[0], at[1]); }},
        query_);
  }

  void show_query_with_word() {
    const auto y = attn::step_of(run_.X_target, t_);
    auto both = Tensor<2>::from_shape({query_.shape(0), width_ + y.shape(1)});
    for (std::size_t b = 0; b < both.shape(0); ++b) {
      std::copy_n(&query_(b, 0), width_, &both(b, 0));
      std::copy_n(&y(b, 0), y.shape(1), &both(b, width_));
    }
    query_ = bench_.trace.step(
        {.id = "query",
         .title = "The state before and the word read ask",
         .formula = fmt::format("[{}; row {} of X_target]",
                                t_ == 0 ? "decoder/s_0" : fmt::format("row {} of decoder/h", t_ - 1), t_),
         .from = {state_before_id(), "X_target"},
         .axes = {"feature"},
         .note = "The cell has not made its step yet, so there is no other state to ask with.",
         .worked =
             [this](const Index& at) {
               return at[1] < width_ ? state_before(at[0], at[1])
                                     : Known<3>{"X_target", run_.X_target}({at[0], t_, at[1] - width_});
             }},
        both);
  }

  void attend() {
    if (run_.weights.decoder.attention.v_a) show_energy();
    if (has_heads_)
      show_weights<3>(row_of_each(run_.decoder.scores, t_), row_of_each(run_.decoder.weights, t_),
                      {"head", "source"});
    else
      show_weights<2>(attn::step_of(first_head(run_.decoder.scores), t_),
                      attn::step_of(first_head(run_.decoder.weights), t_), {"source"});
    show_context();
  }

  /// With a model, the source word that this step looks at and `further`.
  std::optional<Index> where_it_looks(const Index& further) const {
    if (!bench_.options.model || has_heads_) return std::nullopt;
    const auto& weights = run_.decoder.weights;
    std::size_t most = 0;
    for (std::size_t j = 1; j < weights.shape(3); ++j)
      if (weights(0, 0, t_, j) > weights(0, 0, t_, most)) most = j;
    Index at = {most};
    for (const auto place : further) at.push_back(place);
    return at;
  }

  /// With a model, the word that is likeliest to come.
  std::optional<Index> the_likeliest() const {
    if (!bench_.options.model) return std::nullopt;
    const double* const row = &logits_(0, 0);
    return Index{attn::argmax(row, logits_.shape(1))};
  }

  static Tensor<3> first_head(const Tensor<4>& x) {
    auto head = Tensor<3>::from_shape({x.shape(0), x.shape(2), x.shape(3)});
    std::copy_n(x.data(), x.size(), head.data());
    return head;
  }

  /// tanh of what the query and each state add up to, for the scores of bahdanau and luong-concat.
  void show_energy() {
    const auto& weights = run_.weights.decoder.attention;
    const auto &W_q = weights.W_q, &W_k = weights.W_k, &W_a = weights.W_a;
    const bool is_one_matrix = W_a.has_value();
    const auto id_q = is_one_matrix ? "attention/W_a" : "attention/W_q";
    const auto id_k = is_one_matrix ? "attention/W_a" : "attention/W_k";
    const Known<2> query_weight{id_q, is_one_matrix ? *W_a : *W_q},
        state_weight{id_k, is_one_matrix ? *W_a : *W_k};
    const std::size_t lower = is_one_matrix ? width_ : 0;
    const std::size_t asking = attends_first_ ? query_.shape(1) : width_;
    const auto sum = [=, &weights, this](const Index& at) {
      const auto b = at[0], j = at[1], a = at[2];
      std::vector<Worked> terms = {sum_of_products_at(
                                       asking, [&](auto k) { return query(b, k); },
                                       [&](auto k) {
                                         return query_weight({k, a});
                                       }),
                                   sum_of_products_at(
                                       width_,
                                       [&](auto k) {
                                         return states()({b, j, k});
                                       },
                                       [&](auto k) {
                                         return state_weight({lower + k, a});
                                       })};
      if (weights.b_q) terms.push_back(Known<1>{"attention/b_q", *weights.b_q}({a}));
      if (weights.b_k) terms.push_back(Known<1>{"attention/b_k", *weights.b_k}({a}));
      if (weights.b_a) terms.push_back(Known<1>{"attention/b_a", *weights.b_a}({a}));
      return Worked::sum(std::move(terms));
    };
    energy_ = Tensor<3>(run_.source.keys.shape());
    for (std::size_t b = 0; b < energy_.shape(0); ++b)
      for (std::size_t a = 0; a < energy_.shape(2); ++a) {
        double of_query = 0.0;
        for (std::size_t k = 0; k < asking; ++k) of_query += query(b, k).value() * query_weight.tensor(k, a);
        if (weights.b_q) of_query += (*weights.b_q)(a);
        for (std::size_t j = 0; j < energy_.shape(1); ++j)
          energy_(b, j, a) = std::tanh(of_query + run_.source.keys(b, j, a));
      }
    std::vector<std::string> from = {attends_first_ ? "query" : "h", states_id(), id_q};
    if (!is_one_matrix) from.emplace_back(id_k);
    const auto bias = [&](const char* name) { return plus_bias(bench_, name); };
    energy_ = bench_.trace.step(
        {.id = "energy",
         .title = "A small network compares it with each source word",
         .formula = is_one_matrix
                        ? fmt::format("tanh([h; {}] W_a{})", states_id(), bias("a"))
                        : fmt::format("tanh(query W_q{} + {} W_k{})", bias("q"), states_id(), bias("k")),
         .from = from,
         .axes = {"source", "d_a"},
         .worked = [sum](const Index& at) { return tanh(sum(at)); },
         .worked_at = where_it_looks({0})},
        energy_);
  }

  /// Number c of x W_Q, and + b_Q, for `name` "Q".
  template <class X>
  Worked projected(const std::string& name, const LinearMap& map, std::size_t c, X x) const {
    auto product = sum_of_products_at(width_, x, [&](auto k) {
      return Known<2>{"attention/W_" + name, map.W}({k, c});
    });
    if (!map.b) return product;
    return Worked::sum({std::move(product), Known<1>{"attention/b_" + name, *map.b}({c})});
  }

  /// The score of source word at.back(), in head at[1] where there are heads.
  Worked score(const Index& at) const {
    const auto& weights = run_.weights.decoder.attention;
    const auto b = at[0], j = at.back();
    const auto state = [&](auto k) { return states()({b, j, k}); };
    if (has_heads_) {
      const auto d_k = width_ / bench_.heads(), first = at[1] * d_k;
      const auto& heads = *weights.multihead;
      return sum_of_products_at(
          d_k,
          [&](auto c) { return projected("Q", heads.Q(), first + c, [&](auto k) { return query(b, k); }); },
          [&](auto c) { return projected("K", heads.K(), first + c, state); });
    }
    if (weights.v_a)
      return sum_of_products_at(
          weights.v_a->size(),
          [&](auto a) {
            return Known<3>{"energy", energy_}({b, j, a});
          },
          [&](auto a) {
            return Known<1>{"attention/v_a", *weights.v_a}({a});
          });
    if (!weights.W_a)
      return sum_of_products_at(
          width_, [&](auto k) { return query(b, k); }, state);
    return sum_of_products_at(
        width_, [&](auto k) { return projected("a", weights.a(), k, [&](auto i) { return query(b, i); }); },
        state);
  }

  std::string score_formula() const {
    const auto& weights = run_.weights.decoder.attention;
    if (has_heads_) return "(h W_Q)ᵢ · (" + states_id() + " W_K)ᵢ";
    if (weights.v_a) return "energy v_a";
    const auto bias = plus_bias(bench_, "a");
    if (!bias.empty()) return fmt::format("(h W_a{}) · {}", bias, states_id());
    return weights.W_a ? "h W_a · " + states_id() : "h · " + states_id();
  }

  template <std::size_t N>
  void show_weights(Tensor<N> scores, Tensor<N> weights, const std::vector<std::string>& axes) {
    scores = bench_.trace.step({.id = "scores",
                                .title = attends_first_ ? "How well each source word matches"
                                                        : "Attend: how well each source word matches",
                                .formula = score_formula(),
                                .from = {"decoder/scores"},
                                .axes = axes,
                                .worked = [this](const Index& at) { return score(at); },
                                .worked_at = where_it_looks({})},
                               scores);
    std::string last = "scores";
    if (has_heads_) {
      scores = show_scaled<N>(scores, axes);
      last = "scaled";
    }
    if (run_.source.is_padded()) {
      scores = show_masked<N>(scores, axes, last);
      last = "masked";
    }
    weights = bench_.trace.step({.id = "weights",
                                 .title = "As shares of attention",
                                 .formula = "softmax(" + last + ")",
                                 .from = {"decoder/weights"},
                                 .axes = axes,
                                 .distribution = true,
                                 .worked = attn::worked_softmax(Known<N>{last, scores}),
                                 .worked_at = where_it_looks({})},
                                weights);
    if constexpr (N == 2) weights_ = weights;
  }

  template <std::size_t N>
  Tensor<N> show_scaled(const Tensor<N>& scores, const std::vector<std::string>& axes) {
    const auto d_k = width_ / bench_.heads();
    const double root = std::sqrt(static_cast<double>(d_k));
    return bench_.trace.step(
        {.id = "scaled",
         .title = "Divided by √d_k",
         .formula = fmt::format("scores / √{}", d_k),
         .from = {"scores"},
         .axes = axes,
         .worked = attn::worked_divide(Known<N>{"scores", scores}, sqrt(Worked(static_cast<double>(d_k))))},
        attn::divide(scores, root));
  }

  template <std::size_t N>
  Tensor<N> show_masked(Tensor<N> scores, const std::vector<std::string>& axes, const std::string& last) {
    const std::size_t words = scores.shape().back(), rows = scores.size() / words / run_.lengths.size();
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (i % words >= run_.lengths[i / words / rows]) scores.data()[i] = -INFINITY;
    return bench_.trace.step({.id = "masked",
                              .title = "Padding gets −∞",
                              .formula = last + " where mask, −∞ elsewhere",
                              .from = {last, "mask"},
                              .axes = axes,
                              .worked = attn::Known<N>{last, scores}},
                             scores);
  }

  void show_context() {
    attn::About about = {.id = "context",
                         .title = "A mixture of the states",
                         .formula = "weights · " + states_id(),
                         .from = {"decoder/context"},
                         .axes = {"hidden"}};
    if (has_heads_) {
      about.formula = fmt::format("[head₁; …; headₕ] W_O{}, headᵢ = weightsᵢ ({} W_V{})ᵢ",
                                  plus_bias(bench_, "O"), states_id(), plus_bias(bench_, "V"));
      about.note = "No entry is worked out: the lesson multihead shows the values of the heads one by one.";
    } else {
      about.worked = [this](const Index& at) {
        return sum_of_products_at(
            weights_.shape(1),
            [&](auto j) {
              return Known<2>{"weights", weights_}({at[0], j});
            },
            [&](auto j) {
              return states()({at[0], j, at[1]});
            });
      };
    }
    context_ = bench_.trace.step(about, context_);
  }

  /// What goes into a gate before σ or tanh.
  Worked gate_sum(const Index& at) const {
    const auto& weights = run_.weights.decoder.lstm;
    const Known<2> W_ih{"decoder/W_ih", weights.W_ih}, W_hh{"decoder/W_hh", weights.W_hh};
    const Known<1> b_ih{"decoder/b_ih", weights.b_ih}, b_hh{"decoder/b_hh", weights.b_hh};
    const Known<3> words{"X_target", run_.X_target};
    const Known<2> context{"context", context_};
    const auto b = at[0], row = at[1] * width_ + at[2], d_model = bench_.d_model();
    std::vector<Worked> terms;
    for (std::size_t k = 0; k < weights.W_ih.shape(1); ++k)
      terms.push_back(
          Worked::product({k < d_model ? words({b, t_, k}) : context({b, k - d_model}), W_ih({row, k})}));
    for (std::size_t k = 0; k < width_; ++k)
      terms.push_back(Worked::product({state_before(b, k), W_hh({row, k})}));
    add_unless_zero(terms, b_ih({row}));
    add_unless_zero(terms, b_hh({row}));
    return Worked::sum(std::move(terms));
  }

  void step() {
    constexpr std::size_t candidate = 2;
    auto& trace = bench_.trace;
    trace.label("gate", {{{"input", "forget", "new", "output"}}});
    const std::string reads = attends_first_ ? "[y; context]" : "y",
                      before = attends_first_ && !asks_with_word(bench_) ? "query" : "h before";
    gates_ = trace.step(
        {.id = "gates",
         .title = "The gates, and what is new",
         .formula = fmt::format("σ(a), row new: tanh(a)\na = W_ih {} + W_hh {} + b", reads, before),
         .from = {"decoder/i", "decoder/f", "decoder/g", "decoder/o"},
         .axes = {"gate", "hidden"},
         .note = fmt::format(
             "W_ih [{0}×{1}] and W_hh [{0}×{2}], on the left as in PyTorch, make {0} numbers, cut into four "
             "rows of {2}: input i, forget f, new g, output o. i, f and o go through σ(x) = 1 / (1 + e⁻ˣ), g "
             "through tanh. y is row {3} of X_target, the vector of {4}. b is b_ih + b_hh.",
             4 * width_, bench_.d_model() + (attends_first_ ? width_ : 0), width_, t_, word_read(bench_, t_)),
         .worked =
             [this](const Index& at) {
               return at[1] == candidate ? tanh(gate_sum(at)) : sigmoid(gate_sum(at));
             }},
        gates_);
    const auto gate = [this](std::size_t name, const Index& at) {
      return Known<3>{"gates", gates_}({at[0], name, at[1]});
    };
    c_ = trace.step(
        {.id = "c",
         .title = "The memory: kept + written",
         .formula = t_ == 0 ? "f ∘ c_0 + i ∘ g" : "f ∘ c before + i ∘ g",
         .from = {"decoder/c"},
         .axes = {"hidden"},
         .note = t_ == 0 ? "c_0 is the encoder's last memory."
                         : fmt::format("c before is row {} of decoder/c, the memory after the step before.",
                                       t_ - 1),
         .worked =
             [=, this](const Index& at) {
               return Worked::sum({Worked::product({gate(1, at), memory_before(at[0], at[1])}),
                                   Worked::product({gate(0, at), gate(candidate, at)})});
             }},
        c_);
    h_ = trace.step({.id = "h",
                     .title = "The new state",
                     .formula = "o ∘ tanh(c)",
                     .from = {"decoder/h"},
                     .axes = {"hidden"},
                     .worked =
                         [=, this](const Index& at) {
                           return Worked::product({gate(3, at), tanh(Known<2>{"c", c_}({at[0], at[1]}))});
                         }},
                    h_);
  }

  /// Number k of [first; second].
  static Worked joined_at(const Known<2>& first, const Known<2>& second, std::size_t b, std::size_t k) {
    const auto length = first.tensor.shape(1);
    return k < length ? first({b, k}) : second({b, k - length});
  }

  void show_attentional() {
    const Known<2> context{"context", context_}, h{"h", h_}, W_c{"attention/W_c", *run_.weights.decoder.W_c};
    const auto& b_c = run_.weights.decoder.b_c;
    attentional_ =
        bench_.trace.step({.id = "attentional",
                           .title = "Context and state in one vector",
                           .formula = fmt::format("tanh([context; h] W_c{})", plus_bias(bench_, "c")),
                           .from = {"decoder/attentional"},
                           .axes = {"hidden"},
                           .worked =
                               [=, &b_c, this](const Index& at) {
                                 std::vector<Worked> terms = {sum_of_products_at(
                                     2 * width_, [&](auto k) { return joined_at(context, h, at[0], k); },
                                     [&](auto k) {
                                       return W_c({k, at[1]});
                                     })};
                                 if (b_c) terms.push_back(Known<1>{"attention/b_c", *b_c}({at[1]}));
                                 return tanh(Worked::sum(std::move(terms)));
                               }},
                          attn::step_of(*run_.decoder.attentional, t_));
  }

  /// Number k of what is read out.
  Worked read_out(std::size_t b, std::size_t k) const {
    return attends_first_ ? joined_at({"h", h_}, {"context", context_}, b, k)
                          : Known<2>{"attentional", attentional_}({b, k});
  }

  void write() {
    const auto& decoder = run_.weights.decoder;
    const Known<2> output{"output/W", decoder.W};
    logits_ =
        bench_.trace.step({.id = "logits",
                           .title = "Write: a number for each word",
                           .formula = std::string(attends_first_ ? "[h; context] W" : "attentional W") +
                                      (decoder.b ? " + b" : ""),
                           .from = {"decoder/logits"},
                           .axes = {"vocabulary"},
                           .worked =
                               [this, output](const Index& at) {
                                 std::vector<Worked> terms;
                                 for (std::size_t k = 0; k < output.tensor.shape(0); ++k)
                                   terms.push_back(Worked::product({read_out(at[0], k), output({k, at[1]})}));
                                 if (const auto& bias = run_.weights.decoder.b)
                                   add_unless_zero(terms, Known<1>{"output/b", *bias}({at[1]}));
                                 return Worked::sum(std::move(terms));
                               }},
                          logits_);
    bench_.trace.step({.id = "probabilities",
                       .title = "The next word",
                       .formula = "softmax(logits)",
                       .from = {"decoder/probabilities"},
                       .axes = {"vocabulary"},
                       .worked = attn::worked_softmax(Known<2>{"logits", logits_}),
                       .worked_at = the_likeliest()},
                      attn::step_of(run_.decoder.probabilities, t_));
  }

  Workbench& bench_;
  const Seq2SeqRun& run_;
  std::size_t t_, width_;
  bool attends_first_, has_heads_;
  Tensor<2> query_{}, weights_{}, context_, h_, c_, attentional_{};
  Tensor<3> energy_{}, gates_;
  Tensor<2> logits_;
};

/// What is multiplied in an entry of the energy.
std::string about_energy(const Workbench& bench) {
  const auto width = state_width(bench), d_a = *bench.options.d_a;
  const auto text =
      fmt::format("The energy is what the lesson scoring calls hidden: {} number{} (d_a) a word.", d_a,
                  d_a == 1 ? "" : "s");
  if (!attends_before_the_cell(bench.options)) return text;
  const auto asking = width + (asks_with_word(bench) ? bench.d_model() : 0);
  return text +
         fmt::format(" The first {0} products are with W_q [{0}×{1}], the other {2} with W_k [{2}×{1}].",
                     asking, d_a, width);
}

/// Where v_a comes from, where there is one.
std::string remark_on_scores(const Workbench& bench) {
  if (!compares_by_energy(bench)) return "";
  return fmt::format("v_a [{}] is learned. It makes one score of the {} numbers of a word.",
                     *bench.options.d_a, *bench.options.d_a);
}

/// What the context of a step is made of.
std::string about_context(const Workbench& bench, const attn::Event& context) {
  return fmt::format("{} numbers, as in a row of {}, however long the source is.",
                     context.tensor->shape.back(), encoder_states_id(bench));
}

/// What the decoder makes of the probabilities of one sentence.
std::string about_the_likeliest(const attn::Event& probabilities, bool has_target) {
  const auto& shares = *probabilities.tensor;
  if (shares.shape.size() != 1) return "";
  std::size_t likeliest = 0;
  for (std::size_t i = 1; i < shares.shape[0]; ++i)
    if (shares.at(i) > shares.at(likeliest)) likeliest = i;
  const auto word = name_along(probabilities, 0, likeliest);
  return has_target ? fmt::format(
                          "The likeliest is “{}”, whatever word is right: nothing is trained. Training "
                          "raises the share of the right word.",
                          word)
                    : fmt::format("The likeliest, “{}”, is the word that it writes.", word);
}

/// The likeliest words of the one row, as far as four decimals tell them from 0.
std::string about_the_likeliest_few(const attn::Event& probabilities) {
  constexpr std::size_t most = 3;
  constexpr double least = 1e-4;
  const auto& shares = *probabilities.tensor;
  if (shares.shape.size() != 1) return "";
  std::vector<std::size_t> words(shares.shape[0]);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
  const auto count = std::min(most, words.size());
  std::partial_sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), words.end(),
                    [&](std::size_t a, std::size_t b) {
                      return shares.at(a) != shares.at(b) ? shares.at(a) > shares.at(b) : a < b;
                    });
  std::string text;
  std::size_t told = 0;
  for (; told < count && (told == 0 || shares.at(words[told]) >= least); ++told)
    text += fmt::format("{}“{}” {:.4f}", told == 0 ? "" : ", ", name_along(probabilities, 0, words[told]),
                        shares.at(words[told]));
  const auto others = told < count ? fmt::format(" Every other has less than {}.", least) : "";
  return fmt::format("The likeliest of {} words: {}.{}", words.size(), text, others);
}

/// The steps of a trained model, whose tables of many columns are not on the page: what becomes of the
/// context the note `one-step` says.
std::vector<attn::OnPage> trained_step_on_page(const Workbench& bench) {
  return {{"one-step"},
          {"code"},
          attn::without_table("one-step/energy", [text = about_energy(bench)](const auto&) { return text; }),
          {"one-step/scores", [text = remark_on_scores(bench)](const auto&) { return text; }},
          attn::in_one_line("one-step/masked"),
          attn::without_table("one-step/weights"),
          attn::without_table("one-step/context",
                              [&bench](const attn::Event& context) { return about_context(bench, context); }),
          attn::without_table("one-step/probabilities", about_the_likeliest_few)};
}

}  // namespace

std::string word_read(const Workbench& bench, std::size_t t) {
  if (t == 0) return std::string(attn::start_token);
  const auto& target = bench.plan.target;
  return target.size() == 1 ? fmt::format("“{}”", target.tokens[0][t - 1]) : "the word before";
}

std::size_t step_to_walk_through(const std::vector<std::size_t>& lengths) {
  const auto last = *std::min_element(lengths.begin(), lengths.end()) - 1;
  return std::min(last, std::max<std::size_t>(1, last / 2));
}

void show_one_step(Workbench& bench, const Seq2SeqRun& run, std::size_t t) {
  bench.trace.within("one-step", [&] { OneStep(bench, run, t).show(); });
}

std::vector<attn::OnPage> one_step_on_page(const Workbench& bench) {
  if (bench.options.model) return trained_step_on_page(bench);
  const bool has_target = bench.plan.target.size() > 0;
  const std::vector<attn::OnPage> attend = {
      attn::in_one_line("one-step/query"),
      {"one-step/energy", [text = about_energy(bench)](const auto&) { return text; }},
      {"one-step/scores"},
      attn::in_one_line("one-step/scaled"),
      attn::in_one_line("one-step/masked"),
      {"one-step/weights"},
      {"one-step/context"}};
  const std::vector<attn::OnPage> step = {
      {"one-step/gates"},
      attn::in_one_line("one-step/c"),
      attends_before_the_cell(bench.options) ? attn::in_one_line("one-step/h") : attn::OnPage{"one-step/h"}};
  std::vector<attn::OnPage> page = {{"one-step"}, {"code"}};
  const auto add = [&](const std::vector<attn::OnPage>& steps) {
    page.insert(page.end(), steps.begin(), steps.end());
  };
  const bool attends_first = attends_before_the_cell(bench.options);
  add(attends_first ? attend : step);
  add(attends_first ? step : attend);
  add({{"one-step/attentional"},
       attn::in_one_line("one-step/logits"),
       {"one-step/probabilities", [has_target](const attn::Event& probabilities) {
          return about_the_likeliest(probabilities, has_target);
        }}});
  return page;
}

}  // namespace lessons
