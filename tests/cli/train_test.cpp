#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/cli/events.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "trace/model.hpp"

using Catch::Contains;
using nlohmann::json;

namespace {

/// A training that takes a second or so, its file and what else is to be said.
std::string training(const std::string& path, const std::string& more = "") {
  return "train reverse --steps 4000 --batch 8 --threads 1 --output " + as_argument(path) + more;
}

std::string quick_training(const std::string& path, const std::string& more = "") {
  return "train reverse --steps 30 --batch 8 --threads 1 --output " + as_argument(path) + more;
}

/// What a training prints that ends well.
std::string trained_with(const std::string& arguments) {
  const auto result = run(arguments);
  INFO("attnlab " << arguments << '\n' << result.err);
  REQUIRE(result.status == 0);
  return result.out;
}

/// True once the file is there and so many milliseconds have gone by since.
std::function<bool()> once_there(const std::string& path, int milliseconds = 0) {
  const auto there_since = std::make_shared<std::optional<std::chrono::steady_clock::time_point>>();
  return [=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto now = std::chrono::steady_clock::now();
    if (!*there_since && std::filesystem::exists(path)) *there_since = now;
    return *there_since && now - **there_since >= std::chrono::milliseconds(milliseconds);
  };
}

std::function<bool()> after(int milliseconds) {
  const auto start = std::chrono::steady_clock::now();
  return [=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(milliseconds);
  };
}

void check_same_weights(const std::string& path, const std::string& other) {
  const auto a = attn::read_model(path), b = attn::read_model(other);
  CHECK(a.scores == b.scores);
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].id == b.tensors[i].id);
    CHECK((a.tensors[i].values == b.tensors[i].values));
  }
}

/// The lesson goes through the model: its page is that of no other weights.
void check_gone_through(const std::string& lesson, const std::string& path) {
  INFO(lesson << ' ' << path);
  const auto page = without_header(output_of(lesson + " --model " + as_argument(path)));
  CHECK((page != without_header(output_of(lesson))));
  CHECK((page != without_header(output_of(lesson + " --model none"))));
}

}  // namespace

TEST_CASE("train writes a model and prints how good it is") {
  const Folder folder;
  const auto path = folder.file("r.safetensors");
  const auto page = trained_with("train reverse --output " + as_argument(path));
  CHECK_THAT(page, Contains("Loss of the training batches") && Contains("On examples that it has not seen"));
  CHECK_THAT(page, Contains("100.00 % of  5000  symbols right\n") && Contains(path + " has the weights ("));
  CHECK(folder.names() == std::vector<std::string>{"r.safetensors"});
  const auto model = attn::read_model(path);
  CHECK(model.task == "reverse");
  CHECK(model.command == "attnlab train reverse --output " + path);
  CHECK(model.scores.at("symbols right") == 1);
  CHECK(model.training.empty());
  CHECK(model.at("layer=1/attention/W_Q").shape == attn::Shape{32, 16});
}

TEST_CASE("train with the same seed and threads writes the same bytes, with another seed others",
          "[thorough]") {
  const Folder folder;
  const auto path = folder.file("r.safetensors");
  std::vector<std::string> files;
  for (const std::string more : {" --threads 2", " --threads 2", " --threads 2 --seed 7"}) {
    trained_with("train reverse --steps 40 --output " + as_argument(path) + more);
    files.push_back(read_file(path));
  }
  CHECK((files[0] == files[1]));
  CHECK((files[0] != files[2]));
}

TEST_CASE("train prints plain lines of its progress where stderr is no terminal") {
  const Folder folder;
  const auto result = run(quick_training(folder.file("r.safetensors")));
  const auto lines = lines_of(result.err);
  CHECK(lines.size() == 10);
  CHECK_THAT(lines.front(), Catch::Matches(R"(step 3 of 30  loss \d+\.\d{4}  \d+ tokens/s  \d+ s left)"));
}

