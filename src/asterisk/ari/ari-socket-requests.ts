/** Sends requests over the event socket, and matches their answers. */
import { AriHttpError, type AriRequest, parseErrorMessage } from './ari-http-client.js'

/** The event with which Asterisk answers a request; an event filter must allow it. */
export const answerEventType = 'RESTResponse'

interface SocketAnswer {
  readonly request_id?: unknown
  readonly status_code?: unknown
  readonly reason_phrase?: unknown
  readonly message_body?: unknown
}

interface PendingSocketRequest {
  readonly resolve: (text: string) => void
  readonly reject: (error: AriHttpError) => void
}

export class AriSocketRequests {
  readonly #send: (text: string) => void
  /** By request id, until the answer. */
  readonly #pending = new Map<string, PendingSocketRequest>()
  #sentCount = 0
  #isDestroyed = false

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  /** Resolves with the body of a 2xx answer; rejects with an {@link AriHttpError} otherwise. */
  request({ method, path, body, signal }: AriRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#isDestroyed) {
        reject(createNotSentError())
        return
      }
      this.#sentCount += 1
      const id = String(this.#sentCount)
      this.#pending.set(id, { resolve, reject })
      signal?.addEventListener('abort', () => this.#fail(id, 'no answer in time'), { once: true })
      const json = body === undefined ? {} : { content_type: jsonType, message_body: body }
      const uri = path.replace(/^\/ari\//, '')
      const ids = { transaction_id: id, request_id: id }
      try {
        this.#send(JSON.stringify({ type: 'RESTRequest', ...ids, method, uri, ...json }))
      } catch {
        this.#pending.delete(id)
        reject(createNotSentError())
      }
    })
  }

  /** Takes an answer; ignores one that comes too late. */
  onAnswer({ request_id: id, status_code: status, ...more }: SocketAnswer): void {
    const pending = this.#pending.get(String(id))
    if (!pending) return
    this.#pending.delete(String(id))
    const text = typeof more.message_body === 'string' ? more.message_body : ''
    if (typeof status === 'number' && status >= 200 && status < 300) pending.resolve(text)
    else {
      const message = parseErrorMessage(text) ?? String(more.reason_phrase)
      const about = { status: typeof status === 'number' ? status : undefined }
      pending.reject(new AriHttpError(message, about))
    }
  }

  /** Fails all requests, including future ones. */
  destroy(): void {
    this.#isDestroyed = true
    for (const id of [...this.#pending.keys()]) this.#fail(id, 'the connection has ended')
  }

  #fail(id: string, why: string): void {
    this.#pending.get(id)?.reject(new AriHttpError(why, {}))
    this.#pending.delete(id)
  }
}

const createNotSentError = () => new AriHttpError('the connection has ended', { code: 'ENOTCONN' })
const jsonType = 'application/json'
