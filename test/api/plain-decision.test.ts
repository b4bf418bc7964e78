/** The short way to read a request for a decision: what it reads, the schema reads in the same way. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideEndpoint,
  predialGet,
  readPlainDecision,
  readPlainPredial,
} from '../../src/api/gate/decisions.js'
import { parseDialString } from '../../src/domain/phone-number.js'
import { parseJsonBody } from '../../src/http/request/read-body.js'

const plain = (text: string) => readPlainDecision(Buffer.from(text).toString('latin1'))

const usual = { number: '2125550106', callKind: 'manual' }

describe('the usual request', () => {
  it.each([
    usual,
    { ...usual, number: '+12125550106', callKind: 'ai' },
    { ...usual, projectId: 'MAIN', campaignId: '17', postalCode: '10001' },
    { ...usual, postalCode: 'M5V 3L9', callerId: '+13025550021', reference: 'lead 42, (b)' },
  ])('is read at once: %j', (request) => {
    for (const indent of [undefined, 2]) {
      expect(plain(JSON.stringify(request, null, indent))).toEqual(request)
    }
    expect(plain(JSON.stringify(request).replaceAll('","', '" , "'))).toEqual(request)
  })

  it.each([
    ['an emergency number', JSON.stringify({ ...usual, number: '911' })],
    ['a field twice', '{"number":"2125550106","callKind":"ai","callKind":"manual"}'],
    ['an unknown field', JSON.stringify({ ...usual, loginId: 'x' })],
    ['a name that every object has', JSON.stringify({ ...usual, constructor: 'x' })],
    ['a name in another letter case', '{"Number":"2125550106","callKind":"ai"}'],
    ['a number that is no text', '{"number":2125550106,"callKind":"ai"}'],
    ['an escape', '{"number":"2125550106","callKind":"a\\u0069"}'],
    ['other letters than ASCII', JSON.stringify({ ...usual, reference: 'é' })],
    ['no kind', '{"number":"2125550106"}'],
    ['text after the end', `${JSON.stringify(usual)}x`],
    ['no end', JSON.stringify(usual).slice(0, -1)],
    ['a comma at the end', '{"number":"2125550106","callKind":"ai",}'],
    ['a space that JSON has not', '{"number":\u00a0"2125550106","callKind":"ai"}'],
    ['a list', '[{"number":"2125550106","callKind":"ai"}]'],
    ['nothing', ''],
  ])('is no request with %s', (_, text) => {
    expect(plain(text)).toBeUndefined()
  })
})

const anyText = fc.oneof(
  fc.constantFrom('2125550106', '12125550106', '+12125550106', '911', '0115550106', '1911'),
  fc.constantFrom('manual', 'ai', ' ai', 'AI', 'MAIN', '10001', '10001-1234', 'M5V3L9', '', ' '),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.integer({ min: 60, max: 210 }).map((length) => 'x'.repeat(length)),
)
const anyValue = fc.oneof(
  { weight: 8, arbitrary: anyText },
  fc.constantFrom(null, 17, 2125550106, true, [], {}),
)
const names = [
  'projectId',
  'purpose',
  'campaignId',
  'postalCode',
  'callerId',
  'reference',
  'at',
  'Number',
]
const anyName = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...names) },
  fc.constantFrom('number', 'callKind', 'toString'),
)
const anyField = fc.tuple(anyName, anyValue)
const usualField = fc.tuple(
  fc.constantFrom(...names.slice(0, 6)),
  fc.constantFrom(
    'MAIN',
    'telemarketing',
    'emergency',
    '10001',
    'a b',
    'x'.repeat(64),
    'x'.repeat(65),
    ' 10001',
    '~',
  ),
)
const number = fc.oneof(fc.constantFrom('2125550106', '12125550106', '+12125550106'), anyText)
const someFields = fc.array(fc.oneof(usualField, anyField), { maxLength: 3 })
const anyRequest = fc
  .tuple(number, fc.constantFrom('manual', 'autodialed', 'ai', 'AI'), someFields)
  .map(([number, callKind, more]) => [['number', number], ['callKind', callKind], ...more])

it('never reads anything that the schema reads differently, or refuses', async () => {
  let read = 0
  const property = fc.asyncProperty(
    anyRequest,
    fc.constantFrom('', ' ', '\n\t'),
    async (fields, space) => {
      const members = fields.map((pair) => pair.map((one) => JSON.stringify(one)).join(`${space}:`))
      const text = `{${space}${members.join(`${space},${space}`)}${space}}`
      const found = plain(text)
      if (found === undefined) return
      read += 1
      const parsed = decideEndpoint.request.parse(await parseJsonBody(text))
      expect(found).toStrictEqual({
        projectId: undefined,
        campaignId: undefined,
        purpose: undefined,
        postalCode: undefined,
        callerId: undefined,
        subject: undefined,
        personId: undefined,
        reference: undefined,
        at: undefined,
        keepSentNumber: undefined,
        ...parsed,
      })
      expect(parseDialString(found.number).kind).not.toBe('service-code')
    },
  )
  await fc.assert(property, { numRuns: 5_000 })
  expect(read).toBeGreaterThan(500)
})

const predialNames = [
  'number',
  'kind',
  'purpose',
  'project',
  'campaign',
  'postal',
  'callerid',
  'ref',
  'format',
]
const anyPair = fc.tuple(
  fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...predialNames) },
    fc.constantFrom('at', 'Number', 'loginId', 'constructor', ''),
  ),
  fc.constantFrom(
    ...[
      '2125550106',
      '12125550106',
      '+12125550106',
      '911',
      'manual',
      'ai',
      'AI',
      'MAIN',
      'political',
      '10001',
    ],
    ...['judged', 'sent', '', '%41', 'a%20b', 'a+b', 'a=b', 'x'.repeat(64), 'x'.repeat(65)],
  ),
)
const anyAddress = fc
  .tuple(
    fc.constantFrom('2125550106', '12125550106', '12125550106', '911'),
    fc.constantFrom('manual', 'autodialed', 'ai', 'AI'),
    fc.array(anyPair, { maxLength: 2 }),
    fc.constantFrom('', '', '', '', '&', '#a', '?x=1'),
  )
  .map(([number, kind, more, end]) => {
    const pairs = [['number', number], ['kind', kind], ...more]
    return `GET /v1/predial?${pairs.map((pair) => pair.join('=')).join('&')}${end}`
  })

it('never reads an address that the schema reads differently, or refuses', () => {
  let read = 0
  const property = fc.property(anyAddress, (address) => {
    const found = readPlainPredial(address)
    if (found === undefined) return
    read += 1
    const pairs = [...new URLSearchParams(address.slice(address.indexOf('?')))]
    expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length)
    expect(found).toStrictEqual(predialGet.request.parse(Object.fromEntries(pairs)))
    expect(parseDialString(found.number).kind).not.toBe('service-code')
  })
  fc.assert(property, { numRuns: 5_000 })
  expect(read).toBeGreaterThan(200)
})
