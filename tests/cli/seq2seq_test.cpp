#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/events.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "trace/model.hpp"

using nlohmann::json;
using Strings = std::vector<std::string>;

TEST_CASE("with a target the decoder reads <s> and the target, and writes the target and </s>") {
  const auto trace = trace_of("seq2seq --model none --source 'I love cats' --target \"J'aime les chats\"");
  CHECK(event_of(trace, "X_target")["kind"] == "input");
  CHECK(event_of(trace, "X_target")["labels"][0] == json({"<s>", "J'aime", "les", "chats"}));
  const auto weights = event_of(trace, "decoder/weights");
  CHECK(weights["axes"] == json({"target", "source"}));
  CHECK(weights["labels"] == json({{"J'aime", "les", "chats", "</s>"}, {"I", "love", "cats"}}));
  CHECK(event_of(trace, "decoder/probabilities")["labels"][1] == json({"J'aime", "les", "chats", "</s>"}));
}

TEST_CASE("from one stream the vector of <s> is drawn between those of the source and those of the target") {
  const auto vectors = [](const std::string& texts, const std::string& id) {
    return event_of(trace_of("seq2seq " + texts + " --d-model 1 --draws stream"), id)["data"];
  };
  const auto rows = vectors("--source 'a b' --target 'a c'", "X_target");
  const auto as_target = vectors("--source 'a b x' --target 'c'", "X_source");
  CHECK(rows[0] == as_target[2]);
  CHECK(rows[1] == as_target[0]);
}

TEST_CASE("without a target the decoder reads what it wrote the step before") {
  const auto trace = trace_of("seq2seq --source 'I love small cats' --weight-scale 3");
  const auto read = event_of(trace, "X_target"), written = event_of(trace, "decoder/probabilities");
  CHECK(read["kind"] == "step");
  CHECK(trace["config"]["target"] == json::array());
  CHECK_FALSE(trace["config"].contains("target_tokens"));
  auto words = written["labels"][0].get<Strings>();
  const auto vocabulary = written["labels"][1].get<Strings>();
  CHECK(vocabulary == Strings{"I", "love", "small", "cats", "</s>"});
  CHECK((words.size() == 5 || words.back() == "</s>"));
  for (std::size_t t = 0; t < words.size(); ++t) {
    const auto row = written["data"][t].get<std::vector<double>>();
    CHECK(vocabulary[static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin())] ==
          words[t]);
  }
  words.insert(words.begin(), "<s>");
  words.pop_back();
  CHECK(read["labels"][0] == words);
}

TEST_CASE("its own words as a target lead to the same states") {
  const std::string source =
      "--source 'the cat sat' --weight-scale 2 --seed 7 --attention luong-dot --steps decoder/h";
  const auto free = event_of(trace_of("seq2seq " + source), "decoder/h");
  auto words = free["labels"][0].get<Strings>();
  if (words.back() == "</s>") words.pop_back();
  REQUIRE_FALSE(words.empty());
  std::string target;
  for (const auto& word : words) target += word + " ";
  const auto taught =
      event_of(trace_of("seq2seq " + source + " --target " + as_argument(target)), "decoder/h");
  for (std::size_t t = 0; t < free["data"].size(); ++t) CHECK(free["data"][t] == taught["data"][t]);
}

TEST_CASE("a batch that wrote by itself runs again from its own trace") {
  const Folder folder;
  const auto file = folder.file("t.npz");
  const std::string attention = GENERATE("bahdanau", "luong-dot", "multihead");
  const std::string second = GENERATE("d", "a");  // after <s> both may write no word
  const std::string sentences = "--attention " + attention + " --source 'a b c' --source " + second;
  output_of("seq2seq " + sentences + " --output " + as_argument(file));
  const auto first = trace_of("seq2seq " + sentences),
             again = trace_of("seq2seq --input " + as_argument(file));
  CHECK(again["config"]["target"] == json::array());
  CHECK(again["events"] == first["events"]);
}

TEST_CASE("in float32 the limit on what padding changes is far below a probability") {
  const std::string attention = GENERATE("bahdanau", "luong-general", "multihead");
  const std::string scale = GENERATE("", " --weight-scale 3");
  const auto claim =
      event_of(trace_of("seq2seq --source 'a b c' --target 'u v' --source d --target w --dtype float32 "
                        "--attention " +
                        attention + scale),
               "padding-changes-nothing");
  CHECK(claim["holds"] == true);
  CHECK(std::stod(claim["limit"].get<std::string>().substr(3)) <= 1e-3);
}

