#include "lessons/workbench/notice.hpp"

#include <catch2/catch.hpp>

#include "attn/tensor.hpp"
#include "trace/trace.hpp"

using attn::Tensor;

namespace {

/// What the page's notice `strongest_pair` says of these weights.
template <std::size_t N>
std::string notice_of(const Tensor<N>& weights, const std::vector<std::string>& queries,
                      const std::vector<std::string>& keys, const std::vector<std::string>& axes) {
  struct Notices : attn::Sink {
    void receive(const attn::Event& event) override { text = event.notice; }
    std::string text;
  } notices;
  attn::Trace trace(notices, {});
  trace.page({{"weights", lessons::strongest_pair}});
  if (!queries.empty()) trace.label("query", {{queries}});
  if (!keys.empty()) trace.label("key", {{keys}});
  trace.step({.id = "weights", .axes = axes, .distribution = true}, weights);
  return notices.text;
}

std::string notice_of(const Tensor<2>& weights) {
  return notice_of(weights, {"the", "cat"}, {"le", "chat"}, {"query", "key"});
}

}  // namespace

TEST_CASE("a notice names the query and the key of the largest share", "[notice]") {
  CHECK(notice_of({{0.25, 0.75}, {0.1, 0.9}}) == R"(Here "cat" looks most at "chat" (0.9000).)");
  CHECK(notice_of({{0.875, 0.125}, {0.5, 0.5}}) == R"(Here "the" looks most at "le" (0.8750).)");
}

TEST_CASE("of shares that are equal but for rounding a notice names the first", "[notice]") {
  CHECK(notice_of({{0.25, 0.75}, {0.75, 0.25}}) == R"(Here "the" looks most at "chat" (0.7500).)");
  CHECK(notice_of({{0.25, 0.75}, {0.75 + 1e-12, 0.25}}) == R"(Here "the" looks most at "chat" (0.7500).)");
  CHECK(notice_of({{0.25, 0.75}, {0.7501, 0.2499}}) == R"(Here "cat" looks most at "le" (0.7501).)");
}

TEST_CASE("a notice of words without labels names their indices", "[notice]") {
  CHECK(notice_of<2>({{0.25, 0.75}}, {}, {}, {"query", "key"}) == R"(Here "0" looks most at "1" (0.7500).)");
}

TEST_CASE("where no query sees a key there is no pair to notice", "[notice]") {
  CHECK(notice_of({{0.0, 0.0}, {0.0, 0.0}}).empty());
}

TEST_CASE("a notice is about the first head", "[notice]") {
  const Tensor<3> weights = {{{0.25, 0.75}, {0.5, 0.5}}, {{0.5, 0.5}, {1.0, 0.0}}};
  CHECK(notice_of(weights, {"the", "cat"}, {"le", "chat"}, {"head", "query", "key"}) ==
        R"(Here "the" looks most at "chat" (0.7500).)");
}

TEST_CASE("words that cross: the first word whose next one looks further back, among so many", "[notice]") {
  struct Crossing : attn::Sink {
    void receive(const attn::Event& event) override {
      for (std::size_t words = 1; words <= 4; ++words)
        texts.push_back(lessons::words_that_cross(event, words));
    }
    std::vector<std::string> texts;
  } crossing;
  attn::Trace trace(crossing, {});
  trace.label("query", {{{"le", "chat", "noir", "dort"}}});
  trace.label("key", {{{"the", "black", "cat", "sleeps"}}});
  const Tensor<2> weights = {
      {0.7, 0.1, 0.1, 0.1}, {0.1, 0.1, 0.7, 0.1}, {0.1, 0.7, 0.1, 0.1}, {0.1, 0.1, 0.1, 0.7}};
  trace.step({.id = "weights", .axes = {"query", "key"}}, weights);
  const std::string text =
      R"(The word order differs: "chat" looks at "cat", and the next word, "noir", looks back at "black".)";
  CHECK(crossing.texts == std::vector<std::string>{"", "", text, text});
}
