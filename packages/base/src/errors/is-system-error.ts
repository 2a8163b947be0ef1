/**
 * The system could not open or use a connection: no right to a socket, no file descriptor left, a firewall. Node names the call that
 * failed.
 */
export function isSystemError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isSystemError);
  return error instanceof Error && "syscall" in error;
}
