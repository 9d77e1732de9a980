"""tests/numbers/every_script.py PROGRAM [LESSON…]: runs the scripts that `PROGRAM LESSON --format python` writes.

A script holds the inputs of a run, computes the lesson with the code of its page, and asserts the steps. Each must run
to its end and assert every core step of the JSON of the same command line. The command lines of a lesson are its
default, the examples of its help, each value of each option that chooses among some, and what makes batches, masks and
rounded numbers. A run takes the default and one in three of the others, by ATTNLAB_TEST_SEED; "all" takes them all.
Those that the lesson refuses are left out, but of its help's examples only those that want text.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings

import numpy as np

# Options whose values choose how numbers are drawn or shown, and not what is computed.
CHOOSE_NOTHING = {"format", "color", "rng", "draws", "weight-scale"}
WANT_TEXT = {"--explain", "--shapes"}

VARIATIONS = [
    ["--causal"],
    ["--window", "1"],
    ["--dtype", "float32"],
    ["--dropout", "0.3"],
    ["--temperature", "0.5"],
    ["--residual", "--norm"],
    ["--d-k", "3"],
    ["--heads", "1"],
    ["--kv-heads", "1"],
    ["--memory", "a b"],
    ["--through", "multihead", "--kv-heads", "1", "--causal"],
    ["--through", "multihead", "--temperature", "0.5", "--d-k", "3"],
    ["--through", "transformer-block", "--norm", "pre", "--causal"],
    ["--through", "transformer-block", "--activation", "gelu"],
    ["--weight-scale", "1e5", "--dtype", "float32"],
    ["--weight-scale", "100", "--dtype", "float16"],
    ["--weight-scale", "1e6", "--dtype", "float16"],
    ["--attention", "bahdanau", "--hidden", "4", "--d-a", "2", "--set", "attention/b_q=[1,2]", "--set", "attention/b_k=[3,4]"],
    ["--attention", "luong-concat", "--hidden", "4", "--d-a", "2", "--set", "attention/b_a=[1,2]", "--set", "attention/b_c=[0,1,2,3]"],
    ["--attention", "luong-general", "--hidden", "4", "--set", "attention/b_a=[0,1,2,3]", "--set", "attention/b_c=[0,1,2,3]"],
    ["--through", "seq2seq", "--source", "a b c", "--target", "d e", "--hidden", "3", "--d-a", "2"],
    ["--d-model", "4", "--heads", "2", "--set", "b_Q=[1,0,0,2]", "--set", "b_V=[0,1,2,3]", "--set", "b_O=[3,2,1,0]"],
    ["--d-model", "4", "--set", "b_Q=[1,0,0,2]", "--set", "b_K=[1,1,1,1]", "--set", "b_V=[0,1,2,3]"],
    ["--d-model", "4", "--heads", "2", "--set", "attention/b_K=[1,0,0,2]", "--set", "attention/b_O=[0,1,2,3]"],
    ["--memory", "a b", "--d-model", "4", "--heads", "2", "--set", "cross/b_Q=[1,0,0,2]"],
    ["--through", "multihead", "--d-model", "4", "--heads", "2", "--set", "b_Q=[1,0,0,2]", "--set", "b_O=[3,2,1,0]"],
    ["--through", "transformer-block", "--heads", "4", "--kv-heads", "2", "--d-k", "3", "--d-v", "2", "--set", "attention/b_V=[0,1,2,3]"],
    ["--attention", "multihead", "--hidden", "4", "--set", "attention/b_Q=[1,0,0,2]", "--set", "attention/b_O=[0,1,2,3]"],
    ["--layers", "2", "--d-model", "4", "--heads", "2", "--set", "layer=2/b_V=[0,1,2,3]", "--set", "layer=2/b_O=[3,2,1,0]"],
    ["--sentence", "a b", "--d-model", "2", "--set", "learned/table=[[1,2],[3,4],[5,6]]"],
    ["--sentence", "a b", "--d-model", "2", "--set", "positions=[[1,2],[3,4],[5,6],[7,8],[9,0]]"],
    ["--sentence", "a b a", "--d-model", "2", "--set", "embedding=[[1,2],[3,4],[5,6]]", "--set", "tokens=[2,0,2]"],
    ["--source", "a b", "--target", "c", "--hidden", "1", "--set", "output/W=[[1,2,3,4],[5,6,7,8]]", "--set", "words=[2,0]"],
    ["--bidirectional"],
    ["--sentence", "one"],
    ["--source", "a b c d", "--target", "e f"],
]

BATCHES = [
    ["--sentence", "the cat sat", "--sentence", "a dog"],
    ["--source", "the cat sat", "--target", "a b", "--source", "a dog", "--target", "c d e"],
]


def run(program, arguments):
    return subprocess.run([program, *arguments], capture_output=True, check=False, text=True)


def lessons_of(program):
    return [line.split()[0] for line in run(program, ["list"]).stdout.splitlines()]


def choices_in(help_page):
    """`--norm pre|post` and `--variant NAME  …: full, local; …` as ("norm", ["pre", "post"]) and the like.

    What is in capitals is no choice.
    """
    listed = re.findall(r"^  --([a-z-]+) ([^ \n]*\|[^ \n]*)", help_page, re.MULTILINE)
    named = re.findall(r"^  --([a-z-]+) NAME ([^:;]*:)([^;]*)", help_page, re.MULTILINE)
    choices = [(option, values.split("|")) for option, values in listed]
    choices += [(option, "".join(values.split()).split(",")) for option, _, values in named]
    for option, values in choices:
        if option not in CHOOSE_NOTHING:
            yield option, [value for value in values if value == value.lower()]


def examples_in(help_page):
    for line in re.findall(r"^  attnlab (.*)$", help_page, re.MULTILINE):
        yield shlex.split(line)[1:]


def command_lines(help_page):
    chosen = [[f"--{option}", value] for option, values in choices_in(help_page) for value in values]
    yield []
    yield from examples_in(help_page)
    yield from chosen
    yield from VARIATIONS
    for batch in BATCHES:
        yield batch
        yield [*batch, "--causal"]
        yield from ([*batch, *choice] for choice in chosen)


def chosen_of(lines):
    """The first, and of the others one in three."""
    seed = os.environ.get("ATTNLAB_TEST_SEED", "0")
    first, *others = lines
    return [first, *(others if seed == "all" else others[int(seed) % 3::3])]


def core_steps(trace):
    """The names that the core steps have in the script."""
    return {re.sub(r"[^A-Za-z0-9]", "_", event["id"])
            for event in trace["events"] if event["kind"] == "step" and event["level"] == "core"}


def run_script(text):
    """What a script asserted, or said that it does not. Raises what it raises, and what it warns of."""
    variables = {}
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(text, "script", "exec"), variables)  # as `python3 -` does, without starting it
    return variables["checked"].union(variables.get("beyond", []))


def fault_of(script, trace):
    """What is wrong with a script; nothing where it agrees with the trace."""
    try:
        left_out = core_steps(trace) - run_script(script)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"asserts no {', '.join(sorted(left_out))}" if left_out else ""


def with_number_changed(script, step):
    """The script with the first number of a step's array a little larger."""
    start = script.index(f'"{step}": np.array(', script.index("\nsteps = {"))
    number = re.compile(r"-?\d+(\.\d+)?(e[-+]\d+)?").search(script, start + len(step) + 12)
    return f"{script[:number.start()]}{float(number.group()) + 1e-4}{script[number.end():]}"


