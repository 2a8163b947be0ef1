/** Who is measured. */
export interface SystemEntry {
  readonly label: string;
  readonly file: string;
  readonly queue: "redis" | "postgres";
  /** Needs the packages of tests/bench/package.json. */
  readonly peer: boolean;
}

export const systems = {
  markmill: { label: "markmill, Redis queue", file: "markmill/producer.ts", queue: "redis", peer: false },
  "markmill-postgres": {
    label: "markmill, Postgres queue",
    file: "markmill/producer.ts",
    queue: "postgres",
    peer: false,
  },
  bullmq: { label: "bare BullMQ chain (not durable)", file: "peers/bullmq-chain.ts", queue: "redis", peer: true },
  dbos: { label: "DBOS", file: "peers/dbos.ts", queue: "postgres", peer: true },
  langgraph: { label: "LangGraph, durability sync", file: "peers/langgraph.ts", queue: "postgres", peer: true },
} as const satisfies Record<string, SystemEntry>;

export type SystemName = keyof typeof systems;

export const systemNames = Object.keys(systems) as SystemName[];
