/**
 * Limits failed logins per account, whatever addresses they come from. The limit per address is the router's (register-routes.ts).
 *
 * L1  At most `failures` logins of one account may fail within a minute. Further ones are refused until the minute is over; a refused
 *     one does not prolong it.
 * L2  A login counts from its beginning, so that many at once are no way around L1. A login that succeeds is not counted.
 * L3  A network from which the account logged in before is not held up by what strangers do elsewhere. Logins with a key are not counted.
 * L4  An account that does not exist is counted in the same way: the answer does not tell which accounts there are.
 *
 * The counters are this process's own and are lost when it ends; with several processes, each counts for itself.
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
