/** Asks the servers at the center. */
import { readFile } from 'node:fs/promises'
import {
  type AccountCopy,
  type ChangesCopy,
  type EdgeAttemptRequest,
  type EdgeDecisionsRequest,
  type EdgeDecisionsResponse,
  edgeAccountEndpoint,
  edgeAttemptsEndpoint,
  edgeChangesEndpoint,
  edgeDecisionsEndpoint,
  edgeRecordsEndpoint,
  type NumberTable,
  type RecordPage,
} from '../api/edges.js'
import type { Endpoint } from '../api/endpoint.js'
import type { OptOutReport } from '../domain/consent/consent-records.js'
import type { CountedAttempt } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { getErrorMessage, truncate } from '../errors.js'

export interface CenterClientOptions {
  /** Addresses of servers over the same database. */
  readonly centers: readonly string[]
  readonly loginId: string
  /** With the key on its first line; it is read again when the key is refused. */
  readonly loginIdFile: string
}

export type EdgeOptOutReport = Pick<
  OptOutReport,
  'number' | 'said' | 'goods' | 'source' | 'scope'
> & {
  readonly reference: string
  readonly receivedAt: Instant
  readonly channel?: OptOutReport['channel'] | undefined
}

/** A line that answers later is as good as none. */
const timeoutMs = 5_000

export class CenterClient {
  readonly #options: CenterClientOptions
  readonly #closing = new AbortController()
  #current = 0
  #loginId: string

  constructor(options: CenterClientOptions) {
    this.#options = options
    this.#loginId = options.loginId
  }

  changes(after: string, waitMs: number): Promise<ChangesCopy> {
    return this.#get(edgeChangesEndpoint, { after, waitMs: String(waitMs) })
  }

  account(): Promise<AccountCopy> {
    return this.#get(edgeAccountEndpoint, {})
  }

  records(table: NumberTable, after: string): Promise<RecordPage> {
    return this.#get(edgeRecordsEndpoint, { table, after })
  }

  /** At most 500 numbers. */
  optOutsOf(numbers: readonly string[]): Promise<RecordPage> {
    const query = { table: 'internal_dnc', numbers: numbers.join(',') }
    return this.#get(edgeRecordsEndpoint, query)
  }

  /** Rejects unless all were stored. */
  async addOptOuts(project: string, numbers: readonly string[]): Promise<void> {
    const fields = { actionType: 'add', projId: project, phoneList: numbers.join(',') }
    const request = { method: 'POST', body: JSON.stringify(fields) }
    await this.#send('/app/main/rpc/pdnc', request, () => undefined)
  }

  /** As often as it is sent, it is one opt-out. Rejects unless it was stored. */
  async reportOptOut({ receivedAt, ...report }: EdgeOptOutReport): Promise<void> {
    const body = JSON.stringify({ ...report, receivedAt: formatInstant(receivedAt) })
    await this.#send('/v1/opt-outs', { method: 'POST', body }, () => undefined)
  }

  async storeRecords(batch: EdgeDecisionsRequest): Promise<EdgeDecisionsResponse> {
    const { paths, response } = edgeDecisionsEndpoint
    const request = { method: 'POST', body: JSON.stringify(batch) }
    return await this.#send(paths[0] ?? '', request, (text) => response.parse(JSON.parse(text)))
  }

  async attempt(of: EdgeAttemptRequest): Promise<CountedAttempt> {
    const { paths, response } = edgeAttemptsEndpoint
    const request = { method: 'POST', body: JSON.stringify({ of }) }
    return await this.#send(paths[0] ?? '', request, (text) => response.parse(JSON.parse(text)))
  }

  close(): void {
    this.#closing.abort()
  }

  async #get<Response>(
    { paths, response }: Pick<Endpoint<never, Response>, 'paths' | 'response'>,
    query: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const parse = (text: string) => response.parse(JSON.parse(text))
    return await this.#send(`${paths[0]}?${new URLSearchParams(query)}`, {}, parse)
  }

  /** Whether the key was replaced in its file; it is used from now on. */
  async #hasNewKey(): Promise<boolean> {
    const text = await readFile(this.#options.loginIdFile, 'utf8').catch(() => '')
    const key = text.split(/\r?\n/, 1)[0]?.trim() ?? ''
    if (key === '' || key === this.#loginId) return false
    this.#loginId = key
    return true
  }

  /** After a failure, the next request goes to another server. */
  async #send<Result>(
    path: string,
    request: RequestInit,
    read: (text: string) => Result,
  ): Promise<Result> {
    const { centers } = this.#options
    const loginId = this.#loginId
    const center = centers[this.#current % centers.length] ?? ''
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)])
    const headers = { loginId, 'content-type': 'application/json' }
    try {
      const reply = await fetch(`${center}${path}`, {
        ...request,
        headers,
        signal,
        redirect: 'error',
      })
      const text = await reply.text()
      if (reply.ok) return read(text)
      if (reply.status === 401 && (await this.#hasNewKey())) {
        return await this.#send(path, request, read)
      }
      throw new Error(`status ${reply.status}: ${truncate(text)}`)
    } catch (cause) {
      this.#current += 1
      const why = cause instanceof TypeError ? getErrorMessage(cause.cause) : getErrorMessage(cause)
      throw new Error(`${center} does not answer: ${why}`, { cause })
    }
  }
}
