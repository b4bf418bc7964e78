/** Which version of each number list is in force for all servers of a PostgreSQL database. */
import { sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import type { Db } from '../tables.js'

export interface PublishedList {
  readonly name: string
  /** The first 16 digits of `sha256`. */
  readonly version: string
  /** Checksum at the end of the file, in hex. */
  readonly sha256: string
  /** Length of the file. */
  readonly bytes: number
  readonly entries: number
  readonly asOf: Instant
  readonly publishedAt: Instant
  /** Host name. */
  readonly publishedBy: string
}

/** The version in force of each list that was published. */
export async function readListsInForce(db: Db): Promise<readonly PublishedList[]> {
  return await selectVersions(db).where('in_force', '=', 1).orderBy('name').execute()
}

/** Lists of which no version is in force, as an edge has them that its account needs and may not use. */
export async function readListsNowhereInForce(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('list_versions')
    .select('name')
    .groupBy('name')
    .having((row) => row.fn.max('in_force'), '=', 0)
    .execute()
  return rows.map(({ name }) => name)
}

/** Versions that will be in force soon: published later than those in force. */
export async function readStagedLists(db: Db): Promise<readonly PublishedList[]> {
  return await selectVersions(db)
    .where('in_force', '=', 0)
    .where((row) =>
      row.exists(
        row
          .selectFrom('list_versions as current')
          .select('current.name')
          .whereRef('current.name', '=', 'list_versions.name')
          .where('current.in_force', '=', 1)
          .whereRef('current.published_at', '<', 'list_versions.published_at'),
      ),
    )
    .execute()
}

/** The lists that have the content with this checksum, in force or not: lists of several accounts may have the same. */
export async function findListsWithContent(
  db: Db,
  sha256: string,
): Promise<readonly PublishedList[]> {
  return await selectVersions(db).where('sha256', '=', sha256).orderBy('name').execute()
}

function selectVersions(db: Db) {
  return db
    .selectFrom('list_versions')
    .select(['name', 'version', 'sha256', 'bytes', 'entries'])
    .select(['as_of as asOf', 'published_at as publishedAt', 'published_by as publishedBy'])
}

/** Lets servers fetch versions before they are in force. One that is in force stays so. */
export async function stageLists(db: Db, lists: readonly PublishedList[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    for (const list of lists) await insertVersion(transaction, list, 0)
  })
}

/** Puts versions in force, all of them by one commit, which announces them to all servers. */
export async function publishLists(db: Db, lists: readonly PublishedList[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    for (const list of lists) {
      await transaction
        .updateTable('list_versions')
        .set({ in_force: 0 })
        .where('name', '=', list.name)
        .execute()
      await insertVersion(transaction, list, 1)
    }
  })
}

async function insertVersion(db: Db, list: PublishedList, inForce: 0 | 1): Promise<void> {
  const { name, version, sha256, bytes, entries, asOf, publishedAt, publishedBy } = list
  const publication = { in_force: inForce, published_at: publishedAt, published_by: publishedBy }
  await db
    .insertInto('list_versions')
    .values({ name, version, sha256, bytes, entries, as_of: asOf, ...publication })
    .onConflict((conflict) =>
      conflict
        .columns(['name', 'version'])
        .doUpdateSet(publication)
        .where('list_versions.in_force', '<=', inForce),
    )
    .execute()
}

/**
 * Takes back what was announced of these lists, which is left by an import that was killed: a list has one import at a
 * time. Returns what was taken back.
 */
export async function withdrawStagedLists(
  db: Db,
  names: readonly string[],
): Promise<readonly PublishedList[]> {
  const staged = (await readStagedLists(db)).filter(({ name }) => names.includes(name))
  for (const list of staged) await forgetPublishedList(db, list)
  return staged
}

/** Versions of a list that are not in force, except the `keep` that were published last. */
export async function findRetiredLists(
  db: Db,
  name: string,
  keep: number,
): Promise<readonly PublishedList[]> {
  const rows = await selectVersions(db)
    .where('name', '=', name)
    .where('in_force', '=', 0)
    .orderBy('published_at', 'desc')
    .execute()
  return rows.slice(keep)
}

export async function forgetPublishedList(db: Db, { name, version }: PublishedList): Promise<void> {
  await db
    .deleteFrom('list_versions')
    .where('name', '=', name)
    .where('version', '=', version)
    .where('in_force', '=', 0)
    .execute()
}

/** First half of the keys of the locks below. */
const publicationLock = 5_550_120

/**
 * Runs `work` while no other host can publish these lists. The locks end with the connection of `work`, which it
 * must therefore publish by. Throws `not-available` while another host has one of them.
 */
export async function withPublicationLock<Result>(
  db: Db,
  names: readonly string[],
  work: (connection: Db) => Promise<Result>,
): Promise<Result> {
  return await db.connection().execute(async (connection) => {
    try {
      for (const name of [...names].sort()) await lock(connection, name)
      return await work(connection)
    } finally {
      await sql`select pg_advisory_unlock_all()`.execute(connection).catch(() => undefined)
    }
  })
}

async function lock(db: Db, name: string): Promise<void> {
  const { rows } = await sql<{ readonly isLocked: boolean }>`
    select pg_try_advisory_lock(${publicationLock}::int, hashtext(${name})) as "isLocked"`.execute(
    db,
  )
  if (rows[0]?.isLocked) return
  throw new AppError(
    'not-available',
    `another server is importing or rolling back the list '${name}'; nothing was changed; try again when it has ended`,
  )
}
