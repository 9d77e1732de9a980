#include "trace/stored_trace.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/stored_files.hpp"
#include "trace/archives.hpp"
#include "trace/json/json.hpp"

using Catch::Matchers::StartsWith;
using Strings = std::vector<std::string>;
using stored::elements_of;

namespace {

const attn::Header header{"sdpa", "attention", {{"seed", std::int64_t{42}}, {"sentence", Strings{"a b"}}}};

/// Sends a few events to a sink: tensors of every type among others.
void run_into(attn::Sink& sink) {
  const attn::Tensor<2> doubles{{0.1, -0.0}, {-std::numeric_limits<double>::infinity(), 3}};
  const double negative_nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
  const double halves[] = {0.0999755859375, negative_nan, 65504.0, 0x1p-24},
               brains[] = {0.10009765625, negative_nan, 0x1.FEp127, 0x1p-133};
  const double floats[] = {static_cast<double>(0.1F), negative_nan};
  const attn::Mask<1> bools{true, false, true};
  const auto lengths = attn::Integers<1>::from_shape({0});
  const double scalar = 0.5;
  sink.receive({.kind = attn::Kind::note, .id = "note", .note = "prose"});
  sink.receive({.kind = attn::Kind::input,
                .id = "a/doubles",
                .tensor = attn::view_of(doubles),
                .axes = {"batch", "key"},
                .labels = {{}, {{{"猫", "\""}, {"x", "y"}}}}});
  sink.receive({.kind = attn::Kind::step,
                .id = "floats",
                .tensor = attn::TensorView{attn::Dtype::float32, {2}, floats},
                .axes = {"head·d_v"},
                .labels = {{}}});
  sink.receive({.kind = attn::Kind::step,
                .id = "halves",
                .tensor = attn::TensorView{attn::Dtype::float16, {4}, halves},
                .axes = {"d_v"},
                .labels = {{}}});
  sink.receive({.kind = attn::Kind::step,
                .id = "brains",
                .tensor = attn::TensorView{attn::Dtype::bfloat16, {4}, brains},
                .axes = {"d_v"},
                .labels = {{}}});
  sink.receive({.kind = attn::Kind::step,
                .id = "bools",
                .tensor = attn::view_of(bools),
                .axes = {"key"},
                .labels = {{}}});
  sink.receive({.kind = attn::Kind::input,
                .id = "lengths",
                .tensor = attn::view_of(lengths),
                .axes = {"batch"},
                .labels = {{}}});
  sink.receive({.kind = attn::Kind::step, .id = "scalar", .tensor = attn::view_of(scalar)});
  auto outline = attn::view_of(doubles);
  outline.data = nullptr;
  sink.receive({.kind = attn::Kind::step, .id = "outline", .tensor = outline});
}

template <class Writer>
std::string written() {
  Writer writer(header);
  run_into(writer);
  return writer.finish();
}

void check_trace(const attn::StoredTrace& trace) {
  CHECK(trace.header().lesson == "sdpa");
  CHECK(trace.header().title == "attention");
  CHECK((trace.header().config == header.config));
  CHECK(stored::ids_of(trace) ==
        Strings{"a/doubles", "floats", "halves", "brains", "bools", "lengths", "scalar"});
  const auto doubles = elements_of<double>(trace, "a/doubles");
  CHECK(doubles == std::vector<double>{0.1, 0, -std::numeric_limits<double>::infinity(), 3});
  CHECK(std::signbit(doubles[1]));
  const auto floats = elements_of<double>(trace, "floats", attn::Dtype::float32);
  CHECK(floats[0] == static_cast<double>(0.1F));
  CHECK(std::isnan(floats[1]));
  const auto halves = elements_of<double>(trace, "halves", attn::Dtype::float16);
  CHECK((halves[0] == 0.0999755859375 && std::isnan(halves[1]) && halves[2] == 65504.0 &&
         halves[3] == 0x1p-24));
  const auto brains = elements_of<double>(trace, "brains", trace.find("brains")->dtype);
  CHECK((brains[0] == 0.10009765625 && std::isnan(brains[1]) && brains[2] == 0x1.FEp127 &&
         brains[3] == 0x1p-133));
  CHECK((elements_of<bool>(trace, "bools") == std::vector<bool>{true, false, true}));
  CHECK(trace.find("bools")->stored_dtype == "bool");
  CHECK(elements_of<std::int64_t>(trace, "lengths").empty());
  CHECK(elements_of<double>(trace, "scalar") == std::vector<double>{0.5});
  const auto* described = trace.find("a/doubles");
  CHECK(described->kind == attn::Kind::input);
  CHECK(described->shape == attn::Shape{2, 2});
  CHECK(described->axes == Strings{"batch", "key"});
  CHECK(described->labels[0].empty());
  CHECK(described->labels[1].lists == std::vector<Strings>{{"猫", "\""}, {"x", "y"}});
  CHECK(trace.find("floats")->axes == Strings{"head·d_v"});
  CHECK(trace.find("outline") == nullptr);
}

}  // namespace

TEST_CASE("a recorded run, an npz and a safetensors file hold the same trace") {
  attn::Recorder recorder(header);
  run_into(recorder);
  check_trace(recorder);
  const TemporaryFile npz(written<attn::NpzWriter>()), safetensors(written<attn::SafetensorsWriter>());
  check_trace(*attn::open_trace(npz.path()));
  check_trace(*attn::open_trace(safetensors.path()));
}

TEST_CASE("the same trace gives the same bytes") {
  CHECK((written<attn::NpzWriter>() == written<attn::NpzWriter>()));
  CHECK((written<attn::SafetensorsWriter>() == written<attn::SafetensorsWriter>()));
}

