"""Attention Lab from Python: a thin layer over the program attnlab, which computes everything.

    t = attnlab.run("multihead", sentence="the cat sat", heads=2)   # t["weights"] is an array, t a page
    p = attnlab.probe("multihead", heads=4)                         # inputs; print(p) is the task
    attnlab.assert_right("multihead", output=mine(p), probe=p)

`show(weights, tokens=…)` shows your own, `capture(module)` checks one of torch, `%load_ext attnlab` gives %%attnlab.
"""

from ._program import Refused, Text, program
from ._reports import Probe, Report, assert_right, check, diff, probe
from ._torch import capture
from ._trace import Picture, Trace, load_ipython_extension, run, show
