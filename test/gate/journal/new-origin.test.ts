/** A journal that goes on under another name, with all of its records. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { renameJournal } from '../../../src/commands/evidence/new-origin.js'
import { bufferSource } from '../../../src/evidence/byte-source.js'
import { type JournalToVerify, verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import {
  type FormerOrigin,
  readFormerOrigins,
  writeFormerOrigins,
} from '../../../src/gate/journal/journal-beginning.js'
import {
  hashOriginName,
  readOrigin,
  readOriginName,
} from '../../../src/gate/journal/journal-origin.js'
import {
  JournalReader,
  listSegments,
  segmentPath,
} from '../../../src/gate/journal/journal-reader.js'
import { copyJournal } from '../../../src/gate/journal/recovery/copy-journal.js'
import { keepRules } from '../../../src/gate/journal/recovery/kept-rules.js'
import { beginNewOrigin } from '../../../src/gate/journal/recovery/new-origin.js'
import {
  checksumSeedOf,
  createSeal,
  encodeHeader,
  headerBytes,
  type JournalRecord,
} from '../../../src/gate/journal/segment-format.js'
import { TreeReader } from '../../../src/gate/journal/tree/tree-files.js'
import { createKey, readSigningKey } from '../../../src/gate/journal/tree/tree-head.js'
import { TreeWriter } from '../../../src/gate/journal/tree/tree-writer.js'
import { openCheckpoint, signCheckpoint } from '../../../src/transparency/checkpoint.js'
import {
  computeRoot,
  proveConsistency,
  verifyConsistency,
} from '../../../src/transparency/merkle-tree.js'
import {
  formatVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../../src/transparency/signed-note.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { forgeTree, readSegment, writeSegment } from '../../support/forge-journal.js'
import { forgeFrames, forgetHeads, listFiles, recordsIn } from '../../support/journal.js'
import { seededKey } from '../../support/seeded-key.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const folder = useTempFolder()
const now = Date.parse('2026-11-26T12:00:00Z')
let journal: string
let keyPath: string

beforeEach(() => {
  journal = folder.file('journal')
  keyPath = folder.file('journal.key')
})

/** Ids of decisions that a server records between its start and its end. */
async function serve(count: number, label: string): Promise<readonly string[]> {
  const { journal: opened, append } = testJournal(folder.path, () => now)
  await opened.open()
  const decisions = await Promise.all(
    Array.from({ length: count }, (_, i) => makeDecision({ id: `${label}${i}`, decidedAt: now })),
  )
  await Promise.all(decisions.map(append))
  const ids = decisions.map(({ id }) => id)
  await opened.drain()
  for (const id of known) expect(opened.find('main', id)?.id).toBe(id)
  await opened.close()
  known.push(...ids)
  return ids
}
const known: string[] = []
beforeEach(() => void known.splice(0))

const readHead = (tree = join(journal, 'tree')) =>
  openCheckpoint(
    readFileSync(join(tree, 'checkpoint'), 'utf8'),
    parseVerifierKey(readFileSync(join(tree, 'key'), 'utf8').trim()),
  )
const readText = () => readFileSync(join(journal, 'tree/checkpoint'), 'utf8')
const emptyRoot = computeRoot(0, () => Buffer.alloc(0))
const kept = (signed: string) => [{ name: 'kept', source: bufferSource(Buffer.from(signed)) }]
const begin = (because = 'rolled back') => renameJournal(journal, keyPath, because)
/** Those that an owner has kept. */
const formerKeys = () => readFormerOrigins(journal).map(({ key }) => parseVerifierKey(key))

