import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../src/api/openapi.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

/** One request of the tour; `status` is what a comment `# answers 401` says, else any 2xx. */
interface Step {
  readonly title: string
  readonly name: string | undefined
  readonly status: number | undefined
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
}

function readStep(block: string): Step | undefined {
  const [title = '', ...lines] = block.split('\n')
  const comments = lines.filter((line) => line.startsWith('#'))
  const rest = lines.filter((line) => !line.startsWith('#'))
  const start = rest.findIndex((line) => /^[A-Z]+ /.test(line))
  if (start === -1) return undefined
  const blank = rest.indexOf('', start)
  const end = blank === -1 ? rest.length : blank
  const [method = '', url = ''] = (rest[start] ?? '').split(/ (.*)/)
  const headers = rest.slice(start + 1, end).map((line): [string, string] => {
    const [name = '', value = ''] = line.split(/: (.*)/)
    return [name, value]
  })
  const isMultipart = headers.some(([, value]) => value.startsWith('multipart/'))
  const text = rest
    .slice(end + 1)
    .join('\n')
    .trim()
  const said = comments.map((line) => /^# answers (\d{3})$/.exec(line)?.[1]).find(Boolean)
  return {
    title: title.trim(),
    name: comments.map((line) => /^# @name (\w+)$/.exec(line)?.[1]).find(Boolean),
    status: said === undefined ? undefined : Number(said),
    method,
    url,
    headers,
    body: text === '' ? undefined : isMultipart ? text.replaceAll('\n', '\r\n') : text,
  }
}

const tour = readFileSync(join(import.meta.dirname, '../../docs/api.http'), 'utf8')
const steps = tour
  .split(/^### /m)
  .slice(1)
  .flatMap((block) => readStep(block) ?? [])

let running: TestCallgate
let document: OpenApiDocument
const answers = new Map<string, Record<string, unknown>>()

/** Before every date that the tour names: it works on any day. */
const today = Date.UTC(2026, 5, 3, 17)

beforeAll(async () => {
  running = await openTestCallgate({
    at: today,
    environment: {
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
    },
  })
  document = (await (await fetch(`${running.url}/openapi.json`)).json()) as OpenApiDocument
})
afterAll(() => running.end())

function filled(text: string): string {
  const known: Readonly<Record<string, string>> = {
    host: running.url,
    sandboxKey: running.keys.sandbox,
    mainKey: running.keys.main,
  }
  const dated = text
    .replaceAll("{{$datetime 'MM/DD/YYYY'}}", '06/03/2026')
    .replaceAll('{{$datetime iso8601 -1 h}}', new Date(today - 3_600_000).toISOString())
  return dated.replace(/\{\{([^}]+)\}\}/g, (_all, path: string) => {
    const [name = '', , , ...trail] = path.split('.')
    const value = known[name] ?? trail.reduce<unknown>(readMember, answers.get(name))
    if (value === undefined) throw new Error(`the tour uses {{${path}}}, which nothing gives`)
    return String(value)
  })
}

const readMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const ownPages = /^\/(?:healthz|readyz|metrics|docs|openapi\.json|\.well-known\/jwks\.json)$/

/** Whether the description of the API has that status and that kind of answer. */
function describedAnswer(step: Step, { status, headers }: Response): boolean {
  const path = new URL(filled(step.url)).pathname.toLowerCase()
  if (ownPages.test(path)) return true
  const known = Object.entries(document.paths).find(([name]) =>
    new RegExp(`^${name.toLowerCase().replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  const answer = known?.[1][step.method.toLowerCase()]?.responses[String(status)]
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  return answer !== undefined && Object.keys(answer.content ?? {}).includes(type)
}

describe('the tour in docs/api.http', () => {
  it('has requests', () => {
    expect(steps.length).toBeGreaterThan(25)
  })

  /** Again when the server says that it will have an answer by then, as a proof that is signed in ten seconds. */
  async function send(step: Step): Promise<Response> {
    const response = await fetch(filled(step.url), {
      method: step.method,
      headers: step.headers.map(([name, value]): [string, string] => [name, filled(value)]),
      ...(step.body !== undefined && { body: filled(step.body) }),
    })
    const seconds = response.headers.get('retry-after')
    if (response.status !== 503 || seconds === null) return response
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000))
    return await send(step)
  }

  const cases = steps.map((step) => [step.title, step] as const)
  it.each(cases)('%s', async (_title, step) => {
    const response = await send(step)
    const text = await response.text()
    if (step.status === undefined) expect(response.ok, `${response.status} ${text}`).toBe(true)
    else expect(response.status, text).toBe(step.status)
    expect(describedAnswer(step, response), 'is in /openapi.json').toBe(true)
    if (step.name) answers.set(step.name, JSON.parse(text) as Record<string, unknown>)
  })
})
