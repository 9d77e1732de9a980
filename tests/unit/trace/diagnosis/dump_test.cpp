#include "trace/diagnosis/dump.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/numbers.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/diagnosis/tensors.hpp"
#include "trace/diagnosis/layout.hpp"

using attn::AnyTensor;
using attn::Dtype;
using attn::Dump;
using attn::ExpectedTensor;
using attn::Kind;
using attn::MaskTrue;
using attn::Shape;
using Catch::Matchers::VectorContains;
using somebody::counting;
using somebody::entries_of;
using somebody::file_of;
using somebody::Strings;

namespace {

const Strings multihead = {"X",     "W_Q",          "W_K",     "W_V",     "W_O",    "b_Q",
                           "b_K",   "b_V",          "b_O",     "mask",    "Q",      "K",
                           "V",     "Q_heads",      "K_heads", "V_heads", "scores", "weights",
                           "heads", "mean_weights", "concat",  "masked",  "scaled", "output"};

const Strings self_attention = {"X", "W_Q",    "W_K",    "W_V",     "Q",     "K",
                                "V", "scores", "scaled", "weights", "output"};

Strings ids_in(const Dump& dump) {
  Strings ids;
  for (const auto& [id, tensor] : dump.tensors) ids.push_back(id);
  return ids;
}

bool holds(const Dump& dump, const std::string& id, const AnyTensor& tensor) {
  const auto found = dump.tensors.find(id);
  return found != dump.tensors.end() && are_identical(found->second, tensor);
}

AnyTensor turned(const AnyTensor& matrix) {
  return permuted(matrix, {1, 0});
}

/// What the lesson multihead expects.
std::vector<ExpectedTensor> multihead_of(std::size_t batch, std::size_t tokens, std::size_t d_model,
                                         std::size_t heads, std::size_t kv_heads, std::size_t d_k) {
  const auto input = [](const std::string& id, Shape shape, Strings axes, Dtype dtype = Dtype::float64) {
    return ExpectedTensor{id, Kind::input, dtype, std::move(shape), std::move(axes)};
  };
  const auto step = [](const std::string& id, Shape shape, Strings axes) {
    return ExpectedTensor{id, Kind::step, Dtype::float64, std::move(shape), std::move(axes)};
  };
  const auto scores = [&](const std::string& id) {
    return step(id, {batch, heads, tokens, tokens}, {"batch", "head", "query", "key"});
  };
  return {
      input("X", {batch, tokens, d_model}, {"batch", "token", "d_model"}),
      input("W_Q", {d_model, heads * d_k}, {"d_model", "head·d_k"}),
      input("W_K", {d_model, kv_heads * d_k}, {"d_model", "kv_head·d_k"}),
      input("W_V", {d_model, kv_heads * d_k}, {"d_model", "kv_head·d_v"}),
      input("W_O", {heads * d_k, d_model}, {"head·d_v", "d_model"}),
      input("mask", {batch, tokens, tokens}, {"batch", "query", "key"}, Dtype::boolean),
      step("Q", {batch, tokens, heads * d_k}, {"batch", "query", "head·d_k"}),
      step("Q_heads", {batch, heads, tokens, d_k}, {"batch", "head", "query", "d_k"}),
      step("K_heads", {batch, kv_heads, tokens, d_k}, {"batch", "kv_head", "key", "d_k"}),
      step("V_heads", {batch, kv_heads, tokens, d_k}, {"batch", "kv_head", "key", "d_v"}),
      scores("scores"),
      scores("masked"),
      scores("weights"),
      step("mean_weights", {batch, tokens, tokens}, {"batch", "query", "key"}),
      step("concat", {batch, tokens, heads * d_k}, {"batch", "query", "head·d_v"}),
      step("output", {batch, tokens, d_model}, {"batch", "query", "d_model"}),
  };
}

Dump fitted(Dump dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true = MaskTrue::seen) {
  fit(dump, expected, mask_true);
  return dump;
}

}  // namespace

TEST_CASE("tensors are found by the lesson's ids, then by common names") {
  const auto weights = counting({2, 2}), other = counting({2, 2}, 10.0);
  const auto dump = named(file_of({{"attn", weights},
                                   {"q_proj.weight", counting({3, 2})},
                                   {"Wk", counting({2, 3})},
                                   {"tokens", other}}),
                          self_attention);
  CHECK(holds(dump, "weights", weights));
  CHECK(holds(dump, "W_Q", turned(counting({3, 2}))));
  CHECK(holds(dump, "W_K", counting({2, 3})));
  CHECK(dump.unknown == Strings{"tokens"});
  CHECK(dump.assumptions ==
        Strings{"Wk is taken for W_K.",
                "q_proj.weight is taken for W_Q, transposed: nn.Linear has it as [out×in].",
                "attn is taken for weights."});
}

