/** Backups that cannot be made or used are refused with the place and the rule, and leave nothing behind. */

import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { registerBackup, registerRestore } from '../../src/commands/backup/backup.js'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import { registerImport } from '../../src/commands/import/import.js'
import { openSigningKey } from '../../src/gate/journal/tree/tree-head.js'
import { parseCheckpoint, signCheckpoint } from '../../src/transparency/checkpoint.js'
import { formatNote, formatVerifierKey, signNote } from '../../src/transparency/signed-note.js'
import { damageByte, writeJournal } from '../support/journal.js'
import type { Ended } from '../support/program.js'
import { runCommand } from '../support/run-command.js'
import { seededKey } from '../support/seeded-key.js'
import { openTestCallgate } from '../support/test-callgate.js'

let root: string
let dataDir: string
/** Where backups and restored folders of one test are. */
let work: string
let backup: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'callgate-refusals-'))
  dataDir = join(root, 'var')
  const running = await openTestCallgate()
  await running.stop()
  cpSync(running.dataDir, dataDir, { recursive: true })
  rmSync(running.dataDir, { recursive: true })
  const list = join(root, 'list.txt')
  writeFileSync(list, '2125550199\n')
  const settings = { dataDir, configFolder: root }
  await runCommand(registerImport, ['import', 'litigators', list], settings)
  backup = join(root, 'backup')
  expect(await run(['backup', backup])).toMatchObject({ code: 0 })
})

