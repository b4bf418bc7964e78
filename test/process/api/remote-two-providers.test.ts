/** The whole program over two providers: who is asked, whose word counts, and what is shown of it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { type FakeVendor, openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import type { Fault } from '../../../src/fake-vendor/fault.js'
import {
  type Environment,
  findingOf,
  ofEachQuestion,
  providerVariables,
  type RemoteCallgate,
  sourcesOf,
  vendorList,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const deadlines = ofEachQuestion('DEADLINE_MS', '600')
const impatient = { ...deadlines, RETRIES: '0', CIRCUIT_FAILURES: '2', CIRCUIT_OPEN_MS: '100' }

interface Two {
  readonly remote: RemoteCallgate
  readonly first: FakeVendor
  readonly second: FakeVendor
}

interface Setup {
  readonly combine: 'fallback' | 'any-no-blocks'
  readonly environment?: Environment
}

async function withTwo({ combine, environment }: Setup, work: (two: Two) => Promise<void>) {
  const second = await openFakeVendor({ at: mondayNoon })
  const settings = { NAME: 'other', BASE_URL: second.url, LOGIN_ID: second.loginId, ...impatient }
  const options = {
    provider: impatient,
    environment: {
      ...providerVariables('SECOND_PROVIDER', settings),
      CALLGATE_SOURCE_COMBINE: combine,
      // So long that no test machine is too slow for the first.
      CALLGATE_SOURCE_FALLBACK_AFTER_MS: '1400',
      ...environment,
    },
  }
  try {
    await withRemoteCallgate(options, (remote) => work({ remote, first: remote.vendor, second }))
  } finally {
    await second.close()
  }
}

let nextLine = 0
const freshNumber = () => String(2_127_360_000 + nextLine++)

/** What is this callgate's own is left out. */
const providersOf = (sources: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(sources).map(([check, text]) => [check, text.replace(/, embedded$/, '')]),
  )
const allBy = (source: string) => ({
  litigator: source,
  'internal-dnc': source,
  permission: source,
  'calling-hours': source,
})

describe('fallback', () => {
  it('asks the first alone while it answers', async () => {
    await withTwo({ combine: 'fallback' }, async ({ remote, second }) => {
      const decision = await remote.decide(freshNumber())
      expect(decision.reason).toBe('permitted')
      expect(providersOf(sourcesOf(decision))).toEqual(allBy('acme'))
      expect(second.requests()).toEqual([])
    })
  })

  const faults: readonly (readonly [string, Fault])[] = [
    ['silent', { kind: 'silent' }],
    ['dead', { kind: 'reset' }],
    ['wrong', { kind: 'wrong-letter' }],
    ['shut to the key', { kind: 'unauthorized' }],
    ['too slow', { kind: 'slow', ms: 400 }],
  ]
  it.each(faults)(
    'asks the second when the first is %s, and the first again later',
    async (_name, fault) => {
      const environment = { CALLGATE_SOURCE_FALLBACK_AFTER_MS: '50' }
      await withTwo({ combine: 'fallback', environment }, async ({ remote, first }) => {
        first.setFault('all', fault)
        const decision = await remote.decide(freshNumber())
        expect(decision.reason).toBe('permitted')
        expect(decision.degraded).toEqual([])
        expect(providersOf(sourcesOf(decision))).toEqual(allBy('other'))
        await remote.decide(freshNumber())
        first.setFault('all', undefined)
        const sources = async () => providersOf(sourcesOf(await remote.decide(freshNumber())))
        await expect.poll(sources).toEqual(allBy('acme'))
      })
    },
  )

  it('takes the second’s word for one question alone', async () => {
    await withTwo({ combine: 'fallback' }, async ({ remote, first }) => {
      first.setFault('litigator', { kind: 'server-error' })
      const decision = await remote.decide('2125550105')
      expect(decision.reason).toBe('litigator')
      expect(providersOf(sourcesOf(decision))).toEqual({ ...allBy('acme'), litigator: 'other' })
    })
  })

  it('is unknown when neither answers, and names both', async () => {
    await withTwo({ combine: 'fallback' }, async ({ remote, first, second }) => {
      first.setFault('all', { kind: 'server-error' })
      second.setFault('all', { kind: 'login-page' })
      const decision = await remote.decide(freshNumber())
      expect(decision.reason).toBe('check-unanswered')
      expect(findingOf(decision, 'permission')).toMatchObject({
        verdict: 'unknown',
        source: 'acme+other',
        says: [
          { code: 'source-failed', source: 'acme', quote: 'answered 503' },
          {
            code: 'refused',
            source: 'other',
            quote: expect.stringMatching(/^answered with a web page/),
          },
        ],
      })
      await remote.decide(freshNumber())
      expect(await remote.sourceReady()).toMatch(
        /^acme is not asked for scrub \(answered 503\).*; other is not asked for scrub/,
      )
    })
  })

  it('counts the requests of each by its name', async () => {
    await withTwo({ combine: 'fallback' }, async ({ remote, first }) => {
      first.setFault('all', { kind: 'server-error' })
      await remote.decide(freshNumber())
      const metrics = await remote.metrics()
      for (const [source, outcome] of [
        ['acme', 'source-failed'],
        ['other', 'answered'],
      ]) {
        const labels = `source="${source}",question="scrub",outcome="${outcome}"`
        expect(metrics).toContain(`callgate_source_requests_total{${labels}} 1`)
      }
    })
  })
})

