#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace lessons {

using attn::Integers;
using attn::Mask;
using attn::Tensor;

/// The largest entropy that attention may have under a mask [1×query×key], true = may be seen: the mean over
/// queries of ln(number of keys that the query may see); one that may see none counts as 0.
double largest_entropy(const Mask<3>& mask);

/// How widely attention spreads.
enum class Spread {
  uniform,    ///< as good as uniform: less than 0.05 nats below the largest entropy, 95 % of the keys in use
  selective,  ///< between the two
  over_sparse,  ///< as good as one-hot: less than 0.2 nats, 1.2 keys in use
  undecided,    ///< no query, or hardly one, may see more than one key: both would be true
};

constexpr double collapsed_within = 0.05, over_sparse_below = 0.2;

Spread spread_of(double entropy, double largest_entropy);

/// "uniform", "selective", "sharp", since a head that has become over-sparse by learning its task is no
/// failure, or "undecided".
std::string_view word_for(Spread spread);

/// What one head is measured by. All but the last three are what a query gives on average: to the key at its
/// own place, to all keys before and after it, to the one just before and the one just after, to the one as
/// far from the end as the query is from the beginning, to what followed the same token the last time, and to
/// the words that a translation comes from. Then: what the other queries give on average to the one key that
/// gets most, the entropy, and the largest entropy possible.
enum class Measure {
  itself,
  before,
  after,
  just_before,
  just_after,
  mirror,
  repeat,
  linked,
  one_key,
  entropy,
  largest_entropy
};

constexpr std::size_t measure_count = 11;

/// "itself", "before", "after", "prev" …, short as in the head of a table.
std::string_view name_of(Measure measure);

/// What a head reads: the tokens of its queries and keys, and, of a translation, which keys each query's word
/// comes from.
struct ReadByHead {
  const std::vector<std::string>& queries;
  const std::vector<std::string>& keys;
  std::vector<std::set<std::size_t>> links{};
};

/// The measures of one head. One of which there is no case is 0: `repeat` where fewer than three tokens come
/// again; of a translation all places, since those of two languages do not compare; of any other text
/// `linked`.
struct HeadMeasures {
  std::array<double, measure_count> values{};
  std::size_t key = 0;  ///< the key that gets most

  double operator[](Measure measure) const { return values[static_cast<std::size_t>(measure)]; }
};

/// Of one head of one sample of weights [batch×head×query×key]; `largest` is its largest entropy.
HeadMeasures measure_head(const Tensor<4>& weights, std::size_t sample, std::size_t head,
                          const ReadByHead& text, double largest);

/// What a head does with words, by its measures.
enum class HeadKind {
  alike,  ///< the keys that a query may see get nearly the same
  translation,
  one_word,
  just_before,
  just_after,
  mirror,
  repeat,
  itself,
  ahead,
  back,
  other
};

constexpr std::size_t kind_count = 11;

/// `alike` where the entropy is as good as the largest. Else the kind of the largest share above a half; else
/// `ahead` or `back` where the one side gets more than twice as much as the other; else `other`.
HeadKind kind_of(const HeadMeasures& measures);

/// The share that decides the kind: of `alike` and `other` none.
std::optional<Measure> measure_of(HeadKind kind);

}  // namespace lessons
