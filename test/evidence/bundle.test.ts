/** Bundles are checked by the verifier in them, in an empty folder; `CALLGATE_SEED` sets which bytes are changed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import { packBundle } from '../../src/evidence/bundle/pack-bundle.js'
import type { Question } from '../../src/evidence/bundle/question.js'
import type { StateSources } from '../../src/evidence/bundle/state-files.js'
import { formatManifestHash, verifyBundle } from '../../src/evidence/bundle/verify/verify-bundle.js'
import { openZip, ZipWriter } from '../../src/evidence/bundle/zip.js'
import {
  type ByteSource,
  bufferSource,
  digest,
  fileSource,
} from '../../src/evidence/byte-source.js'
import { encodeQuery } from '../../src/evidence/witness/timestamps.js'
import { keepRules, nameVersion } from '../../src/gate/journal/recovery/kept-rules.js'
import { readSigningKey } from '../../src/gate/journal/tree/tree-head.js'
import { parseCheckpoint, signCheckpoint } from '../../src/transparency/checkpoint.js'
import {
  formatNote,
  formatVerifierKey,
  parseNote,
  parseVerifierKey,
  signNote,
} from '../../src/transparency/signed-note.js'
import { noon } from '../support/fake-compliance.js'
import { shortOrLong } from '../support/long.js'
import { runCommand } from '../support/run-command.js'
import { makeDecision, testJournal } from '../support/test-journal.js'
import { witnessKey } from '../support/test-witness.js'
import { createAuthority } from '../support/time-stamp-authority.js'

const mutations = shortOrLong(300, 5_000)
const seed = Number(process.env.CALLGATE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const number = '2125550106'
const stranger = '2125550177'
/** Those of the gate in tests. */
const rules = '{}'

let parent: string
let verifier: Buffer
let keyText: string

const at = (name: string) => join(parent, name)

/** Without a database. */
const noSources: StateSources = {
  db: undefined,
  describeRules: () => undefined,
  listVersions: () => [],
}

async function pack(name: string, question: Question): Promise<Buffer> {
  const journalFolder = join(parent, 'data', 'journal')
  const sources = noSources
  const heads = firstHead === '' ? [] : [{ name: 'kept', source: fileSource(at('kept')) }]
  const bundle = { journalFolder, question, heads, program: 'test', verifier, sources }
  await packBundle({ ...bundle, out: at(name) })
  return readFileSync(at(name))
}

const readZip = (zip: Buffer): Map<string, Buffer> =>
  new Map([...openZip(bufferSource(zip))].map(([name, file]) => [name, file.read(0, file.size)]))

const toFiles = (files: ReadonlyMap<string, Buffer>): ReadonlyMap<string, ByteSource> =>
  new Map([...files].map(([name, bytes]) => [name, bufferSource(bytes)]))

/** In a folder of its own, with nothing in the environment. */
function runVerifier(zip: Buffer, ...args: string[]) {
  const folder = mkdtempSync(join(parent, 'away-'))
  const files = readZip(zip)
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
  const { status, stdout } = spawnSync(process.execPath, ['verify.mjs', ...args], {
    cwd: folder,
    env: {},
    encoding: 'utf8',
  })
  return { status, stdout, folder }
}

let before: Buffer
/** Of that time, and what a recipient has kept in a file and trusts. */
let firstHead = ''
let trusted: readonly string[]

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'callgate-bundle-'))
  execFileSync(process.execPath, ['scripts/bundle-verifier.mjs', at('verify.mjs')])
  verifier = readFileSync(at('verify.mjs'))
  const dataDir = at('data')
  mkdirSync(dataDir)
  new Sqlite(join(dataDir, 'callgate.sqlite'))
    .exec(
      `create table decisions (id text, account_id text, decided_at integer, what_if integer, body text);
      create table call_outcomes (decision_id text, state text, handed_over_at integer,
        not_carried_out_at integer, not_carried_out text, leg text, dialled_at integer,
        answered_at integer, failed_at integer, ended_at integer, dial_status text, cause integer)`,
    )
    .close()
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  keepRules(join(dataDir, 'journal'), rules)
  for (let index = 0; index < 60; index += 1) {
    const dialed = index % 10 === 7 ? number : stranger
    await append(await makeDecision({ id: `d${index}` }, { dialed }))
    if (index === 17) journal.record('d17', { state: 'dialled', dialledAt: noon }, true)
  }
  await journal.drain()
  await journal.close()
  keyText = readFileSync(join(dataDir, 'journal/tree/key'), 'utf8').trimEnd()
  before = await pack('before.zip', { number })
  firstHead = readFileSync(join(dataDir, 'journal/tree/checkpoint'), 'utf8')
  writeFileSync(at('kept'), firstHead)
  trusted = ['--key', keyText, '--head', at('kept')]
  const { journal: later } = testJournal(dataDir, () => noon)
  await later.open()
  later.erase({ id: 'e1', number, accountId: undefined, includesAllowed: true })
  await later.drain()
  await later.drain()
  await later.close()
})

