/**
 * Somebody edits a data folder at random, stops and starts the server over it, and asks for a proof. What is expected depends
 * on two things: what the attacker had (the files, their formats, or the signing key too) and what the verifier holds (the key
 * alone, or a head or a cosignature from elsewhere). `CALLGATE_SEED` sets the seed and `CALLGATE_ATTACKS` how many attacks are
 * tried (`npm test -- --long`: 10,000).
 */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeFiles, writeManifest } from '../../src/commands/backup/manifest.js'
import { restoreBackup } from '../../src/commands/backup/restore-backup.js'
import { renameJournal } from '../../src/commands/evidence/new-origin.js'
import { bufferSource } from '../../src/evidence/byte-source.js'
import { type Verification, verifyJournal } from '../../src/evidence/verify/verify-journal.js'
import { writeBeginning, writeFormerOrigins } from '../../src/gate/journal/journal-beginning.js'
import { readOriginName } from '../../src/gate/journal/journal-origin.js'
import { compressSegment } from '../../src/gate/journal/segment-file.js'
import type { StoredRecord } from '../../src/gate/journal/segment-format.js'
import {
  checkpointPath,
  cosignedPath,
  formerPath,
  treeFolder,
  verifierKeyPath,
} from '../../src/gate/journal/tree/tree-files.js'
import { openSigningKey } from '../../src/gate/journal/tree/tree-head.js'
import { inspectDatabase } from '../../src/storage/database-copy.js'
import { openCheckpoint } from '../../src/transparency/checkpoint.js'
import {
  formatNote,
  formatVerifierKey,
  parseNote,
  parseVerifierKey,
  type SigningKey,
  signNote,
  type VerifierKey,
} from '../../src/transparency/signed-note.js'
import { answered, fakeCompliance, noon } from '../support/fake-compliance.js'
import {
  appendRecords,
  firstSeqOf,
  forgeHeader,
  forgeRecord,
  forgeTree,
  randomFrom,
  readSegment,
  sealSegments,
  segmentNames,
  signTree,
  writeSegment,
} from '../support/forge-journal.js'
import { listFiles } from '../support/journal.js'
import { shortOrLong } from '../support/long.js'
import { seededKey } from '../support/seeded-key.js'
import { makeDecision, testJournal } from '../support/test-journal.js'
import { witnessKey } from '../support/test-witness.js'

