/** Describes the endpoints in OpenAPI 3.1, from their descriptors and nothing else. */
import { type FieldSource, takesOpenFields } from './endpoint.js'
import { type JsonSchema, wireSchema } from './json-schema.js'
import { ignoredFieldsHeader } from './open-fields.js'
import { errorResponses } from './openapi-errors.js'
import type { EndpointDescription } from './route.js'

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
  readonly components: Readonly<Record<string, unknown>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly description?: string
  readonly security?: readonly never[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>
  }
  readonly responses: Readonly<Record<string, OpenApiResponse>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

export function openApiDocument({ version, endpoints }: OpenApiOptions): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const endpoint of endpoints) {
    for (const [index, path] of endpoint.paths.entries()) {
      const name = path.replace(/:(\w+)/g, '{$1}')
      const operations = paths[name] ?? {}
      operations[endpoint.method.toLowerCase()] = operationOf(endpoint, path, index)
      paths[name] = operations
    }
  }
  const sections = [...new Set(endpoints.map(({ spec }) => spec))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'callgate',
      version,
      summary: 'May this number be called now?',
      description:
        'The gate and the telephone-compliance service. Paths and field names are compared ' +
        'without letter case. Telephone numbers have 10 digits.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: sections.map((name) => ({ name })),
    security: [{ loginId: [] }, { token: [] }],
    paths,
    components: { securitySchemes },
  }
}

const securitySchemes = {
  loginId: { type: 'apiKey', in: 'header', name: 'loginId', description: 'The API key' },
  token: {
    type: 'oauth2',
    description: 'A bearer token; an API key is taken as one as well',
    flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: {} } },
  },
}

function operationOf(endpoint: EndpointDescription, path: string, index: number): Operation {
  const schema = requestSchema(endpoint)
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const parameters = parametersOf(endpoint, { schema, inPath })
  const description = notesOf(endpoint)
  return {
    operationId: index === 0 ? endpoint.name : `${endpoint.name}-${index + 1}`,
    summary: endpoint.summary,
    tags: [endpoint.spec],
    ...(description !== '' && { description }),
    ...(endpoint.access === 'open' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.method !== 'GET' && { requestBody: bodyOf(endpoint, { schema, inPath }) }),
    responses: responsesOf(endpoint),
  }
}

function requestSchema(endpoint: EndpointDescription): JsonSchema {
  const schema = wireSchema(endpoint.request)
  if (!takesOpenFields(endpoint)) return schema
  const withoutClosing = (name: string, value: unknown) =>
    name === 'additionalProperties' && value === false ? undefined : value
  return JSON.parse(JSON.stringify(schema, withoutClosing))
}

function notesOf(endpoint: EndpointDescription): string {
  const { keyAlsoIn, keyAsPassword, accepts, method, rate, rights } = endpoint
  const needed = rights.map((one) =>
    typeof one === 'string' ? `\`${one}\`` : `\`${one.right}\` (if ${one.when})`,
  )
  const notes = [
    ...(needed.length > 0 ? [`The key needs the right ${needed.join(' and ')}.`] : []),
    ...(keyAlsoIn.length > 0
      ? [`The key may also be a field loginId (${keyAlsoIn.join(', ')}).`]
      : []),
    ...(keyAsPassword ? ['The key may also be the password of `Authorization: Basic`.'] : []),
    ...(method !== 'GET' && accepts.includes('query')
      ? ['The fields may also stand in the address.']
      : []),
    ...(rate === undefined ? [] : [`Counts against the limit of requests for ${rate}.`]),
  ]
  return notes.join(' ')
}

interface Read {
  readonly schema: JsonSchema
  readonly inPath: readonly string[]
}

/** The properties of an object schema, with whether each must be there. */
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

function parametersOf(endpoint: EndpointDescription, { schema, inPath }: Read): Parameter[] {
  const fields = propertiesOf(schema)
  const ofPath = inPath.map((name): Parameter => {
    const field = fields.find((one) => isNamed(one, [name]))
    return { name, in: 'path', required: true, ...described(field?.schema ?? { type: 'string' }) }
  })
  if (endpoint.method !== 'GET') return ofPath
  const ofQuery = fields
    .filter((one) => !isNamed(one, inPath))
    .map(({ name, required, schema: one }): Parameter => {
      return { name, in: 'query', required, ...described(one) }
    })
  return [...ofPath, ...ofQuery]
}

/** Names of fields are compared without letter case. */
function isNamed({ name }: { readonly name: string }, names: readonly string[]): boolean {
  return names.some((one) => one.toLowerCase() === name.toLowerCase())
}

function described({
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

function bodyOf({ accepts, listBody }: EndpointDescription, { schema, inPath }: Read) {
  const body = withoutFields(schema, inPath)
  const list = propertiesOf(body).find(({ name }) => name === listBody)?.schema
  const isListAlone = list !== undefined && propertiesOf(body).length === 1
  const json = list === undefined ? body : isListAlone ? list : { anyOf: [body, list] }
  const forms = accepts.filter((source) => source !== 'query')
  const content = forms.map((source): [string, { schema: JsonSchema }] => [
    mediaTypes[source],
    { schema: source === 'json' ? json : body },
  ])
  return { required: !accepts.includes('query'), content: Object.fromEntries(content) }
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
  const others = Object.entries(errorResponses(endpoint)).map(([status, response]) => [
    status,
    Number(status) < 400 ? { ...success[endpoint.success ?? 200], ...response } : response,
  ])
  return { ...success, ...Object.fromEntries(others) }
}

const ignoredFields = {
  [ignoredFieldsHeader]:
    'Names of fields that the call does not know and passed over, separated by commas, such as ' +
    'colour, ebrList[].colour; at most 20; absent where there are none',
}

function successOf(endpoint: EndpointDescription): Record<string, OpenApiResponse> {
  const { replyTypes = ['application/json'], replyHeaders = {}, response } = endpoint
  const content = replyTypes.map((type): [string, { schema: JsonSchema }] => [
    type,
    { schema: type === 'application/json' ? wireSchema(response) : { type: 'string' } },
  ])
  const named = takesOpenFields(endpoint) ? { ...replyHeaders, ...ignoredFields } : replyHeaders
  const headers = Object.entries(named).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const answer = {
    description: 'The answer',
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    content: Object.fromEntries(content),
  }
  return { [endpoint.success ?? 200]: answer }
}
