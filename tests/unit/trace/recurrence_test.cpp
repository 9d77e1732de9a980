#include "trace/recurrence.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

#include "tests/unit/watches.hpp"

using attn::Recurrence;
using attn::Tensor;
using attn::Trace;

namespace {

/// Keeps the ids and the elements of what it receives.
class Keeper : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    ids.push_back(event.id);
    events.push_back(event);
    auto& elements = values[event.id];
    for (std::size_t i = 0; i < attn::element_count(event.tensor->shape); ++i)
      elements.push_back(event.tensor->at(i));
  }
  std::vector<std::string> ids;
  std::vector<attn::Event> events;
  std::map<std::string, std::vector<double>> values;
};

/// h = h before + 1, then twice that, for two samples of one number: rows 0, 1 and 2.
void count(Trace& trace, Recurrence& recurrence, const std::vector<std::size_t>& order) {
  Tensor<3> h = {{{0}}, {{10}}};
  for (const auto t : order)
    h = recurrence.row(t, [&] {
      auto next = trace.step({.id = "h", .axes = {"token", "hidden"}}, Tensor<3>(h + 1.0));
      trace.step({.id = "twice", .from = {"h"}, .axes = {"token", "hidden"}}, Tensor<3>(2.0 * next));
      return next;
    });
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("the rows of a recurrence become one event", "[recurrence]") {
  Keeper keeper;
  Trace trace(keeper, {.batched = true});
  Recurrence recurrence(trace, "token", 3);
  count(trace, recurrence, {0, 1, 2});
  CHECK(keeper.ids.empty());
  recurrence.show("h");
  recurrence.show("twice");
  CHECK(keeper.ids == std::vector<std::string>{"h", "twice"});
  CHECK(keeper.events[0].tensor->shape == attn::Shape{2, 3, 1});
  CHECK(keeper.values["h"] == Values{1, 2, 3, 11, 12, 13});
  CHECK(keeper.values["twice"] == Values{2, 4, 6, 22, 24, 26});
}

TEST_CASE("rows may come in any order, and events in another order than they", "[recurrence]") {
  Keeper keeper;
  Trace trace(keeper, {.batched = true});
  trace.within("group", [&] {
    Recurrence backwards(trace, "token", 4);
    count(trace, backwards, {2, 1, 0});
    backwards.show("twice");
    backwards.show("h");
  });
  CHECK(keeper.ids == std::vector<std::string>{"group/twice", "group/h"});
  CHECK(keeper.values["group/h"] == Values{3, 2, 1, 0, 13, 12, 11, 0});
}

TEST_CASE("the next row starts from the row that the step returned", "[recurrence]") {
  Keeper keeper;
  const auto replace = [](const std::string& id, const attn::Shape& shape, double* elements) {
    if (id == "h" && shape == attn::Shape{2, 3, 1}) elements[1] += 100;  // sample 0, row 1
  };
  Trace trace(keeper, {.batched = true, .watch = attn::replacing(replace)});
  Recurrence recurrence(trace, "token", 3);
  count(trace, recurrence, {0, 1, 2});
  recurrence.show("h");
  recurrence.show("twice");
  CHECK(keeper.values["h"] == Values{1, 102, 103, 11, 12, 13});
  CHECK(keeper.values["twice"] == Values{2, 204, 206, 22, 24, 26});
}

TEST_CASE("rows are rounded as they come, without anybody who watches as well", "[recurrence]") {
  Keeper keeper;
  Trace loud(keeper, {.batched = true, .dtype = attn::Dtype::float16});
  auto trace = loud.mute();
  Recurrence recurrence(trace, "token", 1);
  const auto h = recurrence.row(0, [&] {
    return trace.step({.id = "h", .axes = {"token", "hidden"}}, Tensor<3>{{{0.1}}});
  });
  recurrence.show("h");
  CHECK(keeper.ids.empty());
  CHECK(h(0, 0, 0) == attn::round_to(attn::Dtype::float16, 0.1));
}

TEST_CASE("what is no single row is refused", "[recurrence]") {
  Keeper keeper;
  Trace trace(keeper, {.batched = true});
  Recurrence recurrence(trace, "token", 3);
  const Tensor<3> two_rows = {{{1}, {2}}};
  CHECK_THROWS_AS(recurrence.row(0,
                                 [&] {
                                   trace.step({.id = "h", .axes = {"token", "hidden"}}, two_rows);
                                 }),
                  std::logic_error);
  CHECK_THROWS_AS(recurrence.row(0,
                                 [&] {
                                   trace.step({.id = "h", .axes = {"query", "key"}}, two_rows);
                                 }),
                  std::logic_error);
}
