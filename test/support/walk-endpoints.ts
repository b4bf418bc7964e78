/**
 * Every endpoint there is, found by its descriptor in `src/api`, so that a new one is walked before
 * anybody thinks of it; and what each of them answers to a request it refuses.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createTimeLegalEndpoint } from '../../src/api/calling-hours/time-legal.js'
import type { Endpoint, ErrorShape } from '../../src/api/endpoint.js'

const folder = join(import.meta.dirname, '../../src/api')

export type AnyEndpoint = Pick<
  Endpoint<unknown, unknown>,
  | 'name'
  | 'method'
  | 'paths'
  | 'accepts'
  | 'bareListField'
  | 'access'
  | 'keyAlsoIn'
  | 'errors'
  | 'request'
  | 'response'
  | 'maxBodyBytes'
  | 'usesServiceThread'
> &
  Pick<Endpoint<never, unknown>, 'scopes'>

function isEndpoint(value: unknown): value is AnyEndpoint {
  return (
    typeof value === 'object' && value !== null && 'paths' in value && Array.isArray(value.paths)
  )
}

async function descriptors(): Promise<readonly AnyEndpoint[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const modules = await Promise.all(
    files.map((name) => import(join(folder, name)) as Promise<object>),
  )
  const exported = modules.flatMap((module) => Object.values(module) as readonly unknown[])
  return [...new Set(exported.filter(isEndpoint)), createTimeLegalEndpoint({ wrappedRows: false })]
}

/** By name; throws where two have the same. */
export const endpoints: ReadonlyMap<string, AnyEndpoint> = await byName()

async function byName(): Promise<ReadonlyMap<string, AnyEndpoint>> {
  const all = await descriptors()
  const found = new Map(all.map((endpoint) => [endpoint.name, endpoint]))
  if (found.size !== all.length) throw new Error('two endpoints have one name')
  return found
}

/** An answer, as far as its error is looked at. */
export interface Refusal {
  readonly status: number
  readonly statusText: string
  readonly contentType: string | null
  readonly text: string
}

type Check = (answer: Refusal) => boolean

/** Whether an answer is a refusal in the shape; in `text-or-error` both forms are. */
export function isRefusalIn(shape: ErrorShape, answer: Refusal): boolean {
  return shapes[shape](answer)
}

const shapes: Readonly<Record<ErrorShape, Check>> = {
  'reason-phrase': (answer) => hasTexts(answer, ['ReasonPhrase']),
  text: isText,
  'text-or-error': (answer) =>
    answer.contentType?.startsWith('application/json')
      ? hasTexts(answer, ['error'])
      : isText(answer),
  problem(answer) {
    const body = objectIn(answer)
    return (
      answer.contentType === 'application/problem+json' &&
      hasTexts(answer, ['type', 'title', 'detail', 'instance']) &&
      body?.status === answer.status
    )
  },
  oauth: (answer) => hasTexts(answer, ['error', 'error_description']),
  'reason-line': (answer) => isText(answer) && answer.statusText !== '',
  'block-line': ({ text }) => /^block:[a-z-]+:-:end\n$/.test(text),
}

function isText({ text, contentType }: Refusal): boolean {
  return text !== '' && (contentType ?? '').startsWith('text/plain')
}

function objectIn({ text }: Refusal): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function hasTexts(answer: Refusal, names: readonly string[]): boolean {
  const body = objectIn(answer)
  return names.every((name) => typeof body?.[name] === 'string' && body[name] !== '')
}
