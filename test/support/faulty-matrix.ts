/**
 * Each operation on each kind of file of a data folder, failing once or for a time, while the server starts or under load; each
 * in a run of its own, judged as {@link FaultyLoad} does.
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../e2e/asterisk/lab/until.js'
import { type Chore, FaultyChores } from './faulty-chores.js'
import {
  type FaultyFiles,
  type FileFault,
  type FileOperation,
  faultyFiles,
  operationNames,
} from './faulty-files.js'
import { FaultyLoad } from './faulty-load.js'

interface FileKind {
  /** As in {@link FileFault}. */
  readonly files: string
  /** What uses them beside calls, opt-outs and what the server does by itself. */
  readonly chores?: readonly Chore[]
}

/** A checkpoint is signed every 10 s. */
const backgroundMs = 12_000

const lists: readonly Chore[] = ['list', 'list']
const records: readonly Chore[] = ['erasure', 'bundle', 'backup']

const fileKinds = {
  'data folder': { files: '*/data', chores: ['reload', 'list', 'backup'] },
  settings: { files: '*/data/callgate.yaml', chores: ['reload', 'backup'] },
  initialized: { files: '*/data/initialized*', chores: ['backup'] },
  'serving.lock': { files: '*/data/serving.lock*', chores: ['backup'] },
  database: { files: '*/data/callgate.sqlite', chores: records },
  'database -wal': { files: '*/data/callgate.sqlite-wal', chores: records },
  'database -shm': { files: '*/data/callgate.sqlite-shm', chores: ['backup'] },
  index: { files: '*/data/index.sqlite', chores: ['erasure'] },
  'index -wal': { files: '*/data/index.sqlite-wal', chores: ['erasure'] },
  'index -shm': { files: '*/data/index.sqlite-shm', chores: ['erasure'] },
  'journal folder': { files: '*/data/journal', chores: records },
  'journal key': { files: '*/data/journal.key*', chores: records },
  origin: { files: '*/data/journal/origin*', chores: records },
  'begins.json': { files: '*/data/journal/begins.json*', chores: records },
  probe: { files: '*/data/journal/.probe' },
  segment: { files: '*/data/journal/*.seg', chores: records },
  'compressed segment': { files: '*/data/journal/*.seg.gz', chores: records },
  'segment being compressed': { files: '*/data/journal/*.gz.tmp', chores: ['erasure'] },
  'segment being erased': { files: '*/data/journal/*.erased*', chores: ['erasure'] },
  'tree key': { files: '*/data/journal/tree/key*', chores: records },
  checkpoint: { files: '*/data/journal/tree/checkpoint', chores: records },
  'next checkpoint': { files: '*/data/journal/tree/checkpoint.tmp', chores: ['erasure'] },
  'tree folders': { files: '*/data/journal/tree?(/tile?(/+([^/])?(/000.p)))', chores: records },
  tile: { files: '*/data/journal/tree/tile/*[0-9]', chores: records },
  'next tile': { files: '*/data/journal/tree/tile/*.tmp', chores: records },
  'list folder': { files: '*/data/lists', chores: lists },
  list: { files: '*/data/lists/litigators.cglist', chores: [...lists, 'backup'] },
  'next list': { files: '*/data/lists/.*.cglist.*', chores: lists },
  'list lock': { files: '*/data/lists/.*.lock*', chores: lists },
  'earlier lists': { files: '*/data/lists/versions*', chores: [...lists, 'list', 'backup'] },
  facts: { files: '*/data/facts/res-or-business.sqlite*', chores: ['facts', 'facts', 'backup'] },
  'next facts': { files: '*/data/facts/.*.part*', chores: ['facts'] },
  'facts lock': { files: '*/data/facts/.*.lock*', chores: ['facts'] },
  'bundle request': { files: '*/data/evidence/*.json*', chores: ['bundle'] },
  bundle: { files: '*/data/evidence/*.zip*', chores: ['bundle'] },
  'bundle folder': { files: '*/data/evidence', chores: ['bundle'] },
  'last backup': { files: '*/data/last-backup*', chores: ['backup'] },
  'first keys': { files: '*/data/first-keys.txt*' },
  'database in a backup': { files: '*/backup-*/callgate.sqlite*', chores: ['backup'] },
  'journal in a backup': { files: '*/backup-*/journal*', chores: ['backup'] },
  'rest of a backup': {
    files: '*/backup-+([^/])/!(callgate.sqlite*|journal*)',
    chores: ['backup'],
  },
  'backup folder': { files: '*/backup-+([^/])', chores: ['backup'] },
} satisfies Readonly<Record<string, FileKind>>

