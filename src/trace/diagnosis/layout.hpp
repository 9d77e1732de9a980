#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"

/// Somebody's tensors in the shapes that a lesson has.
namespace attn {

/// A tensor that a lesson declares or computes.
struct ExpectedTensor {
  std::string id{};                 ///< the lesson's: "Q_heads", "attention/W_Q"
  Kind kind = Kind::step;           ///< input or step
  Dtype dtype = Dtype::float64;     ///< float64 for what has the run's dtype
  Shape shape{};                    ///< with the batch axis first where there is one
  std::vector<std::string> axes{};  ///< their names, the batch axis included
  bool shows_batch = true;          ///< whether whoever saves it is asked for the batch axis, too
};

/// A tensor as the lesson has it, and what was done to it.
struct Fitted {
  AnyTensor tensor;
  std::string assumption{};  ///< as a sentence; empty where nothing was done
};

/// The tensor in the expected shape, where there is one way to get there: by the names of its axes, by axes
/// of length 1 that are missing or too many, by the one order of its axes that has the expected lengths, by
/// parting samples from heads where they are one axis, or by leaving out the copies of key and value heads
/// and of angles that are repeated. None where it is of another shape, where two orders of its axes would do,
/// and where queries and keys have changed places, which is a mistake to be found and no layout. `axes` names
/// the axes of `given`; it may be empty.
std::optional<Fitted> laid_out(const AnyTensor& given, const std::vector<std::string>& axes,
                               const ExpectedTensor& expected);

/// A tensor of another shape that lacks the axis of a batch of one: a mistake may have changed the shape.
std::optional<Fitted> with_batch_axis(const AnyTensor& given, const ExpectedTensor& expected);

/// Samples and heads that are one axis, the samples of a head one after another: shapes do not tell it from
/// the other order, which `laid_out` takes.
std::optional<Fitted> with_heads_before_samples(const AnyTensor& given, const ExpectedTensor& expected);

/// All orders of its axes, but for the one that it has, in which a tensor has the expected shape, and queries
/// come before keys.
std::vector<Fitted> other_orders(const AnyTensor& given, const ExpectedTensor& expected);

/// The numbers as the lesson has them: whole numbers as counts, counts as numbers. Floating-point numbers
/// keep their type, and so does everything that would lose something.
AnyTensor in_kind_of(AnyTensor given, Dtype expected);

/// What true, or 1, means in somebody's masks: one thing in all of them. By name it is seen, unless one of
/// the masks is called as one of nn.MultiheadAttention, for which it is hidden.
enum class MaskTrue { seen, hidden, by_name };

/// Whether the name is that of an argument of nn.MultiheadAttention: key_padding_mask, or attn_mask, which
/// says so beside the module's weights alone.
bool is_named_as_in_torch(const std::string& name, bool has_module = true);

/// Somebody's mask as the lesson has it: true = may be seen. It may be of bools, of 0 and 1, or additive, 0
/// for what is seen and −∞ or at most −1000 for what is hidden, and [key], [query×key], [batch×key],
/// [batch×query×key], [head×query×key], [batch·head×query×key] or [batch×head×query×key], with 1 for any axis
/// but that of the keys. Where it has heads and the lesson has none they have to agree. None for anything
/// else, and where two of these shapes are possible and mean different things; `name`, as the file has it,
/// may then say which: a padding mask is [batch×key], a causal one [query×key].
std::optional<Fitted> as_mask(const AnyTensor& given, const std::string& name, const ExpectedTensor& expected,
                              MaskTrue mask_true);

/// The mask that hides what either hides. Both are of bools and of the same shape.
AnyTensor hidden_by_either(AnyTensor a, const AnyTensor& b);

}  // namespace attn
