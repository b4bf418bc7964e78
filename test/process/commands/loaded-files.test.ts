/**
 * What commands and threads load, counted in files: nearly all of the processor time of a start goes into
 * loading. Above a bound, look for an import that the start does without; libraries are named, so that one
 * of hundreds of files is not loaded by accident.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callgate, serve } from '../../support/program.js'

const preload = join(import.meta.dirname, '../../support/loaded-files.mjs')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-loaded-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Loaded {
  readonly first: string
  readonly own: readonly string[]
  readonly libraries: readonly string[]
}

/** By thread, the main thread first. */
function readLoaded(lists: string): readonly Loaded[] {
  const threads = readdirSync(lists).sort((one, other) => Number(one) - Number(other))
  return threads.map((thread) => {
    const urls = readFileSync(join(lists, thread), 'utf8').split('\n')
    const own = urls.flatMap((url) => /^(?!.*node_modules).*\/dist\/(.*)$/.exec(url)?.[1] ?? [])
    const names = urls.flatMap(
      (url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [],
    )
    return { first: own[0] ?? '', own, libraries: [...new Set(names)].sort() }
  })
}

const sqlite = ['better-sqlite3', 'bindings', 'file-uri-to-path']
const settings = ['js-yaml', 'zod']

// Settings have verifier keys, which are checked as they are read: 2 files, and a policy for each of the listed checks: 1. 1 names the
// versions of calling rules. Each command asks first how many files it may open.
it.each([
  ['--version', 6, ['commander']],
  ['--help', 6, ['commander']],
  ['config check', 66, ['commander', ...settings, 'luxon', 'moment', 'moment-timezone']],
  ['lists', 65, ['better-sqlite3', 'commander', ...settings]],
] as const)(
  'callgate %s loads at most %i files of its own, and few libraries',
  async (command, most, libraries) => {
    const lists = join(folder, command)
    mkdirSync(lists)
    await callgate(command.split(' '), {
      CALLGATE_DATA_DIR: join(folder, 'data'),
      LOADED_FILES: lists,
      NODE_OPTIONS: `--import ${preload}`,
    })
    const [main] = readLoaded(lists)
    process.stdout.write(`${command}: ${main?.own.length} files\n`)
    expect(main?.libraries).toEqual([...libraries].sort())
    expect(main?.own.length, main?.own.join('\n')).toBeLessThanOrEqual(most)
  },
)

const heavy = ['undici', 'yaml', 'yauzl', 'csv-parse']

it('each thread of a server loads what it uses', async () => {
  const lists = mkdtempSync(join(folder, 'serve-'))
  const dataDir = join(folder, 'served')
  const server = await serve({ CALLGATE_DATA_DIR: dataDir, LOADED_FILES: lists }, [], { preload })
  const phoneList = Array.from({ length: 300 }, (_, index) => 2_125_550_000 + index).join(',')
  const reply = await fetch(`${server.url}/app/main/rpc/scrub`, {
    method: 'POST',
    headers: { loginId: server.keys.sandbox, 'content-type': 'application/json' },
    body: JSON.stringify({ phoneList, version: 8, output: 'json' }),
  })
  expect(reply.status).toBe(200)
  const bounds: Readonly<Record<string, number>> = {
    // 34 for the search, the signed tree of the journal, its receipts and proofs, who keeps its heads, and who did what. 10 for the
    // sessions of the console, and what its pages ask: rules, lists, projects, keys and the state; what answers is loaded when asked.
    // 4 for readers of decisions as they are recorded, and the figures that are sampled all the time.
    // 3 for changes that need two people, since every door asks whether they do; 5 for bundles, whose packing is loaded with the
    // first one, and for uses of keys. 37 for what voice platforms say: a reader for each, its words and outcomes, and where it is
    // stored and joined to its call. 25 for the seals of the journal, what is compared with its tree at the start, whether the parts
    // of the data belong together, and what strangers may use.
    // 3 for what day it is apart from the clock, ended sessions, and what a call would get; 2 for how many files it may open, and
    // whether a segment of the journal is gone. 4 for the one way into a record and out of it, 1 for old rows, 1 for the list of checks and
    // reasons, 1 for the versions of calling rules. 16 for the words of what is said about calls, and the replies that are made of them.
    // 16 for rules, facts and what is judged of them, each in a file of its own. 2 for the facts that a record has and a reply shows.
    'main.js': 568,
    'storage/sqlite-store.js': 9,
    'gate/journal/segment-writer.js': 12,
    // 6 to compare what is signed with its seal, and what is erased or removed with the signed tree, and to have the notices of that
    // signed. 2 for what day it is. 4 for the one way into a record and out of it.
    'gate/journal/index-writer.js': 41,
    // 5 for the routes of rules, lists and keys, which read files and compute for tens of milliseconds.
    // 3 for the decisions as they are recorded, 2 for opt-outs whose end needs two people, 27 for events of voice platforms.
    // 1 for cells of CSV files that no spreadsheet runs, 1 for who may confirm a change. 7 for the law apart from the files it is read from. 2 for records. 1 for the list of checks.
    // 15 for the words of what is said about calls, and the replies that are made of them.
    // 4 for the facts in records, which replies show, and the places of a number.
    'app/service-thread.js': 305,
  }
  await expect
    .poll(() =>
      readLoaded(lists)
        .map(({ first }) => first)
        .sort(),
    )
    .toEqual(Object.keys(bounds).sort())
  expect(await server.end('SIGTERM')).toBe(0)
  const loaded = new Map(readLoaded(lists).map((thread) => [thread.first, thread]))
  for (const [first, most] of Object.entries(bounds)) {
    const { own = [], libraries = [] } = loaded.get(first) ?? {}
    process.stdout.write(`${first}: ${own.length} files and ${libraries.length} libraries\n`)
    expect(own.length, `${first}\n${own.join('\n')}`).toBeLessThanOrEqual(most)
    expect(heavy.filter((name) => libraries.includes(name))).toEqual([])
  }
  expect(loaded.get('storage/sqlite-store.js')?.libraries).toEqual(sqlite)
  expect(loaded.get('gate/journal/segment-writer.js')?.libraries).toEqual([])
  expect(loaded.get('gate/journal/index-writer.js')?.libraries).toEqual(sqlite)
})