describe('a new origin', () => {
  it('keeps the records and the tree, and is named in the next record', async () => {
    await serve(300, 'a')
    const old = readHead()
    const entry = begin()
    expect(entry).toMatchObject({ origin: old.origin, size: old.size, because: 'rolled back' })
    expect(readOriginName(journal)).toBe(entry.next)
    expect(entry.next).not.toBe(entry.origin)
    await serve(20, 'b')
    const opened = recordsIn(folder.path)[old.size]
    expect(JSON.parse(opened?.body ?? '')).toMatchObject({ formerOrigins: [entry] })
    const head = readHead()
    expect(head.origin).toBe(entry.next)
    const { node } = new TreeReader(join(journal, 'tree'), head.size)
    const path = proveConsistency(old.size, head.size, node)
    expect(verifyConsistency(old, head, path)).toBe(true)
    const [key] = head.signatures.map((signature) => signature.key)
    const heads = kept(readText())
    const journalToVerify = { folder: journal, key, formerKeys: formerKeys(), now, heads }
    expect(verifyJournal(journalToVerify).result).toBe('PROVEN')
  })

  describe('and a head of the old name', () => {
    let key: VerifierKey | undefined
    const findingsOf = (signed: string) =>
      verifyJournal({
        folder: journal,
        key,
        formerKeys: formerKeys(),
        now,
        heads: kept(signed),
      }).findings.filter(({ message }) => !message.startsWith('no head from elsewhere'))
    const levelsOf = (signed: string) => findingsOf(signed).map(({ level }) => level)

    it('is compared with the records that both have', async () => {
      await serve(5, 'a')
      const first = readText()
      await serve(5, 'b')
      const last = readText()
      begin()
      key = readHead().signatures[0]?.key
      // The next start records the old name.
      expect(levelsOf(last)).toEqual(['unchecked'])
      await serve(5, 'c')
      expect(levelsOf(first)).toEqual([])
      expect(levelsOf(last)).toEqual([])
      // As a file has them to which heads are appended, also before and after the new name.
      expect(levelsOf(`${first}\n${last}\n`)).toEqual([])
      expect(levelsOf(`${first}\n${last}\n${readText()}\n`)).toEqual([])
      expect(levelsOf(`${first}\n${last}\n${last.slice(0, 50)}`)).toEqual([])
      begin()
      await serve(5, 'd')
      key = readHead().signatures[0]?.key
      expect(levelsOf(first)).toEqual([])
      expect(levelsOf(last.replace(/\n(\d+)\n/, '\n1$1\n'))).toEqual(['false'])
    })

    it('says what is lost, and that other records took its place', async () => {
      await serve(5, 'a')
      cpSync(journal, folder.file('copy'), { recursive: true })
      const copied = [...known]
      await serve(50, 'b')
      const lost = readText()
      const { size } = readHead()
      const old = readHead().origin
      rmSync(journal, { recursive: true })
      cpSync(folder.file('copy'), journal, { recursive: true })
      known.splice(0, known.length, ...copied)
      const keptSize = readHead().size
      begin('the volume was lost')
      await serve(100, 'c')
      key = readHead().signatures[0]?.key
      const [finding, ...more] = findingsOf(lost)
      expect(more).toEqual([])
      expect(finding).toMatchObject({ level: 'unchecked', seqs: [keptSize + 1, size] })
      expect(finding?.message).toContain(`a head of ${size} records of ${old}`)
      expect(finding?.message).toContain(`from its first ${keptSize} as`)
      expect(finding?.message).toContain('the volume was lost')
    })

    it('shows that its records were changed', async () => {
      await serve(5, 'a')
      cpSync(journal, folder.file('copy'), { recursive: true })
      await serve(5, 'b')
      const elsewhere = readText()
      const { size } = readHead()
      rmSync(journal, { recursive: true })
      cpSync(folder.file('copy'), journal, { recursive: true })
      rmSync(folder.file('index.sqlite'))
      known.splice(5)
      await serve(9, 'c')
      begin()
      await serve(1, 'd')
      key = readHead().signatures[0]?.key
      const [finding, ...more] = findingsOf(elsewhere)
      expect(more).toEqual([])
      expect(finding).toMatchObject({ level: 'false', seqs: [1, size] })
      expect(finding?.message).toContain('two views of the journal were signed')
    })

    it('that the journal never had is of another log', async () => {
      await serve(1, 'a')
      key = readHead().signatures[0]?.key
      const stranger = seededKey('callgate/journal/2026-01-01-00000000', 'signer', 9)
      const { size, root } = readHead()
      const signed = signCheckpoint({ origin: stranger.name, size, root }, stranger)
      expect(findingsOf(signed)[0]).toMatchObject({
        level: 'unchecked',
        message: expect.stringContaining('it has no signed head of'),
      })
    })
  })

  it('keeps the last head and the key of the old name', async () => {
    await serve(3, 'a')
    writeFileSync(join(journal, 'tree/cosigned'), 'cosigned')
    const old = readHead()
    const { origin } = begin()
    const kept = join(journal, 'tree/former', basename(origin))
    expect(readHead(kept)).toEqual(old)
    expect(readFileSync(join(kept, 'cosigned'), 'utf8')).toBe('cosigned')
    expect(existsSync(join(journal, 'tree/cosigned'))).toBe(false)
    expect(readHead().signatures[0]?.key).not.toEqual(old.signatures[0]?.key)
  })

  it('is signed with all records by a server that is stopped at once', async () => {
    for (const label of ['a', 'b', 'c', 'd']) await serve(2, label)
    begin()
    const { journal: opened } = testJournal(folder.path, () => now)
    await opened.open()
    await opened.close()
    const { size } = readHead()
    expect(size).toBe(recordsIn(folder.path).length)
    const key = readHead().signatures[0]?.key
    const indexPath = folder.file('index.sqlite')
    const heads = kept(readText())
    const verified = { folder: journal, key, formerKeys: formerKeys(), now, indexPath, heads }
    expect(verifyJournal(verified).findings).toEqual([])
  })

  it('can follow another', async () => {
    await serve(3, 'a')
    const first = begin('one')
    await serve(3, 'b')
    const second = begin('two')
    await serve(3, 'c')
    expect(readFormerOrigins(journal)).toEqual([first, second])
    expect(second.origin).toBe(first.next)
  })

  it('is the way out when the index has more than the journal, or the key is lost', async () => {
    await serve(5, 'a')
    cpSync(journal, folder.file('copy'), { recursive: true })
    const ids = [...known]
    await serve(50, 'b')
    rmSync(journal, { recursive: true })
    cpSync(folder.file('copy'), journal, { recursive: true })
    known.splice(0, known.length, ...ids)
    await expect(serve(1, 'c')).rejects.toThrow('Restore a later backup')
    begin()
    await serve(1, 'c')
    rmSync(keyPath)
    await expect(serve(1, 'd')).rejects.toThrow('the key that signs the journal is missing')
    begin('the key was lost')
    await serve(1, 'd')
  })

  it('that was interrupted is finished before the journal can be opened', async () => {
    await serve(5, 'a')
    const steps = 5
    for (let step = 0; step < steps; step += 1) {
      const before = readOriginName(journal)
      // Each of these is written in turn; a folder in its place makes the write fail.
      const obstacle = [
        join(journal, 'former-origins.json.tmp'),
        join(journal, 'tree/key.tmp'),
        join(journal, 'tree/checkpoint.tmp'),
        `${keyPath}.tmp`,
        join(journal, 'origin.tmp'),
      ][step] as string
      mkdirSync(obstacle)
      expect(() => begin(`step ${step}`)).toThrow('EISDIR')
      rmSync(obstacle, { recursive: true })
      if (step > 0) {
        expect(() => readOrigin(journal, now)).toThrow('callgate evidence new-origin')
        await expect(serve(1, 'x')).rejects.toThrow('callgate evidence new-origin')
      }
      const entry = begin('again')
      expect(entry.because).toBe(step === 0 ? 'again' : `step ${step}`)
      expect(entry.origin).toBe(before)
      await serve(1, `s${step}`)
    }
    expect(readFormerOrigins(journal)).toHaveLength(steps)
  })

  it('is started after its first start was killed before its record was on disk', async () => {
    await serve(2, 'a')
    const { next, size } = begin()
    const header = { firstSeq: size + 1, createdAt: now, origin: hashOriginName(next) }
    writeFileSync(segmentPath(journal, size + 1), encodeHeader(header))
    await serve(1, 'b')
    expect(verifyJournal({ folder: journal, now }).result).toBe('NOT PROVEN')
  })

  it('is refused with the key of another journal', async () => {
    await serve(1, 'a')
    const other = folder.file('other')
    mkdirSync(other)
    const { journal: opened } = testJournal(other, () => now)
    await opened.open()
    await opened.close()
    const of = { keyPath: join(other, 'journal.key'), because: 'mistake', now }
    expect(() => beginNewOrigin(journal, of)).toThrow('the key belongs to another journal')
    await serve(1, 'b')
  })

  it('is in copies of the journal', async () => {
    await serve(5, 'a')
    begin()
    await serve(5, 'b')
    const copy = folder.file('copy')
    mkdirSync(copy)
    keepRules(journal, '{}')
    const { lastSeq } = copyJournal(journal, copy)
    expect(lastSeq).toBe(recordsIn(folder.path).length)
    expect(readFormerOrigins(copy)).toEqual(readFormerOrigins(journal))
    expect(existsSync(join(copy, 'tree/former'))).toBe(true)
  })

  it('is not given to a journal without a tree', async () => {
    await serve(5, 'a')
    rmSync(join(journal, 'tree'), { recursive: true })
    const before = listFiles(journal)
    expect(() => begin()).toThrow('the key of the journal cannot be read')
    expect(() => beginNewOrigin(journal, { keyPath, because: 'x', now })).toThrow(
      'the signed head of the journal is missing',
    )
    expect(listFiles(journal)).toEqual(before)
  })

  it('takes over what the old name had sealed and not signed, and nothing else', async () => {
    await serve(2, 'a')
    await serve(2, 'b')
    forgetHeads(folder.path)
    const segment = listSegments(journal).at(-1) ?? expect.fail()
    const sealed = recordsIn(folder.path).length
    appendFileSync(segment.path, forgeFrames(sealed + 1, segment.firstSeq))
    const entry = begin()
    expect(entry.size).toBe(sealed)
    expect(readHead().size).toBe(sealed)
    await serve(1, 'c')
    const records = recordsIn(folder.path)
    expect(records).toHaveLength(sealed + 2)
    expect(records.some(({ body }) => body.includes('forged'))).toBe(false)
    const heads = kept(readText())
    const key = readHead().signatures[0]?.key
    const { findings } = verifyJournal({
      folder: journal,
      key,
      formerKeys: formerKeys(),
      heads,
      now,
    })
    expect(findings).toMatchObject([{ level: 'unchecked', seqs: [1, sealed] }])
    expect(findings[0]?.message).toContain('are in no head that it has signed')
  })
})

