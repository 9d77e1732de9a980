import json
import os
import random
import re
import subprocess
import tempfile
import unittest

import numpy as np

import attnlab

SENTENCES = ["the cat sat", "girls saw the small cat", "我喜欢猫", "it's late, isn't it?", "a b c d e f"]


def choices(draw):
    """Options as words of the command line and as keywords of run, and the lessons that are tried with them."""
    number = draw.randint(1, 9)
    common = [(["--seed", str(number)], {"seed": number}), (["--rng", "pcg64"], {"rng": "pcg64"}),
              (["--dtype", "float16"], {"dtype": "float16"}), (["--dtype", "bfloat16"], {"dtype": "bfloat16"}),
              (["--weight-scale", "0.1"], {"weight_scale": 0.1}), (["--shapes"], {"shapes": True}),
              (["--steps", "weights,output"], {"steps": ["weights", "output"]}), (["--nonsense"], {"nonsense": True})]
    sentence = draw.choice(SENTENCES)
    one = [(["--sentence", sentence], {"sentence": sentence}),
           (["--sentence", SENTENCES[0], "--sentence", sentence], {"sentence": [SENTENCES[0], sentence]}),
           (["--d-model", "6"], {"d_model": 6}), (["--causal"], {"causal": True}),
           (["--window", str(number)], {"window": number}), (["--temperature", "0.5"], {"temperature": 0.5})]
    heads = [(["--heads", "2"], {"heads": 2}), (["--heads", "3"], {"heads": 3}), (["--kv-heads", "1"], {"kv_heads": 1}),
             (["--residual", "--norm"], {"residual": True, "norm": True}), (["--dropout", "0.5"], {"dropout": 0.5})]
    formula = [(["--define", "scaled = scores / d_k"], {"define": {"scaled": "scores / d_k"}})]
    two = [(["--source", sentence, "--target", "j'aime les chats"], {"source": sentence, "target": "j'aime les chats"})]
    return {"self-attention": common + one + formula, "multihead": common + one + heads + formula,
            "masking": common + one + [(["--mask", "combined"], {"mask": "combined"})], "sdpa": common + one + formula,
            "cross-attention": common + two, "positional": common + [(["--encoding", "rope"], {"encoding": "rope"})],
            "scoring": common + two, "patterns": common + one, "stability": common,
            "scaling": common[:2] + [(["--d-k", "4,16", "--samples", "64"], {"d_k": [4, 16], "samples": 64})],
            "lookup": common, "transformer-block": common + one + [(["--norm", "pre"], {"norm": "pre"})],
            "efficient": common + [(["--variant", "flash"], {"variant": "flash"})], "seq2seq": common + two}


def arrays(draw, lesson):
    """Inputs of the lesson as np.savez stores them, and often as another view or type of the same numbers."""
    generator = np.random.default_rng(draw.randrange(10**6))
    width = draw.choice([4, 6])
    ids = {"self-attention": {"X": (3, width), "W_Q": (width, 4)}, "multihead": {"X": (4, width)}, "sdpa": {"V": (5, 8)},
           "patterns": {"X": (3, width)}}.get(lesson)
    if not ids or draw.random() < 0.5:
        return {}, {}
    stored = {id: generator.normal(size=shape).astype(draw.choice(["f8", "f4", "f2"])) for id, shape in ids.items()}
    turned = draw.choice([np.ascontiguousarray, np.asfortranarray, lambda array: array.astype(">" + array.dtype.str[1:])])
    return stored, {id: turned(array) for id, array in stored.items()}


class CommandLine(unittest.TestCase):
    def compare(self, draw, folder):
        lesson, options = draw.choice(list(choices(draw).items()))
        chosen = draw.sample(options, draw.randint(0, min(4, len(options))))
        stored, given = arrays(draw, lesson)
        words = [lesson, *(word for part, _ in chosen for word in part)]
        keywords = {name: value for _, part in chosen for name, value in part.items()}
        if len(keywords) < sum(len(part) for _, part in chosen):
            return False  # one keyword twice, which Python has no way to say
        if stored:
            np.savez(folder + "/input.npz", **stored)
            words += ["--input", folder + "/input.npz"]
        asked = subprocess.run([attnlab.program(), *words, "--format", "json"], capture_output=True)

        def named(text):
            return re.sub(r"/\S+/input\.(npz|safetensors)", "FILE", text)

        with self.subTest(words):
            if asked.returncode == 2:
                with self.assertRaises(attnlab.Refused) as refused:
                    attnlab.run(lesson, **keywords, **given)
                self.assertEqual("attnlab: " + named(str(refused.exception)), named(asked.stderr.decode()).strip())
                return False
            t = attnlab.run(lesson, **keywords, **given)
            expected, got = json.loads(named(asked.stdout.decode())), json.loads(named(t.json))
            for trace in (expected, got):
                trace["config"].pop("input", None)  # which has the checksum of its file
            self.assertEqual(got, expected)
            self.assertEqual(t.holds, asked.returncode == 0)
            if "shapes" not in keywords and draw.random() < 0.2:
                path = folder + "/output.npz"
                subprocess.run([attnlab.program(), *words, "--output", path], capture_output=True)
                with np.load(path) as numbers:
                    self.assertEqual({*t}, {*numbers.files} - {"config"})
                    for id in t:
                        self.assertEqual(t[id].dtype, numbers[id].dtype)
                        np.testing.assert_array_equal(t[id], numbers[id])
        return True

    def test_random_calls_give_what_the_command_line_gives(self):
        calls = int(os.environ.get("ATTNLAB_TEST_CALLS", 30))
        seed = os.environ.get("ATTNLAB_TEST_SEED", "46")
        draw = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            ran = sum(self.compare(draw, folder) for _ in range(calls))
        print(f"{calls} random calls with ATTNLAB_TEST_SEED={seed}: {ran} ran as on the command line, and as many as"
              f" {calls - ran} were refused as there or had no words in Python")
        self.assertGreater(ran, calls / 4)