TEST_CASE("train refuses what it cannot do, by name and with what would be valid") {
  const Folder folder;
  const auto output = " --output " + as_argument(folder.file("x.safetensors"));
  CHECK_THAT(refusal("train"), Contains("train: no task is given; valid: attnlab train translation|about|"));
  CHECK_THAT(refusal("train --steps 3"), Contains("train: no task is given"));
  CHECK_THAT(refusal("train revers"), Contains("there is no task \"revers\"; did you mean reverse? valid: "));
  CHECK_THAT(refusal("train reverse --stepz 3"), Contains("no option --stepz; did you mean --steps?"));
  for (const std::string flag : {"--d-k 4", "--heads 4", "--layers 3", "--d-model 32"})
    CHECK_THAT(refusal("train about " + flag + output),
               Contains(flag.substr(0, flag.find(' ')) + " does not concern the task about"));
  CHECK_THAT(refusal("train reverse about"), Contains("\"about\" belongs to no option"));
  for (const std::string bad :
       {"--steps 0", "--steps -1", "--steps 1.5", "--batch 0", "--threads 0", "--threads 65", "--rate 0",
        "--rate -1", "--rate nan", "--clip 0", "--dropout 1", "--warm-up 0", "--seed -1", "--d-model 0",
        "--heads 0", "--d-k 0", "--layers 0", "--dtype float64", "--positions here"}) {
    const auto flag = bad.substr(0, bad.find(' '));
    CHECK_THAT(refusal("train reverse " + bad + output), Contains(flag) && Contains("valid: "));
  }
  CHECK_THAT(refusal("train reverse --d-k 1000000 --d-model 1000000" + output),
             Contains("weights take") && Contains("valid: smaller"));
  CHECK_THAT(refusal("train dates --attention here" + output),
             Contains("--attention") && Contains("valid: "));
  CHECK_THAT(refusal("train dates --attention transformer --positions learned" + output),
             Contains("no encoding \"learned\" here; valid: none, sinusoidal, rotary"));
  CHECK_THAT(refusal("train dates --attention transformer --positions rotary --d-k 3" + output),
             Contains("--d-k 3: rotary positions turn pairs"));
  CHECK_THAT(refusal("train dates --attention transformer --d-ff 0" + output),
             Contains("--d-ff 0") && Contains("valid: 1 or more"));
  CHECK_THAT(refusal("train induction --d-k 3" + output), Contains("--d-k 3: rotary positions turn pairs"));
  CHECK(folder.names().empty());
}

TEST_CASE("train refuses an option of another task", "[thorough]") {
  for (const std::string flag : {"--hidden 3", "--d-a 3", "--attention none", "--grammar x", "--pharaoh"})
    CHECK_THAT(refusal("train reverse " + flag),
               Contains("train reverse: " + flag.substr(0, flag.find(' ')) + " does not concern this task"));
  for (const std::string task : {"dates", "translation --attention none"})
    for (const std::string flag :
         {"--positions none", "--heads 3", "--d-k 3", "--d-v 3", "--d-ff 3", "--layers 3"})
      CHECK_THAT(refusal("train " + task + " " + flag),
                 Contains(flag.substr(0, flag.find(' ')) + " does not concern --attention ") &&
                     Contains("valid: with --attention transformer"));
  for (const std::string flag : {"--hidden 3", "--d-a 3"})
    CHECK_THAT(
        refusal("train dates --attention transformer " + flag),
        Contains(flag.substr(0, flag.find(' '))) && Contains("does not concern --attention transformer"));
}

TEST_CASE("a translator of another grammar reads its words as they are, and refuses others") {
  const Folder folder;
  const auto grammar = folder.write("german.grammar",
                                    "shape word\n  category word\n"
                                    "word <the>\n  Der = le\n"
                                    "word <noun>\n  Hund = chien\n  Kater = chat\n"
                                    "word <slept>\n  schläft = dort\n  rennt = court\n"
                                    "<sentence>\n  <the> <noun> <slept>\n");
  const auto path = folder.file("german.safetensors");
  trained_with("train translation --steps 1 --batch 2 --d-model 4 --hidden 2 --d-a 2 --grammar " +
               as_argument(grammar) + " --output " + as_argument(path));
  const auto of_model = " --model " + as_argument(path);
  const auto trace = nlohmann::json::parse(
      output_of("seq2seq --source 'Der Hund schläft' --target 'le chien dort' --format json" + of_model));
  CHECK(trace["config"]["model"] == path);
  CHECK_FALSE(trace["config"].contains("read_as"));
  CHECK_THAT(refusal("seq2seq --source 'Der Vogel schläft'" + of_model),
             Contains("it does not know \"Vogel\""));
}

