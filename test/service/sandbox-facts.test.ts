/** The shipped sandbox lines as books: every kind of look-up answer has a line that shows it. */
import { describe, expect, it } from 'vitest'
import { labelIssuers } from '../../src/domain/spam-labels.js'
import { formatDay } from '../../src/domain/time/dates.js'
import { Sandbox } from '../../src/service/sandbox/sandbox.js'
import { SandboxFacts } from '../../src/service/sandbox/sandbox-facts.js'
import { sandboxFile, testSandbox } from '../support/scrub-parts.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const now = '2026-11-20T12:00:00Z'
const facts = new SandboxFacts({ sandbox: testSandbox(testClock(now)) })
const today = Math.floor(instant(now) / 86_400_000)
const lineNames = [...sandboxFile.lines.keys()]

async function about(line: string) {
  const number = n(`212555${line}`)
  const identity = await facts.identity(number)
  const status = await facts.lineStatus(number)
  const labels = (await facts.labels([number], labelIssuers)).get(number)
  const labelled = labels && labelIssuers.filter((source) => labels[source])
  return [
    identity ? `${identity.phoneType} ${identity.ocn}` : '-',
    status?.status ?? '-',
    (await facts.resOrBusiness(number)) ?? '-',
    labelled?.join(' ') ?? '-',
    (await facts.complaints([number])).get(number)?.length ?? 0,
  ]
}

const plainLandline = ['L ZZ01', 'connected', 'R', '', 0]
const plainWireless = ['W ZZ02', 'connected', 'R', '', 0]

const table: readonly (readonly [string, readonly unknown[]])[] = [
  ['0100', plainLandline],
  ['0101', plainWireless],
  ['0102', ['V ZZ03', 'connected', 'B', '', 0]],
  ['0103', plainLandline],
  ['0104', plainLandline],
  ['0105', plainWireless],
  ['0106', plainWireless],
  ['0107', plainLandline],
  ['0108', plainWireless],
  ['0109', plainLandline],
  ['0110', plainWireless],
  ['0111', plainLandline],
  ['0112', plainLandline],
  ['0113', plainWireless],
  ['0114', ['L ZZ01', 'disconnected', 'U', '', 0]],
  ['0115', ['L ZZ01', 'busy', 'B', 'CarrierA CarrierC', 2]],
  ['0116', ['V ZZ03', 'connected-75', 'B', labelIssuers.join(' '), 1]],
  ['0117', ['W ZZ02', 'unreachable', 'R', '', 0]],
  ['0118', ['W ZZ02', 'disconnected-70', 'U', '', 0]],
  ['0119', ['-', '-', '-', '-', 0]],
  ['0130', plainWireless],
  ['0131', ['L ZZ01', 'disconnected', 'U', '', 0]],
  ['0132', ['-', '-', '-', '-', 0]],
]

describe('the look-ups of the sandbox lines', () => {
  it.each(table)('%s', async (line, expected) => {
    expect(await about(line)).toEqual(expected)
  })

  it('are all in the table', () => {
    expect(table.map(([line]) => line)).toEqual(lineNames)
  })

  it.each([
    ['0120', 'a line without facts'],
    ['0199', 'another'],
  ])('%s: nothing, as %s', async (line) => {
    expect(await about(line)).toEqual(['-', '-', '-', '-', 0])
    expect(await facts.reassigned([{ number: n(`212555${line}`), consentOn: today }])).toEqual([
      undefined,
    ])
  })

  it('are not those of a real number', async () => {
    expect(await facts.identity(n('2127365001'))).toBeUndefined()
    expect(await facts.lineStatus(n('2127365001'))).toBeUndefined()
  })
})

const yes = (own: boolean | null) => ({ national: true, own, hasSafeHarbor: false })
const harbour = (own: boolean | null) => ({ national: false, own, hasSafeHarbor: true })

describe('whether a line was reassigned since a consent so many days ago', () => {
  it.each<[string, number, unknown]>([
    ['0100', 400, harbour(false)],
    ['0113', 100, yes(true)],
    ['0113', 92, yes(true)],
    ['0113', 91, yes(false)],
    ['0113', 90, yes(false)],
    ['0113', 89, harbour(false)],
    ['0114', 10, { national: false, own: true, hasSafeHarbor: false }],
    ['0114', 9, harbour(false)],
    ['0117', 30, harbour(null)],
    ['0118', 30, { national: null, own: false, hasSafeHarbor: false }],
    ['0119', 30, undefined],
  ])('%s, %i days: %j', async (line, daysAgo, expected) => {
    const asked = [{ number: n(`212555${line}`), consentOn: today - daysAgo }]
    expect(await facts.reassigned(asked)).toEqual([expected])
  })
})

describe('ages of the facts', () => {
  it('count back from the instant the sandbox stands at', async () => {
    const at = instant('2031-03-04T17:00:00Z')
    const file = sandboxFile
    const standing = new SandboxFacts({ sandbox: new Sandbox({ file, clock: testClock(now), at }) })
    const identity = await standing.identity(n('2125550100'))
    expect(formatDay(identity?.on ?? 0)).toBe('2031-03-03')
    const number = n('4165550115')
    expect((await standing.complaints([number])).get(number)?.[0]).toEqual({
      id: 'sandbox-4165550115-1',
      phone: number,
      createdDate: '02/27/2031 19:30:00',
      violationDate: '02/27/2031 18:05:00',
      city: 'Exampleville',
      state: 'NY',
      areaCode: '416',
      subject: 'Calls pretending to be government',
      recordedMessageOrRobocall: 'Y',
    })
  })

  it('put the newest complaint first', async () => {
    const number = n('2125550115')
    const filed = (await facts.complaints([number])).get(number) ?? []
    expect(filed.map(({ createdDate }) => createdDate)).toEqual([
      '11/15/2026 19:30:00',
      '10/11/2026 19:30:00',
    ])
    expect(new Set(filed.map(({ id }) => id)).size).toBe(filed.length)
  })
})

it('labels only what is wanted, and only numbers with facts', async () => {
  const numbers = [n('2125550115'), n('2125550119'), n('2125550100'), n('2127365001')]
  const labels = await facts.labels(numbers, ['CarrierA', 'CarrierD'])
  expect([...labels]).toEqual([
    ['2125550115', { CarrierA: true, CarrierD: false }],
    ['2125550100', { CarrierA: false, CarrierD: false }],
  ])
})

it('covers the sandbox account: no other has facts of these lines', () => {
  const sandbox = testSandbox(testClock(now))
  expect(sandbox.line(n('2125550115'))?.lookups?.labels).toEqual([...['CarrierA', 'CarrierC']])
})
