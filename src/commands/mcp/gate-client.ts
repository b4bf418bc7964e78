/** Asks a gate over HTTP with the key of an agent. Messages never contain the key. */
import { z } from 'zod'
import { type AccessCheckResult, accessCheckEndpoint } from '../../api/accounts/authentication.js'
import { getErrorMessage } from '../../errors.js'

/** What the gate refused, or why there is no answer that can be relied on. */
export class GateFailure extends Error {
  /** Of the answer; absent without one. */
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.name = 'GateFailure'
    this.status = status
  }
}

export interface GateAddress {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** How long one request may take. */
  readonly timeoutMs: number
}

const keySet = z.object({ keys: z.array(z.unknown()) })

export class GateClient {
  readonly #address: GateAddress
  readonly #key: string

  constructor(address: GateAddress, key: string) {
    this.#address = address
    this.#key = key
  }

  /** Of the gate, without a slash at the end. */
  get url(): string {
    return this.#address.url
  }

  /** What the key may do, and the time of its account. */
  readKey(): Promise<AccessCheckResult> {
    return this.ask('/v1.5/Auth/Validate', accessCheckEndpoint.response)
  }

  /** Whether the gate gives permits: only then does it publish keys that they are signed with. */
  async readGivesPermits(): Promise<boolean> {
    try {
      return (await this.ask('/.well-known/jwks.json', keySet)).keys.length > 0
    } catch (cause) {
      if (cause instanceof GateFailure && cause.status === 404) return false
      throw cause
    }
  }

  /** Sends `body` as JSON by POST, or reads by GET without one. Rejects with a {@link GateFailure}. */
  async ask<Answer>(path: string, schema: z.ZodType<Answer>, body?: unknown): Promise<Answer> {
    const { status, text } = await this.#send(path, body)
    const json = parseJson(text)
    if (status !== 200) {
      throw new GateFailure(
        `the gate answered ${status}: ${this.#quote(findDetail(json, text))}`,
        status,
      )
    }
    const read = schema.safeParse(json)
    if (read.success) return read.data
    throw new GateFailure(`the gate answered what is no answer of ${path}: ${this.#quote(text)}`)
  }

  async #send(path: string, body: unknown) {
    const { url, timeoutMs } = this.#address
    const signal = AbortSignal.timeout(timeoutMs)
    const headers = { authorization: `Bearer ${this.#key}` }
    const request: RequestInit =
      body === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }
    try {
      const response = await fetch(`${url}${path}`, { ...request, redirect: 'error', signal })
      return { status: response.status, text: await readText(response) }
    } catch (cause) {
      if (signal.aborted) {
        throw new GateFailure(`the gate did not answer within ${timeoutMs / 1_000} s`)
      }
      const why = cause instanceof Error && cause.cause ? cause.cause : cause
      throw new GateFailure(`the gate did not answer: ${this.#quote(getErrorMessage(why))}`)
    }
  }

  /** What is between them was said by others. */
  #quote(text: string): string {
    return JSON.stringify(boundText(text.replaceAll(this.#key, '(the key)')))
  }
}

/** Several times the longest answer of a gate. */
const maxAnswerBytes = 1_048_576

/** Throws if the answer is too long, so that a gate that never stops sending fills no memory. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxAnswerBytes) throw new Error(`its answer is longer than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const maxTextLength = 500

/** Text that came from data, for a model: short, on one line, and without characters that a person does not see. */
export function boundText(text: string): string {
  const line = text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return line.length <= maxTextLength ? line : `${line.slice(0, maxTextLength)}...`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const problem = z.union([
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ error: z.string() }).transform(({ error }) => error),
])

function findDetail(json: unknown, text: string): string {
  const read = problem.safeParse(json)
  return read.success ? read.data : text
}
