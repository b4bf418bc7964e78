/**
 * Draws requests to endpoints by their own descriptors: mostly fields that belong there with values
 * that may be right, so that the subjects are reached, and among them whatever nobody should send.
 */
import fc from 'fast-check'
import { type JsonSchema, toJsonSchema } from '../../src/api/fields.js'
import { type AnyEndpoint, endpoints } from '../support/walk-endpoints.js'
import { anyText } from './properties-support.js'

interface Content {
  readonly contentType: string
  readonly body: string
}

export interface DrawnRequest {
  readonly endpoint: AnyEndpoint
  readonly method: string
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  readonly key: 'valid' | 'garbage' | 'none' | 'bearer' | 'basic'
  readonly headers: Readonly<Record<string, string>>
  readonly content: Content | undefined
}

const phones = ['2125550100', '2125550106', '2125550116', '3055550101', '2125550119', '8005550100']
const days = ['11/01/2026', '2026-11-01', '20240131', '01/31/24', '2026-11-23T17:00:00Z']

/** Values that may be right, by what the field is called; the first row that fits. */
const likelyValues: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/phonelist/i, ['2125550100', '2125550106,2125550101', '2125550106|a|10001,2125550101', '123']],
  [/^version$/i, ['1', '5', '8', 8]],
  [/^edge$|^format$/i, ['edge-a', 'jwt', 'judged']],
  [/^output/i, ['json', 'csv', 'xml', 'JsonArray', 'JsonObject']],
  [/actiontype/i, ['add', 'remove', 'status', 'count']],
  [/^(?:ignore|keepbetter|use|is|sandbox|test|inherit)/i, [true, false, 0, 1, '1', 'false']],
  [/date|^at$|time/i, days],
  [/numberofdays|days/i, ['7', 1, 31]],
  [/projid|project_?id|^project$/i, ['sandbox', 'MINE', 7]],
  [/project_?code|^code$/i, ['MINE', 'YOURS', 'sandbox']],
  [/campaign/i, [1, '1', '2']],
  [/kind$/i, ['manual', 'autodialed', 'ai']],
  [/^type$/i, ['S', 'I', 'P', 'T']],
  [/^source$/i, ['transcript', 'api']],
  [/jobid|^id$/i, ['00000000-0000-4000-8000-000000000000']],
  [/scantype/i, ['carrier', 'carrierandapps']],
  [/url$/i, ['http://127.0.0.1:9/x', 'https://receiver.invalid/x', 'http://169.254.169.254/']],
  [/grant_type/i, ['client_credentials', 'password']],
  [/client_/i, ['sandbox', 'main']],
  [/handler/i, ['insert_project', 'update_project', 'deactivate_project', 'reactivate_project']],
  [/^san$|orgid|org_id/i, ['123456-789012-34', '12345678-9012', '']],
  [/^ein$/i, ['123456789', 123456789]],
  [/legalentityid|industryid|count|perMonth|keepfor|maxrecords/i, [1, '1', 0, 1000]],
  [/state|country/i, ['NY', 'US']],
  [/postal|zip/i, ['10001', 'M5V 2T6', '10001-1234']],
  [/phone|number|callerid/i, phones],
]

const bad = [
  '',
  ' ',
  ',',
  '|||',
  '-1',
  '1e999',
  'NaN',
  'null',
  '99/99/9999',
  '../..',
  '%',
  '<a>',
  ...[
    '\u0000',
    '\ud800',
    '\r\nX: y',
    "' or 1=1 --",
    '٢١٢٥٥٥٠١٠٠',
    '🦆'.repeat(60),
    'x'.repeat(3000),
  ],
]

const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...bad, null, true, 0, -1, 1.5, 1e300, 2125550100),
  anyText,
  fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as unknown),
)

function likely(name: string): fc.Arbitrary<unknown> {
  const values = likelyValues.find(([pattern]) => pattern.test(name))?.[1] ?? ['some text', 'é']
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...values) },
    { weight: 1, arbitrary: anything },
  )
}

/** The part of a schema that names fields, whatever may stand in its place. */
function mainPart(schema: JsonSchema): JsonSchema {
  const options = schema.anyOf as readonly JsonSchema[] | undefined
  const structured = options?.find(({ type }) => type === 'array' || type === 'object')
  return structured ?? schema
}

function valueFor(name: string, given: JsonSchema): fc.Arbitrary<unknown> {
  const schema = mainPart(given)
  if (schema.type === 'object') return objectOf(schema)
  if (schema.type !== 'array') return likely(name)
  const item = valueFor('number', (schema.items ?? {}) as JsonSchema)
  const list = fc.array(item, { minLength: 1, maxLength: 4 })
  return fc.oneof({ weight: 12, arbitrary: list }, { weight: 1, arbitrary: anything })
}

