/** How many spam labels carriers took off an account's numbers (spec, "Flags-removed summary"). */
import type { Caller } from '../../domain/caller.js'
import type { Clock } from '../../domain/clock.js'
import { carriers, type LabelSource } from '../../domain/labels.js'
import type { OpenDatabase } from '../../storage/engine.js'
import { type Country, carriersOf } from './scores.js'

export interface FlagsRemovedOptions {
  readonly storage: Pick<OpenDatabase, 'db'>
  readonly clock: Clock
  readonly countryOf: (accountId: string) => Promise<Country>
}

export type Carrier = (typeof carriers)[number]

export interface FlagsRemovedSummary {
  /** 0 for a carrier that does not label the account's numbers. */
  readonly byCarrier: Readonly<Record<Carrier, number>>
  readonly total: number
}

const dayMs = 86_400_000

export class FlagsRemoved {
  readonly #options: FlagsRemovedOptions

  constructor(options: FlagsRemovedOptions) {
    this.#options = options
  }

  /** The days are times of 24 hours before now, the first instant included. */
  async summary(
    { accountId }: Caller,
    { days }: { readonly days: number },
  ): Promise<FlagsRemovedSummary> {
    const { storage, clock, countryOf } = this.#options
    const supported = carriersOf(await countryOf(accountId))
    const rows = await storage.db
      .selectFrom('flag_removals')
      .select('source')
      .select((row) => row.fn.countAll().as('count'))
      .where('account_id', '=', accountId)
      .where('removed_at', '>=', clock.now() - days * dayMs)
      .where('source', 'in', supported)
      .groupBy('source')
      .execute()
    const counts = new Map<LabelSource, number>(
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
