/** Writes a reply to a response of `node:http`. */
import type { ServerResponse } from 'node:http'
import type { LongReply, Page, PendingReply, Reply } from '../api/endpoint.js'
import { forEachInSlices, yieldToEventLoop } from '../domain/slices.js'
import { holdsLongList, jsonParts } from './stringify.js'

/**
 * Ends the response. Further headers, such as `Allow`, must be set before. Answers are about people
 * and moments, so nobody may keep or reinterpret them.
 */
export function sendReply(response: ServerResponse, pending: PendingReply | Page): void {
  const reply = typeof pending === 'function' ? pending() : pending
  if ('parts' in reply) throw new TypeError('a long reply is sent while it is made')
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
  await sendPieces(response, reply, await piecesOf(jsonParts(reply.json)))
}

async function sendPieces(
  response: ServerResponse,
  reply: Reply | LongReply,
  pieces: readonly Buffer[],
): Promise<void> {
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

/**
 * Sends text while it is made, no faster than it is read. Rejects with what stopped the making, having
 * cut the connection: nobody must take a part for the whole.
 */
export async function sendLongReply(response: ServerResponse, reply: LongReply): Promise<void> {
  // Without chunks the end of the connection would be the end of the text, also of one cut short.
  if (response.req.httpVersion === '1.0') return await sendGathered(response, reply)
  writeHead(response, { ...reply, headers: { ...reply.headers, ...trailerHeader(reply) } })
  try {
    for await (const part of reply.parts) {
      if (!response.write(part)) await drained(response)
      if (response.destroyed) return
    }
    response.addTrailers(reply.trailers())
  } catch (cause) {
    response.destroy()
    throw cause
  }
  response.end()
}

async function sendGathered(response: ServerResponse, reply: LongReply): Promise<void> {
  const pieces: Buffer[] = []
  for await (const part of reply.parts) pieces.push(Buffer.from(part))
  const headers = { ...reply.headers, ...reply.trailers() }
  await sendPieces(response, { ...reply, headers }, pieces)
}

function trailerHeader({ trailerNames }: LongReply): NonNullable<Reply['headers']> {
  return trailerNames.length === 0 ? {} : { Trailer: trailerNames.join(', ') }
}

/** Resolves as well when the connection is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
    if (response.destroyed) go()
  })
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

/** Without a length the text comes in chunks. */
function writeHead(
  response: ServerResponse,
  reply: Reply | Page | LongReply,
  length?: number,
): void {
  const isJson = 'json' in reply
  const usualType = isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8'
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': reply.contentType ?? usualType,
    ...(length !== undefined && { 'Content-Length': length }),
    ...reply.headers,
  }
  const status = reply.status ?? 200
  if (reply.reasonPhrase === undefined) response.writeHead(status, headers)
  else response.writeHead(status, reply.reasonPhrase, headers)
}
