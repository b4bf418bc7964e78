/** The four questions as they are put to a provider: what is sent, shared, and cannot be asked. */
import { describe, expect, test } from 'vitest'
import { createTimeLegalEndpoint } from '../../../../src/api/calling-hours/time-legal.js'
import type { Endpoint } from '../../../../src/api/endpoint.js'
import { litigatorPost } from '../../../../src/api/lookups/litigator.js'
import { internalDncGet } from '../../../../src/api/records/internal-dnc.js'
import { scrubGet, scrubPost } from '../../../../src/api/scrub/scrub.js'
import type { Question } from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import { createEndpointRequest } from '../../../../src/sources/remote/questions/define-question.js'
import { internalDncQuestion } from '../../../../src/sources/remote/questions/internal-dnc-question.js'
import { legalTimeQuestion } from '../../../../src/sources/remote/questions/legal-time-question.js'
import { litigatorQuestion } from '../../../../src/sources/remote/questions/litigator-question.js'
import { scrubQuestion } from '../../../../src/sources/remote/questions/scrub-question.js'
import { noon } from './wire-rows.js'

const scrub = scrubQuestion
const internalDnc = internalDncQuestion
const litigator = litigatorQuestion
const legalTime = legalTimeQuestion
const all = { scrub, internalDnc, litigator, legalTime }
type Name = keyof typeof all
const names = Object.keys(all) as Name[]

function about(number: string, more: Partial<Question> = {}): Question {
  return { accountId: 'main', number: toPhoneNumber(number), ...more }
}

const [a, b] = ['2125550100', '2125550101']
const ids = { projectId: 'P1', campaignId: '12' }

describe('what is sent', () => {
  const post = { method: 'POST' }
  const scrubbed = { ...post, path: '/app/main/rpc/scrub' }
  const fixed = { version: '8', output: 'json' }
  const checked = { ...post, path: '/v1.5/Scrub/litigator' }
  const timed = { ...post, path: '/v1.5/GeoScrub/IsTimeLegalToCall' }
  const listed = { method: 'GET', path: '/app/main/rpc/pdnc' }
  const status = { actionType: 'status' }

  test.each<[string, Name, readonly Question[], object]>([
    [
      'numbers alone',
      'scrub',
      [about(a), about(b)],
      { ...scrubbed, wire: { json: { phoneList: `${a},${b}`, ...fixed } } },
    ],
    [
      'postal codes, project and campaign',
      'scrub',
      [about(a, { ...ids, postalCode: '10001' }), about(b, ids)],
      {
        ...scrubbed,
        wire: {
          json: { phoneList: `${a}||10001,${b}`, ...fixed, projId: 'P1', campaignId: '12' },
        },
      },
    ],
    [
      'empty texts, which are as good as absent',
      'scrub',
      [about(a, { projectId: '', campaignId: '', postalCode: '' })],
      { ...scrubbed, wire: { json: { phoneList: a, ...fixed } } },
    ],
    [
      'numbers alone',
      'internalDnc',
      [about(a), about(b)],
      { ...listed, wire: { query: { phoneList: `${a},${b}`, ...status }, jsonRequested: true } },
    ],
    [
      'the project and no campaign',
      'internalDnc',
      [about(a, ids)],
      {
        ...listed,
        wire: { query: { phoneList: a, ...status, projId: 'P1' }, jsonRequested: true },
      },
    ],
    [
      'numbers alone',
      'litigator',
      [about(a), about(b)],
      { ...checked, wire: { json: { PhoneList: `${a},${b}` } } },
    ],
    [
      'a campaign of digits as a number',
      'litigator',
      [about(a, ids)],
      { ...checked, wire: { json: { PhoneList: a, CampaignId: 12, ProjId: 'P1' } } },
    ],
    [
      'any other campaign as text',
      'litigator',
      [about(a, { campaignId: '012' })],
      { ...checked, wire: { json: { PhoneList: a, CampaignId: '012' } } },
    ],
    [
      'items with their own instants and projects',
      'legalTime',
      [about(a), about(b, { ...ids, at: noon, postalCode: '10001' })],
      {
        ...timed,
        wire: {
          json: {
            IsTimeLegalToCall: [
              { PhoneNumber: a },
              {
                PhoneNumber: b,
                CallProposedDateTimeInUTC: '2026-11-23T17:00:00Z',
                DNCProjId: 'P1',
              },
            ],
          },
        },
      },
    ],
  ])('%s: %s', (_case, name, questions, expected) => {
    expect(all[name].buildRequest(questions)).toEqual(expected)
  })

  test.each(names)('%s: not none, not a number twice', (name) => {
    expect(() => all[name].buildRequest([])).toThrow('needs a question')
    const twice = [about(a), about(b), about(a, { postalCode: '10001' })]
    expect(() => all[name].buildRequest(twice)).toThrow('must contain each number only once')
  })

  test.each<[Name, Partial<Question>]>([
    ['scrub', { projectId: 'P1' }],
    ['scrub', { campaignId: '12' }],
    ['internalDnc', { projectId: 'P1' }],
    ['litigator', { projectId: 'P1' }],
    ['litigator', { campaignId: '12' }],
  ])('%s: not questions of different groups, such as %j beside none', (name, more) => {
    const questions = [about(a), about(b, more)]
    expect(() => all[name].buildRequest(questions)).toThrow('different groups')
  })

  test.each(names)('%s: no key and no account', (name) => {
    const sent = JSON.stringify(all[name].buildRequest([about(a, { accountId: 'secret-account' })]))
    expect(sent).not.toContain('secret-account')
    expect(sent).not.toMatch(/loginId/i)
  })
})

