#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/unit/lessons/page.hpp"

namespace {

lessons::Options ring_options(std::size_t ranks, const std::string& order = "contiguous") {
  return {.sentence = {"a b c d e f g"}, .d_k = 3, .d_v = 2, .ranks = ranks, .order = order};
}

/// What was sent and not received yet, by sender and receiver.
struct Mail {
  std::mutex mutex;
  std::condition_variable came;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::string>> letters;
};

/// A process that plays one rank, as a thread.
class OneRank : public attn::fast::Network {
 public:
  OneRank(std::size_t ranks, std::size_t rank, Mail& mail) : Network(ranks, {rank, rank + 1}), mail_(mail) {}

 private:
  void carry(const std::vector<attn::fast::Transfer>& transfers) override {
    const std::lock_guard lock(mail_.mutex);
    for (const auto& transfer : transfers) {
      if (plays(transfer.from))
        mail_.letters[{transfer.from, transfer.to}].emplace_back(static_cast<const char*>(transfer.source),
                                                                 transfer.bytes);
      if (plays(transfer.to)) expected_.push_back(transfer);
    }
    mail_.came.notify_all();
  }

  void wait() override {
    std::unique_lock lock(mail_.mutex);
    for (const auto& transfer : expected_) {
      auto& letters = mail_.letters[{transfer.from, transfer.to}];
      mail_.came.wait(lock, [&] { return !letters.empty(); });
      require_same_size(letters.front().size(), transfer.bytes);
      std::memcpy(transfer.destination, letters.front().data(), letters.front().size());
      letters.pop_front();
    }
    expected_.clear();
  }

  static void require_same_size(std::size_t sent, std::size_t expected) {
    if (sent != expected) throw std::logic_error("a letter of another size");
  }

  Mail& mail_;
  std::vector<attn::fast::Transfer> expected_;
};

/// What each of several processes is told, one rank each.
std::vector<std::unique_ptr<Listener>> told_by_processes(const lessons::Options& options) {
  Mail mail;
  std::vector<std::unique_ptr<Listener>> told;
  std::vector<std::thread> processes;
  for (std::size_t rank = 0; rank < *options.ranks; ++rank) told.push_back(std::make_unique<Listener>());
  for (std::size_t rank = 0; rank < *options.ranks; ++rank)
    processes.emplace_back([&, rank] {
      OneRank network(*options.ranks, rank, mail);
      auto plan = lessons::make_plan(lesson_called("ring"), options);
      plan.network = &network;
      lessons::run(lesson_called("ring"), plan, *told[rank]);
    });
  for (auto& process : processes) process.join();
  return told;
}

bool all_claims_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& claim) { return claim.second.holds(); });
}

}  // namespace

TEST_CASE("a ring claims what holds, whatever its ranks, order, mask, heads and dtype", "[ring]") {
  auto options = ring_options(GENERATE(1, 2, 3, 7, 9), GENERATE("contiguous", "striped", "zigzag"));
  options.causal = GENERATE(false, true);
  options.window = GENERATE(std::optional<std::size_t>(), std::optional<std::size_t>(1));
  options.dtype = GENERATE("float64", "float16");
  if (GENERATE(false, true)) {
    options.heads = 2;
    options.sentence.push_back("h i");
  }
  const auto told = told_by("ring", options);
  CHECK(told.measurements.size() == 6);
  CHECK(all_claims_hold(told));
}

TEST_CASE("ranks that exchange heads for tokens claim what holds", "[ring]") {
  auto options = ring_options(GENERATE(1, 2, 3));
  options.heads = 6;
  options.way = "heads";
  options.causal = GENERATE(false, true);
  if (GENERATE(false, true)) options.sentence.push_back("h i");
  const auto told = told_by("ring", options);
  CHECK(told.measurements.size() == 6);
  CHECK(all_claims_hold(told));
}

TEST_CASE("a change of what a rank carries reaches the output and breaks a claim", "[ring]") {
  for (const std::string step : {"hop=0/scores", "hop=0/m", "hop=0/l", "hop=0/o", "hop=1/c", "hop=2/o"}) {
    INFO(step);
    const auto told = told_by("ring", ring_options(3), {}, one_percent_more(step));
    const bool is_a_base = step == "hop=0/m";  // any number will do in the place of the maximum
    CHECK(told.holds("equals-full-attention") == is_a_base);
  }
}

TEST_CASE("a query that sees nothing carries nothing, and no number is nan", "[ring]") {
  auto options = ring_options(3);
  const std::size_t n = 7;
  std::vector<double> mask(n * n, 1.0);
  std::fill_n(mask.begin() + 2 * n, n, 0.0);
  attn::AnyTensor given(attn::Dtype::boolean, {n, n});
  std::copy(mask.begin(), mask.end(), given.elements<bool>());
  attn::GivenTensors tensors;
  tensors.emplace("mask", std::move(given));
  const auto told = told_by("ring", options, tensors);
  CHECK(all_claims_hold(told));
  CHECK(told.has("equals-compiled-ring"));
  CHECK(told.elements("hop=2/m")[2] == -std::numeric_limits<double>::infinity());
  CHECK(told.elements("hop=2/l")[2] == 0.0);
  CHECK(told.elements("output")[4] == 0.0);
  for (const auto& [id, tensor] : told.tensors)
    for (const double element : told.elements(id)) CHECK_FALSE(std::isnan(element));
}

TEST_CASE("causal work is uneven in contiguous blocks and even in a zigzag", "[ring]") {
  const auto work_of = [](const std::string& order) {
    auto options = ring_options(2, order);
    options.sentence = {"a b c d"};
    options.causal = true;
    return told_by("ring", options).elements("work");
  };
  CHECK(work_of("contiguous") == std::vector<double>{3, 0, 3, 4});
  CHECK(work_of("zigzag") == std::vector<double>{3, 2, 3, 2});
}

TEST_CASE("a plan's network takes the place of the ranks in one process", "[ring]") {
  const auto network = attn::fast::local_network(4);
  auto plan = lessons::make_plan(lesson_called("ring"), ring_options(4));
  plan.network = network.get();
  Listener told;
  CHECK(lessons::run(lesson_called("ring"), plan, told));
  CHECK(told.elements("bytes").front() == static_cast<double>(network->bytes_sent(0)));
}

TEST_CASE("processes of one rank each are told what a single process is told", "[ring]") {
  auto options = ring_options(3, GENERATE("contiguous", "zigzag"));
  options.causal = true;
  options.dtype = GENERATE("float64", "float16");
  if (GENERATE(false, true)) options.way = "heads";
  if (options.way == "heads" || GENERATE(false, true)) options.heads = 3;
  auto plan = lessons::make_plan(lesson_called("ring"), options);
  Listener alone;
  lessons::run(lesson_called("ring"), plan, alone);
  for (const auto& told : told_by_processes(options)) {
    CHECK(all_claims_hold(*told));
    CHECK(told->notes == alone.notes);
    REQUIRE(told->tensors.size() == alone.tensors.size());
    for (const auto& [id, tensor] : alone.tensors) {
      INFO(id);
      CHECK(told->elements(id) == alone.elements(id));
    }
  }
}
