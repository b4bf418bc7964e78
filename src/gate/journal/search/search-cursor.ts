/** The cursor of a page: where it ends, and a hash of what was searched, so that it goes on with nothing else. */
import { createHash } from 'node:crypto'
import { invalidRequest } from '../../../errors.js'
import type { SearchRequest } from './decision-search.js'

type Search = Pick<SearchRequest, 'filter' | 'caller'>

const hashLength = 12

export function encodeCursor(next: string, search: Search): string {
  return Buffer.from(hashOf(search) + next).toString('base64url')
}

/** Returns where the page begins. Throws `invalid-request` for a cursor that is of no page, or of another search. */
export function decodeCursor(cursor: string, search: Search): string {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const [, hash, next] = /^([0-9a-f]{12})([!-}]{1,64})$/.exec(text) ?? []
  if (hash === undefined || next === undefined)
    throw refuse('must be the nextCursor of a page', cursor)
  if (hash === hashOf(search)) return next
  throw refuse('is of a search with other filters; leave it out to begin anew', cursor)
}

function refuse(rule: string, value: string) {
  return invalidRequest([{ field: 'cursor', value, rule }])
}

function hashOf({ filter, caller: { accountId } }: Search): string {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined)
  const text = JSON.stringify([accountId, entries.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest('hex').slice(0, hashLength)
}
