import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serverAuthor } from '../../src/domain/caller.js'
import type { CallKind, CallLimits, TokenGrant } from '../../src/domain/mandate.js'
import { AppError } from '../../src/errors.js'
import { AccessTokens, deleteExpiredTokens } from '../../src/service/accounts/access-tokens.js'
import { ApiKeys, createAuthenticator } from '../../src/service/accounts/api-keys.js'
import { openDatabase } from '../../src/storage/engine.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'
import { isPostgres } from '../support/test-engine.js'

const database = useDatabase()
const hour = 3_600_000

/** As one process has them; several may be built over one database. */
async function build(clock = testClock(), maxPerKey = 100) {
  const { apiKeys, changeHead } = await buildSubjects(database.storage, { clock })
  await changeHead.refresh()
  const { storage } = database
  const expiryClock = changeHead.createExpiryClock(clock)
  const shared = { clock: expiryClock, timers: clock, randomBytes, maxPerKey }
  const tokens = new AccessTokens({ storage, keys: apiKeys, ...shared })
  const newKey = (accountId = 'main') =>
    apiKeys.create({ accountId, role: 'Supervisor', label: '' })
  const grant = (clientSecret: string, clientId = 'main') =>
    tokens.issue({ grantType: 'client_credentials', clientId, clientSecret })
  return { clock, shared, apiKeys, changeHead, tokens, newKey, grant }
}

const rows = () => database.db.selectFrom('access_tokens').selectAll().execute()