describe('questions share an answer, or a request, or neither', () => {
  type Sharing = 'an answer' | 'a request' | 'nothing'
  const both = { projectId: 'P1', campaignId: '12' }
  test.each<[Partial<Question>, Readonly<Record<Name, Sharing>>]>([
    [{ accountId: 'other' }, shares('an answer')],
    [{ inBackground: true }, shares('an answer')],
    [{ projectId: '' }, shares('an answer')],
    [{ number: toPhoneNumber(b) }, shares('a request')],
    [{ postalCode: '10001' }, shares('an answer', { scrub: 'a request' })],
    [{ at: noon }, shares('an answer', { legalTime: 'a request' })],
    [{ projectId: 'P1' }, shares('nothing', { legalTime: 'a request' })],
    [both, shares('nothing', { legalTime: 'a request' })],
    [{ campaignId: '12' }, shares('nothing', { internalDnc: 'an answer', legalTime: 'an answer' })],
  ])('%j beside a plain one', (more, expected) => {
    const found = names.map((name) => [name, sharing(name, about(a), about(a, more))])
    expect(Object.fromEntries(found)).toEqual(expected)
  })

  function shares(most: Sharing, others: Partial<Record<Name, Sharing>> = {}) {
    return { scrub: most, internalDnc: most, litigator: most, legalTime: most, ...others }
  }

  function sharing(name: Name, one: Question, other: Question): Sharing {
    const { getIdentity, getGroup } = all[name]
    if (getIdentity(one) === getIdentity(other)) return 'an answer'
    return getGroup(one) === getGroup(other) ? 'a request' : 'nothing'
  }

  test('values never run into one another', () => {
    const tricky = [
      { projectId: 'P1', campaignId: '1' },
      { projectId: 'P1","1' },
      { projectId: 'P1,1' },
      { campaignId: 'P1,1' },
      { projectId: 'null', campaignId: 'null' },
      {},
    ]
    for (const name of ['scrub', 'litigator'] as const) {
      const groups = tricky.map((more) => all[name].getGroup(about(a, more)))
      expect(new Set(groups).size).toBe(tricky.length)
    }
  })
})

