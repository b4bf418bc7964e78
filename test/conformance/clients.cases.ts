/**
 * What the specification leaves open and clients in use rely on. Another server may rightly differ
 * here; then its clients do too.
 */
import { expect } from 'vitest'
import { calls, wrongKey } from './support/calls.js'
import { type Ask, ask, askOnce, type Reply } from './support/client.js'
import { ebrPath, pdncPath, statusOf, takeOff } from './support/internal-dnc.js'
import { reassigned } from './support/look-ups.js'
import { listNumber, listNumbers, runMark, writableNumber } from './support/numbers.js'
import { project, projectPath } from './support/project.js'
import { noteRecords } from './support/records.js'
import { run } from './support/run.js'
import { plainRow, scrubPath } from './support/scrubbed.js'
import { asRow, asRows, type Row, section, sentence, sentences } from './support/sentence.js'
import { askTimeLegal } from './support/time-legal.js'
import { american, dayFromToday } from './support/times.js'
import { askToken, goodForm, tokenAddresses, tokenAnswer } from './support/tokens.js'

const phones = ['2125550100', '2125550101', '2125550100']
const phoneList = phones.join(',')

function parts(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

const scrub = (asked: Omit<Ask, 'at' | 'path'>) => ask({ at: 'rpc', path: scrubPath, ...asked })
const pdnc = (asked: Omit<Ask, 'at' | 'path'>) => ask({ at: 'rpc', path: pdncPath, ...asked })

const bodies: readonly (readonly [
  string,
  (fields: Readonly<Record<string, string>>) => Omit<Ask, 'path'>,
])[] = [
  ['JSON', (json) => ({ json })],
  ['a urlencoded form', (form) => ({ form })],
  ['multipart/form-data', (fields) => ({ method: 'POST', body: parts(fields) })],
]

const malformed = ['123', '21255501000', 'abc', '']

const fieldsOfFive = [
  'Phone',
  'ResultCode',
  'Reserved',
  'Reason',
  'RegionAbbrev',
  'Country',
  'Locale',
  'CarrierInfo',
  'NewReassignedAreaCode',
  'TZCode',
  'CallingWindow',
  'UTCOffset',
  'DoNotCallToday',
  'CallingTimeRestrictions',
  'EBRType',
  'IsWirelessOrVoIP',
  'LineType',
]

section('clients', () => {
  sentences(
    calls.flatMap((call) => [
      { ...call, change: 'lower case', path: call.ask.path.toLowerCase() },
      { ...call, change: 'upper case', path: call.ask.path.toUpperCase() },
    ]),
    ({ name, change }) => `letter case of the path is ignored: ${name} in ${change}`,
    async ({ ask: asked, path }) => {
      expect((await ask({ ...asked, path, key: null })).status).toBe(401)
    },
  )

  sentences(
    [
      ['the address, with GET', { query: { phoneList, loginId: run.loginId } }],
      ['a form', { form: { phoneList, loginId: run.loginId } }],
      ['a multipart field', { method: 'POST', body: parts({ phoneList, loginId: run.loginId }) }],
      ['the JSON body', { json: { phoneList, loginId: run.loginId } }],
    ] as const,
    ([where]) => `scrub takes the key in ${where}`,
    async ([, asked]) => expect((await scrub({ ...asked, key: null })).status).toBe(200),
  )

  sentences(
    [
      ['the address', { query: { phoneList, loginId: wrongKey } }],
      ['a form', { form: { phoneList, loginId: wrongKey } }],
    ] as const,
    ([where]) => `scrub refuses a wrong key in ${where}`,
    async ([, asked]) => expect((await scrub({ ...asked, key: null })).status).toBe(401),
  )

  sentence('scrub numbers are separated by commas, each with its own fields', async () => {
    const query = { phoneList: '2125550100|a,2125550101|b|10001', version: '8', output: 'json' }
    expect((await scrub({ query })).json()).toMatchObject([
      { Phone: '2125550100', Reserved: 'a' },
      { Phone: '2125550101', Reserved: 'b' },
    ])
  })

  sentences(
    bodies,
    ([how]) => `scrub takes POST as ${how}`,
    async ([, written]) => {
      const reply = await scrub(written({ phoneList, version: '8', output: 'json' }))
      expect(asRows(reply.json()).map((row) => row.Phone)).toEqual(phones)
    },
  )

  sentence('scrub answers CSV when no output is asked for', async () => {
    const reply = await scrub({ query: { phoneList, version: '2' } })
    expect(reply.status).toBe(200)
    expect(linesOf(reply).map((line) => line.split(',')[0])).toEqual(phones)
  })

  sentence('scrub CSV has one line per number, no header, and \\n ends each', async () => {
    const { text } = await scrub({ query: { phoneList, output: 'csv', version: '5' } })
    expect(text.endsWith('\n')).toBe(true)
    expect(text).not.toContain('\r')
    expect(text.split('\n')).toHaveLength(phones.length + 1)
  })

  sentences(
    ['1', '2', '3', '5', '8'],
    (version) => `scrub knows version ${version}`,
    async (version) => {
      expect(await plainRow(version)).toHaveProperty('ResultCode')
    },
  )

  sentence('scrub version 5 has 17 fields in their order, all of them strings', async () => {
    const row = await plainRow('5')
    expect(Object.keys(row)).toEqual(fieldsOfFive)
    expect(Object.values(row).every((value) => typeof value === 'string')).toBe(true)
  })

  sentence('scrub without a version means 5', async () => {
    const query = { phoneList: '2125550100', output: 'json' }
    const [row = {}] = asRows((await scrub({ query })).json())
    expect(Object.keys(row)).toEqual(fieldsOfFive)
  })

  sentences(
    ['0', '9', 'latest'],
    (version) => `scrub refuses version '${version}'`,
    async (version) => expectRefused(await scrub({ query: { phoneList, version } })),
  )

  sentences(
    malformed,
    (bad) => `a malformed number '${bad}' is a row of its own and fails no batch`,
    async (bad) => {
      const query = { phoneList: `${malformed},2125550101`, version: '8', output: 'json' }
      const rows = asRows((await askOnce({ at: 'rpc', path: scrubPath, query })).json())
      expect(rows).toHaveLength(malformed.length + 1)
      expect(rows[malformed.indexOf(bad)]?.ResultCode).toMatch(/^[MI]$/)
    },
  )

  sentence('scrub takes project and campaign, as text or number', async (needs) => {
    const { ProjectCode: code, DefaultCampaignId: campaignId } = await project(needs)
    const json = { phoneList: '2125550100', projId: code, campaignId }
    expect((await scrub({ json })).status).toBe(200)
    expect((await scrub({ json: { ...json, campaignId: String(campaignId) } })).status).toBe(200)
    expect((await scrub({ json: { phoneList: '2125550100', campaignId } })).status).toBe(200)
  })

  sentence('scrub refuses a project of nobody', async () => {
    expectRefused(await scrub({ query: { phoneList, projId: 'NO-SUCH-CODE' } }))
  })

  sentence('scrub by GET takes 50 numbers and not 101', async () => {
    const list = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')
    expect((await scrub({ query: { phoneList: list(50) } })).status).toBe(200)
    expectRefused(await scrub({ query: { phoneList: list(101) } }))
  })

  sentence('scrub by POST takes 10,000 numbers and not 10,001', async () => {
    const list = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')
    const reply = await scrub({ form: { phoneList: list(10_000) } })
    expect(`${reply.status} ${linesOf(reply).length}`).toBe('200 10000')
    expectRefused(await scrub({ form: { phoneList: list(10_001) } }))
  })

  sentence('scrub and add EBR in one call: the record counts for the answer', async (needs) => {
    const writable = needs(run.facts.writable, 'facts.writable')
    const phone = `${writable.areaCodes.at(-1)}${writable.landline}`
    const ebrList = [{ phoneNumber: phone, type: 'S', dateOfLastContact: '2026-01-15' }]
    const json = { phoneList: phone, version: '8', output: 'json', ebrList }
    expect((await scrub({ json })).json()).toMatchObject([{ Phone: phone, EBRType: 'S' }])
  })

  sentences(
    bodies,
    ([how]) => `pdnc takes POST as ${how}`,
    async ([, written]) => {
      const phone = listNumber()
      try {
        expect((await pdnc(written({ phoneList: phone, actionType: 'add' }))).status).toBe(200)
        expect(await statusOf(phone)).toMatchObject([{ onList: true }])
      } finally {
        await takeOff(phone)
      }
    },
  )

  sentence('pdnc count counts distinct numbers', async () => {
    const phone = listNumber()
    const count = async () =>
      Number((await pdnc({ query: { actionType: 'count' } })).text.split(',')[0])
    const before = await count()
    await pdnc({ query: { phoneList: `${phone},${phone}`, actionType: 'add' } })
    const after = await count()
    await takeOff(phone)
    expect(after).toBe(before + 1)
  })

  sentences(
    ['/v1.5/Scrub/litigator', '/v1.4/scrub/litigator'],
    (path) => `litigator answers GET at ${path}`,
    async (path) => {
      const rows = asRows((await ask({ path, query: { phoneList } })).json())
      expect(rows.map((row) => row.Phone)).toEqual(phones.map(Number))
    },
  )

  sentence('litigator of version 1.4 takes POST with lower-camel names', async () => {
    const json = { phoneList, loginId: run.loginId }
    expect((await ask({ path: '/v1.4/scrub/litigator', json, key: null })).status).toBe(200)
  })

  sentence('litigator by GET takes 100 numbers and not 101', async () => {
    const list = (count: number) => Array.from({ length: count }, () => '2125550100').join(',')
    const path = '/v1.5/Scrub/litigator'
    expect((await ask({ path, query: { phoneList: list(100) } })).status).toBe(200)
    expectRefused(await ask({ path, query: { phoneList: list(101) } }))
  })

  sentence('litigator JsonObject is {Response: rows}', async () => {
    const json = { PhoneList: '2125550100', OutputFormat: 'JsonObject' }
    expect((await ask({ path: '/v1.5/Scrub/litigator', json })).json()).toMatchObject({
      Response: [{ Phone: 2125550100 }],
    })
  })

  const items = [
    { phoneNumber: '2125550100', date: '01/31/2024' },
    { phoneNumber: '2125550101', date: '2024-01-31' },
  ]

  sentences(
    [
      ['an object with Data', '/v1.5/Data/EnhancedRND', { Data: items }],
      ['a bare array', '/v1.5/Data/EnhancedRND', items],
      ['version 1.4', '/v1.4/Data/EnhancedRND', { Data: items }],
      ['the national database alone', '/v1.5/Data/RNDBasic', { Data: items }],
    ] as const,
    ([what]) => `reassigned checks take a list by POST: ${what}`,
    async ([, path, json]) => {
      const rows = asRows((await ask({ path, json })).json())
      expect(rows.map((row) => row.PhoneNumber)).toEqual(items.map((item) => item.phoneNumber))
    },
  )

  sentences(
    [
      ['no Data', {}],
      ['an empty list', { Data: [] }],
      ['a bad number', { Data: [{ phoneNumber: '1', date: '2024-01-31' }] }],
      ['a bad date', { Data: [{ phoneNumber: '2125550100', date: 'then' }] }],
      ['1001 items', { Data: Array.from({ length: 1001 }, () => items[0]) }],
    ] as const,
    ([what]) => `reassigned checks by POST refuse ${what} with 400`,
    async ([, json]) =>
      expect((await ask({ path: '/v1.5/Data/EnhancedRND', json })).status).toBe(400),
  )

  sentence('reassigned checks by POST take 1000 items', async () => {
    const json = { Data: Array.from({ length: 1000 }, () => items[0]) }
    const reply = await ask({ path: '/v1.5/Data/EnhancedRND', json })
    expect(asRows(reply.json())).toHaveLength(1000)
  })

  sentence('reassigned: test data is the same each time', async () => {
    const query = { phoneNumber: '2125550100', date: '01/31/2024', useSandbox: 'true' }
    expect((await reassigned(query)).json()).toEqual((await reassigned(query)).json())
  })

  sentences(
    tokenAddresses,
    ({ at, path }) => `tokens are had at ${at} ${path}`,
    async (where, needs) => {
      expect((await askToken(await goodForm(needs), where)).status).toBe(200)
    },
  )

  sentence('tokens are had by multipart/form-data', async (needs) => {
    const body = parts(await goodForm(needs))
    const reply = await ask({ at: 'auth', path: '/oauth/token', method: 'POST', body, key: null })
    expect(reply.status).toBe(200)
  })

  sentence('the answer of a token is {token_type, expires_in, access_token}', async (needs) => {
    expect(await tokenAnswer(needs)).toMatchObject({
      token_type: expect.stringMatching(/^bearer$/i),
      expires_in: 3600,
      access_token: expect.any(String),
    })
  })

  sentences(
    [
      [400, 'unsupported_grant_type', { grant_type: 'password' }],
      [400, 'invalid_request', { grant_type: '' }],
      [401, 'invalid_client', { client_secret: wrongKey }],
    ] as const,
    ([status, error]) => `errors of tokens are those of RFC 6749: ${status} ${error}`,
    async ([status, error, wrong], needs) => {
      const reply = await askToken({ ...(await goodForm(needs)), ...wrong })
      expect(reply.status).toBe(status)
      expect(reply.json()).toMatchObject({ error })
    },
  )

  sentence('Auth/Validate takes campaign and project', async (needs) => {
    const { ProjectCode, DefaultCampaignId } = await project(needs)
    const query = { projId: String(ProjectCode), campaignId: String(DefaultCampaignId) }
    expect((await ask({ path: '/v1.5/Auth/Validate', query })).status).toBe(200)
  })

  sentences(
    [{ projId: 'NO-SUCH-CODE' }, { campaignId: '99999999' }],
    (query) => `Auth/Validate refuses what is not of the account: ${JSON.stringify(query)}`,
    async (query) => expectRefused(await ask({ path: '/v1.5/Auth/Validate', query })),
  )

  sentence('version 1.5 has twins of the monitor calls', async () => {
    const Phone = listNumber()
    const path = '/v1.5/Reputation'
    try {
      const added = asRows((await ask({ path: `${path}/Add`, json: [{ Phone }] })).json())
      expect(added).toMatchObject([{ Phone, Response: 'Phone number added to monitor' }])
      const got = asRows((await ask({ path: `${path}/Get`, query: { phoneList: Phone } })).json())
      expect(got).toMatchObject([{ Phone, Response: 'Phone number current score' }])
    } finally {
      const removed = asRows((await ask({ path: `${path}/Remove`, json: [Phone] })).json())
      expect(removed).toEqual([{ Phone, Response: 'Phone number removed from monitor' }])
    }
  })

  sentence('directly after add the record has HistoricalScore 0 and no complaints', async () => {
    const Phone = listNumber()
    const path = '/v1.4/reputation'
    const json = [{ Phone, ServiceType: 'outbound' }]
    const added = asRows((await ask({ at: 'monitor', path: `${path}/add`, json })).json())
    await ask({ at: 'monitor', path: `${path}/remove`, json: [Phone] })
    expect(added).toMatchObject([{ Phone, HistoricalScore: '0', FTCComplaints: null }])
  })

  sentence('a project is made and changed by POST and PUT /v1.5/projects', async () => {
    const ProjectCode = `CLI${runMark}`
    const json = { ProjectCode, ProjectName: 'Conformance' }
    const made = await ask({ path: '/v1.5/projects', json })
    expect(made.status).toBe(201)
    const row = asRow(made.json())
    expect(row).toMatchObject({ ProjectName: 'Conformance', Status: 'active' })
    const path = projectPath(String(row.ProjectCode))
    const put = { path, method: 'PUT', json: { ProjectName: 'Changed' } }
    expect((await ask(put)).json()).toMatchObject({ ProjectName: 'Changed' })
    expect((await ask({ path })).json()).toMatchObject({ ProjectName: 'Changed' })
    await rpcProject({ project_code: ProjectCode, handler: 'deactivate_project' })
  })

  sentence(
    'a project is made, changed and switched off by rpc/project without bodies',
    async () => {
      const project_code = `rpc${runMark.toLowerCase()}`
      const made = await rpcProject({ project_code, project_name: 'Conformance' })
      expect(`${made.status}${made.text}`).toBe('201')
      const changed = await rpcProject({ project_code, project_name: 'Changed' })
      expect(`${changed.status}${changed.text}`).toBe('200')
      const off = await rpcProject({ project_code, handler: 'deactivate_project' })
      expect(`${off.status}${off.text}`).toBe('200')
      const again = await rpcProject({ project_code, project_name: 'Again' })
      expect(again.status).toBe(403)
    },
  )

  sentence('rpc/project lists projects with output=xml', async () => {
    const { status, text } = await rpcProject({ output: 'xml' })
    expect(status).toBe(200)
    expect(text).toMatch(/^<\?xml|^</)
  })

  sentence('LegalCallTimesForDate tells when a number may be called', async (needs) => {
    const place = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    const json = {
      LegalCallTimesForDate: [{ PhoneNumber: place.phone, Date: '2026-03-10', NumberOfDays: 1 }],
    }
    const [wrapper = {}] = asRows(
      (await ask({ path: '/v1.5/GeoScrub/LegalCallTimesForDate', json })).json(),
    )
    const [row = {}] = asRows(wrapper.LegalCallTimes)
    expect(row).toMatchObject({ PhoneNumber: place.phone, Status: 'OK', StatusMessage: null })
    const [window = {}] = asRows(row.ValidTimesInUTC)
    expect(hoursOf(window)).toBe(13)
  })

  sentence('GetTimeZoneInfo tells the zone of a number', async (needs) => {
    const place = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
    const json = { PhoneList: [place.phone, '12'] }
    const rows = asRows((await ask({ path: '/v1.5/GeoScrub/GetTimeZoneInfo', json })).json())
    expect(rows).toMatchObject([
      { PhoneNumber: place.phone, Status: 'OK', TZName: place.zone },
      { Status: 'INVALID_PHONE' },
    ])
  })

  sentences(
    ['/v1.5/GeoScrub/LegalCallTimesForDate', '/v1.5/GeoScrub/GetTimeZoneInfo'],
    (path) => `${path}: empty and long lists are 400 with ReasonPhrase`,
    async (path) => {
      const name = path.endsWith('Info') ? 'PhoneList' : 'LegalCallTimesForDate'
      const item = path.endsWith('Info') ? '2125550100' : { PhoneNumber: '2125550100' }
      for (const list of [[], Array.from({ length: 1001 }, () => item)]) {
        const reply = await ask({ path, json: { [name]: list } })
        expect(reply.status).toBe(400)
        expect(reply.json()).toHaveProperty('ReasonPhrase')
      }
    },
  )

  sentences(
    [
      ['scrub', scrubPath, { phoneList }],
      ['pdnc', pdncPath, { actionType: 'status', phoneList }],
      ['ebr', '/app/main/rpc/ebr', { phoneList }],
    ] as const,
    ([call]) => `${call} takes version, loginId, projId and what it does not know, by GET`,
    async ([, path, query]) => {
      const more = { version: '3', projId: '', campaignId: '', keepBetterEBR: '0', _: '1' }
      expect((await ask({ at: 'rpc', path, query: { ...query, ...more } })).status).toBe(200)
    },
  )

  sentences(
    ['1', 'v1.2', 'v1.3'],
    (version) => `pdnc count takes version ${version} and output`,
    async (version) => {
      const query = { actionType: 'count', version, output: 'csv' }
      expect((await pdnc({ query })).status).toBe(200)
    },
  )

  sentences(
    ['v1.2', 'v1.3'],
    (version) => `scrub version ${version} is read as 5`,
    async (version) => {
      expect(Object.keys(await plainRow(version))).toEqual(fieldsOfFive)
    },
  )

  sentences(
    [
      ['a comma at the end', `?phoneList=${phones[0]},`],
      ['an ampersand at the end', `?phoneList=${phones[0]}&`],
      ['a field twice with equal values', `?phoneList=${phones[0]}&phoneList=${phones[0]}`],
    ] as const,
    ([what]) => `scrub takes ${what}`,
    async ([, query]) => {
      const reply = await ask({ at: 'rpc', path: `${scrubPath}${query}` })
      expect(linesOf(reply).map((line) => line.split(',')[0])).toEqual([phones[0]])
    },
  )

  sentence('scrub takes a number as a JSON number', async () => {
    const reply = await scrub({ json: { phoneList: 2125550100, output: 'json', extra: [1] } })
    expect(reply.json()).toMatchObject([{ Phone: '2125550100' }])
  })

  sentence('scrub takes fields in the address and in the body alike', async () => {
    const query = { phoneList: '2125550100', version: '8' }
    const reply = await scrub({ query, form: { phoneList: '2125550100', output: 'json' } })
    expect(reply.json()).toMatchObject([{ Phone: '2125550100' }])
  })

  sentences(
    ['/v1.5/Scrub/litigator', '/v1.4/Data/IDPremium', '/v1.4/Data/ResOrBusiness'],
    (path) => `${path} ignores what it does not know`,
    async (path) => {
      const name = path.endsWith('litigator') ? 'phoneList' : 'phone'
      const query = { [name]: '2125550100', version: '3', output: 'json', colour: 'red' }
      expect((await ask({ path, query })).status).toBe(200)
    },
  )

  sentence('an unknown key in an item is ignored', async () => {
    const item = { PhoneNumber: '2125550100', Zone: 5 }
    const [row] = asRows((await askTimeLegal([item])).json())
    expect(row).toMatchObject({ PhoneNumber: '2125550100', Status: 'OK' })
  })

  sentences(
    [{ numbers: phoneList }, { actionType: 'status' }, { _: '1' }],
    (query) => `a request without what it needs is refused: ${JSON.stringify(query)}`,
    async (query) => {
      expectRefused(await scrub({ query }))
      expectRefused(await pdnc({ query }))
    },
  )

  sentences(
    ['query', 'form'] as const,
    (where) => `records in columns are stored, and answered without a body: ${where}`,
    async (where, needs) => {
      const phone = writableNumber(needs, 'wireless')
      const fields = { version: 'v1.2', keepBetterEBR: '0', ...columnsOf(phone) }
      noteRecords(fields)
      const stored = await ask({ at: 'rpc', path: ebrPath, [where]: fields })
      expect([stored.status, stored.text]).toEqual([200, ''])
      const [row] = linesOf(await scrub({ query: { phoneList: phone } }))
      expect(row?.split(',')[1]).toBe('G')
    },
  )

  sentence(
    'records in columns are stored before the numbers beside them are looked at',
    async (needs) => {
      const phone = writableNumber(needs, 'wireless')
      noteRecords([phone])
      const [row] = linesOf(await scrub({ form: { phoneList: phone, ...columnsOf(phone) } }))
      expect(row?.split(',')[1]).toBe('G')
    },
  )

  sentence('projects are listed by GET as the tree that its clients read', async () => {
    const reply = await ask({ at: 'rpc', path: '/app/main/rpc/project', query: { output: 'xml' } })
    expect(reply.status).toBe(200)
    expect(reply.text).toMatch(/<DncCompliance>.*<Account.*<Projects>.*<Project /s)
  })

  sentence('a list filter posts multipart and matches line n to number n', async () => {
    const list = listNumbers(20)
    const body = parts({
      loginId: run.loginId,
      version: '2',
      projId: '',
      campaignId: '',
      phoneList: list.join(','),
    })
    const reply = await scrub({ method: 'POST', body, key: null })
    const columns = linesOf(reply).map((line) => line.split(','))
    expect(columns.map(([phone]) => phone)).toEqual(list)
    expect(columns.every(([, letter = '']) => /^[A-Z]$/.test(letter))).toBe(true)
  })
})

function hoursOf({ StartInUTC, EndInUTC }: Row): number {
  return (Date.parse(String(EndInUTC)) - Date.parse(String(StartInUTC))) / 3_600_000
}

/** A sale of a week ago, with the fields that the columns' clients cannot leave out. */
function columnsOf(phone: string): Readonly<Record<string, string>> {
  const record = {
    phoneNumber: phone,
    type: 'S',
    dateOfLastContact: american(dayFromToday(-7)),
    dateObligationEnds: '01/01/0001',
    referenceNum: '',
    brand: '',
    email: '',
  }
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [`1!ColValue.${name}`, value]),
  )
}

function rpcProject(form: Readonly<Record<string, string>>): Promise<Reply> {
  return ask({ at: 'rpc', path: '/app/main/rpc/project', form })
}

function linesOf({ text }: Reply): readonly string[] {
  return text.split('\n').slice(0, -1)
}

function expectRefused({ status, text }: Reply): void {
  expect(`${status} ${text}`).toMatch(/^4\d\d \S/)
}