/** Required fields are nearly always there, others now and then, and at times one too many. */
function objectOf(schema: JsonSchema): fc.Arbitrary<Record<string, unknown>> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  const required = new Set(schema.required as readonly string[] | undefined)
  const fields = Object.entries(properties).map(([name, part]) => {
    const chance = required.has(name) || Object.keys(part).length === 0 ? 15 : 1
    const there = fc.oneof(
      { weight: chance, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    )
    return fc.tuple(fc.constant(name), there, valueFor(name, part))
  })
  const extra = sometimes<readonly [string, unknown] | undefined>(
    12,
    undefined,
    fc.tuple(fc.oneof(anyText, fc.constantFrom('__proto__')), anything),
  )
  return fc.tuple(fc.tuple(...fields), extra).map(([drawn, more]) => {
    const given = drawn
      .filter(([, there]) => there)
      .map(([name, , value]) => [name, value] as const)
    return Object.fromEntries(more ? [...given, more] : given)
  })
}

function flat(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

const urlencoded = (given: Readonly<Record<string, unknown>>) =>
  new URLSearchParams(
    Object.entries(given).map(([name, value]): [string, string] => [name, flat(value)]),
  ).toString()

const boundary = 'part'

function multipart(given: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(given).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${flat(value)}\r\n`,
  )
  return `${parts.join('')}--${boundary}--\r\n`
}

function contentIn(
  endpoint: AnyEndpoint,
  form: string,
  given: Readonly<Record<string, unknown>>,
): Content {
  if (form === 'form') {
    return { contentType: 'application/x-www-form-urlencoded', body: urlencoded(given) }
  }
  if (form === 'multipart') {
    return { contentType: `multipart/form-data; boundary=${boundary}`, body: multipart(given) }
  }
  const body = endpoint.bareListField === undefined ? given : given[endpoint.bareListField]
  return { contentType: 'application/json', body: JSON.stringify(body) ?? '' }
}

const strangeContent: fc.Arbitrary<Content> = fc.record({
  contentType: fc.constantFrom(
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    '; ;',
    '',
    `multipart/form-data; boundary=${boundary}`,
    'multipart/form-data',
    'application/json; charset=utf-16',
    'application/vnd.x+json',
  ),
  body: fc.oneof(anyText, fc.json()),
})

const headerValue = anyText.map((text) => text.replace(/[^\x21-\x7e]/g, '')).filter(Boolean)
const headerNames = [
  'Accept',
  'Authorization',
  'X-Forwarded-For',
  'Content-Encoding',
  'Cookie',
  'Range',
  'If-None-Match',
  'Origin',
  'X-HTTP-Method-Override',
  'Accept-Encoding',
]

const sometimes = <Value>(weight: number, usual: Value, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

/** Texts in a path are encoded, so that they arrive as they are. */
const segment = fc
  .oneof(fc.constantFrom('MINE', 'sandbox', 'x'), anyText)
  .map((text) => encodeURIComponent(Buffer.from(text).toString()) || 'x')

function changed(path: string, change: string): string {
  if (change === 'lower') return path.toLowerCase()
  if (change === 'upper') return path.toUpperCase()
  return change === 'slash' ? `${path}/` : path
}

function requestTo(endpoint: AnyEndpoint, request: JsonSchema): fc.Arbitrary<DrawnRequest> {
  const forms = endpoint.accepts.filter((source) => source !== 'query')
  return fc
    .record({
      path: fc.constantFrom(...endpoint.paths),
      segment,
      change: sometimes(6, 'none', fc.constantFrom('lower', 'upper', 'slash')),
      method: sometimes(
        15,
        endpoint.method as string,
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'),
      ),
      given: objectOf(request),
      form: fc.constantFrom(...forms, ...(forms.length === 0 ? ['query'] : [])),
      strange: sometimes<Content | undefined>(8, undefined, strangeContent),
      key: sometimes(
        8,
        'valid' as const,
        fc.constantFrom<DrawnRequest['key']>('garbage', 'none', 'bearer', 'basic'),
      ),
      headers: sometimes(
        6,
        {},
        fc.dictionary(fc.constantFrom(...headerNames), headerValue, { maxKeys: 2 }),
      ),
    })
    .map((drawn): DrawnRequest => {
      const { given, form, strange, key, headers, method } = drawn
      const inPath = [...drawn.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
      const rest = Object.fromEntries(
        Object.entries(given).filter(([name]) => !inPath.includes(name)),
      )
      const inQuery = form === 'query'
      return {
        endpoint,
        method,
        key,
        headers,
        path: changed(drawn.path, drawn.change).replace(/:\w+/gi, drawn.segment),
        query: inQuery ? urlencoded(rest) : '',
        content: strange ?? (inQuery ? undefined : contentIn(endpoint, form, rest)),
      }
    })
}

export const drawnRequest: fc.Arbitrary<DrawnRequest> = fc.oneof(
  ...[...endpoints.values()].map((endpoint) => requestTo(endpoint, toJsonSchema(endpoint.request))),
)
