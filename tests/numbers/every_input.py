"""tests/numbers/every_input.py PROGRAM: compares the inputs of many runs, bit for bit, with those that the page of
`PROGRAM --help numbers` draws.

Every value below runs alone with every lesson that has its option, with both generators of NumPy and both ways to
draw, and then together with others, chosen at random by a fixed seed. Combinations that a lesson refuses are left out; what it claims of all others must
hold. Where PyTorch is installed its generator is compared, too.
"""

import functools
import importlib.util
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = str(ROOT / "data/tutorial/cat_sat.vectors.txt")
PATTERN = str(ROOT / "tests/oracle/pattern.txt")

# Of each option the values to try. A value is what stands behind the option, or all arguments where it is a list.
VALUES = {
    "sentence": [
        ["--sentence", "one"],
        ["--sentence", "a b a c"],
        ["--sentence", "The cat sat. The cat slept!"],
        ["--sentence", "the cat", "--sentence", "The cat sat on the mat", "--sentence", "a"],
        ["--sentence", " ".join(f"word{i}" for i in range(25))],
        ["--sentence", "she runs", "--sentence", "he walks"],
    ],
    "source": [
        ["--source", "I love cats", "--target", "I love J'aime les chats"],
        ["--source", "a b c d", "--target", "e"],
        ["--source", "a b", "--target", "c d e", "--source", "f g h i", "--target", "j"],
        ["--source", "a b c"],
        ["--source", "a b c", "--source", "d"],
    ],
    "d-model": ["2", "6", "7", "20"],
    "d-k": ["3", "6", "4,16,64"],
    "d-v": ["5", "6"],
    "d-a": ["3"],
    "heads": ["1", "2", "4"],
    "kv-heads": ["1", "2"],
    "samples": ["50", "99"],
    "causal": [["--causal"]],
    "window": ["0", "1"],
    "dropout": ["0", "0.1", "0.5", "0.9"],
    "temperature": ["0.5"],
    "residual": [["--residual"]],
    "norm": [["--norm"], "pre", "post"],
    "seed": ["0", "7", "4294967295"],
    "define": [["--define", "scaled = scores / d_k"]],
    "code": ["xtensor"],
    "weight-scale": ["xavier", "he", "0.02", "3", "0"],
    "embeddings": [
        ["--embeddings", VECTORS, "--sentence", "the cat sat"],
        ["--embeddings", VECTORS, "--sentence", "sat The", "--sentence", "cat sat the"],
        ["--embeddings", VECTORS, "--source", "the cat", "--target", "cat sat the"],
    ],
    "encoding": ["sinusoidal", "learned", "relative", "t5", "alibi", "rope"],
    "pairing": ["halves"],
    "attention": ["bahdanau", "bahdanau-input", "luong-dot", "luong-general", "luong-concat", "multihead"],
    "bidirectional": [["--bidirectional"]],
    "hidden": ["3", "4"],
    "d-ff": ["5"],
    "activation": ["gelu"],
    "through": [["--through", "multihead", "--heads", "4"], ["--through", "multihead", "--kv-heads", "1"],
                ["--through", "transformer-block", "--norm", "pre", "--d-ff", "5"], "seq2seq",
                ["--through", "seq2seq", "--source", "a b", "--target", "c d c", "--source", "e", "--target", "f",
                 "--hidden", "3", "--d-a", "2"]],
    "memory": ["a b c", "the mat"],
    "classes": ["1", "5"],
    "new-tokens": ["1", "6"],
    "variant": ["local", "sparse", "linear", "linformer", "performer", "gqa"],
    "pattern": ["fixed", "random", PATTERN],
    "block": ["1", "3"],
    "rank": ["1", "4"],
    "features": ["3"],
    "layers": ["1", "3"],
    "warmup": ["1", "2", "10"],
    "max-norm": ["0.5"],
    "lengths": ["3,5", "8"],
    "ranks": ["1", "3"],
    "order": ["striped", "zigzag"],
    "way": [["--way", "heads", "--heads", "4"]],
    "dtype": ["float32", "float16"],
}

# Options that change how a run is shown, or take inputs from elsewhere.
DRAW_NOTHING = {"brief", "model", "rng", "draws", "target", "input", "set", "format", "output", "expect", "all", "atol", "rtol", "only-common", "rename", "steps",
                "explain", "shapes", "precision", "full", "color", "help", "quiet", "ignore-config", "mask-true", "softcap",
                "plain", "width", "no-pager", "scoring", "mask", "layer", "picture", "title", "head", "bare", "theme", "numbers",
                "scale", "size"}

