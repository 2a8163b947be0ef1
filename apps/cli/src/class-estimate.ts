/** Counts the model calls for a submission, from the workflow: every PROMPT once, every GRADE once per pass. Pure. */
import type { Rubric } from "@markmill/grading";
import type { Definition } from "@markmill/store";

/** Characters around the submission: the instructions to the model, the rubric and the task. */
const aroundGrade = 6_000;
const replyTokensPerCriterion = 160;

export function callsPlanned({ programs }: Definition, rubric: Rubric) {
  let [calls, characters] = [0, 0];
  const judged = rubric.criteria.filter(({ source }) => source.is === "llm").length;
  for (const program of Object.values(programs)) {
    for (const node of Object.values(program.nodes)) {
      if (node.kind === "prompt" || node.kind === "evaluate") {
        calls += 1;
        characters += 2_000;
      } else if (node.kind === "grade" && judged > 0) {
        const looks = 1 + (program.grading?.twice === "never" ? 0 : 1) + (program.grading?.panel.length ?? 0);
        calls += looks;
        characters += looks * aroundGrade;
      }
    }
  }
  return {
    calls,
    promptCharacters: calls === 0 ? 0 : Math.round(characters / calls),
    completionTokens: 120 + judged * replyTokensPerCriterion,
  };
}

/** The model that the workflow itself names. null: the default is used. */
export function modelOf({ programs, root }: Definition): string | null {
  const program = programs[root];
  const param = program?.params.find(({ name }) => name === "AI_MODEL_NAME")?.default;
  return param || program?.settings.model || null;
}
