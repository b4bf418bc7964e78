/** `callgate evidence reconcile` over a day of calls with planted faults, as a carrier and as Asterisk write it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import type { Fault } from '../../src/commands/evidence/match-legs.js'
import type { Decision } from '../../src/domain/decision.js'
import type { Instant } from '../../src/domain/time/clock.js'
import { formatDay } from '../../src/domain/time/dates.js'
import { toLocalTime } from '../../src/domain/time/time-zones.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { seededRandom } from '../data/random-numbers.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-reconcile-'))
const zone = 'America/New_York'
/** A Monday, 10:00 in New York. */
const startsAt = Date.UTC(2026, 10, 23, 15)
const second = 1_000
const areaCodes = ['212', '646', '518', '617', '919', '704', '516', '401', '603', '207']
const below = seededRandom(7)
const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T

interface Leg {
  readonly number: string
  readonly at: Instant
  readonly seconds: number
  /** Only in a file that names decisions. */
  readonly decisionId: string | undefined
  readonly fault: Fault | 'service-code' | undefined
}

let running: TestCallgate
const legs: Leg[] = []
/** Ids of allows that have no leg and no outcome. */
const withoutLeg: string[] = []

const legOf = (decision: Decision, afterMs: number, fault?: Fault): Leg => ({
  number: decision.number,
  at: decision.decidedAt + afterMs,
  seconds: 6 * (1 + below(50)),
  decisionId: decision.id,
  fault,
})

/** Each call is to a number of its own, unless it says otherwise. */
async function callAll(): Promise<void> {
  const { gate, journal } = running.callgate
  let place = 0
  const decide = async (line: '0100' | '0105') => {
    place += 1
    running.clock.at += (20 + below(40)) * second
    const code = areaCodes[place % areaCodes.length]
    return await gate.decide({
      accountId: 'sandbox',
      dialed: `${code}555${line}`,
      callKind: 'manual',
      via: 'http',
    })
  }
  const allow = async () => {
    const decision = await decide('0100')
    const said = decision.findings.map(({ says }) => describeSaid(says))
    expect(decision, said.join()).toMatchObject({
      decision: 'allow',
    })
    return decision
  }
  const plants: readonly (() => Promise<void>)[] = [
    async () => {
      const decision = await allow()
      legs.push(legOf(decision, 500), legOf(decision, 20 * second, 'used-again'))
    },
    async () => {
      const decision = await decide('0105')
      legs.push(legOf(decision, 2 * second, 'blocked'))
    },
    async () => void legs.push(legOf(await allow(), 300 * second, 'expired')),
    async () => {
      const decision = await allow()
      const at = decision.decidedAt + second
      journal.record(decision.id, { state: 'not-carried-out', notCarriedOutAt: at }, true)
      legs.push(legOf(decision, 2 * second, 'withdrawn'))
    },
    async () => void withoutLeg.push((await allow()).id),
    async () => {
      const decision = await allow()
      const at = decision.decidedAt + second
      journal.record(decision.id, { state: 'not-carried-out', notCarriedOutAt: at }, true)
    },
    async () => {
      const decision = await allow()
      const failedAt = decision.decidedAt + second
      journal.record(decision.id, { state: 'failed', failedAt, dialStatus: 'BUSY' }, true)
    },
    async () => {
      running.clock.at += 60 * second
      const number = `41555501${String(10 + below(89))}`
      const at = running.clock.at
      legs.push({ number, at, seconds: 60, decisionId: undefined, fault: 'no-decision' })
    },
    async () => {
      const at = running.clock.at + 7 * second
      legs.push({ number: '911', at, seconds: 30, decisionId: undefined, fault: 'service-code' })
    },
  ]
  for (let call = 0; call < 400; call += 1) {
    const planted = call % 8 === 0 ? plants[(call / 8) % plants.length] : undefined
    if (planted) await planted()
    else if (below(10) === 0) await decide('0105')
    else legs.push(legOf(await allow(), 200 + below(15 * second)))
    // A number is called again only after a while.
    running.clock.at += 30 * second
  }
}