/** What happens, and for how long: once, or for so many ms from the first time on. */
const effects = {
  once: { effect: { error: 'EIO' }, times: 1 },
  '60 ms': { effect: { error: 'EIO' }, forMs: 60 },
  '300 ms': { effect: { error: 'EIO' }, forMs: 300 },
  '5 s': { effect: { error: 'EIO' }, forMs: 5_000 },
  'full once': { effect: { error: 'ENOSPC' }, times: 1 },
  'full 300 ms': { effect: { error: 'ENOSPC' }, forMs: 300 },
  'full 5 s': { effect: { error: 'ENOSPC' }, forMs: 5_000 },
  'stalls 300 ms': { effect: { stallMs: 300 }, times: 1 },
  'stalls 5 s': { effect: { stallMs: 5_000 }, times: 1 },
} satisfies Readonly<Record<string, Omit<FileFault, 'operations' | 'files'>>>

export type Effect = keyof typeof effects
export const effectNames = Object.keys(effects) as Effect[]

export interface Cell {
  /** Whether the fault is there before the server starts, or comes under load. */
  readonly when: 'start' | 'load'
  readonly kind: keyof typeof fileKinds
  readonly operation: FileOperation
  readonly effect: Effect
}

export interface CellResult {
  readonly cell: Cell
  /** How many operations have met the fault; a cell without one says nothing. */
  readonly hits: number
  /** What should not have happened; `undefined` if all is well. */
  readonly problem: string | undefined
}

export const describeCell = ({ when, kind, operation, effect }: Cell): string =>
  `${when}: ${operation} of ${kind}, ${effect}`

/** A disk is full for writes, and only those and reads take long. */
function isPossible({ operation, effect }: Cell): boolean {
  if (effect.startsWith('full')) return operation === 'write'
  return !effect.startsWith('stalls') || ['open', 'read', 'write', 'flush'].includes(operation)
}

const moments = ['load', 'start'] as const
const kindNames = Object.keys(fileKinds) as Cell['kind'][]

/** Every cell, also those whose operation never happens. */
export const allCells: readonly Cell[] = effectNames.flatMap((effect) =>
  moments.flatMap((when) =>
    kindNames.flatMap((kind) =>
      operationNames
        .map((operation) => ({ when, kind, operation, effect }))
        .filter((cell) => isPossible(cell)),
    ),
  ),
)

interface CellPlace {
  /** A data folder that is copied. */
  readonly template: string
  /** Of the cell alone; it is removed. */
  readonly folder: string
  readonly library: string
}

/** What is done to the files of a kind while the server starts and works, or only under load, without a fault. */
export async function observe(
  cell: Pick<Cell, 'when' | 'kind'>,
  place: CellPlace,
): Promise<readonly FileOperation[]> {
  const { files, chores = [] }: FileKind = fileKinds[cell.kind]
  const dataDir = copyTemplate(place)
  const faulty = faultyFiles(place.folder, place.library)
  const begin = () => faulty.begin({ operations: [], files, effect: { stallMs: 0 } })
  if (cell.when === 'start') begin()
  const load = await FaultyLoad.start(dataDir, faulty.environment)
  try {
    await until('calls are allowed', () => load.allowed > 20)
    if (cell.when === 'load') begin()
    const doing = new FaultyChores(
      { ...place, dataDir, environment: load.environment },
      load.serving,
    )
    for (const chore of chores) await doing.run(chore)
    await pause(cell.when === 'load' ? backgroundMs : 1_000)
    return faulty.read().seen
  } finally {
    await load.end()
    rmSync(place.folder, { recursive: true, force: true })
  }
}

