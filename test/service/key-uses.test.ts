/** When keys were last used: noted in memory, and stored by the minute for all servers. */

import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { AccessTokens } from '../../src/service/accounts/access-tokens.js'
import { ApiKeys } from '../../src/service/accounts/api-keys.js'
import { KeyUses, readKeyUses } from '../../src/service/keys/key-uses.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { type TestClock, testClock } from '../support/test-clock.js'

const database = useDatabase()
const noon = Date.parse('2026-11-23T17:00:00Z')
const minute = 60_000

let clock: TestClock
let uses: KeyUses
let keys: ApiKeys
let key: string
let id: string

beforeEach(async () => {
  clock = testClock('2026-11-23T17:00:00Z')
  await buildSubjects(database.storage, { clock })
  uses = new KeyUses(database.storage, clock)
  keys = new ApiKeys({
    ...{ db: database.db, reads: database.storage.reads, clock, timers: clock, uses },
    retryWhileLocked: database.storage.retryWhileLocked,
    author: database.storage.author,
    randomBytes,
  })
  const made = await keys.create({ accountId: 'main', role: 'Agent', label: 'dialer' })
  key = made.key
  id = made.id
})

const readUse = async (of = id) => (await readKeyUses(database.storage, 'main')).get(of)

async function use(): Promise<void> {
  expect(await keys.authenticate(key)).toMatchObject({ keyId: id })
}

describe('the last use of a key', () => {
  it('is not known before one is stored', async () => {
    expect(await readUse()).toBeUndefined()
    await uses.store()
    expect(await readUse()).toBeUndefined()
    await use()
    expect(await readUse()).toBeUndefined()
  })

  it('is stored to the minute, and follows', async () => {
    await use()
    clock.advance(59_000)
    await uses.store()
    expect(await readUse()).toBe(noon)
    clock.advance(minute)
    await uses.store()
    expect(await readUse()).toBe(noon)
    await use()
    await uses.store()
    expect(await readUse()).toBe(noon + minute)
  })

  it('is noted where the key is read, and not again while it is in memory', async () => {
    await use()
    await uses.store()
    clock.advance(500)
    expect(keys.authenticate(key)).toMatchObject({ keyId: id })
    await database.db.deleteFrom('key_uses').execute()
    await uses.store()
    expect(await readUse()).toBeUndefined()
    clock.advance(501)
    await use()
    await uses.store()
    expect(await readUse()).toBe(noon)
  })

  it('is also that of a token of it', async () => {
    const { storage } = database
    const tokens = new AccessTokens({
      ...{ storage, keys, clock, timers: clock, randomBytes, maxPerKey: 5, uses },
    })
    const asked = { grantType: 'client_credentials', clientId: 'main', clientSecret: key }
    const { token } = await tokens.issue(asked)
    await uses.store()
    clock.advance(minute)
    expect(await tokens.authenticate(token)).toMatchObject({ keyId: id })
    await uses.store()
    expect(await readUse()).toBe(noon + minute)
  })

  it('is not of a key that is refused', async () => {
    const expiresAt = noon + 500
    const expiring = await keys.create({
      ...{ accountId: 'main', role: 'Agent', label: 'expiring' },
      expiresAt,
    })
    clock.advance(1_000)
    expect(await keys.authenticate(expiring.key)).toBeUndefined()
    expect(await keys.authenticate('x'.repeat(44))).toBeUndefined()
    await keys.revoke(id)
    expect(await keys.authenticate(key)).toBeUndefined()
    await uses.store()
    expect((await readKeyUses(database.storage)).size).toBe(0)
  })

  it('is the latest that any server has stored, whatever their clocks', async () => {
    const ahead = new KeyUses(database.storage, testClock('2026-11-23T17:05:00Z'))
    for (const server of [uses, ahead, uses]) {
      server.note(id)
      await server.store()
    }
    expect(await readUse()).toBe(noon + 5 * minute)
  })

  it('of many keys is stored in parts, by two servers at once', async () => {
    const other = new KeyUses(database.storage, clock)
    for (let number = 0; number < 700; number += 1) {
      uses.note(`key-${number}`)
      other.note(`key-${699 - number}`)
    }
    await Promise.all([uses.store(), other.store()])
    expect(await database.db.selectFrom('key_uses').selectAll().execute()).toHaveLength(700)
  })

  it('is kept for the next time if it cannot be stored', async () => {
    let isBroken = true
    const broken = new KeyUses(
      {
        ...database.storage,
        retryWhileLocked: (work) => {
          if (isBroken) throw new Error('disk full')
          return database.storage.retryWhileLocked(work)
        },
      },
      clock,
    )
    broken.note(id)
    await expect(broken.store()).rejects.toThrow('disk full')
    isBroken = false
    await broken.store()
    expect(await readUse()).toBe(noon)
  })

  it('is not shown to another account', async () => {
    await use()
    await uses.store()
    expect((await readKeyUses(database.storage, 'sandbox')).size).toBe(0)
    expect((await readKeyUses(database.storage)).size).toBe(1)
  })
})
