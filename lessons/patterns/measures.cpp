/// The numbers of the lesson patterns.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "lessons/patterns.hpp"

namespace lessons {

namespace {

/// The weights of one head for the real tokens of one sample.
class HeadView {
 public:
  HeadView(const Tensor<4>& weights, std::size_t b, std::size_t h, std::size_t length)
      : first_(&weights(b, h, 0, 0)), stride_(weights.shape(3)), length_(length) {}

  std::size_t length() const { return length_; }
  std::size_t keys() const { return stride_; }
  double operator()(std::size_t i, std::size_t j) const { return first_[i * stride_ + j]; }

  /// The mean over queries of the sum over the first `keys` keys of f(i, j).
  template <class Function>
  double mean_sum(std::size_t keys, Function f) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < length_; ++i) {
      double of_row = 0.0;
      for (std::size_t j = 0; j < keys; ++j) of_row += f(i, j);
      sum += of_row;
    }
    return sum / static_cast<double>(length_);
  }

 private:
  const double* first_;
  std::size_t stride_, length_;
};

/// Nothing where there is no such key.
using Key = std::optional<std::size_t>;

/// The mean of wᵢₖ over the queries that have a key k = key_of(i) among the first `keys`; 0 where fewer than
/// `fewest` have one.
template <class KeyOf>
double mean_at(const HeadView& w, std::size_t keys, KeyOf key_of, std::size_t fewest = 1) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < w.length(); ++i)
    if (const Key key = key_of(i); key && *key < keys) {
      sum += w(i, *key);
      ++count;
    }
  return count < fewest ? 0.0 : sum / static_cast<double>(count);
}

/// Over all keys: where a mask lets a query see padding, the row is a distribution over it as well.
double entropy_of(const HeadView& w) {
  return w.mean_sum(w.keys(), [&](std::size_t i, std::size_t j) {
    return w(i, j) == 0.0 ? 0.0 : -w(i, j) * std::log(w(i, j));
  });
}

}  // namespace

double largest_entropy(const Mask<3>& mask) {
  double sum = 0.0;
  for (std::size_t i = 0; i < mask.shape(1); ++i) {
    const auto* const row = &mask(0, i, 0);
    sum += std::log(std::max<double>(1.0, static_cast<double>(std::count(row, row + mask.shape(2), true))));
  }
  return sum / static_cast<double>(mask.shape(1));
}

namespace {

/// The key behind the last one before `query` that has the same token.
Key after_its_like(const std::vector<std::string>& tokens, std::size_t query) {
  for (std::size_t j = query; j-- > 0;)
    if (tokens[j] == tokens[query]) return j + 1 == query ? Key() : Key(j + 1);
  return {};
}

/// The mean, over the queries that have links, of what they give to these keys.
double mean_to_links(const HeadView& w, const std::vector<std::set<std::size_t>>& links) {
  double sum = 0.0;
  std::size_t linked = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const auto key : links[i]) sum += w(i, key);
    linked += links[i].empty() ? 0 : 1;
  }
  return linked == 0 ? 0.0 : sum / static_cast<double>(linked);
}

/// The key that gets most from the others, and what each of them gives to it on average.
std::pair<std::size_t, double> most_received(const HeadView& w, std::size_t keys, bool is_self) {
  std::pair<std::size_t, double> most = {0, 0.0};
  for (std::size_t key = 0; key < keys; ++key) {
    double received = 0.0;
    std::size_t others = 0;
    for (std::size_t i = 0; i < w.length(); ++i) {
      if (is_self && i == key) continue;
      received += w(i, key);
      ++others;
    }
    const double share = others == 0 ? 0.0 : received / static_cast<double>(others);
    if (share > most.second) most = {key, share};
  }
  return most;
}

}  // namespace

HeadMeasures measure_head(const Tensor<4>& weights, std::size_t sample, std::size_t head,
                          const ReadByHead& text, double largest) {
  constexpr std::size_t fewest_repeats = 3;
  const auto keys = text.keys.size();
  const HeadView w(weights, sample, head, text.queries.size());
  const bool is_self = text.links.empty();
  HeadMeasures measures;
  const auto set = [&](Measure measure, double value) {
    measures.values[static_cast<std::size_t>(measure)] = value;
  };
  if (is_self) {
    set(Measure::itself, mean_at(w, keys, [](std::size_t i) { return i; }));
    set(Measure::before,
        w.mean_sum(keys, [&](std::size_t i, std::size_t j) { return j < i ? w(i, j) : 0.0; }));
    set(Measure::after,
        w.mean_sum(keys, [&](std::size_t i, std::size_t j) { return j > i ? w(i, j) : 0.0; }));
    set(Measure::just_before, mean_at(w, keys, [](std::size_t i) { return i == 0 ? Key() : Key(i - 1); }));
    set(Measure::just_after, mean_at(w, keys, [](std::size_t i) { return i + 1; }));
    set(Measure::mirror, mean_at(w, keys, [&](std::size_t i) { return keys - 1 - i; }));
    const auto followed = [&](std::size_t i) { return after_its_like(text.keys, i); };
    set(Measure::repeat, mean_at(w, keys, followed, fewest_repeats));
  } else {
    set(Measure::linked, mean_to_links(w, text.links));
  }
  const auto [key, share] = most_received(w, keys, is_self);
  measures.key = key;
  set(Measure::one_key, share);
  set(Measure::entropy, entropy_of(w));
  set(Measure::largest_entropy, largest);
  return measures;
}

std::string_view name_of(Measure measure) {
  const std::array<std::string_view, measure_count> names = {
      "itself", "before", "after", "prev", "next", "mirror", "repeat", "linked", "one", "entropy", "most"};
  return names[static_cast<std::size_t>(measure)];
}

std::optional<Measure> measure_of(HeadKind kind) {
  const std::array<std::optional<Measure>, kind_count> measures = {
      std::nullopt,        Measure::linked, Measure::one_key, Measure::just_before,
      Measure::just_after, Measure::mirror, Measure::repeat,  Measure::itself,
      Measure::after,      Measure::before, std::nullopt};
  return measures[static_cast<std::size_t>(kind)];
}

HeadKind kind_of(const HeadMeasures& measures) {
  const auto spread = spread_of(measures[Measure::entropy], measures[Measure::largest_entropy]);
  if (spread == Spread::uniform || spread == Spread::undecided) return HeadKind::alike;
  double largest = 0.5;
  auto kind = HeadKind::other;
  for (const auto named : {HeadKind::translation, HeadKind::one_word, HeadKind::just_before,
                           HeadKind::just_after, HeadKind::mirror, HeadKind::repeat, HeadKind::itself}) {
    const double share = measures[*measure_of(named)];
    if (share <= largest) continue;
    largest = share;
    kind = named;
  }
  if (kind != HeadKind::other) return kind;
  const double before = measures[Measure::before], after = measures[Measure::after];
  if (after > 2 * before) return HeadKind::ahead;
  return before > 2 * after ? HeadKind::back : HeadKind::other;
}

Spread spread_of(double entropy, double largest_entropy) {
  if (largest_entropy <= collapsed_within) return Spread::undecided;
  if (entropy > largest_entropy - collapsed_within) return Spread::uniform;
  return entropy < over_sparse_below ? Spread::over_sparse : Spread::selective;
}

std::string_view word_for(Spread spread) {
  const std::string_view words[] = {"uniform", "selective", "sharp", "undecided"};
  return words[static_cast<int>(spread)];
}

}  // namespace lessons