describe('a token', () => {
  test('is worth what its key is worth', async () => {
    const { apiKeys, tokens, newKey, grant } = await build()
    const { key } = await newKey()
    const { token, expiresInSeconds } = await grant(key)
    expect(token).toMatch(/^cgt_[\w-]{44}$/)
    expect(expiresInSeconds).toBe(3600)
    expect(await tokens.authenticate(token)).toEqual(await apiKeys.authenticate(key))
  })

  test('is another each time, and all of them hold', async () => {
    const { tokens, newKey, grant } = await build()
    const { id, key } = await newKey()
    const made = await Promise.all([grant(key), grant(key), grant(key)])
    expect(new Set(made.map(({ token }) => token)).size).toBe(3)
    for (const { token } of made) {
      expect(await tokens.authenticate(token)).toMatchObject({ keyId: id })
    }
  })

  test('holds for 3600 seconds and not a moment longer, also when it is remembered', async () => {
    const { clock, tokens, newKey, grant } = await build()
    const { id, key } = await newKey()
    const { token } = await grant(key)
    clock.advance(hour - 500)
    expect(await tokens.authenticate(token)).toMatchObject({ keyId: id })
    clock.advance(499)
    expect(tokens.authenticate(token)).toMatchObject({ keyId: id })
    clock.advance(1)
    expect(tokens.authenticate(token)).toBeUndefined()
    clock.advance(1000)
    expect(await tokens.authenticate(token)).toBeUndefined()
  })

  test('that has expired stays so when the clock is set back, shown again or not', async () => {
    const { clock, tokens, newKey, grant } = await build()
    const { key } = await newKey()
    const [shown, unshown] = [await grant(key), await grant(key)]
    clock.advance(hour)
    expect(await tokens.authenticate(shown.token)).toBeUndefined()
    clock.set('2026-11-20T12:30:00Z')
    expect(await tokens.authenticate(shown.token)).toBeUndefined()
    expect(await tokens.authenticate(unshown.token)).toBeUndefined()
    await database.reopen()
    const { tokens: again } = await build(clock)
    expect(await again.authenticate(shown.token)).toBeUndefined()
  })

  test('that expired before the newest stored record stays so after a restart', async () => {
    const { clock, newKey, grant } = await build()
    const { token } = await grant((await newKey()).key)
    clock.advance(hour)
    const { internalDnc } = await buildSubjects(database.storage, { clock })
    const numbers = ['2125550100']
    await internalDnc.add(caller(), { numbers, ignoreInvalid: false })
    clock.set('2026-11-20T12:30:00Z')
    await database.reopen()
    expect(await (await build(clock)).tokens.authenticate(token)).toBeUndefined()
  })

  test('and a key are judged by the right clock again once an operator has accepted it', async () => {
    const { clock, apiKeys, changeHead, tokens, grant } = await build()
    const { key } = await apiKeys.create({
      accountId: 'main',
      role: 'Supervisor',
      label: '',
      expiresAt: clock.now() + 24 * hour,
    })
    clock.advance(1000 * hour)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
    clock.set('2026-11-20T12:00:00Z')
    expect(await apiKeys.authenticate(key)).toBeUndefined()
    await changeHead.acceptClock(serverAuthor)
    await changeHead.refresh()
    expect(await apiKeys.authenticate(key)).toBeDefined()
    const { token } = await grant(key)
    expect(await tokens.authenticate(token)).toBeDefined()
    expect(await (await build(clock)).tokens.authenticate(token)).toBeDefined()
  })

  test('and a key that have expired stay so when the clock is set back', async () => {
    const { clock, apiKeys, tokens, grant } = await build()
    const { key } = await apiKeys.create({
      accountId: 'main',
      role: 'Supervisor',
      label: '',
      expiresAt: clock.now() + hour / 2,
    })
    const { token } = await grant(key)
    clock.advance(hour / 2 - 1)
    expect(await apiKeys.authenticate(key)).toBeDefined()
    clock.advance(1)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
    clock.set('2026-11-20T12:00:00Z')
    clock.advance(2000)
    expect(await apiKeys.authenticate(key)).toBeUndefined()
    expect(await tokens.authenticate(token)).toBeUndefined()
  })

  test('had by a clock that ran ahead holds no longer than others', async () => {
    const { clock, newKey, grant } = await build()
    clock.advance(1000 * hour)
    const { token } = await grant((await newKey()).key)
    clock.set('2026-11-20T12:00:00Z')
    expect(await (await build(clock)).tokens.authenticate(token)).toBeUndefined()
  })

  test('had by a clock that ran ahead does not take the place of one that holds', async () => {
    const clock = testClock()
    const ahead = await build(clock, 2)
    const { key } = await ahead.newKey()
    clock.advance(1000 * hour)
    await ahead.grant(key)
    await ahead.grant(key)
    clock.set('2026-11-20T12:00:00Z')
    const { tokens, grant } = await build(clock, 2)
    const held = [await grant(key), await grant(key)]
    for (const { token } of held) expect(await tokens.authenticate(token)).toBeDefined()
  })

  test('that has expired before it was ever shown is nobody’s', async () => {
    const { clock, tokens, newKey, grant } = await build()
    const { token } = await grant((await newKey()).key)
    clock.advance(hour)
    expect(await tokens.authenticate(token)).toBeUndefined()
  })

  test('seen within the second is recognised without a query', async () => {
    const { clock, tokens, newKey, grant } = await build()
    const { token } = await grant((await newKey()).key)
    const asked = tokens.authenticate(token)
    expect(asked).toBeInstanceOf(Promise)
    const holder = await asked
    clock.advance(999)
    expect(tokens.authenticate(token)).toBe(holder)
    clock.advance(1)
    const askedAgain = tokens.authenticate(token)
    expect(askedAgain).toBeInstanceOf(Promise)
    await askedAgain
  })

  test('is known to every process at once, and after a restart', async () => {
    const here = await build()
    const { id, key } = await here.newKey()
    const { token } = await here.grant(key)
    const elsewhere = await build(here.clock)
    expect(await elsewhere.tokens.authenticate(token)).toMatchObject({ keyId: id })
    await database.reopen()
    const again = await build(here.clock)
    expect(await again.tokens.authenticate(token)).toMatchObject({ keyId: id })
    here.clock.advance(hour)
    expect(await (await build(here.clock)).tokens.authenticate(token)).toBeUndefined()
  })

  test('dies with its key: within a second where it is remembered, at once elsewhere', async () => {
    const { clock, apiKeys, tokens, newKey, grant } = await build()
    const { id, key } = await newKey()
    const kept = await newKey()
    const [{ token }, other] = [await grant(key), await grant(kept.key)]
    await tokens.authenticate(token)
    await apiKeys.revoke(id)
    expect(await (await build(clock)).tokens.authenticate(token)).toBeUndefined()
    clock.advance(1000)
    expect(await tokens.authenticate(token)).toBeUndefined()
    expect(await tokens.authenticate(other.token)).toMatchObject({ keyId: kept.id })
  })

  test('had with a key that another process has just revoked is worthless', async () => {
    const { clock, apiKeys, tokens, newKey, grant } = await build()
    const { id, key } = await newKey()
    await apiKeys.authenticate(key)
    await (await build(clock)).apiKeys.revoke(id)
    const { token } = await grant(key)
    expect(await tokens.authenticate(token)).toBeUndefined()
  })

  test('ends when its key has had as many since as it may have; other keys keep theirs', async () => {
    const { clock, tokens, newKey, grant } = await build(testClock(), 3)
    const [first, second] = [await newKey(), await newKey()]
    const other = await grant(second.key)
    const made: string[] = []
    for (let count = 0; count < 8; count += 1) {
      made.push((await grant(first.key)).token)
      expect(await tokens.authenticate(made.at(-1) ?? '')).toMatchObject({ keyId: first.id })
      clock.advance(2_000)
    }
    const held = await Promise.all(made.map((token) => tokens.authenticate(token)))
    expect(held.map((one) => one !== undefined)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].map((at) => at >= 5),
    )
    expect(await tokens.authenticate(other.token)).toMatchObject({ keyId: second.id })
    expect(await rows()).toHaveLength(4)
  })

  test('asked for many times at once leaves as many as a key may have', async () => {
    const { tokens, newKey, grant } = await build(testClock(), 5)
    const { id, key } = await newKey()
    await Promise.all(Array.from({ length: 40 }, () => grant(key)))
    expect(await rows()).toHaveLength(5)
    expect(await tokens.authenticate((await grant(key)).token)).toMatchObject({ keyId: id })
  })

  // There is no file of PostgreSQL that a test could read.
  test.skipIf(isPostgres())('reaches the files of SQLite as its hash alone', async () => {
    const { newKey, grant } = await build()
    const { token } = await grant((await newKey()).key)
    const hash = createHash('sha256').update(token).digest('hex')
    expect((await rows()).map((row) => row.token_hash)).toEqual([hash])
    const files = ['callgate.sqlite', 'callgate.sqlite-wal'].map((name) =>
      readFileSync(join(database.folder, name)).toString('latin1'),
    )
    expect(files.some((bytes) => bytes.includes(hash))).toBe(true)
    expect(files.some((bytes) => bytes.includes(token.slice(4)))).toBe(false)
  })
})