TEST_CASE("a weight of nn.Linear is transposed even before it is clear which one it is") {
  const Strings two = {"attention/W_Q", "cross/W_Q"};
  const auto weight = counting({4, 4});
  auto dump = named(file_of({{"attention/W_Q", weight}, {"q_proj.weight", weight}}), two);
  const ExpectedTensor expected{"cross/W_Q", Kind::input, Dtype::float64, {4, 4}, {"d_model", "head·d_k"}};
  fit(dump, {expected}, MaskTrue::seen);
  CHECK(holds(dump, "attention/W_Q", weight));
  CHECK(holds(dump, "cross/W_Q", turned(weight)));
}

TEST_CASE("the lesson's own id wins, and of two names none") {
  const auto right = counting({2, 2}), other = counting({2, 2}, 10.0);
  const auto dump = named(file_of({{"attn", other},
                                   {"weights", right},
                                   {"energy", right},
                                   {"raw_scores", other},
                                   {"out", right},
                                   {"result", right}}),
                          self_attention);
  CHECK(holds(dump, "weights", right));
  CHECK(holds(dump, "output", right));
  CHECK(ids_in(dump) == Strings{"output", "weights"});
  CHECK(dump.unknown == Strings{"energy", "raw_scores", "attn"});
  CHECK(dump.assumptions == Strings{"out is taken for output.",
                                    "energy and raw_scores could each be scores; none is taken.",
                                    "attn is left out, because weights is there itself."});
}

TEST_CASE("shapes decide what a name leaves open") {
  const auto expected = multihead_of(2, 5, 12, 3, 3, 7);
  const auto q = counting({2, 3, 5, 7}), out = counting({2, 5, 12}), context = counting({2, 5, 21});
  const auto dump = fitted(named(file_of({{"q", q},
                                          {"out", out},
                                          {"context", context},
                                          {"attn", counting({2, 5, 5})},
                                          {"attention_output", counting({2, 4, 4})}}),
                                 multihead),
                           expected);
  CHECK(holds(dump, "Q_heads", q));
  CHECK(holds(dump, "output", out));
  CHECK(holds(dump, "concat", context));
  CHECK(holds(dump, "mean_weights", counting({2, 5, 5})));
  CHECK(dump.unknown == Strings{"attention_output"});
  CHECK(dump.undecided.empty());
  CHECK_THAT(dump.assumptions, VectorContains(std::string("q is taken for Q_heads, whose shape it has.")));
  CHECK_THAT(dump.assumptions, VectorContains(std::string("attention_output [2×4×4] has the shape of none of "
                                                          "output, concat and heads.")));
}

TEST_CASE("what shapes leave open is left to numbers, or unknown where two names are one id") {
  const auto expected = multihead_of(2, 5, 21, 3, 3, 7);
  const auto dump = fitted(named(file_of({{"out", counting({2, 5, 21})},
                                          {"q", counting({2, 3, 5, 7})},
                                          {"query", counting({2, 3, 5, 7}, 1.0)}}),
                                 multihead),
                           expected);
  CHECK(dump.tensors.empty());
  CHECK(dump.unknown == Strings{"q", "query"});
  REQUIRE(dump.undecided.size() == 1);
  CHECK(dump.undecided[0].name == "out");
  CHECK(dump.undecided[0].ids == Strings{"output", "concat"});
  CHECK_THAT(dump.assumptions, VectorContains(std::string("q [2×3×5×7] could be Q or Q_heads; save it "
                                                          "under the name that it is.")));
}

TEST_CASE("a tensor of another shape stays as it is") {
  const auto expected = multihead_of(2, 5, 12, 3, 3, 7);
  const auto q = counting({2, 5, 21}), weights = counting({1, 3, 5, 5});
  const auto dump = fitted(named(file_of({{"Q_heads", q}, {"weights", weights}}), multihead), expected);
  CHECK(holds(dump, "Q_heads", q));
  CHECK(holds(dump, "weights", weights));
  CHECK(dump.assumptions.empty());
}