beforeAll(async () => {
  running = await openTestCallgate({ at: startsAt })
  await callAll()
  await running.callgate.journal.drain()
})

afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true })
})

function localTime(at: Instant): string {
  const { day, secondOfDay } = toLocalTime(zone, at)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${formatDay(day)} ${two(secondOfDay / 3600)}:${two((secondOfDay / 60) % 60)}:${two(secondOfDay % 60)}`
}

const spell = (number: string): string =>
  number.length < 10
    ? number
    : pick([
        number,
        `1${number}`,
        `+1${number}`,
        `(${number.slice(0, 3)}) ${number.slice(3, 6)}-${number.slice(6)}`,
      ])

/** As a carrier writes it: by the end of each call, in its local time. */
function carrierFile(rows: readonly Leg[], withIds: boolean): string {
  const lines = rows.map((leg, index) => {
    const cells = [`c-${index}`, spell(leg.number), localTime(leg.at), String(leg.seconds)]
    return [...cells, ...(withIds ? [leg.decisionId ?? ''] : [])].join(',')
  })
  const header = `Call ID,Called Number,Start Time,Billed Seconds${withIds ? ',Decision ID' : ''}`
  return `${header}\n${lines.join('\n')}\n`
}

/** As Asterisk 22 writes it: texts in quotes, and what was dialed cut off after 79 characters. */
function masterFile(rows: readonly Leg[]): string {
  const lines = rows.map(({ number, at, seconds, decisionId }, index) => {
    const [start, end] = [localTime(at), localTime(at + seconds * second)]
    const permit = `1.mip1tb30.${decisionId}.${'A'.repeat(43)}`
    const permitted = decisionId ? `,60,ib(callgate-leg^s^1(${permit}))` : ',60'
    const texts = ['', '100', number, 'gate', '"" <100>', 'PJSIP/100-00000001']
    const dialed = [
      'PJSIP/trunk-00000002',
      'Dial',
      `PJSIP/${number}@trunk${permitted}`.slice(0, 79),
    ]
    const quoted = [...texts, ...dialed, start, start, end].map(
      (cell) => `"${cell.replaceAll('"', '""')}"`,
    )
    return [
      ...quoted,
      seconds,
      seconds,
      '"ANSWERED"',
      '"DOCUMENTATION"',
      `"${index}.1"`,
      '""',
    ].join()
  })
  return `${lines.join('\n')}\n`
}

async function reconcile(name: string, text: string, ...args: readonly string[]) {
  const path = join(folder, name)
  writeFileSync(path, text)
  const all = ['evidence', 'reconcile', path, '--account', 'sandbox', ...args]
  return await runCommand(registerEvidence, all, { dataDir: running.dataDir })
}

interface FoundReport {
  readonly byId: number
  readonly byNumber: number
  readonly notPlaced: number
  readonly notConnected: number
  readonly faults: Readonly<Record<string, number>>
  readonly mismatches: readonly {
    readonly fault: string
    readonly leg?: { readonly line: number }
    readonly decision?: { readonly id: string }
  }[]
  readonly serviceCodes: readonly { readonly line: number }[]
  readonly unreadable: readonly { readonly line: number; readonly rule: string }[]
}

/** The faults by line, as they were planted. */
function expectPlanted(out: string, rows: readonly Leg[], firstLine: number): FoundReport {
  const report = JSON.parse(out) as FoundReport
  const found = report.mismatches.flatMap(({ leg, fault }) => (leg ? [`${leg.line} ${fault}`] : []))
  const codes = report.serviceCodes.map(({ line }) => `${line} service-code`)
  const expected = rows.flatMap(({ fault }, index) =>
    fault ? [`${index + firstLine} ${fault}`] : [],
  )
  expect([...found, ...codes].sort()).toEqual(expected.sort())
  const lost = report.mismatches.filter(({ fault }) => fault === 'no-leg')
  expect(lost.map(({ decision }) => decision?.id)).toEqual(withoutLeg)
  expect(report.notPlaced).toBeGreaterThan(0)
  expect(report.notConnected).toBeGreaterThan(0)
  return report
}

