#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/well_formed.hpp"

namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("every lesson has its picture, with as many panels as it names") {
  const std::map<std::string, std::size_t> captions = {
      {"lookup", 6},    {"scoring", 5},           {"scaling", 6},
      {"sdpa", 2},      {"self-attention", 0},    {"cross-attention", 2},
      {"masking", 4},   {"multihead", 2},         {"positional", 3},
      {"seq2seq", 2},   {"transformer-block", 4}, {"classifier", 3},
      {"generate", 3},  {"efficient", 8},         {"ring", 1},
      {"stability", 2}, {"patterns", 4},          {"training", 3},
      {"backward", 3},  {"complexity", 2}};
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    const auto run_of_lesson = run(lesson + " --format svg");
    CHECK(run_of_lesson.err == "");
    const auto& picture = run_of_lesson.out;
    CHECK(is_well_formed(picture));
    CHECK(contains(picture, "attnlab " + lesson));
    CHECK(times(picture, "class=\"attn-caption\"") == captions.at(lesson));
    for (const char* wrong : {">0.00<", ">-0.00<", "Each row becomes shares"})
      CHECK(!contains(picture, wrong));
  }
}

TEST_CASE(
    "any tensor is drawn that --steps names, and what a run has of the usual where the lesson's picture is "
    "absent") {
  const auto picture = output_of("ring --format svg --steps Q,bytes");
  CHECK((contains(picture, ">Q</text>") && contains(picture, ">bytes</text>")));
  CHECK(contains(output_of("ring --way heads --heads 4 --format svg"), "Who looks at whom"));
}

TEST_CASE("options of pictures are refused with the nearest that fit, and beside other formats") {
  for (const auto& [arguments, said] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"sdpa --title x", {"--title is of a picture", "--format svg, png or pdf"}},
           {"sdpa --format json --bare", {"--bare is of a picture"}},
           {"sdpa --output x.html --size 100x100", {"--size is of a picture"}},
           {"sdpa --format svg --theme drak", {"--theme drak is unknown", "did you mean dark?"}},
           {"sdpa --format svg --picture heatmaps",
            {"--picture heatmaps is unknown", "did you mean heatmap?"}},
           {"sdpa --format svg --numbers yes", {"--numbers yes", "on, off"}},
           {"sdpa --format svg --scale 2", {"--scale 2", "1, max"}},
           {"sdpa --format svg --size 1x2x3", {"--size 1x2x3", "WxH"}},
           {"sdpa --format svg --size 1x1", {"--size 1", "100"}},
           {"sdpa --format svg --head -1", {"--head -1"}},
           {"multihead --format svg --head 2", {"--head 2: there are 2 heads", "0 to 1"}},
           {"sdpa --format svg --head 0", {"--head 0", "has heads"}},
           {"sdpa --format svg --steps Q --picture arcs", {"--picture arcs", "Q is [query 5 × d_k 8]"}},
           {"multihead --format svg --steps weights --picture lines", {"--picture lines", "heatmap or bars"}},
           {"tour --bare", {"--bare"}}})
    check_bad_usage(arguments, said);
}

TEST_CASE("a title, a head, a kind, a theme and a size are as they are asked for") {
  const auto picture = output_of(
      "multihead --format svg --head 1 --title 'Verbs & nouns' --picture arcs --theme dark --size 1920x1080");
  CHECK(is_well_formed(picture));
  for (const char* part : {"<title>Verbs &amp; nouns</title>", "width=\"1920\" height=\"1080\"", "attn-dark",
                           "class=\"attn-arc\""})
    CHECK(contains(picture, part));
  CHECK(!contains(picture, "head 0"));
}

TEST_CASE("a document may say how its picture is drawn, and of which head") {
  const Folder folder;
  const auto with = [&](const std::string& picture) {
    auto text = read_file(ATTNLAB_ROOT "/lessons/self-attention.md");
    const std::string usual = "weights, weights as arcs";
    text.replace(text.find(usual), usual.size(), picture);
    return as_argument(folder.write("mine.md", text)) + " --format svg";
  };
  CHECK(contains(output_of(with("weights as bars (the weights)")), ">the weights, query the</text>"));
  CHECK(contains(refusal(with("weights as pie")), "weights as pie"));
  CHECK(contains(refusal(with("weights[x]")), "valid: weights[1]"));
}

TEST_CASE("the flow of a lesson is a picture, where it has one") {
  const auto picture = output_of("self-attention --format svg --picture flow");
  CHECK(is_well_formed(picture));
  CHECK(contains(picture, "<title>How self-attention is computed</title>"));
  CHECK(contains(picture, ">weights [5×5]</text>"));
  CHECK((!contains(picture, "href") && times(picture, "class=\"") == times(picture, "class=\"attn-")));
  check_refused("self-attention --format svg --picture flow --steps weights",
                {"--picture flow", "without --steps"});
}

TEST_CASE("long sentences become pictures that are small, and what has no room in them is said") {
  const auto picture =
      run("sdpa --model none --causal --format svg --steps weights --sentence '" + sentence_of(512) + "'");
  CHECK(picture.out.size() < 1'000'000);
  CHECK(contains(picture.out, "The scale ends at"));
  CHECK(contains(picture.err, "some words have no room"));
  const auto bare =
      run("sdpa --model none --format svg --numbers on --steps weights --sentence '" + sentence_of(50) + "'");
  CHECK(contains(bare.err, "--numbers on: "));
}

TEST_CASE("png and pdf are made by rsvg-convert from the picture, or refused with the package that has it") {
  const Folder folder;
  const Surroundings without{.environment = {{"PATH", folder.path().string()}}};
  for (const std::string format : {"png", "pdf"}) {
    const auto file = folder.file("picture." + format);
    CHECK_THAT(refusal("sdpa --output " + as_argument(file), without),
               Catch::Contains("rsvg-convert is not installed") && Catch::Contains("librsvg2-bin"));
    CHECK(!std::filesystem::exists(file));
  }
  const auto converter = folder.write("rsvg-convert", "#!/bin/sh\necho \"$@\"\nexec /bin/cat\n");
  std::filesystem::permissions(converter, std::filesystem::perms::owner_all);
  const auto made = [&](const std::string& arguments) {
    const auto file = folder.file("made");
    CHECK(output_of("sdpa " + arguments + " --output " + as_argument(file), without) == "");
    return read_file(file);
  };
  CHECK_THAT(
      made("--format png"),
      Catch::StartsWith(
          "--format png --keep-aspect-ratio --width 1920 --height 1080 --background-color #ffffff\n<svg") &&
          Catch::EndsWith("</svg>\n"));
  CHECK_THAT(made("--format png --size 640x480"),
             Catch::StartsWith("--format png --background-color #ffffff\n<svg"));
  CHECK_THAT(made("--format pdf"), Catch::StartsWith("--format pdf --background-color #ffffff\n<svg"));
  folder.write("rsvg-convert", "#!/bin/sh\nexit 1\n");
  CHECK_THAT(refusal("sdpa --output " + as_argument(folder.file("none.png")), without),
             Catch::Contains("rsvg-convert has failed"));
}
