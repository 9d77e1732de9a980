#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/random/random.hpp"
#include "fast/gemm.hpp"

/// Training of small models: forward and backward side by side, in float32 (float64 for tests).
namespace attn::train {

/// A matrix of numbers and of the loss's gradient with respect to them, both row-major and contiguous.
/// The memory is the tape's, or that of the weights.
template <class T>
struct Variable {
  T* value = nullptr;
  T* gradient = nullptr;  ///< null where nobody asks for it: constants
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::size_t size() const { return rows * columns; }
  fast::Matrix<T> values() const { return {value, rows, columns}; }
  fast::Matrix<T> gradients() const { return {gradient, rows, columns}; }

  /// `count` rows from `first` on, in the same memory.
  Variable slice(std::size_t first, std::size_t count) const {
    return {value + first * columns, gradient ? gradient + first * columns : nullptr, count, columns};
  }
};

/// Where the gradient of a variable stands: beside its values, beginning with 0, or in their place. The
/// second is for what a single operation reads; in its backward that writes the gradient over what it left
/// there.
enum class Gradient { beside, in_place };

using Lengths = std::vector<std::size_t>;  ///< of each sample of a batch, without padding

struct HeadSizes {
  std::size_t batch;
  std::size_t queries;  ///< positions of a sample, with padding
  std::size_t keys;
  std::size_t heads;
  bool is_causal = false;
};

template <class T>
struct Attended {
  Variable<T> output;   ///< [batch·queries × heads·d_v]
  Variable<T> weights;  ///< [batch·heads·queries × keys]
};

/// Where a query is to look: `share` of its weights at `key`. `row` is the query's row of Q.
template <class T>
struct Look {
  std::size_t row, key;
  T share;
};

template <class T>
struct LstmState {
  Variable<T> h;  ///< [positions·batch × hidden]
  Variable<T> c;
};

enum class Direction { forwards, backwards };

/// In the gate order i, f, g, o.
template <class T>
struct LstmWeights {
  Variable<T> W_ih;        ///< [4·hidden × columns of x]
  Variable<T> W_hh;        ///< [4·hidden × hidden]
  Variable<T> b_ih, b_hh;  ///< [1 × 4·hidden]
  Variable<T> W_ih_transposed, W_hh_transposed;
};

/// What was computed, in order, and how each operation hands gradients back to what it read (reverse-mode
/// differentiation). Each operation computes its result and records its backward.
template <class T>
class Tape {
 public:
  /// A tape that records nothing only computes: for evaluation.
  explicit Tape(bool records = true) : records_(records) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A matrix whose values are still to be written. Aligned to 64 bytes.
  Variable<T> variable(std::size_t rows, std::size_t columns, Gradient gradient = Gradient::beside);

  /// The same without a gradient.
  Variable<T> constant(std::size_t rows, std::size_t columns);

  /// Numbers that live as long as what is on the tape.
  T* scratch(std::size_t numbers);

  /// A copy of the items that lives as long as what is on the tape: for backwards, which then copy a pointer.
  template <class Item>
  std::span<const Item> keep(std::span<const Item> items) {
    static_assert(std::is_trivially_copyable_v<Item>);
    auto* copies = reinterpret_cast<Item*>(scratch((items.size_bytes() + sizeof(T) - 1) / sizeof(T)));
    std::uninitialized_copy(items.begin(), items.end(), copies);
    return {copies, items.size()};
  }
  template <class Items>
  auto keep(const Items& items) {
    return keep(std::span<const typename Items::value_type>(items));
  }

  bool records() const { return records_; }

  /// Called by `backward`, after what was recorded later.
  void on_backward(std::function<void()> work) {
    if (records_) backwards_.push_back(std::move(work));
  }

  /// Adds the gradients of `loss`, a single number, to whatever it was computed from.
  void backward(const Variable<T>& loss);

  /// Forgets everything. The memory is kept for what comes next.
  void clear();

  // The operations that models are made of. Shapes are [rows×columns]. Rows of a batch of sequences lie by position (row = position · batch + sample)
  // in recurrent models, and by sample (row = sample · positions + position) in transformers.

  /// x W + the sum of the biases; W is [columns of x × n], each bias [1×n].
  Variable<T> linear(const Variable<T>& x, const Variable<T>& W,
                     std::initializer_list<Variable<T>> biases = {}, Gradient gradient = Gradient::beside);

  /// Wᵀ without a gradient.
  Variable<T> transpose(const Variable<T>& W);

  /// x Wᵀ + the sum of the biases, with W [n × columns of x], as LSTM weights are kept. The gradient is W's;
  /// its transpose, which the product reads, is to have been made once for all steps.
  Variable<T> linear_transposed(const Variable<T>& x, const Variable<T>& W, const Variable<T>& W_transposed,
                                std::initializer_list<Variable<T>> biases = {},
                                Gradient gradient = Gradient::beside);

  /// The rows of the table that the ids name; a negative id is padding and gives a row of zeros.
  Variable<T> embed(const Variable<T>& table, const std::vector<int>& ids);

  /// a + factor · b
  Variable<T> add(const Variable<T>& a, const Variable<T>& b, T factor = 1);

  /// A block matrix: the parts of a row stand side by side, the rows one below the other.
  Variable<T> block(const std::vector<std::vector<Variable<T>>>& parts);

  /// [a; b; …]: the columns of all, side by side.
  Variable<T> concatenate(const std::vector<Variable<T>>& parts) { return block(std::vector(1, parts)); }

  Variable<T> tanh(const Variable<T>& x);

  Variable<T> relu(const Variable<T>& x);

