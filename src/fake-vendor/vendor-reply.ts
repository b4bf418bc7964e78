/** A complete reply that has not been sent. */
import type { Reply } from '../api/endpoint.js'

export interface VendorReply {
  readonly status: number
  /** Without the length. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export const jsonType = 'application/json; charset=utf-8'
export const textType = 'text/plain; charset=utf-8'

/** Converts a reply of the service, with the same headers. */
export function toVendorReply(reply: Reply, headers: VendorReply['headers'] = {}): VendorReply {
  const isJson = 'json' in reply
  return {
    status: reply.status ?? 200,
    headers: {
      'Cache-Control': 'no-store',
      'Content-Type': reply.contentType ?? (isJson ? jsonType : textType),
      ...headers,
    },
    body: Buffer.from(isJson ? JSON.stringify(reply.json) : reply.text),
  }
}