TEST_CASE("the task language has no word that stands in for others") {
  const Folder folder;
  const auto path = folder.file("language.safetensors");
  trained_with("train language --steps 1 --batch 2 --output " + as_argument(path));
  const auto model = attn::read_model(path);
  for (const auto& [name, words] : model.vocabularies) {
    CHECK(words.size() > 300);
    for (const auto& word : words) CHECK(word.front() != '[');
  }
}

TEST_CASE("train refuses a grammar that is not there, and names the line of what is wrong with one") {
  const Folder folder;
  CHECK_THAT(refusal("train language --grammar nowhere.grammar"),
             Contains("nowhere.grammar cannot be opened"));
  const auto path = folder.write("bad.grammar", "<sentence>\n  1  <noun>\n");
  CHECK_THAT(refusal("train language --grammar " + as_argument(path)),
             Contains("bad.grammar, line 2: <noun> is no nonterminal of this file; valid: "));
}

TEST_CASE("train refuses a file that cannot be written before it trains") {
  const Folder folder;
  CHECK_THAT(refusal(training(folder.file("nowhere/x.safetensors"))), Contains("cannot be written"));
  CHECK_THAT(refusal(training(folder.path())), Contains("cannot be written"));
}

TEST_CASE("a training that comes to no number ends with status 2 and leaves no file that cannot be read") {
  const Folder folder;
  const auto path = folder.file("x.safetensors");
  const auto result = run(quick_training(path, " --rate 1e30"));
  CHECK(result.status == 2);
  CHECK_THAT(result.err, Contains("the loss is no number any more; valid: a smaller --rate"));
  CHECK(result.out == "");
  if (std::filesystem::exists(path)) CHECK_NOTHROW(attn::read_model(path));
}

TEST_CASE(
    "Ctrl-C leaves the best weights so far, and --resume ends where a training ends that nobody stops") {
  const Folder folder;
  const auto whole = folder.file("whole.safetensors"), part = folder.file("part.safetensors");
  trained_with(training(whole));
  const auto stopped = run(training(part), {.killed_when = once_there(part, 20), .interrupted = true});
  REQUIRE(stopped.status == 1);
  CHECK(stopped.out == "");
  CHECK_THAT(stopped.err,
             Contains("stopped after ") && Contains(" of 4000 steps; the best weights so far are in " + part +
                                                    "; go on with --resume " + part));
  CHECK(attn::read_model(part).training.at("steps") == "4000");
  CHECK(attn::read_model(part).find("layer=1/attention/W_Q"));
  trained_with("train reverse --output " + as_argument(part) + " --resume " + as_argument(part));
  CHECK(attn::read_model(part).training.empty());
  CHECK_THAT(attn::read_model(part).command, Contains("--steps 4000 --batch 8"));
  check_same_weights(whole, part);
}

TEST_CASE("the weights are in the file before held-out examples are looked at") {
  const Folder folder;
  const auto path = folder.file("one.safetensors");
  const auto killed = run("train reverse --steps 1 --threads 1 --output " + as_argument(path),
                          {.killed_when = once_there(path)});
  CHECK(killed.status != 0);
  const auto model = attn::read_model(path);
  CHECK(model.scores.empty());
  CHECK(model.training.empty());
}

