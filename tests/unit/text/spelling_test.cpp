#include "attn/text/spelling.hpp"

#include <catch2/catch.hpp>

TEST_CASE("the distance counts insertions, deletions and replacements") {
  CHECK(attn::edit_distance("", "") == 0);
  CHECK(attn::edit_distance("cat", "cat") == 0);
  CHECK(attn::edit_distance("", "cat") == 3);
  CHECK(attn::edit_distance("cat", "") == 3);
  CHECK(attn::edit_distance("cat", "cart") == 1);
  CHECK(attn::edit_distance("cat", "at") == 1);
  CHECK(attn::edit_distance("cat", "cut") == 1);
  CHECK(attn::edit_distance("cta", "cat") == 2);
  CHECK(attn::edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the distance is the same in both directions") {
  CHECK(attn::edit_distance("attention", "intention") == attn::edit_distance("intention", "attention"));
  CHECK(attn::edit_distance("abc", "xabcde") == attn::edit_distance("xabcde", "abc"));
}

TEST_CASE("a character counts once, however many bytes it has") {
  CHECK(attn::edit_distance("zug", "züg") == 1);
  CHECK(attn::edit_distance("猫", "犬") == 1);
}

TEST_CASE("the nearest candidate is found, the first of several") {
  CHECK(attn::nearest("sdap", {"lookup", "sdpa", "list"}) == "sdpa");
  CHECK(attn::nearest("cat", {"dog", "bat", "hat"}) == "bat");
  CHECK(attn::nearest("anything", {"only"}) == "only");
  CHECK(attn::nearest("SIMD", {"blas", "simd"}) == "simd");
}

TEST_CASE("a part of a candidate is more likely meant than what is as short") {
  const std::vector<std::string> candidates = {"list", "self-attention", "cross-attention", "multihead"};
  CHECK(attn::likely_meant("self", candidates) == "self-attention");
  CHECK(attn::likely_meant("Multi", candidates) == "multihead");
  CHECK(attn::likely_meant("attention", candidates) == "self-attention");
  CHECK(attn::likely_meant("head", candidates) == "multihead");
  CHECK(attn::likely_meant("hea", {"the", "ahead", "head"}) == "head");
  CHECK(attn::likely_meant("lst", candidates) == "list");
  CHECK(attn::likely_meant("atention", candidates) == "self-attention");
  CHECK(attn::likely_meant("crosss", candidates) == "cross-attention");
  CHECK(attn::likely_meant("", candidates) == "list");
  CHECK(attn::likely_meant("multi-head", candidates) == "multihead");
  CHECK(attn::likely_meant("Multi_Head_Attention", candidates) == "multihead");
  CHECK(attn::likely_meant("selfattention", candidates) == "self-attention");
}

TEST_CASE("nothing is suggested that is far from the word") {
  const std::vector<std::string> candidates = {"self-attention", "list"};
  CHECK(attn::valid_instead_of("lits", candidates) == "did you mean list? valid: self-attention, list");
  CHECK(attn::valid_instead_of("self", candidates) ==
        "did you mean self-attention? valid: self-attention, list");
  CHECK(attn::valid_instead_of("self_atention", candidates) ==
        "did you mean self-attention? valid: self-attention, list");
  CHECK(attn::valid_instead_of("xyz", candidates) == "valid: self-attention, list");
  CHECK(attn::valid_instead_of("", candidates) == "valid: self-attention, list");
}