afterAll(() => rmSync(parent, { recursive: true, force: true }))

it('proves its records where nothing else is, also after the number was erased', () => {
  const result = runVerifier(before, ...trusted)
  expect(result).toMatchObject({ status: 0, stdout: expect.stringContaining('7 records') })
  expect(result.stdout).toMatch(
    /\nPROVEN: the 7 records of records.txt are in .* from .*kept\. .*\n$/,
  )
  expect(result.stdout).toContain('records shown: decision: 6, outcome: 1\n')
  expect(result.stdout).toContain(
    'all entries of the span: opened: 1, decision: 60, outcome: 1; the signed head fixes',
  )
  expect(runVerifier(before).status).toBe(2)
  const byKey = runVerifier(before, '--key', keyText)
  expect([byKey.status, byKey.stdout]).toEqual([
    2,
    expect.stringMatching(/NO HEAD FROM ELSEWHERE [\s\S]*\nNOT PROVEN: .*\n$/),
  ])
  const misuses = [
    ['--key', 'x'],
    ['--key'],
    ['--keys', keyText],
    ['a', 'b'],
    ['--key', keyText, '--key', keyText],
  ]
  for (const args of misuses) {
    const { status, stdout } = runVerifier(before, ...args)
    expect([args, status, stdout]).toEqual([
      args,
      64,
      expect.stringContaining('Usage: node verify.mjs'),
    ])
  }
  expect(runVerifier(before, `--key=${keyText}`, `--head=${at('kept')}`).status).toBe(0)
  writeFileSync(join(result.folder, 'more'), 'x')
  const again = spawnSync(process.execPath, ['verify.mjs', '--key', keyText], {
    cwd: result.folder,
  })
  expect(again.status).toBe(10)
  expect(runVerifier(before, ...trusted, at('before.zip')).status).toBe(0)
})

it('is verified by a program that anybody builds to the same bytes', () => {
  const elsewhere = at('elsewhere')
  mkdirSync(elsewhere)
  for (const name of ['src', 'scripts', 'package.json', 'tsconfig.json']) {
    cpSync(name, join(elsewhere, name), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(elsewhere, 'node_modules'))
  const args = ['scripts/bundle-verifier.mjs', at('verify-again.mjs')]
  execFileSync(process.execPath, args, { cwd: elsewhere })
  expect(readFileSync(at('verify-again.mjs')).equals(verifier)).toBe(true)
})

it('is verified with what Node 18.0.0 has', () => {
  // https://nodejs.org/docs/latest-v18.x/api/util.html: parseArgs is newer.
  const imports = [...verifier.toString().matchAll(/^import (.+) from "node:([\w/]+)";$/gm)]
  const names = imports.map(
    ([, words = '', module]) => `${module} ${words.replace(/(?<!\*) as \w+/g, '')}`,
  )
  expect(names.sort()).toEqual([
    'crypto * as crypto',
    'crypto { X509Certificate, createHash, createPublicKey, verify }',
    'fs { closeSync, openSync, readSync, readdirSync, statSync }',
    'path { dirname, join, relative, sep }',
    'process { argv, exit, stdout }',
    'url { fileURLToPath }',
  ])
  // https://nodejs.org/docs/latest-v20.x/api/crypto.html: so is hash.
  const withoutHash =
    "import crypto from 'node:crypto'; import { syncBuiltinESMExports } from 'node:module';" +
    'delete crypto.hash; syncBuiltinESMExports()'
  const { folder } = runVerifier(before, ...trusted)
  const older = ['--import', `data:text/javascript,${encodeURIComponent(withoutHash)}`]
  const args = [...older, 'verify.mjs', ...trusted]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  expect(stdout).toContain('7 records')
  expect(status).toBe(0)
})

it('has the number of nobody else', () => {
  expect(before.includes(stranger)).toBe(false)
  expect(before.includes(number)).toBe(true)
})

it('is the same when it is packed again', async () => {
  const question = { ids: ['d1', 'd3'] }
  const [one, two] = [await pack('one.zip', question), await pack('two.zip', question)]
  expect(one.equals(two)).toBe(true)
})

it('shows an erased record with its notice', async () => {
  const zip = await pack('after.zip', { from: noon, to: noon + 1 })
  const { status, stdout } = runVerifier(zip, ...trusted)
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /record \d+: a number was erased from it, as record \d+ says; the rest of it is as it was signed/,
  )
  expect(zip.includes(number)).toBe(false)
})

