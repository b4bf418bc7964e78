import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { callKinds, sandboxLines } from '../support/sandbox-lines.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})

afterAll(async () => {
  await running.end()
})

async function decide(body: Record<string, unknown>, key?: string): Promise<DecisionReply> {
  const response = await running.postJson('/v1/decisions', body, key)
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionReply
}

const noon = '2026-11-23T17:00:00Z'

describe('the sandbox lines at noon on a Monday in New York', () => {
  for (const { line, reasons } of sandboxLines) {
    callKinds.forEach((callKind, index) => {
      it(`212-555-${line} ${callKind}: ${reasons[index]}`, async () => {
        const decision = await decide({ number: `212-555-${line}`, callKind, at: noon })
        expect(decision.reason).toBe(reasons[index])
        expect(decision.decision).toBe(reasons[index] === 'permitted' ? 'allow' : 'block')
        const every = decision.findings.filter(({ check }) => check !== 'reassigned')
        expect(every).toHaveLength(4)
        expect(decision.whatIf).toBe(true)
      })
    })
  }
})

describe('time', () => {
  it('a consented number is blocked at night, and the answer says from when it is not', async () => {
    const at = '2026-11-24T03:00:00Z'
    expect(await decide({ number: '2125550106', callKind: 'ai', at })).toMatchObject({
      decision: 'block',
      reason: 'outside-calling-hours',
      nextAllowedAt: '2026-11-24T13:00:00Z',
    })
  })

  it('a block for another reason has no nextAllowedAt', async () => {
    const at = '2026-11-24T03:00:00Z'
    const decision = await decide({ number: '2125550103', callKind: 'manual', at })
    expect(decision.nextAllowedAt).toBeUndefined()
  })

  it('Alabama bars Sunday calls, and the answer cites its rule', async () => {
    const at = '2026-11-22T18:00:00Z'
    const decision = await decide({ number: '2055550100', callKind: 'manual', at })
    expect(decision).toMatchObject({ decision: 'block', reason: 'outside-calling-hours' })
    expect(decision.message).toContain('Ala. Admin. Code r. 770-X-5-.17')
    expect(decision.message).toContain('place by area code alone')
  })

  it('911 passes at any hour, without a look-up', async () => {
    for (const at of [noon, '2026-11-24T08:00:00Z', '2026-12-25T03:00:00Z']) {
      expect(await decide({ number: '911', callKind: 'ai', at })).toMatchObject({
        decision: 'allow',
        reason: 'service-code',
        findings: [],
      })
    }
  })

  it('the machine’s clock counts when no instant is given, and an allow ends with the window', async () => {
    running.clock.at = Date.UTC(2026, 10, 24, 1, 59, 30)
    try {
      expect(await decide({ number: '2125550100', callKind: 'manual' })).toMatchObject({
        decision: 'allow',
        whatIf: false,
        validUntil: '2026-11-24T02:00:00Z',
      })
      running.clock.at = Date.UTC(2026, 10, 24, 2)
      expect((await decide({ number: '2125550100', callKind: 'manual' })).decision).toBe('block')
    } finally {
      await running.setBack(mondayNoon)
    }
  })

  it('a state that bars recorded voices bars AI calls whatever the consent', async () => {
    const number = '2065550106'
    const at = '2026-11-23T20:00:00Z'
    expect((await decide({ number, callKind: 'manual', at })).decision).toBe('allow')
    const ai = await decide({ number, callKind: 'ai', at })
    expect(ai).toMatchObject({ decision: 'block', reason: 'outside-calling-hours' })
    expect(ai.message).toContain('RCW 80.36.400')
  })

  it('a postal code moves the place; for AI it only adds one', async () => {
    const at = '2026-11-24T02:30:00Z'
    const there = { number: '2125550106', postalCode: '90210', at }
    expect((await decide({ ...there, callKind: 'manual' })).decision).toBe('allow')
    expect((await decide({ ...there, callKind: 'ai' })).reason).toBe('outside-calling-hours')
  })

  it.each([
    ['09001', 'of the armed forces in Europe'],
    ['34001-1234', 'of the armed forces in the Americas'],
    ['96201', 'of the armed forces in the Pacific'],
    ['96940', 'of Palau'],
    ['H0H 0H0', 'of Santa Claus'],
  ])('the place of postal code %s, %s, is unknown: a machine may not call', async (postalCode) => {
    const there = { number: '2125550106', postalCode, at: '2026-11-23T17:00:00Z' }
    for (const callKind of ['ai', 'autodialed']) {
      const decided = await decide({ ...there, callKind })
      expect(decided).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      expect(decided.message).toContain('postalCode has no known place')
      expect(decided.message).toContain(`: ${postalCode}`)
      const finding = decided.findings.find(({ check }) => check === 'calling-hours')
      expect(finding).toMatchObject({ verdict: 'unknown' })
    }
    const manual = await decide({ ...there, callKind: 'manual' })
    expect(manual.decision).toBe('allow')
    const { detail } = manual.findings.find(({ check }) => check === 'calling-hours') ?? {}
    expect(detail).toContain('the postal code has no known place')
  })

  it.each([
    ['2108', '02108'],
    ['90001.0', '90001'],
    ['2108-1234', '02108-1234'],
  ])('the postal code %s is read as %s', async (postalCode, read) => {
    const decided = await decide({ number: '2125550106', callKind: 'manual', postalCode })
    expect(decided.postalCode).toBe(read)
    const query = new URLSearchParams({ number: '2125550106', kind: 'ai', postal: postalCode })
    expect((await running.get(`/v1/predial?${query}`)).status).toBe(200)
  })
})