describe('what cannot be asked', () => {
  const askable = 'askable'
  test.each<[string, Partial<Question>, Readonly<Record<Name, RegExp | string>>]>([
    ['of now', {}, refuses({})],
    ['of another instant', { at: noon }, refuses({ scrub: /always as of now/ })],
    ['of project and campaign', ids, refuses({})],
    [
      'of a campaign without its project',
      { campaignId: '12' },
      refuses({ internalDnc: /name the project/, legalTime: /name the project/ }),
    ],
    [
      'of a campaign with an empty project',
      { campaignId: '12', projectId: '' },
      refuses({ internalDnc: /name the project/, legalTime: /name the project/ }),
    ],
    ['of an empty campaign', { campaignId: '' }, refuses({})],
    ['with a postal code', { postalCode: 'K1A 0B1' }, refuses({})],
    [
      'with a postal code that smuggles a number in',
      { postalCode: '10001,2125550199' },
      refuses({ scrub: /neither a US ZIP code/ }),
    ],
    ['with a bar', { postalCode: '1|2' }, refuses({ scrub: /neither a US ZIP code/ })],
    [
      'of no instant',
      { at: Number.NaN },
      refuses({ scrub: /always as of now/, legalTime: /not a date/ }),
    ],
    [
      'of an instant beyond all calendars',
      { at: 8.64e15 + 1 },
      refuses({ scrub: /always as of now/, legalTime: /not a date/ }),
    ],
  ])('%s', (_case, more, expected) => {
    for (const name of names) {
      expect(all[name].findRefusal(about(a, more)) ?? askable, name).toMatch(expected[name])
    }
  })

  function refuses(which: Partial<Record<Name, RegExp>>) {
    return {
      scrub: askable,
      internalDnc: askable,
      litigator: askable,
      legalTime: askable,
      ...which,
    }
  }
})

describe('what a client writes, the server reads', () => {
  const legal = createTimeLegalEndpoint({ wrappedRows: false })
  const item = { phone: a, reserved: '', postalCode: undefined }
  const scrubRequest = {
    items: [item],
    version: 8 as const,
    output: 'json' as const,
    projectId: undefined,
    campaignId: undefined,
  }
  const pdnc = { action: 'status' as const, numbers: [a, b], projectId: undefined }
  const litigators = { numbers: [a, b], projectId: undefined, campaignId: undefined }

  test.each([
    row(scrubPost, scrubRequest),
    row(scrubPost, {
      ...scrubRequest,
      ...ids,
      version: 5,
      output: 'csv',
      items: [
        { phone: a, reserved: 'a 1', postalCode: 'K1A 0B1' },
        { phone: b, reserved: '', postalCode: '10001' },
        { phone: b, reserved: 'id', postalCode: undefined },
      ],
    }),
    row(internalDncGet, { ...pdnc, ignoreInvalid: false }),
    row(internalDncGet, { ...pdnc, action: 'add', projectId: 'P1', ignoreInvalid: true }),
    row(internalDncGet, { ...pdnc, action: 'count', numbers: [], ignoreInvalid: false }),
    row(litigatorPost, { ...litigators, outputFormat: 'JsonArray' }),
    row(litigatorPost, { ...litigators, ...ids, outputFormat: 'JsonObject' }),
    row(litigatorPost, { ...litigators, campaignId: '0012', outputFormat: 'JsonArray' }),
    row(litigatorPost, { ...litigators, campaignId: '9'.repeat(30), outputFormat: 'JsonArray' }),
    row(litigatorPost, { ...litigators, campaignId: '1e3', outputFormat: 'JsonArray' }),
    row(legal, {
      items: [
        { phoneNumber: a, proposedAt: undefined, projectId: undefined },
        { phoneNumber: b, proposedAt: '2026-11-23T17:00:00Z', projectId: 'P1' },
      ],
    }),
  ])('$name $request', async ({ sent, parse, request }) => {
    expect(await parse()).toEqual(request)
    expect(JSON.parse(JSON.stringify(sent))).toEqual(sent)
  })

  function row<Request, Response>(endpoint: Endpoint<Request, Response>, request: Request) {
    const { wire } = createEndpointRequest(endpoint, request)
    const sent = wire.query ?? wire.json
    return { name: endpoint.name, request, sent, parse: () => endpoint.request.parseAsync(sent) }
  }

  test.each(['1,2', '1|2'])('a part %j that would move others is not written', (reserved) => {
    const items = [{ phone: a, reserved, postalCode: undefined }]
    expect(() => createEndpointRequest(scrubPost, { ...scrubRequest, items })).toThrow(
      'a comma or a bar',
    )
  })

  test('an endpoint that is not asked of others cannot be written', () => {
    expect(() => createEndpointRequest(scrubGet, scrubRequest)).toThrow(
      "'scrub-get' cannot be requested from a provider",
    )
  })
})