it(`no changed byte is proven, seed ${seed}, ${mutations} of each kind`, () => {
  const key = parseVerifierKey(keyText)
  let state = seed
  const random = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  const isProven = (read: () => Map<string, Buffer>): boolean => {
    try {
      return verifyBundle(toFiles(read()), { key }).failures.length === 0
    } catch {
      return false
    }
  }
  expect(isProven(() => readZip(before))).toBe(true)
  for (let turn = 0; turn < mutations; turn += 1) {
    const zip = Buffer.from(before)
    const place = random(zip.length)
    zip[place] = (zip[place] ?? 0) ^ (1 + random(255))
    expect(
      isProven(() => readZip(zip)),
      `byte ${place} of the zip file`,
    ).toBe(false)
    const files = readZip(before)
    // A proof of all entries has no hashes.
    const names = [...files.keys()].filter((name) => files.get(name)?.length !== 0)
    const name = names[random(names.length)] ?? ''
    const bytes = Buffer.from(files.get(name) ?? '')
    const offset = random(bytes.length)
    bytes[offset] = (bytes[offset] ?? 0) ^ (1 + random(255))
    files.set(name, bytes)
    expect(
      isProven(() => files),
      `byte ${offset} of ${name}`,
    ).toBe(false)
  }
}, 240_000)

it('has who changed the number and what its person was told, and nothing of the sort of others', async () => {
  const dataDir = at('changes')
  mkdirSync(dataDir)
  execFileSync('cp', [at('data/callgate.sqlite'), dataDir])
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  keepRules(join(dataDir, 'journal'), rules)
  for (const one of [number, stranger]) {
    await append(await makeDecision({ id: `d${one}` }, { dialed: one }))
    const subject = { kind: 'number', id: one }
    journal.note('audit', {
      seq: 1,
      mark: 'a',
      accountId: 'main',
      action: 'opt-out.added',
      subject,
    })
    await journal.addReceipt({ what: 'opt-out', accountId: 'main', number: one })
  }
  journal.note('audit', { seq: 2, mark: 'b', accountId: 'x', subject: { kind: 'key', id: number } })
  await journal.drain()
  await journal.close()
  const key = readFileSync(join(dataDir, 'journal/tree/key'), 'utf8').trimEnd()
  const question = { number, accountId: 'main' }
  const out = at('changes.zip')
  const journalFolder = join(dataDir, 'journal')
  const sources = noSources
  const bundle = { journalFolder, question, out, program: 'test', verifier, sources }
  const { counts } = await packBundle(bundle)
  expect(counts).toMatchObject({ audit: 1, receipt: 1 })
  const zip = readFileSync(out)
  expect(zip.includes(stranger)).toBe(false)
  const head = join(dataDir, 'journal/tree/checkpoint')
  expect(runVerifier(zip, '--key', key, '--head', head).status).toBe(0)
})

/** With a manifest that fits, as anybody can make one. */
async function repack(
  change: (files: Map<string, Buffer>, manifest: Record<string, unknown>) => void,
): Promise<Buffer> {
  const files = readZip(before)
  const manifest = JSON.parse(files.get('manifest.json')?.toString() ?? '')
  change(files, manifest)
  files.delete('manifest.json')
  files.delete('manifest.sha256')
  const entries = [...files].map(([name, bytes]) => [
    name,
    { sha256: digest(bytes), bytes: bytes.length },
  ])
  const text = Buffer.from(JSON.stringify({ ...manifest, files: Object.fromEntries(entries) }))
  const path = at('repacked.zip')
  rmSync(path, { force: true })
  const zip = new ZipWriter(path)
  for (const [name, bytes] of files) await zip.add(name, [bytes])
  await zip.add('manifest.json', [text])
  await zip.add('manifest.sha256', [Buffer.from(formatManifestHash(text))])
  zip.finish()
  zip.close()
  return readFileSync(path)
}
const edit = (files: Map<string, Buffer>, name: string, from: string | RegExp, to: string) =>
  files.set(name, Buffer.from(files.get(name)?.toString().replace(from, to) ?? ''))
