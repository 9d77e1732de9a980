import unittest

import numpy as np

import attnlab

try:
    import torch
    from torch import nn
except ImportError:
    torch = None
    raise unittest.SkipTest("torch is not there (Debian: python3-torch)")


class Ported(nn.Module):
    """Attention with q_proj, k_proj, v_proj and o_proj, whose heads share keys and values."""

    def __init__(self, heads=4, kv_heads=2, divisor=3, causal=False):
        super().__init__()
        self.num_heads, self.num_key_value_heads, self.divisor, self.causal = heads, kv_heads, divisor, causal
        self.q_proj, self.o_proj = nn.Linear(12, 12), nn.Linear(12, 12)
        self.k_proj, self.v_proj = nn.Linear(12, 3 * kv_heads), nn.Linear(12, 3 * kv_heads)

    def forward(self, X):
        def split(x, heads):
            return x.view(*X.shape[:2], heads, 3).transpose(1, 2)
        Q = split(self.q_proj(X), self.num_heads)
        K, V = (split(project(X), self.num_key_value_heads).repeat_interleave(
            self.num_heads // self.num_key_value_heads, dim=1) for project in (self.k_proj, self.v_proj))
        scores = Q @ K.transpose(2, 3) / self.divisor ** 0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(X.shape[1], X.shape[1]).triu(1).bool(), -torch.inf)
        return self.o_proj((scores.softmax(-1) @ V).transpose(1, 2).reshape(X.shape))


class Capture(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def test_attention_of_torch(self):
        for options in ({}, {"batch_first": True}, {"bias": False}, {"batch_first": True, "dropout": 0.5}):
            for causal in (False, True):
                with self.subTest(options=options, causal=causal):
                    verdict = attnlab.capture(nn.MultiheadAttention(8, 2, **options), causal=causal)
                    self.assertTrue(verdict, verdict)
                    self.assertIn("weights  right", verdict)

    def test_encoder_layer_of_torch(self):
        for first in (False, True):
            for options in ({"batch_first": True}, {"activation": "gelu"}):
                with self.subTest(norm_first=first, **options):
                    layer = nn.TransformerEncoderLayer(8, 2, 16, norm_first=first, **options)
                    verdict = attnlab.capture(layer, causal=first)
                    self.assertTrue(verdict, verdict)
                    self.assertIn("All 7 steps are right.", verdict)

    def test_a_port_that_is_right(self):
        for causal in (False, True):
            verdict = attnlab.capture(nn.Sequential(Ported(causal=causal)), causal=causal)
            self.assertTrue(verdict, verdict)

    def test_a_port_that_is_wrong(self):
        verdict = attnlab.capture(Ported(divisor=12))
        self.assertFalse(verdict)
        self.assertIn("wrong: scale-d-model", verdict)
        self.assertIn("Q       right", verdict)
        self.assertEqual(list(verdict.seen), ["X", "Q", "K", "V", "concat", "output"])
        with self.assertRaisesRegex(AssertionError, "wrong: scale-d-model"):
            attnlab.assert_right(verdict)
        attnlab.assert_right(attnlab.capture(Ported()))

    def test_a_broken_encoder_layer(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16)
        layer.norm2.eps = 0.5
        self.assertFalse(attnlab.capture(layer))

    def test_the_module_stays_as_it_is(self):
        module = Ported()
        module.q_proj.eval()
        attnlab.capture(module)
        self.assertTrue(module.training)
        self.assertFalse(module.q_proj.training)
        self.assertFalse(module.q_proj._forward_hooks)

    def test_a_kernel_of_torch_is_seen(self):
        class Kernel(Ported):
            def forward(self, X):
                Q, K, V = (project(X).view(*X.shape[:2], -1, 3).transpose(1, 2)
                           for project in (self.q_proj, self.k_proj, self.v_proj))
                return self.o_proj(nn.functional.scaled_dot_product_attention(Q, K, V).transpose(1, 2).reshape(X.shape))

        def kernel(Q, K, V):
            return (Q @ K.transpose(2, 3) / 3 ** 0.5).softmax(-1) @ V

        had = getattr(nn.functional, "scaled_dot_product_attention", None)
        nn.functional.scaled_dot_product_attention = had or kernel
        try:
            verdict = attnlab.capture(Kernel(kv_heads=4))
        finally:
            if not had:
                del nn.functional.scaled_dot_product_attention
        self.assertTrue(verdict, verdict)
        self.assertIn("heads    right", verdict)

    def test_refuses_what_it_does_not_know(self):
        with self.assertRaisesRegex(attnlab.Refused, r"Linear has 0 attentions inside \(\); valid: one nn.Multihead"):
            attnlab.capture(nn.Linear(3, 3))
        with self.assertRaisesRegex(attnlab.Refused, r"Sequential has 2 attentions inside \(0, 1\); valid: one nn.Multi"):
            attnlab.capture(nn.Sequential(Ported(), Ported(divisor=12)))
        with self.assertRaisesRegex(attnlab.Refused, r"Sequential has 2 attentions inside \(0, 1\)"):
            attnlab.capture(nn.Sequential(Ported(), nn.MultiheadAttention(12, 4)))
        module = Ported()
        del module.num_heads
        with self.assertRaisesRegex(attnlab.Refused, "Ported has no number of heads; valid: heads=N"):
            attnlab.capture(module, call=lambda module, X: None)


class Tensors(unittest.TestCase):
    def test_of_each_type(self):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.bool):
            with self.subTest(dtype):
                X = (10 * torch.randn(8, 3)).to(dtype).T
                np.testing.assert_array_equal(attnlab.run("multihead", X=X)["X"], X.double().numpy())

    def test_with_a_gradient(self):
        X = torch.randn(3, 8, requires_grad=True)
        np.testing.assert_array_equal(attnlab.run("multihead", X=X)["X"], X.detach().double().numpy())

    def test_without_axes_or_numbers_are_refused_by_name(self):
        for X in (torch.tensor(1.0), torch.tensor(1.0, dtype=torch.bfloat16), torch.zeros(0, 8)):
            with self.subTest(X), self.assertRaisesRegex(attnlab.Refused, "^X in --input has the shape"):
                attnlab.run("multihead", X=X)
        with self.assertRaisesRegex(attnlab.Refused, "^X holds complex64"):
            attnlab.run("multihead", X=torch.zeros(3, 8, dtype=torch.complex64))

    def test_bfloat16_is_checked_as_bfloat16(self):
        t = attnlab.run("sdpa", dtype="bfloat16")
        dump = {id: torch.tensor(t[id]).bfloat16() for id in t}
        self.assertTrue(attnlab.check("sdpa", dump))
        self.assertIn("The numbers are bfloat16.", attnlab.check("sdpa", dump))

    def test_weights_of_a_model_are_shown(self):
        weights = torch.randn(1, 2, 4, 4).softmax(-1)
        np.testing.assert_array_equal(attnlab.show(weights)["weights"], weights[0].double().numpy())
