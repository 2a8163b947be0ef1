/** A program holds something that a dialect has no words for; it came from another one, or was changed while it ran. */
export class NotExpressible extends Error {
  constructor(dialect: string, what: string) {
    super(`The ${dialect} dialect has no words for ${what}.`);
    this.name = "NotExpressible";
  }
}