const verifyZip = (zip: Buffer, ...args: string[]) => {
  writeFileSync(at('given.zip'), zip)
  return spawnSync(process.execPath, [at('verify.mjs'), ...args, at('given.zip')], {
    encoding: 'utf8',
  })
}

it('with pages that were exchanged proves its records and says that nobody signed the rest', async () => {
  const zip = await repack((files) => edit(files, 'report.html', /block|allow/g, 'forged'))
  const { status, stdout } = verifyZip(zip, ...trusted)
  expect(status).toBe(0)
  expect(stdout).toContain('Nobody has signed the other files, such as report.html')
})

it('is false with another key in it, and in records that were edited together with the manifest', async () => {
  const other = formatVerifierKey({ ...parseVerifierKey(keyText), publicKey: Buffer.alloc(32, 7) })
  const exchanged = await repack((files) => files.set('keys/journal', Buffer.from(`${other}\n`)))
  const withKey = verifyZip(exchanged, '--key', keyText)
  expect([withKey.status, withKey.stdout]).toEqual([10, expect.stringContaining('keys/journal')])
  const edited = async (from: string | RegExp, to: string) =>
    verifyZip(await repack((files) => edit(files, 'records.txt', from, to)), '--key', keyText)
      .status
  expect(await edited('"decision":"allow"', '"decision":"block"')).toBe(10)
  expect(await edited('\n', '\r\n')).toBe(10)
  expect(await edited(/^(.*\n)/, '$1$1')).toBe(10)
  expect(await edited(/$/, '\n')).toBe(10)
  expect(await edited(/^/, '\ufeff')).toBe(10)
})

it('is false without the calling rules that a decision names, or with others in their place', async () => {
  const name = `rules/${nameVersion(rules)}.json`
  const falseBy = async (change: (files: Map<string, Buffer>) => void) => {
    const { status, stdout } = verifyZip(await repack(change), ...trusted)
    return [status, /^FALSE: (.*)$/m.exec(stdout)?.[1]]
  }
  const judged = expect.stringMatching(`^record \\d+ was judged by ${name}: `)
  const missing = await falseBy((files) => void files.delete(name))
  expect(missing).toEqual([10, judged])
  expect(missing[1]).toContain(`${name} is missing`)
  const other = await falseBy((files) => files.set(name, Buffer.from('[]')))
  expect(other).toEqual([10, judged])
  expect(other[1]).toContain('does not hold the calling rules that it is named after')
})

it('is not packed without the calling rules that a decision names', async () => {
  const path = at(`data/journal/rules/${nameVersion(rules)}.json`)
  writeFileSync(path, '[]')
  await expect(pack('others.zip', { number: stranger })).rejects.toThrow(
    `${path}: does not hold the calling rules that it is named after`,
  )
  rmSync(path)
  await expect(pack('none.zip', { number: stranger })).rejects.toThrow(`${path}: is missing`)
  writeFileSync(path, rules)
})

