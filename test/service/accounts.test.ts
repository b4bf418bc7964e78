import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { noLimits } from '../../src/domain/caller.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { engineOf, isPostgres } from '../support/test-engine.js'

const database = useDatabase()
const build = () => buildSubjects(database.storage)

describe('accounts', () => {
  test('an account is made once, with a Master Project and its default campaign', async () => {
    const { accounts, projects } = await build()
    expect(await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })).toBe(true)
    expect(await accounts.ensure({ id: 'acme', kind: 'real', name: 'Renamed' })).toBe(false)
    expect(await accounts.find('acme')).toMatchObject({ name: 'Acme', agentsMayRemove: false })
    expect(await projects.list('acme')).toMatchObject([
      {
        code: 'acme',
        status: 'active',
        campaigns: [{ name: 'Default Campaign', isDefault: true }],
      },
    ])
  })

  test.each(['', 'a b', '-a', 'ä', 'x'.repeat(41)])('the id %j is refused', async (id) => {
    const { accounts } = await build()
    await expect(accounts.ensure({ id, kind: 'real', name: 'x' })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field: 'accountId', value: id }],
    })
  })

  test.each(['', ' ', 'x'.repeat(201)])('the name %j is refused', async (name) => {
    const { accounts } = await build()
    await expect(accounts.ensure({ id: 'acme', kind: 'real', name })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field: 'name', value: name }],
    })
  })

  test('all accounts are listed, and an unknown one is not found', async () => {
    const { accounts } = await build()
    expect((await accounts.list()).map((account) => account.id)).toEqual([
      'main',
      'other',
      'sandbox',
    ])
    expect(await accounts.find('nobody')).toBeUndefined()
    expect(await accounts.agentsMayRemove('nobody')).toBe(false)
    expect(await accounts.set('nobody', { agentsMayRemove: true })).toBe(false)
  })

  test('the switch for agents is per account and survives a restart', async () => {
    const { accounts } = await build()
    expect(await accounts.set('main', { agentsMayRemove: true })).toBe(true)
    await database.reopen()
    const again = await build()
    expect(await again.accounts.agentsMayRemove('main')).toBe(true)
    expect(await again.accounts.agentsMayRemove('other')).toBe(false)
  })
})

describe('what an account may do', () => {
  const untouched = {
    agentsMayRemove: false,
    country: 'US',
    mayScan: true,
    scanCredits: 'unlimited',
    autoPrefix: false,
    numbersPerScrub: 10_000,
    aiKeepsVoiceWindows: false,
  }

  test('is this from the beginning', async () => {
    const { accounts } = await build()
    expect(await accounts.find('main')).toMatchObject(untouched)
  })

  test.each([
    { agentsMayRemove: true },
    { country: 'CA' },
    { mayScan: false },
    { scanCredits: 0 },
    { scanCredits: 250 },
    { autoPrefix: true },
    { country: 'CA', scanCredits: 5, autoPrefix: true },
  ] as const)('%j changes that, for that account, and outlasts a restart', async (changes) => {
    const { accounts } = await build()
    expect(await accounts.set('main', changes)).toBe(true)
    await database.reopen()
    const again = (await build()).accounts
    expect(await again.find('main')).toMatchObject({ ...untouched, ...changes })
    expect(await again.find('other')).toMatchObject(untouched)
  })

  test('can be taken back', async () => {
    const { accounts } = await build()
    const all = { agentsMayRemove: true, country: 'CA', mayScan: false, scanCredits: 1 } as const
    await accounts.set('main', { ...all, autoPrefix: true })
    await accounts.set('main', {
      agentsMayRemove: false,
      country: 'US',
      mayScan: true,
      scanCredits: 'unlimited',
      autoPrefix: false,
    })
    expect(await accounts.find('main')).toMatchObject(untouched)
  })

  test('nothing named changes nothing, and tells whether the account is there', async () => {
    const { accounts } = await build()
    expect([await accounts.set('main', {}), await accounts.set('nobody', {})]).toEqual([
      true,
      false,
    ])
    expect(await accounts.set('nobody', { country: 'CA' })).toBe(false)
    expect(await accounts.find('main')).toMatchObject(untouched)
  })

  test.each([-1, 1.5, Number.NaN, 1e12])('%d credits are refused', async (scanCredits) => {
    const { accounts } = await build()
    await expect(accounts.set('main', { scanCredits })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field: 'scanCredits', value: String(scanCredits) }],
    })
  })

  test.each([9_999, 100_001, 10_000.5, Number.NaN])(
    '%d numbers per scrub are refused',
    async (numbersPerScrub) => {
      const { accounts } = await build()
      await expect(accounts.set('main', { numbersPerScrub })).rejects.toMatchObject({
        kind: 'invalid-request',
        problems: [{ field: 'numbersPerScrub', value: String(numbersPerScrub) }],
      })
    },
  )
})