TEST_CASE("the option --resume refuses a finished model, one of another task and one of other settings") {
  const Folder folder;
  const auto finished = folder.file("finished.safetensors"), part = folder.file("part.safetensors");
  trained_with(quick_training(finished));
  const auto other = folder.file("other.safetensors");
  const auto resume = [&](const std::string& path) { return " --resume " + as_argument(path); };
  CHECK_THAT(refusal(quick_training(other, resume(finished))),
             Contains("--resume " + finished + ": its training is finished; valid: "));
  REQUIRE(run(training(part), {.killed_when = once_there(part), .interrupted = true}).status == 1);
  CHECK_THAT(
      refusal("train induction --output " + as_argument(other) + resume(part)),
      Contains("--resume " + part + ": it is a model of the task reverse; valid: attnlab train reverse"));
  for (const std::string more :
       {"--steps 5000", "--batch 9", "--seed 3", "--threads 2", "--rate 0.5", "--warm-up 7", "--clip 2",
        "--dropout 0.5", "--d-model 16", "--d-k 8", "--layers 2", "--positions sinusoidal"}) {
    const auto flag = more.substr(0, more.find(' '));
    std::string arguments = training(other, resume(part)) + " " + more;
    if (flag == "--steps" || flag == "--batch" || flag == "--threads") {
      const auto at = arguments.find(flag + " ");
      arguments.erase(at, arguments.find(" --", at) - at + 1);
    }
    CHECK_THAT(refusal(arguments), Contains("--resume " + part + ": its ") && Contains("valid: "));
  }
  CHECK_THAT(refusal(training(other, resume(folder.file("nowhere")))), Contains("nowhere"));
  CHECK_THAT(refusal(training(other, resume(folder.write("text", "hello")))), Contains("text"));
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("a training that is killed at any moment leaves weights that load, or none") {
  const Folder folder;
  std::size_t files = 0;
  for (int i = 0; i < 24; ++i) {
    const auto path = folder.file(std::to_string(i) + ".safetensors");
    const auto moment = i % 2 == 0 ? after(3 + 37 * i) : once_there(path, i);
    const auto result =
        run("train reverse --steps 80000 --batch 1 --d-model 64 --threads 1 --output " + as_argument(path),
            {.killed_when = moment});
    REQUIRE(result.status == 128 + SIGKILL);
    if (!std::filesystem::exists(path)) continue;
    ++files;
    CHECK_NOTHROW(attn::read_model(path));
  }
  CHECK(files >= 12);
}

TEST_CASE("the option --pharaoh prints links and nothing else, and the model is written all the same",
          "[thorough]") {
  const Folder folder;
  const auto path = folder.file("t.safetensors");
  const auto links = trained_with(
      "train translation --steps 1 --hidden 2 --d-model 2 --d-a 2 --pharaoh --output " + as_argument(path));
  const auto lines = lines_of(links);
  CHECK(lines.size() == 1000);
  for (const auto& line : lines) CHECK_THAT(line, Catch::Matches(R"(\d+-0( \d+-\d+)*)"));
  CHECK(attn::read_model(path).training.empty());
  check_gone_through("seq2seq", path);
}

TEST_CASE("train --attention transformer: an error rate for each head, and scores by length", "[thorough]") {
  const Folder folder;
  const auto path = folder.file("t.safetensors");
  const auto page = trained_with(
      "train translation --attention transformer --steps 1 --d-model 4 --heads 2 --d-k 2 --d-v 2 --d-ff 2 "
      "--layers 2 --output " +
      as_argument(path));
  CHECK_THAT(page, Contains("15 to 16 words") && Contains("17 to 18 words") && Contains("layer 2, head 1"));
  const auto model = attn::read_model(path);
  CHECK(model.configuration.at("attention") == "transformer");
  CHECK(model.at("decoder/layer=2/cross/W_Q").shape == attn::Shape{4, 4});
  const double best = model.scores.at("alignment error rate");
  double least = 1;
  for (const std::string head : {"layer 1, head 0", "layer 1, head 1", "layer 2, head 0", "layer 2, head 1"})
    least = std::min(least, model.scores.at("alignment error rate, " + head));
  CHECK(best == least);
  std::size_t examples = 0, shortest = 0;
  for (const auto& score : model.scores_by_length) {
    examples += score.examples;
    CHECK(score.fewest > shortest);
    shortest = score.fewest;
  }
  CHECK(examples == 1500);
  check_gone_through("cross-attention", path);
}

TEST_CASE("train --without-weights writes the figures of the same training, and no weights", "[thorough]") {
  const Folder folder;
  const auto with = folder.file("with.safetensors"), without = folder.file("without.safetensors");
  const std::string training = "train translation --steps 1 --hidden 2 --d-model 2 --d-a 2 --output ";
  trained_with(training + as_argument(with));
  CHECK_THAT(trained_with(training + as_argument(without) + " --without-weights"),
             Contains(without + " has these figures ("));
  const auto whole = attn::read_model(with), figures = attn::read_model(without);
  CHECK(figures.tensors.empty());
  CHECK(figures.scores == whole.scores);
  REQUIRE(figures.scores_by_length.size() == whole.scores_by_length.size());
  for (std::size_t i = 0; i < whole.scores_by_length.size(); ++i)
    CHECK(figures.scores_by_length[i].value == whole.scores_by_length[i].value);
}

TEST_CASE("a default model whose file is missing is told first, and the numbers are drawn") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("models"));
  const Surroundings without_models{.environment = {{"ATTNLAB_DATA", folder.path().string()}}};
  const auto where = folder.file("models/about.safetensors");
  for (const auto& lesson : lessons()) {
    INFO("attnlab " << lesson);
    const auto page = output_of(lesson, without_models);
    if (lesson == "self-attention" || lesson == "multihead")
      CHECK_THAT(in_one_line(page),
                 Contains("Drawn weights The file of the model about was not found, so what "
                          "is not given is drawn. Looked for: " +
                          where));
    if (lesson != "lookup" && lesson != "scoring") CHECK_FALSE(contains(page, " model="));  // by hand
  }
  const auto drawn = output_of("self-attention --steps weights --model none");
  CHECK(output_of("self-attention --steps weights", without_models) == drawn);
  const auto named = run("self-attention --model about", without_models);
  CHECK(named.status == 2);
  CHECK(named.out == "");
  CHECK_THAT(named.err, Contains("--model about: there is no such model (looked for: " + where +
                                 "); valid: a file that attnlab train wrote, or none"));
}