const attempts = Number(process.env.CALLGATE_ATTACKS ?? shortOrLong(300, 10_000))
const firstSeed = Number(process.env.CALLGATE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const msPerDay = 86_400_000
const erasedNumber = '2125550106'
const day = (text: string) => Date.parse(`${text}T12:00:00Z`)
const days = [
  ...['2021-10-30', '2021-10-31', '2021-11-01'].map(day),
  ...Array.from({ length: 9 }, (_, index) => day('2026-11-01') + index * msPerDay),
]
const lastDay = days.at(-1) ?? 0

/** Whatever else is true of a trial, these are. */
interface Original {
  readonly dataDir: string
  /** The whole folder as it was when the early head was signed. */
  readonly earlier: string
  readonly key: SigningKey
  readonly early: Head
  readonly late: Head
  /** By number; with the erased number masked everywhere. */
  readonly bodies: ReadonlyMap<number, string>
  /** The same of all that the server has ever written, also of what it has removed after its time. */
  readonly written: ReadonlySet<string>
}

interface Head {
  readonly size: number
  readonly signed: string
}

let parent: string
/** One that was begun five years ago, with an erasure and a removal, and a young one. */
let originals: readonly Original[]

const masked = (body: string) => body.replaceAll(/2125550106|x{10}/g, '')

function readBodies(folder: string): Map<number, StoredRecord> {
  const records = new Map<number, StoredRecord>()
  for (const name of segmentNames(folder)) {
    // Nothing of a segment that cannot be read is a record.
    try {
      for (const record of readSegment(join(folder, name)).records) records.set(record.seq, record)
    } catch {}
  }
  return records
}

function readHead(dataDir: string, key: VerifierKey): Head {
  const signed = readFileSync(checkpointPath(treeFolder(join(dataDir, 'journal'))), 'utf8')
  return { signed, size: openCheckpoint(signed, key).size }
}

async function writeOriginal(
  name: string,
  all: readonly number[],
  { isErased } = { isErased: true },
): Promise<Original> {
  const dataDir = join(parent, name)
  const earlier = join(parent, `${name} earlier`)
  const folder = join(dataDir, 'journal')
  mkdirSync(dataDir)
  let now = all[0] ?? 0
  const compliance = fakeCompliance({
    internalDnc: () => answered({ onList: true, addedAt: noon, facts: `{"addedAt":${noon}}` }),
  })
  const { journal, append } = testJournal(dataDir, () => now)
  await journal.open()
  const key = openSigningKey(folder, join(dataDir, 'journal.key'))
  let early: Head | undefined
  for (const [dayIndex, at] of all.entries()) {
    now = at
    for (let index = 0; index < 25; index += 1) {
      const dialed = index === 7 ? erasedNumber : `212555${1_000 + dayIndex * 25 + index}`
      const id = at.toString(36).padStart(9, '0') + String(index).padStart(20, '0')
      await append(await makeDecision({ id, decidedAt: at }, { dialed }, compliance))
    }
    await journal.drain()
    if (dayIndex === all.length - 4) {
      const erasure = { number: erasedNumber, accountId: undefined, includesAllowed: true }
      if (isErased) journal.erase({ id: 'e1', ...erasure })
      await journal.drain()
      await journal.drain()
      early = readHead(dataDir, key)
      cpSync(dataDir, earlier, { recursive: true })
    }
  }
  for (let update = 0; update < all.length; update += 1) await journal.drain()
  await journal.close()
  if (early === undefined) throw new Error('there is no earlier head')
  const late = readHead(dataDir, key)
  const { text, signatures } = parseNote(late.signed)
  const cosigned = {
    text,
    signatures: [...signatures, signNote(text, witnessKey, lastDay / 1_000)],
  }
  writeFileSync(cosignedPath(treeFolder(folder)), formatNote(cosigned))
  const bodiesOf = (of: string) =>
    [...readBodies(join(of, 'journal'))].map(
      ([seq, { body }]) => [seq, masked(body.toString())] as const,
    )
  const bodies = new Map(bodiesOf(dataDir))
  const written = new Set([...bodies.values(), ...new Map(bodiesOf(earlier)).values()])
  return { dataDir, earlier, key, early, late, bodies, written }
}

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'callgate-attacker-'))
  originals = [
    await writeOriginal('old', days),
    await writeOriginal('young', days.slice(-5), { isErased: false }),
  ]
})

afterAll(() => rmSync(parent, { recursive: true, force: true }))

/** A key that somebody else has made, of the same name. */
const strangerOf = ({ name }: VerifierKey) => seededKey(name, 'signer', 9)

/** One folder under attack. */
class Trial {
  readonly dataDir: string
  readonly original: Original
  /** What the attacker has. */
  readonly level: Level
  readonly random: (below: number) => number
  readonly edits: string[] = []
  /** Numbers for which somebody has put a request to erase into the database. */
  readonly erasures: string[] = []

  constructor(seed: number) {
    this.random = randomFrom(seed)
    this.dataDir = join(parent, 'trial')
    this.original = this.pick(originals)
    this.level = this.pick(['files', 'files', 'formats', 'formats', 'formats', 'key'])
    rmSync(this.dataDir, { recursive: true, force: true })
    cpSync(this.original.dataDir, this.dataDir, { recursive: true })
  }

  get folder(): string {
    return join(this.dataDir, 'journal')
  }

