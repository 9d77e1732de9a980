#include "fast/train/tasks/task.hpp"

namespace attn::train {

const std::vector<TaskEntry>& tasks() {
  static const std::vector<TaskEntry> all = {
      {"translation",
       "English sentences into French, by two LSTMs with attention or by a transformer",
       {.steps = 12000, .batch = 64, .rate = 8e-3, .warm_up = 200, .table_deviation = 0.3},
       make_translation,
       Settings{.steps = 12000, .batch = 64, .rate = 4e-3, .warm_up = 250, .table_deviation = 0.3}},
      {"about",
       "for each word of any English sentence the one that it is about",
       {.steps = 30000, .batch = 64, .rate = 3e-3, .warm_up = 500, .table_deviation = 0.3},
       make_about},
      {"language",
       "the next word of an English sentence: verbs agree with their subjects",
       {.steps = 12000, .batch = 64, .rate = 6e-3, .warm_up = 600},
       make_language},
      {"sentiment",
       "is a sentence positive or negative, with not, never, hardly and but?",
       {.steps = 2000,
        .batch = 64,
        .rate = 4e-3,
        .warm_up = 100,
        .weight_decay = 0.2,
        .table_deviation = 0.1},
       make_sentiment},
      {"dates",
       "dates as people write them into ISO 8601, character by character",
       {.steps = 1500, .batch = 32, .rate = 1.6e-2, .warm_up = 75, .dropout = 0.1},
       make_dates,
       Settings{.steps = 1500, .batch = 32, .rate = 4e-3, .warm_up = 75, .table_deviation = 0.3}},
      {"induction",
       "what followed this token the last time? Two layers find out, one cannot",
       {.steps = 550, .batch = 64, .rate = 8e-3, .warm_up = 28},
       make_induction},
      {"reverse",
       "a sequence backwards: attention by place alone",
       {.steps = 200, .batch = 64, .rate = 8e-3, .warm_up = 10},
       make_reverse}};
  return all;
}

}  // namespace attn::train