describe('no token is issued', () => {
  test.each<[string, object]>([
    ['for another grant', { grantType: 'password' }],
    ['for a grant in other letters', { grantType: 'Client_Credentials' }],
    ['to another account', { clientId: 'other' }],
    ['to an account that does not exist', { clientId: 'nobody' }],
    ['to an account in other letters', { clientId: 'MAIN' }],
    ['for no key', { clientSecret: 'x' }],
    ['for a key that is not known', { clientSecret: 'x'.repeat(44) }],
  ])('%s', async (_case, change) => {
    const { tokens, newKey } = await build()
    const { key } = await newKey()
    const right = { grantType: 'client_credentials', clientId: 'main', clientSecret: key }
    const refused = await tokens.issue({ ...right, ...change }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(AppError)
    const { kind, message } = refused as AppError
    expect(kind).toBe('grantType' in change ? 'unsupported-grant' : 'unauthenticated')
    for (const sent of Object.values({ ...right, ...change }).filter((text) => text !== 'x')) {
      if (sent !== 'client_credentials') expect(message).not.toContain(sent)
    }
    expect(await rows()).toEqual([])
  })

  test('for a revoked key, or for another token', async () => {
    const { apiKeys, newKey, grant } = await build()
    const { id, key } = await newKey()
    const { token } = await grant(key)
    await expect(grant(token)).rejects.toMatchObject({ kind: 'unauthenticated' })
    await apiKeys.revoke(id)
    await expect(grant(key)).rejects.toMatchObject({ kind: 'unauthenticated' })
  })

  // PostgreSQL locks rows, not the database.
  test.skipIf(isPostgres())(
    'while another process holds the database of SQLite, and then it is',
    async () => {
      const { shared, apiKeys, newKey } = await build()
      const { id, key } = await newKey()
      const storage = await openDatabase({
        dataDir: database.folder,
        lockWaitMs: 20_000,
        blockForLockMs: 0,
      })
      try {
        const tokens = new AccessTokens({ storage, keys: apiKeys, ...shared })
        await apiKeys.authenticate(key)
        const held = await database.db.startTransaction().execute()
        await held.updateTable('accounts').set({ name: 'held' }).execute()
        const form = { grantType: 'client_credentials', clientId: 'main', clientSecret: key }
        const waiting = tokens.issue(form)
        // Queries take turns with the attempts to write.
        for (let turn = 0; turn < 5; turn += 1) {
          expect(await Promise.race([waiting, tokens.authenticate('none')])).toBeUndefined()
        }
        await held.commit().execute()
        expect(await tokens.authenticate((await waiting).token)).toMatchObject({ keyId: id })
      } finally {
        await storage.close()
      }
    },
  )
})

describe('rows of expired tokens', () => {
  test('stay when a token is made, and go when the time to keep them is over', async () => {
    const { clock, tokens, newKey, grant } = await build()
    const { key } = await newKey()
    await grant(key)
    const expired = clock.now() + hour
    clock.advance(1)
    const { token } = await grant(key)
    clock.advance(hour - 1)
    await grant(key)
    expect(await rows()).toHaveLength(3)
    expect(await deleteExpiredTokens(database.db, expired)).toBe(false)
    expect(await rows()).toHaveLength(2)
    expect(await tokens.authenticate(token)).toBeDefined()
  })

  test('that a clock issued which was ahead go when a token is made', async () => {
    const { clock, newKey, grant } = await build()
    const { id, key } = await newKey()
    const ahead = { token_hash: 'ahead', key_id: id, expires_at: clock.now() + 10 * hour }
    await database.db.insertInto('access_tokens').values(ahead).execute()
    await grant(key)
    expect((await rows()).filter((row) => row.expires_at === ahead.expires_at)).toEqual([])
  })
})

describe('who shows a credential', () => {
  /** Notes which of the two is asked. */
  const asked: string[] = []
  const note = (what: string) => ({
    authenticate: () => {
      asked.push(what)
      return undefined
    },
  })
  const authenticate = createAuthenticator(note('key'), note('token'))
  const token = `cgt_${'t'.repeat(44)}`

  test.each([
    ['a token as a bearer', token, 'bearer', 'token'],
    ['a token under loginId', token, 'login-id', 'key'],
    ['a key under loginId', 'k'.repeat(44), 'login-id', 'key'],
    ['a key as a bearer', 'k'.repeat(44), 'bearer', 'key'],
    ['a key that begins as tokens do', `cgt_${'k'.repeat(40)}`, 'bearer', 'key'],
    ['what is too long for a token', `${token}t`, 'bearer', 'key'],
    ['a huge text', 'cgt_'.repeat(100_000), 'bearer', 'key'],
  ] as const)('%s is looked for in one place', (_case, credential, place, where) => {
    asked.length = 0
    void authenticate(credential, place)
    expect(asked).toEqual([where])
  })

  test('a token under loginId is nobody; a key is somebody in both places', async () => {
    const { apiKeys, tokens, newKey, grant } = await build()
    const { id, key } = await newKey()
    const made = await grant(key)
    const known = createAuthenticator(apiKeys, tokens)
    expect(await known(made.token, 'bearer')).toMatchObject({ keyId: id })
    expect(await known(made.token, 'login-id')).toBeUndefined()
    expect(await known(key, 'bearer')).toMatchObject({ keyId: id })
    expect(await known(key, 'login-id')).toMatchObject({ keyId: id })
  })

  test('a key that begins as tokens do is a key', async () => {
    const { clock, tokens } = await build()
    const beginning = Buffer.from(`cgt_${'k'.repeat(40)}`, 'base64url')
    const keys = new ApiKeys({
      db: database.db,
      reads: database.storage.reads,
      retryWhileLocked: database.storage.retryWhileLocked,
      author: database.storage.author,
      clock,
      timers: clock,
      randomBytes: () => beginning,
    })
    const { key } = await keys.create({ accountId: 'main', role: 'Agent', label: '' })
    expect(key).toMatch(/^cgt_/)
    expect(await createAuthenticator(keys, tokens)(key, 'bearer')).toMatchObject({ role: 'Agent' })
  })
})

describe('a token that is to permit less than its key', () => {
  async function limited() {
    const parts = await build()
    const { apiKeys, tokens } = parts
    const create = (calls?: CallLimits, kinds?: readonly CallKind[]) =>
      apiKeys.create({ accountId: 'main', role: 'Agent', label: '', calls, callKinds: kinds })
    const ask = (clientSecret: string, grant: TokenGrant) =>
      tokens.issue({ grantType: 'client_credentials', clientId: 'main', clientSecret, grant })
    const mandateOf = async (token: string) => (await tokens.authenticate(token))?.limits.mandate
    return { ...parts, create, ask, mandateOf }
  }

  test('permits what both permit', async () => {
    const { create, ask, mandateOf } = await limited()
    const { key } = await create({ regions: ['NY', 'NJ'], attemptsPerHour: 5 }, ['ai', 'manual'])
    const grant: TokenGrant = { kinds: ['ai'], regions: ['NY'], callerIds: 'valid', attempts: 2 }
    const { token, grant: granted } = await ask(key, grant)
    expect(granted).toEqual(grant)
    expect(await mandateOf(token)).toMatchObject({
      version: 1,
      callKinds: ['ai'],
      regions: ['NY'],
      callerIds: 'valid',
      attempts: { attemptsPerHour: 5, inAll: { limit: 2 } },
    })
  })

  test('is limited although its key is not', async () => {
    const { create, ask, mandateOf } = await limited()
    const { key } = await create()
    const { token } = await ask(key, { kinds: ['ai'] })
    expect(await mandateOf(token)).toMatchObject({ callKinds: ['ai'], projects: 'any' })
  })

  test('is refused what the key may not ask for', async () => {
    const { create, ask } = await limited()
    const { key } = await create({ regions: ['NY'], callerIds: ['2125550199'] }, ['ai'])
    for (const grant of [
      { kinds: ['manual'] },
      { regions: ['NY', 'CT'] },
      { callerIds: ['2125550198'] },
    ] as const) {
      await expect(ask(key, grant)).rejects.toMatchObject({ kind: 'invalid-grant-details' })
    }
  })

  test('loses what its key loses later', async () => {
    const { clock, apiKeys, create, ask, mandateOf } = await limited()
    const { id, key } = await create({ regions: ['NY', 'NJ'] })
    const { token } = await ask(key, { regions: ['NY'] })
    await apiKeys.change(id, { calls: { regions: ['NJ'] }, by: 'tester' })
    clock.advance(1_000)
    expect(await mandateOf(token)).toMatchObject({ version: 2, regions: [] })
  })

  test('is refused when this version cannot read what limits it', async () => {
    const { create, ask, mandateOf } = await limited()
    const { key } = await create()
    const { token } = await ask(key, { kinds: ['ai'] })
    await database.db.updateTable('access_tokens').set({ call_limits: '{"later":1}' }).execute()
    await expect(mandateOf(token)).rejects.toThrow('later')
  })
})
