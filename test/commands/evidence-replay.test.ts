/** `callgate evidence replay` over a journal of many random calls, and over changed and special records. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import type { ReplayReport } from '../../src/commands/evidence/replay.js'
import { replay as replayRecord } from '../../src/commands/evidence/replay-decision.js'
import { registerRehearse } from '../../src/commands/rehearse/rehearse.js'
import { prepareRules, type Rules } from '../../src/commands/rehearse/rejudge.js'
import { parseInstant } from '../../src/domain/time/dates.js'
import type { DecisionDocument, FindingDocument } from '../../src/gate/record/decision-document.js'
import { readRecord } from '../../src/gate/record/read-record.js'
import type { PermissionFacts } from '../../src/judge/facts.js'
import { bodyOf, recordsIn } from '../support/journal.js'
import { shortOrLong } from '../support/long.js'
import { type ReplayCalls, recordReplayCalls } from '../support/replay-calls.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

interface Recorded {
  readonly body: string
  readonly document: DecisionDocument
}

const readDecisions = (dataDir: string): readonly Recorded[] =>
  recordsIn(dataDir)
    .filter(({ kind }) => kind === 'decision' || kind === 'amendment')
    .map(({ body }) => ({ body, document: readRecord('decision', { body }) }))

const codesOfOptOuts = /"(?:on-internal-list-since|opt-out-ended-record|opt-out-still-applies)"/

describe('random records', () => {
  const count = shortOrLong(2_000, 20_000)
  let calls: ReplayCalls
  let records: readonly Recorded[]
  let rules: readonly Rules[]

  beforeAll(async () => {
    calls = await recordReplayCalls(count, 149)
    records = readDecisions(calls.dataDir)
    rules = calls.phases.map(({ environment }) => {
      const { configuration, problems } = readConfiguration({ environment })
      if (!configuration) throw new Error(problems.join())
      return prepareRules(configuration)
    })
  }, 600_000)

  afterAll(async () => {
    await calls.end()
  })

  const phaseOf = ({ decidedAt }: DecisionDocument) =>
    calls.phases.findLastIndex(({ from }) => from <= (parseInstant(decidedAt) ?? 0))

  const replay = (document: DecisionDocument, body: string, phase = phaseOf(document)) => {
    const ofPhase = rules[phase]
    if (!ofPhase) throw new Error(`no settings at ${document.decidedAt}`)
    return replayRecord(ofPhase, { document, body })
  }

  it(`are ${count}, on days before and after both changes of the clocks, and each gives the same bytes`, () => {
    const wrong: unknown[] = []
    for (const { document, body } of records) {
      const found = replay(document, body)
      if (found.kind !== 'same') wrong.push([found, body])
    }
    expect(wrong.slice(0, 1)).toEqual([])
    expect(records).toHaveLength(count)
    const days = new Set(records.map(({ document }) => document.judgedAt.slice(0, 10)))
    // The nights in which the clocks of the United States change.
    for (const day of ['2026-03-08', '2026-11-01']) expect(days).toContain(day)
  })

  it('say what an erasure can leave: no time of an opt-out, no id of a consent', () => {
    const said = records.flatMap(({ document }) => document.findings).flatMap(({ says }) => says)
    // Without the quotations, which it takes out.
    const details = said.map(({ code, params, source }) => JSON.stringify({ code, params, source }))
    const ofOptOuts = details.filter((detail) => codesOfOptOuts.test(detail))
    expect(ofOptOuts.length).toBeGreaterThan(9)
    expect(ofOptOuts.filter((detail) => /\dT\d\d:/.test(detail))).toEqual([])
    expect(details.filter((detail) => /\bc\d+\b/.test(detail))).toEqual([])
  })

  type Own = NonNullable<NonNullable<DecisionDocument['facts']>['own']>

  const changePermission = (
    { permission }: Own,
    change: (value: PermissionFacts) => PermissionFacts | undefined,
  ): Partial<Own> | undefined => {
    if (permission === 'not-asked' || permission.why !== undefined) return undefined
    const changed = change(permission.value)
    return changed && { permission: { value: changed } }
  }

  const changesOfFacts: readonly (readonly [string, (own: Own) => Partial<Own> | undefined])[] = [
    [
      'the place',
      ({ number }) => {
        if (number.status !== 'ok') return undefined
        const candidates = [{ region: 'GU', zone: 'Pacific/Guam' }]
        return { number: { ...number, place: { ...number.place, candidates } } }
      },
    ],
    [
      'the entry on the internal list',
      ({ entry }) => {
        if (entry === 'not-asked' || entry.value?.removedAt !== null) return undefined
        return { entry: { value: { ...entry.value, addedAt: Date.UTC(2020, 0, 1) } } }
      },
    ],
    [
      'the day on the national list',
      (own) =>
        changePermission(own, ({ lists, ...facts }) =>
          lists?.national.status === 'listed'
            ? { ...facts, lists: { ...lists, national: { ...lists.national, listedOn: 18_000 } } }
            : undefined,
        ),
    ],
    [
      'the record of consent',
      (own) =>
        changePermission(own, ({ record, ...facts }) =>
          record === undefined ? undefined : { ...facts, record: undefined },
        ),
    ],
  ]

  const changesOfFindings: readonly (readonly [string, (one: FindingDocument) => object])[] = [
    ['the verdict', ({ verdict }) => ({ verdict: verdict === 'pass' ? 'deny' : 'pass' })],
    ['what is said', ({ says }) => ({ says: [...says, { code: 'newer-opt-out' }] })],
  ]

  /** How many of the changed records differ from what comes out. */
  const countDifferent = (changed: readonly DecisionDocument[]) =>
    changed.filter((document) => {
      const found = replay(document, bodyOf(document))
      if (found.kind === 'different') expect(found.members.length).toBeGreaterThan(0)
      return found.kind === 'different'
    }).length

  it.each(changesOfFacts)('in which %s is changed differ', (_name, change) => {
    const changed = records.flatMap(({ document }) => {
      const { facts } = document
      const more = facts?.own && change(facts.own)
      return more ? [{ ...document, facts: { ...facts, own: { ...facts.own, ...more } } }] : []
    }) as readonly DecisionDocument[]
    expect(changed.length).toBeGreaterThan(20)
    // A consent that was not needed, or an entry whose day is in no text, changes nothing.
    expect(countDifferent(changed)).toBeGreaterThan(changed.length / 2)
  })

  it.each(changesOfFindings)('in which %s of a finding is changed differ', (_name, change) => {
    const changed = records.flatMap(({ document }) => {
      const [first, ...others] = document.findings
      return first ? [{ ...document, findings: [{ ...first, ...change(first) }, ...others] }] : []
    })
    expect(changed.length).toBeGreaterThan(20)
    expect(countDifferent(changed)).toBe(changed.length)
  })

  it('differ in what other settings make of them, member by member', () => {
    const first = records.filter(({ document }) => phaseOf(document) === 0)
    const other = first.map(({ document, body }) => replay(document, body, 1))
    const members = new Set(
      other.flatMap((one) =>
        one.kind === 'different' ? one.members.map(({ member }) => member) : [],
      ),
    )
    expect(members).toContain('decision')
    expect(members).toContain('policy')
    expect([...members].some((member) => member.startsWith('findings.calling-hours'))).toBe(false)
  })
})