TEST_CASE(
    "the option --model: none, a name, a file; unknown names, files of other tasks and unreadable ones are "
    "refused") {
  const Folder folder;
  const auto path = folder.file("r.safetensors");
  trained_with(quick_training(path));
  for (const std::string lesson : {"sdpa", "self-attention", "multihead"}) {
    const auto by_default = output_of(lesson), drawn = output_of(lesson + " --model none");
    CHECK((by_default != drawn));
    CHECK((by_default == output_of(lesson + " --model about")));
    CHECK(lines_of(output_of(lesson + " --model data/models/about.safetensors --steps weights")).size() > 3);
    CHECK_THAT(refusal(lesson + " --model abou"),
               Contains("--model abou: there is no such model (looked for: ") && Contains("valid: about, "));
    CHECK_THAT(refusal(lesson + " --model " + as_argument(path)),
               Contains("is a model of the task reverse, and " + lesson +
                        " goes through one of the task about; valid: about, a file that attnlab train about "
                        "wrote, or none"));
    CHECK_THAT(refusal(lesson + " --model ./nowhere.safetensors"), Contains("./nowhere.safetensors"));
    CHECK_THAT(refusal(lesson + " --model " + as_argument(folder.write("text.safetensors", "hello"))),
               Contains("text.safetensors"));
    CHECK_THAT(refusal(lesson + " --model about --rng torch"),
               Contains("--model about brings what --rng decides; valid: one of the two"));
    CHECK_THAT(output_of(lesson + " --seed 7"), Contains("model=about"));
    CHECK_THAT(output_of(lesson + " --seed 7 --model none"), Contains("drawn, not trained"));
  }
  CHECK_THAT(refusal("self-attention --model about --d-model 6"),
             Contains("--model about brings what --d-model"));
  CHECK_THAT(output_of("self-attention --d-model 6"), Contains("since --d-model is given"));
  CHECK((event_of(trace_of("self-attention --d-model 6"), "output") ==
         event_of(trace_of("self-attention --d-model 6 --model none"), "output")));
  CHECK_THAT(refusal("lookup --model about"), Contains("lookup") && Contains("--model"));
}

