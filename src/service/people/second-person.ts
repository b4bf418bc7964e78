/**
 * Whether somebody is a second person, for everything that one person asks for and another one must approve. People are told apart by who
 * is behind their credential, never by a name: a person by issuer and subject, a key by its root, which is stored when it is made, and
 * whoever runs a command by the user of the system and the name given with `--person`. It protects against a mistake, a stolen key and a
 * stolen session, not against somebody who administers the machine, the database or the identity provider.
 */
import type { Caller } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import { findAuthor } from '../../storage/audit/audit-log.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'

/** So long before a request is made, its approver must have been able to approve. */
const ableBeforeMs = msPerDay

export interface AskedFor {
  /** See {@link identifyActor}. */
  readonly by: string
  readonly at: Instant
}

interface Actor {
  /** For people. */
  readonly name: string
  /** Who is behind it: `person:<issuer> <subject>`, `user:<user of the system>/<name>` or `system`. */
  readonly root: string
  /** Verified by the issuer. */
  readonly email: string | undefined
  /** False for the key of a program. */
  readonly isPerson: boolean
  readonly ableSince: Instant
}

/** How whoever acts is stored: the id of a key, `person:<issuer> <subject>`, or who runs the command. */
export function identifyActor(
  { author }: Pick<ThreadDatabase, 'author'>,
  { keyId }: Pick<Caller, 'keyId'>,
): string {
  return keyId === '' ? author.who : keyId
}

/** What is stored as the root of a key that the caller makes; whoever runs the program if there is none. */
export async function findRoot(
  db: Db,
  storage: Pick<ThreadDatabase, 'author'>,
  caller: Pick<Caller, 'keyId'> | undefined,
): Promise<string> {
  const { root } = await findActor(db, identifyActor(storage, caller ?? { keyId: '' }))
  return root
}

/** Why the caller may not decide about what was asked for; `undefined` if they may. */
export async function findWhyNotSecond(
  storage: Pick<ThreadDatabase, 'db' | 'author'>,
  caller: Caller,
  asked: AskedFor,
): Promise<string | undefined> {
  const { db } = storage
  const { who } = findAuthor(storage, caller)
  const second = { ...(await findActor(db, identifyActor(storage, caller))), name: who }
  const first = await findActor(db, asked.by)
  if (identifyActor(storage, caller) === asked.by) {
    return `${who} asked for this, so somebody else must decide`
  }
  if (isSamePerson(first, second)) {
    const whose = first.root === '' ? 'unknown' : (first.email ?? first.root)
    const names = second.root.startsWith('user:')
      ? '; people who share a user of the operating system must give their names: callgate --person <name> ...'
      : ''
    return `${first.name} asked for this, and the person behind it, ${whose}, is behind ${who} too, so somebody else must decide${names}`
  }
  if (!second.isPerson) {
    return (
      `${who} is the key of a program, which approves nothing; a person decides, signed in at the identity provider, or with a key ` +
      'made by callgate --person <name> keys create'
    )
  }
  if (second.ableSince <= asked.at - ableBeforeMs) return undefined
  return (
    `${who} could approve only since ${formatInstant(second.ableSince)}, which is not a day before this was asked for at ` +
    `${formatInstant(asked.at)}, so somebody else must decide`
  )
}

async function findActor(db: Db, id: string): Promise<Actor> {
  if (/^(?:user:|system$)/.test(id)) {
    const isPerson = id !== 'system'
    return { name: id, root: id, email: undefined, isPerson, ableSince: Number.NEGATIVE_INFINITY }
  }
  if (id.startsWith('person:')) {
    const row = await findPerson(db, id)
    const ableSince = row?.able_since ?? Number.POSITIVE_INFINITY
    return { name: id, root: id, email: row?.email ?? undefined, isPerson: true, ableSince }
  }
  const key = await db
    .selectFrom('api_keys')
    .select(['root', 'is_personal', 'created_at', 'not_before'])
    .where('id', '=', id)
    .executeTakeFirst()
  const changed = await db
    .selectFrom('key_versions')
    .select(({ fn }) => fn.max('changed_at').as('at'))
    .where('key_id', '=', id)
    .executeTakeFirst()
  const root = key?.root ?? ''
  const dates = [key?.created_at, key?.not_before, changed?.at].map((at) => Number(at ?? 0))
  return {
    ...{ name: `key:${id}`, root, isPerson: key?.is_personal === 1 },
    email: (await findPerson(db, root))?.email ?? undefined,
    ableSince: Math.max(...dates),
  }
}

function findPerson(db: Db, id: string) {
  return db
    .selectFrom('people')
    .select(['email', 'able_since'])
    .where('id', '=', id)
    .executeTakeFirst()
}

/** What is not known is not somebody else. */
function isSamePerson(one: Actor, other: Actor): boolean {
  if (one.root === '' || other.root === '' || one.root === other.root) return true
  // A user of the system who gives no name could be any of those who do.
  if (one.root.startsWith(`${other.root}/`) || other.root.startsWith(`${one.root}/`)) return true
  return (
    one.email !== undefined &&
    one.email === other.email &&
    issuerOf(one.root) === issuerOf(other.root)
  )
}

function issuerOf(root: string): string {
  return root.slice(0, root.indexOf(' '))
}
