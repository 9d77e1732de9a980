import html
import io
import os
import re
import subprocess
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest.mock import patch

import numpy as np

import attnlab


def printed(*words):
    return subprocess.run([attnlab.program(), *words], capture_output=True, check=True).stdout.decode()


class OfArray:
    """What has __array__ alone. JAX, whose arrays have that and __dlpack__, is not in Debian: these classes stand for it."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None):
        return self.array


class OfDLPack:
    """What has __dlpack__ and no __array__."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyDLPack:
    """What has no more than __dlpack__, not even a shape."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)


class Run(unittest.TestCase):
    def setUp(self):
        self.trace = attnlab.run("multihead", sentence="the cat sat", heads=2)

    def test_says_what_it_holds(self):
        t = self.trace
        self.assertEqual(t["weights"].shape, (2, 3, 3))
        self.assertEqual(t.axes["weights"], ["head", "query", "key"])
        self.assertEqual(t.labels["weights"], [None, ["the", "cat", "sat"], ["the", "cat", "sat"]])
        self.assertEqual(list(t)[:5], ["X", "W_Q", "W_K", "W_V", "W_O"])
        self.assertEqual(t.steps["weights"]["inputs"], ["scaled"])
        self.assertTrue(t.holds and t.claims["rows-sum-to-1"]["holds"])
        self.assertIn("7 of 7 claims hold", repr(t))
        np.testing.assert_allclose(t["X"] @ t["W_Q"], t["Q"], atol=1e-12)
        with self.assertRaisesRegex(KeyError, "no numbers of 'weight'; valid: X, W_Q"):
            t["weight"]

    def test_prints_the_pages_of_the_program(self):
        words = ["multihead", "--sentence", "the cat sat", "--heads", "2"]
        self.assertEqual(str(self.trace), printed(*words))
        self.assertEqual(self.trace.numpy(), printed(*words, "--format", "python"))
        self.assertEqual(str(self.trace.heatmap("weights")), printed(*words, "--format", "svg", "--steps", "weights"))
        self.assertEqual(self.trace["weights", "plot"], self.trace.heatmap("weights"))
        with tempfile.TemporaryDirectory() as folder:
            self.trace.heatmap("weights").save(folder + "/picture.svg")
            self.assertEqual(Path(folder, "picture.svg").read_text(encoding="utf-8"), self.trace.heatmap("weights"))
        arcs = self.trace.picture("weights", "arcs", title="Who looks")
        self.assertIn("<title>Who looks</title>", arcs)
        self.assertEqual(self.trace["weights", "arcs"].count("attn-arc"), arcs.count("attn-arc"))
        with self.assertRaises(attnlab.Refused):
            self.trace["weights", "acs"]
        explained = printed(*words, "--explain", "weights[0, sat, cat]")
        self.assertEqual(self.trace.worked("weights", 0, "sat", "cat"), explained)
        self.assertEqual(self.trace.worked("weights", "sat", "cat"), explained)
        self.assertEqual(repr(self.trace.explain("weights[0, sat, cat]")), explained)
        self.assertEqual(self.trace.worked("V"), printed(*words, "--explain", "V[2, 0]"))

    def test_asks_once(self):
        with patch("attnlab._program.subprocess.Popen", wraps=subprocess.Popen) as asked:
            str(self.trace), str(self.trace), self.trace["weights"], self.trace._repr_html_(), self.trace._repr_html_()
        self.assertEqual(asked.call_count, 2)

    def test_frames_the_page_byte_for_byte(self):
        frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', self.trace._repr_html_())
        page = html.unescape(frame[1])
        self.assertEqual(page, printed("multihead", "--sentence", "the cat sat", "--heads", "2", "--format", "html"))
        self.assertNotIn("<", frame[1])
        self.assertIn("prefers-color-scheme: dark", page)

    def test_takes_a_formula_without_operands(self):
        for step in ("Q", "K", "V"):
            t = attnlab.run("transformer-block", define={f"attention/{step}": "7"}, steps=[f"attention/{step}"])
            self.assertTrue((t[f"attention/{step}"] == 7).all())

    def test_takes_another_formula(self):
        t = attnlab.run("multihead", sentence="the cat sat", heads=2, define={"scaled": "scores / d_k"})
        np.testing.assert_allclose(t["scaled"], self.trace["scores"] / 4, rtol=1e-12)

    def test_runs_a_document(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cosine.md")
            subprocess.run([attnlab.program(), "lesson", "new", path], check=True, capture_output=True)
            t = attnlab.run(Path(path), sentence="i love cats")
            self.assertEqual(t["weights"].shape, (3, 3))
            self.assertTrue(attnlab.check(path, dict(t), input=None))

    def test_a_claim_that_fails_is_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cosine.md")
            subprocess.run([attnlab.program(), "lesson", "new", path], check=True, capture_output=True)
            text = Path(path).read_text()
            Path(path).write_text(text.replace("`sum(key) weights ≈ 1`", "`sum(key) weights ≈ 2`"))
            t = attnlab.run(path)
            self.assertFalse(t.holds)
            self.assertIn(False, [claim["holds"] for claim in t.claims.values()])

    def test_refuses_in_the_programs_words(self):
        with self.assertRaisesRegex(attnlab.Refused, r"^--heads 3 does not divide --d-model 8; valid: --heads 2 or 4"):
            attnlab.run("multihead", heads=3, d_model=8)
        with self.assertRaisesRegex(attnlab.Refused, r"softmax goes over an axis.*valid: softmax\(key\) scores"):
            attnlab.run("sdpa", define={"weights": "softmax(scaled)"})
        with self.assertRaisesRegex(attnlab.Refused, "has no option --sentense; did you mean --sentence"):
            attnlab.run("multihead", sentense="the cat")
        with self.assertRaisesRegex(attnlab.Refused, "output='x.json' is no option here"):
            attnlab.run("multihead", output="x.json")
        with self.assertRaisesRegex(attnlab.Refused, 'there is no lesson "multihed"'):
            attnlab.run("multihed")

    def test_says_where_no_program_is(self):
        with patch.dict(os.environ, {"ATTNLAB": "/nowhere/attnlab"}):
            with self.assertRaisesRegex(FileNotFoundError, "ATTNLAB=/nowhere/attnlab is no program; valid: install"):
                attnlab.run("sdpa")

    def test_finds_the_program_beside_it_or_on_the_path(self):
        with tempfile.TemporaryDirectory() as prefix, patch.dict(os.environ):
            os.environ.pop("ATTNLAB", None)
            module = Path(prefix, "lib/python3/dist-packages/attnlab/_program.py")
            for folder in ("bin", "elsewhere"):
                os.makedirs(os.path.join(prefix, folder))
            Path(prefix, "elsewhere/attnlab").symlink_to("/bin/true")
            with patch("attnlab._program.__file__", str(module)), patch.dict(os.environ, PATH=prefix + "/elsewhere"):
                self.assertEqual(attnlab.program(), prefix + "/elsewhere/attnlab")
                Path(prefix, "bin/attnlab").symlink_to("/bin/true")
                self.assertEqual(attnlab.program(), os.path.realpath(prefix) + "/bin/attnlab")

    def test_saves(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.npz")
            self.trace.save(path)
            self.assertTrue(attnlab.diff(self.trace, path))
            with np.load(path) as stored:
                self.assertTrue(all(np.array_equal(self.trace[id], stored[id]) for id in self.trace))


class Arrays(unittest.TestCase):
    X = np.random.default_rng(7).normal(size=(3, 8))

    def assert_taken(self, given, expected, **options):
        t = attnlab.run("multihead", X=given, **options)
        np.testing.assert_array_equal(t["X"], expected)

    def test_are_right_in_every_layout_and_type(self):
        self.assert_taken(self.X, self.X)
        self.assert_taken(np.asfortranarray(self.X), self.X)
        self.assert_taken(self.X[::-1, ::-1], self.X[::-1, ::-1])
        self.assert_taken(np.broadcast_to(self.X[:1], (3, 8)), self.X[[0, 0, 0]])
        for of_others in (OfArray, OfDLPack, OnlyDLPack):
            self.assert_taken(of_others(self.X), self.X)
            self.assert_taken(of_others(self.X[::-1, ::2]), self.X[::-1, ::2])
        self.assert_taken([[1, 2.5], [0, 1]], np.array([[1, 2.5], [0, 1]]))
        for dtype in (">f8", ">f4", "<f4", "f2", ">f2", ">i8", "i1", "u2", ">u4", "u8", "?"):
            with self.subTest(dtype):
                array = (10 * self.X if "f" in dtype else abs(10 * self.X)).astype(dtype)
                self.assert_taken(array, array.astype(float))

    def test_are_refused_by_name(self):
        for given, words in ((np.zeros((0, 8)), r"^X in --input has the shape \(0×8\)"),
                             (np.float64(3), r"^X in --input has the shape \(scalar\)"),
                             (np.array(3.0), r"^X in --input has the shape \(scalar\)"),
                             (np.full((3, 8), np.nan), "^X in --input has nan"),
                             (self.X.astype(complex), "^X holds complex128; valid: bool, float16, bfloat16"),
                             (self.X.astype("longdouble"), "^X holds (float128|longdouble|float96)"),
                             (self.X.astype(object), "^X holds object"),
                             (np.array([["a"]]), "^X holds str32")):
            with self.subTest(words), self.assertRaisesRegex(attnlab.Refused, words):
                attnlab.run("multihead", X=given)

    def test_come_out_as_they_are_stored(self):
        for dtype in ("float64", "float32", "float16", "bfloat16"):
            with self.subTest(dtype), tempfile.TemporaryDirectory() as folder:
                t = attnlab.run("sdpa", dtype=dtype, causal=True)
                t.save(folder + "/run.npz")
                with np.load(folder + "/run.npz") as stored:
                    for id in t:
                        self.assertEqual(t[id].dtype, stored[id].dtype)
                        np.testing.assert_array_equal(t[id], stored[id])

    def test_numbers_of_numpy_are_options(self):
        self.assertEqual(attnlab.run("multihead", heads=np.int64(4))["weights"].shape[0], 4)
        self.assertEqual(attnlab.run("scaling", d_k=[4, np.int32(16)], samples=64)["mean"].shape, (2,))
        self.assertEqual(list(attnlab.run("multihead", steps=["Q", "weights"])), ["Q", "weights"])
        self.assertEqual(attnlab.run("lookup", query=[1.0, 2.0], keys=np.eye(2))["query"].tolist(), [1, 2])

    def test_a_state_dict_is_an_input(self):
        state = {"q_proj.weight": np.eye(8), "k_proj.weight": np.eye(8), "v_proj.weight": np.eye(8),
                 "o_proj.weight": np.eye(8)}
        t = attnlab.run("multihead", input=state, heads=2, X=self.X)
        np.testing.assert_allclose(t["Q"], self.X, atol=1e-15)

    def test_a_trace_is_an_input(self):
        t = attnlab.run("sdpa", sentence="a b c", seed=3)
        np.testing.assert_array_equal(attnlab.run("sdpa", input=t)["output"], t["output"])


class Show(unittest.TestCase):
    layers = np.random.default_rng(1).dirichlet(np.ones(3), size=(2, 4, 3))  # [layer × head × query × key]

    def test_shows_weights_of_ones_own(self):
        one, head = self.layers[0], self.layers[0, 0]
        for weights, shown in ((one[None], one), (one, one), (head, head), (OnlyDLPack(head), head),
                               ([OfDLPack(one)], one), (one.astype(">f4"), one.astype("f4"))):
            t = attnlab.show(weights, tokens=["[CLS]", "##ing", "."])
            self.assertEqual(t.labels["weights"][-2:], [["[CLS]", "##ing", "."]] * 2)
            np.testing.assert_array_equal(t["weights"], shown)
            self.assertIn("<iframe", t._repr_html_())
        self.assertEqual(attnlab.show([[1, 0], [0.5, 0.5]], "the cat").labels["weights"][0], ["the", "cat"])
        for dtype in ("f2", "f4", "f8"):
            self.assertTrue(attnlab.show(one.astype(dtype)).holds)
        self.assertFalse(attnlab.show(1.02 * head).holds)

    def test_its_document_is_a_right_one(self):
        checked = printed("lesson", "check", str(Path(attnlab.__file__).with_name("lessons") / "your-weights.md"))
        self.assertIn("2 claims that hold", checked)

    def test_says_what_a_head_does(self):
        t = attnlab.show(np.stack([np.eye(4), np.eye(4, k=-1) + np.eye(4, 1).repeat(4, 1).T * [[1], [0], [0], [0]]]))
        np.testing.assert_array_equal(t["itself"], [1, 0.25])
        np.testing.assert_array_equal(t["before"], [0, 1])
        np.testing.assert_array_equal(t["received"], [[0.25] * 4, [0.5, 0.25, 0.25, 0]])
        np.testing.assert_array_equal(t["entropy"], [0, 0])
        self.assertRegex(str(t), r"head 1 +1\.0 +1\.00 +0\.25 +1\.00 +0\.50")

    def test_shows_layers_of_heads(self):
        for of_layers in (self.layers, [OnlyDLPack(layer) for layer in self.layers], tuple(self.layers[:, None])):
            t = attnlab.show(of_layers, "a b c")
            for layer in (0, 1):
                np.testing.assert_array_equal(t[f"layer={layer}/weights"], self.layers[layer])
        self.assertIn("your-weights", str(t))
        self.assertEqual(t._repr_html_().index(t.picture()._repr_html_()), 0)  # above the page
        self.assertLess(len(repr(t.picture())), 100)
        for drawn in (t.picture(), t.picture(kind="arcs")):
            for head in ("layer 0, head 0", "layer 1, head 3"):
                self.assertIn(head, drawn)

    def test_shows_as_many_heads_as_there_are(self):
        weights = np.random.default_rng(2).dirichlet(np.ones(5), size=(12, 5))
        np.testing.assert_array_equal(attnlab.show(weights)["weights"], weights)

    def test_shows_cross_attention(self):
        weights = np.random.default_rng(3).dirichlet(np.ones(5), size=(2, 3, 4))  # [layer × head × target × source]
        targets, sources = ["le", "▁chat", "##s", "dort"], ["Ġthe", "cats", ",", "it's", "late"]
        t = attnlab.show(weights, tokens=(targets, sources))
        self.assertEqual(t.labels["layer=1/weights"], [None, targets, sources])
        self.assertIn("▁chat", str(t))
        t = attnlab.show(weights[0, 0], tokens=(targets, sources))
        np.testing.assert_array_equal(t["weights"], weights[0, 0])
        self.assertEqual(t.labels["weights"], [targets, sources])
        self.assertNotIn("itself", list(t))
        self.assertEqual(attnlab.show(weights[0]).labels["weights"][2], ["0", "1", "2", "3", "4"])

    def test_refuses_what_are_no_weights(self):
        for weights, words in ((np.eye(3)[:0], "0"), (np.float64(1), "scalar"), (np.zeros((0, 2, 3, 3)), "0"),
                               (np.full((2, 2), np.nan), "nan"), (np.eye(2, dtype=complex), "complex128"),
                               ([], "0"), (np.ones((2, 2, 2, 2, 2, 2)), "2")):
            with self.subTest(words), self.assertRaisesRegex(attnlab.Refused, "weights.*" + words):
                attnlab.show(weights)
        for weights, tokens, words in ((np.eye(3), ["a", "b"], "2 × 2, the weights 3 × 3"),
                                       (np.ones((2, 3)), ["a", "b"], "2 × 2, the weights 2 × 3"),
                                       (np.ones((4, 2, 3)), (["a"], ["b", "c", "d"]), "1 × 3, the weights 2 × 3")):
            with self.assertRaisesRegex(attnlab.Refused, f"^tokens are {words}.*tokens=.targets, sources"):
                attnlab.show(weights, tokens=tokens)


class Tokens(unittest.TestCase):
    def test_stay_as_a_tokenizer_cut_them(self):
        tokens = ["[CLS]", "##ing", "Ġthe", "▁the", "it's late", ",", " the", "\n", "##ing"]
        t = attnlab.run("self-attention", tokens=tokens)
        self.assertEqual(t.labels["weights"][0], [*tokens[:7], r"'\n'", "##ing"])
        self.assertEqual(attnlab.run("sdpa", tokens=["##ing"]).labels["weights"], [["##ing"]] * 2)
        self.assertEqual(attnlab.run("sdpa", tokens=["the", "cat"]).json, attnlab.run("sdpa", sentence="the cat").json)

    def test_are_a_pair_of_targets_and_sources(self):
        t = attnlab.run("cross-attention", tokens=(["le", "##s"], ["the", "cat", "##s"]))
        self.assertEqual(t.labels["weights"][-2:], [["le", "##s"], ["the", "cat", "##s"]])

    def test_name_the_entry_that_is_worked_out(self):
        t = attnlab.run("multihead", tokens=["[CLS]", "a,b", " the", "]", "##ing"], heads=2)
        for places in ((0, "a,b", " the"), (1, "]", "[CLS]"), (1, "#3", "##ing")):
            index = [places[0], *("[CLS] a,b  the ] ##ing".replace("  ", " _").split(" ").index(place.replace(" ", "_"))
                                  if place != "#3" else 3 for place in places[1:])]
            self.assertIn(f"≈ {t['weights'][tuple(index)]:.4f}", t.worked("weights", *places))


class Written(unittest.TestCase):
    document = ("---\ntitle: shares\nteaches: Shares.\noptions: sentence, define, causal\n"
                'defaults: --sentence "the cat sat"\n---\n\n## Numbers\n\n    scores[query, key]: weight\n\n'
                "## Half of them  {written half the scores}\n\n    scaled[query, key] = scores / 2\n\n"
                "{at scaled, if causal, written scores / (1 + 1)}\n\n"
                "## Shares  {written softmax of the halves}\n\n    weights[query, key] = softmax(key) scaled\n\n"
                "{at weights, written shares of the halves}\n")

    def formulas(self, **given):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "shares.md").write_text(self.document, encoding="utf-8")
            t = attnlab.run(folder + "/shares.md", **given)
            return t.steps["scaled"]["formula"], t.steps["weights"]["formula"]

    def test_gives_way_to_another_formula(self):
        self.assertEqual(self.formulas(), ("half the scores", "shares of the halves"))
        self.assertEqual(self.formulas(causal=True), ("scores / (1 + 1)", "shares of the halves"))
        for causal in (False, True):
            anew = self.formulas(causal=causal, define={"scaled": "scores / 3", "weights": "softmax(key) (7 * scaled)"})
            self.assertEqual(anew, ("scores / 3", "softmax(7 · scaled)"))


class Remarks(unittest.TestCase):
    def test_passes_remarks_on(self):
        with redirect_stderr(io.StringIO()) as said:
            attnlab.run("multihead", X=np.eye(8), W_Q=np.eye(8)).heatmap("weights")
        self.assertIn("heads = 2", said.getvalue())