/** In another order than they began. */
const byEnd = () => legs.toSorted((a, b) => a.at + a.seconds * second - (b.at + b.seconds * second))

describe('the call detail records of a day', () => {
  it('of a carrier that knows only numbers: each planted fault is found, and nothing else', async () => {
    const rows = byEnd()
    const args = ['--zone', zone, '--slack', '1s', '--json']
    const { code, out, err } = await reconcile('numbers.csv', carrierFile(rows, false), ...args)
    expect([code, err]).toEqual([10, ''])
    const report = expectPlanted(out, rows, 2)
    expect(report).toMatchObject({ byId: 0, unreadable: [] })
    expect(report.byNumber).toBe(rows.filter(({ fault }) => fault === undefined).length)
  })

  it('of a carrier that returns the ids of decisions', async () => {
    const rows = byEnd()
    const args = ['--zone', zone, '--slack', '1s', '--json']
    const { code, out } = await reconcile('ids.csv', carrierFile(rows, true), ...args)
    expect(code).toBe(10)
    const report = expectPlanted(out, rows, 2)
    expect(report.byId).toBe(rows.filter(({ fault }) => fault === undefined).length)
  })

  it('of Asterisk, whose permits name the decisions', async () => {
    const rows = byEnd()
    const args = ['--zone', zone, '--slack', '1s', '--json']
    const { code, out } = await reconcile('Master.csv', masterFile(rows), ...args)
    expect(code).toBe(10)
    const report = expectPlanted(out, rows, 1)
    expect(report.byId).toBeGreaterThan(300)
  })

  it('without a fault exits with 0', async () => {
    // Between the first planted fault and the second one.
    const rows = legs.slice(2, 7)
    expect(rows.map(({ fault }) => fault)).toEqual(rows.map(() => undefined))
    const { code, out } = await reconcile('clean.csv', carrierFile(rows, true), '--zone', zone)
    expect(out).toContain(
      '\n5 legs have their allow by its id, 0 by number and time\n0 do not match\n',
    )
    expect(code).toBe(0)
  })

  it('without calls, of a time without allows, is NOT PROVEN', async () => {
    const period = ['--from', '2020-11-24T00:00:00Z', '--to', '2020-11-25T00:00:00Z']
    const { code, out } = await reconcile(
      'none.csv',
      carrierFile([], true),
      '--zone',
      zone,
      ...period,
    )
    expect(out).toContain('NOT PROVEN: there is no leg and no allow to compare.')
    expect(code).toBe(2)
  })

  it('as text and as CSV: each line that does not match, with its decision', async () => {
    const rows = [...legs.slice(2, 5), plantedLeg('blocked'), plantedLeg('no-decision')]
    const text = carrierFile(rows, true)
    const shown = await reconcile('some.csv', text, '--zone', zone)
    expect(shown.code).toBe(10)
    expect(shown.out).toContain('\nlegs whose decision was a block (1):\n')
    expect(shown.out).toContain('\nlegs without any decision: they went around the gate (1):\n')
    const hidden = await reconcile('some.csv', text, '--zone', zone, '--limit', '0')
    expect(hidden.out).toContain('(1):\nand 1 more; --limit shows more')
    const { code, out } = await reconcile('some.csv', text, '--zone', zone, '--csv')
    expect(code).toBe(10)
    const lines = out.split('\n')
    expect(lines[0]).toBe('fault,line,call,number,start,seconds,decision,decided,detail')
    expect(lines.some((line) => line.startsWith('blocked,5,c-3,'))).toBe(true)
    expect(lines.some((line) => line.startsWith('no-decision,6,c-4,'))).toBe(true)
  })
})

/** The planted leg of a fault. */
function plantedLeg(fault: Fault): Leg {
  const found = legs.find((leg) => leg.fault === fault)
  if (!found) throw new Error(`there is no ${fault}`)
  return found
}