describe('what signs an account’s webhooks', () => {
  test('is made once, kept, and another for each account', async () => {
    const { accounts } = await build()
    const secret = await accounts.webhookSecret('main')
    expect(secret).toMatch(/^whsec_[\w-]{43}$/)
    expect(await accounts.webhookSecret('main')).toBe(secret)
    expect(await accounts.webhookSecret('other')).not.toBe(secret)
    await database.reopen()
    expect(await (await build()).accounts.webhookSecret('main')).toBe(secret)
  })

  test('is one for all who ask for it first at once, from two processes', async () => {
    const here = await build()
    const elsewhere = await openDatabase({
      ...engineOf(database.folder),
      dataDir: database.folder,
      lockWaitMs: 5_000,
      blockForLockMs: 0,
    })
    try {
      const there = await buildSubjects(elsewhere)
      const secrets = await Promise.all(
        [here, there, here, there].map(({ accounts }) => accounts.webhookSecret('main')),
      )
      expect(new Set(secrets).size).toBe(1)
    } finally {
      await elsewhere.close()
    }
  })

  test('is replaced when it is rotated, for that account alone', async () => {
    const { accounts } = await build()
    const [mine, theirs] = [
      await accounts.webhookSecret('main'),
      await accounts.webhookSecret('other'),
    ]
    const rotated = await accounts.rotateWebhookSecret('main')
    expect(rotated).toMatch(/^whsec_[\w-]{43}$/)
    expect(rotated).not.toBe(mine)
    expect(await accounts.webhookSecret('main')).toBe(rotated)
    expect(await accounts.webhookSecret('other')).toBe(theirs)
  })

  test('is not of an account that does not exist, and in no list of accounts', async () => {
    const { accounts } = await build()
    const refused = { kind: 'invalid-request', problems: [{ field: 'account', value: 'nobody' }] }
    await expect(accounts.webhookSecret('nobody')).rejects.toMatchObject(refused)
    await expect(accounts.rotateWebhookSecret('nobody')).rejects.toMatchObject(refused)
    const secret = await accounts.webhookSecret('main')
    expect(JSON.stringify([await accounts.find('main'), await accounts.list()])).not.toContain(
      secret,
    )
  })
})