  get tree(): string {
    return treeFolder(this.folder)
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.random(items.length)]
    if (item === undefined) throw new Error('nothing to choose from')
    return item
  }

  pickFile(): string {
    return join(this.dataDir, this.pick(listFiles(this.dataDir)))
  }

  pickSegment(): string {
    return join(this.folder, this.pick(segmentNames(this.folder)))
  }

  /** Whether it stays in the form it had. */
  changeSegment(change: (all: readonly StoredRecord[]) => readonly StoredRecord[]): void {
    const content = readSegment(this.pickSegment())
    const plain = writeSegment(content, change(content.records))
    if (content.path.endsWith('.gz')) compressSegment(plain)
  }

  /** Changes a decision to its opposite; gives its record. */
  forge(): StoredRecord {
    let found: StoredRecord | undefined
    this.changeSegment((all) => {
      const blocks = all.filter(({ body }) => body.includes('"decision":"block"'))
      found = blocks.length === 0 ? undefined : this.pick(blocks)
      return all.map((one) => (one === found ? forgeRecord(one) : one))
    })
    if (found === undefined) throw new NothingToDo()
    return found
  }

  forgeTree(key?: SigningKey): void {
    forgeTree(this.folder, this.original.key.name, key)
  }

  /** Signed and sealed by a key that he has made, of the name that the journal has; perhaps with a head that is short. */
  beginAnew(): void {
    const { key, early, late } = this.original
    const other = strangerOf(key)
    sealSegments(this.folder, other)
    forgeTree(this.folder, key.name, other, this.pick([0, early.size, late.size]))
    writeFileSync(verifierKeyPath(this.tree), `${formatVerifierKey(other)}\n`)
    for (const name of ['journal.key', 'index.sqlite', 'journal/tree/cosigned']) {
      rmSync(join(this.dataDir, name), { force: true })
    }
  }

  addAtEnd(...records: readonly Partial<StoredRecord>[]): void {
    const path = join(this.folder, segmentNames(this.folder).at(-1) ?? '')
    const last = readSegment(path).records.at(-1)
    if (last === undefined) throw new NothingToDo()
    const added = records.map((one, index) => ({ ...last, ...one, seq: last.seq + 1 + index }))
    appendRecords(path, added)
  }
}

/** An edit that this folder leaves no room for. */
class NothingToDo extends Error {}

type Edit = (trial: Trial) => void

