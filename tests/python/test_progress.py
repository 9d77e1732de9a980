import io
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest.mock import patch

import attnlab
from attnlab._results import magic

WIPE = "\r\x1b[K"


def training(folder, task="reverse", steps=60):
    return f"train {task} --steps {steps} --threads 1 --output {folder}/model.safetensors"


def is_there(process):
    return Path(f"/proc/{process}/stat").exists() and " Z " not in Path(f"/proc/{process}/stat").read_text()


class OnTerminal:
    """A Python of its own whose stderr is a terminal."""

    def __init__(self, line):
        self.terminal, its = pty.openpty()
        path = str(Path(attnlab.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from attnlab._results import magic; magic({line!r})"], stderr=its,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})
        os.close(its)

    def read(self):
        try:
            return os.read(self.terminal, 4096).decode(errors="replace")
        except OSError:  # nobody writes to it any more
            return ""

    def children(self):
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()


class Progress(unittest.TestCase):
    def said(self, **environment):
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()) as said:
            with patch.dict(os.environ, environment):
                magic(training(folder))
        return said.getvalue()

    def test_shows_on_a_terminal_while_the_program_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            python = OnTerminal(training(folder))
            said, while_it_runs = "", False
            while piece := python.read():
                said += piece
                while_it_runs = while_it_runs or ("█" in said and python.process.poll() is None)
            self.assertEqual(python.process.wait(), 0)
        os.close(python.terminal)
        self.assertTrue(while_it_runs)
        self.assertRegex(said, r"█+░* +\d+ %  loss \d")
        self.assertRegex(said, r"100 %[^\n]*\r\x1b\[K")
        self.assertNotIn("%", said.rpartition(WIPE)[2])

    def test_shows_nothing_elsewhere_unless_asked(self):
        with patch.dict(os.environ):
            os.environ.pop("ATTNLAB_PROGRESS", None)
            self.assertNotIn("loss", self.said())
            self.assertNotIn("\r", self.said())
        asked = self.said(ATTNLAB_PROGRESS="1")
        self.assertRegex(asked, r"█+░* +\d+ %  loss \d")
        self.assertNotIn("%", asked.rpartition(WIPE)[2])

    def test_a_refusal_behind_progress_is_the_programs_own_words(self):
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ATTNLAB_PROGRESS="1"):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(attnlab.Refused) as refused:
                magic(training(folder + "/nowhere"))
        self.assertNotIn("\x1b", str(refused.exception))
        self.assertIn("nowhere", str(refused.exception))

    def test_an_interrupt_ends_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            python = OnTerminal(training(folder, "reverse", 100000))
            said = ""
            while "█" not in said and (piece := python.read()):
                said += piece
            child, = python.children()
            self.assertTrue(is_there(child))
            python.process.send_signal(signal.SIGINT)
            while piece := python.read():
                said += piece
            self.assertNotEqual(python.process.wait(timeout=20), 0)
        os.close(python.terminal)
        self.assertIn("KeyboardInterrupt", said)
        self.assertFalse(is_there(child))
