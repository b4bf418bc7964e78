/** The check of reassigned numbers only reports, for the accounts that there are: their calls were allowed without it. */
import type { Kysely } from 'kysely'
import { putInShadow } from './0020-frequency-expand.js'

export async function up(db: Kysely<unknown>): Promise<void> {
  await putInShadow(db, 'reassigned')
}
