/// Attention in plain C++, checked by attnlab against a probe.

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Matrix = std::vector<std::vector<double>>;
using Mask = std::vector<std::vector<bool>>;

/// One sample: Q is [query×d_k], K [key×d_k], mask [query×key]; the weights are [query×key].
Matrix weights_of(const Matrix& Q, const Matrix& K, const Mask& mask) {
  Matrix weights(Q.size(), std::vector<double>(K.size()));
  for (std::size_t i = 0; i < Q.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < K.size(); ++j) {
      double score = 0;
      for (std::size_t c = 0; c < Q[i].size(); ++c) score += Q[i][c] * K[j][c];
      if (mask[i][j]) sum += weights[i][j] = std::exp(score / std::sqrt(Q[i].size()));
    }
    for (auto& weight : weights[i]) weight /= sum > 0 ? sum : 1;
  }
  return weights;
}

/// The weights [query×key] times V [key×d_v].
Matrix mixture_of(const Matrix& weights, const Matrix& V) {
  Matrix output(weights.size(), std::vector<double>(V.front().size()));
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < V.size(); ++j)
      for (std::size_t c = 0; c < V[j].size(); ++c) output[i][c] += weights[i][j] * V[j][c];
  return output;
}

TEST_CASE("the port computes what the lesson sdpa does") {
  const std::string attnlab = ATTNLAB;
  REQUIRE(std::system((attnlab + " probe sdpa --output probe.json >task.txt").c_str()) == 0);
  const auto probe = nlohmann::json::parse(std::ifstream("probe.json"));
  nlohmann::json given, mine = {{"config", probe["config"]}};
  for (const auto& event : probe["events"]) given[event["id"]] = event["data"];

  for (std::size_t sample = 0; sample < given["Q"].size(); ++sample) {
    const auto weights = weights_of(given["Q"][sample], given["K"][sample], given["mask"][sample]);
    mine["weights"].push_back(weights);
    mine["output"].push_back(mixture_of(weights, given["V"][sample]));
  }
  std::ofstream("mine.json") << mine;
  CHECK(std::system((attnlab + " check sdpa mine.json --probe probe.json").c_str()) == 0);
}
