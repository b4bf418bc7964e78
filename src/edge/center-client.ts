/** Asks the servers at the center. */
import {
  type AccountCopy,
  type ChangesCopy,
  type EdgeDecisionsRequest,
  type EdgeDecisionsResponse,
  edgeAccountEndpoint,
  edgeChangesEndpoint,
  edgeDecisionsEndpoint,
  edgeRecordsEndpoint,
  type NumberTable,
  type RecordPage,
} from '../api/edges.js'
import type { Endpoint } from '../api/endpoint.js'
import { getErrorMessage, truncate } from '../errors.js'

export interface CenterClientOptions {
  /** Addresses of servers over the same database. */
  readonly centers: readonly string[]
  readonly loginId: string
}

/** A line that answers later is as good as none. */
const timeoutMs = 5_000

export class CenterClient {
  readonly #options: CenterClientOptions
  readonly #closing = new AbortController()
  #current = 0

  constructor(options: CenterClientOptions) {
    this.#options = options
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

  /** Rejects unless all were stored. */
  async addOptOuts(list: string, numbers: readonly string[]): Promise<void> {
    const fields = { actionType: 'add', projId: list, phoneList: numbers.join(',') }
    await this.#send('/app/main/rpc/pdnc', { method: 'POST', body: JSON.stringify(fields) })
  }

  storeRecords(batch: EdgeDecisionsRequest): Promise<EdgeDecisionsResponse> {
    const { paths, response } = edgeDecisionsEndpoint
    const request = { method: 'POST', body: JSON.stringify(batch) }
    return this.#send(paths[0] ?? '', request).then(async (reply) =>
      response.parse(await reply.json()),
    )
  }

  close(): void {
    this.#closing.abort()
  }

  async #get<Response>(
    { paths, response }: Pick<Endpoint<never, Response>, 'paths' | 'response'>,
    query: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const reply = await this.#send(`${paths[0]}?${new URLSearchParams(query)}`, {})
    return response.parse(await reply.json())
  }

  /** After a failure, the next request goes to another server. */
  async #send(path: string, request: RequestInit): Promise<globalThis.Response> {
    const { centers, loginId } = this.#options
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
      if (reply.ok) return reply
      throw new Error(`status ${reply.status}: ${truncate(await reply.text())}`)
    } catch (cause) {
      this.#current += 1
      const why = cause instanceof TypeError ? getErrorMessage(cause.cause) : getErrorMessage(cause)
      throw new Error(`${center} does not answer: ${why}`, { cause })
    }
  }
}
