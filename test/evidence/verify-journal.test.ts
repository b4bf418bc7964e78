/**
 * What is found when a journal is changed: by somebody who can write its files, by somebody who also computes checksums,
 * commitments and tiles anew, and by somebody who has its key; and what only a head that was kept elsewhere shows.
 * `CALLGATE_SEED` sets which random changes are tried.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bufferSource } from '../../src/evidence/byte-source.js'
import { type Verification, verifyJournal } from '../../src/evidence/verify/verify-journal.js'
import type { StoredRecord } from '../../src/gate/journal/segment-format.js'
import { checkpointPath, treeFolder } from '../../src/gate/journal/tree/tree-files.js'
import { openSigningKey } from '../../src/gate/journal/tree/tree-head.js'
import { openCheckpoint, signCheckpoint } from '../../src/transparency/checkpoint.js'
import { commitTo } from '../../src/transparency/log-entry.js'
import { computeRoot } from '../../src/transparency/merkle-tree.js'
import {
  formatNote,
  formatVerifierKey,
  parseNote,
  type SigningKey,
  signNote,
} from '../../src/transparency/signed-note.js'
import { answered, fakeCompliance, noon } from '../support/fake-compliance.js'
import {
  appendRecords,
  firstSeqOf,
  forgeRecord,
  forgeTree,
  randomFrom,
  readSegment,
  segmentBytes,
  writeSegment,
} from '../support/forge-journal.js'
import { listFiles } from '../support/journal.js'
import { shortOrLong } from '../support/long.js'
import { seededKey } from '../support/seeded-key.js'
import { makeDecision, testJournal } from '../support/test-journal.js'
import { witnessKey } from '../support/test-witness.js'

const mutations = shortOrLong(200, 10_000)
const seed = Number(process.env.CALLGATE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const erasedNumber = '2125550106'

let parent: string
/** The data folder that nobody changes. */
let original: string
let dataDir: string
let key: SigningKey
let earlierHead: string

const folder = () => join(dataDir, 'journal')
const tree = () => treeFolder(folder())
const isSegment = (name: string) => /\.seg(?:\.gz)?$/.test(name)
const segments = () => listFiles(folder()).filter(isSegment).sort()

async function writeOriginal(): Promise<void> {
  new Sqlite(join(original, 'callgate.sqlite'))
    .exec(
      `create table decisions (id text, account_id text, decided_at integer, what_if integer, body text);
      create table call_outcomes (decision_id text, state text, handed_over_at integer,
        not_carried_out_at integer, not_carried_out text, leg text, dialled_at integer,
        answered_at integer, failed_at integer, ended_at integer, dial_status text, cause integer)`,
    )
    .close()
  const compliance = fakeCompliance({
    internalDnc: () => answered({ onList: true, addedAt: noon }),
  })
  const { journal, append } = testJournal(original, () => noon, { maxSegmentBytes: 60_000 })
  await journal.open()
  for (let index = 0; index < 600; index += 1) {
    const dialed = index < 300 && index % 40 === 7 ? erasedNumber : `212555${String(1_000 + index)}`
    await append(await makeDecision({ id: `d${index}` }, { dialed }, compliance))
    if (index % 9 === 0) journal.record(`d${index}`, { state: 'dialled', dialledAt: noon }, true)
    if (index === 300) {
      await journal.drain()
      earlierHead = readFileSync(checkpointPath(treeFolder(join(original, 'journal'))), 'utf8')
      journal.erase({
        id: 'e1',
        number: erasedNumber,
        accountId: undefined,
        includesAllowed: true,
      })
    }
  }
  await journal.drain()
  await journal.drain()
  await journal.close()
}

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'callgate-verify-'))
  original = join(parent, 'original')
  mkdirSync(original)
  await writeOriginal()
  key = openSigningKey(join(original, 'journal'), join(original, 'journal.key'))
})

afterAll(() => rmSync(parent, { recursive: true, force: true }))

beforeEach(() => {
  dataDir = original
})

