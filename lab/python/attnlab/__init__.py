"""Attention Lab from Python: a thin layer over the program attnlab, which computes everything.

    t = attnlab.run("multihead", sentence="the cat sat", heads=2)   # t["weights"] is an array, t a page
    p = attnlab.probe("multihead", heads=4)                         # inputs; print(p) is the task
    attnlab.assert_right("multihead", output=mine(p), probe=p)

`show(weights, tokens=…)` shows your own, `capture(module)` checks one of torch, `%load_ext attnlab` gives %%attnlab.
"""

from ._program import Refused, Text, program
from ._results import Probe, Report, Trace, assert_right, check, diff, load_ipython_extension, probe, run, show
from ._torch import capture

__all__ = ["run", "show", "probe", "check", "assert_right", "capture", "diff", "program", "Refused"]
