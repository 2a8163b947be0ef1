"""The teacher's tests. The student's module runs as a guest, in a session of its own: it gets the questions, never the answers."""

import json
import os
import secrets
import subprocess

results, nonce = os.environ.pop("MARKMILL_RESULTS"), os.environ.pop("MARKMILL_NONCE")

CASES = [
    ("years/ordinary", 2023, False),
    ("years/every fourth", 2024, True),
    ("years/century", 1900, False),
    ("years/every fourth century", 2000, True),
    ("years/long ago", 4, True),
    ("errors/zero", 0, "ValueError"),
    ("errors/half a year", 1999.5, "ValueError"),
    ("errors/a word", "2024", "ValueError"),
    ("errors/nothing", None, "ValueError"),
]

# An answer stands on a line that begins with a random mark. The module's own output has no effect.
DRIVER = """
import json, sys
sys.path.insert(0, ".")
mark, *years = json.load(sys.stdin)
from leap import is_leap
for year in years:
    try:
        said = is_leap(year)
    except ValueError:
        said = "ValueError"
    except Exception:
        said = "another error"
    print("\\n" + mark + json.dumps(said, default=repr), flush=True)
"""

mark = f"answer {secrets.token_hex(16)} "
guest = subprocess.run(
    ["guest", "--time", "5", "--", "python3", "-c", DRIVER],
    input=json.dumps([mark] + [year for _, year, _ in CASES]).encode(),
    capture_output=True,
)
lines = guest.stdout.decode("utf-8", "replace").split("\n")
answers = [line[len(mark) :] for line in lines if line.startswith(mark)]

tests = []
for number, (name, _, wanted) in enumerate(CASES):
    said = answers[number] if number < len(answers) else "no answer"
    passed = said == json.dumps(wanted)
    tests.append({"name": name, "status": "passed" if passed else "failed", "message": "" if passed else f"said {said[:80]}"})
    print("passed" if passed else "failed", "", name)

with open(results, "w", encoding="utf-8") as file:
    json.dump({"nonce": nonce, "tests": tests}, file)