const fileEdits: Readonly<Record<string, Edit>> = {
  'a bit': (trial) => {
    const path = trial.pickFile()
    const bytes = readFileSync(path)
    const at = trial.random(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << trial.random(8))
    writeFileSync(path, bytes)
  },
  'a shorter file': (trial) => {
    const path = trial.pickFile()
    truncateSync(path, trial.random(statSync(path).size + 1))
  },
  'a missing file': (trial) => rmSync(trial.pickFile()),
  'bytes behind the end of a file': (trial) =>
    appendFileSync(trial.pickFile(), Buffer.alloc(1 + trial.random(200), trial.random(256))),
  'two files in each other’s place': (trial) => {
    const [one, other] = [trial.pickSegment(), trial.pickSegment()]
    renameSync(one, `${one}.aside`)
    if (one !== other) renameSync(other, one)
    renameSync(`${one}.aside`, other)
  },
  'an older copy of one file': (trial) => {
    const name = trial.pick(listFiles(trial.original.earlier))
    cpSync(join(trial.original.earlier, name), join(trial.dataDir, name), { recursive: true })
  },
  'an older copy of everything': (trial) => {
    rmSync(trial.dataDir, { recursive: true })
    cpSync(trial.original.earlier, trial.dataDir, { recursive: true })
  },
  'an older checkpoint': (trial) => {
    writeFileSync(checkpointPath(trial.tree), trial.original.early.signed)
    rmSync(cosignedPath(trial.tree), { force: true })
  },
  'times of a file': (trial) => utimesSync(trial.pickFile(), new Date(), new Date('2001-01-01')),
  'a file that says that records were changed': (trial) => {
    const name = trial.pick(['e1.changed', 'e9.changed', 'er-1.changed'])
    writeFileSync(join(trial.folder, name), `${1 + trial.random(trial.original.late.size)}\n`)
  },
  'an edited row of the index': (trial) => {
    if (!existsSync(join(trial.dataDir, 'index.sqlite'))) throw new NothingToDo()
    const index = new Sqlite(join(trial.dataDir, 'index.sqlite'))
    try {
      index.exec(
        trial.pick([
          "update decisions set decision = 'allow'",
          'delete from decisions where byte_offset > 5000',
          'update decisions set byte_offset = byte_offset + 8',
          'update journal_position set next_seq = 5',
        ]),
      )
    } finally {
      index.close()
    }
  },
  'no index': (trial) => rmSync(join(trial.dataDir, 'index.sqlite'), { force: true }),
  'no tiles': (trial) => rmSync(join(trial.tree, 'tile'), { recursive: true, force: true }),
  'no tree': (trial) => rmSync(trial.tree, { recursive: true, force: true }),
  'no tree and no key': (trial) => {
    rmSync(trial.tree, { recursive: true, force: true })
    rmSync(join(trial.dataDir, 'journal.key'), { force: true })
  },
  'another key': (trial) => {
    rmSync(join(trial.dataDir, 'journal.key'))
    writeFileSync(
      verifierKeyPath(trial.tree),
      `${formatVerifierKey(strangerOf(trial.original.key))}\n`,
    )
  },
  'the oldest segments removed, and a beginning that says so': (trial) => {
    const names = segmentNames(trial.folder)
    const gone = 1 + trial.random(names.length - 1)
    for (const name of names.slice(0, gone)) rmSync(join(trial.folder, name))
    const begins = {
      firstSeq: firstSeqOf(names[gone] ?? ''),
      removedBefore: '2026-11-05T00:00:00Z',
    }
    writeFileSync(join(trial.folder, 'begins.json'), JSON.stringify(begins))
  },
  'no beginning': (trial) => rmSync(join(trial.folder, 'begins.json'), { force: true }),
  'a start that was killed while it made the tiles again': (trial) => {
    rmSync(join(trial.tree, 'tile'), { recursive: true, force: true })
    const made = join(trial.tree, 'made')
    signTree(trial.folder, made, seededKey(trial.original.key.name, 'signer', 5), 2 ** 31)
    const files = listFiles(made)
    const written = trial.random(files.length * 2)
    for (const name of files.slice(written)) rmSync(join(made, name))
    if (written > files.length) renameSync(join(treeFolder(made), 'tile'), join(trial.tree, 'tile'))
  },
  'former names in their form': (trial) => {
    const { key, late } = trial.original
    const others = ['callgate/journal/2026-01-01-0a1b2c3d', key.name]
    const origin = trial.pick([key, ...others.map((name) => seededKey(name, 'signer', 9))])
    const entry = { origin: origin.name, key: formatVerifierKey(origin), because: 'x' }
    const [size, next] = [trial.random(late.size + 1), trial.pick([...others, key.name])]
    writeFormerOrigins(trial.folder, [{ ...entry, size, at: '2026-11-01T00:00:00Z', next }])
  },
  'the oldest segments removed, and a beginning with the number of a notice': (trial) => {
    const notices = [...readBodies(trial.folder).values()].filter(({ kind }) => kind === 'notice')
    if (notices.length === 0) throw new NothingToDo()
    const notice = trial.pick(notices)
    const names = segmentNames(trial.folder)
    const gone = trial.random(names.length)
    for (const name of names.slice(0, gone)) rmSync(join(trial.folder, name))
    const said: { readonly removedBefore?: number } = JSON.parse(notice.body.toString())
    const removedBefore = said.removedBefore ?? day('2026-11-05')
    const firstSeq = firstSeqOf(names[gone] ?? '')
    writeBeginning(trial.folder, { firstSeq, removedBefore, notice: notice.seq })
  },
  'a former name': (trial) => {
    const former = { origin: 'callgate/journal/x', size: 3, root: null, because: 'x', next: 'y' }
    writeFileSync(
      join(trial.folder, 'former-origins.json'),
      JSON.stringify([{ ...former, at: '2026-11-01T00:00:00Z' }]),
    )
  },
}

