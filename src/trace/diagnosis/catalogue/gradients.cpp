#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_gradients() {
  return {
      {.id = "backward-no-softmax-sum",
       .family = "gradient",
       .name = "the gradient of softmax is weights ∘ d_weights, without subtracting the row's sum",
       .teacher = "The weights of a row share a denominator: one score up, all the others down. "
                  "Subtract the row's sum of weights ∘ d_weights before the product. "
                  "Each row of d_scaled must sum to 0.",
       .unchanged = "The forward pass is right, d_V and d_weights are right, and d_scaled is 0 where masked. "
                    "It hides in a row whose sum of weights ∘ d_weights is 0.",
       .training = "Strong keys of a row are pushed up or down together, whatever they hold. "
                   "The loss may still fall, slowly; central differences show the fault at once."},
      {.id = "backward-no-scale",
       .family = "gradient",
       .name = "d_scores is not divided by √d_k",
       .teacher = "scaled = scores / √d_k, so by the chain rule the gradient is divided by √d_k, too. "
                  "Each line of the forward pass needs its partner in the backward pass.",
       .unchanged = "The forward pass, d_V, d_weights and d_scaled are right. d_Q "
                    "and d_K have the right direction and are too long by √d_k. It hides where d_k = 1.",
       .training = "W_Q and W_K learn √d_k times faster than the rest. "
                   "Adam divides by the gradient's size and all but hides it; "
                   "plain gradient descent may diverge."},
      {.id = "backward-heads-not-summed",
       .family = "gradient",
       .name = "a gradient shared by heads is taken from one head only",
       .teacher = "What several heads read gets a gradient from each of them, and these add up: "
                  "X from all heads, a shared key head from its group. "
                  "Sum over the axis that was broadcast.",
       .unchanged = "The forward pass is right, and the gradients have the right shapes. "
                    "It hides with one head, and for keys and values where each query head has its own.",
       .training = "Part of a gradient often still points downhill, so the loss falls, only slower. "
                   "A shared key head learns to serve one of its query heads."},
      {.id = "backward-batch-not-summed",
       .family = "gradient",
       .name = "a weight's gradient is taken from one sample of the batch only",
       .teacher = "Every sample uses the weight, so its gradient is the sum over the batch. "
                  "One sample's was kept. Look for an index [0], or for = where += should stand.",
       .unchanged = "Shapes are right, and gradients that have a batch axis, as d_Q, are right. "
                    "It hides in a batch of one, which is how a gradient is mostly checked.",
       .training = "It is stochastic gradient descent with a batch of one: noisy, yet it learns. "
                   "The rest of the batch is computed and never learnt from."},
      {.id = "backward-not-transposed",
       .family = "gradient",
       .name = "a product goes back without the transpose, or with one too many",
       .teacher = "For C = A B it is d_A = d_C Bᵀ and d_B = Aᵀ d_C. So d_V = weightsᵀ d_output, d_K = "
                  "d_scoresᵀ Q, and d_Q = d_scores K without one. Write the shapes with names, query and "
                  "key, and only one way fits.",
       .unchanged = "With as many queries as keys all shapes are right. It hides where the weights are "
                    "symmetric, and a test with another number of keys refuses to run.",
       .training = "Each token gets the gradient of those that it looks at, not of those that look at it. "
                   "With causal masks the gradient runs into the future; the loss hardly falls."},
      {.id = "backward-wrong-operand",
       .family = "gradient",
       .name = "a product goes back with its own operand instead of the other one",
       .teacher = "In scores = Q Kᵀ the gradient of Q holds the keys, and that of K the queries. A "
                  "product passes each side's gradient through the other side.",
       .unchanged = "Q and K have the same width, so the shapes are right wherever there are as many "
                    "queries as keys. It hides where Q = K.",
       .training = "The step that a query makes does not depend on the keys that it is compared with. The "
                   "loss falls by luck at most."},
      {.id = "backward-softmax-as-sigmoid",
       .family = "gradient",
       .name = "the gradient of softmax is weights ∘ (1 − weights) ∘ d_weights, as if each weight stood "
               "by itself",
       .teacher = "That is the diagonal of softmax's Jacobian alone, or the derivative of a sigmoid. A "
                  "score moves all weights of its row: subtract the row's sum of weights ∘ d_weights.",
       .unchanged = "It is right for the diagonal, so a check that moves one score and looks at its own "
                    "weight passes. It hides where the other weights of a row have no gradient.",
       .training = "The sign is often right, so the loss falls. The scores of a row drift together, which "
                   "a correct gradient never does."},
      {.id = "backward-softmax-axis",
       .family = "gradient",
       .name = "the sum in the gradient of softmax runs along another axis than softmax",
       .teacher = "Softmax made shares of each row, so the sum of weights ∘ d_weights is one number for "
                  "each row: the last axis, with keepdims. Without keepdims NumPy subtracts it from the "
                  "columns.",
       .unchanged = "With as many queries as keys nothing fails, and d_scaled is 0 where masked. It hides "
                    "where d_weights is the same for all queries. Rows of d_scaled do not sum to 0.",
       .training = "A wrong number is subtracted from each gradient, of the right size. The loss falls "
                   "slowly and stalls early."},
      {.id = "backward-softmax-plain-sum",
       .family = "gradient",
       .name = "the sum in the gradient of softmax is not weighted: Σ d_weights, or their mean",
       .teacher = "It is the average of d_weights under the weights, Σ weights ∘ d_weights. A plain sum "
                  "or mean also counts the keys that nobody looks at, hidden ones too.",
       .unchanged = "Shapes are right. It hides where a row's weights are uniform (the mean) or where "
                    "d_weights sums to 0.",
       .training = "Early in training the weights are nearly uniform and the mean is nearly right, so it "
                   "learns. As they sharpen, the gradient goes wrong."},
      {.id = "backward-softmax-of-scores",
       .family = "gradient",
       .name = "the gradient of softmax is computed from the scores instead of the weights",
       .teacher = "Softmax's derivative is a function of its result: w ∘ (d − Σ w ∘ d). The forward pass "
                  "must keep the weights for it. Look at the variable that was cached.",
       .unchanged = "Shapes are right, and so are d_V and d_weights.",
       .training = "The gradient grows with the scores and has their signs. Training diverges soon, "
                   "unless the scores are tiny."},
      {.id = "backward-mask-missing",
       .family = "gradient",
       .name = "the backward pass computes the weights again without the mask",
       .teacher = "A hidden key has weight 0, and so it has no gradient. Who computes the weights again "
                  "in the backward pass, as flash attention does, must mask the scores there, too.",
       .unchanged = "The forward pass is right, and so is d_scaled where a key may be seen. It hides "
                    "without a mask.",
       .training = "Gradients of hidden pairs change W_Q and W_K, often by a lot: a hidden score may be "
                   "the largest of its row. The loss is right and falls badly."},
      {.id = "backward-scale-twice",
       .family = "gradient",
       .name = "the gradient is divided by √d_k twice",
       .teacher = "The scale stands once in the forward pass, so it stands once in the backward pass: at "
                  "d_scores, or at d_Q and d_K.",
       .unchanged = "d_V and d_weights are right. d_Q and d_K have the right direction and are too short "
                    "by √d_k. It hides where d_k = 1.",
       .training = "W_Q and W_K learn √d_k times slower than the rest. Adam makes up for it, so nobody "
                   "notices."},
      {.id = "backward-scale-multiplied",
       .family = "gradient",
       .name = "d_scores is multiplied by √d_k instead of divided",
       .teacher = "Going back through a division by √d_k is a division by √d_k again. An inverse has no "
                  "place in the chain rule.",
       .unchanged = "The forward pass, d_V and d_scaled are right, and d_Q and d_K have the right "
                    "direction. It hides where d_k = 1.",
       .training = "W_Q and W_K learn d_k times too fast. With Adam it trains; plain gradient descent "
                   "diverges."},
      {.id = "backward-averaged",
       .family = "gradient",
       .name = "a gradient is averaged where it must be summed: over tokens, samples or heads",
       .teacher = "A parameter that serves several rows gets the sum of their gradients. A mean belongs "
                  "into the loss, if anywhere: then d_output has the factor already.",
       .unchanged = "All directions are right. It hides in a batch of one (over samples), with one token "
                    "(over tokens), and with a head of its own for each query.",
       .training = "It is a smaller learning rate for those parameters alone, and it changes with the "
                   "length and the batch. Adam hides it."},
      {.id = "backward-path-forgotten",
       .family = "gradient",
       .name = "a tensor that went several ways gets the gradient of some of them only",
       .teacher = "X went into Q, into K and into V. What comes back on each way adds up: d_X = d_Q W_Qᵀ "
                  "+ d_K W_Kᵀ + d_V W_Vᵀ. Look for = where += should stand.",
       .unchanged = "All gradients of this layer's weights are right: only what goes on to the layer "
                    "below is wrong. In a model of one layer with fixed vectors nothing shows.",
       .training = "The way through V is the largest in the beginning, so lower layers learn all the "
                   "same, only worse."},
      {.id = "backward-heads-reshape-only",
       .family = "gradient",
       .name = "gradients of heads are merged or split by a reshape without the transpose",
       .teacher = "Splitting is a reshape and a transpose, so its inverse is the transpose and then the "
                  "reshape. A reshape alone gives the right shape and mixes tokens with heads.",
       .unchanged = "The shapes and the sum of all numbers are right. It hides with one head or one "
                    "token.",
       .training = "W_Q and W_K get the gradients of other tokens. The loss falls a little through W_O "
                   "and the values."},
      {.id = "backward-residual-missing",
       .family = "gradient",
       .name = "the gradient of the residual path is left out",
       .teacher = "x + f(x) hands its gradient on twice: as it is to x, and through f. The two add up.",
       .unchanged = "The gradients of the sublayer's own weights are right; those below are wrong. It "
                    "hides in the first layer, where nothing is below.",
       .training = "What residual connections are for is lost: in a deep stack the gradient fades from "
                   "layer to layer. A stack of two trains."},
      {.id = "backward-sublayer-missing",
       .family = "gradient",
       .name = "only the residual path passes its gradient on, not the sublayer",
       .teacher = "What went into the sublayer has a gradient through it. Look for a detach, a no_grad, "
                  "or = where += should stand.",
       .unchanged = "The gradients of the sublayer's own weights are right, and those below have about "
                    "the right size.",
       .training = "Lower layers learn as if the sublayer were not there. It trains surprisingly well."},
      {.id = "backward-norm-as-constant",
       .family = "gradient",
       .name = "layer norm's mean or spread is taken for a constant in the backward pass",
       .teacher = "Both depend on x, so each has a term: (d − mean(d) − s ∘ mean(d ∘ s)) / σ. Each row of "
                  "d_x must sum to 0, and so must d_x ∘ s.",
       .unchanged = "d_gain and d_bias are right, and d_x has about the right direction. It hides in wide "
                    "rows whose gradient is 0 on the average.",
       .training = "The terms are one part in d each, so with a large d_model the loss falls nearly as "
                   "fast."},
      {.id = "backward-norm-no-gain",
       .family = "gradient",
       .name = "d_y is not multiplied by the gain when it goes back through layer norm",
       .teacher = "y = s ∘ gain + bias, so d_s = d_y ∘ gain. It comes before the two means are taken.",
       .unchanged = "It hides wherever the gain is 1, as it is before training: a check at initialisation "
                    "passes.",
       .training = "At first nothing is wrong. The more the gains move away from 1, the worse the "
                   "gradients below get."},
      {.id = "backward-gain-of-input",
       .family = "gradient",
       .name = "the gradient of the gain takes x instead of the standardised x",
       .teacher = "The gain multiplies s = (x − mean) / σ, so its gradient is Σ d_y ∘ s. Keep s from the "
                  "forward pass.",
       .unchanged = "d_x and d_bias are right, and so is the shape. It hides where the rows of x have "
                    "mean 0 and variance 1.",
       .training = "Gains learn from the mean and size of x, which layer norm was to remove. A small "
                   "learning rate hides it."},
      {.id = "backward-activation-missing",
       .family = "gradient",
       .name = "the gradient goes back through the activation as if it were not there",
       .teacher = "ReLU passes a gradient where it let its input through, and nothing elsewhere. Multiply "
                  "by the slope before the product with W_1ᵀ.",
       .unchanged = "d_W_2 and d_b_2 are right. It hides where all hidden numbers are positive.",
       .training = "W_1 gets gradients of numbers that had no part in the loss. About half of them are "
                   "noise, and it trains slowly."},
      {.id = "backward-activation-other",
       .family = "gradient",
       .name = "GELU goes back by ReLU's slope",
       .teacher = "The slope of GELU is Φ(z) + z φ(z), which is neither 0 nor 1. The backward pass must "
                  "be that of the activation that was used.",
       .unchanged = "Far from 0 both slopes are the same, so it differs in part of the numbers only.",
       .training = "The sign is mostly right, and it trains; the loss ends a little higher."},
  };
}

}  // namespace attn