beforeEach(() => {
  work = mkdtempSync(join(root, 'work-'))
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const run = (args: readonly string[], folder = dataDir): Promise<Ended> =>
  runCommand(args[0] === 'restore' ? registerRestore : registerBackup, args, {
    dataDir: folder,
    configFolder: root,
  })

function expectRefusal(
  { code, out, err }: Ended,
  exitCode: number,
  ...texts: readonly string[]
): void {
  expect({ code, out, err }).toMatchObject({ code: exitCode, out: '' })
  for (const text of texts) expect(err).toContain(text)
}

describe('a backup', () => {
  it('is not written over something, into the data folder, or below a missing folder', async () => {
    const full = join(work, 'full')
    mkdirSync(full)
    writeFileSync(join(full, 'a'), '')
    expectRefusal(await run(['backup', full]), 2, `target '${full}': it exists already`)
    writeFileSync(join(work, 'old.tgz'), 'x')
    expectRefusal(await run(['backup', join(work, 'old.tgz')]), 2, 'it exists already')
    expect(readFileSync(join(work, 'old.tgz'), 'utf8')).toBe('x')
    expectRefusal(await run(['backup', join(dataDir, 'backup')]), 2, `it is inside ${dataDir}`)
    symlinkSync(dataDir, join(work, 'link'))
    expectRefusal(
      await run(['backup', join(work, 'link/lists/b.tgz')]),
      2,
      `it is inside ${dataDir}`,
    )
    expectRefusal(
      await run(['backup', join(work, 'none/b')]),
      2,
      `the folder ${join(work, 'none')} does not exist`,
    )
    expectRefusal(
      await run(['backup', join(work, 'b')], join(work, 'nothing')),
      1,
      'there is no database to back up',
    )
    expect(readdirSync(work).sort()).toEqual(['full', 'link', 'old.tgz'])
    expect(readdirSync(dataDir)).not.toContain('backup')
  })

  it('of a damaged journal fails and names the place', async () => {
    const damaged = join(work, 'var')
    cpSync(dataDir, damaged, { recursive: true })
    const segment = writeJournal(damaged, ['first', 'second', ...Array<string>(10).fill('later')])
    damageByte(segment, 112 + 42)
    expectRefusal(
      await run(['backup', join(work, 'b')], damaged),
      1,
      `${segment}: the journal is damaged`,
      'record 2 cannot be read, at byte 112',
    )
    expect(readdirSync(work)).toEqual(['var'])
  })
})

const segmentName = 'journal/00000000000000000001.seg'

const damages: readonly (readonly [string, string, (folder: string) => void, string])[] = [
  [
    'a damaged database',
    'callgate.sqlite',
    (folder) => damageByte(join(folder, 'callgate.sqlite'), 5_000),
    'its SHA-256 is not that of the manifest',
  ],
  [
    'a truncated journal',
    segmentName,
    (folder) => truncateSync(join(folder, segmentName), 100),
    'has 100 bytes, but the manifest says',
  ],
  [
    'a missing list',
    'lists/litigators.cglist',
    (folder) => rmSync(join(folder, 'lists/litigators.cglist')),
    'is in the manifest of the backup, but missing',
  ],
  [
    'a further file',
    'journal/further',
    (folder) => writeFileSync(join(folder, 'journal/further'), ''),
    'is not in the manifest',
  ],
  [
    'a link',
    segmentName,
    (folder) => {
      rmSync(join(folder, segmentName))
      symlinkSync(join(backup, segmentName), join(folder, segmentName))
    },
    'must be a regular file',
  ],
  [
    'a changed manifest',
    'manifest.json',
    (folder) => appendFileSync(join(folder, 'manifest.json'), ' '),
    'is damaged: its SHA-256 is not that of',
  ],
  [
    'a truncated manifest',
    'manifest.json',
    (folder) => truncateSync(join(folder, 'manifest.json'), 50),
    'this is not a complete backup',
  ],
  [
    'no manifest',
    'manifest.json',
    (folder) => rmSync(join(folder, 'manifest.json')),
    'this is not a complete backup',
  ],
]

describe('a backup with', () => {
  for (const [what, place, damage, rule] of damages) {
    it(`${what} is refused and restores nothing`, async () => {
      const copy = join(work, 'copy')
      cpSync(backup, copy, { recursive: true })
      damage(copy)
      expectRefusal(await run(['backup', 'verify', copy]), 1, join(copy, place), rule)
      const target = join(work, 'restored')
      expectRefusal(
        await run(['restore', copy], target),
        1,
        join(copy, place),
        rule,
        'nothing was restored, and it is empty',
      )
      expect(readdirSync(target)).toEqual([])
    })
  }
})

const keyOf = (folder: string) => readFileSync(join(folder, 'journal/tree/key'), 'utf8').trim()
const hash = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

/** With right sizes and hashes, as whoever can write to it can make them. */
function writeManifestAnew(folder: string): void {
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  for (const file of manifest.files) {
    const bytes = readFileSync(join(folder, file.path))
    Object.assign(file, { bytes: bytes.length, sha256: hash(bytes) })
  }
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  writeFileSync(path, text)
  writeFileSync(`${path}.sha256`, `${hash(text)}  manifest.json\n`)
}

describe('a backup that was edited where it is kept, with right hashes,', () => {
  let copy: string
  beforeEach(() => {
    copy = join(work, 'copy')
    cpSync(backup, copy, { recursive: true })
    appendFileSync(join(copy, 'settings/callgate.yaml'), '# edited\n')
    writeManifestAnew(copy)
  })

  it('is refused, since its manifest is not what the journal has signed', async () => {
    const rule = 'the signature of the manifest of the backup is missing or wrong'
    const note = join(copy, 'manifest.json.signed')
    expectRefusal(await run(['backup', 'verify', copy]), 1, note, rule, 'it is not what')
    expectRefusal(await run(['restore', copy], join(work, 'restored')), 1, note, rule)
    rmSync(note)
    expectRefusal(await run(['backup', 'verify', copy]), 1, note, rule)
    expectRefusal(await run(['restore', copy], join(work, 'restored')), 1, note, rule)
    expect(readdirSync(join(work, 'restored'))).toEqual([])
  })

  it('and signed with another key is refused by whoever knows the key, and its records are not proven', async () => {
    const stranger = seededKey(keyOf(backup).split('+')[0] ?? '', 'signer', 9)
    const text = readFileSync(join(copy, 'journal/tree/checkpoint'), 'utf8')
    const { size, root } = parseCheckpoint(text)
    writeFileSync(
      join(copy, 'journal/tree/checkpoint'),
      signCheckpoint({ origin: stranger.name, size, root }, stranger),
    )
    writeFileSync(join(copy, 'journal/tree/key'), `${formatVerifierKey(stranger)}\n`)
    writeManifestAnew(copy)
    const manifest = readFileSync(join(copy, 'manifest.json'))
    const note = `${stranger.name}\nbackup ${hash(manifest)}\n`
    writeFileSync(
      join(copy, 'manifest.json.signed'),
      formatNote({ text: note, signatures: [signNote(note, stranger)] }),
    )
    const known = ['--key', keyOf(backup)]
    const rule = 'the backup is of a journal with another key than'
    expectRefusal(await run(['backup', 'verify', copy, ...known]), 1, rule)
    expectRefusal(await run(['restore', copy, ...known], join(work, 'refused')), 1, rule)
    const restored = join(work, 'restored')
    const { code, err } = await run(['restore', copy], restored)
    expect(code).toBe(0)
    expect(err).toContain('No key was given (--key)')
    const verify = async (...keys: readonly string[]) => {
      const options = keys.flatMap((key) => ['--key', key])
      const heads = ['--head', join(restored, 'journal/tree/checkpoint')]
      const settings = { dataDir: restored, configFolder: work }
      const args = ['evidence', 'verify', ...options, ...heads]
      return await runCommand(registerEvidence, args, settings)
    }
    const server = await openTestCallgate({ dataDir: restored })
    await server.stop()
    const alone = await verify(keyOf(restored))
    expect(alone.code).toBe(2)
    expect(alone.out).toContain('were written under the former name')
    const both = await verify(keyOf(restored), keyOf(backup))
    expect(both.code).toBe(10)
    expect(both.out).toContain('are those of another key, as the journal says')
  })

  it('is restored with the key that was noted, if nobody has edited it', async () => {
    const restored = join(work, 'restored')
    const { code, err } = await run(['restore', backup, '--key', keyOf(backup)], restored)
    expect({ code, err }).toMatchObject({ code: 0 })
    expect(err).not.toContain('No key was given')
    const names = JSON.parse(readFileSync(join(restored, 'journal/former-origins.json'), 'utf8'))
    expect(names.formerOrigins).toMatchObject([{ key: keyOf(backup) }])
  })
})

it('a backup with a changed record that its own tree does not have is refused, whoever has signed it', async () => {
  const copy = join(work, 'copy')
  cpSync(backup, copy, { recursive: true })
  const tile = join(copy, 'journal/tree/tile/0/000.p')
  damageByte(join(tile, readdirSync(tile)[0] ?? ''), 5)
  const key = openSigningKey(join(dataDir, 'journal'), join(dataDir, 'journal.key'))
  writeManifestAnew(copy)
  const note = `${key.name}\nbackup ${hash(readFileSync(join(copy, 'manifest.json')))}\n`
  writeFileSync(
    join(copy, 'manifest.json.signed'),
    formatNote({ text: note, signatures: [signNote(note, key)] }),
  )
  expectRefusal(
    await run(['restore', copy], join(work, 'restored')),
    1,
    'the new key would sign records that are not as they were signed',
  )
  expect(readdirSync(join(work, 'restored'))).toEqual([])
})

it('a backup without the journal that its database knows is refused, although it needs no signature', async () => {
  const copy = join(work, 'copy')
  cpSync(backup, copy, { recursive: true })
  const database = new Sqlite(join(copy, 'callgate.sqlite'))
  database.exec("insert into journal_positions values ('origin', 1, 'leaf')")
  database.close()
  rmSync(join(copy, 'manifest.json.signed'))
  for (const name of readdirSync(join(copy, 'journal')))
    rmSync(join(copy, 'journal', name), { recursive: true })
  const path = join(copy, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  manifest.journal = { firstSeq: 1, lastSeq: 0 }
  const isThere = ({ path: name }: { path: string }) => existsSync(join(copy, name))
  manifest.files = manifest.files.filter(isThere)
  writeFileSync(path, JSON.stringify(manifest))
  writeManifestAnew(copy)
  const rule = 'has no records, but the database beside it knows some'
  expectRefusal(await run(['backup', 'verify', copy]), 1, join(copy, 'journal'), rule)
  expectRefusal(await run(['restore', copy], join(work, 'restored')), 1, rule)
  expect(readdirSync(join(work, 'restored'))).toEqual([])
})

it('a backup of a journal that has no key yet is not signed, says so, and makes none', async () => {
  const folder = join(work, 'var')
  cpSync(dataDir, folder, { recursive: true })
  const journal = join(folder, 'journal')
  for (const name of readdirSync(journal).filter((one) => one !== 'origin'))
    rmSync(join(journal, name), { recursive: true })
  rmSync(join(folder, 'journal.key'))
  openSigningKey(journal, join(folder, 'journal.key'))
  rmSync(join(folder, 'journal.key'))
  const target = join(work, 'unsigned')
  const made = await run(['backup', target], folder)
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining('not signed') })
  expect(existsSync(join(folder, 'journal.key'))).toBe(false)
  expect(readdirSync(target)).not.toContain('manifest.json.signed')
  expect(await run(['restore', target], join(work, 'restored'))).toMatchObject({ code: 0 })
  const given = await run(['backup', 'verify', target, '--key', keyOf(backup)])
  expectRefusal(given, 1, 'the signature of the manifest of the backup is missing or wrong')
})

describe('an archive', () => {
  it('that was cut off or damaged is refused', async () => {
    const archive = join(work, 'b.tgz')
    expect(await run(['backup', archive])).toMatchObject({ code: 0 })
    expect(await run(['restore', archive], join(work, 'sound'))).toMatchObject({ code: 0 })
    const { size } = statSync(archive)
    for (const [name, damage] of [
      ['cut.tgz', (path: string) => truncateSync(path, Math.floor(size / 2))],
      ['flipped.tgz', (path: string) => damageByte(path, Math.floor(size / 2))],
      ['empty.tgz', (path: string) => truncateSync(path, 0)],
    ] as const) {
      const path = join(work, name)
      cpSync(archive, path)
      damage(path)
      const verified = await run(['backup', 'verify', path])
      expect({ name, code: verified.code, out: verified.out }).toEqual({ name, code: 1, out: '' })
      expect(verified.err).toContain(`${path}: `)
      const target = join(work, `restored-${name}`)
      expectRefusal(
        await run(['restore', path], target),
        1,
        'nothing was restored, and it is empty',
      )
      expect(readdirSync(target)).toEqual([])
    }
    expect(readdirSync(work).filter((name) => name.includes('unpacked'))).toEqual([])
  })
})

describe('a restore', () => {
  it('needs an empty folder and a backup', async () => {
    expectRefusal(
      await run(['restore', backup]),
      2,
      `dataDir '${dataDir}': a restore needs an empty folder`,
    )
    expectRefusal(
      await run(['restore', join(work, 'none')], join(work, 'new')),
      2,
      'there is no such file or folder',
    )
    expect(existsSync(join(work, 'new'))).toBe(false)
  })

  it('does not empty the folder that its backup is in', async () => {
    const target = join(work, 'holds-backup')
    mkdirSync(join(target, '.restoring'), { recursive: true })
    const inside = join(target, 'backup')
    cpSync(backup, inside, { recursive: true })
    expectRefusal(await run(['restore', inside], target), 2, `is in dataDir '${target}'`)
    expect(existsSync(inside)).toBe(true)
  })
})

it('says which options are not for SQLite', async () => {
  const only = await run(['restore', work, '--only', 'folder'], join(work, 'none'))
  expectRefusal(only, 2, 'it is sqlite')
  const without = await run(['backup', join(work, 'a'), '--without-decisions'], join(work, 'none'))
  expectRefusal(without, 2, 'it is sqlite')
})