describe('a file', () => {
  it('with rows that cannot be read: each is listed with its line and rule, and the others count', async () => {
    const good = carrierFile(legs.slice(2, 5), true)
    const bad = [
      'x,anonymous,2026-11-23 10:00,6,',
      'x,21255501001,2026-11-23 10:00:00,6,',
      'x,2125550100,yesterday,6,',
      'x,2125550100,2026-03-08 02:30:00,6,',
      'x,2125550100,2026-11-23 10:00:00,long,',
      'x,"2125550100,2026-11-23 10:00:00,6,',
      'x,2125550100,2026-02-30 10:00:00,6,',
      'x,2.12556E+09,2026-11-23 10:00:00,6,',
      'x,2125550100',
    ]
    const { code, out } = await reconcile(
      'bad.csv',
      `${good}${bad.join('\n')}`,
      '--zone',
      zone,
      '--json',
    )
    const report = JSON.parse(out) as FoundReport
    expect(report.mismatches).toEqual([])
    const rules = [
      /^5 number is not one telephone number/,
      /^6 number 11 digits are not a North American number/,
      /^7 time must be a date with a time, such as 2026-11-23 17:00:00, /,
      /^8 time does not exist in America\/New_York: the clocks were set forward then$/,
      /^9 duration must be seconds, M:SS or H:MM:SS$/,
      /^10 row has a misplaced or unclosed quote$/,
      /^11 time is not a time that exists$/,
      /^12 number is not one telephone number/,
      /^13 duration|^13 time is missing: the row has 2 cells$/,
    ]
    const found = report.unreadable.map(({ line, rule }) => `${line} ${rule}`)
    expect(found).toEqual(rules.map((rule) => expect.stringMatching(rule)))
    expect(code).toBe(2)
  })

  it.each([
    [
      'Called,When\n',
      [],
      "no column of call times, such as 'start', 'time' or 'date'; name it with --columns time=<header>",
    ],
    ['Who,Start\n', [], "no column 'number' or 'called' or 'callednumber'"],
    [
      'To,Dst,Start\n',
      [],
      "'To' and 'Dst' could each be the column number; choose one with --columns number=<header>",
    ],
    [
      'Who,Start\n',
      ['--columns', 'numbr=Who'],
      "--columns 'numbr': must be one of number, time, date, ",
    ],
    ['Who,Start\n', ['--columns', 'number'], "--columns 'number': must be <name>=<header>"],
    ['Who,Start\n', ['--columns', 'number=Whom'], "no column 'Whom'"],
    ['To,Start\n', ['--zone', 'Mars'], "--zone 'Mars': must be an IANA time zone"],
    ['To,Start\n', ['--slack', '1d'], "--slack '1d': must be a time such as 30s, 2m or 1h"],
    ['To,Start\n', ['--legs', '0'], "--legs '0': must be a whole number from 1 to 99"],
    ['To,Start\n', [], 'the file has no leg that can be read'],
    ['', [], 'is empty'],
    ['To,Start\n', ['--json', '--csv'], ''],
    [
      'To,Start\n',
      ['--from', '2026-11-24', '--to', '2026-11-23'],
      "--from '2026-11-24': must be before --to",
    ],
  ])('%j with %j is refused', async (text, args, message) => {
    const { code, err, out } = await reconcile('refused.csv', text, ...args)
    const isUsage = !/^no column|^'To'|^the file has no leg|^is empty/.test(message)
    if (isUsage) expect([code, out, err]).toEqual([64, '', expect.stringContaining(message)])
    else expect([code, out]).toEqual([3, expect.stringMatching(/^NOT CHECKED: .*\n$/)])
    expect(out + err).toContain(message)
  })

  it('that does not exist is NOT CHECKED', async () => {
    const settings = { dataDir: running.dataDir }
    const args = ['evidence', 'reconcile', join(folder, 'none.csv')]
    expect(await runCommand(registerEvidence, args, settings)).toMatchObject({ code: 3 })
    const text = 'To,Start\n2125550100,2026-11-23T15:00:00Z\n'
    const path = join(folder, 'one.csv')
    writeFileSync(path, text)
    const other = ['evidence', 'reconcile', path, '--account', 'typo']
    expect(await runCommand(registerEvidence, other, settings)).toMatchObject({
      code: 64,
      err: expect.stringContaining("account 'typo' not found (see: callgate accounts list)"),
    })
  })

  it('with columns of other names, times with zones, and the epoch', async () => {
    const [one, two, three] = legs.slice(2, 5) as [Leg, Leg, Leg]
    const rows = [
      `${new Date(one.at).toISOString()};${one.number}`,
      `${two.at};${two.number}`,
      `${Math.floor(three.at / 1000)};${three.number}`,
    ]
    const text = `Angefangen;Wen\n${rows.join('\n')}\n`
    const { code, out } = await reconcile(
      'other.csv',
      text,
      '--columns',
      'number=Wen,time=Angefangen',
    )
    expect(out).toContain('\n0 legs have their allow by its id, 3 by number and time\n')
    expect(code).toBe(0)
  })
})