describe('the records of a former name', () => {
  const verify = (keys: readonly VerifierKey[], more: Partial<JournalToVerify> = {}) =>
    verifyJournal({
      folder: journal,
      key: readHead().signatures[0]?.key,
      formerKeys: keys,
      heads: kept(readText()),
      now,
      ...more,
    })
  const keyOf = (head = readHead()) => head.signatures[0]?.key ?? expect.fail()

  it('are proven by its key, and not under the new one alone', async () => {
    await serve(5, 'a')
    const [old, size] = [keyOf(), readHead().size]
    begin()
    await serve(5, 'b')
    const alone = verify([])
    expect(alone.result).toBe('NOT PROVEN')
    expect(alone.findings).toMatchObject([{ level: 'unchecked', seqs: [1, size] }])
    expect(verify([old]).result).toBe('PROVEN')
    const stranger = seededKey(old.name, 'signer', 9)
    expect(verify([stranger]).result).toBe('FALSE')
    begin()
    await serve(1, 'c')
    expect(verify([old]).result).toBe('NOT PROVEN')
    expect(verify(formerKeys()).result).toBe('PROVEN')
  })

  it('are not when the tree was made anew with another key before the new name', async () => {
    await serve(5, 'a')
    const [old, genuine] = [keyOf(), readText()]
    const { name } = old
    // Whoever can write the files makes a tree of changed records, and has the program give it a new name.
    const segment = listSegments(journal)[0]?.path ?? expect.fail()
    const bytes = readFileSync(segment)
    const at = bytes.indexOf('"decision":"allow"')
    expect(at).toBeGreaterThan(0)
    const records = recordsOf()
    rmSync(join(journal, 'tree'), { recursive: true })
    rmSync(keyPath)
    const { size, root } = { size: 0, root: emptyRoot }
    const throwaway = createKey(journal, keyPath, { origin: name, size, root })
    const writer = new TreeWriter(journal, throwaway)
    rmSync(segment)
    const frames = forgeFrames(1, 1, records)
    const header = encodeHeader({ firstSeq: 1, createdAt: now, origin: hashOriginName(name) })
    writeFileSync(segment, Buffer.concat([header, frames]))
    const reader = new JournalReader(journal, 1)
    writer.add(reader.read())
    reader.close()
    writer.sign()
    begin()
    known.splice(0)
    await serve(1, 'b')
    expect(verify([]).result).toBe('NOT PROVEN')
    expect(verify([old]).result).toBe('FALSE')
    expect(verify([], { heads: kept(genuine) }).result).toBe('FALSE')
  })

  describe('after whoever can write the files began them anew with a key of his own and an empty head', () => {
    let old: VerifierKey
    let genuine: string
    let lastSeq: number

    beforeEach(async () => {
      await serve(2, 'a')
      genuine = readText()
      await serve(3, 'b')
      old = keyOf()
      const records = recordsOf()
      lastSeq = records.length
      for (const { path } of listSegments(journal)) rmSync(path)
      for (const path of [join(journal, 'tree'), keyPath]) rmSync(path, { recursive: true })
      const empty = { origin: old.name, size: 0, root: emptyRoot }
      const throwaway = createKey(journal, keyPath, empty)
      const origin = hashOriginName(old.name)
      const frames = forgeFrames(1, 1, records)
      const seal = createSeal(
        frames,
        { origin, firstSeq: 1, lastSeq },
        { checksumSeed: checksumSeedOf(1), key: throwaway.privateKey },
      )
      const header = encodeHeader({ firstSeq: 1, createdAt: now, origin })
      writeFileSync(segmentPath(journal, 1), Buffer.concat([header, frames, seal]))
      rmSync(folder.file('index.sqlite'))
      known.splice(0)
      begin()
    })

    const expectUnproven = () => {
      expect(verify([]).result).toBe('NOT PROVEN')
      expect(verify([]).findings).toMatchObject([{ level: 'unchecked', seqs: [1, lastSeq] }])
      expect(verify([old]).result).toBe('FALSE')
    }

    it('are not proven, neither before nor after the next start', async () => {
      expectUnproven()
      await serve(1, 'c')
      expectUnproven()
    })

    /** What `former-origins.json` is made to say, beside a head of the old name that is its own. */
    it.each<readonly [string, (entry: FormerOrigin) => FormerOrigin]>([
      ['key', (entry) => ({ ...entry, key: formatVerifierKey(old) })],
      ['size', (entry) => ({ ...entry, size: 0 })],
      ['origin', (entry) => ({ ...entry, origin: 'callgate/journal/2026-01-01-00000000' })],
    ])('nor if its %s is edited before the next start, which is refused', async (_, edit) => {
      writeFormerOrigins(
        journal,
        readFormerOrigins(journal).map((entry) => edit(entry)),
      )
      expect(verify([old]).result).not.toBe('PROVEN')
      expect(verify([]).result).not.toBe('PROVEN')
      await expect(serve(1, 'c')).rejects.toThrow(
        /no head of at most|does not agree|belongs to another/,
      )
    })

    it('nor if a genuine head of the old name is put there too, which does not have them', async () => {
      const former = join(journal, 'tree/former', basename(old.name))
      writeFileSync(join(former, 'key'), `${formatVerifierKey(old)}\n`)
      writeFileSync(join(former, 'checkpoint'), genuine)
      const [entry = expect.fail()] = readFormerOrigins(journal)
      writeFormerOrigins(journal, [{ ...entry, key: formatVerifierKey(old) }])
      expect(verify([old]).result).toBe('FALSE')
      await expect(serve(1, 'c')).rejects.toThrow('do not have the root that was signed')
    })

    it('nor if nothing says that it had the old name', async () => {
      rmSync(join(journal, 'former-origins.json'))
      const segment = segmentPath(journal, 1)
      const origin = hashOriginName(readOriginName(journal))
      const header = encodeHeader({ firstSeq: 1, createdAt: now, origin })
      writeFileSync(segment, Buffer.concat([header, readFileSync(segment).subarray(headerBytes)]))
      await serve(1, 'c')
      expect(verify([old])).toMatchObject({
        result: 'NOT PROVEN',
        findings: [
          { message: `the journal does not say that it was ever named ${old.name} (--key)` },
        ],
      })
    })
  })

  const recordsOf = (): readonly JournalRecord[] =>
    recordsIn(folder.path).map(({ body, ...record }) => ({
      ...record,
      body: Buffer.from(body.replace('"decision":"allow"', '"decision":"block"')),
    }))

  it('keep it from being given where one of them was changed, also by hand half-way', async () => {
    await serve(5, 'a')
    const segment = listSegments(journal)[0] ?? expect.fail()
    const whole = readFileSync(segment.path)
    const changed = Buffer.from(whole)
    const at = changed.indexOf('"decision":"allow"')
    changed.write('"decision":"ALLOW"', at)
    const reader = new JournalReader(journal, 1)
    const [, place] = reader.read()
    reader.close()
    const start = place?.offset ?? expect.fail()
    const end = start + 8 + changed.readUInt32BE(start)
    const seed = checksumSeedOf(1)
    changed.writeUInt32BE(
      crc32(changed.subarray(start + 8, end), crc32(changed.subarray(start, start + 4), seed)),
      start + 4,
    )
    writeFileSync(segment.path, changed)
    const before = listFiles(folder.path).map((name) => readFileSync(folder.file(name)))
    expect(() => begin()).toThrow(/would sign records that are not as they were signed: record 2, /)
    expect(listFiles(folder.path).map((name) => readFileSync(folder.file(name)))).toEqual(before)
    // As if it had been checked and begun before.
    const [key, head] = [keyOf(), readHead()]
    for (const name of ['key', 'checkpoint']) {
      const target = join(journal, 'tree/former', basename(key.name), name)
      cpSync(join(journal, 'tree', name), target)
    }
    const entry = {
      origin: key.name,
      key: formatVerifierKey(key),
      size: head.size,
      because: 'x',
      at: '2026-11-26T12:00:00Z',
      next: 'callgate/journal/2026-11-26-00000000',
    }
    writeFormerOrigins(journal, [entry])
    expect(() => begin()).toThrow(/would sign records that are not as they were signed: record 2, /)
    writeFileSync(segment.path, whole)
    writeFormerOrigins(journal, [{ ...entry, size: head.size - 1 }])
    expect(() => begin()).toThrow('does not agree with what')
    writeFormerOrigins(journal, [entry])
    expect(begin()).toEqual(entry)
    await serve(1, 'b')
  })
})

