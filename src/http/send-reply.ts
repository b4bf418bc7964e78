/** Writes a reply to a response of `node:http`. */
import type { ServerResponse } from 'node:http'
import type { PendingReply, Reply } from '../api/endpoint.js'
import { stringifyInSlices } from './stringify.js'

/**
 * Ends the response. Further headers, such as `Allow`, must be set before. Answers are about people
 * and moments, so nobody may keep or reinterpret them.
 */
export function sendReply(response: ServerResponse, pending: PendingReply): void {
  const reply = typeof pending === 'function' ? pending() : pending
  const text = 'text' in reply ? reply.text : JSON.stringify(reply.json)
  send(response, reply, text)
}

/** The same for a reply that may hold a long list, which is written beside other work. */
export async function sendReplyInSlices(response: ServerResponse, reply: Reply): Promise<void> {
  const text = 'text' in reply ? reply.text : stringifyInSlices(reply.json)
  send(response, reply, typeof text === 'string' ? text : await text)
}

function send(response: ServerResponse, reply: Reply, text: string): void {
  const isJson = 'json' in reply
  const usualType = isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8'
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': reply.contentType ?? usualType,
    'Content-Length': Buffer.byteLength(text),
    ...reply.headers,
  }
  const status = reply.status ?? 200
  if (reply.reasonPhrase === undefined) response.writeHead(status, headers)
  else response.writeHead(status, reply.reasonPhrase, headers)
  // Text leaves in one write together with its headers; bytes would take a second one.
  response.end(text)
}
