/** Several servers over one folder of lists and one of prefixes, as on storage that nodes share. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
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
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerImport } from '../../../src/commands/import/import.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { blocksText } from '../../data/sample-blocks.js'
import { nanpaText } from '../../data/sample-feeds.js'
import { type Serving, serve } from '../../support/program.js'
import { runCommand } from '../../support/run-command.js'

const noon = '2026-11-23T17:00:00Z'
const nodes: { readonly server: Serving; readonly key: string }[] = []
let root: string
let shared: Record<string, string>

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'callgate-shared-'))
  shared = {
    CALLGATE_LISTS_FOLDER: join(root, 'lists'),
    CALLGATE_NUMBERING_FOLDER: join(root, 'numbering'),
  }
  for (const folder of Object.values(shared)) mkdirSync(folder)
})

afterAll(async () => {
  await Promise.all(nodes.map(({ server }) => server.end('SIGTERM')))
  writable(true)
  rmSync(root, { recursive: true, force: true })
})

/** Where the tests run as root the permission stops nobody, and what counts is {@link contents}. */
function writable(isWritable: boolean): void {
  for (const folder of Object.values(shared)) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, name)
      if (statSync(path).isFile()) chmodSync(path, isWritable ? 0o644 : 0o444)
    }
    chmodSync(folder, isWritable ? 0o755 : 0o555)
  }
}

/** Every file of the shared folders: name, inode, time and content. */
function contents(): readonly string[] {
  return Object.values(shared).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => {
      const path = join(folder, name)
      const { ino, mtimeMs } = statSync(path)
      const isFile = statSync(path).isFile()
      const digest = isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''
      return `${path} ${ino} ${mtimeMs} ${digest}`
    }),
  )
}

async function startNode(name: string): Promise<void> {
  const server = await serve({ ...shared, CALLGATE_DATA_DIR: join(root, name) })
  nodes.push({ server, key: server.keys.main })
}

/** In this process, with a data folder of its own. */
async function importThere(name: string, text: string, ...args: string[]): Promise<void> {
  const file = join(root, name)
  writeFileSync(file, text)
  const dataDir = join(root, 'importer')
  const more =
    `lists: { folder: ${shared.CALLGATE_LISTS_FOLDER} }\n` +
    `numbering: { folder: ${shared.CALLGATE_NUMBERING_FOLDER} }\n`
  const settings = { dataDir, configFolder: root, more }
  const { code, err } = await runCommand(registerImport, ['import', ...args, file], settings)
  expect({ code, err }).toMatchObject({ code: 0 })
}

async function reasons(number: string, callKind = 'manual'): Promise<readonly string[]> {
  return await Promise.all(
    nodes.map(async ({ server, key }) => {
      const response = await fetch(`${server.url}/v1/decisions`, {
        method: 'POST',
        headers: { loginId: key, 'content-type': 'application/json' },
        body: JSON.stringify({ number, callKind, at: noon }),
      })
      return ((await response.json()) as DecisionDocument).reason
    }),
  )
}

/** Waits until every node gives the reason for a call to the number. */
async function expectEverywhere(reason: string, number: string, callKind?: string): Promise<void> {
  await expect.poll(() => reasons(number, callKind)).toEqual(nodes.map(() => reason))
}

it('an import of another process is used by all, and none of them writes there', async () => {
  await Promise.all([startNode('one'), startNode('two')])
  await expectEverywhere('list-not-covering', '3155501345')

  await importThere('registry.txt', '3155501999\n', 'list', 'us-dnc')
  await importThere('known.txt', '3155501998\n', 'list', 'litigators')
  await expectEverywhere('national-dnc', '3155501999')
  await expectEverywhere('permitted', '3155501345')

  const wireline = [['NY', '315-550', 'ZZ02', 'EXAMPLE TEL CO', 'SYRACUSE']]
  await importThere('co.txt', nanpaText(wireline), 'numbering')
  await expectEverywhere('unknown-prefix', '3155511345')
  await importThere('ocn.csv', 'ocn,class\nZZ02,wireline\n', 'ocn')
  await expectEverywhere('permitted', '3155501345', 'autodialed')
  await importThere('blocks.csv', blocksText([{ block: '3155501' }]), 'blocks')
  await expectEverywhere('no-consent', '3155501345', 'autodialed')
  await expectEverywhere('permitted', '3155502345', 'autodialed')
  await importThere('WIRELINE-TO-WIRELESS-NORANGE.TXT', '3155502345\n', 'ported')
  await expectEverywhere('no-consent', '3155502345', 'autodialed')
  await expectEverywhere('permitted', '3155502346', 'autodialed')
})

it('nodes need no permission to write there', async () => {
  await Promise.all(nodes.splice(0).map(({ server }) => server.end('SIGTERM')))
  writable(false)
  const before = contents()
  expect(before.length).toBeGreaterThanOrEqual(6)
  await Promise.all([startNode('three'), startNode('four')])
  await expectEverywhere('national-dnc', '3155501999')
  await expectEverywhere('no-consent', '3155502345', 'autodialed')
  expect(contents()).toEqual(before)
  writable(true)
  await importThere('registry.txt', '3155502346\n', 'list', 'us-dnc')
  await expectEverywhere('national-dnc', '3155502346')
})
