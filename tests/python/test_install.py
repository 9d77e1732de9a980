import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

import attnlab

here = Path(__file__).resolve()
lacking = [name for name in ("pip", "setuptools", "wheel") if not find_spec(name)]


@unittest.skipIf(lacking, f"{' and '.join(lacking)} is not there (Debian: python3-{', python3-'.join(lacking)})")
class Install(unittest.TestCase):
    def test_pip_installs_it_without_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            source, environment = folder + "/python", folder + "/venv"
            shutil.copytree(here.parents[2] / "lab/python", source)
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", environment],
                           check=True)
            python = environment + "/bin/python"
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", source],
                           check=True, capture_output=True)
            asked = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            code = "import attnlab; print(attnlab.__file__, *attnlab.run('sdpa')['Q'].shape, attnlab.show([[1]]).holds)"
            said = subprocess.run([python, "-c", code], check=True, capture_output=True, cwd="/",
                                  env={**asked, "ATTNLAB": attnlab.program()})
            place, *shape = said.stdout.decode().split()
            self.assertTrue(place.startswith(environment))
            self.assertEqual(shape, ["5", "8", "True"])


class Size(unittest.TestCase):
    def test_the_module_is_small(self):
        lines = sum(len(path.read_text().splitlines()) for path in (here.parents[2] / "lab/python/attnlab").glob("*.py"))
        self.assertLessEqual(lines, 500)
