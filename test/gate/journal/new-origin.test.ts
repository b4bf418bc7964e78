/** A journal that goes on under another name, with all of its records. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { bufferSource } from '../../../src/evidence/byte-source.js'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { readFormerOrigins } from '../../../src/gate/journal/journal-beginning.js'
import { readOrigin, readOriginName } from '../../../src/gate/journal/journal-origin.js'
import { copyJournal } from '../../../src/gate/journal/recovery/copy-journal.js'
import { beginNewOrigin } from '../../../src/gate/journal/recovery/new-origin.js'
import { TreeReader } from '../../../src/gate/journal/tree/tree-files.js'
import { openCheckpoint, signCheckpoint } from '../../../src/transparency/checkpoint.js'
import { proveConsistency, verifyConsistency } from '../../../src/transparency/merkle-tree.js'
import { parseVerifierKey, type VerifierKey } from '../../../src/transparency/signed-note.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { recordsIn } from '../../support/journal.js'
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
const kept = (signed: string) => [{ name: 'kept', source: bufferSource(Buffer.from(signed)) }]
const begin = (because = 'rolled back') => beginNewOrigin(journal, { keyPath, because, now })

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
    const { result } = verifyJournal({ folder: journal, key, now, heads: kept(readText()) })
    expect(result).toBe('PROVEN')
  })

  describe('and a head of the old name', () => {
    let key: VerifierKey | undefined
    const findingsOf = (signed: string) =>
      verifyJournal({ folder: journal, key, now, heads: kept(signed) }).findings.filter(
        ({ message }) => !message.startsWith('no head from elsewhere'),
      )
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
    expect(verifyJournal({ folder: journal, key, now, indexPath, heads }).findings).toEqual([])
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
    const { lastSeq } = copyJournal(journal, copy)
    expect(lastSeq).toBe(recordsIn(folder.path).length)
    expect(readFormerOrigins(copy)).toEqual(readFormerOrigins(journal))
    expect(existsSync(join(copy, 'tree/former'))).toBe(true)
  })

  it('is given to a journal without a tree, which gets one later', async () => {
    await serve(5, 'a')
    rmSync(join(journal, 'tree'), { recursive: true })
    const entry = begin()
    expect(entry).toMatchObject({ size: 0, root: null })
    await serve(5, 'b')
    expect(readHead().size).toBe(recordsIn(folder.path).length)
  })
})
