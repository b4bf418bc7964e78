/**
 * Copies opt-outs between internal do-not-call lists when a project starts or stops using the Master
 * Project's list, so that an opt-out applies whichever list is in use.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../../storage/tables.js'
import { greaterOf, laterOf } from './date-only-opt-out.js'

export interface OptOutCopy {
  readonly accountId: string
  /** Codes of the projects the lists belong to. */
  readonly from: string
  readonly to: string
  readonly at: Instant
  /** Only numbers whose holders opted out of every project. */
  readonly only?: 'of-everything'
}

/**
 * Adds every number on the source list to the target list. An existing target entry keeps its dates
 * and takes the later opt-out; a removed one is put on the list again. Opt-outs keep their change
 * sequence number, so they end the same records under either list. Removed entries are therefore
 * copied too, still removed, except in the sandbox, where a removed row would hide a fixed entry.
 */
export async function copyOptOuts(transaction: Db, carry: OptOutCopy): Promise<void> {
  const { accountId, from, to, at, only } = carry
  if (from === to) return
  const kept = sql`internal_dnc.opted_out_at`
  const later = laterOf(sql`excluded.opted_out_at`, kept)
  const isCopied = only
    ? sql`number in (select number from opt_out_statements
        where account_id = ${accountId} and scope = 'everything')`
    : sql`true`
  const { numAffectedRows: changed = 0n } = await sql`
    insert into internal_dnc
      (account_id, list, number, added_at, modified_at, removed_at,
       opted_out_at, stored_at, opted_out_seq, opted_out_by_date, key_id)
    select account_id, ${to}, number, added_at, ${at}, removed_at,
      opted_out_at, stored_at, opted_out_seq, opted_out_by_date, key_id
    from internal_dnc
    where account_id = ${accountId} and list = ${from} and ${isCopied}
      and (removed_at is null
        or account_id in (select id from accounts where kind = 'real'))
    on conflict (account_id, list, number) do update set
      added_at = ${whenRelisted(sql`excluded.added_at`, sql`internal_dnc.added_at`)},
      modified_at = ${whenRelisted(sql`excluded.modified_at`, sql`internal_dnc.modified_at`)},
      removed_at = ${whenRelisted(sql`null`, sql`internal_dnc.removed_at`)},
      opted_out_at = ${later},
      stored_at = ${greaterOf(sql`excluded.stored_at`, sql`internal_dnc.stored_at`)},
      opted_out_seq = ${greaterOf(sql`excluded.opted_out_seq`, sql`internal_dnc.opted_out_seq`)},
      opted_out_by_date = case when ${later} = ${kept}
        then internal_dnc.opted_out_by_date else excluded.opted_out_by_date end,
      key_id = case when excluded.opted_out_seq > internal_dnc.opted_out_seq
        then excluded.key_id else internal_dnc.key_id end
    where (internal_dnc.removed_at is not null and excluded.removed_at is null)
      or ${later} > ${kept}
      or excluded.opted_out_seq > internal_dnc.opted_out_seq
  `.execute(transaction)
  if (changed > 0n) await touchTargetList(transaction, carry)
}

/** SQL that selects `then` if a removed target entry is put on the list again, else `otherwise`. */
function whenRelisted(then: RawBuilder<unknown>, otherwise: RawBuilder<unknown>) {
  const isBack = sql`internal_dnc.removed_at is not null and excluded.removed_at is null`
  return sql`case when ${isBack} then ${then} else ${otherwise} end`
}

async function touchTargetList(transaction: Db, { accountId, to, at }: OptOutCopy): Promise<void> {
  await transaction
    .insertInto('internal_dnc_lists')
    .values({ account_id: accountId, list: to, modified_at: at })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'list']).doUpdateSet({ modified_at: at }),
    )
    .execute()
}
