/** When the copy of an edge counts as current. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AccountCopy, ChangesCopy, RecordPage } from '../../src/api/edges.js'
import { EdgeFeed } from '../../src/edge/edge-feed.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { until } from '../e2e/asterisk/lab/until.js'

const accountId = 'main'
const noChange: ChangesCopy = {
  accountId,
  schema: 1,
  cursor: '1-1',
  isUnknown: false,
  hasMore: false,
  ofAccount: false,
  ofAllNumbers: false,
  numbers: [],
  rows: { internal_dnc: [], ebr_records: [] },
  knownAfterMs: 0,
}
const account: AccountCopy = {
  accountId,
  tables: {
    accounts: [{ id: accountId, kind: 'real', name: 'Main', agents_may_remove: 0, created_at: 0 }],
    api_keys: [],
    pauses: [],
    caller_ids: [],
    abandonment_counts: [],
    projects: [],
    campaigns: [],
    project_hours: [],
    state_registrations: [],
    internal_dnc_lists: [],
    list_rights: [],
    list_versions: [],
  },
  seq: 0,
}
const page: RecordPage = { accountId, rows: [], next: null }

interface Lab {
  readonly feed: EdgeFeed
  /** Of the requests so far. */
  readonly asked: readonly string[]
  /** To be answered later. */
  readonly held: readonly ServerResponse[]
  /** Instead of the answers that say that nothing has changed. */
  /** The center knows the key alone from now on. */
  acceptOnly(key: string): void
  /** Has the key of the edge. */
  readonly keyFile: string
  readonly storage: OpenDatabase
  answerWith(next: (path: string) => object | 'hold' | undefined): void
}

/** An edge and what its center answers, which is at first that everything must be copied. */
async function withEdge(test: (lab: Lab) => Promise<void>): Promise<void> {
  let cursor = noChange.cursor
  let answer: (path: string) => object | 'hold' | undefined = () => undefined
  let isKnown = false
  let accepted = 'key'
  const held: ServerResponse[] = []
  const asked: string[] = []
  const center = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://center')
    asked.push(pathname)
    if (request.headers.loginid !== accepted) {
      response.writeHead(401).end()
      return
    }
    const given = answer(pathname)
    if (given === 'hold') {
      held.push(response)
      return
    }
    const changes = { ...noChange, cursor, isUnknown: !isKnown }
    const answers = { '/v1/edge/account': account, '/v1/edge/records': page } as const
    const reply = { ...(answers[pathname as keyof typeof answers] ?? changes), ...given }
    if ('cursor' in reply) {
      isKnown = true
      cursor = String(reply.cursor)
    }
    response.end(JSON.stringify(reply))
  }).listen(0, '127.0.0.1')
  await once(center, 'listening')
  const { port } = center.address() as AddressInfo
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-edge-feed-'))
  const storage = await openDatabase({ dataDir, lockWaitMs: 100, blockForLockMs: 0 })
  await migrateSchema(storage)
  const keyFile = join(dataDir, 'key')
  writeFileSync(keyFile, 'key\n')
  const centers = [`http://127.0.0.1:${port}`]
  const feed = new EdgeFeed({
    centers,
    loginId: 'key',
    loginIdFile: keyFile,
    storage,
    log: silentLogger,
    random: () => 0,
  })
  const answerWith = (next: typeof answer) => {
    answer = next
  }
  try {
    const ignore = () => undefined
    await feed.follow({ numbersChanged: ignore, everythingChanged: ignore }, ignore)
    await until('it is current', () => isCurrent(feed))
    const acceptOnly = (key: string) => {
      accepted = key
    }
    await test({ feed, asked, held, answerWith, acceptOnly, keyFile, storage })
  } finally {
    await feed.close()
    await storage.close()
    center.closeAllConnections()
    center.close()
    rmSync(dataDir, { recursive: true })
  }
}

const isCurrent = ({ currentAt }: EdgeFeed) => Number.isFinite(currentAt.monotonicMs)

