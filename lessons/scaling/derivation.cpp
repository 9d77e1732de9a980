#include "lessons/scaling/derivation.hpp"

namespace lessons {

void show_derivation(attn::Trace& trace) {
  trace.note(
      "idea", "The idea",
      "A score is the dot product of a query and a key: d_k products added up. The longer the vectors, the "
      "more there is to add. So how large do scores get, and what does their size do to attention? Suppose "
      "that every number of q and k is drawn independently, with mean 0 and variance 1.",
      "s = qᵀk = q₁k₁ + q₂k₂ + … + q_d k_d\n"
      "E[qᵢ] = E[kᵢ] = 0,   E[qᵢ²] = E[kᵢ²] = 1");
  trace.note(
      "term-mean", "One term: its mean",
      "qᵢ and kᵢ are independent, and the mean of a product of independent numbers is the product of their "
      "means. A term is positive as often as negative.",
      "E[qᵢkᵢ] = E[qᵢ] E[kᵢ] = 0 · 0 = 0");
  trace.note(
      "term-variance", "One term: its variance",
      "A variance is the mean of the square less the square of the mean. The squares are independent too.",
      "Var(qᵢkᵢ) = E[qᵢ² kᵢ²] − E[qᵢkᵢ]²\n"
      "          = E[qᵢ²] E[kᵢ²] − 0²\n"
      "          = 1 · 1 = 1");
  trace.note(
      "sum", "All d_k terms",
      "Means add up, always. Variances add up because the terms are independent: where one term is large, "
      "that says nothing about the next, so they neither all pull together nor all cancel.",
      "E[qᵀk]   = Σᵢ E[qᵢkᵢ]   = d_k · 0 = 0\n"
      "Var(qᵀk) = Σᵢ Var(qᵢkᵢ) = d_k · 1 = d_k");
  trace.note(
      "standard-deviation", "The size of a score",
      "The standard deviation says how far from 0 a score typically lies. It grows with the root of d_k: "
      "vectors four times as long give scores twice as large.",
      "std(qᵀk) = √Var(qᵀk) = √d_k");
  trace.note(
      "scale", "Dividing by √d_k",
      "Dividing a number by c divides its variance by c². So √d_k is the divisor that brings the variance to "
      "1 for every d_k. Dividing by d_k itself would be too much: the variance would be 1 / d_k, and in long "
      "vectors all scores would be nearly equal.",
      "Var(qᵀk / √d_k) = Var(qᵀk) / d_k = d_k / d_k = 1");
  trace.note(
      "why", "Why the size matters",
      "Softmax turns differences between scores into ratios between weights: a lead of x is a factor of eˣ. "
      "Among large scores the leads are large, so one key gets nearly everything and w is nearly one-hot. "
      "The derivative of softmax is then nearly 0 everywhere, and training, which must pass its gradient "
      "through it, cannot tell the query or the keys how to change.",
      "∂w/∂s = diag(w) − w wᵀ,  that is  ∂wᵢ/∂sⱼ = wᵢ (δᵢⱼ − wⱼ)\n"
      "w = (1, 0, …, 0)  ⇒  ∂wᵢ/∂sⱼ = 0 for all i and j");
}

}  // namespace lessons
