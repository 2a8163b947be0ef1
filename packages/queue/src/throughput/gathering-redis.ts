/**
 * A connection that sends what one turn of the event loop has to say in one write. The jobs of a group commit end together, and a write to
 * a socket each was a sixth of a worker's time in its profile (and Redis reads and answers them together too).
 */
import { Redis } from "ioredis";

export class GatheringRedis extends Redis {
  #corked = false;

  override sendCommand(...args: Parameters<Redis["sendCommand"]>): ReturnType<Redis["sendCommand"]> {
    const socket = this.stream;
    if (!this.#corked && socket !== undefined && socket !== null) {
      this.#corked = true;
      socket.cork();
      // After all promises that are settled by now have been followed up.
      process.nextTick(() => {
        this.#corked = false;
        socket.uncork();
      });
    }
    return super.sendCommand(...args);
  }
}
