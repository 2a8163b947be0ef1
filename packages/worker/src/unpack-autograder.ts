/**
 * Unpacks a teacher's autograder.zip into files below `autograder/`, under the same limits and rules as a student's
 * archive.
 */
import { readArchive, SubmissionError } from "@markmill/grading/submission";
import { AUTOGRADER_FILES, SandboxError, type SessionFile } from "@markmill/sandbox";

const ZIP = `${AUTOGRADER_FILES}.zip`;
const LIMITS = { files: 2_000, bytes: 32 * 1024 * 1024 };
const SCRIPT = "run_autograder";

export async function unpackAutograder(files: readonly SessionFile[]): Promise<SessionFile[]> {
  const zip = files.find(({ path }) => path === ZIP);
  if (zip === undefined) return [...files];
  const { entries } = await readArchive(ZIP, Buffer.from(zip.bytes), LIMITS).catch((error: unknown) => {
    throw error instanceof SubmissionError ? refused(error.message) : error;
  });
  const found = entries.flatMap((entry) =>
    entry.kind === "file" && !/(?:^|\/)(?:__MACOSX\/|\._|\.DS_Store$)/.test(entry.path) ? [entry] : [],
  );
  // The archive may contain its own folder around the files.
  const script = found.map(({ path }) => path).find((path) => path === SCRIPT || /^[^/]+\/run_autograder$/.test(path));
  if (script === undefined) throw refused(`${ZIP} contains no ${SCRIPT} at its top.`);
  const top = script.slice(0, -SCRIPT.length);
  const unpacked = found
    .filter(({ path }) => path.startsWith(top))
    .map(({ path, bytes }) => ({ path: `${AUTOGRADER_FILES}/${path.slice(top.length)}`, mode: 0o755, bytes }));
  return [...files.filter(({ path }) => path !== ZIP), ...unpacked];
}

function refused(what: string): SandboxError {
  const fix = "Correct its zip, then grade the class again.";
  return new SandboxError("SANDBOX_AUTOGRADER_INVALID", `The autograder cannot be used: ${what}`, fix);
}