TEST_CASE("every NaN is stored as the positive quiet one") {
  const std::string one = {'\0', '\0', '\xC0', '\x7F'}, other = {'\0', '\0', '\xC0', '\xFF'};
  for (const auto& bytes : {written<attn::NpzWriter>(), written<attn::SafetensorsWriter>()}) {
    CHECK(bytes.find("\xCD\xCC\xCC\x3D" + one) != bytes.npos);
    CHECK(bytes.find("\xCD\xCC\xCC\x3D" + other) == bytes.npos);
  }
}

TEST_CASE("an array in an npz is the one that NumPy would have written") {
  attn::NpzWriter writer({});
  attn::Tensor<3> tensor = attn::Tensor<3>::from_shape({2, 3, 4});
  for (std::size_t i = 0; i < 24; ++i) tensor.data()[i] = 0.25 * static_cast<double>(i) - 1;
  writer.receive({.kind = attn::Kind::step, .id = "a", .tensor = attn::view_of(tensor)});
  const TemporaryFile ours(writer.finish());
  std::ifstream numpy(ATTN_FIXTURES "/archives/array.npy", std::ios::binary),
      archive(ours.path(), std::ios::binary);
  const std::string array{std::istreambuf_iterator<char>(numpy), {}};
  const std::string bytes{std::istreambuf_iterator<char>(archive), {}};
  REQUIRE(array.size() == 128 + 24 * sizeof(double));
  CHECK(bytes.find(array) != bytes.npos);
}

TEST_CASE("labels of many tokens are kept") {
  attn::NpzWriter writer(header);
  const auto many = attn::Tensor<1>::from_shape({20'000});
  writer.receive({.kind = attn::Kind::step,
                  .id = "many",
                  .tensor = attn::view_of(many),
                  .axes = {"key"},
                  .labels = {{{Strings(20'000, "word")}}}});
  const TemporaryFile file(writer.finish());
  const auto trace = attn::open_trace(file.path());
  CHECK(trace->find("many")->shape == attn::Shape{20'000});
  CHECK(trace->find("many")->labels[0].lists[0].size() == 20'000);
}

TEST_CASE("an AnyTensor owns as many elements as its shape asks for") {
  CHECK(attn::AnyTensor(attn::Dtype::int64, {2, 3}).view().at(5) == 0);
  CHECK(attn::AnyTensor(attn::Dtype::boolean, {0, 3}).view().data != nullptr);
  CHECK_THROWS_AS(attn::AnyTensor(attn::TensorView{attn::Dtype::float64, {2}, nullptr}),
                  std::invalid_argument);
}

TEST_CASE("a file that is no trace of any format is refused with how it begins") {
  const auto refusal = [](const std::string& content) {
    return stored::refusal(TemporaryFile(content).path());
  };
  CHECK_THAT(refusal(""), StartsWith("it is empty; valid: an .npz, .safetensors or JSON file with tensors"));
  CHECK_THAT(
      refusal("sdpa: attention\n"),
      StartsWith("it begins with \"sdpa: at\", as no npz, safetensors or JSON file does; valid: an .npz"));
  CHECK_THAT(refusal("\x1F\x8B\x08"), StartsWith("it begins with \"\\x1f\\x8b\\x08\""));
  CHECK_THAT(refusal("[1,2]"), StartsWith("it begins with \"[1,2]\""));
  CHECK_THAT(
      stored::refusal(ATTN_FIXTURES "/archives/array.npy"),
      StartsWith("it is an .npy file: one array without an id; valid: numpy.savez(FILE, ID=ARRAY, ...)"));
}

TEST_CASE("what is neither a file nor a pipe is refused without waiting for it") {
  const TemporaryFile file("");
  CHECK_THAT(stored::refusal("/dev/zero"), StartsWith("it is neither a file nor a pipe; valid: an .npz"));
  CHECK_THAT(stored::refusal("/"), StartsWith("it is a directory"));
  CHECK_THAT(stored::refusal(file.path() + "/nowhere"), StartsWith("it cannot be opened: Not a directory"));
}

TEST_CASE("a trace in any format may come from a pipe") {
  const auto check = [](const std::string& bytes) {
    const TemporaryFile file("");
    const auto pipe = file.path() + ".pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    const auto trace = attn::open_trace(pipe);
    writer.join();
    std::filesystem::remove(pipe);
    check_trace(*trace);
  };
  check(written<attn::NpzWriter>());
  check(written<attn::SafetensorsWriter>());
}

TEST_CASE("a symbolic link is followed to its file") {
  const TemporaryFile file(written<attn::NpzWriter>());
  const auto link = file.path() + ".link";
  std::filesystem::create_symlink(file.path(), link);
  check_trace(*attn::open_trace(link));
  std::filesystem::remove(link);
}

TEST_CASE("a file that becomes shorter after it was opened is read as it was") {
  const auto check = [](auto writer) {
    const auto many = attn::Tensor<1>::from_shape({100'000});
    writer.receive({.kind = attn::Kind::step,
                    .id = "many",
                    .tensor = attn::view_of(many),
                    .axes = {"key"},
                    .labels = {{}}});
    const TemporaryFile file(writer.finish());
    const auto trace = attn::open_trace(file.path());
    std::filesystem::resize_file(file.path(), 100'000);
    CHECK(trace->read(0).shape() == attn::Shape{100'000});
  };
  check(attn::NpzWriter(header));
  check(attn::SafetensorsWriter(header));
}
