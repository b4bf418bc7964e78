/** A callgate in front of another: it decides as the other would, for real accounts everywhere. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { refreshData } from '../../../src/commands/serve/data-watch.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { type CallKind, callKinds } from '../../../src/domain/decision.js'
import { listAreaCodes } from '../../../src/law/area-codes.js'
import { ofEachQuestion, providerVariables } from '../../support/remote-callgate.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'
import { instant } from '../../support/test-clock.js'

let back: TestCallgate
let front: TestCallgate

/** A number of every area code; of some more, what lists and records say of it. */
const plain = listAreaCodes().map((areaCode) => `${areaCode}7361000`)
const special = {
  'us-dnc': ['2127361001', '2137361001', '2127361003'],
  litigators: ['2127361002'],
  optedOut: ['2127361004', '2127361005', '4167361004'],
  consent: ['2127361003', '2127361005', '3177361006', '4167361006'],
}

/** Thousands are judged at once. */
const patient = { CALLGATE_GATE_DEADLINE_MS: '20000' }

beforeAll(async () => {
  back = await openTestCallgate({ environment: patient })
  const folder = getListsFolder(back.callgate.settings)
  const clock = { now: () => instant('2026-11-01T00:00:00Z') }
  const lists = { 'us-dnc': special['us-dnc'], 'canada-dnc': ['4167361001'] }
  for (const [name, numbers] of Object.entries({ ...lists, litigators: special.litigators })) {
    const file = join(back.dataDir, `${name}.txt`)
    writeFileSync(file, `${numbers.join('\n')}\n`)
    const areaCodes = name === 'litigators' ? {} : { areaCodes: 'all' as const }
    await importList({ name, files: [file], folder, asOf: clock.now(), clock, ...areaCodes })
  }
  await refreshData(back.callgate)
  const deadlines = ofEachQuestion('DEADLINE_MS', '20000')
  const settings = { NAME: 'back', BASE_URL: back.url, LOGIN_ID: back.keys.main, ...deadlines }
  front = await openTestCallgate({
    environment: {
      ...patient,
      CALLGATE_SOURCE_KIND: 'remote',
      ...providerVariables('PROVIDER', settings),
    },
  })
})
afterAll(async () => {
  await front.end()
  await back.end()
})

interface Call {
  readonly dialed: string
  readonly callKind: CallKind
  readonly projectId?: string
  readonly campaignId?: string
  readonly postalCode?: string
}

async function reasonAt({ callgate }: TestCallgate, call: Call): Promise<string> {
  const { reason } = await callgate.gate.preview({ ...call, accountId: 'main', via: 'http' })
  return reason
}

/** What is decided otherwise in front, as lines to read. */
async function differences(at: string, calls: readonly Call[]): Promise<readonly string[]> {
  await Promise.all([back.setBack(instant(at)), front.setBack(instant(at))])
  const lines = await Promise.all(
    calls.map(async (call) => {
      const [there, here] = await Promise.all([reasonAt(back, call), reasonAt(front, call)])
      return there === here ? [] : [`${JSON.stringify(call)}: ${there} there, ${here} here`]
    }),
  )
  return lines.flat()
}

const ofEveryKind = (dialed: string): readonly Call[] =>
  callKinds.map((callKind) => ({ dialed, callKind }))

const instants = [
  '2026-11-23T17:00:00Z',
  '2026-11-23T13:30:00Z',
  '2026-11-24T01:30:00Z',
  '2026-11-24T02:30:00Z',
  '2026-11-24T05:00:00Z',
  '2026-11-22T19:00:00Z',
  '2026-11-26T18:00:00Z',
  '2026-07-04T20:00:00Z',
  '2026-11-01T06:30:00Z',
]

describe('a callgate in front of another decides the same', () => {
  it.each(instants)('in every area code, for every kind of call, at %s', async (at) => {
    expect(await differences(at, plain.flatMap(ofEveryKind))).toEqual([])
  })

  it.each(instants.slice(0, 5))('of listed and consented numbers at %s', async (at) => {
    const { main } = back.keys
    for (const number of special.optedOut) {
      await back.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`, main)
    }
    const ebrList = special.consent.map((phoneNumber) => ({
      phoneNumber,
      type: 'P',
      dateOfLastContact: '10/20/2026',
    }))
    await back.postJson('/app/main/rpc/ebr', { ebrList }, main)
    const numbers = Object.values(special).flat()
    expect(await differences(at, numbers.flatMap(ofEveryKind))).toEqual([])
  })

  it.each(['2125550106', '8005551212', '8887361000', '2129990000', '9005551212', '2110000000'])(
    'of the odd number %s',
    async (dialed) => {
      expect(await differences('2026-11-23T17:00:00Z', ofEveryKind(dialed))).toEqual([])
    },
  )

  it('with a project of the other: its hours narrow, and one that is not there is none', async () => {
    const { projects } = back.callgate
    await projects.create({ accountId: 'main', code: 'LATE', name: 'Late' })
    const hours = { monFri: '13:00-21:00', sat: 'none', sun: 'none' }
    await projects.setHours({ accountId: 'main', code: 'LATE' }, 'NY', hours)
    for (const [at, projectId, reason] of [
      ['2026-11-23T17:00:00Z', 'LATE', 'outside-calling-hours'],
      ['2026-11-23T19:00:00Z', 'LATE', 'permitted'],
    ] as const) {
      const call = { dialed: '2127369000', callKind: 'manual', projectId } as const
      expect(await differences(at, [call])).toEqual([])
      expect(await reasonAt(front, call)).toBe(reason)
    }
    const unknown = { dialed: '2127369000', callKind: 'manual', projectId: 'NOPE' } as const
    expect((await reasonAt(front, unknown)) === 'permitted').toBe(false)
  })
})