/** A copy that may be changed. */
function takeCopy(): void {
  dataDir = join(parent, 'copy')
  rmSync(dataDir, { recursive: true, force: true })
  cpSync(original, dataDir, { recursive: true })
}

const kept = (...heads: readonly string[]) =>
  heads.map((signed, index) => ({
    name: `head ${index}`,
    source: bufferSource(Buffer.from(signed)),
  }))
const verify = (heads: readonly string[] = [], now = noon): Verification =>
  verifyJournal({
    folder: folder(),
    key,
    now,
    heads: kept(...heads),
  })
const falseOf = ({ findings }: Verification) => findings.filter(({ level }) => level === 'false')
const expectFalse = (verification: Verification, message: string | RegExp) =>
  expect(
    falseOf(verification)
      .map((finding) => finding.message)
      .join('\n'),
  ).toMatch(message)

const readSegmentOf = (name: string) => readSegment(join(folder(), name))

const numbered = (records: readonly StoredRecord[], firstSeq: number) =>
  records.map((record, index) => ({ ...record, seq: firstSeq + index }))

const buildTree = (signer?: SigningKey) => forgeTree(folder(), key.name, signer)

describe('a journal that nobody has changed', () => {
  it('is proven, with what was erased', () => {
    const { findings, head, counts } = verify([earlierHead])
    expect(findings).toEqual([])
    const all = segments().flatMap((name) => readSegmentOf(name).records)
    expect(head?.size).toBe(all.length)
    expect(counts).toEqual({
      proven: all.length - 8,
      erased: 8,
      removed: 0,
      unsigned: 0,
      copies: 0,
    })
    expect(segments().filter((name) => name.endsWith('.gz')).length).toBeGreaterThan(3)
    const texts = listFiles(dataDir).map((name) =>
      segmentBytes(join(dataDir, name)).toString('latin1'),
    )
    expect(texts.filter((text) => text.includes(erasedNumber))).toEqual([])
  })

  it('is not proven by its key alone: who has the private one can sign another history', () => {
    const { result, findings, outside } = verify()
    expect([result, outside]).toEqual(['NOT PROVEN', undefined])
    expect(findings.map(({ message }) => message)).toEqual([
      expect.stringContaining('no head from elsewhere'),
    ])
    const { size } = openCheckpoint(earlierHead, key)
    const proven = verify([earlierHead])
    expect(proven).toMatchObject({ result: 'PROVEN', outside: { name: 'head 0', size, at: noon } })
    // A head of another log shows nothing of this one.
    const other = seededKey('another.example/log', 'signer', 9)
    const foreign = signCheckpoint({ origin: other.name, size: 3, root: Buffer.alloc(32) }, other)
    const foreignOnly = verify([foreign])
    expect(foreignOnly.result).toBe('NOT PROVEN')
    expect(foreignOnly.findings[0]?.message).toContain('it has no signed head of')
    // The empty head is that of every journal of this key.
    const root = computeRoot(0, () => Buffer.alloc(0))
    const empty = signCheckpoint({ origin: key.name, size: 0, root }, key)
    expect(verify([empty])).toMatchObject({ result: 'NOT PROVEN', outside: undefined })
  })

  it('is proven by a witness that has signed its head', () => {
    takeCopy()
    const { text, signatures } = parseNote(earlierHead)
    const cosigned = { text, signatures: [...signatures, signNote(text, witnessKey, noon / 1_000)] }
    writeFileSync(join(tree(), 'cosigned'), formatNote(cosigned))
    const about = { folder: folder(), key, now: noon }
    expect(verifyJournal(about).result).toBe('NOT PROVEN')
    expect(verifyJournal({ ...about, witnesses: [witnessKey] })).toMatchObject({
      result: 'PROVEN',
      outside: { name: witnessKey.name },
    })
    const stranger = seededKey(witnessKey.name, 'cosigner', 11)
    expect(verifyJournal({ ...about, witnesses: [stranger] }).result).toBe('NOT PROVEN')
  })

  it('is proven by a key beside it only as far as that goes', () => {
    const { findings } = verifyJournal({ folder: folder(), now: noon })
    expect(findings.map(({ level }) => level)).toEqual(['unchecked'])
  })
})

