/**
 * The description of the API as a page to read: one HTML document, with nothing to load from
 * anywhere and no script.
 */
import type { JsonSchema } from '../api/json-schema.js'
import type { OpenApiDocument, Operation } from '../api/openapi.js'

interface Call {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export function docsPage(document: OpenApiDocument): string {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): Call => ({ method: method.toUpperCase(), path, operation }),
    ),
  )
  const sections = document.tags.map(({ name }) => ({
    name,
    calls: calls.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const { title, version, description } = document.info
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)} API</title><style>${style}</style></head><body>`,
    `<header><h1>${escaped(title)} API</h1><p>Version ${escaped(version)}. ${escaped(description)} `,
    'For programs: <a href="/openapi.json">openapi.json</a>.</p></header><nav><ul>',
    ...sections.map(
      ({ name, calls: some }) =>
        `<li><b>${escaped(name)}</b><ul>${some.map(linkOf).join('')}</ul></li>`,
    ),
    '</ul></nav><main>',
    ...sections.map(
      ({ name, calls: some }) =>
        `<section><h2>${escaped(name)}</h2>${some.map(callBlock).join('')}</section>`,
    ),
    '</main></body></html>\n',
  ].join('')
}

function linkOf({ method, path, operation }: Call): string {
  const id = escaped(operation.operationId)
  return `<li><a href="#${id}"><code>${method}</code> ${escaped(path)}</a></li>`
}

function callBlock({ method, path, operation }: Call): string {
  const { operationId, summary, description = '', parameters = [], requestBody } = operation
  const fields = parameters.map(({ name, in: place, required, schema, ...more }) =>
    row([`<code>${escaped(name)}</code>`, place, need(required), typeText(schema), prose(more)]),
  )
  const bodies = Object.entries(requestBody?.content ?? {})
  return [
    `<article id="${escaped(operationId)}"><h3><span>${method}</span> ${escaped(path)}</h3>`,
    `<p>${marked(summary)}${description === '' ? '' : ` ${marked(description)}`}</p>`,
    fields.length > 0 ? table(['Field', 'In', '', 'Type', ''], fields) : '',
    bodies.length > 0 ? bodyBlock(bodies) : '',
    table(
      ['Status', 'Meaning', 'Body'],
      Object.entries(operation.responses).map(([status, answer]) =>
        row([status, marked(answer.description), answerTypes(answer.content)]),
      ),
    ),
    answerBlock(operation),
    '</article>',
  ].join('')
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>

function bodyBlock(
  bodies: readonly (readonly [string, { readonly schema: JsonSchema }])[],
): string {
  const types = bodies.map(([type]) => `<code>${escaped(type)}</code>`).join(', ')
  return `<p>Body as ${types}:</p>${schemaBlock(bodies[0]?.[1].schema ?? {})}`
}

function answerBlock({ responses }: Operation): string {
  const success = Object.entries(responses).find(([status]) => Number(status) < 300)?.[1]
  const schema = success?.content?.['application/json']?.schema
  return schema ? `<p>The answer as JSON:</p>${schemaBlock(schema)}` : ''
}

function answerTypes(content: Content = {}): string {
  return Object.keys(content).map(escaped).join(', ')
}

/** Objects as a table of their fields, lists as what they hold. */
function schemaBlock(schema: JsonSchema): string {
  const compound = choicesOf(schema).filter(isCompound)
  if (compound.length > 0) return compound.map(schemaBlock).join('<p>or</p>')
  if (schema.type === 'array') {
    const inner = (schema.items ?? (schema.prefixItems as JsonSchema[] | undefined)?.[0]) as
      | JsonSchema
      | undefined
    return `<p>A list${limits(schema)} of:</p>${schemaBlock(inner ?? {})}`
  }
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  if (properties.length === 0) return `<p>${typeText(schema)}</p>`
  const required = new Set((schema.required ?? []) as readonly string[])
  return table(
    ['Field', '', 'Type', ''],
    properties.map(([name, one]) =>
      row([
        `<code>${escaped(name)}</code>`,
        need(required.has(name)),
        isCompound(one) ? schemaBlock(one) : typeText(one),
        prose(one),
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

function typeText(schema: JsonSchema): string {
  const choices = choicesOf(schema)
  if (choices.length > 0) return [...new Set(choices.map(typeText))].join(' or ')
  if (Array.isArray(schema.enum))
    return schema.enum.map((one) => `<code>${escaped(one)}</code>`).join(' ')
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`
  const types = [schema.type ?? 'anything'].flat().map(escaped).join(' or ')
  return types + limits(schema)
}

function limits({ minItems, maxItems, maxLength }: JsonSchema): string {
  if (maxItems !== undefined) return ` (${escaped(minItems ?? 0)} to ${escaped(maxItems)})`
  return maxLength === undefined ? '' : ` (at most ${escaped(maxLength)} characters)`
}

function prose({ description }: { readonly description?: unknown }): string {
  return description === undefined ? '' : marked(String(description))
}

function need(required: boolean): string {
  return required ? 'required' : ''
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function table(head: readonly string[], rows: readonly string[]): string {
  const cells = head.map((name) => `<th>${name}</th>`).join('')
  return `<table><thead><tr>${cells}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (mark) => entities[mark] ?? mark)
}

/** Text whose backquotes mark code. */
function marked(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75rem; padding: 1rem 2rem;
  display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 0 2rem }
header { grid-column: 1 / -1 } nav { font-size: 85%; position: sticky; top: 0; align-self: start;
  max-height: 100vh; overflow: auto } nav ul { list-style: none; padding: 0 } nav li li { margin: .2rem 0 }
article { border-top: 1px solid var(--line); padding: 1rem 0 } h3 span { font-family: monospace }
code { background: var(--soft); padding: 0 .2em } td { vertical-align: top; padding: .2rem .6rem .2rem 0 }
th { text-align: left; font-weight: normal; opacity: .6 } table { border-collapse: collapse; font-size: 90% }
tr { border-top: 1px solid var(--line) } td table tr { border: 0 }
@media (max-width: 60rem) { body { display: block; padding: 1rem } nav { position: static } }`
