/** Counts the spam labels that carriers removed from an account's numbers (spec, "Flags-removed summary"). */

import type { Caller } from '../../domain/caller.js'
import type { Country } from '../../domain/place.js'
import type { FlagsRemovedSummary } from '../../domain/reputation.js'
import { carriers, type LabelIssuer } from '../../domain/spam-labels.js'
import type { Clock } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { listCarriers } from './scores.js'

export interface FlagsRemovedOptions {
  readonly storage: Pick<OpenDatabase, 'db'>
  readonly clock: Clock
  readonly countryOf: (accountId: string) => Promise<Country>
}

export class RemovedFlagsReport {
  readonly #options: FlagsRemovedOptions

  constructor(options: FlagsRemovedOptions) {
    this.#options = options
  }

  /** Days are periods of 24 hours before now; the first instant is included. */
  async summary(
    { accountId }: Caller,
    { days }: { readonly days: number },
  ): Promise<FlagsRemovedSummary> {
    const { storage, clock, countryOf } = this.#options
    const supported = listCarriers(await countryOf(accountId))
    const rows = await storage.db
      .selectFrom('flag_removals')
      .select('source')
      .select((row) => row.fn.countAll().as('count'))
      .where('account_id', '=', accountId)
      .where('removed_at', '>=', clock.now() - days * msPerDay)
      .where('source', 'in', supported)
      .groupBy('source')
      .execute()
    const counts = new Map<LabelIssuer, number>(
      rows.map(({ source, count }) => [source, Number(count)]),
    )
    const byCarrier = {
      CarrierA: counts.get('CarrierA') ?? 0,
      CarrierB: counts.get('CarrierB') ?? 0,
      CarrierC: counts.get('CarrierC') ?? 0,
      CarrierD: counts.get('CarrierD') ?? 0,
    }
    const total = carriers.reduce((sum, carrier) => sum + byCarrier[carrier], 0)
    return { byCarrier, total }
  }
}
