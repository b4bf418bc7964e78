/** Requests that nobody should send, drawn from a seed so that a failure can be drawn again. */

/** A small generator of numbers from 0 up to 1 (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

export interface HostileRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly contentType: string | undefined
  readonly body: Uint8Array<ArrayBuffer> | undefined
}

const boundary = 'XX'

const contentTypes = [
  'application/json',
  'text/json',
  'application/x-www-form-urlencoded',
  `multipart/form-data; boundary=${boundary}`,
  'multipart/form-data',
  'text/plain',
  ';;;',
]

const names = [
  'phoneList',
  'PhoneList',
  'version',
  'output',
  'projId',
  'campaignId',
  'actionType',
  'ignoreInvalid',
  'ebrList',
  'keepBetterEBR',
  'IsTimeLegalToCall',
  'OutputFormat',
  'loginId',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  '\u0000',
  'x'.repeat(300),
]

const texts = [
  ...[
    '2125550100',
    '2125550100|a|10001',
    '2125550100,,12',
    ',',
    '',
    ' ',
    '|||',
    '0',
    '1',
    '8',
    '-1',
  ],
  '1e999',
  'NaN',
  'null',
  'add',
  'remove',
  'status',
  'count',
  'json',
  'csv',
  'JsonObject',
  'P',
  '11/01/2026',
  '99/99/9999',
  '2026-11-23T17:00:00Z',
  '\u0000',
  '\ud800',
  '\r\n',
  "'; --",
  '%',
  '🦆'.repeat(50),
  '٢١٢٥٥٥٠١٠٠',
  'x'.repeat(5000),
  '2125550100,'.repeat(2000),
]

/** Draws one request to one of the paths. */
export function hostileRequest(random: () => number, paths: readonly string[]): HostileRequest {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const method = pick(['GET', 'POST', 'POST'] as const)
  const query = random() < 0.5 ? `?${urlencoded(random, pick)}` : ''
  const path = damaged(`${pick(paths)}${query}`, random, 0.1).replaceAll(/[^\x21-\x7e]/g, '')
  if (method === 'GET')
    return { method, path: `/${path.slice(1)}`, contentType: undefined, body: undefined }
  const contentType = pick(contentTypes)
  const written = damaged(bodyFor(contentType, random, pick), random, 0.4)
  return {
    method,
    path: `/${path.slice(1)}`,
    contentType,
    body: new Uint8Array(Buffer.from(written, random() < 0.2 ? 'latin1' : 'utf8')),
  }
}

type Pick = <T>(from: readonly T[]) => T

function bodyFor(contentType: string, random: () => number, pick: Pick): string {
  if (contentType.includes('urlencoded')) return urlencoded(random, pick)
  if (!contentType.includes('multipart')) return JSON.stringify(value(random, pick, 0))
  const parts = pairs(random, pick).map(
    ([name, text]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  )
  return `${parts.join('')}--${boundary}--\r\n`
}

function urlencoded(random: () => number, pick: Pick): string {
  const short = pairs(random, pick).map(([name, text]): [string, string] => [
    name,
    text.slice(0, 3000),
  ])
  return new URLSearchParams(short).toString()
}

function pairs(random: () => number, pick: Pick): readonly (readonly [string, string])[] {
  return Array.from({ length: Math.floor(random() * 6) }, () => [pick(names), pick(texts)])
}

function value(random: () => number, pick: Pick, depth: number): unknown {
  const kind = random()
  if (depth > 3 || kind < 0.35) return pick(texts)
  if (kind < 0.5) return pick([null, true, false, 0, 1, 8, -1, 1.5, 1e300, 2125550100])
  const children = Array.from({ length: Math.floor(random() * 5) }, () =>
    value(random, pick, depth + 1),
  )
  if (kind < 0.65) return children
  return Object.fromEntries(children.map((child) => [pick(names), child]))
}

/** Cuts, repeats or overwrites a piece, with the given chance. */
function damaged(text: string, random: () => number, chance: number): string {
  if (random() >= chance || text === '') return text
  const at = Math.floor(random() * text.length)
  const kind = random()
  if (kind < 0.35) return text.slice(0, at)
  if (kind < 0.7) return text.slice(0, at) + text.slice(Math.floor(random() * text.length))
  return `${text.slice(0, at)}${String.fromCharCode(Math.floor(random() * 256))}${text.slice(at + 1)}`
}
