/** Drops observations and removals that are older than anything is computed from. */
import type { Instant } from '../../domain/clock.js'
import type { OpenDatabase } from '../../storage/engine.js'

const dayMs = 86_400_000
/** The longest look-back of the flags-removed summary (spec, "Limits"). */
const summaryDays = 90
/** Rows of one statement, so that none holds up the database for long. */
const mostRows = 1000

/** Gives whether all are gone; if not, there is more to do. */
export async function dropOldLooks(
  { db, patiently }: Pick<OpenDatabase, 'db' | 'patiently'>,
  { now, keepDays }: { readonly now: Instant; readonly keepDays: number },
): Promise<boolean> {
  const looks = await patiently(() =>
    db
      .deleteFrom('label_observations')
      .where('id', 'in', (row) =>
        row
          .selectFrom('label_observations')
          .select('id')
          .where('last_at', '<', now - keepDays * dayMs)
          .limit(mostRows),
      )
      .executeTakeFirst(),
  )
  const removals = await patiently(() =>
    db
      .deleteFrom('flag_removals')
      .where('id', 'in', (row) =>
        row
          .selectFrom('flag_removals')
          .select('id')
          .where('removed_at', '<', now - Math.max(keepDays, summaryDays) * dayMs)
          .limit(mostRows),
      )
      .executeTakeFirst(),
  )
  return looks.numDeletedRows < mostRows && removals.numDeletedRows < mostRows
}
