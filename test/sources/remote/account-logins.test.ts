/** Accounts that use the login of account main by a right: what is cached for them, and what is asked. */
import { expect, it } from 'vitest'
import type { MaybePromise } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { CachedCompliance } from '../../../src/sources/cache/cached-compliance.js'
import {
  AccountCompliance,
  AccountLogins,
  LoginRights,
  RightfulCompliance,
  sayNoLogin,
} from '../../../src/sources/remote/account-logins.js'
import { fakeCompliance, noon } from '../../support/fake-compliance.js'
import { virtualTime } from '../../support/virtual-time.js'

const number = toPhoneNumber('2125550100')

function open(hasRight: (accountId: string) => MaybePromise<boolean>) {
  const main = Object.assign(fakeCompliance(), { close: async () => undefined })
  const rights = new LoginRights(hasRight)
  const path = 'source.provider'
  const logins = new AccountLogins({
    name: 'vendor',
    path,
    main,
    own: new Map(),
    hasRight: rights.hasRight,
  })
  const clock = { now: () => noon }
  const cache = new CachedCompliance(new AccountCompliance(logins), {
    settings: { maxEntries: 100, allowMs: 300_000, blockMs: 300_000, refreshAheadMs: 0 },
    staleForMs: { scrub: 1e9, 'internal-dnc': 1e9, litigator: 1e9, 'legal-time': 1e9 },
    staleAfterMs: 0,
    timers: virtualTime(),
    clock,
    observer: { countLookups: () => () => undefined, onAnswer: () => undefined },
  })
  const source = new RightfulCompliance({ cache, rights, clock })
  return { main, cache, source }
}

it.each(['at once', 'later'])(
  'what was warmed by a right is not used after its end (%s)',
  async (when) => {
    const allowed = new Set(['acme', 'acme2'])
    const { cache, source } = open((accountId) => {
      const has = allowed.has(accountId)
      return when === 'later' ? Promise.resolve(has) : has
    })
    const litigator = async (accountId: string) => await source.litigator({ accountId, number })
    for (const accountId of ['main', 'acme', 'acme2']) {
      expect(await cache.warmUp({ accountId, number }, 1_000)).toBe('answered')
    }
    expect(await litigator('acme')).toMatchObject({ ok: true })
    allowed.delete('acme')
    expect(await litigator('acme')).toMatchObject({ ok: false, reason: 'list-missing' })
    expect(await source.scrub({ accountId: 'acme', number })).toMatchObject({
      ok: true,
      value: { letter: 'B', allowed: { manual: false, autodialed: false, ai: false } },
    })
    // Those of the others stay.
    for (const accountId of ['main', 'acme2']) {
      expect(await cache.warmUp({ accountId, number }, 1_000)).toBe('fresh')
    }
  },
)

it('rights that cannot be read are a failure, not a permission', async () => {
  const { main, source } = open(() => Promise.reject(new Error('the database is away')))
  const question = { accountId: 'acme', number }
  const failure = { ok: false, reason: 'source-failed', source: 'vendor' }
  for (const answer of [
    await source.scrub(question),
    await source.internalDnc(question),
    await source.litigator(question),
    await source.legalTime(question),
  ]) {
    const says = [{ code: 'rights-unread', quote: expect.stringContaining('is away') }]
    expect(answer).toMatchObject({ ...failure, says })
  }
  expect(main.asked).toEqual([])
  expect(await source.litigator({ accountId: 'main', number })).toMatchObject({ ok: true })
})

it('a number that one of two providers may not be asked about is not covered, whatever the other says', async () => {
  const refused = {
    ok: false,
    reason: 'list-missing',
    says: [sayNoLogin({ name: 'b', path: 'source.fallback' }, 'acme')],
    source: 'b',
  } as const
  const allowing = await fakeCompliance().scrub({ accountId: 'acme', number })
  if (!allowing.ok) throw new Error('it is not answered')
  const clock = { now: () => noon }
  for (const answer of [refused, { ...allowing, otherAnswers: [refused] }]) {
    const cache = { ...fakeCompliance(), scrub: () => answer, accountChanged: () => undefined }
    const source = new RightfulCompliance({ cache, rights: new LoginRights(() => true), clock })
    expect(await source.scrub({ accountId: 'acme', number })).toMatchObject({
      ok: true,
      value: { letter: 'B', says: refused.says },
    })
  }
})