TEST_CASE(
    "the option --model: words that the model does not know are named, and the page goes on with drawn "
    "weights") {
  for (const std::string lesson : {"self-attention", "multihead"}) {
    CHECK_THAT(output_of(lesson + " --sentence 'the small katt slept'"),
               Contains("\"katt\" is taken for a noun") && Contains("model=about"));
    const auto page = output_of(lesson + " --sentence 'le chat dormait'");
    CHECK_THAT(page, Contains("does not know most of the words (\"le\", \"dormait\")"));
    CHECK_THAT(refusal(lesson + " --model about --sentence 'le chat dormait'"), Contains("it reads English"));
    const auto numbers = " --sentence 'le chat dormait' --steps weights --format json";
    const auto weights_of = [](const std::string& json) { return json.substr(json.find("\"events\"")); };
    CHECK((weights_of(output_of(lesson + numbers)) ==
           weights_of(output_of(lesson + numbers + " --model none"))));
  }
}

TEST_CASE("one word decides: \"it\" asks with another query, and the keys of its nouns hardly move") {
  const auto row_of = [](const std::string& last, const std::string& id, std::size_t row) {
    const auto trace =
        trace_of("self-attention --sentence 'the animal left the street: it was " + last + "'");
    return event_of(trace, id)["data"][row].get<std::vector<double>>();
  };
  const auto moves = [&](const std::string& id, std::size_t row) {
    const auto tired = row_of("tired", id, row), wide = row_of("wide", id, row);
    double farthest = 0.0;
    for (std::size_t i = 0; i < tired.size(); ++i)
      farthest = std::max(farthest, std::abs(tired[i] - wide[i]));
    return farthest;
  };
  constexpr std::size_t animal = 1, street = 4, it = 6;
  CHECK(moves("Q", it) > 1.0);
  CHECK(moves("K", animal) < 0.1);
  CHECK(moves("K", street) < 0.1);
}

TEST_CASE("transformer-block works out the X that the other lessons take from the model's first layer") {
  for (const std::string options : {" --sentence 'the small cat slept'", " --causal",
                                    " --sentence 'I love cats' --sentence 'The film was great'"}) {
    INFO(options);
    const auto tensor = [&](const std::string& lesson, const std::string& id) {
      const auto trace = json::parse(output_of(lesson + options + " --format json"));
      for (const auto& event : trace["events"])
        if (event["id"] == id) return event;
      return json();
    };
    const auto X = tensor("transformer-block", "X"), given = tensor("multihead", "X");
    CHECK(X["kind"] == "step");
    CHECK(X["inputs"] == json{"layer_1/output"});
    const auto rows = X["data"].flatten(), expected = given["data"].flatten();
    const auto is_batch = X["shape"].size() == 3;
    for (std::size_t i = 0; !is_batch && i < expected.size(); ++i) {
      const auto at = "/" + std::to_string(i / 64) + "/" + std::to_string(i % 64);
      REQUIRE(rows[at].get<double>() == Approx(expected[at].get<double>()).margin(1e-12));
    }
    CHECK(X["shape"] == given["shape"]);
    const auto script = output_of("transformer-block" + options + " --format python");
    for (const auto* id : {"X", "layer_1_attention_Q_heads", "layer_1_attention_weights", "layer_1_norm_1",
                           "layer_1_ffn_hidden", "layer_1_output"})
      CHECK_THAT(script, Contains(std::string("expect(\"") + id + "\""));
  }
}

