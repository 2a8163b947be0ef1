/** A program holds something the CodeMentor dialect has no words for; it came from another dialect. */
export class NotExpressible extends Error {
  constructor(what: string) {
    super(`The CodeMentor dialect has no words for ${what}.`);
    this.name = "NotExpressible";
  }
}
