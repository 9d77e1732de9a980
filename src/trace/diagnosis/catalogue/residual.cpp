#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_residual() {
  return {
      {.id = "norm-unbiased",
       .family = "norm",
       .name = "layer norm divides by d − 1 in the variance, or adds eps to the standard deviation",
       .teacher = "Layer norm takes the biased variance, over d, with eps under the root. "
                  "std() in PyTorch divides by d − 1. Use var with unbiased=False, then sqrt(var + eps).",
       .unchanged = "Row means are 0 and shapes are right. "
                    "Values are off by √((d − 1)/d), one part in a thousand at d = 512, "
                    "which a loose tolerance lets through.",
       .training = "The learned gain takes up the constant factor, so training is the same. "
                   "The Annotated Transformer is written this way.",
       .seen_in = "annotated-transformer #122"},
      {.id = "norm-mean-kept",
       .family = "norm",
       .name = "layer norm does not subtract the mean",
       .teacher = "Layer norm subtracts the row's mean before it divides. "
                  "What you have is RMSNorm, which Llama uses and which has no bias: another layer.",
       .unchanged = "Shapes are right, and the rows have nearly the right length. "
                    "It hides where the rows of x have mean 0 already.",
       .training = "RMSNorm trains as well as layer norm. "
                   "Weights trained with one of them do not work with the other."},
      {.id = "norm-axis",
       .family = "norm",
       .name = "layer norm takes its mean over the tokens or the batch",
       .teacher = "Each token is normalised by itself, along the features. "
                  "Look at axis or normalized_shape: mean(-1), with keepdims.",
       .unchanged = "Shapes are right, and over all numbers the mean is still 0. "
                    "It hides with one token in a batch of one.",
       .training = "It trains, but a token's row then depends on the other tokens, the later ones included. "
                   "The loss is too good, and what is written token by token is not."},
      {.id = "norm-gain-missing",
       .family = "norm",
       .name = "gain and bias of the layer norm are missing",
       .teacher = "After the division each feature is multiplied by its gain and its bias is added. "
                  "Look whether both were loaded: their names are weight and bias, or gamma and beta.",
       .unchanged = "Before training gains are 1 and biases 0, so nothing differs. "
                    "Only trained weights, or a probe whose gains are others, show it.",
       .training = "It trains nearly as well without. A checkpoint that has them goes wrong."},
      {.id = "residual-twice",
       .family = "norm",
       .name = "the residual is added twice",
       .teacher = "Somebody adds x in the sublayer and somebody around it. "
                  "A sum belongs in one place: look into the attention that you call.",
       .unchanged = "All tensors within the sublayer are right, and all shapes. "
                    "Behind a layer norm rows still have mean 0 and variance 1.",
       .training = "The sublayers learn to speak louder, so it trains. "
                   "In a deep pre-norm stack the rows double at each sum."},
      {.id = "activation-missing",
       .family = "feed-forward",
       .name = "there is no activation between the two layers of the network",
       .teacher = "Two matrices with nothing between them are one matrix. "
                  "Put the activation behind x W_1 + b_1.",
       .unchanged = "Shapes are right, and no test of attention sees it.",
       .training = "It trains to a worse loss: the network can only mix the features of a token in one fixed "
                   "way, whatever the token is."},
      {.id = "activation-other",
       .family = "feed-forward",
       .name = "ReLU stands where GELU belongs, or GELU where ReLU belongs",
       .teacher = "Look which of the two the weights were trained with. "
                  "BERT and GPT-2 have GELU, the first transformer has ReLU.",
       .unchanged = "Shapes are right. The two are nowhere further apart than 0.17, "
                    "so a loose tolerance lets it through.",
       .training = "Both train alike. A checkpoint loses quality a layer at a time."},
      {.id = "bias-missing",
       .family = "feed-forward",
       .name = "a bias is missing",
       .teacher = "A layer adds its bias: x W + b, and an LSTM in PyTorch has two, b_ih and b_hh. "
                  "Look whether all of them were loaded.",
       .unchanged = "Before training biases are 0, so nothing differs. "
                    "Only trained weights, or a probe whose biases are others, show it. "
                    "That of the keys adds one number to a whole row of scores and changes no weight.",
       .training = "It trains nearly as well without. A checkpoint that has them goes wrong."},
      {.id = "residual-normed",
       .family = "norm",
       .name = "the residual is taken after the norm",
       .teacher = "In a pre-norm block the residual path carries x itself, "
                  "and only the sublayer sees LN(x). "
                  "Look whether x was overwritten: x = norm(x), then x = x + attention(x).",
       .unchanged = "Attention is right in every tensor, and so are all shapes. "
                    "It nearly hides where x is normalised already, "
                    "as in a first block behind an embedding norm.",
       .training = "A few layers train well. In a deep model the free path of pre-norm is gone: "
                   "each layer rescales it, gradients fade, and training needs a long warm-up.",
       .seen_in = "OLMo #680"},
      {.id = "residual-missing",
       .family = "norm",
       .name = "the residual connection is missing",
       .teacher = "The sublayer's result is added to x. "
                  "Without x a token keeps only what attention brought it and loses its own word. "
                  "Look for the sum around the sublayer.",
       .unchanged = "All tensors within attention are right. "
                    "Shapes are right, and a norm behind it still gives rows of mean 0 and variance 1.",
       .training = "One or two layers train. Deeper ones hardly do: each gradient must pass all sublayers, "
                   "and attention alone makes the rows alike (rank collapse).",
       .seen_in = "DEForm's RRS"},
  };
}

}  // namespace attn
