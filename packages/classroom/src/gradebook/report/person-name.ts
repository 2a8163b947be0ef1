/**
 * Returns the reviewer's name for a student. The record may contain a login or the name of a key. A name that stands for a machine, a key
 * or an administrator's account is no person: null.
 */
export function personName(by: string): string | null {
  const name = by.trim();
  const role =
    /^(?:root|cli|admin|administrator|api|server|system|somebody|local|localhost|markmill|owner|key|token|default|service|bot|ci|runner|node|user|ubuntu|debian|docker|nobody|test)$/i;
  const id = /^(?:key|token|mm|api|cli)[-_:]|^[0-9a-f]{8}-[0-9a-f-]{27}$|^[0-9a-f]{16,}$|^\d+$/i;
  return name === "" || role.test(name) || id.test(name) ? null : name;
}
