/** What the API says of the calling rules, against what decisions are made by. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RulesBody } from '../../src/api/calling-hours/rules.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const decided = { decidedBy: 'J. Doe, counsel', on: '2026-11-01' }

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_GATE_EXCEPTIONS: JSON.stringify([
        { id: 'or-customer', account: 'main', ...decided },
        { id: 'ut-consent', account: 'main', project: 'SALES', ...decided },
      ]),
    },
  })
})
afterAll(() => running.end())

async function read(query: string, key?: string): Promise<RulesBody> {
  const response = await running.get(`/v1/rules?${query}`, key)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text) as RulesBody
}

const findValue = ({ chosen }: RulesBody, rule: string) =>
  chosen?.rules.find((row) => row.rule === rule)?.value

describe('GET /v1/rules', () => {
  it('has the hours of each region on a day', async () => {
    const { regions, chosen, date } = await read('')
    expect(chosen).toBeNull()
    expect(date).toBe('2026-11-23')
    expect(regions).toHaveLength(69)
    expect(regions).toContainEqual({
      ...{ region: 'FL', name: 'Florida', country: 'US' },
      ...{ hours: '08:00-20:00', closedBy: null },
    })
  })

  it('has the week around a day, from Monday to Sunday', async () => {
    const { chosen } = await read('region=ut&date=2026-11-29')
    expect(chosen?.week.map(({ date }) => date)).toEqual(
      [23, 24, 25, 26, 27, 28, 29].map((day) => `2026-11-${day}`),
    )
    expect(chosen?.week[0]).toMatchObject({ closedBy: null })
    expect(chosen?.week[3]).toMatchObject({ opensAt: null, closesAt: null })
    expect(chosen?.week[3]?.closedBy).toMatch(/thanksgiving/i)
  })

  it.each([
    ['CA', '08:00-21:00', '09:00-21:00'],
    ['AR', '08:00-21:00', 'none'],
  ])('has the narrower hours of machines in %s', async (code, forPeople, forMachines) => {
    for (const [kind, hours] of [
      ['manual', forPeople],
      ['autodialed', forMachines],
      ['ai', forMachines],
    ]) {
      const { regions } = await read(`kind=${kind}`)
      expect(regions.find(({ region }) => region === code)?.hours, kind).toBe(hours)
    }
  })

  it('compares two days, either way around', async () => {
    const { chosen } = await read('region=OR&date=2025-12-31&compareDate=2026-01-01')
    expect(chosen?.compared).toMatchObject({ date: '2026-01-01' })
    const changes = chosen?.compared?.changes ?? []
    expect(changes.map(({ rule }) => rule)).toEqual([
      ...['hours', 'frequencyRules.or-24h', 'exceptions.or-customer'],
    ])
    expect(changes[0]?.before?.value).toBe('every day 08:00-21:00')
    expect(changes[0]?.after?.value).toBe('every day 08:00-20:00')
    expect(chosen?.next).toEqual(chosen?.compared)
    const reversed = await read('region=OR&date=2026-01-01&compareDate=2025-12-31')
    expect(reversed.chosen?.compared?.changes).toContainEqual({
      ...{ region: 'OR', rule: 'frequencyRules.or-24h', after: null },
      before: changes[1]?.after,
    })
  })

  it('shows what was decided for calls of an account or project only to keys for them', async () => {
    const { main } = running.keys
    expect(findValue(await read('region=OR', main), 'exceptions.or-customer')).toContain('J. Doe')
    expect(findValue(await read('region=UT', main), 'exceptions.ut-consent')).toContain('J. Doe')
    for (const region of ['OR', 'UT']) {
      const body = await read(`region=${region}`)
      expect(JSON.stringify(body)).not.toContain('J. Doe')
      expect(JSON.stringify(body)).toContain('off (gate.exceptions)')
    }
    await running.callgate.projects.create({ accountId: 'main', code: 'OTHER', name: 'Other' })
    const { key } = await running.callgate.keys.create({
      ...{ accountId: 'main', role: 'Agent', label: '', projects: ['OTHER'] },
    })
    expect(JSON.stringify(await read('region=UT', key))).not.toContain('J. Doe')
  })

  it.each([
    ['region=ZZ', 'region', 'must be the postal code of a state, territory or province'],
    ['date=2026-02-30', 'date', 'must be a date YYYY-MM-DD that exists'],
    ['date=11/23/2026', 'date', 'must be a date YYYY-MM-DD that exists'],
    ['region=FL&compareDate=soon', 'compareDate', 'must be a date YYYY-MM-DD that exists'],
    ['kind=robot', 'kind', 'must be one of manual, autodialed, ai'],
    ['state=FL', 'state', 'is an unknown field'],
  ])('refuses %s', async (query, field, rule) => {
    const response = await running.get(`/v1/rules?${query}`)
    expect(response.status).toBe(400)
    const text = await response.text()
    expect(text).toContain(field)
    expect(text).toContain(rule)
  })
})