describe('from when a call may be placed', () => {
  const emergencies = JSON.stringify([
    { region: 'NY', from: '2026-12-01T18:00:00Z', until: '2026-12-01T22:00:00Z', name: 'storm' },
    { region: 'FL', from: '2026-12-01T18:00:00Z', name: 'flood' },
  ])
  let stormy: TestCallgate

  beforeAll(async () => {
    stormy = await openTestCallgate({
      environment: { CALLGATE_CALLING_HOURS_EMERGENCIES: emergencies },
    })
    await stormy.postJson('/app/main/rpc/ebr', {
      ebrList: [{ phoneNumber: '2125550101', type: 'S', dateOfLastContact: '05/24/2025' }],
    })
  })

  afterAll(async () => {
    await stormy.end()
  })

  const cases: readonly (readonly [string, string, string, string, string | undefined])[] = [
    [
      'at night',
      '2125550100',
      '2026-12-02T04:00:00Z',
      'outside-calling-hours',
      '2026-12-02T13:00:00Z',
    ],
    [
      'before a storm of that day',
      '2125550100',
      '2026-12-01T12:30:00Z',
      'restricted-day',
      '2026-12-01T22:00:00Z',
    ],
    [
      'in the open hours before it',
      '2125550100',
      '2026-12-01T14:00:00Z',
      'restricted-day',
      '2026-12-01T22:00:00Z',
    ],
    [
      'in the storm',
      '2125550100',
      '2026-12-01T19:00:00Z',
      'restricted-day',
      '2026-12-01T22:00:00Z',
    ],
    [
      'before an emergency without an end',
      '3055550100',
      '2026-12-01T14:00:00Z',
      'restricted-day',
      undefined,
    ],
    [
      'when a record has expired by then',
      '2125550101',
      '2026-11-24T04:00:00Z',
      'outside-calling-hours',
      undefined,
    ],
  ]
  for (const [what, number, at, reason, nextAllowedAt] of cases) {
    it(`${what}: ${nextAllowedAt ?? 'not told'}`, async () => {
      const body = { number, callKind: 'manual', at }
      const response = await stormy.postJson('/v1/decisions', body)
      const decision = (await response.json()) as DecisionReply
      expect(decision).toMatchObject({ decision: 'block', reason })
      expect(decision.nextAllowedAt).toBe(nextAllowedAt)
      if (nextAllowedAt === undefined) return
      const then = await stormy.postJson('/v1/decisions', { ...body, at: nextAllowedAt })
      expect(((await then.json()) as DecisionReply).decision).toBe('allow')
    })
  }
})