WAYS = [["--rng", rng, "--draws", draws] for rng in ("legacy", "pcg64") for draws in ("name", "stream")]

COMBINATIONS = 30  # of each lesson

QUICK = {"training": ["--d-model", "6"]}  # what a run has beside other values: with 32 it takes three seconds


def run(program, arguments):
    """With drawn weights in the place of trained ones."""
    drawn = ["--model", "none"] if arguments[0] in trained_lessons(program) else []
    return subprocess.run([program, *arguments, *drawn], capture_output=True, check=False)


@functools.cache
def trained_lessons(program):
    """Lessons that have a model."""
    def prints(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, check=True).stdout.decode()
    names = [line.split()[0] for line in prints("list").splitlines()]
    return {name for name in names if "--model NAME" in prints(name, "--help")}


def page_of(program):
    """The page as a module."""
    text = run(program, ["--help", "numbers"]).stdout.decode()
    assert text == (ROOT / "lessons/numbers/attnlab_numbers.py").read_text("utf-8"), "the program prints another page"
    assert max(map(len, text.splitlines())) <= 80, "the page is wider than 80 columns"
    path = pathlib.Path(tempfile.mkdtemp()) / "attnlab_numbers.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location("attnlab_numbers", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return page


def lessons_of(program):
    return [line.split()[0] for line in run(program, ["list"]).stdout.decode().splitlines()]


def options_of(program, lesson):
    """The options in a lesson's help that change what it draws."""
    text = run(program, [lesson, "--help"]).stdout.decode()
    options = re.findall(r"^  (?:-h,)?--([a-z-]+)", text, re.MULTILINE)
    unknown = set(options) - set(VALUES) - DRAW_NOTHING
    assert not unknown, f"{lesson}: no values to try are known for {sorted(unknown)}"
    return [option for option in options if option in VALUES]


def arguments_of(option, value):
    return value if isinstance(value, list) else [f"--{option}", value]


def command_lines(program, lesson):
    options = options_of(program, lesson)
    quick = QUICK.get(lesson, [])
    yield quick
    for option in options:
        for value in VALUES[option]:
            own = arguments_of(option, value)
            yield own + [argument for argument in quick if quick[0] not in own]
    choose = random.Random(lesson)
    for _ in range(COMBINATIONS):
        chosen = choose.sample(options, min(len(options), choose.randint(2, 5)))
        own = [argument for option in chosen for argument in arguments_of(option, choose.choice(VALUES[option]))]
        yield own + [argument for argument in quick if quick[0] not in own]


def inputs_in(trace):
    return {event["id"]: np.array(event["data"], dtype=event["dtype"])
            for event in trace["events"] if event["kind"] == "input"}


def differences(page, trace):
    """The ids of inputs that differ, or that only one of the two has."""
    drawn, inputs = page.inputs_of(trace["lesson"], trace["config"]), inputs_in(trace)
    written = inputs.get("mask")
    if trace["lesson"] == "seq2seq" and written is not None and "mask" in drawn:
        drawn["mask"] = np.broadcast_to(drawn["mask"], written.shape)
    ids = set(drawn) | set(inputs)
    return sorted(id for id in ids
                  if id not in drawn or id not in inputs or not page.is_same(drawn[id], inputs[id], trace["config"]))


def broken_claims(done, trace):
    """The status and the claims that do not hold, unless a number overflowed; nothing where all is well."""
    broken = [event["id"] for event in trace["events"] if event["kind"] == "claim" and not event["holds"]]
    has_overflowed = any(event["id"] == "overflow" for event in trace["events"])
    return [f"status {done.returncode}", *broken] if (done.returncode or broken) and not has_overflowed else []


def check_examples(page, program):
    """The few lines at the top of the page, for both ways to draw."""
    examples = re.findall(r"((?:    .*\n)+)", page.__doc__)
    check_example(page, program, examples[0], ["--draws", "name", "--sentence", "the cat sat on the mat"])
    check_example(page, program, examples[1], ["--draws", "stream", "--sentence", "a b c d e f"])


def check_example(page, program, lines, arguments):
    variables = {"np": np}
    exec(re.sub(r"^    ", "", lines, flags=re.MULTILINE), variables)
    trace = json.loads(run(program, ["self-attention", *arguments, "--format", "json"]).stdout)
    for id, array in inputs_in(trace).items():
        same = page.is_same(variables[id], array, trace["config"])
        assert same, f"the example at the top of the page draws another {id}"