TEST_CASE("axes in another order are brought to the lesson's") {
  const auto expected = multihead_of(2, 5, 12, 3, 3, 7);
  const auto heads = counting({2, 3, 5, 7}), output = counting({2, 5, 12});
  const auto file =
      file_of({{"q_heads", permuted(heads, {0, 2, 1, 3})}, {"result", permuted(output, {1, 0, 2})}});
  const auto dump = fitted(named(file, multihead), expected);
  CHECK(holds(dump, "Q_heads", heads));
  CHECK(holds(dump, "output", output));
  const auto square = multihead_of(2, 3, 12, 3, 3, 7);
  const auto ambiguous = counting({2, 3, 3, 7});
  MemoryTrace named_axes;
  named_axes.add("K_heads", ambiguous, {"batch", "key", "kv_head", "d_k"});
  named_axes.add("V_heads", ambiguous);
  const auto by_name = fitted(named(named_axes, multihead), square);
  CHECK(holds(by_name, "K_heads", permuted(ambiguous, {0, 2, 1, 3})));
  CHECK(holds(by_name, "V_heads", ambiguous));
}

TEST_CASE("fused weights are split as other tensors of the file say") {
  const auto weight = counting({4, 12});
  const auto check_thirds = [&](const std::string& name, const AnyTensor& fused) {
    INFO(name);
    const auto dump = named(file_of({{name, fused}}), multihead);
    CHECK(holds(dump, "W_Q", part_of_last_axis(weight, 0, 4)));
    CHECK(holds(dump, "W_K", part_of_last_axis(weight, 4, 4)));
    CHECK(holds(dump, "W_V", part_of_last_axis(weight, 8, 4)));
    CHECK(dump.unknown.empty());
    CHECK(dump.assumptions.size() == 1);
  };
  check_thirds("in_proj_weight", turned(weight));
  check_thirds("attn.qkv.weight", turned(weight));
  check_thirds("c_attn.weight", weight);
  check_thirds("c_attn.weight", turned(weight));
  check_thirds("Wqkv", weight);
  check_thirds("W_qkv", turned(weight));
}

TEST_CASE("fused weights with fewer keys than queries need to know how many") {
  const auto weight = counting({5, 16});  // 4 query heads and 2 key heads of 2
  const auto check_split = [&](const Dump& dump) {
    CHECK(holds(dump, "W_Q", part_of_last_axis(weight, 0, 8)));
    CHECK(holds(dump, "W_K", part_of_last_axis(weight, 8, 4)));
    CHECK(holds(dump, "W_V", part_of_last_axis(weight, 12, 4)));
  };
  check_split(
      named(file_of({{"qkv_proj.weight", turned(weight)}, {"o_proj.weight", counting({5, 8})}}), multihead));
  const auto with_config = file_of({{"qkv_proj.weight", turned(weight)}},
                                   {{"heads", std::int64_t{4}}, {"kv_heads", std::int64_t{2}}});
  check_split(named(with_config, multihead));
  const auto dump = named(file_of({{"qkv_proj.weight", turned(weight)}}), multihead);
  CHECK(dump.tensors.empty());
  CHECK(dump.unknown == Strings{"qkv_proj.weight"});
  CHECK(dump.assumptions ==
        Strings{"qkv_proj.weight could be split into W_Q, W_K and W_V in several ways; save them apart, or "
                "say --heads and --kv-heads."});
  const auto by_head = named(file_of({{"query_key_value.weight", counting({12, 4})}}), multihead);
  CHECK(by_head.unknown == Strings{"query_key_value.weight"});
}

TEST_CASE("fused biases are split as their weight is") {
  const auto bias = counting({12});
  const auto dump = named(file_of({{"qkv.weight", counting({12, 4})}, {"qkv.bias", bias}}), multihead);
  CHECK(holds(dump, "b_Q", part_of_last_axis(bias, 0, 4)));
  CHECK(holds(dump, "b_V", part_of_last_axis(bias, 8, 4)));
  const auto alone = named(file_of({{"qkv.bias", bias}}), multihead);
  CHECK(alone.unknown == Strings{"qkv.bias"});
  const auto of_torch = named(file_of({{"in_proj_bias", bias}}), multihead);
  CHECK(holds(of_torch, "b_K", part_of_last_axis(bias, 4, 4)));
}

TEST_CASE("a bias of zeros changes nothing") {
  const AnyTensor zeros(Dtype::float32, {12});
  const auto dump = named(file_of({{"in_proj_bias", zeros}, {"out_proj.bias", counting({4})}}),
                          {"W_Q", "W_K", "W_V", "W_O"});
  CHECK(dump.unknown == Strings{"out_proj.bias"});
  CHECK(dump.assumptions == Strings{"in_proj_bias is all 0 and left out."});
}

