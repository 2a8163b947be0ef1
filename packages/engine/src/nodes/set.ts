import { failure } from "../failure.ts";
import { limitSettingNames, settleLimits } from "../limits.ts";
import type { SetNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { change, type NodeRule, scopeOf } from "../turn.ts";
import { authoredValue, fileToRead } from "./authored-value.ts";
import { passed } from "./passed.ts";

const statuses = ["CREATED", "DOING", "SUCCESS", "FAILED"];

export const set: NodeRule<SetNode> = {
  begin(turn, node, visit) {
    const read = fileToRead(turn, node.value);
    if (node.target.to === "variable") return { do: "work", work: { kind: "set", read, write: null } };
    const { text } = resolve(node.value, scopeOf(turn, visit.reads));
    return { do: "work", work: { kind: "set", read, write: { path: node.target.path, text: text ?? "" } } };
  },
  finish(turn, node, active, outcome) {
    if (node.target.to === "file") return passed;
    const value = authoredValue(turn, node.value, active, outcome);
    if (typeof value !== "string") return { go: "fail", failure: value };
    const { name } = node.target;
    if (name === "STATUS" && !statuses.includes(value)) {
      const why = `STATUS may be ${statuses.join(", ")}, not '${value.slice(0, 40)}'.`;
      return { go: "fail", failure: failure("VALUE_INVALID", why) };
    }
    if (limitSettingNames.includes(name)) {
      const settled = settleLimits({ ...turn.program, limits: turn.state.limits }, { [name]: value }, {});
      if (!settled.ok) return { go: "fail", failure: settled.failure };
      change(turn, { limits: settled.limits });
    }
    return { go: "on", on: "ok", writes: [{ to: "variable", name, text: value, assigned: true }] };
  },
};