def check_itself(program):
    """A number that is wrong must be found in each step, and so must a step that is not asserted."""
    script = run(program, ["sdpa", "--format", "python"]).stdout
    trace = json.loads(run(program, ["sdpa", "--format", "json"]).stdout)
    assert fault_of(script, trace) == "", fault_of(script, trace)
    for step in core_steps(trace):
        fault = fault_of(with_number_changed(script, step), trace)
        assert fault.startswith(f"AssertionError: {step} is off by "), f"a wrong {step} is not found: {fault!r}"
    unasserted = script.replace('expect("output",', 'print("output",')
    assert fault_of(unasserted, trace) == "asserts no output"


def main():
    program, *lessons = sys.argv[1:]
    check_itself(program)
    runs, refused, failures = 0, 0, 0
    for lesson in lessons or lessons_of(program):
        help_page = run(program, [lesson, "--help"]).stdout
        examples = list(examples_in(help_page))
        for arguments in chosen_of(command_lines(help_page)):
            command = [lesson, *arguments]
            script = run(program, [*command, "--format", "python"])
            if script.returncode == 2:
                refused += 1
                if arguments in examples and not WANT_TEXT.intersection(arguments):
                    failures += 1
                    print(f"attnlab {shlex.join(command)} --format python: {script.stderr}")
                continue
            runs += 1
            trace = run(program, [*command, "--format", "json"])
            fault = fault_of(script.stdout, json.loads(trace.stdout))
            if trace.returncode and "\nbeyond = [" not in script.stdout:
                fault += f" status {trace.returncode}"
            if fault:
                failures += 1
                print(f"attnlab {shlex.join(command)} --format python: {fault}")
    print(f"{runs} scripts run, {refused} command lines refused, {failures} scripts fail")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
