/**
 * A data folder with a journal of many decisions, written, indexed and compressed by the program's own code
 * for it. The decisions are those of a server, with other ids, numbers, times and ages of facts.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatInstant } from '../src/domain/time/dates.js'
import { DecisionIndex } from '../src/gate/journal/decision-index.js'
import { FrameBlocks } from '../src/gate/journal/frame-blocks.js'
import { indexWriting } from '../src/gate/journal/index-writer.js'
import { segmentWriting } from '../src/gate/journal/segment-writer.js'
import { openSigningKey } from '../src/gate/journal/tree/tree-head.js'
import type { DecisionDocument } from '../src/gate/record/decision-document.js'
import { listAreaCodes } from '../src/law/area-codes.js'
import { nodeRuntime, systemClock } from '../src/runtime/runtime.js'
import { seededRandom } from './random.js'
import { type Serving, serveCallgate } from './serving.js'

export interface KeptJournal {
  readonly dataDir: string
  readonly count: number
  /** Some of its decisions. */
  readonly ids: readonly string[]
  /** Milliseconds since the epoch. */
  readonly firstAt: number
  readonly lastAt: number
  readonly writtenBytesEach: number
  /** Of the segments that are complete; NaN if none is. */
  readonly compressedBytesEach: number
  readonly indexBytesEach: number
  readonly madePerSecond: number
  readonly writtenPerSecond: number
  readonly indexedPerSecond: number
  readonly compressedPerSecond: number
}

