"""Runs a study that a candidate enters: python entering_study.py begin|resume DIRECTORY QUESTION, which is JSON.

The question holds `options` (of the study), `space`, `entering` (the candidate's setting) and `block`.
"""

import json
import sys
from pathlib import Path

from dialin.model.study import Candidate
from dialin.places import check_study
from dialin.places.attached.check import Permission
from dialin.question.options import StudyOptions
from dialin.race import lifecycle
from dialin.report.plain_lines import PlainLines
from dialin.trials.tools import Tools
from fixtures.proposers import AddsOne


def main(what, directory, text):
    asked, out = json.loads(text), Path(directory)
    watcher = PlainLines(sys.stderr)
    tools = Tools.open(watcher.message)
    if what == "begin":
        question = StudyOptions.model_validate(asked["options"])
        ready = check_study.check_question(question, out.parent, tools, Permission(), space=asked["space"])
    else:
        ready = check_study.check_resume(out, tools)
    candidate = Candidate(name="entering", setting=asked["entering"], server=ready.spec.candidates[0].server)
    proposer = AddsOne(candidate, asked["block"])
    if what == "begin":
        lifecycle.begin(ready, out, tools, watcher, "a test", proposer)
    else:
        lifecycle.resume(ready, out, tools, watcher, proposer)


if __name__ == "__main__":
    main(*sys.argv[1:])