describe('that shows less than it has packed', () => {
  /** Keeps these lines of records.txt; the manifest says so, or not. */
  const without = (keep: (line: string) => boolean, counts?: Record<string, number>) =>
    repack((files, manifest) => {
      const lines = files.get('records.txt')?.toString().trimEnd().split('\n') ?? []
      const kept = lines.filter(keep)
      files.set('records.txt', Buffer.from(kept.map((line) => `${line}\n`).join('')))
      for (const name of files.keys()) {
        const seq = /^proofs\/(\d+)\./.exec(name)?.[1]
        if (seq !== undefined && !kept.some((line) => line.startsWith(`${seq} `)))
          files.delete(name)
      }
      if (counts) Object.assign(manifest, { counts })
    })
  const ofOther = (line: string) => line.includes('"id":"d57"')

  it('is false if the manifest says that more were packed', async () => {
    const { status, stdout } = verifyZip(await without(() => false), ...trusted)
    expect([status, stdout]).toEqual([
      10,
      expect.stringContaining(
        'FALSE: records.txt: 6 of kind decision were packed, and 0 are there',
      ),
    ])
  })

  it('is not proven if none of its records answers the question', async () => {
    const none = verifyZip(await without(() => false, {}), ...trusted)
    expect([none.status, none.stdout]).toEqual([
      2,
      expect.stringMatching(/NO RECORD IS SHOWN THAT ANSWERS[\s\S]*\nNOT PROVEN: /),
    ])
    const outcome = await without((line) => !/"decision":"(?:allow|block)"/.test(line), {
      outcome: 1,
    })
    expect(verifyZip(outcome, ...trusted).status).toBe(2)
    const asked = await repack((_, manifest) => {
      Object.assign(manifest, { question: { number: stranger } })
    })
    expect(verifyZip(asked, ...trusted).status).toBe(2)
  })

  it('says how many of the entries are shown, and is not proven if a single one is not', async () => {
    const one = verifyZip(await without(ofOther, { decision: 1 }), ...trusted)
    expect([one.status, one.stdout]).toEqual([
      0,
      expect.stringMatching(
        /records shown: decision: 1\nall entries of the span: [^\n]*decision: \d\d/,
      ),
    ])
    const single = await repack((_, manifest) => {
      // Without a span, each entry is that of a record.
      Object.assign(manifest, { span: null })
    })
    const { status, stdout } = verifyZip(single, ...trusted)
    expect([status, stdout]).toEqual([
      2,
      expect.stringMatching(/NOT PROVEN: \d+ of \d+ single records are not shown/),
    ])
  })
})

describe('and heads that were kept elsewhere', () => {
  const withHead = (zip: Buffer, text: string) => {
    writeFileSync(at('other'), text)
    return verifyZip(zip, '--key', keyText, '--head', at('other'))
  }

  it('is false if one of them is of another history, in whatever order', async () => {
    const { origin, size } = parseCheckpoint(parseNote(firstHead).text)
    const key = readSigningKey(origin, at('data/journal.key'))
    const forged = signCheckpoint({ origin, size, root: Buffer.alloc(32, 7) }, key)
    for (const text of [`${firstHead}\n${forged}\n`, `${forged}\n${firstHead}\n`]) {
      const { status, stdout } = withHead(before, text)
      expect([status, stdout]).toEqual([10, expect.stringContaining('two views of the log')])
    }
  })

  it('is not proven by a head that nothing connects with it, until it is packed with that', async () => {
    const later = await pack('later.zip', { ids: ['d1'] })
    expect(verifyZip(later, ...trusted).status).toBe(0)
    const files = readZip(later)
    const proof = [...files.keys()].find((name) => name.startsWith('heads/'))
    expect(proof).toMatch(/^heads\/\d+\.proof$/)
    const newer = readFileSync(at('data/journal/tree/checkpoint'), 'utf8')
    const { status, stdout } = withHead(before, newer)
    expect([status, stdout]).toEqual([2, expect.stringContaining('without what connects them')])
    expect(withHead(later, newer).status).toBe(0)
    expect(withHead(later, 'nothing\n').status).toBe(2)
  })

  it('is not proven while a head that it should lead to is not connected with it, whatever the others show', async () => {
    const { origin, size } = parseCheckpoint(parseNote(firstHead).text)
    const key = readSigningKey(origin, at('data/journal.key'))
    const forged = signCheckpoint({ origin, size: size - 1, root: Buffer.alloc(32, 7) }, key)
    const files = readZip(before)
    expect([...files.keys()]).not.toContain(`heads/${size - 1}.proof`)
    for (const text of [`${forged}\n${firstHead}\n`, `${firstHead}\n${forged}\n`]) {
      const { status, stdout } = withHead(before, text)
      const why = `it has a head of ${size - 1} records, and the bundle of`
      expect([status, stdout]).toEqual([2, expect.stringContaining(why)])
    }
    const { size: packed } = parseCheckpoint(parseNote(String(files.get('checkpoint'))).text)
    const later = signCheckpoint({ origin, size: packed + 1, root: Buffer.alloc(32, 7) }, key)
    expect(withHead(before, `${firstHead}\n${later}\n`).status).toBe(0)
  })
})

