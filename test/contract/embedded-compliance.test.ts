import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ListAges } from '../../src/data/number-list/list-ages.js'
import type { Compliance, LegalTimeQuestion, Question } from '../../src/domain/compliance.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Clock, Instant } from '../../src/domain/time/clock.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { ListFacts, type Lists } from '../../src/service/lists/list-facts.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { SandboxLists } from '../../src/service/sandbox/sandbox-lists.js'
import { ScrubEvaluator } from '../../src/service/scrub/scrub-evaluator.js'
import { EmbeddedCompliance } from '../../src/sources/embedded-compliance.js'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import {
  ageless,
  cleanLists,
  fakeLists,
  hoursOver,
  planWith,
  postalCodes,
  rules,
  testSandbox,
} from '../support/scrub-parts.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'
import { complianceContract } from './compliance.contract.js'

const ny = '2127361000'
const now = '2026-11-23T17:00:00Z'

interface Options {
  readonly clock?: Clock
  readonly sandboxAt?: Instant
  readonly lists?: Lists
  readonly ages?: ListAges
}

/** The embedded source over real subjects and a database of its own. */
async function openEmbedded({
  clock = testClock(now),
  sandboxAt,
  lists,
  ages = ageless,
}: Options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-embedded-'))
  const storage = await openDatabase({
    dataDir: folder,
    lockWaitMs: 100,
    blockForLockMs: 0,
  })
  await migrateSchema(storage)
  const sandbox = testSandbox(clock, sandboxAt)
  const plan = planWith({ [ny]: { lineClass: 'wireline' } })
  const sandboxPlan = sandbox.planOver(plan)
  const views = {
    real: {
      clock,
      numberingPlan: plan,
      hours: hoursOver(plan),
      law: rules,
      lists: new ListFacts({ lists: lists ?? fakeLists({}), ages, clock }),
      fixedFacts: undefined,
    },
    sandbox: {
      clock: sandbox.clock,
      numberingPlan: sandboxPlan,
      hours: hoursOver(sandboxPlan),
      law: rules,
      lists: new SandboxLists(sandbox),
      fixedFacts: sandbox,
    },
  }
  const viewOf = chooseByAccount(views)
  const subjects = await buildSubjects(storage, { viewOf })
  const { internalDnc, ebrRecords, projects } = subjects
  const parts = { projects, internalDnc, ebrRecords, viewOf }
  const evaluator = new ScrubEvaluator({ ...parts, postalCodes })
  const errors: string[] = []
  const sourceFor = (kind: 'real' | 'sandbox') =>
    new EmbeddedCompliance({
      evaluator,
      internalDnc,
      projects,
      views,
      kind,
      onError: (question, cause) => errors.push(`${question}: ${String(cause)}`),
    })
  const sourceOf = chooseByAccount({
    real: sourceFor('real'),
    sandbox: sourceFor('sandbox'),
  })
  const compliance: Compliance = {
    scrub: (question) => sourceOf(question.accountId).scrub(question),
    internalDnc: (question) => sourceOf(question.accountId).internalDnc(question),
    litigator: (question) => sourceOf(question.accountId).litigator(question),
    legalTime: (question) => sourceOf(question.accountId).legalTime(question),
  }
  const close = async () => {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { compliance, close, errors, ...subjects }
}

complianceContract('the embedded service', (sandboxAt) => openEmbedded({ sandboxAt }))

function about(number = ny, more: Partial<Question> = {}): Question {
  return { accountId: 'main', number: toPhoneNumber(number), ...more }
}

function legalAbout(number = ny, more: Partial<LegalTimeQuestion> = {}): LegalTimeQuestion {
  const plain = { recordedVoice: false, requireStatutoryWindow: false, strictestPlace: false }
  return { ...about(number), ...plain, ...more }
}

async function withEmbedded(
  options: Options,
  work: (open: Awaited<ReturnType<typeof openEmbedded>>) => Promise<void>,
) {
  const open = await openEmbedded(options)
  try {
    await work(open)
  } finally {
    await open.close()
  }
}

const loaded = { lists: fakeLists(cleanLists) }

describe('a real account', () => {
  it('without lists gets B and no litigator answer, each naming its import', async () => {
    await withEmbedded({}, async ({ compliance, errors }) => {
      const scrubbed = await compliance.scrub(about())
      expect(scrubbed).toMatchObject({ ok: true, value: { letter: 'B' } })
      expect(scrubbed.ok && scrubbed.value.says).toMatchObject([
        { code: 'list-not-covering', params: { load: 'callgate import us-dnc' } },
      ])
      expect(await compliance.litigator(about())).toMatchObject({
        ok: false,
        reason: 'list-missing',
        says: [{ code: 'list-not-covering', params: { load: 'callgate import litigators' } }],
      })
      expect(errors).toEqual([])
    })
  })

  it('never sees the fixed facts of the sandbox', async () => {
    await withEmbedded(loaded, async ({ compliance }) => {
      for (const line of ['0104', '0111', '0112']) {
        const status = await compliance.internalDnc(about(`212555${line}`))
        expect(status).toMatchObject({ ok: true, value: { onList: false } })
      }
      const litigator = await compliance.litigator(about('2125550105'))
      expect(litigator).toMatchObject({ ok: true, value: { isLitigator: false } })
    })
  })

  it('has what it wrote in the very next answer', async () => {
    await withEmbedded(loaded, async ({ compliance, internalDnc, ebrRecords }) => {
      const letter = async () => {
        const row = await compliance.scrub(about())
        return row.ok ? `${row.value.letter}${row.value.ebrType}` : describeSaid(row.says)
      }
      const onList = async () => {
        const status = await compliance.internalDnc(about())
        return status.ok && status.value.onList
      }
      expect([await letter(), await onList()]).toEqual(['C', false])
      await internalDnc.add(caller(), { numbers: [ny], ignoreInvalid: false })
      expect([await letter(), await onList()]).toEqual(['P', true])
      const permission = { phoneNumber: ny, type: 'P', dateOfLastContact: '11/23/2026' }
      await ebrRecords.record(caller(), { keepBetterEbr: false, records: [permission] })
      // The entry and the permission are of one day: the entry wins.
      expect([await letter(), await onList()]).toEqual(['PP', true])
      await internalDnc.remove(caller(), { numbers: [ny] })
      expect([await letter(), await onList()]).toEqual(['EP', false])
    })
  })

  it('may be another: neither list nor record of one is seen by the other', async () => {
    await withEmbedded(loaded, async ({ compliance, internalDnc }) => {
      await internalDnc.add(caller('other'), { numbers: [ny], ignoreInvalid: false })
      const status = await compliance.internalDnc(about())
      expect(status).toMatchObject({ ok: true, value: { onList: false } })
      expect(await compliance.scrub(about())).toMatchObject({ value: { letter: 'C' } })
    })
  })
})

describe('writes of the sandbox account', () => {
  it('work on top of its fixed facts', async () => {
    await withEmbedded({}, async ({ compliance, internalDnc, ebrRecords }) => {
      const sandbox = caller('sandbox')
      const letter = async (number: string) => {
        const row = await compliance.scrub(about(number, { accountId: 'sandbox' }))
        return row.ok ? row.value.letter : describeSaid(row.says)
      }
      await internalDnc.add(sandbox, { numbers: ['2125550106'], ignoreInvalid: false })
      expect(await letter('2125550106')).toBe('P')
      await internalDnc.remove(sandbox, { numbers: ['2125550104'] })
      expect(await letter('2125550104')).toBe('C')
      const permission = { phoneNumber: '2125550111', type: 'P', dateOfLastContact: '11/22/2026' }
      await ebrRecords.record(sandbox, { keepBetterEbr: false, records: [permission] })
      expect(await letter('2125550111')).toBe('O')
    })
  })
})

describe('what-ifs', () => {
  it.each([
    { at: '2026-11-24T03:00:00Z', manual: false },
    { at: '2026-11-24T13:00:00Z', manual: true },
  ])('are judged at their instant: $at', async ({ at, manual }) => {
    await withEmbedded(loaded, async ({ compliance }) => {
      const question = { at: instant(at) }
      expect(await compliance.scrub(about(ny, question))).toMatchObject({
        value: { allowed: { manual } },
      })
      expect(await compliance.legalTime(legalAbout(ny, question))).toMatchObject({
        value: { permitted: manual },
      })
    })
  })

  it('in the future do not make a fixed sandbox permission newer than a real opt-out', async () => {
    await withEmbedded({}, async ({ compliance, internalDnc }) => {
      const number = '2125550106'
      await internalDnc.add(caller('sandbox'), { numbers: [number], ignoreInvalid: false })
      const at = instant('2028-11-21T17:00:00Z')
      const row = await compliance.scrub(about(number, { accountId: 'sandbox', at }))
      expect(row).toMatchObject({ value: { letter: 'P' } })
    })
  })
})

describe('legal time', () => {
  it('says when it opens and by which rule', async () => {
    await withEmbedded(loaded, async ({ compliance }) => {
      const at = instant('2026-11-24T03:00:00Z')
      const found = await compliance.legalTime(legalAbout(ny, { at }))
      expect(found).toMatchObject({
        value: {
          opensAt: instant('2026-11-24T13:00:00Z'),
          says: expect.arrayContaining([
            { code: 'local-day', params: expect.objectContaining({ region: 'NY' }) },
            { code: 'hours-open', params: { from: '08:00', to: '21:00' } },
            { code: 'law-of-hours', params: { basis: 'state', citation: expect.any(String) } },
          ]),
        },
      })
    })
  })

  it.each([
    { requireStatutoryWindow: false, permitted: true },
    { requireStatutoryWindow: true, permitted: false },
  ])(
    'project hours at night, requireStatutoryWindow $requireStatutoryWindow: $permitted',
    async ({ requireStatutoryWindow, permitted }) => {
      await withEmbedded(loaded, async ({ compliance, projects }) => {
        await projects.create({ accountId: 'main', code: 'NIGHT', name: 'Night' })
        const hours = { monFri: '00:00-24:00', sat: 'none', sun: 'none' }
        await projects.setHours({ accountId: 'main', code: 'NIGHT' }, 'NY', hours)
        const at = instant('2026-11-24T08:00:00Z')
        const question = legalAbout(ny, { projectId: 'NIGHT', at, requireStatutoryWindow })
        expect(await compliance.legalTime(question)).toMatchObject({ value: { permitted } })
      })
    },
  )

  it.each([
    { recordedVoice: false, permitted: true },
    { recordedVoice: true, permitted: false },
  ])('Indiana at 8.30, recorded voice $recordedVoice: $permitted', async (test) => {
    await withEmbedded(loaded, async ({ compliance }) => {
      const { recordedVoice, permitted } = test
      const at = instant('2026-11-23T13:30:00Z')
      const question = legalAbout('3177361000', { at, recordedVoice })
      expect(await compliance.legalTime(question)).toMatchObject({ value: { permitted } })
    })
  })

  it.each([
    { strictestPlace: false, permitted: true },
    { strictestPlace: true, permitted: false },
  ])('a postal code farther west at night, strictest $strictestPlace: $permitted', async (test) => {
    await withEmbedded(loaded, async ({ compliance }) => {
      const { strictestPlace, permitted } = test
      const at = instant('2026-11-24T03:30:00Z')
      const question = legalAbout(ny, { at, strictestPlace, postalCode: '90001' })
      expect(await compliance.legalTime(question)).toMatchObject({ value: { permitted } })
    })
  })

  it('a postal code of the armed forces leaves the strictest place unanswered', async () => {
    await withEmbedded(loaded, async ({ compliance, errors }) => {
      const question = { at: instant('2026-11-23T17:00:00Z'), postalCode: '09001' }
      expect(
        await compliance.legalTime(legalAbout(ny, { ...question, strictestPlace: true })),
      ).toMatchObject({ ok: false, reason: 'bad-question' })
      expect(await compliance.legalTime(legalAbout(ny, question))).toMatchObject({
        value: { permitted: true, placeSource: 'area-code' },
      })
      expect(errors).toEqual([])
    })
  })

  it('is answered at once when the project is warm', async () => {
    await withEmbedded(loaded, async ({ compliance }) => {
      await compliance.legalTime(legalAbout())
      expect(compliance.legalTime(legalAbout())).toMatchObject({ ok: true })
      expect(compliance.litigator(about())).toMatchObject({ ok: true })
    })
  })
})

describe('failures', () => {
  it('become unanswered questions and are reported', async () => {
    const open = await openEmbedded(loaded)
    await open.close()
    const { compliance, errors } = open
    expect(await compliance.scrub(about())).toMatchObject({
      ok: false,
      reason: 'source-failed',
      says: [{ code: 'source-failed', quote: expect.stringMatching(/\S/) }],
    })
    expect(await compliance.internalDnc(about())).toMatchObject({ reason: 'source-failed' })
    expect(await compliance.legalTime(legalAbout())).toMatchObject({ reason: 'source-failed' })
    expect(errors.map((text) => text.split(':')[0])).toEqual(['scrub', 'internalDnc', 'legalTime'])
  })

  it('an exception thrown at once is one of them', async () => {
    const covers = () => {
      throw new Error('the list cannot be read')
    }
    const lists = fakeLists({ litigators: {} })
    const failing = { ...lists, all: () => lists.all().map((list) => ({ ...list, covers })) }
    await withEmbedded({ lists: failing }, async ({ compliance, errors }) => {
      expect(await compliance.litigator(about())).toMatchObject({
        ok: false,
        reason: 'source-failed',
        says: [{ code: 'source-failed', quote: 'the list cannot be read' }],
      })
      expect(errors).toEqual(['litigator: Error: the list cannot be read'])
    })
  })

  it('an unknown project is the question’s fault and not reported', async () => {
    await withEmbedded(loaded, async ({ compliance, errors }) => {
      const question = about(ny, { projectId: 'NOPE' })
      expect(await compliance.scrub(question)).toMatchObject({
        ok: false,
        says: [{ code: 'bad-question', quote: expect.stringContaining("projId 'NOPE'") }],
      })
      expect(errors).toEqual([])
    })
  })
})