def check_itself(page, program):
    """The comparison must find what differs."""
    trace = json.loads(run(program, ["self-attention", "--format", "json"]).stdout)
    assert differences(page, trace) == []
    trace["config"]["seed"] += 1
    assert differences(page, trace) == ["W_K", "W_Q", "W_V", "X"]


def check_npz(page, program, lesson):
    """An archive has the same inputs, and the same config."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.npz"
        run(program, [lesson, "--output", str(path)])
        with np.load(path) as arrays:
            config = json.loads(arrays["config"].tobytes())
            wrong = [id for id, drawn in page.inputs_of(lesson, config).items()
                     if not page.is_same(drawn, arrays[id], config)]
        return f"differs in npz: {wrong}" if wrong else ""


def check_replaced(page, program):
    """What --input replaces is drawn all the same: the other inputs stay."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "given.npz")
        np.savez(path, X=np.zeros((2, 4)), W_K=np.zeros((4, 4)))
        arguments = ["self-attention", "--sentence", "a b", "--input", path, "--format", "json"]
        assert differences(page, json.loads(run(program, arguments).stdout)) == ["W_K", "X"]


def check_saved_again(program):
    """What NumPy loads and saves again, without the config, is taken by --input."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = (str(pathlib.Path(folder) / name) for name in ("ours.npz", "theirs.npz"))
        for lesson in ("sdpa", "multihead", "scoring"):
            run(program, [lesson, "--output", ours])
            with np.load(ours) as arrays:
                np.savez(theirs, **{id: arrays[id] for id in arrays if id != "config"})
            done = run(program, [lesson, "--input", theirs, "--format", "npz"])
            assert done.returncode == 0, done.stderr.decode()
            pathlib.Path(theirs).write_bytes(done.stdout)
            with np.load(ours) as before, np.load(theirs) as after:
                assert all(np.array_equal(before[id], after[id]) for id in before if id != "config"), lesson


def check_older(page, program):
    """A trace from before --draws says nothing of it, and comes from one stream."""
    trace = json.loads(run(program, ["sdpa", "--draws", "stream", "--format", "json"]).stdout)
    del trace["config"]["draws"]
    assert differences(page, trace) == []


def torch_command_lines(program):
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: its generator is not compared")
        return
    for lesson in lessons_of(program):
        options = options_of(program, lesson)
        scales = ["linear", "uniform", "0.5"] if "weight-scale" in options else []
        more = [["--dropout", "0.3"]] if "dropout" in options else []
        more += [["--pattern", "random"]] if "pattern" in options else []
        for arguments in [[], *more, *(["--weight-scale", scale] for scale in scales)]:
            yield [lesson, "--rng", "torch", *arguments]
    for attention in VALUES["attention"]:
        yield ["seq2seq", "--rng", "torch", "--weight-scale", "linear", "--attention", attention]


def main():
    program = sys.argv[1]
    page = page_of(program)
    check_itself(page, program)
    check_examples(page, program)
    check_older(page, program)
    check_replaced(page, program)
    check_saved_again(program)
    failures, runs, refused, accepted = 0, 0, 0, set()
    for lesson in lessons_of(program):
        for arguments in command_lines(program, lesson):
            for way in WAYS:
                command = [lesson, *arguments, *way, "--format", "json"]
                done = run(program, command)
                if done.returncode == 2:
                    refused += 1
                    continue
                runs += 1
                accepted.update(arguments)
                trace = json.loads(done.stdout)
                wrong = differences(page, trace) + broken_claims(done, trace)
                if wrong:
                    failures += 1
                    print("attnlab", *command, "differs in:", *wrong)
        wrong = check_npz(page, program, lesson)
        if wrong:
            failures += 1
            print(lesson, wrong)
    for command in torch_command_lines(program):
        done = run(program, [*command, "--format", "json"])
        assert done.returncode != 2, done.stderr.decode()
        runs += 1
        wrong = differences(page, json.loads(done.stdout))
        if wrong:
            failures += 1
            print("attnlab", *command, "differs in:", *wrong)
    print(f"{runs} runs compared, {refused} refused, {failures} differ")
    tried = {argument for option in VALUES for value in VALUES[option] for argument in arguments_of(option, value)}
    assert tried <= accepted, f"every lesson refused {sorted(tried - accepted)}"
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