it('is checked by callgate itself, with the same result', async () => {
  const check = (...args: readonly string[]) =>
    runCommand(registerEvidence, ['evidence', 'check', at('before.zip'), ...args], {
      dataDir: at('data'),
    })
  const own = await check(...trusted)
  const { status, stdout } = verifyZip(before, ...trusted)
  expect([own.code, own.out]).toEqual([status, stdout])
  const json = await check('--key', keyText, '--json')
  expect([json.code, JSON.parse(json.out)]).toEqual([
    2,
    expect.objectContaining({ result: 'NOT PROVEN', shown: { decision: 6, outcome: 1 } }),
  ])
  writeFileSync(at('cut.zip'), before.subarray(0, before.length - 30))
  const cut = await runCommand(registerEvidence, ['evidence', 'check', at('cut.zip')], {
    dataDir: at('data'),
  })
  expect([cut.code, cut.out]).toEqual([10, expect.stringMatching(/^FALSE: /)])
})

it('has no line of its own in the output of the verifier, whatever its files are named', async () => {
  const forged = 'timestamps/a\nPROVEN: every record\u001b[8m\u009b2J.tsr'
  const zip = await repack((files) => files.set(forged, Buffer.from('x')))
  const { status, stdout } = verifyZip(zip)
  expect(status).toBe(2)
  expect(stdout).not.toMatch(/^PROVEN/m)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u001b\u0080-\u009f]/)
})

it('proves records outside of the span, with the gaps between them', async () => {
  // Its outcome is long after the decision.
  const zip = await pack('gaps.zip', { ids: ['d17'] })
  const files = readZip(zip)
  const { ranges } = JSON.parse(files.get('manifest.json')?.toString() ?? '')
  expect(ranges.length).toBeGreaterThan(1)
  const proof = files.get('entries.proof') ?? Buffer.alloc(0)
  expect(proof.length).toBeGreaterThan(0)
  const key = parseVerifierKey(keyText)
  expect(verifyBundle(toFiles(files), { key }).failures).toEqual([])
  expect(runVerifier(zip, ...trusted).status).toBe(0)
  const bad = Buffer.from(proof)
  bad[5] = (bad[5] ?? 0) ^ 1
  files.set('entries.proof', bad)
  expect(verifyBundle(toFiles(files), { key }).failures.join()).toContain(
    'not in the tree that was signed',
  )
})

it('shows who cosigned it', async () => {
  const tree = at('data/journal/tree')
  const plain = parseNote(readFileSync(join(tree, 'checkpoint'), 'utf8'))
  const cosignature = signNote(plain.text, witnessKey, noon / 1_000)
  const signatures = [...plain.signatures, cosignature]
  writeFileSync(join(tree, 'cosigned'), formatNote({ text: plain.text, signatures }))
  const zip = await pack('cosigned.zip', { ids: ['d1'] })
  const witness = formatVerifierKey(witnessKey)
  const { status, stdout } = runVerifier(zip, '--key', keyText, '--witness', witness)
  expect(stdout).toContain('1 cosigners')
  expect(status).toBe(0)
  expect(runVerifier(zip, '--key', keyText).stdout).toContain('0 cosigners')
  // That of `before` is from another time.
  expect(runVerifier(before, '--key', keyText, '--witness', witness).status).toBe(2)
})

