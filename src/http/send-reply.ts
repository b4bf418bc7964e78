/** Writes a reply to a response of `node:http`. */
import type { ServerResponse } from 'node:http'
import type { Reply } from '../api/endpoint.js'

/** Answers are about people and moments: nobody may keep or reinterpret them. */
const always = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

/** Ends the response. Further headers, such as `Allow`, must be set before. */
export function sendReply(response: ServerResponse, reply: Reply): void {
  const isJson = 'json' in reply
  const body = Buffer.from(isJson ? JSON.stringify(reply.json) : reply.text)
  const usualType = isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8'
  response.writeHead(reply.status ?? 200, {
    ...always,
    'Content-Type': reply.contentType ?? usualType,
    'Content-Length': body.length,
  })
  response.end(body)
}
