/** Laws that ask for a consent beyond the federal rules, at the doors: what they block, what lifts them, and what is on record. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { prepareRules, type Rules, rejudge } from '../../src/commands/rehearse/rejudge.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { encodeReply } from '../../src/gate/record/write-record.js'
import { readRecorded } from '../support/journal.js'
import { tableRows } from '../support/markdown-table.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const requestsMay = ['charity', 'informational']
const purposes = [{ account: 'sandbox', purpose: 'telemarketing', requestsMay, setBy: 'Ada' }]
const environment = { CALLGATE_GATE_PURPOSES: JSON.stringify(purposes) }

let running: TestCallgate
let rules: Rules
beforeAll(async () => {
  running = await openTestCallgate({ environment })
  const { configuration, problems } = readConfiguration({ environment })
  if (!configuration) throw new Error(problems.join())
  rules = prepareRules(configuration)
})
afterAll(() => running.end())

async function decide(body: Readonly<Record<string, unknown>>): Promise<DecisionReply> {
  const reply = await running.postJson('/v1/decisions', body)
  expect(reply.status).toBe(200)
  const text = await reply.text()
  const document = JSON.parse(text) as DecisionReply
  // Judged again from its record alone, the decision is the same.
  const again = rejudge(rules, await readRecorded(running, document))
  expect(again.kind === 'judged' && encodeReply(again.decision)).toBe(text.trim())
  return document
}

const wording = 'I agree that Acme Inc. may call me by an automated system at this number.'
const proofs: Readonly<Record<string, object>> = {
  written: { method: 'written' },
  certified: { method: 'written', certificate: 'https://cert.example/1' },
  recorded: { method: 'recorded' },
  oral: { method: 'oral' },
}
const records: Readonly<Record<string, object>> = {
  permission: { type: 'P', dateOfLastContact: '11/10/2026' },
  sale: { type: 'S', dateOfLastContact: '11/10/2026' },
  'old sale': { type: 'S', dateOfLastContact: '10/01/2024' },
  inquiry: { type: 'I', dateOfLastContact: '11/10/2026' },
}

async function store(number: string, what: string): Promise<void> {
  const consent = { givenAt: '2026-11-10T15:00:00Z', seller: 'Acme Inc.', channel: 'web', wording }
  const reply =
    what === 'opt-out'
      ? await running.postJson('/v1/opt-outs', { number, channel: 'agent', scope: 'everything' })
      : what in proofs
        ? await running.postJson('/v1/consents', { number, ...consent, ...proofs[what] })
        : await running.postJson('/app/main/rpc/ebr', {
            ebrList: [{ phoneNumber: number, ...records[what] }],
          })
  expect(reply.status).toBe(200)
}

function readCall(text: string) {
  const [callKind, number = '', ...more] = text.split(' ')
  const {
    purpose,
    zip,
    at = '2026-11-23',
  } = Object.fromEntries(more.map((one) => one.split('='))) as Partial<Record<string, string>>
  return { callKind, number, purpose, postalCode: zip, at: `${at}T17:00:00Z` }
}

const cases = tableRows('test/cases/required-consents.md').map((row) => {
  const cell = (name: string) => row.get(name) ?? ''
  const onFile = cell('On file')
  return [cell('Call'), onFile, cell('Answer'), cell('Law'), cell('Why')] as const
})

describe('a law of a region', () => {
  it.each(cases)('%s, on file: %s: %s %s, %s', async (text, onFile, answer, law) => {
    const call = readCall(text)
    if (onFile !== 'nothing') {
      for (const what of onFile.split(', ')) await store(call.number, what)
    }
    const decision = await decide(call)
    const { decision: verdict, reason, message } = decision
    expect(verdict === 'allow' ? 'allow' : reason, message).toBe(answer)
    const permission = decision.findings.find(({ check }) => check === 'permission')
    const { detail = '', says = [] } = permission ?? {}
    const quoted = says.filter(({ code }) => code === 'consent-law-quoted')
    const laws = says.filter(({ code }) => /^consent-law-(?:unmet|satisfied)$/.test(code))
    expect(laws.map(({ params }) => params?.law)).toEqual(law === '' ? [] : [law])
    const unmet = laws.filter(({ code }) => code === 'consent-law-unmet')
    if (unmet.length === 0) return
    expect(quoted.map(({ params }) => params?.law)).toEqual([law])
    for (const { quote } of quoted) {
      expect(quote).toMatch(/.{20,}/)
      expect(detail).toContain(quote)
    }
    expect(detail).toMatch(/\) (?:needs|no record allows the call)/)
    expect(decision.nextAllowedAt).toBeUndefined()
  })

  it('blocks with the reason alone when the hours are closed too, since no hour opens the call', async () => {
    const night = await decide({
      number: '2035550100',
      callKind: 'manual',
      at: '2026-11-24T04:00:00Z',
    })
    expect(night).toMatchObject({ decision: 'block', reason: 'no-consent' })
    expect(night.nextAllowedAt).toBeUndefined()
  })

  it('is not in the letter and flags of a scrub, which are those of the published API', async () => {
    const reply = await running.get(
      '/app/main/rpc/scrub?version=8&phoneList=2035550100&output=json',
    )
    expect(await reply.json()).toMatchObject([{ ResultCode: 'C', IsCallAllowedNonATDS: '1' }])
  })

  it('holds for a pre-dial line and in a preview', async () => {
    const line = await running.get('/v1/predial?number=4055550100&kind=autodialed')
    expect(await line.text()).toMatch(/^block:no-consent:/)
    const body = { numbers: ['4055550100', '2125550100'], callKind: 'autodialed' }
    const preview = await (await running.postJson('/v1/decisions/preview', body)).json()
    expect(preview).toMatchObject({ allowed: 1, blocked: 1, reasons: { 'no-consent': 1 } })
  })
})