describe('time stamps', () => {
  const name = 'timestamps/9'
  let files: ReadonlyMap<string, Buffer>
  let authority: ReturnType<typeof createAuthority>

  const stampOf = (bytes: string | Buffer) => {
    const hash = createHash('sha256').update(bytes).digest()
    return authority.stamp(encodeQuery(hash, Buffer.from('4000000000000001', 'hex')))
  }

  beforeAll(async () => {
    authority = createAuthority(at('tsa'))
    const folder = at('data/journal/tree/timestamps')
    mkdirSync(folder)
    writeFileSync(join(folder, '9.checkpoint'), firstHead)
    writeFileSync(join(folder, '9.tsr'), stampOf(firstHead))
    files = readZip(await pack('stamped.zip', { ids: ['d1'] }))
  })

  const verify = (changes: Readonly<Record<string, Buffer>> = {}) =>
    verifyBundle(toFiles(new Map([...files, ...Object.entries(changes)])), {
      key: parseVerifierKey(keyText),
    })
  /** Without what is wrong only because the manifest has another hash. */
  const findProblems = (changes: Readonly<Record<string, Buffer>>) => {
    const { failures, unchecked } = verify(changes)
    const others = failures.filter((one) => !one.includes('the file that the manifest names'))
    const more = unchecked.filter((one) => !one.startsWith('NO HEAD FROM ELSEWHERE'))
    return [...others, ...more].join()
  }

  it('say how many records were signed by then, and who says so', () => {
    const { failures, timestamps } = verify()
    expect(failures).toEqual([])
    const { size } = parseCheckpoint(parseNote(firstHead).text)
    expect(timestamps).toEqual([
      { name: `${name}.tsr`, size, by: 'CN=Test TSA', at: expect.stringMatching(/^20\d\d-.*Z$/) },
    ])
    const { status, stdout } = runVerifier(readFileSync(at('stamped.zip')), ...trusted)
    expect(status).toBe(0)
    expect(stdout).toContain('Whether its certificate is one to trust is not checked')
  })

  it('are false if they are of something else, or of another history', () => {
    expect(findProblems({ [`${name}.tsr`]: stampOf('x') })).toContain('about other bytes')
    const proof = Buffer.from(files.get(`${name}.proof`) ?? '')
    proof[3] = (proof[3] ?? 0) ^ 1
    expect(findProblems({ [`${name}.proof`]: proof })).toContain('not the beginning of this log')
    const unsigned = Buffer.from(firstHead.replace(/\n.*\n$/, '\n'))
    expect(findProblems({ [`${name}.checkpoint`]: unsigned })).not.toBe('')
  })

  it('have no byte that can be changed in what is signed', () => {
    const stamp = files.get(`${name}.tsr`) ?? Buffer.alloc(0)
    const placeOf = (hex: string) => stamp.lastIndexOf(Buffer.from(hex, 'hex'))
    const [policy, digest] = [placeOf('06032a0304'), placeOf('2a864886f70d010904')]
    // The stamp itself, its hash among what is signed, and the signature, which is of RSA with 2048 bits.
    const ranges = [
      [policy, policy + 90],
      [digest, digest + 45],
      [stamp.length - 256, stamp.length],
    ] as const
    expect(Math.min(policy, digest)).toBeGreaterThan(0)
    for (const [first, end] of ranges) {
      for (let place = first; place < end; place += 3) {
        const changed = Buffer.from(stamp)
        changed[place] = (changed[place] ?? 0) ^ 0x10
        expect(findProblems({ [`${name}.tsr`]: changed }), `byte ${place}`).not.toBe('')
      }
    }
  })

  it('may be signed by ECDSA', () => {
    const other = createAuthority(at('tsa-ec'), [
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ])
    const hash = createHash('sha256').update(firstHead).digest()
    const stamp = other.stamp(encodeQuery(hash, Buffer.from('4000000000000001', 'hex')))
    expect(findProblems({ [`${name}.tsr`]: stamp })).toBe('')
    expect(verify({ [`${name}.tsr`]: stamp }).timestamps).toHaveLength(1)
    const changed = Buffer.from(stamp)
    changed[stamp.length - 3] = (changed[stamp.length - 3] ?? 0) ^ 1
    expect(findProblems({ [`${name}.tsr`]: changed })).toContain('no certificate in it has signed')
  })

  it('that cannot be read are not checked', () => {
    expect(findProblems({ [`${name}.tsr`]: Buffer.from('x') })).toContain('can read')
    expect(verify({ [`${name}.tsr`]: Buffer.from('x') }).timestamps).toEqual([])
  })

  it('are false by a certificate that is not for time stamps', () => {
    const usage = Buffer.from('2b06010505070308', 'hex')
    const stamp = files.get(`${name}.tsr`) ?? Buffer.alloc(0)
    const place = stamp.indexOf(usage)
    expect(place).toBeGreaterThan(0)
    const changed = Buffer.from(stamp)
    // For the signing of code. The signature of the certificate itself is part of the chain.
    changed[place + usage.length - 1] = 3
    expect(findProblems({ [`${name}.tsr`]: changed })).toContain('is not for time stamps')
  })
})

it('takes no other file for a bundle', () => {
  writeFileSync(at('no.zip'), 'no zip')
  writeFileSync(at('cut.zip'), before.subarray(0, 1_000))
  expect(runVerifier(before, '--key', keyText, at('no.zip')).status).toBe(3)
  expect(runVerifier(before, '--key', keyText, at('none.zip')).status).toBe(3)
  expect(runVerifier(before, '--key', keyText, at('cut.zip')).status).toBe(10)
})