TEST_CASE("remarks on where the model's words look are of words, not of padding, and of more than half") {
  const auto batch = " --sentence 'I love cats' --sentence 'The small cat did not sleep in the house'";
  for (const std::string lesson :
       {"sdpa", "self-attention --window 1", "multihead", "masking", "transformer-block", "backward"}) {
    INFO(lesson);
    CHECK_THAT(output_of(lesson + batch), !Contains("\"<pad>\""));
  }
  CHECK_THAT(output_of("sdpa --sentence Sleep --width 200"),
             Contains("Here no word gives more than half to another one."));
  CHECK_THAT(in_one_line(output_of("multihead --all --sentence Sleep --width 200")),
             Contains("Here both look most at the same words"));
  CHECK_THAT(output_of("patterns --all --sentence 'the cat saw the small dogs' --width 300"),
             Contains("head 0    0.39    0.19   0.41  ahead      saw\n"));
}

TEST_CASE("a first layer whose weights contradict its configuration is refused") {
  const Folder folder;
  for (const std::string heads : {"0", "x", "3", "18446744073709551615"}) {
    auto model = attn::read_model(ATTN_DATA "/models/about.safetensors");
    model.configuration["layer=1/heads"] = heads;
    const auto path =
        as_argument(folder.write("m.safetensors", attn::model_file(model, attn::Dtype::float16)));
    for (const std::string lesson : {"sdpa", "transformer-block"})
      CHECK_THAT(refusal(lesson + " --model " + path), Contains("heads"));
  }
}

TEST_CASE(
    "words that the models of sentiment and language lack are read as those most alike, and that is said") {
  const auto verdict = [](const std::string& sentence) {
    return output_of("classifier --sentence '" + sentence + "'");
  };
  CHECK_THAT(verdict("The acting was superb."),
             Contains("\"superb\" is read") && Contains("positive, with 0.9"));
  CHECK_THAT(verdict("The acting was not superb."), Contains("negative, with 0.9"));
  CHECK_THAT(output_of("generate --sentence 'The wolves'"),
             Contains("\"wolves\" is read") && Contains("After \"wolves\" the model writes"));
}

TEST_CASE("the option --model: a file whose weights contradict its configuration is refused") {
  const Folder folder;
  const auto broken = [&](const std::string& name, const auto& change) {
    auto model = attn::read_model(ATTN_DATA "/models/about.safetensors");
    change(model);
    return as_argument(folder.write(name, attn::model_file(model, attn::Dtype::float16)));
  };
  for (const std::string heads : {"0", "-1", "x", "", "3", "18446744073709551615"}) {
    const auto path =
        broken("heads.safetensors", [&](attn::Model& model) { model.configuration["heads"] = heads; });
    INFO("heads " << heads);
    for (const std::string lesson : {"sdpa", "self-attention", "multihead"})
      CHECK(refusal(lesson + " --model " + path) != "");
  }
  const auto without_words =
      broken("words.safetensors", [](attn::Model& model) { model.vocabularies.clear(); });
  CHECK_THAT(refusal("self-attention --model " + without_words), Contains("embedding"));
  const auto short_table = broken("table.safetensors", [](attn::Model& model) {
    for (auto& tensor : model.tensors)
      if (tensor.id == "embedding") {
        tensor.shape[0] = 2;
        tensor.values.resize(2 * tensor.shape[1]);
      }
  });
  CHECK_THAT(refusal("self-attention --model " + short_table),
             Contains("embedding of the model has not a row"));
  const auto without_heads = broken("none.safetensors", [](attn::Model& model) { model.tensors.resize(1); });
  CHECK_THAT(refusal("self-attention --model " + without_heads), Contains("has no layer=1/attention/W_"));
}

TEST_CASE("what train writes is what the task's lesson goes through, and other lessons refuse it") {
  const Folder folder;
  const auto trained = [&](const std::string& task) {
    const auto path = folder.file(task + ".safetensors");
    run("train " + task + " --steps 1 --batch 4 --threads 1 --output " + as_argument(path),
        {.killed_when = once_there(path)});  // before it looks at held-out examples, which takes longest
    return path;
  };
  for (const auto& [task, lesson] : {std::pair("about", "multihead"), std::pair("language", "generate"),
                                     std::pair("sentiment", "classifier")})
    check_gone_through(lesson, trained(task));
  for (const std::string task : {"dates", "induction", "reverse"})
    check_refused("generate --model " + as_argument(trained(task)),
                  {"is a model of the task " + task, "one of the task language"});
}