describe('any-no-blocks', () => {
  it('asks both every time, and both are named', async () => {
    await withTwo({ combine: 'any-no-blocks' }, async ({ remote, second }) => {
      const decision = await remote.decide('2125550106', { callKind: 'ai' })
      expect(decision.reason).toBe('permitted')
      expect(providersOf(sourcesOf(decision))).toEqual({
        ...allBy('acme, other'),
        reassigned: 'reassigned',
      })
      expect(second.requests().length).toBe(4)
      expect((await remote.decide('2125550105')).reason).toBe('litigator')
    })
  })

  it.each(['acme', 'other'])('an opt-out that only %s knows blocks', async (source) => {
    await withTwo({ combine: 'any-no-blocks' }, async ({ remote, first, second }) => {
      const number = freshNumber()
      await vendorList(source === 'acme' ? first : second, 'add', number)
      const decision = await remote.decide(number)
      expect(decision.reason).toBe('internal-dnc')
      expect(findingOf(decision, 'internal-dnc')).toMatchObject({ verdict: 'deny', source })
      expect(findingOf(decision, 'permission')).toMatchObject({ verdict: 'deny', source })
    })
  })

  it.each([
    ['acme', 'silent'],
    ['other', 'silent'],
    ['acme', 'unauthorized'],
    ['other', 'unauthorized'],
  ] as const)('%s %s: a yes of the other is unknown', async (source, kind) => {
    await withTwo({ combine: 'any-no-blocks' }, async ({ remote, first, second }) => {
      const failing = source === 'acme' ? first : second
      failing.setFault('all', { kind })
      const decision = await remote.decide(freshNumber())
      expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      for (const finding of decision.findings) {
        expect(finding).toMatchObject({ verdict: 'unknown', source })
      }
    })
  })

  it.each([
    ['2125550103', 'national-dnc'],
    ['2125550104', 'internal-dnc'],
    ['2125550105', 'litigator'],
  ])(
    'a no of one blocks by its reason though the other is silent: %s %s',
    async (number, reason) => {
      await withTwo({ combine: 'any-no-blocks' }, async ({ remote, first }) => {
        first.setFault('all', { kind: 'silent' })
        const decision = await remote.decide(number)
        expect(decision.reason).toBe(reason)
      })
    },
  )

  it('an unknown beside a yes is let pass by policy alone', async () => {
    const environment = {
      CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
      CALLGATE_POLICY_LITIGATOR_REASON: 'second vendor is new',
      CALLGATE_POLICY_LITIGATOR_UNTIL: '2026-12-01T00:00:00Z',
    }
    await withTwo({ combine: 'any-no-blocks', environment }, async ({ remote, second }) => {
      second.setFault('litigator', { kind: 'silent' })
      expect(await remote.decide(freshNumber())).toMatchObject({
        decision: 'allow',
        degraded: ['litigator'],
      })
      expect((await remote.decide('2125550105')).reason).toBe('litigator')
    })
  })
})

describe('a second provider that is another callgate, with lists of its own', () => {
  const lists = { 'us-dnc': '2127361001', litigators: '2127361002' }

  async function withLists(work: (other: TestCallgate) => Promise<void>): Promise<void> {
    const other = await openTestCallgate()
    try {
      const folder = getListsFolder(other.callgate.settings)
      for (const [name, number] of Object.entries(lists)) {
        const file = join(other.dataDir, `${name}.txt`)
        writeFileSync(file, `${number}\n`)
        const clock = { now: () => mondayNoon }
        await importList({ name, files: [file], folder, asOf: mondayNoon, clock })
      }
      other.callgate.data.lists.refresh()
      other.callgate.changes.everythingChanged()
      await work(other)
    } finally {
      await other.end()
    }
  }

  const withBoth = (work: (remote: RemoteCallgate) => Promise<void>) =>
    withLists(async (other) => {
      const settings = { NAME: 'other', BASE_URL: other.url, LOGIN_ID: other.keys.main }
      const environment = {
        ...providerVariables('SECOND_PROVIDER', settings),
        CALLGATE_SOURCE_COMBINE: 'any-no-blocks',
      }
      await withRemoteCallgate({ environment }, work)
    })

  it.each([
    ['2127361000', 'permitted', 'acme, other'],
    ['2127361001', 'national-dnc', 'other'],
    ['2127361002', 'litigator', 'other'],
    ['3037361000', 'list-not-covering', 'other'],
  ])('%s is known to it alone: %s by %s', async (number, reason, source) => {
    await withBoth(async (remote) => {
      const decision = await remote.decide(number)
      expect(decision.reason).toBe(reason)
      const check = reason === 'litigator' ? 'litigator' : 'permission'
      expect(findingOf(decision, check).source).toBe(source)
    })
  })

  it('ends a question by its denial or by that of the first, whichever is sooner', async () => {
    await withBoth(async (remote) => {
      const { reason, source } = findingOf(await remote.decide('2125550103'), 'permission')
      expect(['national-dnc by acme', 'unknown-prefix by other']).toContain(
        `${reason} by ${source}`,
      )
    })
  })
})
