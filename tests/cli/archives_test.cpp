#include <catch2/catch.hpp>
#include <cstring>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "trace/stored_trace.hpp"

namespace {

using Strings = std::vector<std::string>;

std::string bytes_of(const attn::AnyTensor& tensor) {
  const auto view = tensor.view();
  return {static_cast<const char*>(view.data), attn::element_count(view.shape) * attn::size_of(view.dtype)};
}

std::vector<std::vector<Strings>> lists_of(const attn::StoredTensor& tensor) {
  std::vector<std::vector<Strings>> lists;
  for (const auto& labels : tensor.labels) lists.push_back(labels.lists);
  return lists;
}

void check_same(const attn::StoredTrace& a, const attn::StoredTrace& b) {
  CHECK(a.header().lesson == b.header().lesson);
  CHECK(a.header().title == b.header().title);
  CHECK((a.header().config == b.header().config));
  REQUIRE(a.tensors().size() == b.tensors().size());
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    const auto &one = a.tensors()[i], &other = b.tensors()[i];
    INFO(one.id);
    CHECK(one.id == other.id);
    CHECK(one.dtype == other.dtype);
    CHECK(one.stored_dtype == other.stored_dtype);
    CHECK(one.shape == other.shape);
    CHECK(one.kind == other.kind);
    CHECK(one.axes == other.axes);
    CHECK(lists_of(one) == lists_of(other));
    CHECK((bytes_of(a.read(i)) == bytes_of(b.read(i))));
  }
}

/// Runs that between them have every lesson, both float types, batches and masks.
Strings command_lines() {
  Strings lines = {
      "multihead --causal --window 2 --dropout 0.3 --residual --norm --heads 4 --kv-heads 2",
      "cross-attention --source 'I love cats' --target Chats --source Sleep --target 'Dormez bien'",
      "sdpa --sentence '\"quoted\" 猫が座った' --steps weights,output"};
  for (const auto& lesson : lessons())
    for (const std::string dtype : {"float64", "float32"}) lines.push_back(lesson + " --dtype " + dtype);
  return lines;
}

}  // namespace

TEST_CASE("JSON, npz and safetensors of one run hold the same trace, bit for bit", "[thorough]") {
  const Folder folder;
  for (const auto& line : command_lines()) {
    INFO("attnlab " << line);
    for (const std::string ending : {"json", "npz", "safetensors"})
      output_of(line + " --output " + as_argument(folder.file("trace." + ending)));
    const auto json = attn::open_trace(folder.file("trace.json"));
    REQUIRE_FALSE(json->tensors().empty());
    check_same(*json, *attn::open_trace(folder.file("trace.npz")));
    check_same(*json, *attn::open_trace(folder.file("trace.safetensors")));
  }
}

TEST_CASE("an archive holds only the steps that are asked for") {
  const Folder folder;
  const auto file = folder.write("trace.npz", output_of("sdpa --format npz --steps weights,output"));
  const auto trace = attn::open_trace(file);
  REQUIRE(trace->tensors().size() == 2);
  CHECK(trace->tensors()[0].id == "weights");
  CHECK(trace->tensors()[1].id == "output");
}

TEST_CASE("the same run gives the same archive, into a pipe as into a file") {
  const Folder folder;
  for (const std::string format : {"npz", "safetensors"}) {
    const auto piped = output_of("multihead --format " + format);
    CHECK((piped == output_of("multihead --format " + format)));
    output_of("multihead --output " + as_argument(folder.file("trace." + format)));
    CHECK((read_file(folder.file("trace." + format)) == piped));
  }
}

TEST_CASE("an archive is not poured into a terminal") {
  for (const std::string format : {"npz", "safetensors"}) {
    const auto said = refusal("sdpa --format " + format, {.output = Output::terminal});
    CHECK(said == "attnlab: --format " + format + " is no text for a terminal; valid: --output FILE." +
                      format + ", or a pipe\n");
  }
  const Folder folder;
  const auto file = as_argument(folder.file("trace.npz"));
  CHECK(run("sdpa --output " + file, {.output = Output::terminal}).status == 0);
}

TEST_CASE("shapes without numbers are no archive") {
  const Folder folder;
  CHECK(refusal("sdpa --shapes --format npz") ==
        "attnlab: --shapes leaves no numbers to store as npz; valid: --format text or json\n");
  CHECK(refusal("sdpa --shapes --output " + as_argument(folder.file("trace.safetensors"))) ==
        "attnlab: --shapes leaves no numbers to store as safetensors; valid: --format text or json\n");
  CHECK(folder.names().empty());
}

TEST_CASE("a trace of shapes is refused as an input") {
  const Folder folder;
  const auto file = folder.write("shapes.json", output_of("sdpa --shapes --format json"));
  CHECK(
      refusal("sdpa --input " + as_argument(file)).find("it has no data, as in a trace made with --shapes") !=
      std::string::npos);
}

TEST_CASE("an archive without comments is the trace that it was") {
  const Folder folder;
  output_of("multihead --sentence 'the cat sat' --sentence cat --output " +
            as_argument(folder.file("a.npz")));
  const auto bytes = read_file(folder.file("a.npz"));
  const auto end = bytes.rfind("PK\5\6");
  REQUIRE(bytes.size() == end + 22);  // the archive has no comment
  CHECK(attn::open_trace(folder.file("a.npz"))->find("lengths")->kind == attn::Kind::input);
  CHECK(attn::open_trace(folder.file("a.npz"))->find("weights")->kind == attn::Kind::step);
  CHECK(run("multihead --input " + as_argument(folder.file("a.npz")) + " --expect " +
            as_argument(folder.file("a.npz")))
            .status == 0);
}