describe('the index of a journal', () => {
  beforeEach(takeCopy)
  const verifyIndex = () =>
    verifyJournal({
      folder: folder(),
      key,
      heads: kept(earlierHead),
      indexPath: join(dataDir, 'index.sqlite'),
      now: noon,
    })

  it('agrees with it, also after an erasure', () => {
    expect(verifyIndex().findings).toEqual([])
  })

  it.each([
    ["update decisions set decision = 'allow' where id = 'd30'", 'd30'],
    ["update decisions set number = '2125550100' where id = 'd31'", 'd31'],
    ["update decisions set byte_offset = byte_offset + 8 where id = 'd32'", 'd32'],
    ["delete from decisions where id = 'd33'", 'd33'],
    [
      "insert into decisions select account_id, 'd999', decided_at, what_if, segment, byte_offset, number, " +
        "decision, reason, call_kind, via, project_code, campaign_id, key_id, reference from decisions where id = 'd34'",
      'd999',
    ],
    [`update call_outcomes set outcome = '{"state":"answered"}' where decision_id = 'd36'`, 'd36'],
    ["delete from call_outcomes where decision_id = 'd45'", 'd45'],
  ])('does not agree after: %s', (change, id) => {
    new Sqlite(join(dataDir, 'index.sqlite')).exec(change).close()
    const { findings } = verifyIndex()
    expect(findings.map(({ level }) => level)).toEqual(['false'])
    expect(findings[0]?.message).toContain(`decision ${id} is not in the index as it is`)
  })

  const addRow = (id: string) =>
    new Sqlite(join(dataDir, 'index.sqlite'))
      .exec(
        `insert into decisions select account_id, '${id}', decided_at, what_if, segment, byte_offset, number, decision, reason, ` +
          "call_kind, via, project_code, campaign_id, key_id, reference from decisions where id = 'd34'",
      )
      .close()

  it('has no decision without a record', () => {
    addRow('d998')
    expect(verifyIndex().findings.map(({ message }) => message)).toEqual([
      expect.stringContaining('decision d998 is not in the index as it is'),
    ])
  })

  it('may differ while an erasure goes on', () => {
    new Sqlite(join(dataDir, 'index.sqlite'))
      .exec("update decisions set number = null where id = 'd31'")
      .close()
    expect(verifyIndex().findings.map(({ level }) => level)).toEqual(['false'])
    append({ kind: 'erasure', body: { id: 'e9' } })
    expect(verifyIndex().findings.map(({ level }) => level)).toEqual(['unchecked'])
  })

  it('is not proven when it ends before what was signed', () => {
    new Sqlite(join(dataDir, 'index.sqlite'))
      .exec(
        "delete from decisions where id >= 'd5'; delete from call_outcomes where decision_id >= 'd5'",
      )
      .exec('update journal_position set next_seq = 2')
      .exec('delete from decisions; delete from call_outcomes')
      .close()
    expect(verifyIndex().findings.map(({ level, message }) => [level, message])).toEqual([
      ['unchecked', expect.stringContaining('the index ends with record 1, but')],
    ])
  })
})

