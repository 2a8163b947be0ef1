/** Sends a request to the server, and reports all failures in one shape. */
import { type Problem, problem as problemSchema } from "./problem.ts";
import { ApiProblem } from "./problem-error.ts";

/** Throws the problem of a response that is not a success. */
export async function reach(ask: typeof fetch, url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await ask(url, init);
  } catch (error) {
    throw unreachable(error);
  }
  if (response.ok) return response;
  const said = await response.text().catch(() => "");
  throw new ApiProblem(readProblem(said) ?? unclear(response.status));
}

function readProblem(said: string): Problem | null {
  try {
    const read = problemSchema.safeParse(JSON.parse(said));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

export function unclear(status: number): Problem {
  return {
    type: "about:blank",
    title: `The server answered ${status}`,
    status,
    code: "SERVER_UNCLEAR",
    hint: "Check that MARKMILL_URL names a Markmill server.",
  };
}

export function unreachable(error: unknown): ApiProblem {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const said = cause instanceof Error && cause.message !== "" ? cause.message : "no answer";
  return new ApiProblem(
    {
      type: "about:blank",
      title: "The server does not answer",
      status: 0,
      code: "SERVER_UNREACHABLE",
      detail: `The server does not answer: ${said}`,
      hint: "Check that the server runs and that MARKMILL_URL is its address.",
    },
    { cause: error },
  );
}
