/** One line of 'markmill doctor'. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warn" | "fail";
  readonly message: string;
  readonly fix?: string;
}
