/** Describes the endpoints in OpenAPI 3.1, generated only from their descriptors. */

import { forEachInSlices } from '../runtime/yield-to-event-loop.js'
import { type FieldSource, ignoresUnknownFields } from './endpoint.js'
import { type JsonSchema, toJsonSchema } from './fields.js'
import { createErrorResponses, type OpenApiResponse } from './openapi-errors.js'
import { nameSchemas } from './openapi-schemas.js'
import type { EndpointDescription } from './route.js'
import { ignoredFieldsHeader } from './unknown-fields.js'
import { webhookDescriptions } from './webhook-payloads.js'

export interface OpenApiOptions {
  readonly version: string
  readonly endpoints: readonly EndpointDescription[]
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: Readonly<Record<string, unknown>>
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  /** By path as in OpenAPI, `/v1/decisions/{id}`, then by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  /** By name, then by method. */
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>
    readonly schemas: Readonly<Record<string, JsonSchema>>
  }
}

export interface Operation {
  /** Absent for the other paths of the same call. */
  readonly operationId?: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly description?: string
  readonly security?: readonly never[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, MediaType>>
  }
  readonly responses: Readonly<Record<string, OpenApiResponse>>
}

interface MediaType {
  readonly schema: JsonSchema
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

/** In slices: it takes a tenth of a second. */
export async function createOpenApiDocument({
  version,
  endpoints,
}: OpenApiOptions): Promise<OpenApiDocument> {
  const paths: Record<string, Record<string, Operation>> = {}
  await forEachInSlices(endpoints, (endpoint) => {
    for (const [index, path] of endpoint.paths.entries()) {
      const name = path.replace(/:(\w+)/g, '{$1}')
      const operations = paths[name] ?? {}
      operations[endpoint.method.toLowerCase()] = operationOf(endpoint, path, index)
      paths[name] = operations
    }
  })
  const { described, schemas } = await nameSchemas({ paths, webhooks: describeWebhooks() })
  const sections = [...new Set(endpoints.map(({ spec }) => spec))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'callgate',
      version,
      summary: 'May this number be called now?',
      description:
        'The gate and the telephone-compliance service. Paths and field names ignore letter ' +
        'case. Telephone numbers have 10 digits.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: sections.map((name) => ({ name })),
    security: [{ loginId: [] }, { token: [] }],
    ...described,
    components: { securitySchemes, schemas },
  }
}

/** What a receiver of events must take. */
function describeWebhooks(): OpenApiDocument['webhooks'] {
  const described = Object.entries(webhookDescriptions).map(([name, { summary, payload }]) => [
    name,
    {
      post: {
        operationId: name,
        summary,
        security: [],
        parameters: ['webhook-id', 'webhook-timestamp', 'callgate-signature'].map((header) => ({
          name: header,
          in: 'header',
          required: true,
          schema: { type: 'string' },
        })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: toJsonSchema(payload) } },
        },
        responses: { '2XX': { description: 'Taken. After any other answer it is sent again' } },
      },
    },
  ])
  return Object.fromEntries(described)
}

const securitySchemes = {
  loginId: { type: 'apiKey', in: 'header', name: 'loginId', description: 'The API key' },
  token: {
    type: 'oauth2',
    description: 'A bearer token; an API key is accepted as one too',
    flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: {} } },
  },
}

function operationOf(endpoint: EndpointDescription, path: string, index: number): Operation {
  const schema = requestSchema(endpoint)
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const parameters = parametersOf(endpoint, { schema, inPath })
  const [first = ''] = endpoint.paths
  const description =
    index === 0
      ? describeAccess(endpoint)
      : `The same as \`${first}\`. ${describeAccess(endpoint)}`.trim()
  return {
    ...(index === 0 && { operationId: toCamelCase(endpoint.name) }),
    summary: endpoint.summary,
    tags: [endpoint.spec],
    ...(description !== '' && { description }),
    ...(endpoint.access === 'open' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.method !== 'GET' && { requestBody: bodyOf(endpoint, { schema, inPath }) }),
    responses: responsesOf(endpoint),
  }
}

function toCamelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function requestSchema(endpoint: EndpointDescription): JsonSchema {
  const schema = toJsonSchema(endpoint.request)
  if (!ignoresUnknownFields(endpoint)) return schema
  const withoutClosing = (name: string, value: unknown) =>
    name === 'additionalProperties' && value === false ? undefined : value
  return JSON.parse(JSON.stringify(schema, withoutClosing))
}

function describeAccess(endpoint: EndpointDescription): string {
  const { keyAlsoIn, keyAsPassword, accepts, method, rateClass, rights } = endpoint
  const needed = rights.map((one) =>
    typeof one === 'string' ? `\`${one}\`` : `\`${one.right}\` (if ${one.condition})`,
  )
  const notes = [
    ...(needed.length > 0 ? [`The key needs the right ${needed.join(' and ')}.`] : []),
    ...(keyAlsoIn.length > 0
      ? [`The key may also be a field loginId (${keyAlsoIn.join(', ')}).`]
      : []),
    ...(keyAsPassword ? ['The key may also be the password of `Authorization: Basic`.'] : []),
    ...(method !== 'GET' && accepts.includes('query')
      ? ['The fields may also be in the query.']
      : []),
    ...(rateClass === undefined ? [] : [`Counts against the limit of requests for ${rateClass}.`]),
  ]
  return notes.join(' ')
}

