// The command `autograder` on the PATH of a judge session, for teachers who bring an autograder made for Gradescope. It puts all files
// where such a program expects them, runs setup.sh and run_autograder unchanged, and passes on their results. Unlike in all other judge
// sessions, the student's code runs in this session, beside the deciding program. So the results are only as trustworthy as that program
// (docs/security.md).

export const AUTOGRADER_PLACE = "/autograder";
/** Below /judge. */
export const AUTOGRADER_FILES = "autograder";

/** Exit codes: 2: the autograder is not complete; 3: setup.sh failed; 4: no results.json; otherwise run_autograder's own code. */
export function autograderScript(setup: "run" | "skip"): string {
  return `#!/bin/bash
results=$MARKMILL_RESULTS
unset MARKMILL_NONCE MARKMILL_RESULTS
say() { printf 'autograder: %s\\n' "$1" >&2; }
cd ${AUTOGRADER_PLACE} || exit 2
mkdir -p source submission results
cp -r /judge/${AUTOGRADER_FILES}/. source/ && cp -r /submission/. submission/ || exit 2
chmod -R u+rwX source submission
[ -f source/run_autograder ] || { say 'there is no run_autograder at its top'; exit 2; }
cp source/run_autograder run_autograder
chmod u+x run_autograder source/run_autograder source/*.sh 2>/dev/null
cat >submission_metadata.json <<END
{"id": 0, "created_at": "$(date -u +%Y-%m-%dT%H:%M:%S.000000+00:00)", "submission_method": "upload", "previous_submissions": [],
"assignment": {"id": 0, "title": "assignment", "course_id": 0, "due_date": null, "late_due_date": null, "release_date": null, "group_submission": false, "total_points": "0.0", "outline": []},
"users": [{"id": 0, "name": "Student", "email": "student@example.invalid", "sid": ""}]}
END
if [ ${setup} = run ] && [ -f source/setup.sh ]; then
  (cd source && exec ./setup.sh)
  code=$?
  [ $code = 0 ] || { say "setup.sh ended with exit code $code; put what it installs into the judge's image, and write setup: skip"; exit 3; }
fi
./run_autograder
code=$?
[ -f results/results.json ] || { say "run_autograder ended with exit code $code and left no results/results.json"; exit 4; }
head -c 2000000 results/results.json >"$results"
exit $code
`;
}
