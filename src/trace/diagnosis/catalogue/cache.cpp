#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_cache() {
  return {
      {.id = "cache-offset",
       .family = "cache",
       .name = "the new token's position or mask is off by one in a decode step",
       .teacher = "With m tokens cached, the new one has position m and sees keys 0 to m. "
                  "See whether the cache's length is read before or after the new key is appended.",
       .unchanged = "The prompt is right in all rows, and every step has right shapes and row sums. "
                    "Only a decode step beside the same row of the full pass shows it.",
       .training = "Training has no cache, so its loss shows nothing. "
                   "Generated text is a little worse and repeats itself, and nobody suspects the cache.",
       .seen_in = "tiny-llm PR #46"},
      {.id = "rope-rerotated",
       .family = "cache",
       .name = "cached keys are rotated again at each step",
       .teacher = "A key enters the cache rotated and stays so. "
                  "Rotating the whole cache at each step adds to the angle every time. "
                  "Rotate the new key alone, then append it.",
       .unchanged = "The prompt is right, values are right, and keys keep their norms. "
                    "The key at position 0 turns by 0 and is always right. "
                    "It hides until the first decode step.",
       .training = "Training never reads a cache and is right. "
                   "Generation begins well and decays with its length, since old keys have turned the most.",
       .seen_in = "shainet PR #110"},
      {.id = "cache-stale",
       .family = "cache",
       .name = "a decode step reads an old entry of the cache",
       .teacher = "One slot still holds an earlier key and value where a newer pair should be. "
                  "Look at the index that is written to, "
                  "and for a copy that is updated in place of the cache itself.",
       .unchanged = "The number of keys is right, and rows sum to 1. The prompt is right. "
                    "It hides where the old and the new entry belong to the same word and carry no position.",
       .training = "Training has no cache to go stale. "
                   "While generating, a model seems not to have read its latest word, and says it again.",
       .seen_in = "DEForm's CST, CDU"},
      {.id = "cache-omits-current",
       .family = "cache",
       .name = "a decode step does not see its own token's key",
       .teacher = "A token attends to itself, too. "
                  "Here the scores are computed before its own key and value are in the cache. "
                  "Append first, then attend.",
       .unchanged = "The prompt is right, rows sum to 1, and nothing comes from the future. "
                    "A row has one key fewer than the full pass. "
                    "Without a prompt the first step has no key at all.",
       .training = "Training masks a full square and is right. "
                   "In generation the residual path still brings the token along, "
                   "so the text stays plausible and only its likelihood drops.",
       .seen_in = "DEForm's CST, CDU"},
      {.id = "cache-position-zero",
       .family = "cache",
       .name = "each new token stands at position 0",
       .teacher = "A decode step's input is one token long, "
                  "and positions counted from it start at 0 again. "
                  "Add the number of cached tokens to the position.",
       .unchanged = "The prompt is right, and so is every shape. "
                    "It hides in a model without positions, and in the very first token of a text.",
       .training = "Training sees whole sentences and counts right. "
                   "In generation each new word seems to open the text, so order is lost behind the prompt.",
       .seen_in = "mlx-vlm #1983"},
      {.id = "cache-window-early",
       .family = "cache",
       .name = "the sliding window drops a key that is still needed",
       .teacher = "The cache moved on when the text became as long as the window. "
                  "Its last place was still empty: the oldest key is gone and a row of zeros stands in the "
                  "middle. Move on only once the text is longer than the window.",
       .unchanged = "All is right until the text fills the window, "
                    "which a short prompt in a test never does. Rows sum to 1 throughout.",
       .training = "Training cuts the window by a mask, not by a cache, and is right. "
                   "A long generation misses one key a row, which costs a little likelihood and no error.",
       .seen_in = "transformers #37574"},
      {.id = "relative-bias-zero-in-decode",
       .family = "cache",
       .name = "a decode step counts its query's position, or all positions, as 0 in the relative bias",
       .teacher = "A decode step has one query, and it stands at position i, not 0. "
                  "Compute the bias for the full length and take its last row, "
                  "or pass the query's true position.",
       .unchanged = "The prompt, all shapes and all row sums are right. "
                    "The first step of an empty cache is right, for it is row 0.",
       .training = "Teacher forcing computes all rows and is right. "
                   "In generation T5's decoder gets the same bias for all keys, "
                   "which softmax ignores: it has lost its positions.",
       .seen_in = "transformers #19045"},
  };
}

}  // namespace attn
