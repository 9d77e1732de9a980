#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "attn/attention.hpp"
#include "lessons/lesson.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/watches.hpp"

using attn::Tensor;
using Catch::Contains;
using lessons::Options;

namespace {

constexpr std::size_t d_model = 3, hidden = 2;

const std::vector<std::string> ways_to_attend = {"bahdanau",      "bahdanau-input", "luong-dot",
                                                 "luong-general", "luong-concat",   "multihead"};

const lessons::Lesson& seq2seq() {
  const auto& all = lessons::all_lessons();
  return **std::find_if(all.begin(), all.end(), [](const auto* lesson) { return lesson->name == "seq2seq"; });
}

/// Remembers which claims held, and the elements of each step.
class Recorder : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    if (event.kind == attn::Kind::claim) (event.measurement->holds() ? held : failed).insert(event.id);
    if (event.kind != attn::Kind::step) return;
    ids.push_back(event.id);
    for (std::size_t i = 0; i < attn::element_count(event.tensor->shape); ++i)
      steps[event.id].push_back(event.tensor->at(i));
  }
  std::set<std::string> held, failed;
  std::vector<std::string> ids;
  std::map<std::string, std::vector<double>> steps;
};

Options options_of(const std::string& attention, const std::string& dtype = "float64") {
  Options options;
  options.source = {"a b c d", "e f"};
  options.target = {"u v", "w"};
  options.d_model = d_model;
  options.hidden = hidden;
  options.d_a = 2;
  options.attention = attention;
  options.dtype = dtype;
  return options;
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

TEST_CASE("a cell is made of its gates", "[seq2seq]") {
  const attn::LstmParameters weights = {.W_ih = Tensor<2>{{1.0}, {2.0}, {3.0}, {4.0}},
                                        .W_hh = Tensor<2>{{0.1}, {0.2}, {0.3}, {0.4}},
                                        .b_ih = Tensor<1>{0.01, 0.02, 0.03, 0.04},
                                        .b_hh = Tensor<1>{0.5, 0.6, 0.7, 0.8}};
  const Tensor<2> x = {{0.5}}, h = {{-1.0}}, c = {{2.0}};
  const auto state = attn::lstm_cell(x, h, c, weights);
  const double i = sigmoid(0.5 - 0.1 + 0.51), f = sigmoid(1.0 - 0.2 + 0.62);
  const double g = std::tanh(1.5 - 0.3 + 0.73), o = sigmoid(2.0 - 0.4 + 0.84);
  CHECK(state.c(0, 0) == Approx(f * 2.0 + i * g).epsilon(1e-14));
  CHECK(state.h(0, 0) == Approx(o * std::tanh(f * 2.0 + i * g)).epsilon(1e-14));
}

TEST_CASE("gates driven beyond the range of exp saturate", "[seq2seq]") {
  const attn::LstmParameters weights = {.W_ih = Tensor<2>{{-1e6}, {1e6}, {1e6}, {-1e6}},
                                        .W_hh = Tensor<2>{{1.0}, {2.0}, {3.0}, {4.0}}};
  const Tensor<2> x = {{1.0}}, h = {{0.0}}, c = {{2.0}};
  const auto state = attn::lstm_cell(x, h, c, weights);
  CHECK(state.c(0, 0) == 2.0);
  CHECK(state.h(0, 0) == 0.0);
}

TEST_CASE("greedy decoding reads what it writes, rounded as the page rounds it", "[seq2seq]") {
  auto options = options_of(GENERATE(from_range(ways_to_attend)), GENERATE("float64", "float16"));
  options.target.clear();
  options.bidirectional = GENERATE(false, true);
  INFO(options.attention);
  CHECK(told_by("seq2seq", options).holds("greedy-is-likeliest"));
}

TEST_CASE("greedy decoding ends with </s> and takes the first of equals", "[seq2seq]") {
  Options options = options_of("bahdanau");
  options.source = {"a b c"};
  options.target.clear();
  const auto written = [&](const std::vector<double>& logits) {
    auto given = given_tensor("output/b", {logits.size()}, logits);
    given.merge(given_tensor("output/W", {2 * hidden, logits.size()},
                             std::vector<double>(2 * hidden * logits.size(), 0.0)));
    return told_by("seq2seq", options, given).notes.at("greedy-decoding");
  };
  CHECK_THAT(written({0.0, 1.0, 0.0, 1.0}), Contains("\"b b b b\""));
  CHECK_THAT(written({0.0, 0.0, 0.0, 1.0}), Contains("\"</s>\""));
}

namespace {

/// The steps of a run in which elements of the step `id` are one larger: from `begin` up to `end`.
Recorder run_with(const Options& options, const std::string& id, std::size_t begin, std::size_t end) {
  Recorder recorder;
  const auto replace = [&](const std::string& step_id, const attn::Shape& shape, double* elements) {
    if (step_id != id) return;
    for (std::size_t i = begin; i < std::min(end, attn::element_count(shape)); ++i) elements[i] += 1.0;
  };
  lessons::run(seq2seq(), lessons::make_plan(seq2seq(), options), recorder, attn::replacing(replace));
  return recorder;
}

}  // namespace

TEST_CASE("another state in one step flows into the next steps and into no earlier one", "[seq2seq]") {
  auto options = options_of(GENERATE(from_range(ways_to_attend)));
  options.source = {"a b c"};
  options.target = {"u v w"};
  const auto right = run_with(options, "none", 0, 0);
  const auto rows_that_change = [&](const Recorder& other, const std::string& id, std::size_t width) {
    std::vector<std::size_t> rows;
    const auto &a = right.steps.at(id), &b = other.steps.at(id);
    for (std::size_t t = 0; t * width < a.size(); ++t)
      if (!std::equal(a.begin() + static_cast<std::ptrdiff_t>(t * width),
                      a.begin() + static_cast<std::ptrdiff_t>((t + 1) * width),
                      b.begin() + static_cast<std::ptrdiff_t>(t * width)))
        rows.push_back(t);
    return rows;
  };
  using Rows = std::vector<std::size_t>;
  const auto in_encoder = run_with(options, "encoder/c", hidden, hidden + 1);
  CHECK(rows_that_change(in_encoder, "encoder/c", hidden) == Rows{1, 2});
  CHECK(rows_that_change(in_encoder, "encoder/h", hidden) == Rows{1, 2});
  CHECK(rows_that_change(in_encoder, "decoder/s_0", hidden) == Rows{0});
  CHECK(rows_that_change(in_encoder, "decoder/h", hidden) == Rows{0, 1, 2, 3});

  const auto in_decoder = run_with(options, "decoder/h", hidden, hidden + 1);
  CHECK(rows_that_change(in_decoder, "encoder/h", hidden).empty());
  CHECK(rows_that_change(in_decoder, "decoder/h", hidden) == Rows{1, 2, 3});
  CHECK(rows_that_change(in_decoder, "decoder/i", hidden) == Rows{2, 3});
  CHECK(rows_that_change(in_decoder, "decoder/probabilities", 4) == Rows{1, 2, 3});
}

TEST_CASE("the step that the page walks through is row t of what the decoder shows", "[seq2seq]") {
  auto options = seq2seq().defaults;
  options.attention = GENERATE(from_range(ways_to_attend));
  options.typed = {"attention"};
  Recorder told;
  lessons::run(seq2seq(), lessons::make_plan(seq2seq(), options), told);
  const auto find_row = [&](const std::string& id, const std::vector<double>& row) {
    const auto all = told.steps.at("decoder/" + id);
    std::set<std::size_t> places;
    for (std::size_t t = 0; (t + 1) * row.size() <= all.size(); ++t)
      if (std::equal(row.begin(), row.end(), all.begin() + static_cast<std::ptrdiff_t>(t * row.size()),
                     [](double a, double b) { return std::abs(a - b) < 1e-12; }))
        places.insert(t);
    return places;
  };
  INFO(options.attention);
  const auto places = find_row("h", told.steps.at("one-step/h"));
  REQUIRE(places.size() == 1);
  const auto t = *places.begin();
  for (const std::string id : {"c", "context", "logits", "probabilities"})
    CHECK(find_row(id, told.steps.at("one-step/" + id)).count(t) == 1);
  const auto gates = told.steps.at("one-step/gates");
  const auto hidden = static_cast<std::ptrdiff_t>(gates.size() / 4);
  for (std::ptrdiff_t i = 0; i < 4; ++i)
    CHECK(find_row(std::string(1, "ifgo"[i]), {gates.begin() + i * hidden, gates.begin() + (i + 1) * hidden})
              .count(t) == 1);
  if (options.attention == "multihead") return;  // a row for each head
  for (const std::string id : {"scores", "weights"})
    CHECK(find_row(id, told.steps.at("one-step/" + id)).count(t) == 1);
}

TEST_CASE(
    "every step of seq2seq flows on into another, but for the last ones and the rows that are shown again",
    "[seq2seq]") {
  auto options = options_of(GENERATE(from_range(ways_to_attend)));
  options.bidirectional = GENERATE(false, true);
  if (GENERATE(false, true)) options.target.clear();
  const auto right = run_with(options, "none", 0, 0);
  for (const auto& id : right.ids) {
    const auto other = run_with(options, id, 0, std::numeric_limits<std::size_t>::max());
    std::set<std::string> changed;
    for (const auto& [step, elements] : right.steps)
      if (other.steps.at(step) != elements) changed.insert(step);
    INFO(options.attention << ": " << id);
    CHECK(changed.count(id) == 1);
    const bool is_last = id == "decoder/probabilities" || id == "decoder/mean_weights" ||
                         id == "bottleneck/context" || id == "bottleneck/kept";
    const bool is_shown_again = id.rfind("one-step/", 0) == 0;
    CHECK((is_last || is_shown_again || changed.size() > 1));
  }
}