TEST_CASE("<s> is zeros where given vectors have none for it") {
  const Folder folder;
  const auto start_of = [&](const std::string& vectors) {
    const auto file = folder.write("vectors.txt", vectors);
    const auto arguments = "--source 'the cat' --target cat --embeddings " + as_argument(file);
    return event_of(trace_of("seq2seq " + arguments), "X_target")["data"][0];
  };
  CHECK(start_of("the 1 2\ncat 3 4\n") == json({0.0, 0.0}));
  CHECK(start_of("the 1 2\ncat 3 4\n<s> 5 6\n") == json({5.0, 6.0}));
}

TEST_CASE("both directions of the encoder stand side by side in the states") {
  const auto trace = trace_of("seq2seq --bidirectional --hidden 3");
  CHECK(event_of(trace, "encoder/h")["shape"] == json({5, 3}));
  CHECK(event_of(trace, "encoder/reverse/h")["shape"] == json({5, 3}));
  CHECK(event_of(trace, "encoder/states")["shape"] == json({5, 6}));
  CHECK(event_of(trace, "decoder/W_hh")["shape"] == json({24, 6}));
  CHECK(event_of(trace, "decoder/s_0")["shape"] == json({6}));
}

TEST_CASE("with trained weights the decoder looks where the languages cross, and writes by itself") {
  const auto taught = trace_of("seq2seq");
  CHECK(taught["config"]["model"] == "translation");
  CHECK(taught["config"]["attention"] == "bahdanau-input");
  const auto weights = event_of(taught, "decoder/weights")["data"];
  CHECK(weights[1][2] > 0.5);  // chat, cat
  CHECK(weights[2][1] > 0.5);  // noir, black
  const auto free = trace_of("seq2seq --source 'the black cat never arrived'");
  CHECK(event_of(free, "target/embedding")["kind"] == "input");
  CHECK(event_of(free, "decoder/weights")["labels"][0] ==
        json({"le", "chat", "noir", "n'", "arrivait", "jamais", "</s>"}));
  CHECK(trace_of("seq2seq --attention bahdanau")["config"]["model"].is_null());
}

TEST_CASE("a trace of what a trained decoder wrote by itself is right, as the trace of a taught one") {
  const Folder folder;
  const auto trace = folder.file("own.npz");
  for (const std::string run : {"seq2seq", "seq2seq --source 'The cat sat on the mat.'"}) {
    output_of(run + " --output " + trace);
    CHECK(contains(output_of("check seq2seq " + trace), "steps are right."));
  }
}

TEST_CASE("the sentences of the tutorials are translated as there, and every other one keeps the model") {
  const auto written = [](const std::string& source, const std::string& command = "seq2seq") {
    return event_of(trace_of(command + " --source '" + source + "'"), "decoder/weights")["labels"][0];
  };
  CHECK(written("The cat sat on the mat") ==
        json({"le", "chat", "s'", "est", "assis", "sur", "le", "tapis", "</s>"}));
  CHECK(written("I love cats.") == json({"j'", "aime", "les", "chats", ".", "</s>"}));
  CHECK(written("The wolves chased an elephant") ==
        json({"les", "wolves", "chassaient", "un", "elephant", "</s>"}));
  CHECK(written("We are tired") == json({"nous", "sommes", "fatigués", "</s>"}));
  CHECK(written("She does not like him") == json({"elle", "ne", "l'", "aime", "pas", "</s>"}));
  const auto trace = trace_of("seq2seq --source 'The wolves sat on the mat'");
  CHECK(contains(event_of(trace, "lexicon")["note"], "\"wolves\" is read as [animals]"));
  CHECK(
      contains(event_of(trace, "greedy-decoding")["note"], "\"Les wolves se sont assis sur le tapis </s>\""));
  for (const std::string lesson : {"seq2seq", "cross-attention"}) {
    const auto weights = event_of(trace_of(lesson + " --source 'The cat sat on the mat' --target "
                                                    "\"Le chat s'est assis sur le tapis\""),
                                  lesson == "seq2seq" ? "decoder/weights" : "weights")["data"];
    CHECK(weights[4][2] > 0.5);  // assis, sat
    CHECK(weights[7][5] > 0.5);  // tapis, mat
    const auto love = event_of(trace_of(lesson + " --source 'I love cats' --target \"J'aime les chats\""),
                               lesson == "seq2seq" ? "decoder/weights" : "weights")["data"];
    CHECK(love[1][1] > 0.5);  // aime, love
    CHECK(love[3][2] > 0.5);  // chats, cats
  }
  CHECK(trace_of("seq2seq --source 'le chat dormait'")["config"]["model"].is_null());
  CHECK(
      trace_of("seq2seq --source 'I love cats' --target 'me gustan los gatos'")["config"]["model"].is_null());
}

