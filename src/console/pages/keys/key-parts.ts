/** What several pages say of a key. */
import { type KeyBody, listKeysEndpoint } from '../../../api/accounts/keys.js'
import { type Caller, type Right, rights } from '../../../domain/caller.js'
import { AppError } from '../../../errors.js'
import { kindNames, renderInstant } from '../../format.js'
import type { Html } from '../../html.js'
import type { PageRequest } from '../../pages.js'

export const rightNames: Readonly<Record<Right, string>> = {
  decide: 'decide: ask whether calls may be placed',
  'look-up': 'look-up: ask for facts about numbers',
  records: 'records: store opt-outs and relationships',
  consent: 'consent: store consents',
  manage: 'manage: projects and their hours, caller IDs, keys, approvals, audit; spend credits',
  edge: 'edge: copy the account to an edge',
  platform: 'platform: pass on events of voice platforms',
}

/** Who the endpoints let make, change and revoke keys, if the right is there. */
export const mayManage = ({ role, limits }: Caller): boolean =>
  role === 'Administrator' && limits.projects === 'any'

/** Who the endpoints let see and pause keys, ask for evidence and decide on changes, if the right is there. */
export const maySupervise = ({ role, limits }: Caller): boolean =>
  role !== 'Agent' && limits.projects === 'any'

/** Throws `not-found` if the account has none. */
export async function findKey({ api, caller }: PageRequest, id: string): Promise<KeyBody> {
  const { keys } = await api.call(caller, listKeysEndpoint, { query: { id, revoked: 'true' } })
  const [key] = keys
  if (!key) throw new AppError('not-found', `There is no key ${id}`)
  return key
}

export const nameKey = ({ id, label }: Pick<KeyBody, 'id' | 'label'>): string =>
  label === '' ? id : label

export const renderRights = (held: readonly Right[]): string =>
  held.length === rights.length ? 'all' : held.join(', ')

/** Those that there are; empty if nothing but its rights limits a key. */
export function listLimits(
  key: KeyBody,
): readonly (readonly [name: string, value: Html | string])[] {
  const { callerIds } = key
  const texts: readonly (readonly [string, Html | string | number | undefined])[] = [
    ['Projects', key.projects?.join(', ')],
    ['Kinds of calls', key.kinds?.map((kind) => kindNames[kind] ?? kind).join(', ')],
    ['Campaigns', key.campaigns?.join(', ')],
    ['Caller IDs', callerIds === 'valid' ? 'any valid number' : callerIds?.join(', ')],
    ['States and provinces', key.regions?.join(', ')],
    ['Calls in an hour', key.attemptsPerHour],
    ['Calls in 24 hours', key.attemptsPerDay],
    ['Calls to a number in 24 hours', key.attemptsPerNumberPerDay],
    ['Seconds between calls to a number', key.coolDownSeconds],
    ['Calls in progress', key.concurrent],
    ['Approval by a person', key.approval],
    ['Not before', key.notBefore && renderInstant(key.notBefore)],
    ['Expires', key.expires && renderInstant(key.expires)],
  ]
  return texts.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : value] as const],
  )
}
