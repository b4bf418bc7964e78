/** When the copy of an edge counts as current. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
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
    projects: [],
    campaigns: [],
    project_hours: [],
    state_registrations: [],
    internal_dnc_lists: [],
    list_versions: [],
  },
}
const page: RecordPage = { accountId, rows: [], next: null }

it('is not current while records of any number are missing, although its account is new already', async () => {
  let next: Partial<ChangesCopy> = { isUnknown: true }
  let isHeld = false
  const held: ServerResponse[] = []
  const asked: string[] = []
  const center = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://center')
    asked.push(pathname)
    if (pathname === '/v1/edge/records' && isHeld) return void held.push(response)
    const changes = { ...noChange, ...next }
    next = { cursor: changes.cursor }
    const answers = { '/v1/edge/account': account, '/v1/edge/records': page } as const
    response.end(JSON.stringify(answers[pathname as keyof typeof answers] ?? changes))
  }).listen(0, '127.0.0.1')
  await once(center, 'listening')
  const { port } = center.address() as AddressInfo
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-edge-feed-'))
  const storage = await openDatabase({ dataDir, lockWaitMs: 100, blockForLockMs: 0 })
  await migrateSchema(storage)
  const centers = [`http://127.0.0.1:${port}`]
  const feed = new EdgeFeed({
    centers,
    loginId: 'key',
    storage,
    log: silentLogger,
    random: () => 0,
  })
  try {
    await feed.follow({ numbersChanged: () => undefined, everythingChanged: () => undefined })
    await until('it is current', () => Number.isFinite(feed.currentAt.monotonicMs))
    isHeld = true
    next = { cursor: '2-2', ofAccount: true, ofAllNumbers: true }
    await until('records are asked for', () => held.length > 0)
    expect(asked.lastIndexOf('/v1/edge/account')).toBeGreaterThan(asked.indexOf('/v1/edge/records'))
    expect(feed.currentAt.monotonicMs).toBe(Number.NEGATIVE_INFINITY)
    isHeld = false
    for (const response of held) response.end(JSON.stringify(page))
    await until('it is current again', () => Number.isFinite(feed.currentAt.monotonicMs))
  } finally {
    await feed.close()
    await storage.close()
    center.closeAllConnections()
    center.close()
    rmSync(dataDir, { recursive: true })
  }
})