export const serverSettings = { CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' }
const batchSize = 5_000
const keptIds = 5_000
/** Between two decisions: 200 a second. */
const everyMs = 5
const maxSegmentBytes = 67_108_864

/**
 * The journal that an earlier run has made for the same count in `BENCH_JOURNALS`, or a new one; there it stays. Without that
 * folder it is in a temporary one, and the caller removes it.
 */
export async function openKeptJournal(
  count: number,
): Promise<{ readonly journal: KeptJournal; readonly stays: boolean }> {
  const parent = process.env.BENCH_JOURNALS
  if (!parent) return { journal: await makeJournal(count), stays: false }
  const dataDir = join(parent, String(count))
  const described = join(dataDir, 'made.json')
  if (!existsSync(described)) {
    rmSync(dataDir, { recursive: true, force: true })
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(described, JSON.stringify(await makeJournal(count, dataDir)))
  }
  return { journal: JSON.parse(readFileSync(described, 'utf8')), stays: true }
}

export async function makeJournal(
  count: number,
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-bench-')),
): Promise<KeptJournal> {
  const samples = await decideSamples(dataDir)
  const folder = join(dataDir, 'journal')
  const indexPath = join(dataDir, 'index.sqlite')
  const origin = createHash('sha256')
    .update(readFileSync(join(folder, 'origin')))
    .digest()
  const firstSeq = nextSeqOf(indexPath, folder)
  const keyPath = join(dataDir, 'journal.key')
  const key = openSigningKey(folder, keyPath)
  const writer = segmentWriting.create({ folder, origin, key, maxSegmentBytes, databaseFiles: [] })
  const indexer = indexWriting.create({
    folder,
    indexPath,
    keepYears: 5,
    keyPath,
  })
  const firstAt = systemClock.now() - count * everyMs
  const ids: string[] = []
  const spent = { making: 0, writing: 0, indexing: 0, compressing: 0 }
  let writtenBytes = 0
  /** Until the index has the record and all complete segments are compressed. */
  const index = async (lastSeq: number) => {
    for (let isDone = false; !isDone; ) {
      const startedAt = performance.now()
      const uncompressed = countUncompressed(folder)
      const { nextSeq } = await indexer.handle({ lastSeq, erasures: [], mustSign: false })
      const hasCompressed = countUncompressed(folder) < uncompressed
      spent[hasCompressed ? 'compressing' : 'indexing'] += performance.now() - startedAt
      isDone = nextSeq > lastSeq && !hasCompressed
    }
  }
  for (let made = 0; made < count; made += batchSize) {
    const size = Math.min(batchSize, count - made)
    const startedAt = performance.now()
    const instants = Array.from({ length: size }, (_, index) => firstAt + (made + index) * everyMs)
    const documents = instants.map((at) => vary(samples, at))
    const bodies = documents.map((document) => JSON.stringify(document))
    const blocks = new FrameBlocks({ blockBytes: batchSize * 8_192, maxBlocks: 1 })
    let end = 0
    let memory = new SharedArrayBuffer(0)
    for (const [index, body] of bodies.entries()) {
      const at = instants[index] ?? 0
      ;({ memory, size: end } = blocks.append('decision', firstSeq + made + index, at, body))
    }
    const madeAt = performance.now()
    const sizeBefore = sizesOf(folder, '.seg')
    await writer.handle({ memory, start: 0, end })
    writtenBytes += sizesOf(folder, '.seg') - sizeBefore
    spent.making += madeAt - startedAt
    spent.writing += performance.now() - madeAt
    const share = Math.max(1, Math.ceil((keptIds * size) / count))
    ids.push(...documents.slice(0, share).map(({ id }) => id))
    await index(firstSeq + made + size - 1)
  }
  await writer.close()
  await indexer.close()
  const complete = count - countInLastSegment(folder, firstSeq + count - 1)
  const perSecond = (ms: number, records = count) => (records * 1_000) / ms
  return {
    dataDir,
    count,
    ids,
    firstAt,
    lastAt: firstAt + count * everyMs,
    writtenBytesEach: writtenBytes / count,
    compressedBytesEach: complete > 0 ? sizesOf(folder, '.seg.gz') / complete : Number.NaN,
    indexBytesEach: statSync(indexPath).size / count,
    madePerSecond: perSecond(spent.making),
    writtenPerSecond: perSecond(spent.writing),
    indexedPerSecond: perSecond(spent.indexing),
    compressedPerSecond: perSecond(spent.compressing, complete),
  }
}

/** Also makes the data folder with its keys. */
async function decideSamples(dataDir: string): Promise<readonly DecisionDocument[]> {
  const serving = await serveCallgate({ ...serverSettings, CALLGATE_DATA_DIR: dataDir })
  try {
    const lines = ['0100', '0101', '0103', '0104', '0105', '0106', '0108', '0109', '0111']
    const asked = listAreaCodes().flatMap((areaCode, index) =>
      ['manual', 'ai'].map((callKind) => ({
        number: `${areaCode}555${lines[index % lines.length]}`,
        callKind,
        callerId: `${areaCode}5550199`,
        reference: `call-${index}`,
      })),
    )
    const decided: DecisionDocument[] = []
    for (const request of asked) decided.push(await decide(serving, request))
    // Those that were late on a busy machine have no findings.
    return decided.filter(({ reason }) => reason !== 'overloaded' && reason !== 'not-recorded')
  } finally {
    await serving.end()
  }
}

async function decide({ url, sandboxKey }: Serving, request: object): Promise<DecisionDocument> {
  const reply = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: sandboxKey, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  return (await reply.json()) as DecisionDocument
}

const below = seededRandom(51)

function vary(samples: readonly DecisionDocument[], at: number): DecisionDocument {
  const sample = samples[below(samples.length)] as DecisionDocument
  const number = `${sample.number.slice(0, 3)}${2_000_000 + below(8_000_000)}`
  const decidedAt = formatInstant(at)
  return {
    ...sample,
    id: nodeRuntime.newDecisionId(at),
    number,
    dial: sample.dial && number,
    decidedAt,
    judgedAt: decidedAt,
    validUntil: formatInstant(at + 60_000),
    findings: sample.findings.map((finding) => ({ ...finding, ageMs: below(300_000) })),
    dialed: number,
    projectId: below(10_000) === 0 ? 'RARE' : `P${below(20)}`,
    reference: `${1_700_000_000 + below(90_000_000)}.${below(100_000)}`,
  }
}

function nextSeqOf(indexPath: string, folder: string): number {
  const index = new DecisionIndex(indexPath, folder)
  const { nextSeq } = index
  index.close()
  return nextSeq
}

function sizesOf(folder: string, extension: string): number {
  const names = readdirSync(folder).filter((name) => name.endsWith(extension))
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

function countUncompressed(folder: string): number {
  return readdirSync(folder).filter((name) => name.endsWith('.seg')).length
}

function countInLastSegment(folder: string, lastSeq: number): number {
  const last = readdirSync(folder)
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .at(-1)
  return lastSeq + 1 - Number(last?.slice(0, 20) ?? 0)
}