describe('former-origins.json', () => {
  const path = () => join(journal, 'former-origins.json')
  const verifyFile = () =>
    verifyJournal({ folder: journal, now }).findings.filter(({ message }) =>
      message.includes('former-origins.json'),
    )

  it('that was edited by hand stops the start, and is FALSE', async () => {
    await serve(2, 'a')
    begin()
    expect(verifyFile()).toEqual([])
    await serve(2, 'b')
    expect(verifyFile()).toEqual([])
    const names = readFormerOrigins(journal)
    const [entry = expect.fail()] = names
    const current = readOriginName(journal)
    const edits: readonly (readonly FormerOrigin[])[] = [
      [],
      [{ ...entry, size: entry.size + 1 }],
      [{ ...entry, because: 'another reason' }],
      [entry, { ...entry, origin: current, next: 'callgate/journal/other' }],
      [entry, { ...entry, origin: 'callgate/journal/other', next: current }],
    ]
    for (const edit of edits) {
      writeFormerOrigins(journal, edit)
      expect(verifyFile(), JSON.stringify(edit)).toMatchObject([{ level: 'false' }])
      await expect(serve(1, 'x'), JSON.stringify(edit)).rejects.toThrow(
        /former-origins\.json: the file does not agree|was being given a new name|belongs to another/,
      )
    }
    rmSync(path())
    await expect(serve(1, 'x')).rejects.toThrow(/does not say|belongs to another/)
    expect(verifyFile()).toMatchObject([{ level: 'false' }])
    writeFormerOrigins(journal, names)
    await serve(1, 'c')
    expect(verifyFile()).toEqual([])
  })

  it('cannot name the present name to have a head of that believed less', async () => {
    await serve(2, 'a')
    cpSync(journal, folder.file('copy'), { recursive: true })
    await serve(5, 'b')
    const [signed, key] = [readText(), readHead().signatures[0]?.key ?? expect.fail()]
    rmSync(journal, { recursive: true })
    cpSync(folder.file('copy'), journal, { recursive: true })
    const entry = { because: 'x', at: '2026-11-26T12:00:00Z', next: 'callgate/journal/other' }
    const { origin, size } = readHead()
    writeFormerOrigins(journal, [{ origin, key: formatVerifierKey(key), size, ...entry }])
    const { findings } = verifyJournal({ folder: journal, key, heads: kept(signed), now })
    const ofHead = findings.filter(({ message }) => message.startsWith('kept: '))
    expect(ofHead).toMatchObject([{ level: 'false', message: expect.stringContaining('cut off') }])
  })

  it('that is missing is not what an older start says, while the last one is there as another kind', async () => {
    await serve(2, 'a')
    begin()
    await serve(2, 'b')
    const origin = hashOriginName(readOriginName(journal))
    for (const { path: segment, firstSeq } of listSegments(journal)) {
      const content = readSegment(segment)
      const [opened, ...rest] = content.records
      if (opened === undefined) throw new Error('the segment is empty')
      const kind = firstSeq === 1 ? 'opened' : 'audit'
      const header = encodeHeader({ firstSeq, createdAt: now, origin })
      writeSegment({ ...content, header }, [{ ...opened, kind }, ...rest])
    }
    rmSync(path())
    known.splice(0)
    await expect(serve(1, 'x')).rejects.toThrow('is not the one that was signed')
  })

  it('must go on from one start to the next', async () => {
    await serve(2, 'a')
    begin()
    await serve(2, 'b')
    begin()
    await serve(2, 'c')
    const records = recordsIn(folder.path)
    const key = readHead().signatures[0]?.key
    const verifyFalse = () =>
      verifyJournal({ folder: journal, key, now }).findings.filter(({ message }) =>
        message.includes('the former names of the journal do not go on'),
      )
    expect(verifyFalse()).toEqual([])
    // Whoever has the key signs records of starts that say something else.
    const [last = 0] = records
      .flatMap(({ kind }, at) => (kind === 'opened' ? [at + 1] : []))
      .slice(-1)
    const names = readFormerOrigins(journal)
    const edits: readonly (readonly FormerOrigin[])[] = [
      [],
      names.slice(1),
      names.map((one) => ({ ...one, because: 'another reason' })),
      names.map((one, at) => (at === 1 ? { ...one, size: one.size - 1 } : one)),
    ]
    for (const formerOrigins of edits) {
      const { path: segment } = listSegments(journal).at(-1) ?? expect.fail()
      const content = readSegment(segment)
      const [opened, ...rest] = content.records
      if (opened === undefined) throw new Error('the segment is empty')
      const said = { ...JSON.parse(opened.body.toString()), formerOrigins }
      writeSegment(content, [{ ...opened, body: Buffer.from(JSON.stringify(said)) }, ...rest])
      forgeTree(journal, key?.name ?? '', readSigningKey(key?.name ?? '', keyPath))
      expect(verifyFalse(), JSON.stringify(formerOrigins)).toMatchObject([
        { level: 'false', seqs: [last, last] },
      ])
    }
  })

  it('and the record of the last start, edited together, stop it too', async () => {
    await serve(2, 'a')
    begin()
    await serve(1, 'b')
    const names = readFormerOrigins(journal)
    const edited = names.map((one) => ({ ...one, because: one.because.toUpperCase() }))
    writeFormerOrigins(journal, edited)
    const { path: segment, firstSeq } = listSegments(journal).at(-1) ?? expect.fail()
    const bytes = readFileSync(segment)
    const [{ because = '' } = {}] = names
    bytes.write(because.toUpperCase(), bytes.indexOf(because))
    const end = headerBytes + 8 + bytes.readUInt32BE(headerBytes)
    const length = bytes.subarray(headerBytes, headerBytes + 4)
    const checksum = crc32(
      bytes.subarray(headerBytes + 8, end),
      crc32(length, checksumSeedOf(firstSeq)),
    )
    bytes.writeUInt32BE(checksum, headerBytes + 4)
    writeFileSync(segment, bytes)
    await expect(serve(1, 'x')).rejects.toThrow(/record \d+ is not the one that was signed/)
  })
})
