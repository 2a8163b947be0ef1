/** A teacher's autograder.zip as files below `autograder/`, under the same caps and rules as a student's archive. */
import { AUTOGRADER_FILES, SandboxError, type SessionFile } from "@markmill/sandbox";
import { readArchive, SubmissionError } from "@markmill/submission";

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
  // Packed with its folder around it.
  const script = found.map(({ path }) => path).find((path) => path === SCRIPT || /^[^/]+\/run_autograder$/.test(path));
  if (script === undefined) throw refused(`${ZIP} contains no ${SCRIPT} at its top.`);
  const top = script.slice(0, -SCRIPT.length);
  const unpacked = found
    .filter(({ path }) => path.startsWith(top))
    .map(({ path, bytes }) => ({ path: `${AUTOGRADER_FILES}/${path.slice(top.length)}`, mode: 0o755, bytes }));
  return [...files.filter(({ path }) => path !== ZIP), ...unpacked];
}

function refused(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_REFUSED", `The autograder cannot be used: ${what}`, "Correct its zip.");
}
