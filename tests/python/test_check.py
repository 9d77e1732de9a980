import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np

import attnlab


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def attention(given, heads, divisor):
    """output [batch × query × d_model] and weights [batch × head × query × key] of plain multi-head attention."""
    X = given["X"]

    def split(x):
        return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    Q, K, V = (split(X @ given[name]) for name in ("W_Q", "W_K", "W_V"))
    scaled = np.where(given["mask"][:, None], Q @ K.swapaxes(2, 3) / np.sqrt(divisor), -np.inf)
    weights = softmax(scaled)
    return (weights @ V).swapaxes(1, 2).reshape(*X.shape[:2], -1) @ given["W_O"], weights


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.probe = attnlab.probe("multihead", heads=4, kv_heads=4, causal=False)
        cls.right = attention(cls.probe, 4, 5)
        cls.wrong = attention(cls.probe, 4, 6)

    def test_a_probe_is_arrays_and_a_sheet(self):
        self.assertEqual(self.probe["X"].shape, (3, 7, 6))
        self.assertEqual(self.probe.config["heads"], 4)
        self.assertFalse(self.probe.config["causal"])
        self.assertIn("probe multihead: probe.npz (seed 42, id", str(self.probe))
        self.assertNotIn("attnlab-", str(self.probe))
        self.assertNotIn("config", self.probe)

    def test_a_probe_goes_where_one_says(self):
        with tempfile.TemporaryDirectory() as folder:
            p = attnlab.probe("sdpa", output=folder + "/probe.npz", seed=3)
            with np.load(folder + "/probe.npz") as stored:
                np.testing.assert_array_equal(stored["Q"], p["Q"])
            self.assertIn(folder + "/probe.npz", p.sheet.replace("\n  ", " "))

    def test_right_is_true(self):
        output, weights = self.right
        verdict = attnlab.check("multihead", output=output, weights=weights, probe=self.probe)
        self.assertTrue(verdict)
        self.assertIn("All 2 steps are right.", str(verdict))
        self.assertNotIn("Nothing in the file", verdict)
        self.assertEqual([step["verdict"] for step in verdict.data["steps"]], ["right", "right"])
        attnlab.assert_right("multihead", output=output, probe=self.probe)
        attnlab.assert_right("multihead", {"output": output}, probe=self.probe)

    def test_wrong_is_false_and_named(self):
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()) as said:
            with patch.dict(os.environ, GITHUB_ACTIONS="true"):
                verdict = attnlab.check("multihead", output=self.wrong[0], probe=self.probe, junit=folder + "/report.xml")
            suite = ElementTree.parse(folder + "/report.xml").find("testsuite")
        self.assertFalse(verdict)
        self.assertIn("wrong: scale-d-model", verdict)
        with self.assertRaisesRegex(AssertionError, "^output  wrong: scale-d-model\n\ncheck multihead: mine"):
            attnlab.assert_right(verdict)
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        self.assertEqual(suite.find("testcase/failure").get("message"), "wrong: scale-d-model")
        self.assertRegex(said.getvalue(), r"^::error title=attnlab check multihead%2C output::wrong: scale-d-model")
        hint = attnlab.check("multihead", output=self.wrong[0], probe=self.probe, hint=1)
        self.assertFalse(hint)
        self.assertNotIn("scale-d-model", hint)
        with self.assertRaisesRegex(AssertionError, "output  wrong"):
            attnlab.assert_right("multihead", output=self.wrong[0], probe=self.probe, hint=1)

    def test_other_names_are_renamed(self):
        names = {"mine": self.right[0]}
        self.assertTrue(attnlab.check("multihead", names, probe=self.probe, rename={"mine": "output"}))

    def test_arrays_are_right_in_every_layout_or_refused_by_name(self):
        p = attnlab.probe("sdpa")
        scaled = p["Q"] @ p["K"].swapaxes(1, 2) / np.sqrt(p["Q"].shape[2])
        output = softmax(np.where(p["mask"], scaled, -np.inf)) @ p["V"]
        for given in (np.asfortranarray(output), output.astype(">f8"), output.astype(">f2"),
                      output.repeat(2, axis=-1)[..., ::2], output[::-1, :, ::-1][::-1, :, ::-1]):
            self.assertTrue(attnlab.check("sdpa", output=given, probe=p))
        for given, shape in ((np.array(1.0), "(scalar)"), (output[:0], "(0×5×3)")):
            verdict = attnlab.check("sdpa", {"output": given}, probe=p)
            self.assertIn(f"output  a wrong shape: {shape}", verdict)
        with self.assertRaisesRegex(attnlab.Refused, "^output holds complex128; valid: bool, float16, bfloat16"):
            attnlab.check("sdpa", output=output.astype(complex), probe=p)

    def test_inputs_beside_or_among_the_arrays(self):
        t = attnlab.run("sdpa", sentence="a b c", causal=True)
        inputs = {id: t[id] for id in t.inputs if id != "mask"}
        self.assertTrue(attnlab.check("sdpa", output=t["output"], input=inputs, causal=True))
        self.assertTrue(attnlab.check("sdpa", **inputs, output=t["output"], causal=True))
        self.assertFalse(attnlab.check("sdpa", **inputs, output=t["output"] + 1, causal=True))

    def test_refuses(self):
        with self.assertRaisesRegex(attnlab.Refused, "either arrays by id, as output=y, or one file or dict"):
            attnlab.check("multihead", probe=self.probe)
        with self.assertRaisesRegex(attnlab.Refused, r"holds no input of sdpa; it has nothing \(3×3\)"):
            attnlab.check("sdpa", nothing=np.eye(3))
        with self.assertRaisesRegex(attnlab.Refused, "nowhere.npz"):
            attnlab.check("sdpa", output=self.right[0], probe="nowhere.npz")


class Diff(unittest.TestCase):
    def test_is_true_where_equal(self):
        t = attnlab.run("sdpa")
        self.assertTrue(attnlab.diff(t, attnlab.run("sdpa")))
        self.assertEqual(str(attnlab.diff(t, t)).strip(), "equal")
        self.assertTrue(attnlab.diff(dict(t), {id: t[id] for id in t}))

    def test_tells_what_differs(self):
        t = attnlab.run("sdpa")
        other = {**dict(t), "output": t["output"] + 1e-4}
        difference = attnlab.diff(dict(t), other)
        self.assertFalse(difference)
        self.assertIn("output differs first at", difference)
        self.assertEqual(difference.data["first"]["id"], "output")
        self.assertTrue(attnlab.diff(dict(t), other, atol=1e-3))
        self.assertTrue(attnlab.diff({"attn": t["weights"]}, t, rename={"attn": "weights"}, only_common=True))