/** Gives the answer once, and then says that nothing has changed. */
function giveOnce(changes: Partial<ChangesCopy>) {
  let isGiven = false
  return (path: string) => {
    if (path !== '/v1/edge/changes' || isGiven) return undefined
    isGiven = true
    return changes
  }
}

it('is not current while records of any number are missing, although its account is new already', () =>
  withEdge(async ({ feed, asked, held, answerWith }) => {
    const changes = giveOnce({ cursor: '2-2', ofAccount: true, ofAllNumbers: true })
    answerWith((path) => (path === '/v1/edge/records' ? 'hold' : changes(path)))
    await until('records are asked for', () => held.length > 0)
    expect(asked.lastIndexOf('/v1/edge/account')).toBeGreaterThan(asked.indexOf('/v1/edge/records'))
    expect(isCurrent(feed)).toBe(false)
    answerWith(() => undefined)
    for (const response of held) response.end(JSON.stringify(page))
    await until('it is current again', () => isCurrent(feed))
  }))

it('is as current as before while the numbers of a change come in several answers', () =>
  withEdge(async ({ feed, asked, answerWith }) => {
    let sent = 0
    let askedBefore = 0
    answerWith((path) => {
      if (path !== '/v1/edge/changes') return undefined
      if (sent === 0) askedBefore = asked.length
      sent += 1
      return { cursor: `2-2-${sent}`, hasMore: true, numbers: ['2125550100'] }
    })
    await until('the first part has come', () => sent > 1)
    const before = feed.currentAt
    await until('others have come', () => sent > 10)
    expect(feed.currentAt).toEqual(before)
    expect(asked.slice(askedBefore)).not.toContain('/v1/edge/account')
    answerWith(giveOnce({ cursor: '2-2', numbers: ['2125550100'] }))
    await until('it is current', () => feed.currentAt.now > before.now)
  }))

it('is not current while its account may be newer than its records', () =>
  withEdge(async ({ feed, asked, answerWith }) => {
    const changes = giveOnce({ cursor: '2-2', ofAccount: true })
    answerWith((path) => (path === '/v1/edge/account' ? { seq: 3 } : changes(path)))
    const before = asked.length
    const countAccounts = () =>
      asked.slice(before).filter((path) => path === '/v1/edge/account').length
    await until('the account has been asked for again', () => countAccounts() > 2)
    expect(isCurrent(feed)).toBe(false)
    answerWith(giveOnce({ cursor: '3-3', numbers: ['2125550100'] }))
    await until('it is current', () => isCurrent(feed))
  }))

it('uses the new key of its file when the old one is revoked, and says why if there is none', () =>
  withEdge(async ({ feed, acceptOnly, keyFile }) => {
    writeFileSync(keyFile, 'second\n')
    acceptOnly('second')
    const { now } = feed.currentAt
    await until('it goes on', () => feed.currentAt.now > now)
    expect(feed.problem).toBeUndefined()
    acceptOnly('third')
    await until('it says why', () => feed.problem?.includes('status 401') === true)
    writeFileSync(keyFile, 'third\n# of the edge in Denver\n')
    await until('it goes on', () => feed.problem === undefined)
  }))

it('passes no opt-outs on with the key of another account', () =>
  withEdge(async ({ feed, asked, answerWith, storage }) => {
    answerWith(() => ({ accountId: 'other' }))
    await until(
      'it says why',
      () => feed.problem?.includes("the key is of account 'other'") === true,
    )
    const optOut = { account_id: accountId, list: 'main', number: '2125550100', added_at: 1 }
    await storage.db
      .insertInto('edge_opt_outs')
      .values({ ...optOut, project: 'main' })
      .execute()
    const countQuestions = () => asked.filter((path) => path === '/v1/edge/changes').length
    const before = countQuestions()
    await until('it has asked again', () => countQuestions() > before + 3)
    expect(asked.filter((path) => !path.startsWith('/v1/edge/'))).toEqual([])
    answerWith(() => undefined)
    await until('the opt-out is passed on', () => asked.some((path) => /dnc/i.test(path)))
  }))
