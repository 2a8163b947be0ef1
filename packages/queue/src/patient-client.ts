/**
 * A pg client that sends one query after the other. BullMQ names its listening connection and begins to listen on it without a wait in
 * between, and again after the connection broke. pg queues such queries with a warning, and its next major version will refuse them.
 */
import { Client } from "pg";

type Asked = (...args: readonly unknown[]) => unknown;

export class PatientClient extends Client {
  #last: Promise<unknown> = Promise.resolve();
  #asked = 0;

  /** Queries with a callback, and cursors, come from pools, whose clients have one user at a time. */
  override query: Client["query"] = ((...args: readonly unknown[]) => {
    const ask = (): unknown => (super.query as Asked)(...args);
    const [first] = args;
    const submits = typeof first === "object" && first !== null && "submit" in first;
    if (submits || args.some((arg) => typeof arg === "function")) return ask();
    const mine = this.#asked === 0 ? Promise.resolve(ask()) : this.#last.then(ask, ask);
    this.#asked += 1;
    const done = () => {
      this.#asked -= 1;
    };
    this.#last = mine.then(done, done);
    return mine;
  }) as Client["query"];
}
