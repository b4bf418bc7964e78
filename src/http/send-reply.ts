/** Writes a reply to a response of `node:http`. */
import type { ServerResponse } from 'node:http'
import type { Page, PendingReply, Reply } from '../api/endpoint.js'
import { forEachInSlices, yieldToEventLoop } from '../domain/slices.js'
import { holdsLongList, jsonParts } from './stringify.js'

/**
 * Ends the response. Further headers, such as `Allow`, must be set before. Answers are about people
 * and moments, so nobody may keep or reinterpret them.
 */
export function sendReply(response: ServerResponse, pending: PendingReply | Page): void {
  const reply = typeof pending === 'function' ? pending() : pending
  if ('bytes' in reply) {
    writeHead(response, reply, reply.bytes.length)
    return void response.end(reply.bytes)
  }
  const text = 'text' in reply ? reply.text : JSON.stringify(reply.json)
  writeHead(response, reply, Buffer.byteLength(text))
  // Text leaves in one write together with its headers; bytes take a second one.
  response.end(text)
}

/** The same for a reply that may hold a long list, which is written beside other work. */
export async function sendReplyInSlices(response: ServerResponse, reply: Reply): Promise<void> {
  if (!('json' in reply && holdsLongList(reply.json))) return void sendReply(response, reply)
  const pieces = await piecesOf(jsonParts(reply.json))
  writeHead(
    response,
    reply,
    pieces.reduce((sum, { length }) => sum + length, 0),
  )
  for (const piece of pieces) {
    await yieldToEventLoop()
    if (response.destroyed) return
    response.write(piece)
  }
  response.end()
}

const pieceLength = 65_536

/** As bytes, since one long text would be gone through at a stretch when it is sent. */
async function piecesOf(parts: Iterable<string>): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = []
  let text = ''
  await forEachInSlices(parts, (part) => {
    text += part
    if (text.length < pieceLength) return
    pieces.push(Buffer.from(text))
    text = ''
  })
  return [...pieces, Buffer.from(text)]
}

function writeHead(response: ServerResponse, reply: Reply | Page, length: number): void {
  const isJson = 'json' in reply
  const usualType = isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8'
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': reply.contentType ?? usualType,
    'Content-Length': length,
    ...reply.headers,
  }
  const status = reply.status ?? 200
  if (reply.reasonPhrase === undefined) response.writeHead(status, headers)
  else response.writeHead(status, reply.reasonPhrase, headers)
}
