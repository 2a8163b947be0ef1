/** Thrown if a dialect cannot express a part of a program. Such a program comes from another dialect, or was changed during its run. */
export class NotExpressible extends Error {
  constructor(dialect: string, what: string) {
    super(`The ${dialect} dialect has no words for ${what}.`);
    this.name = "NotExpressible";
  }
}
