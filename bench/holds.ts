/**
 * The longest time that each bulk request blocks the event loop of a server, and how long decisions wait
 * meanwhile. The server runs in a separate process and measures itself; processor time is compared with
 * the clock, so that other programs on the machine do not count.
 */
import { join } from 'node:path'
import type { HoldReading } from './holds-probe.js'
import { figure, printTable, spreadOf } from './rounds.js'
import { serveCallgate } from './serving.js'

const rounds = 5
const count = 10_000
/** Decisions requested one after the other during each bulk request. */
const pauseMs = 5

interface BulkCall {
  readonly name: string
  readonly path: string
  readonly body: object
}

const areaCodes = ['212', '213', '214', '215', '216', '217', '218', '219', '201', '202']
const numbers = Array.from(
  { length: count },
  (_, index) => `${areaCodes[index % 10]}${2_000_000 + Math.floor(index / 10) * 7}`,
)
const phoneList = numbers.join(',')
const hours = (name: string, more: object = {}) => ({
  [name]: numbers.slice(0, 1_000).map((PhoneNumber) => ({ PhoneNumber, ...more })),
})
const records = numbers.map((phoneNumber) => ({
  phoneNumber,
  type: 'P',
  dateOfLastContact: '11/20/2026',
  referenceNum: 'bench',
}))

const calls: readonly BulkCall[] = [
  call('scrub, CSV', '/app/main/rpc/scrub', { phoneList }),
  call('scrub, JSON, version 8', '/app/main/rpc/scrub', { phoneList, version: 8, output: 'json' }),
  call('pdnc add', '/app/main/rpc/pdnc', { phoneList, actionType: 'add' }),
  call('pdnc status', '/app/main/rpc/pdnc', { phoneList, actionType: 'status' }),
  call('pdnc remove', '/app/main/rpc/pdnc', { phoneList, actionType: 'remove' }),
  call('ebr', '/app/main/rpc/ebr', { ebrList: records }),
  call('scrub, CSV, with ebrList', '/app/main/rpc/scrub', { phoneList, ebrList: records }),
  call('ebr remove', '/app/main/rpc/ebr/remove', { phoneList }),
  call('IsTimeLegalToCall', '/v1.5/GeoScrub/IsTimeLegalToCall', hours('IsTimeLegalToCall')),
  call(
    'LegalCallTimesForDate, 31 days',
    '/v1.5/GeoScrub/LegalCallTimesForDate',
    hours('LegalCallTimesForDate', { NumberOfDays: 31 }),
  ),
  call('reputation get', '/v1.4/reputation/get', numbers),
]

function call(name: string, path: string, body: object): BulkCall {
  return { name, path, body }
}

export async function benchHolds(): Promise<void> {
  const probe = join(import.meta.dirname, 'holds-probe.js')
  const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' }, { probe })
  try {
    const rows: string[][] = []
    for (const one of calls) rows.push(await measure(one, serving))
    printTable(
      [
        `${count} numbers, hours 1,000`,
        `hold ms, median of ${rounds}`,
        'least .. most',
        'median beside GC',
        'call ms',
        'decision p50 ms',
        'longest',
      ],
      rows,
    )
  } finally {
    await serving.end()
  }
}

interface Measured {
  readonly url: string
  readonly sandboxKey: string
  readonly ask: (message: 'reset' | 'read') => Promise<unknown>
}

async function measure({ name, path, body }: BulkCall, serving: Measured): Promise<string[]> {
  const readings: HoldReading[] = []
  const takes: number[] = []
  const waits: number[] = []
  const headers = { loginId: serving.sandboxKey, 'content-type': 'application/json' }
  for (let round = 0; round < rounds; round += 1) {
    await serving.ask('reset')
    let isOver = false
    const askedAt = performance.now()
    const bulk = fetch(`${serving.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    }).then(async (response) => {
      await response.arrayBuffer()
      takes.push(performance.now() - askedAt)
      isOver = true
      if (!response.ok) throw new Error(`${name}: ${response.status}`)
    })
    while (!isOver) {
      const startedAt = performance.now()
      const line = await fetch(`${serving.url}/v1/predial?number=3035550100&kind=manual`, {
        headers,
      })
      await line.text()
      waits.push(performance.now() - startedAt)
      await new Promise((resume) => setTimeout(resume, pauseMs))
    }
    await bulk
    readings.push((await serving.ask('read')) as HoldReading)
  }
  const { median, min, max } = spreadOf(readings.map(({ longestMs }) => longestMs))
  const besideGc = spreadOf(readings.map(({ longestBesideGcMs }) => longestBesideGcMs))
  const decisions = spreadOf(waits)
  return [
    name,
    figure(median),
    `${figure(min)} .. ${figure(max)}`,
    figure(besideGc.median),
    figure(spreadOf(takes).median),
    figure(decisions.median),
    figure(decisions.max),
  ]
}
