import html
import os
import re
import unittest
from importlib.util import find_spec
from pathlib import Path

import attnlab

try:
    from IPython.core.interactiveshell import InteractiveShell
except ImportError:
    raise unittest.SkipTest("IPython is not there (Debian: python3-ipykernel)")


class Magic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shell = InteractiveShell.instance()
        cls.shell.run_line_magic("load_ext", "attnlab")

    def test_a_line(self):
        t = self.shell.run_line_magic("attnlab", 'multihead --sentence "the cat sat" --heads 2')
        self.assertEqual(t["weights"].shape, (2, 3, 3))
        self.assertIn("scaling", self.shell.run_line_magic("attnlab", "list"))
        self.assertIn("≈", self.shell.run_line_magic("attnlab", "sdpa --explain weights[0,1]"))

    def test_a_cell(self):
        t = self.shell.run_cell_magic("attnlab", "sdpa", "--causal\n--seed 3")
        self.assertEqual((t.config["causal"], t.config["seed"]), (True, 3))

    def test_a_cell_that_is_a_document(self):
        document = ("---\ntitle: shares\nteaches: Shares of numbers.\noptions: sentence, seed, draws, rng\n"
                    'defaults: --sentence "the cat"\n---\n\n## Numbers\n\n    scores[token, key]: weight\n\n'
                    "## Shares\n\n    weights[token, key] = softmax(key) scores\n")
        t = self.shell.run_cell_magic("attnlab", "", document)
        self.assertIn("weights", list(t))
        self.assertIn('sentence="i love cats"', str(self.shell.run_cell_magic("attnlab", '--sentence "i love cats"', document)))


class Display(unittest.TestCase):
    def test_a_notebook_gets_html_and_a_console_text(self):
        shell = InteractiveShell.instance()
        t = attnlab.run("sdpa", sentence="the cat")
        data, _ = shell.display_formatter.format(t)
        self.assertEqual(data["text/plain"], str(t))
        self.assertEqual(html.unescape(re.search('srcdoc="([^"]*)"', data["text/html"])[1]),
                         t._printed("--format", "html"))
        picture, _ = shell.display_formatter.format(t.heatmap("weights"))
        self.assertIn('src="data:image/svg+xml;base64,', picture["text/html"])
        for shown in (t.worked("weights"), attnlab.probe("sdpa"), attnlab.diff(t, t), t.numpy()):
            self.assertEqual(shell.display_formatter.format(shown)[0]["text/plain"], str(shown))


lacking = [name for name in ("nbclient", "ipykernel", "torch") if not find_spec(name)]


@unittest.skipIf(lacking, f"{' and '.join(lacking)} is not there (Debian: python3-{', python3-'.join(lacking)})")
class Notebook(unittest.TestCase):
    def test_the_notebook_runs_and_finds_the_mistake(self):
        import nbclient
        import nbformat
        python = Path(__file__).resolve().parents[2] / "lab/python"
        notebook = nbformat.read(python / "port.ipynb", as_version=4)
        self.assertFalse(any(cell.get("outputs") for cell in notebook.cells))
        os.environ.update(PYTHONPATH=str(python), PYDEVD_DISABLE_FILE_VALIDATION="1")
        nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
        shown = [[output.get("data", {}) for output in cell.get("outputs", [])] for cell in notebook.cells]
        texts = ["".join(data.get("text/plain", "") for data in cell) for cell in shown]
        self.assertIn("output  wrong: scale-d-model", "".join(texts))
        self.assertEqual(sum(text.rstrip().endswith(" right.") for text in texts), 3)
        self.assertEqual(sum("<iframe" in data.get("text/html", "") for cell in shown for data in cell), 3)
