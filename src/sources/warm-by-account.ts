/** Hands each account's warming to the warmer of its kind, so that no kind takes another's room. */
import type { Warmer, Warming } from './warmer.js'

/** `choose` gives one of `warmers` for every account, and always the same one. */
export function warmByAccount(
  warmers: readonly Warmer[],
  choose: (accountId: string) => Warmer,
): Warming {
  return {
    start: (request) => choose(request.accountId).start(request),
    find: (accountId, id) => choose(accountId).find(accountId, id),
    stop: (accountId, id) => choose(accountId).stop(accountId, id),
    close() {
      for (const warmer of warmers) warmer.close()
    },
  }
}
