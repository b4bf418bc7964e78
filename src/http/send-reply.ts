/** Writes a reply to a response of `node:http`. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { BytesReply, Reply, StreamedReply } from '../api/endpoint.js'
import type { Instant } from '../domain/time/clock.js'
import { formatHttpDate } from '../domain/time/dates.js'
import { forEachInSlices, yieldToEventLoop } from '../runtime/yield-to-event-loop.js'
import { keepAliveMs } from './limits/connections.js'

/**
 * Ends the response. Further headers, such as `Allow`, must be set before. Answers are about people
 * and valid only now, so no cache may keep them and no browser may guess their type.
 */
export function sendReply(response: ServerResponse, reply: Reply | BytesReply): void {
  if ('bytes' in reply) {
    writeHead(response, reply, reply.bytes.length)
    return void response.end(reply.bytes)
  }
  const text = textOf(reply)
  writeHead(response, reply, Buffer.byteLength(text))
  // Text leaves in one write together with its headers; bytes take a second one.
  response.end(text)
}

const textOf = (reply: Reply): string => ('text' in reply ? reply.text : JSON.stringify(reply.json))

/** The same for a reply that may hold a long list, which is written beside other work. */
export async function sendReplyInSlices(
  response: ServerResponse,
  reply: Reply | BytesReply,
): Promise<void> {
  if ('bytes' in reply) await sendPieces(response, reply, splitIntoPieces(reply.bytes))
  else if ('json' in reply && hasLongList(reply.json))
    await sendPieces(response, reply, await encodePieces(generateJson(reply.json)))
  else sendReply(response, reply)
}

/** The reply as bytes, made beside other work. */
export async function encodeReply(reply: Reply | BytesReply): Promise<BytesReply> {
  if ('bytes' in reply) return reply
  const isJson = 'json' in reply
  const parts = isJson ? generateJson(reply.json) : [reply.text]
  const { status, reasonPhrase, contentType = usualContentType(isJson), headers } = reply
  return {
    bytes: Buffer.concat(await encodePieces(parts)),
    contentType,
    ...(status !== undefined && { status }),
    ...(reasonPhrase !== undefined && { reasonPhrase }),
    ...(headers && { headers }),
  }
}

/** The system copies what is written at once, so a piece is written when the one before it has left. */
async function sendPieces(
  response: ServerResponse,
  reply: Reply | BytesReply | StreamedReply,
  pieces: readonly Buffer[],
): Promise<void> {
  writeHead(
    response,
    reply,
    pieces.reduce((sum, { length }) => sum + length, 0),
  )
  for (const piece of pieces.slice(0, -1)) {
    if (!response.write(piece)) await waitForDrain(response)
    await yieldToEventLoop()
    if (response.destroyed) return
  }
  response.end(pieces.at(-1))
}

function splitIntoPieces(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let from = 0; from < bytes.length; from += pieceLength)
    pieces.push(bytes.subarray(from, from + pieceLength))
  return pieces
}

/**
 * Sends text or bytes while they are made, no faster than it is read. Rejects with what stopped the making, having
 * cut the connection, so that a part is never mistaken for the whole.
 */
export async function sendStreamedReply(
  response: ServerResponse,
  reply: StreamedReply,
): Promise<void> {
  const { ending } = reply
  // Without chunks or a length, the end of the connection would be the end of the text, also of one cut short.
  const hasLength = reply.headers?.['Content-Length'] !== undefined
  if (response.req.httpVersion === '1.0' && !ending && !hasLength)
    return await sendBufferedReply(response, reply)
  if (ending) endWithReader(response, ending)
  writeHead(response, { ...reply, headers: { ...reply.headers, ...createTrailerHeader(reply) } })
  try {
    for await (const part of reply.parts) {
      if (!response.write(part)) await waitForDrain(response, ending)
      if (response.destroyed) return
    }
    if (!hasLength) response.addTrailers(reply.trailers())
  } catch (cause) {
    response.destroy()
    throw cause
  }
  response.end()
}