interface RequestSchema {
  readonly schema: JsonSchema
  readonly inPath: readonly string[]
}

/** The properties of an object schema, and whether each is required. */
function propertiesOf(schema: JsonSchema): readonly {
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema
}[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  const required = new Set((schema.required ?? []) as readonly string[])
  return Object.entries(properties).map(([name, one]) => ({
    name,
    required: required.has(name),
    schema: one,
  }))
}

function parametersOf(
  endpoint: EndpointDescription,
  { schema, inPath }: RequestSchema,
): Parameter[] {
  const fields = propertiesOf(schema)
  const ofPath = inPath.map((name): Parameter => {
    const field = fields.find((one) => isNamed(one, [name]))
    return {
      name,
      in: 'path',
      required: true,
      ...splitDescription(field?.schema ?? { type: 'string' }),
    }
  })
  if (endpoint.method !== 'GET') return ofPath
  const ofQuery = fields
    .filter((one) => !isNamed(one, inPath))
    .map(({ name, required, schema: one }): Parameter => {
      return { name, in: 'query', required, ...splitDescription(one) }
    })
  return [...ofPath, ...ofQuery]
}

/** Field names ignore letter case. */
function isNamed({ name }: { readonly name: string }, names: readonly string[]): boolean {
  return names.some((one) => one.toLowerCase() === name.toLowerCase())
}

function splitDescription({
  description,
  ...schema
}: JsonSchema): Pick<Parameter, 'description' | 'schema'> {
  return { ...(typeof description === 'string' && { description }), schema }
}

const mediaTypes: Readonly<Record<Exclude<FieldSource, 'query'>, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
}

function bodyOf(
  { accepts, bareListField, examples }: EndpointDescription,
  { schema, inPath }: RequestSchema,
) {
  const body = withoutFields(schema, inPath)
  const list = propertiesOf(body).find(({ name }) => name === bareListField)?.schema
  const isOnlyList = list !== undefined && propertiesOf(body).length === 1
  const json = list === undefined ? body : isOnlyList ? list : { anyOf: [body, list] }
  const forms = accepts.filter((source) => source !== 'query')
  const content = forms.map((source): [string, MediaType] => [
    mediaTypes[source],
    { schema: source === 'json' ? json : body, ...describeExamples(examples?.requests) },
  ])
  return { required: !accepts.includes('query'), content: Object.fromEntries(content) }
}

function describeExamples(examples: Readonly<Record<string, unknown>> | undefined) {
  if (examples === undefined) return {}
  const named = Object.entries(examples).map(([name, value]) => [name, { value }])
  return { examples: Object.fromEntries(named) as NonNullable<MediaType['examples']> }
}

function withoutFields(schema: JsonSchema, names: readonly string[]): JsonSchema {
  if (names.length === 0) return schema
  const kept = propertiesOf(schema).filter((one) => !isNamed(one, names))
  return {
    ...schema,
    properties: Object.fromEntries(kept.map(({ name, schema: one }) => [name, one])),
    required: kept.filter(({ required }) => required).map(({ name }) => name),
  }
}

function responsesOf(endpoint: EndpointDescription): Record<string, OpenApiResponse> {
  const success = successOf(endpoint)
  const others = Object.entries(createErrorResponses(endpoint)).map(([status, response]) => [
    status,
    Number(status) < 400 ? { ...success[endpoint.successStatus ?? 200], ...response } : response,
  ])
  return { ...success, ...Object.fromEntries(others) }
}

const ignoredFields = {
  [ignoredFieldsHeader]:
    'Names of unknown fields that were ignored, separated by commas, such as color, ' +
    'ebrList[].color; at most 20; absent when there are none',
}

function successOf(endpoint: EndpointDescription): Record<string, OpenApiResponse> {
  const { replyTypes = ['application/json'], replyHeaders = {}, response, examples } = endpoint
  const text = { type: 'string', ...(endpoint.replyPattern && { pattern: endpoint.replyPattern }) }
  const content = replyTypes.map((type): [string, MediaType] => [
    type,
    {
      schema: type === 'application/json' ? toJsonSchema(response) : text,
      ...describeExamples(examples?.replies),
    },
  ])
  const named = ignoresUnknownFields(endpoint)
    ? { ...replyHeaders, ...ignoredFields }
    : replyHeaders
  const headers = Object.entries(named).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const answer = {
    description: 'The answer',
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    content: Object.fromEntries(content),
  }
  return { [endpoint.successStatus ?? 200]: answer }
}