  /// Sets a number to 0 with the given probability and divides the others by 1 − probability (Srivastava et
  /// al. 2014, inverted). Without a generator, or on a tape that records nothing, x itself.
  Variable<T> dropout(const Variable<T>& x, double probability, Random* random);

  /// (x − mean) / √(variance + 1e-5) · gain + bias for each row (Ba et al. 2016).
  Variable<T> layer_norm(const Variable<T>& x, const Variable<T>& gain, const Variable<T>& bias);

  /// The mean of the rows of each sample up to its length. Rows lie by sample.
  Variable<T> mean_rows(const Variable<T>& x, const Lengths& lengths);

  /// scale · Σ −ln softmax(logits)[target] over the rows with a target ≥ 0, [1×1]. Nothing else may read the
  /// logits: their gradient is written and not added.
  Variable<T> cross_entropy(const Variable<T>& logits, const std::vector<int>& targets, T scale);

  // Attention with several heads for transformers. Rows lie by sample: row = sample · positions + position.

  /// softmax(Q Kᵀ / √d_k) V for each head (Vaswani et al. 2017, section 3.2). Q is [batch·queries ×
  /// heads·d_k], K [batch·keys × heads·d_k], V [batch·keys × heads·d_v]. Keys beyond a sample's length are
  /// hidden.
  Attended<T> attend(const Variable<T>& Q, const Variable<T>& K, const Variable<T>& V, const HeadSizes& sizes,
                     const Lengths& key_lengths);

  /// Rotary position embedding (Su et al. 2021): turns the pairs (2i, 2i + 1) of each head by
  /// position · 10000^(−2i/d_k).
  Variable<T> rotate(const Variable<T>& x, std::size_t positions, std::size_t heads);

  /// scale · Σ −share ln w[row, key] of one head, [1×1]: the cross-entropy of its weights against where it is
  /// to look (Strubell et al. 2018, section 2.3, with one key a query).
  Variable<T> loss_of_looks(const Variable<T>& weights, const HeadSizes& sizes, std::size_t head,
                            const std::vector<Look<T>>& looks, T scale);

  // Operations of recurrent models with attention. Rows lie by position: row = position · batch + sample.

  /// With the transposes, made once for all steps.
  LstmWeights<T> lstm_weights(const Variable<T>& W_ih, const Variable<T>& W_hh, const Variable<T>& b_ih,
                              const Variable<T>& b_hh) {
    return {W_ih, W_hh, b_ih, b_hh, transpose(W_ih), transpose(W_hh)};
  }

  /// An LSTM (Hochreiter & Schmidhuber 1997, Gers et al. 2000) over all positions of x. Where a sample has
  /// ended its state stays as it is.
  LstmState<T> lstm(const Variable<T>& x, const LstmState<T>& before, const LstmWeights<T>& weights,
                    const Lengths& lengths, Direction direction = Direction::forwards);

  /// score[sample, position] = v · tanh(query + key) (Bahdanau et al. 2014, appendix A.1.2): query [batch ×
  /// d_a] and keys [positions·batch × d_a] are projected already, v is [1×d_a]. Scores beyond a length are
  /// not set.
  Variable<T> additive_scores(const Variable<T>& query, const Variable<T>& keys, const Variable<T>& v,
                              const Lengths& lengths);

  /// score[sample, position] = query · key (Luong et al. 2015, section 3.1). Scores beyond a length are not
  /// set.
  Variable<T> dot_scores(const Variable<T>& query, const Variable<T>& keys, const Lengths& lengths);

  /// softmax over the first `length` scores of each row; 0 behind them.
  Variable<T> softmax(const Variable<T>& scores, const Lengths& lengths);

  /// context[sample] = Σ weights[sample, position] · state[position, sample]
  Variable<T> weighted_sum(const Variable<T>& weights, const Variable<T>& states, const Lengths& lengths);

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Block {
    std::unique_ptr<Line[], void (*)(Line*)> lines;
    std::size_t size;
  };
  static Block block_of(std::size_t lines);

  bool records_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  ///< in use
  std::size_t used_ = 0;   ///< lines of it
  std::vector<std::function<void()>> backwards_;
};

extern template class Tape<float>;
extern template class Tape<double>;

/// Where a weight stands among all numbers of a model.
struct WeightShape {
  std::string name;  ///< the id that the lessons give it: "encoder/W_ih"
  std::size_t rows;
  std::size_t columns;
  std::size_t offset;
  bool is_vector;  ///< has one axis where it is shown and stored; here one row

  std::size_t size() const { return rows * columns; }
};

/// The weights of a model by name, in the order in which they were added.
class WeightTable {
 public:
  /// These throw std::logic_error for a name that is there already.
  void add(std::string name, std::size_t rows, std::size_t columns, bool is_vector = false);
  void add_vector(std::string name, std::size_t size) { add(std::move(name), 1, size, true); }

  const std::vector<WeightShape>& shapes() const { return shapes_; }
  std::size_t numbers() const;  ///< of all weights together

  /// Throws std::logic_error for a name that is not there.
  const WeightShape& at(std::string_view name) const;

 private:
  std::vector<WeightShape> shapes_;
};

/// All numbers of a model with room for their gradients, seen as variables.
template <class T>
struct Weights {
  const WeightTable* table;
  T* values;
  T* gradients;  ///< null for a model that is only evaluated

  Variable<T> operator()(std::string_view name) const {
    const WeightShape& shape = table->at(name);
    return {values + shape.offset, gradients ? gradients + shape.offset : nullptr, shape.rows, shape.columns};
  }
};

}  // namespace attn::train
