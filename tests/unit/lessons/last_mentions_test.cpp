#include <catch2/catch.hpp>
#include <deque>

#include "document/document.hpp"
#include "lessons/documents/meanings.hpp"

TEST_CASE("The last section that speaks of a name is found in formulas, claims and texts", "[documents]") {
  const auto document = document::read("lesson.md", R"(---
title: a lesson
---

# Scores

    scores[query, key] = sum(d_k) Q * K

# Weights

    weights[query, key] = softmax(key) scores

The largest is {max(key) weights:.2f}, {if trained}of {token(key, argmax(key) masked)}{end}.

# Output

    output[query] = sum(key) weights * V

# Claims

- rows sum to 1: `sum(key) weights ≈ 1` {#rows-sum-to-1}
- nothing else: `again(output, X = X + 1) = 0` {#nothing}
)");
  std::deque<lessons::Scope> scopes;
  std::vector<lessons::Section> sections;
  for (const auto& block : document.blocks()) {
    if (block.kind == document::Block::Kind::heading) sections.push_back({scopes.emplace_back(), &block});
    sections.back().blocks.push_back(&block);
  }
  REQUIRE(sections.size() == 4);
  scopes[0].prefix = "causal/";
  scopes[0].renamed.emplace("K", formula::call("exp", {formula::name("turned")}));
  const auto last = lessons::last_mentions(sections);
  CHECK(last.at("scores") == 1);
  CHECK(last.at("masked") == 1);
  CHECK(last.at("weights") == 3);
  CHECK(last.at("V") == 2);
  CHECK(last.at("X") == 3);
  CHECK(last.at("causal/Q") == 0);
  CHECK(last.at("turned") == 0);
  CHECK(last.count("W_Q") == 0);
}