TEST_CASE("weights with an axis of heads have it merged") {
  const auto w_q = counting({6, 3, 2}), w_o = counting({3, 2, 6}), bias = counting({3, 2});
  const auto flax = named(
      file_of({{"X", counting({2, 5, 6})}, {"query/kernel", w_q}, {"query/bias", bias}, {"out/kernel", w_o}}),
      multihead);
  CHECK(holds(flax, "W_Q", reshaped(w_q, {6, 6})));
  CHECK(holds(flax, "b_Q", reshaped(bias, {6})));
  CHECK(holds(flax, "W_O", reshaped(w_o, {6, 6})));
  const auto heads_first = permuted(w_q, {1, 0, 2});
  const auto lens = named(file_of({{"X", counting({2, 5, 6})}, {"W_Q", heads_first}}), multihead);
  CHECK(holds(lens, "W_Q", reshaped(w_q, {6, 6})));
  const auto without_input = named(file_of({{"W_Q", heads_first}}), multihead);
  CHECK(holds(without_input, "W_Q", heads_first));
}

TEST_CASE("masks of two names hide what either hides") {
  const auto expected = multihead_of(2, 3, 4, 2, 2, 2);
  const auto bools = [](Shape shape, const std::vector<double>& entries) {
    return somebody::tensor(std::move(shape), entries, Dtype::boolean);
  };
  const auto padding = bools({2, 3}, {0, 0, 0, 0, 0, 1}), future = bools({3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0});
  const auto dump = fitted(named(file_of({{"key_padding_mask", padding}, {"attn_mask", future}}), multihead),
                           expected, MaskTrue::hidden);
  CHECK(holds(dump, "mask", bools({2, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0})));
  CHECK_THAT(dump.assumptions,
             VectorContains(std::string("key_padding_mask and attn_mask together are taken for mask.")));
  const auto other =
      fitted(named(file_of({{"key_padding_mask", bools({7}, {0, 0, 0, 0, 0, 0, 0})}, {"attn_mask", future}}),
                   multihead),
             expected);
  CHECK(other.tensors.empty());
  CHECK(other.unknown == Strings{"key_padding_mask", "attn_mask"});
}

TEST_CASE("numbers that are not finite are kept") {
  const auto masked = somebody::tensor({2, 2}, {1, -infinity, not_a_number, infinity});
  const auto dump = named(file_of({{"masked_scores", masked}}), {"masked"});
  CHECK(holds(dump, "masked", masked));
}

TEST_CASE("the arithmetic of a dump is that of its steps") {
  const std::vector<ExpectedTensor> expected = {
      {.id = "X", .kind = Kind::input, .shape = {2}, .axes = {"d_model"}},
      {.id = "output", .kind = Kind::step, .shape = {2}, .axes = {"d_model"}}};
  const auto x = somebody::tensor({2}, {0.5, 1}, Dtype::float16);
  const auto output = somebody::tensor({2}, {0.5, 1}, Dtype::float32);
  auto dump = named(file_of({{"X", x}, {"output", output}}), {"X", "output"});
  CHECK(dump.arithmetic == Dtype::float16);
  fit(dump, expected, MaskTrue::seen);
  CHECK(dump.arithmetic == Dtype::float32);
}

TEST_CASE("a viewer's lists are weights") {
  const TemporaryFile file(R"({"attention": [[[1, 0], [0.5, 0.5]], [[1, 0], [0.25, 0.75]]],)"
                           R"( "masked": [[[0, "-Infinity"], ["NaN", "Infinity"]], [[0, 1], [2, 3]]]})");
  auto dump = named(*attn::open_trace(file.path()), multihead);
  fit(dump, multihead_of(1, 2, 4, 2, 2, 2), MaskTrue::seen);
  CHECK(holds(dump, "weights", somebody::tensor({1, 2, 2, 2}, {1, 0, 0.5, 0.5, 1, 0, 0.25, 0.75})));
  CHECK(entries_of(dump.tensors.at("masked"))[1] == -infinity);
}