/** A reader that ends its side has gone: the next write, which would tell otherwise, may be far. */
function endWithReader(response: ServerResponse, ending: AbortController): void {
  const { socket } = response
  const end = () => ending.abort()
  if (response.destroyed || socket === null) return void ending.abort()
  socket.once('end', end)
  response.once('close', () => {
    socket.off('end', end)
    end()
  })
}

async function sendBufferedReply(response: ServerResponse, reply: StreamedReply): Promise<void> {
  const pieces: Buffer[] = []
  for await (const part of reply.parts) {
    if (response.destroyed) return
    pieces.push(Buffer.from(part))
  }
  const headers = { ...reply.headers, ...reply.trailers() }
  await sendPieces(response, { ...reply, headers }, pieces)
}

function createTrailerHeader({ trailerNames }: StreamedReply): NonNullable<Reply['headers']> {
  return trailerNames.length === 0 ? {} : { Trailer: trailerNames.join(', ') }
}

/** How long a reader of a reply without end need not read. */
const longestStallMs = 10_000

/** Resolves as well when the connection is gone, which is cut if a reply without end is not read for long, or may not go on. */
function waitForDrain(response: ServerResponse, ending?: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const cut = () => void response.destroy()
    const late = ending && setTimeout(cut, longestStallMs)
    const go = () => {
      clearTimeout(late)
      ending?.signal.removeEventListener('abort', cut)
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
    ending?.signal.addEventListener('abort', cut)
    if (response.destroyed || ending?.signal.aborted) {
      cut()
      go()
    }
  })
}

const pieceLength = 65_536

/** As bytes, since one long text would be encoded in one go when it is sent. */
async function encodePieces(parts: Iterable<string>): Promise<readonly Buffer[]> {
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
  reply: Reply | BytesReply | StreamedReply,
  length?: number,
): void {
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': reply.contentType ?? usualContentType('json' in reply),
    ...(length !== undefined && { 'Content-Length': length }),
    ...reply.headers,
  }
  const status = reply.status ?? 200
  if (reply.reasonPhrase === undefined) response.writeHead(status, headers)
  else response.writeHead(status, reply.reasonPhrase, headers)
}

/**
 * The text of a reply, head and body, as {@link sendReply} sends it. With `isLast` it says that the
 * connection closes.
 */
export function formatWholeReply(
  reply: Reply,
  { at, isLast }: { readonly at: Instant; readonly isLast: boolean },
): string {
  const { status = 200, contentType = usualContentType('json' in reply), headers = {} } = reply
  const body = 'text' in reply ? reply.text : textOf(reply)
  let more = ''
  for (const name in headers) more += `${name}: ${headers[name]}\r\n`
  const keepAlive = `keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}`
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nCache-Control: no-store\r\n` +
    `X-Content-Type-Options: nosniff\r\nContent-Type: ${contentType}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${more}Date: ${formatHttpDate(at)}\r\n` +
    `Connection: ${isLast ? 'close' : keepAlive}\r\n\r\n${body}`
  )
}

const usualContentType = (isJson: boolean): string =>
  `${isJson ? 'application/json' : 'text/plain'}; charset=utf-8`

/** Items that are written in one go: well below a millisecond. */
const maxShortListItems = 50

/** Whether the value is a list of more than 50 items or holds one. */
function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && value.length > maxShortListItems) return true
  return Object.values(value).some(hasLongList)
}

/** The text `JSON.stringify` gives of plain data, in parts; each is made in well below a millisecond. */
export function* generateJson(value: unknown): Generator<string> {
  if (!hasLongList(value)) yield JSON.stringify(value) ?? 'null'
  else if (Array.isArray(value)) yield* generateList(value)
  else yield* generateObject(value as object)
}

function* generateList(list: readonly unknown[]): Generator<string> {
  let before = '['
  for (const item of list) {
    if (list.length > maxShortListItems) yield before + (JSON.stringify(item) ?? 'null')
    else {
      yield before
      yield* generateJson(item)
    }
    before = ','
  }
  yield ']'
}

function* generateObject(object: object): Generator<string> {
  let before = '{'
  for (const [name, content] of Object.entries(object)) {
    if (content === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    yield* generateJson(content)
  }
  yield '}'
}
