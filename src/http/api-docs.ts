/**
 * The description of the API as a page to read: one HTML document, with nothing to load from
 * anywhere and no script.
 *
 * `/openapi.json` and `/docs`: what the API is, for programs and for people. Neither asks for a key.
 */

import type { BytesReply, Page } from '../api/endpoint.js'
import type { JsonSchema } from '../api/fields.js'
import type { OpenApiDocument, Operation } from '../api/openapi.js'
import { createOpenApiDocument } from '../api/openapi.js'
import type { EndpointDescription } from '../api/route.js'
import { forEachInSlices, waitForNextTurn } from '../runtime/yield-to-event-loop.js'

interface Call {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** In slices. */
async function renderDocsPage(document: OpenApiDocument): Promise<string> {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): Call => ({ method: method.toUpperCase(), path, operation }),
    ),
  )
  const sections = document.tags.map(({ name }) => ({
    name,
    calls: calls.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const insert = namedSchemaInserter(document)
  const articles = new Map<Call, string>()
  await forEachInSlices(calls, (call) => {
    articles.set(call, renderCall({ ...call, operation: insert(call.operation) }))
  })
  const { title, version, description } = document.info
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)} API</title><link rel="stylesheet" href="${stylePath}"></head><body>`,
    `<header><h1>${escapeHtml(title)} API</h1><p>Version ${escapeHtml(version)}. ${escapeHtml(description)} `,
    'For programs: <a href="/openapi.json">openapi.json</a>.</p></header><nav><ul>',
    ...sections.map(
      ({ name, calls: some }) =>
        `<li><b>${escapeHtml(name)}</b><ul>${some.map(renderLink).join('')}</ul></li>`,
    ),
    '</ul></nav><main>',
    ...sections.map(({ name, calls: some }) => {
      const content = some.map((call) => articles.get(call)).join('')
      return `<section><h2>${escapeHtml(name)}</h2>${content}</section>`
    }),
    '</main></body></html>\n',
  ].join('')
}

/** Puts each named schema in its place; no schema refers to itself. */
function namedSchemaInserter({ components }: OpenApiDocument): (from: Operation) => Operation {
  const insert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(insert)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...more } = value as JsonSchema
    const named = components.schemas[String($ref).replace('#/components/schemas/', '')]
    const entries = Object.entries({ ...named, ...more })
    return Object.fromEntries(
      entries.map(([name, one]) => [name, name === 'examples' ? one : insert(one)]),
    )
  }
  return (operation) => insert(operation) as Operation
}

function idOf({ method, path, operation }: Call): string {
  return escapeHtml(operation.operationId ?? `${method} ${path}`.replace(/\W+/g, '-'))
}

function renderLink({ method, path, operation }: Call): string {
  const id = idOf({ method, path, operation })
  return `<li><a href="#${id}"><code>${method}</code> ${escapeHtml(path)}</a></li>`
}

function renderCall({ method, path, operation }: Call): string {
  const { summary, description = '', parameters = [], requestBody } = operation
  const fields = parameters.map(({ name, in: place, required, schema, ...more }) =>
    renderRow([
      `<code>${escapeHtml(name)}</code>`,
      place,
      renderRequired(required),
      renderType(schema),
      renderDescription(more),
    ]),
  )
  const bodies = Object.entries(requestBody?.content ?? {})
  return [
    `<article id="${idOf({ method, path, operation })}"><h3><span>${method}</span> ${escapeHtml(path)}</h3>`,
    `<p>${renderMarkup(summary)}${description === '' ? '' : ` ${renderMarkup(description)}`}</p>`,
    fields.length > 0 ? renderTable(['Field', 'In', 'Needed', 'Type', 'Meaning'], fields) : '',
    bodies.length > 0 ? renderBody(bodies) : '',
    renderTable(
      ['Status', 'Meaning', 'Body'],
      Object.entries(operation.responses).map(([status, answer]) =>
        renderRow([status, renderMarkup(answer.description), listContentTypes(answer.content)]),
      ),
    ),
    renderAnswer(operation),
    '</article>',
  ].join('')
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>

function renderBody(
  bodies: readonly (readonly [string, { readonly schema: JsonSchema }])[],
): string {
  const types = bodies.map(([type]) => `<code>${escapeHtml(type)}</code>`).join(', ')
  return `<p>Body as ${types}:</p>${renderSchema(bodies[0]?.[1].schema ?? {})}`
}

function renderAnswer({ responses }: Operation): string {
  const success = Object.entries(responses).find(([status]) => Number(status) < 300)?.[1]
  const schema = success?.content?.['application/json']?.schema
  return schema ? `<p>The answer as JSON:</p>${renderSchema(schema)}` : ''
}

function listContentTypes(content: Content = {}): string {
  return Object.keys(content).map(escapeHtml).join(', ')
}

/** Objects as a table of their fields, lists as what they hold. */
function renderSchema(schema: JsonSchema): string {
  const compound = choicesOf(schema).filter(isCompound)
  if (compound.length > 0) return compound.map(renderSchema).join('<p>or</p>')
  if (schema.type === 'array') {
    const inner = (schema.items ?? (schema.prefixItems as JsonSchema[] | undefined)?.[0]) as
      | JsonSchema
      | undefined
    return `<p>A list${renderLimits(schema)} of:</p>${renderSchema(inner ?? {})}`
  }
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  if (properties.length === 0) return `<p>${renderType(schema)}</p>`
  const required = new Set((schema.required ?? []) as readonly string[])
  return renderTable(
    ['Field', 'Needed', 'Type', 'Meaning'],
    properties.map(([name, one]) =>
      renderRow([
        `<code>${escapeHtml(name)}</code>`,
        renderRequired(required.has(name)),
        isCompound(one) ? renderSchema(one) : renderType(one),
        renderDescription(one),
      ]),
    ),
  )
}

function isCompound(schema: JsonSchema): boolean {
  const { properties, type } = schema
  return properties !== undefined || type === 'array' || choicesOf(schema).some(isCompound)
}

function choicesOf({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] {
  return (anyOf ?? oneOf ?? []) as readonly JsonSchema[]
}

function renderType(schema: JsonSchema): string {
  const choices = choicesOf(schema)
  if (choices.length > 0) return [...new Set(choices.map(renderType))].join(' or ')
  if (Array.isArray(schema.enum))
    return schema.enum.map((one) => `<code>${escapeHtml(one)}</code>`).join(' ')
  if (schema.const !== undefined) return `<code>${escapeHtml(JSON.stringify(schema.const))}</code>`
  const types = [schema.type ?? 'anything'].flat().map(escapeHtml).join(' or ')
  return types + renderLimits(schema)
}

function renderLimits({ minItems, maxItems, maxLength }: JsonSchema): string {
  if (maxItems !== undefined) return ` (${escapeHtml(minItems ?? 0)} to ${escapeHtml(maxItems)})`
  return maxLength === undefined ? '' : ` (at most ${escapeHtml(maxLength)} characters)`
}

function renderDescription({ description }: { readonly description?: unknown }): string {
  return description === undefined ? '' : renderMarkup(String(description))
}

function renderRequired(required: boolean): string {
  return required ? 'required' : ''
}

function renderRow(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function renderTable(head: readonly string[], rows: readonly string[]): string {
  const cells = head.map((name) => `<th scope="col">${name}</th>`).join('')
  return `<table><thead><tr>${cells}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (mark) => entities[mark] ?? mark)
}