namespace {

/// A dump that tests/fixtures/make_dumps.py wrote, of 4 heads of length 3 that read 5 tokens.
Dump dump_of(const std::string& file, std::size_t kv_heads, MaskTrue mask_true) {
  auto dump = named(*attn::open_trace(std::string(ATTN_FIXTURES "/dumps/") + file), multihead);
  fit(dump, multihead_of(2, 5, 12, 4, kv_heads, 3), mask_true);
  return dump;
}

/// The largest difference of a dump's tensor from the one that the script has; infinite where there is none.
double difference_from_expected(const Dump& dump, const std::string& file, const std::string& id) {
  const auto expected = attn::open_trace(ATTN_FIXTURES "/dumps/expected.npz");
  const auto* const stored = expected->find(file + "/" + id);
  REQUIRE(stored != nullptr);
  const auto right = expected->read(static_cast<std::size_t>(stored - expected->tensors().data()));
  const auto found = dump.tensors.find(id);
  if (found == dump.tensors.end() || found->second.shape() != right.shape()) return infinity;
  return largest_difference(entries_of(found->second), entries_of(right));
}

void check_expected(const Dump& dump, const std::string& file, const Strings& ids) {
  for (const auto& id : ids) {
    INFO(file << ' ' << id);
    CHECK(difference_from_expected(dump, file, id) == 0.0);
  }
  CHECK(dump.tensors.size() == ids.size());
}

}  // namespace

TEST_CASE("an nn.MultiheadAttention of PyTorch is read") {
  const Strings ids = {"X",   "W_Q", "W_K", "W_V",  "W_O",     "b_Q",
                       "b_K", "b_V", "b_O", "mask", "weights", "output"};
  for (const std::string file : {"torch_multihead.npz", "torch_multihead_seq_first.npz"}) {
    const auto dump = dump_of(file, 4, MaskTrue::hidden);
    check_expected(dump, "torch_multihead", ids);
    CHECK(dump.unknown.empty());
    CHECK(dump.arithmetic == Dtype::float32);
  }
}

TEST_CASE("the batch of nn.MultiheadAttention is found before anything is expected") {
  for (const std::string file : {"torch_multihead.npz", "torch_multihead_seq_first.npz"}) {
    const auto dump = named(*attn::open_trace(std::string(ATTN_FIXTURES "/dumps/") + file), multihead);
    INFO(file);
    CHECK(difference_from_expected(dump, "torch_multihead", "X") == 0.0);
  }
  const auto x = counting({5, 2, 12}), other = counting({7, 2, 12});
  const Strings two_sequences = {"X_target", "X_source", "W_Q", "W_K", "W_V", "weights"};
  const auto weights = counting({2, 4, 5, 7});
  const auto cross = named(file_of({{"query", x},
                                    {"key", other},
                                    {"value", other},
                                    {"in_proj_weight", counting({36, 12})},
                                    {"attn_output_weights", weights}}),
                           two_sequences);
  CHECK(holds(cross, "X_target", permuted(x, {1, 0, 2})));
  CHECK(holds(cross, "X_source", permuted(other, {1, 0, 2})));
  const auto differing = named(file_of({{"query", x},
                                        {"key", other},
                                        {"value", counting({7, 2, 12}, 1.0)},
                                        {"in_proj_weight", counting({36, 12})}}),
                               two_sequences);
  CHECK_FALSE(differing.tensors.contains("X_source"));
}

TEST_CASE("tensors without an element are no trouble") {
  const auto expected = multihead_of(2, 5, 12, 3, 3, 7);
  const auto nothing = counting({2, 0, 5});
  auto dump = named(file_of({{"mask", nothing},
                             {"K_heads", nothing},
                             {"out", nothing},
                             {"W_Q", counting({0, 3, 0})},
                             {"qkv.weight", counting({0, 0})},
                             {"attn", counting({})}}),
                    multihead);
  fit(dump, expected, MaskTrue::seen);
  CHECK(holds(dump, "K_heads", nothing));
  CHECK_THAT(dump.unknown, VectorContains(std::string("attn")));
}

TEST_CASE("an attention of Llama in bfloat16 is read") {
  const auto dump = dump_of("llama.safetensors", 2, MaskTrue::seen);
  check_expected(
      dump, "llama",
      {"X", "W_Q", "W_K", "W_V", "W_O", "mask", "Q_heads", "K_heads", "V_heads", "weights", "output"});
  CHECK(dump.unknown.empty());
  CHECK(dump.arithmetic == Dtype::bfloat16);
}

TEST_CASE("a fused attention of GPT-2 in float16 is read") {
  const auto dump = dump_of("gpt2.npz", 4, MaskTrue::seen);
  check_expected(dump, "gpt2",
                 {"X", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "weights", "masked", "output"});
  CHECK(dump.unknown == Strings{"h.0.mlp.c_proj.weight"});
  CHECK(dump.arithmetic == Dtype::float16);
}