const formatEdits: Readonly<Record<string, Edit>> = {
  'a block that is now an allow': (trial) => void trial.forge(),
  'and the tiles': (trial) => {
    trial.forge()
    trial.forgeTree()
  },
  'and a file that says that it was changed': (trial) => {
    const { seq } = trial.forge()
    writeFileSync(join(trial.folder, 'e1.changed'), `${seq}\n`)
  },
  'and a request to erase its number': (trial) => {
    const { body } = trial.forge()
    trial.erasures.push(/"number":"(\d{10})"/.exec(body.toString())?.[1] ?? erasedNumber)
  },
  'a request to erase a number': (trial) => {
    trial.erasures.push(`212555${1_050 + trial.random(200)}`)
  },
  'and the index made anew': (trial) => {
    trial.forge()
    rmSync(join(trial.dataDir, 'index.sqlite'), { force: true })
  },
  'a record left out': (trial) =>
    trial.changeSegment((all) => renumber(all, all.toSpliced(trial.random(all.length), 1))),
  'a record there twice': (trial) =>
    trial.changeSegment((all) => {
      const one = trial.pick(all)
      return renumber(all, all.toSpliced(all.indexOf(one), 0, one))
    }),
  'two records in each other’s place': (trial) =>
    trial.changeSegment((all) => {
      const [one, other] = [trial.random(all.length), trial.random(all.length)]
      const changed = [...all]
      const [a, b] = [all[one], all[other]]
      if (a && b) [changed[one], changed[other]] = [b, a]
      return renumber(all, changed)
    }),
  'the last records cut off': (trial) => {
    const path = join(trial.folder, segmentNames(trial.folder).at(-1) ?? '')
    const content = readSegment(path)
    writeSegment(content, content.records.slice(0, trial.random(content.records.length)))
  },
  'a record of long ago behind the end': (trial) =>
    trial.addAtEnd({ at: lastDay - 28 * msPerDay, kind: 'decision', body: forgedDecision(trial) }),
  'a record of now behind the end': (trial) =>
    trial.addAtEnd({ kind: 'decision', body: forgedDecision(trial) }),
  'a notice of an erasure behind the end': (trial) => {
    const { seq } = trial.forge()
    const notice = { erasure: 'e1', changed: [[seq, seq]] }
    trial.addAtEnd({ kind: 'notice', body: Buffer.from(JSON.stringify(notice)) })
  },
  'a notice of a removal behind the end, and the removal': (trial) => {
    const [first = '', second = ''] = segmentNames(trial.folder)
    const notice = { removedBefore: day('2026-11-05'), firstSeq: firstSeqOf(second) }
    trial.addAtEnd({ kind: 'notice', body: Buffer.from(JSON.stringify(notice)) })
    rmSync(join(trial.folder, first))
    const begins = { ...notice, removedBefore: '2026-11-05T00:00:00Z' }
    writeFileSync(join(trial.folder, 'begins.json'), JSON.stringify(begins))
  },
  'segments with another day in their headers': (trial) => {
    const year = trial.pick(['2001', '2040'])
    for (const name of segmentNames(trial.folder)) {
      const content = readSegment(join(trial.folder, name))
      const header = forgeHeader(content.header, (bytes) =>
        bytes.writeBigUInt64BE(
          BigInt(Date.parse(`${year}-01-01`) + firstSeqOf(name) * msPerDay),
          16,
        ),
      )
      const plain = writeSegment({ ...content, header }, content.records)
      if (name.endsWith('.gz')) compressSegment(plain)
    }
  },
  'all begun anew with another key, and a new name for it': (trial) => {
    trial.forge()
    trial.beginAnew()
    const { key, early } = trial.original
    const renamed = renameJournal(trial.folder, join(trial.dataDir, 'journal.key'), 'x')
    if (trial.random(2) === 0) return
    const size = trial.pick([0, early.size, renamed.size])
    writeFormerOrigins(trial.folder, [{ ...renamed, key: formatVerifierKey(key), size }])
    const former = formerPath(trial.tree, key.name)
    writeFileSync(verifierKeyPath(former), `${formatVerifierKey(key)}\n`)
    writeFileSync(checkpointPath(former), early.signed)
  },
  'records with another time': (trial) =>
    trial.changeSegment((all) => all.map((one) => ({ ...one, at: one.at + msPerDay * 40 }))),
}

