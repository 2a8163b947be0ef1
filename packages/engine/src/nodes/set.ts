import { briefText } from "../bounds.ts";
import { failure } from "../failure.ts";
import { deadlineOf, limitSettingNames, settleLimits } from "../limits.ts";
import type { SetNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { settingProblem } from "../setting-ranges.ts";
import { runStatuses } from "../state.ts";
import { change, type NodeRule, scopeOf, tellUnknown } from "../turn.ts";
import { authoredValue, fileToRead, missing } from "./authored-value.ts";
import { passed } from "./passed.ts";

export const set: NodeRule<SetNode> = {
  begin(turn, node, visit) {
    const read = fileToRead(turn, node.value);
    if (node.target.to === "variable") return { do: "work", work: { kind: "set", read, write: null } };
    const value = resolve(node.value, scopeOf(turn, visit.reads));
    tellUnknown(turn, value.unknown, visit.id);
    if (value.text === null && read === null) return { do: "fail", failure: missing(node.value) };
    return { do: "work", work: { kind: "set", read, write: { path: node.target.path, text: value.text ?? "" } } };
  },
  finish(turn, node, active, outcome) {
    if (node.target.to === "file") return passed;
    const value = authoredValue(turn, node.value, active, outcome);
    if (typeof value !== "string") return { go: "fail", failure: value };
    const { name } = node.target;
    if (name === "STATUS" && !runStatuses.includes(value)) {
      const why = `STATUS must be ${runStatuses.join(", ")}, not '${value.slice(0, 40)}'.`;
      return { go: "fail", failure: failure("VALUE_INVALID", why) };
    }
    const problem = settingProblem(name, value);
    if (problem !== null) {
      const why = `${name} cannot be '${briefText(value, 40)}': ${problem.expected}.`;
      return { go: "fail", failure: failure("SETTING_INVALID", why) };
    }
    if (limitSettingNames.includes(name)) {
      const settled = settleLimits({ ...turn.program, limits: turn.state.limits }, { [name]: value }, turn.state.caps);
      if (!settled.ok) return { go: "fail", failure: settled.failure };
      change(turn, { limits: settled.limits });
      const deadline = deadlineOf(turn.state);
      if (name === "MAX_DURATION" && deadline !== null && turn.state.phase.is === "doing") {
        turn.commands.push({ do: "deadline", at: deadline });
      }
    }
    return { go: "on", on: "ok", writes: [{ to: "variable", name, text: value, assigned: true }] };
  },
};
