/** What the program makes is for its own user, and what others can read is reported. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { nanpaText } from '../../data/sample-feeds.js'
import { callgate, serve } from '../../support/program.js'

let root: string
let before: number

beforeEach(() => {
  before = process.umask(0o022)
  root = mkdtempSync(join(tmpdir(), 'callgate-modes-'))
})

afterEach(() => {
  process.umask(before)
  rmSync(root, { recursive: true, force: true })
})

/** The paths below a folder that group or others may use in any way. */
const openBelow = (folder: string) =>
  [
    folder,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ].filter((path) => (statSync(path).mode & 0o077) !== 0)

async function warningsOf(environment: Readonly<Record<string, string>>) {
  const server = await serve(environment)
  expect(await server.end('SIGTERM')).toBe(0)
  return server
    .output()
    .split('\n')
    .filter((line) => line.includes('"subject":"files"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

it('makes everything for its own user, whatever the umask it is started with', async () => {
  const environment = {
    CALLGATE_DATA_DIR: join(root, 'made/var'),
    CALLGATE_LISTS_FOLDER: join(root, 'made/lists'),
    CALLGATE_NUMBERING_FOLDER: join(root, 'made/numbering'),
  }
  const list = join(root, 'list.txt')
  const prefixes = join(root, 'co.txt')
  writeFileSync(list, '8505501999\noops\n')
  writeFileSync(prefixes, nanpaText([['FL', '850-550', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA']]))
  const imported = [
    await callgate(['import', 'us-dnc', list, '--bad-lines', '1'], environment),
    await callgate(['import', 'us-dnc', list, '--bad-lines', '1'], environment),
    await callgate(['import', 'numbering', prefixes], environment),
  ]
  expect(imported.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(await warningsOf(environment)).toEqual([])
  expect(readdirSync(join(root, 'made'), { recursive: true }).length).toBeGreaterThan(10)
  expect(openBelow(join(root, 'made'))).toEqual([])
})

it('reports what others can read, once for each place, with the command that mends it', async () => {
  const dataDir = join(root, "the owner's var")
  const lists = join(root, 'lists')
  const key = join(root, 'provider-key')
  mkdirSync(dataDir)
  mkdirSync(lists)
  writeFileSync(join(dataDir, 'old.cglist'), '')
  writeFileSync(key, 'key\n')
  const environment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_LISTS_FOLDER: lists,
    CALLGATE_SOURCE_KIND: 'remote',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: 'http://127.0.0.1:9',
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: key,
  }
  const quoted = `'${dataDir.replace("'", "'\\''")}'`
  const others = 'other users can read or write'
  const [folder, secret, shared] = [
    {
      level: 40,
      message: `${others} ${dataDir} (mode 0755) and 1 more`,
      fix: `chmod -R go= ${quoted}`,
    },
    { level: 40, message: `${others} ${key} (mode 0644)`, fix: `chmod -R go= '${key}'` },
    { level: 40, message: `${others} ${lists} (mode 0755)`, fix: `chmod -R o= '${lists}'` },
  ]
  expect(await warningsOf(environment)).toMatchObject([folder, secret, shared])
  const { out } = await callgate(['doctor', '--url', 'http://127.0.0.1:1'], environment)
  for (const { message, fix } of [folder, secret, shared]) {
    expect(out).toContain(`[SOON] files: ${message}\n       -> ${fix}\n`)
  }
  chmodSync(dataDir, 0o700)
  chmodSync(key, 0o600)
  chmodSync(lists, 0o750)
  expect(await warningsOf(environment)).toMatchObject([
    { message: `${others} ${join(dataDir, 'old.cglist')} (mode 0644)` },
  ])
})
