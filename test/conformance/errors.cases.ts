import { expect } from 'vitest'
import { calls, wrongKey } from './support/calls.js'
import { type Ask, ask, askOnce } from './support/client.js'
import { pdnc } from './support/internal-dnc.js'
import { lookUpRow } from './support/look-ups.js'
import { listNumber } from './support/numbers.js'
import { isText } from './support/rules.js'
import { run } from './support/run.js'
import { jobStatus, scan, scanBody, scanPath, submit } from './support/scans.js'
import { asRow, section, sentence, sentences } from './support/sentence.js'
import { askTimeLegal, timeLegalRows } from './support/time-legal.js'

const json = { 'content-type': 'application/json' }

/** Status, where, what is wrong, and the request. */
const refusals: readonly (readonly [number, string, string, Ask])[] = [
  [
    ...([400, 'time-legal', 'empty list'] as const),
    { path: '/v1.5/GeoScrub/IsTimeLegalToCall', json: { IsTimeLegalToCall: [] } },
  ],
  [
    ...([400, 'scan submit', 'invalid request body'] as const),
    { path: scanPath, method: 'POST', body: 'no JSON', headers: json },
  ],
  [
    ...([400, 'scan status', 'invalid job id'] as const),
    { path: scanPath, query: { jobId: '17' } },
  ],
  [
    ...([400, 'get-all', 'invalid parameter'] as const),
    { path: '/v1.5/Reputation/GetAll', query: { maxRecords: 'many' } },
  ],
  [
    ...([400, 'flags summary', 'invalid days value'] as const),
    { path: '/v1.5/Reputation/FlagsRemovedSummary', query: { days: '0' } },
  ],
  [
    ...([400, 'litigator', 'invalid number'] as const),
    { path: '/v1.5/Scrub/litigator', json: { PhoneList: '12' } },
  ],
  [
    ...([400, 'reassigned', 'invalid date'] as const),
    { path: '/v1.5/Data/EnhancedRND', query: { phoneNumber: '2125550100', date: 'then' } },
  ],
  [404, 'get project', 'no project with that code', { path: '/v1.5/projects/NO-SUCH-CODE' }],
  [404, 'litigator', 'invalid URL', { path: '/v1.5/Scrub/litigators', json: { PhoneList: '12' } }],
  [
    ...([413, 'get-all', 'too many records requested'] as const),
    { path: '/v1.5/Reputation/GetAll', query: { maxRecords: '2147483647' } },
  ],
]

section('errors', () => {
  sentences(
    refusals,
    ([status, where, what]) => `${status} ${where}: ${what}`,
    async ([status, , , asked]) => expect((await askOnce(asked)).status).toBe(status),
  )

  sentence('400 time-legal: the body is {ReasonPhrase}', async () => {
    expect(isText(asRow((await askTimeLegal([])).json()).ReasonPhrase)).toBe(true)
  })

  sentence('401 time-legal: the body is {ReasonPhrase}', async () => {
    const reply = await askTimeLegal([{ PhoneNumber: '2125550100' }], { key: wrongKey })
    expect(isText(asRow(reply.json()).ReasonPhrase)).toBe(true)
  })

  sentence('4xx ebr: the body holds the reason', async () => {
    const reply = await ask({ at: 'rpc', path: '/app/main/rpc/ebr', json: { ebrList: [{}] } })
    expect(`${reply.status} ${reply.text}`).toMatch(/^4\d\d \S/)
  })

  sentence('4xx pdnc in plain text: the body is the text', async () => {
    const reply = await pdnc({ phoneList: '12', actionType: 'add' })
    expect(`${reply.status} ${reply.text}`).toMatch(/^4\d\d Error importing/)
  })

  sentence('4xx pdnc in JSON: the body is {error}', async () => {
    const reply = await pdnc({ phoneList: '12', actionType: 'add' }, { json: true })
    expect(asRow(reply.json()).error).toMatch(/^Error importing/)
  })

  sentences(
    calls,
    ({ name }) => `401 is answered before anything else is looked at: ${name}`,
    async ({ ask: { query: _query, json, ...asked } }) => {
      const method = json === undefined ? 'GET' : 'POST'
      const { status } = await ask({ ...asked, method, key: wrongKey })
      expect(status).toBe(401)
    },
  )

  sentence('403 scan submit: not authorized, or insufficient credits', async (needs) => {
    const key = needs(run.scanlessLoginId, '--scanless-login-id, of an account that may not scan')
    expect((await submit(await scanBody(needs), key)).status).toBe(403)
  })

  sentence('403 scan status: the job belongs to another account', async (needs) => {
    const key = needs(run.secondLoginId, '--second-login-id')
    const { submitted } = await scan(needs, 'carrier')
    expect((await jobStatus(String(submitted.JobId), key)).status).toBe(403)
  })

  sentence(
    '403 pdnc remove: the role lacks permission, and the text names delete_pdnc',
    async (needs) => {
      const key = needs(run.agentLoginId, '--agent-login-id')
      const reply = await pdnc({ phoneList: listNumber(), actionType: 'remove' }, { key })
      expect(`${reply.status} ${reply.text}`).toMatch(/^403 .*delete_pdnc/)
    },
  )

  sentence(
    'per-row outcomes are no HTTP errors: time-legal rows carry Status and StatusMessage',
    async () => {
      const rows = await timeLegalRows([{ PhoneNumber: '12' }, { PhoneNumber: '8005550100' }])
      expect(rows.every((row) => row.Status !== 'OK' && isText(row.StatusMessage))).toBe(true)
    },
  )

  sentence('per-row outcomes are no HTTP errors: IDNC status marks malformed numbers', async () => {
    const reply = await pdnc({ phoneList: '12', actionType: 'status' }, { json: true })
    expect(reply.status).toBe(200)
    expect(reply.json()).toMatchObject([{ invalid: true }])
  })

  sentence(
    'per-row outcomes are no HTTP errors: disconnect results carry Status and ErrorText',
    async () => {
      const row = await lookUpRow('disconnect', '2125550100')
      expect(row).toHaveProperty('Status')
      expect(row).toHaveProperty('ErrorText')
    },
  )
})