function copyTemplate({ template, folder }: CellPlace): string {
  const dataDir = join(folder, 'data')
  mkdirSync(folder)
  cpSync(template, dataDir, { recursive: true, preserveTimestamps: true })
  return dataDir
}

export async function runCell(cell: Cell, place: CellPlace): Promise<CellResult> {
  const { folder } = place
  copyTemplate(place)
  const faulty = faultyFiles(folder, place.library)
  const run = new CellRun(cell, folder, faulty)
  try {
    await run.run()
    return { cell, hits: faulty.read().hits, problem: undefined }
  } catch (cause) {
    const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    return { cell, hits: faulty.read().hits, problem: `${text}\n${run.output}` }
  } finally {
    await run.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

class CellRun {
  readonly #cell: Cell
  readonly #folder: string
  readonly #faulty: FaultyFiles
  readonly #kind: FileKind
  #load: FaultyLoad | undefined
  #refusal = ''

  constructor(cell: Cell, folder: string, faulty: FaultyFiles) {
    this.#cell = cell
    this.#folder = folder
    this.#faulty = faulty
    this.#kind = fileKinds[cell.kind]
  }

  /** What the server said of what went wrong. */
  get output(): string {
    const lines = this.#load?.serving.output().split('\n') ?? []
    return [this.#refusal, ...lines.filter((line) => /"level":[45]0/.test(line))].join('\n')
  }

  async run(): Promise<void> {
    const { chores = [] } = this.#kind
    const dataDir = join(this.#folder, 'data')
    const environment = this.#faulty.environment
    if (this.#cell.when === 'start') this.#begin()
    this.#load = await this.#start(dataDir, environment)
    const load = this.#load
    const working = { dataDir, folder: this.#folder, environment: load.environment }
    const doing = new FaultyChores(working, load.serving)
    if (this.#cell.when === 'load') {
      await until('calls are allowed', () => load.allowed > 20)
      this.#begin()
    }
    if (this.#refusal === '') await this.#meet(doing)
    await load.requireRunning()
    await load.requireAllowOrUnready()
    this.#faulty.end()
    await load.judge((serving) => doing.judge(serving, chores.at(-1)))
  }

  #begin(): void {
    const { files } = this.#kind
    const { operation, effect } = this.#cell
    this.#faulty.begin({ operations: [operation], files, ...effects[effect] })
  }

  /** A start may be refused while the files fail, and then must not be when they do not. */
  async #start(dataDir: string, faulty: Readonly<Record<string, string>>): Promise<FaultyLoad> {
    try {
      return await FaultyLoad.start(dataDir, faulty)
    } catch (cause) {
      this.#refusal = String(cause)
      if (this.#cell.when === 'load' || this.#faulty.read().hits === 0) throw cause
      if (/\n {4}at /.test(this.#refusal)) throw new Error('a stack trace', { cause })
      if (/restore|damaged/i.test(this.#refusal)) throw new Error('advises a restore', { cause })
      this.#faulty.end()
      return await FaultyLoad.start(dataDir, faulty)
    }
  }

  /** Until the fault is over, or nothing is left to do that could meet it. */
  async #meet(doing: FaultyChores): Promise<void> {
    const { chores = [] } = this.#kind
    for (const chore of chores) {
      if (this.#faulty.read().isOver) return
      await doing.run(chore).catch(() => undefined)
    }
    const isDone = () => this.#faulty.read().hits > 0
    await until('the fault is met', isDone, { withinMs: backgroundMs }).catch(() => undefined)
    if (!isDone()) return
    await until('the fault is over', () => this.#faulty.read().isOver)
  }

  async end(): Promise<void> {
    this.#faulty.end()
    await this.#load?.end()
  }
}