describe('a journal that somebody has changed', () => {
  beforeEach(takeCopy)

  /** Each is tried by one who computes checksums (A), and by one who computes the tree as well (B). */
  const changes: readonly (readonly [string, () => void])[] = [
    ['an edited record', () => changeSegment(3, forgeOne)],
    ['two records that changed places', () => changeSegment(3, (all) => swap(all, 4, 5))],
    [
      'a record that is left out, with the gap closed',
      () => changeSegment(-1, (all) => drop(all, 4)),
    ],
    ['a record that is there twice', () => changeSegment(-1, (all) => twice(all, 4))],
    ['a record that was added in the middle', () => changeSegment(-1, (all) => insert(all, 4))],
  ]
  for (const [name, change] of changes) {
    it(`is found: ${name}`, () => {
      change()
      expectFalse(
        verify(),
        /its body is not the one that was signed|its entry|another time|another kind|were signed/,
      )
      buildTree()
      expectFalse(verify(), /do not have the root that was signed|a tile of \d+ hashes/)
      // Who has the key can sign it all anew; then only a head that was kept elsewhere shows it.
      buildTree(key)
      expect(falseOf(verify())).toEqual([])
      expectFalse(
        verify([readHeadOfOriginal()]),
        /two views of the journal|was cut off or replaced/,
      )
    })
  }

  it('is found: a history that was signed anew, with its head appended to those that were kept', () => {
    changeSegment(3, forgeOne)
    buildTree(key)
    const forgedHead = readFileSync(checkpointPath(tree()), 'utf8')
    expect(verify([forgedHead]).result).toBe('PROVEN')
    for (const file of [
      `${readHeadOfOriginal()}\n${forgedHead}\n`,
      `${forgedHead}\n${readHeadOfOriginal()}\n`,
      `${earlierHead}${readHeadOfOriginal()}${forgedHead}`,
      `${'x'.repeat(50_000)}\n${readHeadOfOriginal().slice(0, 60)}${readHeadOfOriginal()}\n${forgedHead}`,
    ]) {
      expectFalse(verify([file]), 'two views of the journal were signed')
    }
  })

  it('is found: a tail that is cut below the newest checkpoint, and who signs the rest again', () => {
    const last = segments().at(-1) ?? ''
    const { records } = readSegmentOf(last)
    changeSegment(-1, (all) => all.slice(0, 5))
    expectFalse(verify(), /the journal ends with record \d+, but \d+ were signed/)
    buildTree(key)
    expect(falseOf(verify())).toEqual([])
    expect(records.length).toBeGreaterThan(5)
    expectFalse(verify([readHeadOfOriginal()]), 'was cut off or replaced by an older copy')
  })

  it('is found: a segment that is missing in the middle, and at the beginning', () => {
    rmSync(join(folder(), segments()[2] ?? ''))
    expectFalse(verify(), /records before .* are missing/)
    takeCopy()
    const [, second = ''] = segments()
    rmSync(join(folder(), segments()[0] ?? ''))
    const begins = {
      firstSeq: firstSeqOf(second),
      removedBefore: '2021-11-01T00:00:00Z',
      notice: 600,
    }
    writeFileSync(join(folder(), 'begins.json'), JSON.stringify(begins))
    expectFalse(verify(), 'are missing, and no record says that they were removed')
    expectFalse(verify(), /begins\.json says that the journal begins with record \d+, but/)
  })

  it('is found: a record without its number that no notice speaks of', () => {
    changeSegment(3, (all) =>
      all.map((one, i) =>
        i === placeToEdit(all)
          ? { ...one, body: Buffer.from(one.body.toString().replace(/212555\d{4}/g, 'xxxxxxxxxx')) }
          : one,
      ),
    )
    expectFalse(verify(), 'its body is not the one that was signed')
  })

  describe('does not pass for an erasure', () => {
    /** Number of the edited record. */
    const forge = (): number => {
      const [, , , name = ''] = segments()
      const place = placeToEdit(readSegmentOf(name).records)
      changeSegment(3, forgeOne)
      return firstSeqOf(join(folder(), name)) + place
    }
    const levels = () => verify([earlierHead]).findings.map(({ level, seqs }) => [level, seqs])

    const commitmentOf = (seq: number) => {
      const name = segments().findLast((one) => firstSeqOf(one) <= seq) ?? ''
      const record = readSegmentOf(name).records.find((one) => one.seq === seq)
      if (record === undefined) throw new Error(`no record ${seq}`)
      return commitTo(record.salt, record.body).toString('base64')
    }
    const request = { kind: 'erasure', body: { id: 'e9' } } as const
    const noticeOf = (seq: number, commitment = commitmentOf(seq)) =>
      ({ kind: 'notice', body: { erasure: 'e9', changed: [[seq, commitment]] } }) as const

    it('by a file that says an erasure is going on', () => {
      const seq = forge()
      append(request)
      writeFileSync(join(folder(), 'e9.changed'), `${seq}\n`)
      expect(levels()).toEqual([['false', [seq, seq]]])
    })

    it('by a notice that is not signed', () => {
      const seq = forge()
      append(request, noticeOf(seq))
      expect(levels()).toEqual([['unchecked', [seq, seq]]])
    })

    const otherCommitment = Buffer.alloc(32).toString('base64')
    it.each<readonly [string, (seq: number) => readonly AppendedRecord[]]>([
      ['without a request', (seq) => [noticeOf(seq)]],
      ['before its request', (seq) => [noticeOf(seq), request]],
      ['that is about another body', (seq) => [request, noticeOf(seq, otherCommitment)]],
      [
        'after its request was finished',
        (seq) => [
          request,
          { kind: 'notice', body: { erasure: 'e9', finished: true } },
          noticeOf(seq),
        ],
      ],
      [
        'after another start',
        (seq) => [request, { kind: 'opened', body: { keepYears: 5 } }, noticeOf(seq)],
      ],
    ])('by a signed notice %s', (_, listRecords) => {
      const seq = forge()
      const added = listRecords(seq)
      takeCopy()
      append(...added)
      buildTree(key)
      forge()
      expect(falseOf(verify()).map(({ seqs }) => seqs)).toEqual([[seq, seq]])
      // With the key, a request and a notice can be made up: only a head from elsewhere shows it.
      takeCopy()
      forge()
      append(request, added.find(({ kind }) => kind === 'notice') ?? request)
      buildTree(key)
      expectFalse(verify([readHeadOfOriginal()]), 'two views of the journal')
    })

    it('by a signed notice about a record that follows its request', () => {
      append(request)
      const seq =
        firstSeqOf(segments().at(-1) ?? '') + readSegmentOf(segments().at(-1) ?? '').records.length
      append({ kind: 'receipt', body: { said: 1 } }, noticeOf(1))
      append(noticeOf(seq, otherCommitment))
      buildTree(key)
      changeSegment(-1, (all) =>
        all.map((one) => (one.seq === seq ? { ...one, body: Buffer.from('{"said":2}') } : one)),
      )
      expect(falseOf(verify()).map(({ seqs }) => seqs)).toEqual([[seq, seq]])
    })

    it('by a removal that is not signed', () => {
      const [first = '', second = ''] = segments()
      const firstSeq = firstSeqOf(second)
      rmSync(join(folder(), first))
      const removal = { firstSeq, removedBefore: noon, keepYears: 5, longestKeepYears: 5 }
      append({ kind: 'notice', body: removal })
      const begins = { firstSeq, removedBefore: '2026-11-01T00:00:00Z', notice: 673 }
      writeFileSync(join(folder(), 'begins.json'), JSON.stringify(begins))
      expect(levels()).toEqual([['unchecked', [1, firstSeq - 1]]])
    })
  })

  describe('in a record without its number', () => {
    /** Edits the first one. */
    const edit = (change: (record: StoredRecord) => StoredRecord): number => {
      let seq = 0
      changeSegment(0, (all) =>
        all.map((one) => {
          if (seq > 0 || !one.body.toString().includes('\t#')) return one
          seq = one.seq
          return change(one)
        }),
      )
      return seq
    }

    it.each([
      ['the time', /signed with another time/, { at: noon + 1 }],
      ['the kind', /signed as another kind/, { kind: 'amendment' as const }],
    ])('is found: %s', (_, message, more) => {
      const seq = edit((record) => ({ ...record, ...more }))
      const verification = verify()
      expectFalse(verification, message)
      expect(falseOf(verification)[0]?.seqs).toEqual([seq, seq])
    })
  })

  describe('together with another file', () => {
    const partial = () => {
      const [name = ''] = listFiles(tree()).filter((one) => /^tile\/entries\/\d+\.p\//.test(one))
      return join(tree(), name)
    }
    const compressed = () => join(folder(), segments().find((name) => name.endsWith('.gz')) ?? '')
    const forgeFirst = (path: string) =>
      writeSegment(readSegmentOf(basename(path)), forgeOne(readSegmentOf(basename(path)).records))
    const stranger = () => seededKey(key.name, 'signer', 9)
    const resign = (signer: SigningKey, origin = signer.name) => {
      const { size, root } = openCheckpoint(readHeadOfOriginal(), key)
      return signCheckpoint({ origin, size, root }, signer)
    }
    const signatureOf = (note: string) => note.slice(note.indexOf('\n\n') + 2)

    it.each<readonly [string, () => void]>([
      [
        'a checkpoint with another signature too',
        () => {
          writeFileSync(
            checkpointPath(tree()),
            readHeadOfOriginal() + signatureOf(resign(stranger())),
          )
        },
      ],
      [
        'a tile that goes on',
        () => {
          writeFileSync(partial(), Buffer.concat([readFileSync(partial()), Buffer.alloc(52, 7)]))
        },
      ],
      [
        'a wider tile that nobody needs',
        () => {
          writeFileSync(join(dirname(partial()), '255'), Buffer.alloc(255 * 52, 7))
        },
      ],
      [
        'the compressed form of a segment, forged, beside the plain one',
        () => {
          const path = compressed()
          const before = readFileSync(path)
          const { header, records } = readSegmentOf(basename(path))
          writeSegment({ path, header, records }, records)
          writeFileSync(path, before.fill(7, 100, 200))
        },
      ],
      [
        'a name with white space after it',
        () => {
          writeFileSync(join(folder(), 'origin'), `${key.name} \r\n`)
        },
      ],
    ])('says nothing false: %s', (_, change) => {
      change()
      expect(verify([earlierHead]).findings).toEqual([])
    })

    it.each<readonly [string, () => void, string | RegExp]>([
      [
        'a checkpoint that another key signed, and that key',
        () => {
          writeFileSync(checkpointPath(tree()), resign(stranger()))
          writeFileSync(join(tree(), 'key'), `${formatVerifierKey(stranger())}\n`)
        },
        'has another key than',
      ],
      [
        'a checkpoint of another journal with its name and key',
        () => {
          const other = seededKey('callgate/journal/2026-01-01-00000000', 'signer', 9)
          writeFileSync(checkpointPath(tree()), resign(other))
          writeFileSync(join(tree(), 'key'), `${formatVerifierKey(other)}\n`)
          writeFileSync(join(folder(), 'origin'), `${other.name}\n`)
        },
        /is named callgate\/journal\/2026-01-01/,
      ],
      [
        'a checkpoint with a wrong signature before the right one',
        () => {
          const [text = '', signature = ''] = readHeadOfOriginal().split('\n\n')
          const wrong = signatureOf(earlierHead)
          writeFileSync(checkpointPath(tree()), `${text}\n\n${wrong}${signature}`)
        },
        'is wrong',
      ],
      [
        'a checkpoint with lines that end as in Windows',
        () => {
          writeFileSync(checkpointPath(tree()), readHeadOfOriginal().replaceAll('\n', '\r\n'))
        },
        'control character',
      ],
      [
        'a wider tile in the place of the one that is needed',
        () => {
          rmSync(partial())
          writeFileSync(join(dirname(partial()), '255'), Buffer.alloc(255 * 52, 7))
        },
        /is that of another record|is missing/,
      ],
      [
        'the plain form of a segment, forged, beside the compressed one',
        () => {
          const path = compressed()
          const before = readFileSync(path)
          forgeFirst(path)
          writeFileSync(path, before)
        },
        'its body is not the one that was signed',
      ],
      [
        'a segment within another one',
        () => {
          const { path, header, records } = readSegmentOf(segments()[3] ?? '')
          const seq = firstSeqOf(path) + 4
          const own = Buffer.from(header)
          own.writeBigUInt64BE(BigInt(seq), 8)
          own.writeUInt32BE(crc32(own.subarray(0, 60)), 60)
          const inner = join(folder(), `${String(seq).padStart(20, '0')}.seg`)
          writeFileSync(inner, '')
          writeSegment({ path: inner, header: own, records }, records.slice(4).map(forgeRecord))
        },
        'its body is not the one that was signed',
      ],
      [
        'a tree without its first entries, and a journal that begins later',
        () => {
          const [first = '', second = ''] = segments()
          rmSync(join(folder(), first))
          const removedBefore = '2021-11-01T00:00:00Z'
          const begins = { firstSeq: firstSeqOf(second), removedBefore, notice: 600 }
          writeFileSync(join(folder(), 'begins.json'), JSON.stringify(begins))
          rmSync(join(tree(), 'tile/entries/000'))
        },
        /a tile of 256 entries is missing/,
      ],
    ])('is found: %s', (_, change, message) => {
      change()
      expectFalse(verify(), message)
    })
  })

  it('is not proven with an older checkpoint in the place of the newest', () => {
    writeFileSync(checkpointPath(tree()), earlierHead)
    changeSegment(-1, forgeOne)
    const lateOf = ({ findings }: Verification) =>
      findings.filter(({ message }) => message.includes('not signed, though a checkpoint is'))
    expect(lateOf(verify([], noon + 61_000)).map(({ level }) => level)).toEqual(['unchecked'])
    expect(lateOf(verify([], noon + 60_000))).toEqual([])
    expect(falseOf(verify())).toEqual([])
    expectFalse(verify([readHeadOfOriginal()]), 'was cut off or replaced by an older copy')
    // Or with any later one that is still beside the tree.
    writeFileSync(join(tree(), 'cosigned'), readHeadOfOriginal())
    expectFalse(verify(), 'was cut off or replaced by an older copy')
    rmSync(join(tree(), 'cosigned'))
    mkdirSync(join(tree(), 'timestamps'))
    const sizes = [earlierHead, readHeadOfOriginal()]
    for (const signed of sizes) {
      const name = `${signed.split('\n')[1]}-2026-11-26T12:00:00Z-tsa.example.com.checkpoint`
      writeFileSync(join(tree(), 'timestamps', name), signed)
    }
    expectFalse(verify(), 'was cut off or replaced by an older copy')
  })

  it.each(['null', '7', '{"changed":[7]}', '{"changed":[["1",2]]}', '{"firstSeq":"1"}', '{'])(
    'is found: a notice that says %s',
    (body) => {
      changeSegment(3, forgeOne)
      changeSegment(-1, (all) => {
        const last = all.at(-1)
        if (last === undefined) throw new Error('no record')
        return [...all, { ...last, kind: 'notice', body: Buffer.from(body) }]
      })
      expectFalse(verify(), /record \d+ is no notice/)
    },
  )

  it('is found: a folder that was put back to an earlier copy', () => {
    changeSegment(-1, (all) => all.slice(0, 5))
    buildTree(key)
    expectFalse(verify([readHeadOfOriginal()]), 'was cut off or replaced by an older copy')
  })

  it('is not found, and is said not to be: what follows the newest checkpoint', () => {
    const before = verify().counts
    const last = segments().at(-1) ?? ''
    const { records } = readSegmentOf(last)
    const next = records.at(-1)
    if (next === undefined) throw new Error('no record')
    changeSegment(-1, (all) => [...all, next])
    const { findings, counts } = verify([readHeadOfOriginal()])
    expect(findings).toEqual([])
    expect(counts.unsigned).toBe(before.unsigned + 1)
  })

  it('is found wherever one byte differs, or a file is shorter or gone', {
    timeout: 60_000 + mutations * 200,
  }, () => {
    const random = randomFrom(seed)
    const names = listFiles(folder())
    const before = contentOf(names)
    let [found, harmless] = [0, 0]
    for (let index = 0; index < mutations; index += 1) {
      const name = names[random(names.length)] ?? ''
      const path = join(folder(), name)
      const bytes = readFileSync(path)
      const way = random(8)
      if (way === 0) rmSync(path)
      else if (way === 1) truncateSync(path, random(statSync(path).size))
      else {
        const at = random(bytes.length)
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ (1 + random(255))
        writeFileSync(path, changed)
      }
      const isFound = falseOf(verify()).length > 0
      // Padding, and fields of compressed files that say nothing of what is in them.
      const isSame = existsSync(path) && contentOf([name]) === contentOfOne(before, name)
      writeFileSync(path, bytes)
      if (isFound) found += 1
      else if (isSame) harmless += 1
      else expect.fail(`seed ${seed}, change ${index} of ${name}, way ${way}, was not found`)
    }
    expect(falseOf(verify())).toEqual([])
    console.log(
      `journal: seed ${seed}, ${mutations} changes, ${found} found, ${harmless} without effect`,
    )
    expect(found).toBeGreaterThan(mutations / 2)
  })
})

const readHeadOfOriginal = () =>
  readFileSync(checkpointPath(treeFolder(join(original, 'journal'))), 'utf8')

/** Where a segment has a call that was blocked. */
const placeToEdit = (all: readonly StoredRecord[]) =>
  all.findIndex(({ body }) => /"decision":"block".*"number":"212555/.test(body.toString()))

const forgeOne = (all: readonly StoredRecord[]): readonly StoredRecord[] =>
  all.map((one, i) => (i === placeToEdit(all) ? forgeRecord(one) : one))

function changeSegment(
  index: number,
  change: (records: readonly StoredRecord[]) => readonly StoredRecord[],
): void {
  const content = readSegmentOf(segments().at(index) ?? '')
  writeSegment(content, numbered(change(content.records), firstSeqOf(content.path)))
}

interface AppendedRecord {
  readonly kind: StoredRecord['kind']
  readonly body: object
}

/** Records behind the last one, which nobody has signed. */
function append(...added: readonly AppendedRecord[]): void {
  const { path, records } = readSegmentOf(segments().at(-1) ?? '')
  const last = records.at(-1)
  if (last === undefined) throw new Error('no record')
  const forged = added.map(({ kind, body }, index) => ({
    ...{ ...last, kind, seq: last.seq + 1 + index },
    body: Buffer.from(JSON.stringify(body)),
  }))
  appendRecords(path, forged)
}

function swap(all: readonly StoredRecord[], one: number, other: number) {
  const [a, b] = [all[one], all[other]]
  if (a === undefined || b === undefined) throw new Error('no such records')
  return all.toSpliced(one, 1, b).toSpliced(other, 1, a)
}
const drop = (all: readonly StoredRecord[], index: number) => all.toSpliced(index, 1)
function twice(all: readonly StoredRecord[], index: number) {
  const record = all[index]
  if (record === undefined) throw new Error('no such record')
  return all.toSpliced(index, 0, record)
}
const insert = (all: readonly StoredRecord[], index: number) =>
  twice(all, index).map((one, i) => (i === index ? forgeRecord(one) : one))

/** What a reader gets from each file: of a segment, its records. */
function contentOf(names: readonly string[]): string {
  return JSON.stringify(
    names.map((name) => {
      try {
        const text = readFileSync(join(folder(), name), 'latin1')
        // White space at the end of a name or key is no part of it.
        if (/^(?:origin|tree\/key)$/.test(name)) return [name, text.trimEnd()]
        if (!isSegment(name)) return [name, text]
        const { header, records } = readSegmentOf(name)
        const texts = records.map(({ seq, kind, at, salt, body }) =>
          [seq, kind, at, salt.toString('hex'), body.toString('latin1')].join(' '),
        )
        return [name, header.toString('latin1'), ...texts]
      } catch {
        return [name, 'damaged']
      }
    }),
  )
}

function contentOfOne(all: string, name: string): string {
  return JSON.stringify((JSON.parse(all) as string[][]).filter(([one]) => one === name))
}
