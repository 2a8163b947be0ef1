import { NotExpressible } from "../../not-expressible.ts";

export function noWords(what: string): NotExpressible {
  return new NotExpressible("CodeMentor", what);
}
