/** One line of 'markmill doctor'. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warn" | "fail";
  readonly message: string;
  readonly fix?: string;
}

const scarce = 1024 ** 3;
const tooLittle = 100 * 1024 ** 2;

/** Rates the free bytes on a disk. */
export function judgeRoom(free: number): Finding["state"] {
  return free < tooLittle ? "fail" : free < scarce ? "warn" : "ok";
}