const keyEdits: Readonly<Record<string, Edit>> = {
  'a block that is now an allow, signed': (trial) => {
    trial.forge()
    trial.forgeTree(trial.original.key)
  },
  'a notice of an erasure, signed': (trial) => {
    const { seq } = trial.forge()
    const notice = { erasure: 'e1', changed: [[seq, seq]] }
    trial.addAtEnd({ kind: 'notice', body: Buffer.from(JSON.stringify(notice)) })
    trial.forgeTree(trial.original.key)
  },
  'the end cut off, signed': (trial) => {
    formatEdits['the last records cut off']?.(trial)
    rmSync(cosignedPath(trial.tree), { force: true })
    trial.forgeTree(trial.original.key)
  },
  'records of long ago, signed': (trial) => {
    formatEdits['a record of long ago behind the end']?.(trial)
    trial.forgeTree(trial.original.key)
  },
  'a removal, signed': (trial) => {
    formatEdits['a notice of a removal behind the end, and the removal']?.(trial)
    const stale = readBodies(trial.folder)
    if (stale.size === 0) throw new NothingToDo()
  },
}

/** As a server would write it, about a call that nobody asked about. */
function forgedDecision(trial: Trial): Buffer {
  const made = [...readBodies(trial.folder).values()].filter(({ kind }) => kind === 'decision')
  if (made.length === 0) throw new NothingToDo()
  const record = forgeRecord(trial.pick(made))
  const id = String(trial.random(2 ** 31)).padStart(29, 'f')
  return Buffer.from(record.body.toString().replace(/"id":"[^"]{29}/, `"id":"${id}`))
}

/** With the numbers that the records of the segment had. */
const renumber = (all: readonly StoredRecord[], changed: readonly StoredRecord[]) =>
  changed.map((record, index) => ({ ...record, seq: (all[0]?.seq ?? 0) + index }))

type Level = 'files' | 'formats' | 'key'

function attack(trial: Trial): void {
  const { level } = trial
  const levels = { files: fileEdits, formats: formatEdits, key: keyEdits }
  const known: Readonly<Record<string, Edit>> =
    level === 'files'
      ? fileEdits
      : level === 'formats'
        ? { ...fileEdits, ...formatEdits }
        : { ...fileEdits, ...formatEdits, ...keyEdits }
  // The first one needs what this level has.
  const first = trial.pick(Object.keys(levels[level]))
  const more = Array.from({ length: trial.random(3) }, () => trial.pick(Object.keys(known)))
  for (const name of [first, ...more]) {
    trial.edits.push(name)
    try {
      known[name]?.(trial)
    } catch (cause) {
      // Nothing is left that could be edited so.
      if (!(cause instanceof NothingToDo) && !isOfEdit(cause)) throw cause
    }
  }
}

/** What fails in an edit when an earlier one has damaged or removed what it needs. */
const isOfEdit = (cause: unknown) =>
  cause instanceof Error &&
  /ENOENT|ENOTDIR|DataFileError|SqliteError|nothing to|RangeError|out of range|file is not a database|cannot be|malformed|no such table|is damaged|is missing/i.test(
    `${cause.name} ${cause.message}`,
  )

