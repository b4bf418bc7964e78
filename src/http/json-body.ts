/**
 * Reads a JSON text from a stranger. Refuses what `JSON.parse` lets pass: a name given twice in
 * one object (the last would win in silence), endless nesting, objects of endless names, and so many
 * values that reading them would hold the event loop and the memory for long.
 */
import { nextTurn, yieldToEventLoop } from '../domain/slices.js'
import { invalidRequest, shorten } from '../errors.js'

const deepestNesting = 32
const mostNames = 1000
/** Objects and lists cost the most: of 8 MB of empty ones `JSON.parse` makes 500 ms and 200 MB. */
const maxContainers = 25_000
const maxValues = 250_000

/** Throws an `invalid-request` refusal; the value may be of any JSON type. */
export function parseJsonBody(text: string): unknown {
  const pieces = refuseHostileShape(text)
  while (!pieces.next().done);
  return parsed(text)
}

/** The same for a long text, most of the work of which is done in slices beside other work. */
export async function parseLongJsonBody(text: string): Promise<unknown> {
  for (const _piece of refuseHostileShape(text)) await yieldToEventLoop()
  await nextTurn()
  const value = parsed(text)
  await yieldToEventLoop()
  return value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // What V8 says beyond the position quotes the body, which may be a key.
    const where = /at position \d+/.exec(error instanceof Error ? error.message : '')?.[0] ?? ''
    throw malformed(`the body is not well-formed JSON ${where}`.trimEnd())
  }
}

/**
 * The text of a member of a JSON object, by its name in lower case, without reading the rest; the
 * object may be cut off. `undefined` where the member is not there, is cut off, or is not text.
 */
export function findText(start: string, name: string): string | undefined {
  let depth = 0
  for (let at = 0; at < start.length; at += 1) {
    const code = start.charCodeAt(at)
    depth += depthChange(code)
    if (code !== quote) continue
    const end = endOfString(start, at + 1)
    const isNamed = depth === 1 && isBeforeColon(start, end + 1)
    if (isNamed && unescaped(start.slice(at, end + 1)).toLowerCase() === name) {
      return textAfterColon(start, end + 1)
    }
    at = end
  }
  return undefined
}

function textAfterColon(start: string, from: number): string | undefined {
  const value = /\s*:\s*(?=")/y
  value.lastIndex = from
  if (!value.test(start)) return undefined
  const end = endOfString(start, value.lastIndex + 1)
  const text = end < start.length ? start.slice(value.lastIndex, end + 1) : ''
  const found = unescaped(text)
  return found === text ? undefined : found
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

function depthChange(code: number): -1 | 0 | 1 {
  if (code === openBrace || code === openBracket) return 1
  return code === closeBrace || code === closeBracket ? -1 : 0
}

/** Names of the objects that are open at a place; `undefined` stands for an open list. */
type OpenParts = (Set<string> | undefined)[]

interface Shape {
  readonly open: OpenParts
  containers: number
  separators: number
}

/** Characters that are looked through in well below a millisecond. */
const pieceLength = 16_384

/** Pauses after each piece of the text. */
function* refuseHostileShape(text: string): Generator<void> {
  const shape: Shape = { open: [], containers: 0, separators: 0 }
  let pieceEnd = pieceLength
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pieceEnd) {
      yield
      pieceEnd = at + pieceLength
    }
    const code = text.charCodeAt(at)
    if (code === quote) at = readString(text, at, shape.open)
    else if (code === comma) addSeparator(shape)
    else readBracket(code, shape)
  }
}

function readBracket(code: number, shape: Shape): void {
  const change = depthChange(code)
  if (change === -1) shape.open.pop()
  if (change !== 1) return
  shape.containers += 1
  if (shape.containers > maxContainers) {
    throw malformed(`the body holds more than ${maxContainers} objects and lists`)
  }
  shape.open.push(code === openBrace ? new Set() : undefined)
  if (shape.open.length <= deepestNesting) return
  throw malformed(`the body is nested deeper than ${deepestNesting} levels`)
}

function addSeparator(shape: Shape): void {
  shape.separators += 1
  if (shape.separators < maxValues) return
  throw malformed(`the body holds more than ${maxValues} values`)
}

/** In well-formed JSON a string before a colon is a name. Gives the place of the closing quote. */
function readString(text: string, start: number, open: OpenParts): number {
  const end = endOfString(text, start + 1)
  const names = open.at(-1)
  if (names && isBeforeColon(text, end + 1)) addName(names, text.slice(start, end + 1))
  return end
}

/** Position of the closing quote, or the end of a text that has none. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return text.length
}

function isBeforeColon(text: string, start: number): boolean {
  let at = start
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1
  return text.charCodeAt(at) === colon
}

function addName(names: Set<string>, quoted: string): void {
  const name = quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1)
  if (names.has(name)) throw invalidRequest([{ field: shorten(name), rule: 'is given twice' }])
  names.add(name)
  if (names.size > mostNames) throw malformed(`an object holds more than ${mostNames} fields`)
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

function malformed(rule: string) {
  return invalidRequest([{ field: '', rule }])
}
