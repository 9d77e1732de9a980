#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_that_may_be_conventions() {
  return {
      {.id = "mask-causal-corner",
       .family = "mask",
       .name = "the causal mask is aligned at the top left corner instead of the bottom right",
       .teacher = "The last query belongs to the last key: query i stands at position i + n_k − n_q. "
                  "With a cache the triangle must end at the bottom right. "
                  "Look at the offset of tril or triu.",
       .unchanged = "It hides where there are as many queries as keys. "
                    "With fewer, rows still sum to 1 and nothing comes from the future; "
                    "a decode step with one query sees key 0 alone.",
       .training = "Training has as many queries as keys and shows nothing. "
                   "Decoding with a cache fails: each new token sees only the start of the text.",
       .seen_in = "flash-attention #517, mlx #2835, pytorch #103082",
       .conversion = "Top left hides j > i, bottom right hides j > i + n_k − n_q: "
                     "add n_k − n_q to the query's index. "
                     "PyTorch's is_causal is top left, FlashAttention since 2.1 bottom right."},
      {.id = "window-off-by-one",
       .family = "mask",
       .name = "the window is one key too wide or too narrow",
       .teacher = "Say what a window of N counts. Here it is N keys before the query, and its own besides; "
                  "others count its own among the N. Look at < against <=, on both edges of the band.",
       .unchanged = "Shapes are right, rows sum to 1, and nothing comes from the future. "
                    "It hides in each row that has fewer keys than the window, and so in any short sentence.",
       .training = "One key in a window of thousands is hardly missed, so a model trains as well. "
                   "A checkpoint differs as soon as the text is longer than its window.",
       .seen_in = "transformers #39408",
       .conversion = "Here a causal window of N is N + 1 keys. "
                     "Where yours counts the query's own key among them, "
                     "as sliding_window in Hugging Face, give a window one smaller here."},
      {.id = "pe-halves",
       .family = "positions",
       .name = "all sines come first and then all cosines, instead of in turns",
       .teacher = "The paper puts sines into even columns and cosines into odd ones. "
                  "Yours are the same numbers in another order, "
                  "which is as good as long as one model keeps to it.",
       .unchanged = "Each row holds the same numbers, "
                    "so norms and dot products of two encodings are the same. It hides where d = 2.",
       .training = "Features have no order before training, so both train alike, "
                   "and tensor2tensor itself has the halves. "
                   "Only weights trained with the other layout go wrong.",
       .seen_in = "tensor2tensor PR #177",
       .conversion = "Take your columns in the order 0, d/2, 1, d/2 + 1, … to get ours. "
                     "Our even columns and then our odd ones give yours."},
      {.id = "rope-pairing",
       .family = "positions",
       .name = "RoPE pairs feature i with feature i + d_k/2 instead of with its neighbour",
       .teacher = "Adjacent pairs (2i, 2i + 1) and halves (i, i + d_k/2) are both in use. "
                  "Q and K must use the same one, "
                  "and it must be the one that the weights were trained with.",
       .unchanged = "Norms are kept, position 0 is the same, and scores depend on distances only. "
                    "It hides where d_k = 2, and it grows with the position.",
       .training = "From scratch both train alike. "
                   "A checkpoint in the wrong pairing reads a few tokens well and then falls apart, "
                   "for the error grows with the distance.",
       .seen_in = "shainet PR #111",
       .conversion = "In each head of W_Q and W_K put the even columns first and then the odd ones: "
                     "from adjacent pairs (GPT-J, Meta's Llama) to halves (GPT-NeoX, Hugging Face)."},
      {.id = "pe-last-frequency",
       .family = "positions",
       .name = "the exponents run from 0 to 1, so that the last pair turns with frequency 1/10000",
       .teacher = "The paper's exponent is 2i/d, which stays below 1. "
                  "tensor2tensor and fairseq divide by one pair less, 2i/(d − 2), to end at 1. "
                  "Both are in use.",
       .unchanged = "All values lie between −1 and 1, row 0 is right, and so is the first pair. "
                    "It hides where d = 2.",
       .training = "From scratch both train alike. "
                   "Weights that were trained with the one read positions of the other a little wrong.",
       .conversion = "Ours are 10000^(−2i/d), yours 10000^(−2i/(d − 2)): the encoding has to be computed "
                     "anew from one of the two.",
       .stated = "the formula of the frequencies and of the angles: 10000^(−2i/d)"},
      {.id = "alibi-slopes-between-powers",
       .family = "positions",
       .name = "ALiBi's slopes are those of the powers of two next to the number of heads",
       .teacher = "Where the number of heads is no power of two, the authors' program takes the slopes of "
                  "the power below, and then every other slope of the power above. "
                  "The formula 2^(−8i/h) takes any number.",
       .unchanged = "With 1, 2, 4, 8, 16 … heads nothing differs.",
       .training = "Slopes are fixed, and models train as well with either. "
                   "A checkpoint needs its own: BLOOM and MPT have those of the authors' program.",
       .conversion = "Take slopes = 2^(−8i/h) for i = 1, …, h, or compare from scores on.",
       .stated = "the formula of the slopes: 2^(−8h / heads)"},
      {.id = "gate-order",
       .family = "recurrence",
       .name = "the LSTM's four gates are read in another order than they are stored",
       .teacher = "The weights are four blocks of rows, and their order is a convention. "
                  "Read them in the order they were stored in. "
                  "Only the candidate, g, goes through tanh; the gates go through sigmoid.",
       .unchanged = "Shapes are right, every weight is used, and all of h lies between −1 and 1. "
                    "Equal blocks, such as all zeros, hide it.",
       .training = "From scratch any order trains, though a forget bias of 1 may land on another gate. "
                   "Loaded weights run without an error and remember nothing.",
       .seen_in = "CrispASR #106",
       .conversion = "Bring the blocks of W_ih, W_hh, b_ih and b_hh to i, f, g, o, as in PyTorch and Keras. "
                     "ONNX stores i, o, f, g, and TensorFlow's BasicLSTMCell i, g, f, o."},
  };
}

}  // namespace attn