/** The server's own next start, which may refuse; with a clock that may be wrong. */
async function restart(trial: Trial): Promise<string> {
  const now = lastDay + trial.pick([1, 1, 1, 20 * 365, -5 * 365]) * msPerDay
  const way = trial.random(12)
  try {
    if (way < 2) renameJournal(trial.folder, join(trial.dataDir, 'journal.key'), 'he says so')
    if (way === 2) await restore(trial)
  } catch (cause) {
    return `refused a new name: ${String(cause)}`
  }
  const { journal } = testJournal(trial.dataDir, () => now)
  try {
    await journal.open()
  } catch (cause) {
    return `refused: ${String(cause)}`
  }
  for (const [index, number] of trial.erasures.entries()) {
    journal.erase({ id: `e${index + 5}`, number, accountId: undefined, includesAllowed: true })
  }
  // The index may not be made of what the folder has now, and the server goes on without it.
  const indexed = journal.drain().then(() => journal.drain())
  await Promise.race([indexed, new Promise((resolve) => setTimeout(resolve, 3_000))])
  await journal.close()
  return 'started'
}

/** The folder is a backup that was edited where it is kept, and is restored by somebody who suspects nothing. */
async function restore(trial: Trial): Promise<void> {
  const { key } = trial.original
  if (trial.level === 'formats' && trial.random(2) === 0) trial.beginAnew()
  const backup = join(parent, 'backup')
  rmSync(backup, { recursive: true, force: true })
  mkdirSync(backup)
  renameSync(trial.folder, join(backup, 'journal'))
  const database = join(backup, 'callgate.sqlite')
  new Sqlite(database).exec('create table kysely_migration (name text)').close()
  const folder = join(backup, 'journal')
  const seqs = [...readBodies(folder).keys()].sort((a, b) => a - b)
  const manifest = {
    format: 1,
    version: 'test',
    at: '2026-11-10T12:00:00Z',
    database: inspectDatabase(database),
    journal: { firstSeq: seqs[0] ?? 1, lastSeq: seqs.at(-1) ?? 0 },
    hasSecrets: false,
    isSigned: true,
    files: await describeFiles(backup),
  } as const
  writeManifest(backup, manifest, trial.level === 'key' ? key : strangerOf(key))
  rmSync(trial.dataDir, { recursive: true })
  await restoreBackup(backup, { dataDir: trial.dataDir, key: undefined, hasDatabase: true })
  rmSync(join(trial.dataDir, 'callgate.sqlite'))
}

/** By the key of the present name, if an honest program gave it that, and that of the former one. */
function keysOf(trial: Trial): readonly [present: VerifierKey, former?: VerifierKey] {
  const own = parseVerifierKey(formatVerifierKey(trial.original.key))
  if (readOriginName(trial.folder) === own.name) return [own]
  return [parseVerifierKey(readFileSync(verifierKeyPath(trial.tree), 'utf8').trim()), own]
}

function verify(trial: Trial, heads: readonly string[], witnesses = false): Verification {
  const [key, former] = keysOf(trial)
  return verifyJournal({
    folder: trial.folder,
    key,
    formerKeys: former ? [former] : [],
    now: lastDay + 2 * msPerDay,
    heads: heads.map((signed, index) => ({
      name: `head ${index}`,
      source: bufferSource(Buffer.from(signed)),
    })),
    witnesses: witnesses ? [witnessKey] : [],
  })
}

interface Held {
  /** Records below this are covered. */
  readonly size: number
  readonly heads: readonly string[]
  readonly witness?: boolean
}

const nothing: Held = { size: 0, heads: [] }
const heldByVerifier: Readonly<Record<string, (original: Original) => Held>> = {
  key: () => nothing,
  'key and earlier head': ({ early }) => ({ size: early.size, heads: [early.signed] }),
  'key and head': ({ late }) => ({ size: late.size, heads: [late.signed] }),
  'key and a file of heads': ({ early, late }) => ({
    size: late.size,
    heads: [early.signed + late.signed],
  }),
  'head and witness': ({ late }) => ({ size: late.size, heads: [], witness: true }),
}

function resultOf(check: () => Verification): string {
  try {
    return check().result
  } catch {
    return 'NOT CHECKED'
  }
}