/** Text whose backquotes mark code. */
function renderMarkup(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

const stylePath = '/docs/style.css'

const style = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #fff; --panel: #f5f7f9;
  --line: #c9d1d9; --link: #0550ae }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #a5b0bb; --page: #0d1117;
  --panel: #161b22; --line: #3d444d; --link: #79b8ff } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75rem; padding: 1rem 2rem;
  display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 0 2rem; overflow-wrap: anywhere;
  background: var(--page); color: var(--text) }
header { grid-column: 1 / -1 } a { color: var(--link) }
nav { font-size: 85%; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto }
nav ul { list-style: none; padding: 0 } nav a { display: inline-block; min-height: 24px; min-width: 24px }
article { border-top: 1px solid var(--line); padding: 1rem 0 } h3 span { font-family: monospace }
code { background: var(--panel); padding: 0 .2em } td { vertical-align: top; padding: .2rem .6rem .2rem 0 }
th { text-align: left; font-weight: normal; color: var(--soft); padding-right: .6rem }
table { border-collapse: collapse; font-size: 90% } tr { border-top: 1px solid var(--line) } td table tr { border: 0 }
@media (max-width: 60rem) { body { display: block; padding: 1rem } nav { position: static; max-height: none }
  table, tbody, tr, td { display: block } thead { display: none } td { padding: 0 } td table { margin-left: 1rem } }
`

export interface ApiDocsOptions {
  readonly version: string
  readonly endpoints: readonly EndpointDescription[]
  /** Where a browser at the root is sent. */
  readonly home: '/docs' | '/console'
}

/** The page loads nothing and runs nothing. */
const pageHeaders = { 'Content-Security-Policy': "default-src 'none'; style-src 'self'" }

/** Where a browser at the root is sent. */
const redirectTo = (path: string): BytesReply => ({
  status: 302,
  bytes: Buffer.from(
    `The description of the API is at /docs, and the console, if enabled, at /console\n`,
  ),
  headers: { Location: path },
})

const styleSheet: BytesReply = {
  bytes: Buffer.from(style),
  contentType: 'text/css; charset=utf-8',
}

/** By path, made when first asked for. */
export function createApiDocsPages(options: ApiDocsOptions): ReadonlyMap<string, Page> {
  const home = redirectTo(options.home)
  let made: ReturnType<typeof makePages> | undefined
  const pages = () => {
    made ??= makePages(options)
    return made
  }
  return new Map<string, Page>([
    ['/', { make: () => home, isFixed: true }],
    ['/openapi.json', { make: async () => (await pages()).json, isFixed: true }],
    ['/docs', { make: async () => (await pages()).page, isFixed: true }],
    [stylePath, { make: () => styleSheet, isFixed: true }],
  ])
}

async function makePages(
  options: ApiDocsOptions,
): Promise<{ readonly json: BytesReply; readonly page: BytesReply }> {
  const document = await createOpenApiDocument(options)
  const html = await renderDocsPage(document)
  await waitForNextTurn()
  const json = JSON.stringify(document)
  return {
    json: { bytes: Buffer.from(json), contentType: 'application/json; charset=utf-8' },
    page: {
      bytes: Buffer.from(html),
      contentType: 'text/html; charset=utf-8',
      headers: pageHeaders,
    },
  }
}
