/** The system could not open or use a connection: no right to a socket, no descriptor left, a firewall. Node says which call failed. */
export function isSystemError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isSystemError);
  return error instanceof Error && "syscall" in error;
}
