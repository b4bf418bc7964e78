/** Asks the server under test. Knows nothing of what the answers should be. */
import { setTimeout as pause } from 'node:timers/promises'
import { run } from './run.js'

export interface Ask {
  readonly at?: 'base' | 'rpc' | 'monitor' | 'auth'
  readonly method?: string
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent in header `loginId`; the run's key when absent, none when `null`. */
  readonly key?: string | null
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent urlencoded. */
  readonly form?: Readonly<Record<string, string>>
  /** Sent as it is; give the content type among the headers. */
  readonly body?: string | FormData
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Fails the case when the text is no JSON. */
  json(): unknown
}

const addresses = {
  base: run.baseUrl,
  rpc: run.rpcUrl,
  monitor: run.monitorUrl,
  auth: run.authUrl,
} as const

const longestWaitMs = 90_000
/** Documented limits are a hundred a minute; a run keeps below them however fast it is. */
const mostAsksPerMinute = 89
const minuteMs = 60_000
/** Calls under one limit, and when they were made, by any account. */
const limited: readonly { readonly path: RegExp; readonly times: number[] }[] = [
  { path: /\/rpc\/scrub/i, times: [] },
  { path: /\/v1\.[45]\/reputation\//i, times: [] },
]

/** Answers of any status; a 429 is waited out once. */
export async function ask(asked: Ask): Promise<Reply> {
  const first = await send(asked)
  const waitMs = Number(first.headers.get('retry-after')) * 1000
  if (first.status !== 429 || !(waitMs > 0 && waitMs <= longestWaitMs)) return first
  await pause(waitMs)
  return await send(asked)
}

const once = new Map<string, Promise<Reply>>()

/** The same for requests that change nothing and are looked at by several sections. */
export function askOnce(asked: Ask): Promise<Reply> {
  const name = JSON.stringify(asked)
  const reply = once.get(name) ?? ask(asked)
  once.set(name, reply)
  return reply
}

async function send({ at = 'base', method, path, query, ...more }: Ask): Promise<Reply> {
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
  const url = `${addresses[at]}${path}${search}`
  const times = limited.find((limit) => limit.path.test(url))?.times ?? []
  await keepBelowLimit(times)
  const { headers, body } = contentOf(more)
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(60_000),
    ...(body !== undefined && { body }),
  })
  const text = await response.text()
  const { status, headers: answered } = response
  // What nobody's key asks counts for nobody.
  if (status !== 401) times.push(Date.now())
  return { status, headers: answered, text, json: () => parsed(text, `${status} of ${url}`) }
}

function contentOf({ key, json, form, body, headers: given }: Omit<Ask, 'path'>) {
  const headers = new Headers(given)
  if (key !== null) headers.set('loginId', key ?? run.loginId)
  if (json !== undefined) {
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return { headers, body: JSON.stringify(json) }
  }
  return { headers, body: form === undefined ? body : new URLSearchParams(form) }
}

/** Waits until one more call is below its limit. */
async function keepBelowLimit(times: readonly number[]): Promise<void> {
  const oldest = times.at(-mostAsksPerMinute)
  const waitMs = oldest === undefined ? 0 : oldest + minuteMs - Date.now()
  if (waitMs > 0) await pause(waitMs)
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`the answer ${what} is no JSON: ${text.slice(0, 200)}`)
  }
}