TEST_CASE("beside the alignment stands the gold one, and that of a model with the other query") {
  const auto weights_of = [](const json& trace, const std::string& id) {
    return event_of(trace, id)["data"].get<std::vector<std::vector<double>>>();
  };
  const auto says = [](const json& event, const std::string& field, const std::string& words) {
    return event[field].get<std::string>().find(words) != std::string::npos;
  };
  const auto with_word = trace_of("seq2seq"), of_state = trace_of("seq2seq --model translation-bahdanau");
  CHECK(of_state["config"]["attention"] == "bahdanau");
  for (const auto& [one, other] : {std::pair(with_word, of_state), std::pair(of_state, with_word)}) {
    const auto beside = weights_of(one, "other_query/weights"), own = weights_of(other, "decoder/weights");
    REQUIRE(beside.size() == own.size());
    for (std::size_t t = 0; t < own.size(); ++t)
      for (std::size_t j = 0; j < own[t].size(); ++j) CHECK(std::abs(beside[t][j] - own[t][j]) < 1e-12);
  }
  CHECK(weights_of(with_word, "decoder/weights")[5][3] > 0.5);  // jamais, never
  CHECK(weights_of(of_state, "decoder/weights")[4][4] > 0.5);   // arrivait, arrived
  for (const auto& trace : {with_word, of_state}) {
    const auto gold = event_of(trace, "gold");
    CHECK(says(gold, "formula", "6 of 6"));
    CHECK(says(event_of(trace, "links"), "formula", "(*)"));
  }
  CHECK(says(event_of(trace_of("seq2seq --source 'the cat does not sleep'"), "gold"), "note",
             "For \"ne\" the decoder looks at \"does\""));
  CHECK(event_of(trace_of("seq2seq --model none"), "gold").is_null());
  CHECK(event_of(trace_of("seq2seq --source 'cat the'"), "gold").is_null());
}

TEST_CASE("the figures by length are those in the shipped models, and the note tells them") {
  const auto trace = trace_of("seq2seq");
  const auto figures = event_of(trace, "exact_by_length");
  CHECK(figures["axes"] == json({"model", "length"}));
  const Strings files = {"translation", "translation-without-attention", "translation-transformer",
                         "translation-rotary"};
  REQUIRE(figures["data"].size() == files.size());
  for (std::size_t m = 0; m < files.size(); ++m) {
    const auto scores = attn::read_model(ATTN_DATA "/models/" + files[m] + ".safetensors").scores_by_length;
    REQUIRE(figures["data"][m].size() == scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      CHECK(figures["data"][m][i] == scores[i].value);
      CHECK(figures["labels"][1][i] == std::to_string(scores[i].most));
    }
  }
  const double without = figures["data"][1][7];
  const auto note = event_of(trace, "by-length")["note"].get<std::string>();
  CHECK(note.find(" and " + std::to_string(std::lround(100 * without)) + " % without") != note.npos);
  CHECK(event_of(trace_of("seq2seq --model none"), "exact_by_length").is_null());
}

TEST_CASE("heads have an axis of their own, and only multihead has them") {
  const auto trace = trace_of("seq2seq --attention multihead");
  CHECK(event_of(trace, "decoder/weights")["axes"] == json({"head", "target", "source"}));
  CHECK(trace["config"]["heads"] == 2);
  CHECK(trace_of("seq2seq --attention luong-dot")["config"]["heads"].is_null());
}

TEST_CASE("seq2seq refuses what does not go together") {
  check_refused("seq2seq --heads 2", {"--heads 2", "--attention multihead", "bahdanau"});
  check_refused("seq2seq --attention multihead --hidden 7", {"--heads 2", "--hidden 7", "6 or 8"});
  check_refused("seq2seq --attention luong", {"--attention luong", "luong-general"});
  check_refused("seq2seq --target words", {"--target", "--source"});
  check_refused("seq2seq --source a --source b --target c", {"2 --source but 1 --target"});
  check_refused("seq2seq --hidden 0", {"--hidden 0", "1 or more"});
}