describe('a change', () => {
  it('a further opt-out counts, though the number was on the list under a newer permission', async () => {
    const number = '3125550112'
    const ask = async () => (await decide({ number, callKind: 'ai' })).reason
    running.clock.at = Date.UTC(2026, 10, 23, 18)
    expect(await ask()).toBe('permitted')
    await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`)
    expect(await ask()).toBe('consent-revoked')
    await running.setBack(mondayNoon)
  })

  it('to the internal list or to consent is seen by the very next decision', async () => {
    const number = '2135550106'
    const ask = async () => (await decide({ number, callKind: 'ai' })).reason
    const list = (action: string) =>
      running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=${action}`)
    running.clock.at = Date.UTC(2026, 10, 23, 20)
    expect(await ask()).toBe('permitted')
    expect(await ask()).toBe('permitted')
    expect((await list('add')).status).toBe(200)
    expect(await ask()).toBe('consent-revoked')
    expect((await list('remove')).status).toBe(200)
    const consent = await running.postJson('/app/main/rpc/ebr', {
      ebrList: [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/23/2026' }],
    })
    expect(await consent.json()).toEqual({ success: true })
    expect(await ask()).toBe('permitted')
    await running.setBack(mondayNoon)
  })
})

describe('a real account', () => {
  it('without a national list is blocked, and told which import is missing', async () => {
    const decision = await decide({ number: '2127365000', callKind: 'manual' }, running.keys.main)
    expect(decision).toMatchObject({ decision: 'block', reason: 'list-not-covering' })
    expect(decision.message).toContain('callgate import us-dnc')
  })

  it('never sees the sandbox’s numbers', async () => {
    const decision = await decide({ number: '2125550106', callKind: 'ai' }, running.keys.main)
    expect(decision.decision).toBe('block')
  })

  it('is judged by the lists it has imported, at once', async () => {
    const folder = getListsFolder(running.callgate.settings)
    const file = join(running.dataDir, 'registry.txt')
    writeFileSync(file, '212,7365001\n2127365002\n')
    const clock = { now: () => mondayNoon }
    const made = { files: [file], folder, asOf: mondayNoon, clock }
    await importList({ name: 'us-dnc', ...made })
    writeFileSync(file, '2127365003\n')
    await importList({ name: 'litigators', ...made })
    expect(running.callgate.data.lists.refresh()).toBe(true)
    running.callgate.changes.everythingChanged()
    const reasons = await Promise.all(
      ['2127365000', '2127365001', '2127365002', '2127365003', '3037365000'].map(
        async (number) => (await decide({ number, callKind: 'manual' }, running.keys.main)).reason,
      ),
    )
    expect(reasons).toEqual([
      'permitted',
      'national-dnc',
      'national-dnc',
      'litigator',
      'list-not-covering',
    ])
    const unknownLine = { number: '2127365000', callKind: 'autodialed' }
    expect((await decide(unknownLine, running.keys.main)).reason).toBe('no-consent')
  })
})

