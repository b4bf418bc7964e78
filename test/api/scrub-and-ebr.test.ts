import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let campaign: number

beforeAll(async () => {
  running = await openTestCallgate()
  const { projects } = running.callgate
  await projects.create({ accountId: 'sandbox', code: 'OTHER', name: 'x' })
  campaign = await projects.createCampaign({
    accountId: 'sandbox',
    projectCode: 'OTHER',
    name: 'c',
  })
})
afterAll(() => running.end())

const consent = (phoneNumber: string) => ({
  phoneNumber,
  type: 'P',
  dateOfLastContact: '11/20/2026',
})

const scrub = (body: object) =>
  running.postJson('/app/main/rpc/scrub', { version: '8', output: 'json', ...body })

async function letters(body: object): Promise<string> {
  const response = await scrub(body)
  expect(response.status).toBe(200)
  const rows = (await response.json()) as { ResultCode: string; EBRType: string }[]
  return rows.map(({ ResultCode, EBRType }) => ResultCode + EBRType).join(' ')
}

describe('scrub and add EBR in one call', () => {
  it('stores the records and judges with them', async () => {
    const phoneList = '2125550100,2125550101'
    expect(await letters({ phoneList })).toBe('C W')
    expect(await letters({ phoneList, ebrList: [consent('2125550101')] })).toBe('C GP')
    expect(await letters({ phoneList })).toBe('C GP')
  })

  it('stores for numbers that are not scrubbed as well', async () => {
    const ebrList = [consent('6465550100,6465550101')]
    expect(await letters({ phoneList: '6465550100', ebrList })).toBe('EP')
    expect(await letters({ phoneList: '6465550101' })).toBe('GP')
  })

  it('counts the numbers of the records too', async () => {
    const left = async (body: object) => {
      const { headers } = await scrub({ phoneList: '6465550102', ...body })
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    const before = await left({})
    expect(await left({ ebrList: [consent('6465550100,6465550101')] })).toBe(before - 3)
  })

  it('stores for the project of the campaign', async () => {
    const phoneList = '2125550102'
    const scope = { campaignId: String(campaign) }
    expect(await letters({ phoneList, ...scope, ebrList: [consent(phoneList)] })).toBe('GP')
    expect(await letters({ phoneList, projId: 'OTHER' })).toBe('GP')
    expect(await letters({ phoneList })).toBe('Y')
  })

  it('keeps the better record when asked to', async () => {
    const phoneList = '9175550100'
    await letters({ phoneList, ebrList: [consent(phoneList)] })
    const sale = { phoneNumber: phoneList, type: 'S', dateOfLastContact: '11/22/2026' }
    expect(await letters({ phoneList, ebrList: [sale], keepBetterEBR: 1 })).toBe('EP')
    expect(await letters({ phoneList, ebrList: [sale] })).toBe('ES')
  })

  it.each([
    ['a bad record', { ebrList: [consent('2015550100'), { ...consent('201'), type: 'X' }] }],
    ['an empty list', { ebrList: [] }],
    ['no list', { ebrList: 'all' }],
    ['a project of nobody', { ebrList: [consent('2015550100')], projId: 'NONE' }],
    ['a campaign of nobody', { ebrList: [consent('2015550100')], campaignId: '99999999' }],
    ['no numbers', { ebrList: [consent('2015550100')], phoneList: '' }],
  ])('stores nothing when it refuses: %s', async (_what, body) => {
    expect((await scrub({ phoneList: '2015550100', ...body })).status).toBe(400)
    expect(await letters({ phoneList: '2015550100' })).toBe('C')
  })
})

describe('the postal code of a number', () => {
  const row = async (postalCode: string) => {
    const reply = await scrub({ phoneList: `2125550101|a|${postalCode}` })
    const [found] = (await reply.json()) as { PostalCode: string; TZSource: string }[]
    const { PostalCode, TZSource } = found ?? {}
    return { PostalCode, TZSource, warning: reply.headers.get('X-Callgate-Warning') }
  }

  it.each([
    ['2108', '02108'],
    ['2108-1234', '02108-1234'],
    ['90001.0', '90001'],
    ['2108.0', '02108'],
    ['900011234.0', '900011234'],
    ['90001-1234', '90001-1234'],
    ['k1a 0b1', 'k1a 0b1'],
  ])('%s is read as %s', async (text, PostalCode) => {
    expect(await row(text)).toEqual({ PostalCode, TZSource: 'PostalCode', warning: null })
  })

  it.each(['ABCDE', '108', '90001.5', '00000', '09001', 'é1234'])(
    '%s is ignored, and named in a header',
    async (text) => {
      const shown = text.replace('é', '?')
      expect(await row(text)).toEqual({
        PostalCode: '',
        TZSource: 'NPANXX',
        warning: `2125550101: postal code '${shown}' has no known place and is ignored`,
      })
    },
  )
})

describe('records in force', () => {
  const list = async (phoneList: string) => {
    const response = await running.get(`/app/main/rpc/ebr?phoneList=${phoneList}`)
    expect(response.status).toBe(200)
    return (await response.json()) as Record<string, unknown>[]
  }
  const remove = (body: object) => running.postJson('/app/main/rpc/ebr/remove', body)

  it('are listed as they were reported', async () => {
    const number = '3325550100'
    const record = { ...consent(number), brand: 'Acme', referenceNum: 'r-1', email: 'a@b.example' }
    await running.postJson('/app/main/rpc/ebr', { ebrList: [record] })
    expect(await list(`${number},3325550101`)).toEqual([
      {
        phoneNumber: number,
        type: 'P',
        dateOfLastContact: '2026-11-20',
        dateObligationEnds: null,
        referenceNum: 'r-1',
        brand: 'Acme',
        email: 'a@b.example',
        recordedOn: '2026-11-23T17:00:00Z',
        recordedBy: expect.stringMatching(/^key-/),
      },
    ])
  })

  it('end when they are removed, and stay as evidence', async () => {
    const number = '3475550101'
    await running.postJson('/app/main/rpc/ebr', { ebrList: [consent(number)] })
    const flag = async () => {
      const [row] = (await (await scrub({ phoneList: number })).json()) as {
        IsCallAllowedAI: string
      }[]
      return row?.IsCallAllowedAI
    }
    expect(await flag()).toBe('1')
    expect(await (await remove({ phoneList: number })).json()).toEqual({ removed: 1 })
    expect(await flag()).toBe('0')
    expect(await list(number)).toEqual([])
    expect(await (await remove({ phoneList: number })).json()).toEqual({ removed: 0 })
    const kept = await running.callgate.storage.db
      .selectFrom('ebr_records')
      .select('superseded_at')
      .where('number', '=', number)
      .execute()
    expect(kept.map(({ superseded_at: at }) => at !== null)).toEqual([true])
  })

  it('of a gate decision end with the very next one', async () => {
    const number = '9295550101'
    const decide = async () => {
      const response = await running.postJson('/v1/decisions', { number, callKind: 'ai' })
      return ((await response.json()) as { decision: string }).decision
    }
    await running.postJson('/app/main/rpc/ebr', { ebrList: [consent(number)] })
    expect(await decide()).toBe('allow')
    await remove({ phoneList: number })
    expect(await decide()).toBe('block')
  })

  it.each(['212', '', '2125550100,abc'])('of %j are refused', async (phoneList) => {
    expect((await remove({ phoneList })).status).toBe(400)
    expect((await running.get(`/app/main/rpc/ebr?phoneList=${phoneList}`)).status).toBe(400)
  })
})
