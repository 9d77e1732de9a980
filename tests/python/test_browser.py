import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import attnlab

chromium = shutil.which("chromium")

# Points at a cell in the first frame, then says how each frame looks and which have changed.
SCRIPT = """
addEventListener("load", () => {
  const pages = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
  const looks = () => [document.body.className, ...pages.map((page) => page.documentElement.outerHTML)];
  const before = looks();
  const cell = pages[0].querySelector("table[data-tensor] td");
  cell.dispatchEvent(new pages[0].defaultView.PointerEvent("pointerover", {bubbles: true}));
  const after = looks();
  document.querySelector("#said").textContent = JSON.stringify({
    changed: after.map((html, i) => html !== before[i]),
    titles: pages.map((page) => page.querySelector("h1").textContent),
    backgrounds: pages.map((page) => page.defaultView.getComputedStyle(page.body).backgroundColor),
    heights: pages.map((page) => page.querySelector("table").offsetHeight),
    host: getComputedStyle(document.querySelector("h1")).color,
    picture: document.querySelector("img").naturalWidth,
  });
});
"""


@unittest.skipUnless(chromium, "chromium is not there (Debian: chromium)")
class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shown = [attnlab.run("multihead", sentence="the cat sat", heads=2), attnlab.run("sdpa", sentence="the cat"),
                 attnlab.show(np.eye(3), tokens=["[CLS]", "##ing", "."])]
        cls.frames = [one._repr_html_() for one in [*shown, shown[0].heatmap("weights")]]

    def look(self, scheme):
        """What the script says of a notebook's page that hides tables and has ids and classes of the frames' own."""
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "notebook.html")
            page.write_text("<!doctype html><meta charset=utf-8><style>table {display: none} h1 {color: rgb(1, 2, 3)}"
                            f"</style><script>{SCRIPT}</script><h1 id=idea>host</h1><p id=said></p>"
                            + "".join(self.frames), encoding="utf-8")
            dom = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
                                  f"--user-data-dir={folder}/profile", "--dump-dom", page.as_uri(),
                                  f"--blink-settings=preferredColorScheme={scheme}"], capture_output=True, timeout=60)
        return json.loads(re.search(r'<p id="said">(.*?)</p>', dom.stdout.decode())[1])

    def test_do_not_disturb_each_other_and_are_dark_and_light(self):
        dark, light = self.look(0), self.look(1)
        for said in (dark, light):
            self.assertEqual(said["titles"], ["multihead", "sdpa", "your-weights"])
            self.assertEqual(said["changed"], [False, True, False, False])
            self.assertEqual(said["host"], "rgb(1, 2, 3)")
            self.assertGreater(min(*said["heights"], said["picture"]), 0)
            self.assertEqual(len({*said["backgrounds"]}), 1)
        brightness = [sum(map(int, re.findall(r"\d+", said["backgrounds"][0])[:3])) for said in (dark, light)]
        self.assertLess(brightness[0], 150)
        self.assertGreater(brightness[1], 600)