describe('records', () => {
  it('a decision can be read again by its own account and no other', async () => {
    const made = await decide({ number: '2125550100', callKind: 'manual', reference: 'lead 7' })
    const read = await running.get(`/v1/decisions/${made.id}`)
    expect(await read.json()).toEqual(made)
    const foreign = await running.get(`/v1/decisions/${made.id}`, running.keys.main)
    expect(foreign.status).toBe(404)
    expect(foreign.headers.get('content-type')).toContain('application/problem+json')
    expect((await running.get('/v1/decisions/none')).status).toBe(404)
  })

  it('shows with a decision what became of the call', async () => {
    const made = await decide({ number: '2125550100', callKind: 'manual' })
    const { journal } = running.callgate
    const dialledAt = running.clock.at + 1_250
    const [leg, handedOverAt] = ['PJSIP/carrier-a-0000001f', running.clock.at]
    journal.record(made.id, { state: 'handed-over', handedOverAt }, true)
    journal.record(made.id, { state: 'dialled', leg, dialledAt }, false)
    await journal.drain()
    const outcome = {
      state: 'dialled',
      handedOverAt: '2026-11-23T17:00:00Z',
      leg,
      dialledAt: '2026-11-23T17:00:01.250Z',
    }
    const read = await running.get(`/v1/decisions/${made.id}`)
    expect(await read.json()).toEqual({ ...made, outcome })
    expect((await running.get(`/v1/decisions/${made.id}`, running.keys.main)).status).toBe(404)
  })

  it('survive a restart, as do lists, consents and keys', async () => {
    const first = await openTestCallgate()
    const number = '3125550100'
    const made = (await (
      await first.postJson('/v1/decisions', { number, callKind: 'manual' })
    ).json()) as DecisionReply
    await first.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`)
    await first.postJson('/app/main/rpc/ebr', {
      ebrList: [{ phoneNumber: '3125550101', type: 'P', dateOfLastContact: '2026-11-01' }],
    })
    await first.stop()
    const second = await openTestCallgate({ dataDir: first.dataDir })
    const read = await second.get(`/v1/decisions/${made.id}`, first.keys.sandbox)
    expect(await read.json()).toEqual(made)
    const rows = await second.get(
      `/app/main/rpc/scrub?phoneList=${number},3125550101&version=8&output=json`,
      first.keys.sandbox,
    )
    expect(((await rows.json()) as { ResultCode: string }[]).map((row) => row.ResultCode)).toEqual([
      'P',
      'G',
    ])
    await second.end()
  })

  it('hold neither key nor number in the log', () => {
    const log = running.logLines.join('')
    expect(log).toContain('"message":"decision"')
    expect(log).not.toContain(running.keys.sandbox)
    expect(log).not.toContain(running.keys.main)
    expect(log).not.toMatch(/(?:212|213|205|206)\D{0,3}(?:555|736)\D{0,3}\d{4}(?!\d)/)
  })
})

describe('bad input', () => {
  const bad: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ callKind: 'ai' }, 'number: is required'],
    [{ number: 2125550100, callKind: 'ai' }, "number '2125550100'"],
    [{ number: '2125550100' }, 'callKind: is required'],
    [{ number: '2125550100', callKind: 'robot' }, "callKind 'robot'"],
    [{ number: '2125550100', callKind: 'ai', at: 'noon' }, "at 'noon': must be an instant"],
    [
      { number: '2125550100', callKind: 'ai', at: '2090-01-01T00:00:00Z' },
      "at '2090-01-01T00:00:00Z': must be within 50 years of today",
    ],
    [{ number: '2'.repeat(200), callKind: 'ai' }, 'must not be longer than 128 characters'],
    [{ number: '2125550100', callKind: 'ai', postalCode: 'x1' }, "postalCode 'x1'"],
    [{ number: '2125550100', callKind: 'ai', colour: 'red' }, "colour 'red': is an unknown field"],
    [{ number: '2125550100', callKind: 'ai', callerId: ['x'] }, 'callerId'],
  ]
  for (const [body, part] of bad) {
    it(`${JSON.stringify(body)} is a problem that says: ${part}`, async () => {
      const response = await running.postJson('/v1/decisions', body)
      expect(response.status).toBe(400)
      expect(response.headers.get('content-type')).toContain('application/problem+json')
      const problem = (await response.json()) as { status: number; detail: string; title: string }
      expect(problem).toMatchObject({ status: 400, title: 'Bad Request' })
      expect(problem.detail).toContain(part)
    })
  }

  it('lists every problem, and takes a kind in any letter case', async () => {
    const bad = { callKind: 'robot', colour: 'red', postalCode: '9' }
    const { detail } = (await (await running.postJson('/v1/decisions', bad)).json()) as {
      detail: string
    }
    for (const field of ['number', 'callKind', 'colour', 'postalCode']) {
      expect(detail).toContain(field)
    }
    const good = { number: '2125550100', callKind: 'Manual', at: noon }
    expect((await decide(good)).decision).toBe('allow')
  })

  it('a wrong method is 405', async () => {
    const response = await fetch(`${running.url}/v1/decisions`, { method: 'PUT' })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, GET')
  })

  it('an unknown project or campaign blocks, and is named', async () => {
    const campaign = { number: '2125550100', callKind: 'manual', campaignId: '99', at: noon }
    const { reason, message } = await decide(campaign)
    expect(reason).toBe('unknown-project')
    expect(message).toContain("campaignId '99'")
  })

  it('an unknown project blocks', async () => {
    expect(
      await decide({ number: '2125550100', callKind: 'manual', projectId: 'NONE', at: noon }),
    ).toMatchObject({ decision: 'block', reason: 'unknown-project' })
  })

  it('a missing or wrong key is 401', async () => {
    expect((await running.postJson('/v1/decisions', {}, 'wrong')).status).toBe(401)
    expect((await fetch(`${running.url}/v1/decisions/x`)).status).toBe(401)
  })
})

describe('the pre-dial line', () => {
  const lineOf = async (query: string, key: string | undefined = running.keys.sandbox) => {
    const headers: Record<string, string> = key === undefined ? {} : { loginId: key }
    const response = await fetch(`${running.url}/v1/predial${query}`, { headers })
    return `${response.status} ${await response.text()}`
  }

  it('allows with the number, the id and the end mark', async () => {
    expect(await lineOf('?number=%2B12125550100&kind=manual')).toMatch(
      /^200 allow:2125550100:[0-9a-z]{20,}:end\n$/,
    )
  })

  it('blocks with the reason', async () => {
    expect(await lineOf('?number=2125550100&kind=ai&ref=7')).toMatch(
      /^200 block:no-consent:[0-9a-z]{20,}:end\n$/,
    )
  })

  it('takes a form', async () => {
    const response = await fetch(`${running.url}/v1/predial`, {
      method: 'POST',
      headers: { loginId: running.keys.sandbox },
      body: new URLSearchParams({ number: '2125550104', kind: 'manual', postal: '10001' }),
    })
    expect(await response.text()).toMatch(/^block:internal-dnc:[0-9a-z]+:end\n$/)
  })

  const refused: readonly (readonly [string, string, string | undefined])[] = [
    ['no key', '401 block:unauthenticated:-:end\n', undefined],
    ['a wrong key', '401 block:unauthenticated:-:end\n', 'wrong'],
  ]
  for (const [what, line, key] of refused) {
    it(`is a block line for ${what}`, async () => {
      const headers: Record<string, string> = key === undefined ? {} : { loginId: key }
      const response = await fetch(`${running.url}/v1/predial?number=2125550100&kind=manual`, {
        headers,
      })
      expect(`${response.status} ${await response.text()}`).toBe(line)
    })
  }

  for (const query of [
    '',
    '?number=2125550100',
    '?number=2125550100&kind=robot',
    '?number=2125550100&kind=manual&number=2125550101',
    '?number=2125550100&kind=manual&color=red',
    '?number=2125550100&kind=manual&postal=%27',
  ]) {
    it(`is a block line for the bad request '${query}'`, async () => {
      expect(await lineOf(query)).toBe('400 block:bad-request:-:end\n')
    })
  }

  it('is a block line for a wrong method, a wrong content type and a huge body', async () => {
    const send = async (init: RequestInit) => {
      const headers = { loginId: running.keys.sandbox, ...(init.headers as object) }
      const response = await fetch(`${running.url}/v1/predial`, { ...init, headers })
      return `${response.status} ${await response.text()}`
    }
    expect(await send({ method: 'DELETE' })).toBe('405 block:bad-request:-:end\n')
    const text = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }
    expect(await send(text)).toBe('415 block:bad-request:-:end\n')
    const huge = new URLSearchParams({ number: '2'.repeat(9_000_000) })
    expect(await send({ method: 'POST', body: huge })).toBe('413 block:bad-request:-:end\n')
  })

  const emergencies: readonly (readonly [string, RequestInit])[] = [
    ['?number=911', {}],
    ['?NUMBER=911&kind=a&kind=b', {}],
    ['?number=911&number=911', {}],
    ['?number=911', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['?number=sip%3A911%40pbx', { method: 'POST', body: new URLSearchParams({ kind: 'x' }) }],
    ['', { method: 'POST', body: new URLSearchParams({ Number: '911' }) }],
    ['?number=911', { method: 'POST', body: new URLSearchParams({ number: '' }) }],
    [
      '',
      {
        method: 'POST',
        body: '{"number":"911","x":1}',
        headers: { 'content-type': 'application/json' },
      },
    ],
  ]
  for (const [query, init] of emergencies) {
    it(`lets an emergency call pass whatever else it holds: ${query} ${init.method ?? 'GET'}`, async () => {
      for (const key of [running.keys.sandbox, 'wrong', undefined]) {
        const headers = { ...init.headers, ...(key === undefined ? {} : { loginId: key }) }
        const response = await fetch(`${running.url}/v1/predial${query}`, { ...init, headers })
        const id = key === running.keys.sandbox ? '[0-9a-z]{20,}' : '-'
        expect(await response.text()).toMatch(new RegExp(`^allow:911:${id}:end\\n$`))
        expect(response.status).toBe(200)
      }
    })
  }

  it('records of an emergency call what is known of it', async () => {
    const line = await lineOf('?number=911&kind=ai&ref=channel-7')
    const id = line.split(':')[2] ?? ''
    expect(await (await running.get(`/v1/decisions/${id}`)).json()).toMatchObject({
      number: '911',
      callKind: 'ai',
      reference: 'channel-7',
      via: 'predial',
    })
  })

  it('does not treat two different numbers as an emergency', async () => {
    expect(await lineOf('?number=911&number=2125550100&kind=manual')).toBe(
      '400 block:bad-request:-:end\n',
    )
  })

  const form = (fields: Readonly<Record<string, string>>): RequestInit => ({
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  const withMore: readonly (readonly [string, RequestInit])[] = [
    ['?number=911%3Bext%3D2125550105&kind=ai', {}],
    ['?number=988;2125550100&kind=ai', {}],
    ['?number=611%402125550105&kind=ai', {}],
    ['?number=sip:911;rn=%2B12125550105&kind=ai', {}],
    ['?kind=ai&number=911&PJSIP/2125550105@trunk', {}],
    ['?kind=ai&number=911&%D9%A2%D9%A1%D9%A2%D9%A5%D9%A5%D9%A5', {}],
    ['?number=911&kind=ai', form({ number: '2125550105' })],
    ['?number=2125550105&kind=ai', form({ number: '911' })],
    ['?kind=ai', form({ number: '911', 'PJSIP/2125550105@trunk': '' })],
  ]
  for (const [query, init] of withMore) {
    it(`takes 911 with another number for no emergency: ${query} ${init.method ?? 'GET'}`, async () => {
      for (const key of [running.keys.sandbox, 'wrong', undefined]) {
        const headers = new Headers(key === undefined ? {} : { loginId: key })
        const response = await fetch(`${running.url}/v1/predial${query}`, { ...init, headers })
        expect(await response.text()).toMatch(/^block:/)
      }
    })
  }
})

describe('what may be dialed', () => {
  it('is in every allow, the number as it was judged, and in its record', async () => {
    for (const [number, dial] of [
      ['+1 (212) 555-0106', '2125550106'],
      ['sip:12125550106@pbx.example.com;user=phone', '2125550106'],
      ['tel:911', '911'],
    ]) {
      const decision = await decide({ number, callKind: 'ai' })
      expect(decision).toMatchObject({ decision: 'allow', number: dial, dial, dialed: number })
      expect(await (await running.get(`/v1/decisions/${decision.id}`)).json()).toEqual(decision)
    }
  })

  it('is not in a block', async () => {
    for (const number of ['2125550103', '911;ext=2125550105', '+442071838750', '1911']) {
      const decision = await decide({ number, callKind: 'ai' })
      expect(decision.decision).toBe('block')
      expect(decision).not.toHaveProperty('dial')
    }
  })

  it('is never read from a part of what was handed in, and the answer says so', async () => {
    expect(await decide({ number: '2125550106;2125550105', callKind: 'ai' })).toMatchObject({
      reason: 'invalid-number',
      message: expect.stringMatching(/: is not one telephone number: must be digits/),
    })
  })
})

describe('operations', () => {
  it('liveness, readiness and metrics need no key', async () => {
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
    const ready = await fetch(`${running.url}/readyz`)
    expect(ready.status).toBe(200)
    expect(
      ((await ready.json()) as { checks: { name: string }[] }).checks.map(({ name }) => name),
    ).toEqual(['parts', 'records', 'database', 'calls', 'clock', 'lists', 'facts', 'numbering'])
    const metrics = await (await fetch(`${running.url}/metrics`)).text()
    for (const name of [
      'callgate_decisions_total{decision="block",reason="no-consent",kind="ai",via="predial"}',
      'callgate_decision_duration_seconds_count{via="http"}',
      'callgate_cache_requests_total{source="embedded",question="facts",result="hit"}',
      'callgate_source_requests_total{source="embedded",question="facts",outcome="answered"}',
      'callgate_api_requests_total{endpoint="decide",status="200"}',
      'callgate_records_pending 0',
      'callgate_build_info',
    ]) {
      expect(metrics).toContain(name)
    }
  })

  it('a damaged list is reported by readiness and blocks', async () => {
    const broken = await openTestCallgate()
    const folder = getListsFolder(broken.callgate.settings)
    const file = join(broken.dataDir, 'n.txt')
    writeFileSync(file, '2127365001\n')
    await importList({ name: 'us-dnc', files: [file], folder, clock: { now: () => mondayNoon } })
    writeFileSync(join(folder, 'us-dnc.cglist'), 'not a list')
    broken.callgate.data.lists.refresh()
    const ready = await broken.get('/readyz')
    expect(ready.status).toBe(503)
    const decision = (await (
      await broken.postJson(
        '/v1/decisions',
        { number: '2127365000', callKind: 'manual' },
        broken.keys.main,
      )
    ).json()) as DecisionReply
    expect(decision.decision).toBe('block')
    await broken.end()
  })

  it('sandbox.at moves the sandbox account and no other', async () => {
    const night = Date.UTC(2026, 10, 24, 8)
    const moved = await openTestCallgate({
      at: night,
      environment: { CALLGATE_SANDBOX_AT: noon },
    })
    const ask = async (key: string) => {
      const response = await moved.postJson(
        '/v1/decisions',
        { number: '2125550100', callKind: 'manual' },
        key,
      )
      return (await response.json()) as DecisionReply
    }
    expect(await ask(moved.keys.sandbox)).toMatchObject({
      decision: 'allow',
      decidedAt: '2026-11-24T08:00:00Z',
      judgedAt: noon,
      validUntil: '2026-11-23T17:01:00Z',
    })
    expect((await ask(moved.keys.main)).judgedAt).toBe('2026-11-24T08:00:00Z')
    await moved.end()
  })
})
