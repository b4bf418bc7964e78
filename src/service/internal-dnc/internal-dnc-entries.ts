/** Entries of the internal lists: stored rows first, then the fixed facts of the sandbox. */
import type { PhoneNumber } from '../../domain/phone-number.js'
import { forEachInSlices } from '../../domain/slices.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import type { FactsOverlay } from '../facts-overlay.js'
import { type Owner, RowsByNumber } from '../sql/rows-by-number.js'
import { beforeAllWrites, entriesOf, type FixedEntry, type ListEntry } from './internal-dnc-rows.js'

export class ListEntries {
  readonly #db: Db
  readonly #overlay: FactsOverlay
  readonly #rows: RowsByNumber<ListEntry>

  constructor({ db, traits }: Pick<OpenDatabase, 'db' | 'traits'>, overlay: FactsOverlay) {
    this.#db = db
    this.#overlay = overlay
    this.#rows = new RowsByNumber(traits, (owner, numbers) => entriesOf(db, owner, numbers))
  }

  /** By number: entries that are or were on the list. */
  async read(
    owner: Owner,
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<string, ListEntry>> {
    const entries = new Map<string, ListEntry>()
    const rows = await this.#rows.read(this.#db, owner, numbers)
    await forEachInSlices(rows, (row) => entries.set(row.number, row))
    for (const { number, addedAt } of await this.fixedAmong(owner.accountId, numbers)) {
      if (entries.has(number)) continue
      entries.set(number, {
        ...{ number, added_at: addedAt, modified_at: addedAt, removed_at: null },
        ...{ opted_out_at: addedAt, stored_at: beforeAllWrites },
        ...{ opted_out_seq: beforeAllWrites, key_id: null },
      })
    }
    return entries
  }

  /** Which of the numbers fixed facts put on the list, whatever is stored. */
  async fixedAmong(
    accountId: string,
    numbers: readonly PhoneNumber[],
  ): Promise<readonly FixedEntry[]> {
    const fixed: FixedEntry[] = []
    await forEachInSlices(numbers, (number) => {
      const entry = this.#overlay.internalDncEntry(accountId, number)
      if (entry) fixed.push({ number, addedAt: entry.addedAt })
    })
    return fixed
  }

  /** The numbers that are on the list by fixed facts alone, with nothing stored of them. */
  async onlyFixed(
    db: Db,
    owner: Owner,
    numbers: readonly PhoneNumber[],
  ): Promise<readonly FixedEntry[]> {
    return await this.#withoutRow(db, owner, await this.fixedAmong(owner.accountId, numbers))
  }

  /** All entries of the list that exist by fixed facts alone. */
  async fixedWithoutRow(owner: Owner): Promise<readonly FixedEntry[]> {
    const { accountId } = owner
    const fixed = await this.fixedAmong(accountId, [...this.#overlay.internalDncNumbers(accountId)])
    return await this.#withoutRow(this.#db, owner, fixed)
  }

  async #withoutRow(
    db: Db,
    owner: Owner,
    fixed: readonly FixedEntry[],
  ): Promise<readonly FixedEntry[]> {
    if (fixed.length === 0) return fixed
    const numbers = fixed.map((entry) => entry.number)
    const rows = await this.#rows.read(db, owner, numbers)
    const stored = new Set(rows.map((row) => row.number))
    return fixed.filter((entry) => !stored.has(entry.number))
  }
}
