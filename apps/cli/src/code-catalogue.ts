/** Collects every stable code from the packages that define them. docs/codes.md and 'markmill explain' use it. */
import { classFindingCodes } from "@markmill/classroom";
import { exportFindingCodes } from "@markmill/classroom/gradebook";
import { configFindingCodes } from "@markmill/config";
import { clientProblemCodes, problemCodes } from "@markmill/contract";
import { dialects, findingCodes, startFindingCodes } from "@markmill/definition";
import { embeddedPostgresErrorCodes } from "@markmill/embedded-postgres";
import { failureCodes, isLimit, warningCodes } from "@markmill/engine";
import { rubricFindingCodes } from "@markmill/grading";
import { submissionErrorCodes } from "@markmill/grading/submission";
import { modelFailureCodes, modelFileCodes, scriptedServerCodes, scriptFileCodes } from "@markmill/llm";
import { queueErrorCodes } from "@markmill/queue";
import { sandboxErrorCodes } from "@markmill/sandbox";
import { healthCodes, stackErrorCodes, systemErrorCodes } from "@markmill/stack";
import { storeErrorCodes } from "@markmill/store";
import { toolFailureCodes } from "@markmill/tools";
import { workerFailureCodes } from "@markmill/worker";
import { commandCodes, noteCodes } from "./command-codes.ts";

interface CodeEntry {
  readonly code: string;
  readonly means: string;
  /** What happens next. Absent: the text of the group applies. */
  readonly next?: string;
  readonly fix: string;
}

export interface CodeGroup {
  readonly title: string;
  /** Where these codes appear, and what happens next. */
  readonly about: string;
  readonly entries: readonly CodeEntry[];
}

type List = Readonly<Record<string, { readonly means: string; readonly fix: string }>>;

const afterModelFailure = {
  park: "The run waits for the endpoint and takes no edge.",
  hold: "The run waits until it is resumed.",
  fail: "The activity fails. The run takes its failure edge, or goes to ON_FAILED.",
  retry: "The worker asks again a few times. Then the activity fails.",
} as const;

export const codeCatalogue: readonly CodeGroup[] = [
  {
    title: "Findings in workflow files",
    about:
      "Reported by 'markmill validate' and at the start of a run, with file, line and column. An error prevents the run. With a warning, the workflow runs; --strict turns it into an error.",
    entries: entriesOf({
      ...findingCodes,
      ...Object.assign({}, ...Object.values(dialects).map(({ codes }) => codes)),
    }),
  },
  {
    title: "Findings at the start of a run",
    about:
      "Reported before a run starts. An error prevents the run. With a warning, the run starts and its record contains the warning.",
    entries: entriesOf({ ...startFindingCodes, ...noteCodes }),
  },
  {
    title: "Failures of a run",
    about:
      "The reason why an activity or a run ended. After a failed activity, the run takes its failure edge. Without one, the run goes to ON_FAILED and ends FAILED.",
    entries: entriesOf(failureCodes).map((entry) =>
      isLimit(entry)
        ? { ...entry, next: "The run takes no failure edge. It goes to ON_FAILED and ends FAILED." }
        : entry,
    ),
  },
  {
    title: "Failures found by the worker",
    about: "More reasons why an activity ended.",
    entries: entriesOf(workerFailureCodes),
  },
  {
    title: "Failures of models",
    about: "The reason why a PROMPT waits or fails.",
    entries: Object.entries(modelFailureCodes).map(([code, { sentence, next, fix }]) => ({
      code,
      means: sentence,
      next: afterModelFailure[next],
      fix,
    })),
  },
  {
    title: "Failures of tools",
    about:
      "The model gets the code as the tool's result, or the activity fails with it. The run's tool calls (`markmill history`) show each failure.",
    entries: entriesOf(toolFailureCodes),
  },
  {
    title: "Failures of the sandbox",
    about:
      "A failure of the sandbox is never the student's fault and never an exit code. If the trouble may pass, the worker retries or waits. Otherwise, the activity fails.",
    entries: entriesOf(sandboxErrorCodes),
  },
  {
    title: "Warnings of a run",
    about: "The run's record contains the warning. A warning does not change what the run does.",
    entries: entriesOf(warningCodes),
  },
  {
    title: "Refused submissions",
    about: "Nothing was stored, and no run was started.",
    entries: entriesOf(submissionErrorCodes),
  },
  {
    title: "Findings in the files of a class",
    about:
      "Reported with file, line and column when a class is read. After an error, nothing starts. After a warning, the class continues without the named part.",
    entries: entriesOf({ ...classFindingCodes, ...rubricFindingCodes }),
  },
  {
    title: "Findings when grades are exported",
    about:
      "After an error, no file is written. After a warning, the files are written; check them before you upload them.",
    entries: entriesOf(exportFindingCodes),
  },
  {
    title: "Configuration",
    about: "Nothing starts until you correct it.",
    entries: entriesOf(configFindingCodes),
  },
  {
    title: "Model catalogues and scripts",
    about: "Findings in MODELS_FILE and in a script of replies, with file, line and column. Nothing starts.",
    entries: entriesOf({ ...modelFileCodes, ...scriptFileCodes, ...scriptedServerCodes }),
  },
  {
    title: "The database",
    about: "Runs lose nothing. Committed state is kept, and the runs continue when the database is available again.",
    entries: entriesOf(storeErrorCodes),
  },
  {
    title: "The queue",
    about: "Runs lose nothing. The supervisor enqueues due activities again.",
    entries: entriesOf(queueErrorCodes),
  },
  {
    title: "Health of processes",
    about:
      "Reported by /health/ready, together with the codes of the database, the queue and the sandbox. A process that is not ready gets no new jobs.",
    entries: entriesOf(healthCodes),
  },
  {
    title: "The embedded Postgres",
    about: "The command ends. No data is lost.",
    entries: entriesOf(embeddedPostgresErrorCodes),
  },
  {
    title: "Commands",
    about: "The command ends and has changed nothing.",
    entries: entriesOf({ ...stackErrorCodes, ...commandCodes, ...systemErrorCodes }),
  },
  {
    title: "Problems of the API",
    about: "The code of a problem document, whose hint tells what to do, or an error that a client detects itself.",
    entries: [
      ...Object.entries(problemCodes).map(([code, [status, title]]) => ({
        code,
        means: `${title}.`,
        next: `HTTP ${status}.`,
        fix: "Follow the hint of the problem document.",
      })),
      ...entriesOf(clientProblemCodes),
    ],
  },
];

function entriesOf(list: List): CodeEntry[] {
  return Object.entries(list)
    .map(([code, { means, fix }]) => ({ code, means, fix }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
}
