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
  fail: "The activity fails: its failure edge, else ON_FAILED.",
  retry: "It is asked again a few times, then the activity fails.",
} as const;

export const codeCatalogue: readonly CodeGroup[] = [
  {
    title: "Findings in workflow files",
    about:
      "Told by 'markmill validate' and before a run starts, with file, line and column. An error: there is no run. A warning: the workflow runs, and --strict makes it an error.",
    entries: entriesOf({
      ...findingCodes,
      ...Object.assign({}, ...Object.values(dialects).map(({ codes }) => codes)),
    }),
  },
  {
    title: "Findings at the start of a run",
    about: "Told before a run starts. An error: there is no run. A warning: it starts, and its record says it.",
    entries: entriesOf({ ...startFindingCodes, ...noteCodes }),
  },
  {
    title: "Failures of a run",
    about:
      "The reason of an activity's or a run's end. A failed activity takes its failure edge, else the run goes to ON_FAILED and ends FAILED.",
    entries: entriesOf(failureCodes).map((entry) =>
      isLimit(entry)
        ? { ...entry, next: "No failure edge is taken: the run goes to ON_FAILED and ends FAILED." }
        : entry,
    ),
  },
  {
    title: "Failures found by the worker",
    about: "The reason of an activity's end, beside those above.",
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
      "Told to the model as the tool's result, and noted; or the reason why an activity fails. The run's tool calls (`markmill history`) show each.",
    entries: entriesOf(toolFailureCodes),
  },
  {
    title: "Failures of the sandbox",
    about:
      "Never the student's fault and never an exit code. What may pass is tried again or waited for; what cannot fails the activity.",
    entries: entriesOf(sandboxErrorCodes),
  },
  {
    title: "Warnings of a run",
    about: "They stand in the run's record and change nothing of its course.",
    entries: entriesOf(warningCodes),
  },
  {
    title: "Submissions that are not taken",
    about: "Nothing was written; there is no run.",
    entries: entriesOf(submissionErrorCodes),
  },
  {
    title: "Findings in the files of a class",
    about:
      "Told with file, line and column when a class is read. An error: nothing is started. A warning: the class goes on without what it names.",
    entries: entriesOf({ ...classFindingCodes, ...rubricFindingCodes }),
  },
  {
    title: "Findings when grades are handed over",
    about:
      "An error: no file is written. A warning: the files are written, and it is worth a look before they are uploaded.",
    entries: entriesOf(exportFindingCodes),
  },
  {
    title: "Configuration",
    about: "Nothing is started until it is corrected.",
    entries: entriesOf(configFindingCodes),
  },
  {
    title: "Model catalogues and scripts",
    about: "Findings in MODELS_FILE and in a script of replies, with file, line and column. Nothing is started.",
    entries: entriesOf({ ...modelFileCodes, ...scriptFileCodes, ...scriptedServerCodes }),
  },
  {
    title: "The database",
    about: "Runs are not harmed: what was committed stands, and goes on when the database does.",
    entries: entriesOf(storeErrorCodes),
  },
  {
    title: "The queue",
    about: "Runs are not harmed: what is due is enqueued again.",
    entries: entriesOf(queueErrorCodes),
  },
  {
    title: "Health of processes",
    about:
      "Told by /health/ready, beside the codes of the database, the queue and the sandbox. A process that is not ready is given no new work.",
    entries: entriesOf(healthCodes),
  },
  {
    title: "The embedded Postgres",
    about: "The command ends; the data is not harmed.",
    entries: entriesOf(embeddedPostgresErrorCodes),
  },
  {
    title: "Commands",
    about: "The command ends without having changed anything.",
    entries: entriesOf({ ...stackErrorCodes, ...commandCodes, ...systemErrorCodes }),
  },
  {
    title: "Problems of the API",
    about: "The code of a problem document, whose hint says what to do; or what a client finds by itself.",
    entries: [
      ...Object.entries(problemCodes).map(([code, [status, title]]) => ({
        code,
        means: `${title}.`,
        next: `HTTP ${status}.`,
        fix: "As the problem's hint says.",
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
