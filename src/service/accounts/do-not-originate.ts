/** Numbers that nobody may show, as their holders only take calls: lists of numbers and prefixes, for all accounts. */
import { mainAccountId } from '../../domain/caller.js'
import type { BarredBy } from '../../domain/mandate.js'
import type { Clock } from '../../domain/time/clock.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { runTransaction } from '../sql/account-transaction.js'
import { splitIntoChunks } from '../sql/chunks.js'

const [minDigits, maxDigits] = [3, 10]

export interface DoNotOriginateOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Pick<Clock, 'now'>
}

interface DoNotOriginateList {
  readonly source: string
  readonly entries: number
  readonly importedAt: number
}

/** Whether any list is imported. */
export async function hasDoNotOriginate(db: Db): Promise<boolean> {
  const first = await db.selectFrom('do_not_originate').select('prefix').limit(1).executeTakeFirst()
  return first !== undefined
}

/** The longest prefix by which a number may not be shown, with its list; `undefined` if there is none. */
export async function findDoNotOriginate(db: Db, number: string): Promise<BarredBy | undefined> {
  const prefixes = Array.from({ length: maxDigits - minDigits + 1 }, (_, index) =>
    number.slice(0, minDigits + index),
  )
  const found = await db
    .selectFrom('do_not_originate')
    .select(['prefix', 'source'])
    .where('prefix', 'in', prefixes)
    .execute()
  const [longest] = found.toSorted((a, b) => b.prefix.length - a.prefix.length)
  return longest && { prefix: longest.prefix, list: longest.source }
}

export class DoNotOriginate {
  readonly #options: DoNotOriginateOptions

  constructor(options: DoNotOriginateOptions) {
    this.#options = options
  }

  /**
   * Replaces what the list had, all or nothing; without prefixes, the list is removed. Returns how many there are. Throws
   * `invalid-request` naming `prefixes[<place>]`.
   */
  async replace(source: string, texts: readonly string[], by: string): Promise<number> {
    const prefixes = new Set(readPrefixes(texts))
    const { storage, clock } = this.#options
    const imported = { source, imported_at: clock.now(), imported_by: by }
    await runTransaction(storage, async (db) => {
      const { numDeletedRows } = await db
        .deleteFrom('do_not_originate')
        .where('source', '=', source)
        .executeTakeFirstOrThrow()
      for (const chunk of splitIntoChunks([...prefixes], storage.traits, 4)) {
        const rows = chunk.map((prefix) => ({ prefix, ...imported }))
        await db.insertInto('do_not_originate').values(rows).execute()
      }
      await recordAudit(db, {
        by: storage.author,
        accountId: mainAccountId,
        action: 'do-not-originate.replaced',
        subject: { kind: 'do-not-originate', id: source },
        before: { prefixes: Number(numDeletedRows) },
        after: { prefixes: prefixes.size },
        at: imported.imported_at,
      })
    })
    return prefixes.size
  }

  async list(): Promise<readonly DoNotOriginateList[]> {
    const rows = await this.#options.storage.db
      .selectFrom('do_not_originate')
      .select(({ fn }) => [
        'source',
        fn.countAll().as('entries'),
        fn.max('imported_at').as('importedAt'),
      ])
      .groupBy('source')
      .orderBy('source')
      .execute()
    return rows.map(({ source, entries, importedAt }) => {
      return { source, entries: Number(entries), importedAt: Number(importedAt) }
    })
  }
}

function readPrefixes(texts: readonly string[]): readonly string[] {
  const problems: FieldProblem[] = []
  const prefixes = texts.map((text, index) => {
    const digits = text.replace(/[\s().+-]/g, '').replace(/^1(?=\d)/, '')
    if (/^[2-9]\d{2,9}$/.test(digits)) return digits
    const rule = `must be ${minDigits} to ${maxDigits} digits that begin a number, such as 900 or 2125550199`
    problems.push({ field: `prefixes[${index}]`, value: text, rule })
    return ''
  })
  if (problems.length > 0) throw invalidRequest(problems)
  return prefixes
}
