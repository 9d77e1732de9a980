"""run.py [PATTERN]: runs the tests of the Python module, and says at the end what was skipped and for want of what.

The program is $ATTNLAB; ATTNLAB_TEST_CALLS=1000 compares that many random calls with the command line in place of 30,
and ATTNLAB_TEST_SEED draws others.
"""

import sys
import unittest
from collections import Counter
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "lab/python"))
tests = unittest.TestLoader().discover(str(here), pattern=f"test_{sys.argv[1] if len(sys.argv) > 1 else '*'}.py")
result = unittest.TextTestRunner(stream=sys.stdout).run(tests)
reasons = Counter(reason for _, reason in result.skipped)
skipped = "; ".join(f"{count} skipped, {reason}" for reason, count in reasons.items()) or "none skipped"
print(f"{result.testsRun} tests of the Python module: {skipped}")
sys.exit(not result.wasSuccessful())
