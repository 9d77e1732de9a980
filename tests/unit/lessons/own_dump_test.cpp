#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lessons/lesson.hpp"
#include "tests/unit/lessons/page.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/layout.hpp"

namespace {

/// What somebody would bring who computed the lesson as it does, and what the lesson expects.
struct OwnDump {
  OwnDump(const lessons::Lesson& lesson, const lessons::Options& options) : file({}) {
    lessons::run(lesson, lessons::make_plan(lesson, options), file);
    for (const auto& tensor : file.tensors()) {
      ids.push_back(tensor.id);
      expected.push_back({tensor.id, *tensor.kind, tensor.dtype, tensor.shape, tensor.axes});
    }
  }

  attn::Recorder file;
  std::vector<std::string> ids;
  std::vector<attn::ExpectedTensor> expected;
};

std::vector<lessons::Options> variants_of(const lessons::Lesson& lesson) {
  auto drawn = lesson.defaults;
  drawn.model = "none";
  std::vector<lessons::Options> all = {drawn};
  if (lesson.uses("causal")) {
    all.push_back(drawn);
    all.back().causal = true;
  }
  if (lesson.uses("memory")) {
    all.push_back(drawn);
    all.back().memory = "I love cats";
  }
  return all;
}

}  // namespace

TEST_CASE("a lesson's own tensors are read as they are") {
  for (const auto* lesson : lessons::all_lessons())
    for (const auto& options : variants_of(*lesson)) {
      const OwnDump own(*lesson, options);
      auto dump = named(own.file, own.ids);
      fit(dump, own.expected, attn::MaskTrue::seen);
      CAPTURE(lesson->name, dump.assumptions, dump.unknown);
      CHECK(dump.assumptions.empty());
      CHECK(dump.unknown.empty());
      CHECK(dump.undecided.empty());
      CHECK(dump.tensors.size() == own.ids.size());
      for (std::size_t i = 0; i < own.ids.size(); ++i) {
        CAPTURE(own.ids[i]);
        CHECK(are_identical(dump.tensors.at(own.ids[i]), own.file.read(i)));
      }
    }
}