describe('API keys', () => {
  test('a key is 44 URL-safe characters and names its holder', async () => {
    const { apiKeys } = await build()
    const { id, key } = await apiKeys.create({
      accountId: 'main',
      role: 'Supervisor',
      label: 'dialer',
    })
    expect(key).toMatch(/^[A-Za-z0-9_-]{44}$/)
    expect(await apiKeys.authenticate(key)).toEqual({
      accountId: 'main',
      role: 'Supervisor',
      keyId: id,
      limits: noLimits,
    })
  })

  test('a key seen within the second is recognised without a query', async () => {
    const { apiKeys, clock } = await build()
    const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    const asked = apiKeys.authenticate(key)
    expect(asked).toBeInstanceOf(Promise)
    await asked
    clock.advance(999)
    expect(apiKeys.authenticate(key)).toMatchObject({ keyId: id })
    clock.advance(1)
    const askedAgain = apiKeys.authenticate(key)
    expect(askedAgain).toBeInstanceOf(Promise)
    expect(await askedAgain).toMatchObject({ keyId: id })
  })

  // There is no file of PostgreSQL that a test could read.
  test.skipIf(isPostgres())(
    'nothing but the hash of a key reaches the files of SQLite',
    async () => {
      const { apiKeys } = await build()
      const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
      expect(key).not.toContain(id.replace('key-', ''))
      const hash = createHash('sha256').update(key).digest('hex')
      const rows = await database.db.selectFrom('api_keys').selectAll().execute()
      expect(rows.map((row) => row.key_hash)).toEqual([hash])
      const files = ['callgate.sqlite', 'callgate.sqlite-wal'].map((name) =>
        readFileSync(join(database.folder, name)).toString('latin1'),
      )
      expect(files.some((bytes) => bytes.includes(hash))).toBe(true)
      expect(files.some((bytes) => bytes.includes(key))).toBe(false)
    },
  )

  test('keys are listed per account or all, never with the key or its hash', async () => {
    const { apiKeys } = await build()
    const mine = await apiKeys.create({ accountId: 'main', role: 'Agent', label: 'mine' })
    const theirs = await apiKeys.create({ accountId: 'other', role: 'Agent', label: 'theirs' })
    await apiKeys.revoke(theirs.id)
    expect(await apiKeys.list('main')).toMatchObject([
      { id: mine.id, label: 'mine', revokedAt: undefined },
    ])
    const all = await apiKeys.list()
    expect(all.map((key) => [key.id, key.revokedAt !== undefined]).sort()).toEqual(
      [
        [mine.id, false],
        [theirs.id, true],
      ].sort(),
    )
    const text = JSON.stringify(all)
    expect(text).not.toContain(mine.key)
    expect(text).not.toContain(createHash('sha256').update(mine.key).digest('hex'))
  })

  // PostgreSQL waits for the lock itself.
  test.skipIf(isPostgres())('a change of a key waits for the lock of another process', async () => {
    const elsewhere = new Database(join(database.folder, 'callgate.sqlite'))
    let attempts = 0
    const storage: OpenDatabase = {
      ...database.storage,
      retryWhileLocked: (work) =>
        database.storage.retryWhileLocked(() => {
          attempts += 1
          // The first attempt meets the lock.
          if (attempts === 2 && elsewhere.inTransaction) elsewhere.exec('rollback')
          return work()
        }),
    }
    const { apiKeys } = await buildSubjects(storage)
    const { id } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    attempts = 0
    elsewhere.exec('begin immediate')
    const changed = await apiKeys.change(id, { callKinds: ['ai'], by: 'ann' })
    elsewhere.close()
    expect(attempts).toBe(2)
    expect(changed).toMatchObject({ version: 2, grant: { callKinds: ['ai'] } })
    expect(await apiKeys.listVersions(id)).toHaveLength(2)
  })

  test('a revocation in this process holds at once', async () => {
    const { apiKeys } = await build()
    const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    await apiKeys.authenticate(key)
    expect(await apiKeys.revoke(id)).toBe(true)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
    expect(await apiKeys.revoke(id)).toBe(false)
    expect(await apiKeys.revoke('key-unknown')).toBe(false)
  })

  test('a look-up that is under way while the key is revoked is not remembered', async () => {
    const { apiKeys } = await build()
    const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    const underWay = apiKeys.authenticate(key)
    await Promise.all([underWay, apiKeys.revoke(id)])
    expect(await apiKeys.authenticate(key)).toBeUndefined()
  })

  test('a revocation by another process holds within a second', async () => {
    const { apiKeys, clock } = await build()
    const elsewhere = await build()
    const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    await apiKeys.authenticate(key)
    await elsewhere.apiKeys.revoke(id)
    clock.advance(1000)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
  })

  test('a clock set back does not prolong what is remembered', async () => {
    const { apiKeys, clock } = await build()
    const elsewhere = await build()
    const { id, key } = await apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    await apiKeys.authenticate(key)
    await elsewhere.apiKeys.revoke(id)
    clock.advance(9_500)
    clock.advance(-9_000)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
  })

  test.each(['', 'short', 'A'.repeat(44), 'A'.repeat(45), 'A'.repeat(1_000_000)])(
    'what is no key of ours is nobody (%#)',
    async (key) => {
      const { apiKeys } = await build()
      expect(await apiKeys.authenticate(key)).toBeUndefined()
    },
  )

  test.each([
    [{ accountId: 'nobody', label: '' }, 'account'],
    [{ accountId: 'main', label: 'x'.repeat(101) }, 'label'],
  ])('a key for %j is refused', async (wanted, field) => {
    const { apiKeys } = await build()
    await expect(apiKeys.create({ ...wanted, role: 'Agent' })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field }],
    })
  })

  test('keys and revocations survive a restart', async () => {
    const first = await build()
    const kept = await first.apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    const gone = await first.apiKeys.create({ accountId: 'main', role: 'Agent', label: '' })
    await first.apiKeys.revoke(gone.id)
    await database.reopen()
    const { apiKeys } = await build()
    expect(await apiKeys.authenticate(kept.key)).toMatchObject({ keyId: kept.id })
    expect(await apiKeys.authenticate(gone.key)).toBeUndefined()
  })
})
