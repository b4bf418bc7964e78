import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { type Ask, ask } from './support/client.js'
import { project } from './support/project.js'
import { run } from './support/run.js'
import { asRows, type Row, section, sentence, sentences } from './support/sentence.js'

const path = '/v1.5/Scrub/litigator'
const phone = '2125550100'

const post = (json: Row, more: Omit<Ask, 'path' | 'json'> = {}) => ask({ path, json, ...more })

async function statusOf(json: Row): Promise<number> {
  return (await post(json)).status
}

section('litigator', () => {
  sentence('PhoneList is required, else 400', async () => {
    expect(await statusOf({})).toBe(400)
    expect(await statusOf({ PhoneList: '' })).toBe(400)
  })

  sentence('PhoneList holds 10-digit numbers separated by commas', async () => {
    const phones = [phone, '2125550101', '3055550100']
    const rows = asRows((await post({ PhoneList: phones.join(',') })).json())
    expect(rows.map((row) => row.Phone)).toEqual(phones.map(Number))
  })

  sentence('CampaignId is an optional integer for tracking', async (needs) => {
    const CampaignId = (await project(needs)).DefaultCampaignId
    expect(CampaignId).toBeTypeOf('number')
    expect(await statusOf({ PhoneList: phone, CampaignId })).toBe(200)
  })

  sentence('CampaignId is an integer, and text is not', async () => {
    expect(await statusOf({ PhoneList: phone, CampaignId: 'spring' })).toBe(400)
  })

  sentence('ProjId is optional, for tracking and settings', async (needs) => {
    const { code } = needs(run.facts.project, 'facts.project')
    expect(await statusOf({ PhoneList: phone, ProjId: code })).toBe(200)
  })

  sentence('OutputFormat defaults to JsonArray', async () => {
    const [plain, array] = [{ PhoneList: phone }, { PhoneList: phone, OutputFormat: 'JsonArray' }]
    expect((await post(plain)).json()).toEqual((await post(array)).json())
  })

  sentence('OutputFormat JsonArray answers an array of litigator results', async () => {
    const rows = asRows((await post({ PhoneList: phone, OutputFormat: 'JsonArray' })).json())
    expect(rows).toMatchObject([{ Phone: Number(phone) }])
  })

  sentence('OutputFormat JsonObject is answered with an object', async () => {
    const answer = (await post({ PhoneList: phone, OutputFormat: 'JsonObject' })).json()
    expect(Array.isArray(answer)).toBe(false)
    expect(answer).toBeTypeOf('object')
  })

  sentence('OutputFormat is one of two words', async () => {
    expect(await statusOf({ PhoneList: phone, OutputFormat: 'Csv' })).toBe(400)
  })

  sentence('LoginId in the body is an alternative to the header', async () => {
    const reply = await post({ PhoneList: phone, LoginId: run.loginId }, { key: null })
    expect(reply.status).toBe(200)
  })

  sentence('a wrong LoginId in the body is 401', async () => {
    expect((await post({ PhoneList: phone, LoginId: wrongKey }, { key: null })).status).toBe(401)
  })

  sentences(
    ['212555010', '12125550100', '212-555-0100', `${phone},x`, `${phone},,${phone}`],
    (PhoneList) => `400 for invalid number format: '${PhoneList}'`,
    async (PhoneList) => expect(await statusOf({ PhoneList })).toBe(400),
  )

  sentences(
    ['{"PhoneList":', '[]', '"2125550100"', ''],
    (body) => `400 for malformed JSON or missing parameters: ${body === '' ? 'no body' : body}`,
    async (body) => {
      const headers = { 'content-type': 'application/json' }
      expect((await ask({ path, method: 'POST', body, headers })).status).toBe(400)
    },
  )

  sentences(
    [null, wrongKey],
    (key) => `401 for ${key === null ? 'no key' : 'an unknown key'}`,
    async (key) => expect((await post({ PhoneList: phone }, { key })).status).toBe(401),
  )

  sentence('404 for an endpoint that is not found', async () => {
    const reply = await ask({ path: `${path}/nothing`, json: { PhoneList: phone } })
    expect(reply.status).toBe(404)
  })
})