describe('the records of', () => {
  const rows: readonly (readonly [string, string, string, readonly string[]])[] = [
    [
      'Bandwidth',
      'AccountNumber,CallStartDateTime,CallEndDateTime,CallType,CallSource,CallDestination,Duration,CallID\n1,2026/11/28 3:38:54 PM,2026/11/28 3:39:24 PM,INTERSTATE,12125550199,2125550101,30,58\n',
      '2026-11-28T20:38:54Z',
      ['--zone', 'America/New_York'],
    ],
    [
      'Twilio',
      'Call Sid,From,To,Start Time,Duration,Direction\nCA1,+12125550199,+12125550101,"Sat, 28 Nov 2026 20:38:54 +0000",30,outbound-api\nCA2,+12125550102,+12125550199,"Sat, 28 Nov 2026 20:39:54 +0000",30,inbound\n',
      '2026-11-28T20:38:54Z',
      [],
    ],
    [
      'the console of Twilio',
      'Call Sid,To,Start Time,Direction\nCA1,+12125550101,15:38:54 EST 2026-11-28,Outgoing API\nCA2,+12125550199,15:39:54 EST 2026-11-28,Incoming\n',
      '2026-11-28T20:38:54Z',
      [],
    ],
    [
      '3CX',
      'Call Time,Call ID,From,To,Direction,Status,Ringing,Talking\n2026-11-28 15:38:54,1,101,2125550101,Outbound,Answered,00:00:05,00:00:25\n2026-11-28 15:39:54,2,2125550102,101,Inbound,Answered,00:00:05,00:00:25\n',
      '2026-11-28T20:38:54Z',
      ['--zone', 'America/New_York'],
    ],
    [
      'Five9',
      'CALL ID,TIMESTAMP,CALL TYPE,ANI,DNIS,CALL TIME,BILL TIME (ROUNDED)\n1,"Fri, 20 Nov 2026 14:05:10",Outbound,2125550199,2125550101,00:01:12,00:01:18\n2,"Fri, 20 Nov 2026 14:09:44",Inbound,2125550102,2125550199,00:00:40,00:00:42\n',
      '2026-11-20T22:05:10Z',
      ['--zone', 'America/Los_Angeles'],
    ],
  ]
  it.each(rows)('%s are read, without what came in', async (name, text, startsAt, more) => {
    const { out } = await reconcile('carrier.csv', text, '--json', ...more)
    const { legs, mismatches, inbound, unreadable } = JSON.parse(out)
    const found = mismatches.flatMap(({ leg }: FoundMismatch) => leg ?? [])
    expect({ legs, inbound, unreadable }).toEqual({
      legs: 1,
      inbound: name === 'Bandwidth' ? 0 : 1,
      unreadable: [],
    })
    expect(found).toMatchObject([{ dialed: expect.stringMatching(/2125550101$/), startsAt }])
  })

  it('contacts are no records of calls', async () => {
    const text = 'Phone,Created\n2125550101,2026-01-14T15:12:08-05:00\n'
    expect((await reconcile('contacts.csv', text)).out).toContain('no column of call times')
  })
})

interface FoundMismatch {
  readonly leg?: { readonly dialed: string; readonly startsAt: string }
}