describe('callgate evidence replay', () => {
  let running: TestCallgate
  const environment = {
    CALLGATE_GATE_HOUSE_LIMITS: JSON.stringify([{ account: 'sandbox', calls: 1, seconds: 3_600 }]),
    CALLGATE_GATE_SUBJECTS: JSON.stringify([{ account: 'sandbox', subjects: ['solar'] }]),
  }
  const more = `gate:\n  houseLimits: ${environment.CALLGATE_GATE_HOUSE_LIMITS}\n  subjects: ${environment.CALLGATE_GATE_SUBJECTS}\n`
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    // Nineteen minutes before New York closes for sales calls.
    running = await openTestCallgate({ at: Date.UTC(2026, 10, 24, 1, 41), environment })
    const { callgate } = running
    const { key } = await callgate.keys.create({
      ...{ accountId: 'sandbox', role: 'Administrator', label: 'limited' },
      calls: { attemptsPerDay: 1 },
    })
    const ask = async (name: string, body: object, by?: string) => {
      const reply = await running.postJson('/v1/decisions', body, by)
      ids[name] = ((await reply.json()) as { id: string }).id
    }
    await ask('allowed', { number: '2125550100', callKind: 'manual' })
    await ask('again', { number: '2125550100', callKind: 'manual' })
    await ask('limited', { number: '2125550106', callKind: 'manual' }, key)
    await ask('over the limit of the key', { number: '7185550106', callKind: 'manual' }, key)
    await ask('unknown subject', { number: '6465550100', callKind: 'manual', subject: 'x' })
    await ask('what-if', { number: '2125550100', callKind: 'ai', at: '2026-11-01T06:30:00Z' })
    await ask('emergency', { number: '911', callKind: 'manual' })
    await ask('foreign', { number: '+442079460018', callKind: 'manual' })
    // The allow expires before it can be given.
    running.clock.at = Date.UTC(2026, 10, 24, 1, 59, 59)
    const call = {
      accountId: 'sandbox',
      dialed: '5165550100',
      callKind: 'manual',
      via: 'http',
    } as const
    const finalize = await callgate.gate.judge(call)
    running.clock.at = Date.UTC(2026, 10, 24, 2)
    const late = finalize()
    expect(late.reason).toBe('expired')
    ids.expired = late.id
    ids.invalid = callgate.gate.refuse(call, { code: 'invalid-fact', quote: 'a fact' }).id
    await callgate.journal.drain()
  })

  afterAll(async () => {
    await running.end()
  })

  const replay = (...args: readonly string[]) =>
    runCommand(registerEvidence, ['evidence', 'replay', ...args], {
      dataDir: running.dataDir,
      more,
    })

  it('judges all of them again, those of a key with limits too', async () => {
    const { code, out, err } = await replay('--from', '2026-11-24', '--to', '2026-11-25', '--json')
    const report = JSON.parse(out) as ReplayReport
    expect(report.differences).toEqual([])
    expect(report).toMatchObject({
      records: 11,
      same: 10,
      different: 0,
      byGate: 1,
      notReplayed: {},
    })
    expect([code, err]).toEqual([0, ''])
    const reasons = new Set(readDecisions(running.dataDir).map(({ document }) => document.reason))
    const expected = [
      'too-many-attempts',
      'key-attempts',
      'unknown-subject',
      'expired',
      'invalid-request',
    ]
    for (const reason of expected) expect(reasons).toContain(reason)
    const text = await replay('--from', '2026-11-24', '--to', '2026-11-25')
    expect(text.out).toContain('11 records of decisions\n')
    expect(text.out).toContain(
      '\n10 give the same bytes\n0 differ\n1 were blocked by the gate itself, before',
    )
  })

  it('replays one decision, with its amendment', async () => {
    const one = await replay(ids['what-if'] ?? '', '--json')
    expect(JSON.parse(one.out)).toMatchObject({ records: 1, same: 1 })
    expect(one.code).toBe(0)
    const amended = JSON.parse((await replay(ids.expired ?? '', '--json')).out)
    expect(amended).toMatchObject({ records: 2, same: 2 })
  })

  it('shows what differs by other settings, and exits with 1', async () => {
    const settings = join(running.dataDir, 'other.yaml')
    writeFileSync(settings, 'gate: { allowValidMs: 30000 }\n')
    const { code, out } = await replay(ids.allowed ?? '', '--policy', settings)
    expect(code).toBe(10)
    expect(out).toContain('records that differ (all 1):\n')
    expect(out).toContain(
      '  validUntil: recorded "2026-11-24T01:42:00Z", judged again "2026-11-24T01:41:30Z"\n',
    )
  })

  it('judges a record by the calling rules that it names, not by those in use today', async () => {
    const today = join(running.dataDir, 'rules.yaml')
    const { regions, ...rest } = parse(readFileSync('config/calling-rules.yaml', 'utf8'))
    const NY = { ...regions.NY, hours: { monFri: 'none', sat: 'none', sun: 'none' } }
    writeFileSync(today, JSON.stringify({ ...rest, regions: { ...regions, NY } }))
    const changed = `${more}callingHours: { rulesFile: '${today}' }\n`
    const replayToday = (...args: readonly string[]) => {
      const command = ['evidence', 'replay', ids.allowed ?? '', ...args]
      return runCommand(registerEvidence, command, { dataDir: running.dataDir, more: changed })
    }
    const { rules: version } = running.callgate.versions
    const same = await replayToday()
    expect([same.code, same.out]).toEqual([0, expect.stringContaining(`by rules ${version} and`)])
    const given = await replayToday('--rules', today)
    expect([given.code, given.out]).toEqual([
      10,
      expect.stringContaining('  decision: recorded "allow", judged again "block"\n'),
    ])
    const kept = join(running.dataDir, `journal/rules/${version}.json`)
    const text = readFileSync(kept)
    const unread = async (problem: string) => {
      const { code, out } = await replayToday()
      expect([code, out]).toEqual([2, expect.stringContaining(`:\n  ${kept}: ${problem}`)])
      const report = JSON.parse((await replayToday('--json')).out)
      expect(report).toMatchObject({ same: 0, notReplayed: { 'no-rules': 1 } })
    }
    writeFileSync(kept, text.subarray(1))
    await unread('does not hold the calling rules that it is named after')
    rmSync(kept)
    await unread('is missing')
    expect((await replay(ids.allowed ?? '')).code).toBe(0)
    writeFileSync(kept, text)
  })

  it('judges a limit on how often somebody is called by another number of calls, as rehearse does', async () => {
    const settings = join(running.dataDir, 'limits.yaml')
    const limits = [{ account: 'sandbox', calls: 2, seconds: 3_600 }]
    writeFileSync(settings, `gate: { houseLimits: ${JSON.stringify(limits)} }\n`)
    const { code, out } = await replay(ids.again ?? '', '--policy', settings)
    expect(code).toBe(10)
    expect(out).toContain('  decision: recorded "block", judged again "allow"\n')
    const period = ['--since', '2026-11-24', '--until', '2026-11-25', '--account', 'sandbox']
    const rehearsed = await runCommand(
      registerRehearse,
      ['rehearse', ...period, '--policy', settings, '--json'],
      { dataDir: running.dataDir, more },
    )
    expect(JSON.parse(rehearsed.out)).toMatchObject({
      wouldHaveBlocked: 0,
      allowedByReason: { 'too-many-attempts': 1 },
    })
  })

  it.each([
    [['0mwte7bfke763ad567c5631fb8282'], "decision '0mwte7bfke763ad567c5631fb8282' not found"],
    [['x'], "<decision-id> 'x': must be 29 letters and digits, as in a record"],
    [[], 'name a decision, or the time of decisions with --from'],
    [['--to', '2026-11-24'], 'name a decision, or the time of decisions with --from'],
    [
      ['0mwte7bfke763ad567c5631fb8282', '--from', '7d'],
      '--from and --to: must not be used with the id',
    ],
    [['--from', 'noon'], "--from 'noon': must be an instant"],
    [
      ['--from', '2026-11-24', '--account', 'typo', '--to', '2026-11-25'],
      "account 'typo' not found",
    ],
    [['--from', '2026-11-24', '--policy', 'none.yaml'], "--policy 'none.yaml': file not found"],
    [['--from', '2026-11-24', '--frm', 'x'], "unknown option '--frm'"],
  ])('%j is refused', async (args, message) => {
    const { code, out, err } = await replay(...args)
    const isUsage = !/^decision/.test(message)
    if (isUsage) expect([code, out, err]).toEqual([64, '', expect.stringContaining(message)])
    else expect([code, out]).toEqual([3, expect.stringContaining(`NOT CHECKED: ${message}`)])
  })

  it('of a time without decisions is NOT PROVEN', async () => {
    const { code, out } = await replay('--from', '2020-11-24', '--to', '2020-11-25')
    expect(code).toBe(2)
    expect(out).toContain('NOT PROVEN: there is no record to judge again.')
  })

  it('finds that a counted call is missing in a block by a limit', () => {
    const { configuration } = readConfiguration({ environment })
    const rules = configuration && prepareRules(configuration)
    const record = readDecisions(running.dataDir).find(({ document }) => document.id === ids.again)
    if (!rules || !record) throw new Error('there is no such record')
    expect(replayRecord(rules, record)).toEqual({ kind: 'same' })
    const changed = record.body.replace(ids.allowed ?? '', '').replace('[""]', '[]')
    const found = replayRecord(rules, {
      document: readRecord('decision', { body: changed }),
      body: changed,
    })
    if (found.kind !== 'different') throw new Error(found.kind)
    expect(found.members).toContainEqual({
      member: 'findings.attempts.verdict',
      recorded: 'deny',
      replayed: 'pass',
    })
    expect(found.members).toContainEqual({
      member: 'decision',
      recorded: 'block',
      replayed: 'allow',
    })
  })

  it('counts what cannot be judged again, and names why', () => {
    const { configuration, problems } = readConfiguration({ environment })
    if (!configuration) throw new Error(problems.join())
    const rules = prepareRules(configuration)
    const [record] = readDecisions(running.dataDir)
    if (!record) throw new Error('nothing is recorded')
    const kindOf = (change: object) => {
      const document = { ...record.document, ...change } as DecisionDocument
      return replayRecord(rules, { document, body: bodyOf(document) })
    }
    expect(kindOf({})).toMatchObject({ kind: 'same' })
    const why = (reason: string) => ({ kind: 'not-replayed', why: reason })
    expect(kindOf({ recordVersion: 2 })).toEqual(why('newer-record'))
    expect(kindOf({ number: '', dialed: '', erased: true })).toEqual(why('erased'))
    // The mark of an erasure does not fit into each record.
    expect(kindOf({ number: '', dialed: '' })).toEqual(why('erased'))
    expect(kindOf({ findings: [] })).toEqual(why('not-checked'))
  })
})
