/**
 * Limits failed logins per account, from all addresses together. The limit per address is the router's (register-routes.ts).
 *
 * L1  At most `failures` logins of one account may fail within a minute. Further ones are refused until the minute is over. A refused login
 *     does not prolong it.
 * L2  A login counts from its start, so that parallel logins cannot bypass L1. A successful login is not counted.
 * L3  Failures of strangers do not block a network from which the account logged in before. Logins with a key are not counted.
 * L4  An account that does not exist is counted in the same way, so that the answer does not reveal which accounts exist.
 *
 * The counters belong to this process and are lost when it ends. With several processes, each counts separately.
 */
const windowMs = 60_000;
const mostAccounts = 20_000;
const mostNetworks = 20;

interface Account {
  since: number;
  count: number;
  /** Networks that logged in, the latest last. */
  readonly known: Set<string>;
}

export type LoginTry =
  | { readonly kind: "refused"; readonly waitMs: number }
  | { readonly kind: "begun"; readonly succeeded: () => void };

/** `network`: null if no network is trusted. */
export type LoginLimit = (account: string, network: string | null) => LoginTry;

export function createLoginLimit(failures: number, now: () => number = () => performance.now()): LoginLimit {
  const accounts = new Map<string, Account>();

  function find(name: string): Account {
    const found = accounts.get(name) ?? { since: now(), count: 0, known: new Set<string>() };
    accounts.delete(name);
    accounts.set(name, found);
    for (const oldest of accounts.keys()) {
      if (accounts.size <= mostAccounts) break;
      accounts.delete(oldest);
    }
    return found;
  }

  return (name, network) => {
    const account = find(name);
    if (now() - account.since >= windowMs) {
      account.since = now();
      account.count = 0;
    }
    const trusted = network !== null && account.known.has(network);
    if (!trusted && account.count >= failures) return { kind: "refused", waitMs: account.since + windowMs - now() };
    const { since } = account;
    if (!trusted) account.count += 1;
    return {
      kind: "begun",
      succeeded() {
        if (!trusted && account.since === since) account.count -= 1;
        if (network === null) return;
        account.known.delete(network);
        account.known.add(network);
        for (const oldest of account.known) {
          if (account.known.size <= mostNetworks) break;
          account.known.delete(oldest);
        }
      },
    };
  };
}