/** Records that no longer say what they said, below a number; erased is what a server was asked to erase. */
function changedBelow(trial: Trial, size: number): readonly string[] {
  const now = readBodies(trial.folder)
  const erased = new Set(trial.erasures)
  const wrong: string[] = []
  for (const [seq, before] of trial.original.bodies) {
    if (seq > size) continue
    const after = now.get(seq)?.body.toString()
    if (after === undefined) wrong.push(`record ${seq} is gone`)
    else if (masked(after) !== before && !isErased(before, masked(after), erased)) {
      wrong.push(`record ${seq} says something else`)
    }
  }
  return wrong
}

/** What an erasure leaves of a decision, or of what became of it, is as it was. */
function isErased(before: string, after: string, erased: ReadonlySet<string>): boolean {
  const [, number = ''] = /\t\{"number":"(\d*)"/.exec(before) ?? []
  const [kept, person] = after.split('\t')
  return erased.has(number) && person?.startsWith('#') === true && kept === before.split('\t')[0]
}

/** Decisions that no server made, below a head that the attacker could not sign. */
function forgedBelow(trial: Trial, size: number): readonly string[] {
  const known = trial.original.written
  return [...readBodies(trial.folder).values()]
    .filter(({ seq, kind }) => seq <= size && kind === 'decision')
    .map(({ seq, body }) => ({ seq, body: masked(body.toString()) }))
    .filter(({ body }) => !known.has(body))
    .filter(({ body }) => ![...known].some((one) => isErased(one, body, new Set(trial.erasures))))
    .map(({ seq }) => `record ${seq} is forged`)
}

it('proves a folder that nobody has changed, also after a start', async () => {
  const trial = new Trial(1)
  expect(resultOf(() => verify(trial, [trial.original.late.signed]))).toBe('PROVEN')
  expect(resultOf(() => verify(trial, [], true))).toBe('PROVEN')
  expect(changedBelow(trial, trial.original.late.size)).toEqual([])
  const { journal } = testJournal(trial.dataDir, () => lastDay + msPerDay)
  await journal.open()
  await journal.close()
  expect(resultOf(() => verify(trial, [trial.original.late.signed]))).toBe('PROVEN')
})

it(`proves nothing that was changed, whoever changed it, in ${attempts} attacks from seed ${firstSeed}`, {
  timeout: 60_000 + attempts * 3_000,
}, async () => {
  const wrong: string[] = []
  const counts: Record<string, number> = {}
  for (let index = 0; index < attempts; index += 1) {
    const trial = new Trial(firstSeed + index)
    const { level } = trial
    attack(trial)
    const starts = trial.random(3) > 0 ? await restart(trial) : 'not started'
    const about = `seed ${firstSeed + index} (${level}): ${trial.edits.join(', ')}; ${starts}`
    const held = trial.pick(Object.keys(heldByVerifier))
    const { size, heads, witness } = heldByVerifier[held]?.(trial.original) ?? nothing
    const result = resultOf(() => verify(trial, heads, witness))
    counts[`${held}: ${result}`] = (counts[`${held}: ${result}`] ?? 0) + 1
    if (result === 'PROVEN') {
      const [changed] = held === 'key' ? ['nobody else has a head'] : changedBelow(trial, size)
      if (changed !== undefined) wrong.push(`${about}: PROVEN with ${held}, but ${changed}`)
    }
    if (level !== 'key' && starts === 'started') {
      const [forged] = findForged(trial)
      if (forged !== undefined)
        wrong.push(`${about}: PROVEN by the head of the next start, but ${forged}`)
    }
  }
  expect(wrong).toEqual([])
  console.log(`attacker: seed ${firstSeed}, ${attempts} attacks`, counts)
  expect(counts['key and head: FALSE']).toBeGreaterThan(attempts / 20)
})

/** What the server has signed for somebody who has no key. */
function findForged(trial: Trial): readonly string[] {
  let head: Head
  try {
    head = readHead(trial.dataDir, keysOf(trial)[0])
  } catch {
    return []
  }
  const result = resultOf(() => verify(trial, [head.signed]))
  return result === 'PROVEN' ? forgedBelow(trial, head.size) : []
}
