import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Caller, noLimits } from '../../../src/domain/caller.js'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import {
  JournalReader,
  listSegments,
  type PlacedRecord,
} from '../../../src/gate/journal/journal-reader.js'
import { NumberEraser } from '../../../src/gate/journal/removal/erase-records.js'
import { eraseFromSegment } from '../../../src/gate/journal/removal/erase-segment.js'
import { compareIndex } from '../../../src/gate/journal/search/compare-index.js'
import type {
  DecisionFilter,
  SearchPage,
} from '../../../src/gate/journal/search/decision-search.js'
import { IndexSearch } from '../../../src/gate/journal/search/index-search.js'
import { decodeCursor, encodeCursor } from '../../../src/gate/journal/search/search-cursor.js'
import { isSearched } from '../../../src/gate/journal/search/searched-fields.js'
import { segmentWriting } from '../../../src/gate/journal/segment-writer.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { readHead } from '../../../src/gate/record/read-head.js'
import { noon } from '../../support/fake-compliance.js'
import { bodyOf, frameRunOf, sealKey } from '../../support/journal.js'
import { quoted } from '../../support/said.js'

const now = noon + 86_400_000
const origin = Buffer.alloc(32, 7)
const caller: Pick<Caller, 'accountId' | 'keyId' | 'limits'> = {
  accountId: 'main',
  keyId: 'k',
  limits: noLimits,
}

let dataDir: string
let index: DecisionIndex
let search: IndexSearch
let seq: number
let writer: ReturnType<typeof segmentWriting.create>
const folder = () => join(dataDir, 'journal')
const indexPath = () => join(dataDir, 'index.sqlite')

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-search-'))
  mkdirSync(folder())
  index = new DecisionIndex(indexPath(), folder())
  index.claim(origin)
  writer = segmentWriting.create({
    folder: folder(),
    origin,
    key: sealKey,
    maxSegmentBytes: 4_000,
    databaseFiles: [],
  })
  seq = 1
  search = open()
})

afterEach(async () => {
  search.close()
  index.close()
  await writer.close()
  rmSync(dataDir, { recursive: true, force: true })
})

/** However slow the machine is. */
const maxSeconds = 60

const open = (more: object = {}) =>
  new IndexSearch({ dataDir, clock: { now: () => now }, maxSeconds, ...more })

const idAt = (at: number, n = 0) =>
  at.toString(36).padStart(9, '0') + n.toString(16).padStart(20, '0')

/** One each second from noon on. */
function aDecision(n: number, more: Partial<DecisionDocument> = {}): DecisionDocument {
  const at = noon + n * 1_000
  const { decision = 'allow', number = '2125550100', projectId, reference, keyId, ...others } = more
  const { disclosures, says = quoted('a "text" of \\ people'), facts, ...rest } = others
  return {
    id: idAt(at, n),
    decision,
    reason: decision === 'allow' ? 'permitted' : 'internal-dnc',
    number,
    callKind: 'ai',
    decidedAt: formatInstant(at),
    judgedAt: formatInstant(at),
    validUntil: formatInstant(at + 60_000),
    ...(disclosures && { disclosures }),
    whatIf: false,
    degraded: [],
    says,
    findings: [],
    ...(facts && { facts }),
    accountId: 'main',
    ...(keyId !== undefined && { keyId }),
    via: 'http',
    dialed: number,
    ...(projectId !== undefined && { projectId }),
    ...(reference !== undefined && { reference }),
    rules: '0123456789ab',
    recordVersion: 1,
    ...rest,
  }
}

async function write(
  kind: PlacedRecord['kind'],
  contents: readonly (object | DecisionDocument)[],
): Promise<void> {
  const records = contents.map((content) => ({
    seq: seq++,
    kind,
    at: Date.parse((content as DecisionDocument).decidedAt ?? formatInstant(noon)),
    body: Buffer.from('findings' in content ? bodyOf(content) : JSON.stringify(content)),
  }))
  for (const record of records) await writer.handle(frameRunOf([record]))
}

function bringUpToDate(): void {
  const reader = new JournalReader(folder(), index.nextSeq)
  for (let records = reader.read(); records.length > 0; records = reader.read()) index.add(records)
  reader.close()
}

async function record(...documents: readonly DecisionDocument[]): Promise<void> {
  await write('decision', documents)
  bringUpToDate()
}

const find = (filter: DecisionFilter = {}, more: object = {}): Promise<SearchPage> =>
  search.search({ caller, filter, limit: 100, ...more })

const idsOf = ({ decisions }: SearchPage) => decisions.map(({ id }) => id)
/** The numbers that the decisions were made with. */
const numbersOf = (page: SearchPage) => idsOf(page).map((id) => Number.parseInt(id.slice(9), 16))

async function readAll(filter: DecisionFilter, limit: number): Promise<readonly number[]> {
  const all: number[] = []
  for (let before: string | undefined; ; ) {
    const page = await find(filter, { before, limit })
    expect(page.decisions.length).toBeLessThanOrEqual(limit)
    all.push(...numbersOf(page))
    if (page.next === undefined) return all
    before = page.next
  }
}

describe('a search', () => {
  const block = { decision: 'block' } as const
  const varied = () => [
    aDecision(1, { number: '2125550101', reference: 'lead-7', keyId: 'k1' }),
    aDecision(2, { ...block, number: '2125550101', projectId: 'sales', keyId: 'k2' }),
    aDecision(3, { ...block, reason: 'litigator', callKind: 'manual', projectId: 'SALES' }),
    aDecision(4, { ...block, reason: 'no-consent', via: 'predial', campaignId: '12' }),
    aDecision(5, { whatIf: true }),
    aDecision(6, { accountId: 'other', number: '2125550101', reference: 'lead-7' }),
    aDecision(7, { reason: 'service-code', number: '911', callKind: 'manual' }),
    aDecision(8, { ...block, number: '2125550101', reference: 'é"lead', via: 'asterisk' }),
  ]

  const cases: readonly (readonly [DecisionFilter, readonly number[]])[] = [
    [{}, [8, 7, 4, 3, 2, 1]],
    [{ number: '2125550101' }, [8, 2, 1]],
    [{ number: '911' }, [7]],
    [{ number: '2125550999' }, []],
    [{ from: noon + 3_000 }, [8, 7, 4, 3]],
    [{ to: noon + 3_000 }, [2, 1]],
    [{ from: noon + 2_000, to: noon + 4_000 }, [3, 2]],
    [{ from: now }, []],
    [{ decision: 'block' }, [8, 4, 3, 2]],
    [{ decision: 'allow' }, [7, 1]],
    [{ reason: 'litigator' }, [3]],
    [{ reason: 'permitted' }, [1]],
    [{ reason: 'service-code' }, [7]],
    [{ callKind: 'manual' }, [7, 3]],
    [{ projectId: 'SALES' }, [3, 2]],
    [{ projectId: 'main' }, [8, 7, 1]],
    [{ via: 'predial' }, [4]],
    [{ reference: 'lead-7' }, [1]],
    [{ reference: 'é"lead' }, [8]],
    [{ keyId: 'k2' }, [2]],
    [{ number: '2125550101', decision: 'block' }, [8, 2]],
    [{ number: '2125550101', decision: 'block', via: 'asterisk', from: noon }, [8]],
    [{ decision: 'block', reason: 'permitted' }, []],
    [{ decision: 'allow', reason: 'litigator' }, []],
    [{ decision: 'block', to: noon + 4_000, callKind: 'ai' }, [2]],
    [{ reference: 'lead-7', number: '2125550101', keyId: 'k1', projectId: 'main' }, [1]],
    [{ reason: 'internal-dnc', projectId: 'SALES', keyId: 'k1' }, []],
  ]
  it('finds what meets all of its filters, newest first, in one page and in many', async () => {
    await record(...varied())
    for (const [filter, expected] of cases) {
      expect([filter, numbersOf(await find(filter))]).toEqual([filter, expected])
      for (const limit of [1, 2]) {
        expect([filter, limit, await readAll(filter, limit)]).toEqual([filter, limit, expected])
      }
    }
  })

  it('agrees with a look at every decision, whatever is combined', async () => {
    const documents = varied()
    await record(...documents)
    const values = {
      number: ['2125550101', '911'],
      decision: ['allow', 'block'],
      reason: ['permitted', 'internal-dnc', 'litigator'],
      callKind: ['ai'],
      projectId: ['SALES', 'main'],
      via: ['http', 'asterisk'],
      reference: ['lead-7'],
      keyId: ['k1'],
    }
    let filters: DecisionFilter[] = [{}]
    for (const [name, texts] of Object.entries(values)) {
      filters = filters.flatMap((one) => [one, ...texts.map((text) => ({ ...one, [name]: text }))])
    }
    let found = 0
    for (const filter of filters) {
      const expected = documents
        .filter((one) => one.accountId === 'main' && !one.whatIf)
        .filter((one) => isSearched(one, { filter, caller }))
        .map(({ id }) => id)
        .reverse()
      const page = await find(filter)
      found += page.decisions.length
      expect([filter, idsOf(page)]).toEqual([filter, expected])
    }
    expect(found).toBeGreaterThan(100)
  })

  it('gives decisions as they were recorded, with the outcome of the call', async () => {
    const document = aDecision(1)
    await record(document)
    await write('outcome', [
      { id: document.id, own: true, outcome: { state: 'answered', answeredAt: noon } },
    ])
    bringUpToDate()
    const outcome = { state: 'answered', answeredAt: formatInstant(noon) }
    expect((await find()).decisions).toEqual([{ ...document, outcome }])
  })

  it('finds a decision by what it became', async () => {
    await record(aDecision(1, { number: '2125550101' }))
    await write('amendment', [
      aDecision(1, { number: '2125550101', decision: 'block', reason: 'not-recorded' }),
    ])
    bringUpToDate()
    expect(numbersOf(await find({ decision: 'allow' }))).toEqual([])
    expect(numbersOf(await find({ reason: 'not-recorded' }))).toEqual([1])
  })

  it('finds only what the key may use', async () => {
    await record(...varied())
    const limited = (limits: object) => ({
      caller: { ...caller, limits: { ...noLimits, ...limits } },
    })
    const projects = { codes: ['SALES'], campaignIds: [12] }
    expect(numbersOf(await find({}, limited({ projects })))).toEqual([4, 3, 2])
    const callKinds = ['manual']
    expect(numbersOf(await find({}, limited({ callKinds })))).toEqual([7, 3])
    expect(
      numbersOf(await find({ number: '2125550101' }, limited({ projects, callKinds }))),
    ).toEqual([])
    const none = { codes: [], campaignIds: [] }
    expect(numbersOf(await find({}, limited({ projects: none })))).toEqual([])
    const other = { caller: { ...caller, accountId: 'other' } }
    expect(numbersOf(await find({ reference: 'lead-7' }, other))).toEqual([6])
    expect(numbersOf(await find({}, { caller: { ...caller, accountId: '' } }))).toEqual([])
  })

  it('neither skips nor repeats while decisions arrive, also when the clock goes back', async () => {
    const before = [1, 3, 5, 7, 9, 11, 13]
    await record(...before.map((n) => aDecision(n, { decision: 'block' })))
    let arriving = 20
    for (const filter of [{}, { decision: 'block' }, { number: '2125550100' }] as const) {
      const seen: number[] = []
      const newest = arriving
      let next: string | undefined
      do {
        const page = await find(filter, { before: next, limit: 2 })
        seen.push(...numbersOf(page))
        next = page.next
        // A newer one, and an older one.
        const older = { id: idAt(noon - arriving * 1_000, 1_000 + arriving) }
        await record(aDecision(arriving, { decision: 'block' }), aDecision(0, older))
        arriving += 1
      } while (next !== undefined)
      expect(seen.filter((n) => before.includes(n))).toEqual([...before].reverse())
      expect(new Set(seen).size).toBe(seen.length)
      // Those that came after the first page are not in it.
      expect(seen.filter((n) => n >= newest && n < 1_000)).toEqual([])
    }
  })
})

describe('a page', () => {
  it('ends after so many rows, and says how far back it has searched', async () => {
    await record(
      ...Array.from({ length: 10 }, (_, n) => aDecision(n, { keyId: n === 1 ? 'k1' : 'k2' })),
    )
    search.close()
    search = open({ maxRows: 4 })
    const first = await find({ keyId: 'k1' })
    expect([numbersOf(first), first.searchedBackTo]).toEqual([[], noon + 6_000])
    const second = await find({ keyId: 'k1' }, { before: first.next })
    expect([numbersOf(second), second.searchedBackTo]).toEqual([[], noon + 2_000])
    const third = await find({ keyId: 'k1' }, { before: second.next })
    expect([numbersOf(third), third.next, third.searchedBackTo]).toEqual([
      [1],
      undefined,
      undefined,
    ])
  })

  it('ends after so long, with one decision at least', async () => {
    await record(...[1, 2, 3].map((n) => aDecision(n)))
    search.close()
    search = open({ maxSeconds: -1, maxRows: 1_000 })
    expect(await readAll({}, 100)).toEqual([3, 2, 1])
    expect(numbersOf(await find())).toEqual([3])
  })

  it('does not end after the last decision', async () => {
    await record(aDecision(1), aDecision(2))
    expect((await find({}, { limit: 2 })).next).toBeUndefined()
    expect((await find({}, { limit: 1 })).next).toBe(idAt(noon + 2_000, 2))
  })

  it('says from when on decisions may be missing', async () => {
    await record(aDecision(1))
    expect((await find()).completeUntil).toBe(now)
    await write('decision', [aDecision(2)])
    const behind = await find()
    expect([numbersOf(behind), behind.completeUntil]).toEqual([[1], noon + 1_000])
    bringUpToDate()
    expect(await find()).toMatchObject({ completeUntil: now, decisions: [{}, {}] })
    // More than a segment.
    await write(
      'decision',
      Array.from({ length: 12 }, (_, n) => aDecision(3 + n)),
    )
    expect((await find()).completeUntil).toBe(noon + 2_000)
    bringUpToDate()
    expect((await find()).completeUntil).toBe(now)
  })
})

describe('an index', () => {
  it('that is being made again has what was added so far, and says so', async () => {
    await record(...[1, 2, 3].map((n) => aDecision(n)))
    index.close()
    const connection = new Sqlite(indexPath())
    connection.pragma('user_version = 2')
    connection.close()
    await expect(find()).rejects.toThrow(/index\.sqlite is of another version/)
    index = new DecisionIndex(indexPath(), folder())
    await expect(find()).rejects.toMatchObject({ kind: 'not-available' })
    index.claim(origin)
    expect(await find()).toMatchObject({ decisions: [], completeUntil: 0 })
    bringUpToDate()
    expect(await find()).toMatchObject({ decisions: [{}, {}, {}], completeUntil: now })
  })

  it('that only says where records are has the decisions from when it was searched, and no others are searched', async () => {
    writeFileSync(join(folder(), 'origin'), 'callgate.test\n')
    await record(aDecision(1, { reference: 'a' }))
    index.close()
    index = new DecisionIndex(indexPath(), folder(), 'places')
    await record(aDecision(2, { decision: 'block', reference: 'b' }))
    index.close()
    // A command does not know how the server has it.
    index = new DecisionIndex(indexPath(), folder())
    await record(aDecision(3))
    for (const n of [1, 2, 3]) expect(index.find(aDecision(n).id)?.document).toMatchObject({})
    expect(compareIndex(indexPath(), folder())).toMatchObject({ different: [], lastSeq: 3 })
    // A record is proven wherever its place is.
    for (const [at, n] of [1, 2, 3].entries()) {
      expect(search.findRecord(caller.accountId, aDecision(n).id)).toMatchObject({ seq: at + 1 })
    }
    const connection = new Sqlite(indexPath())
    const texts = 'coalesce(number, decision, reason, call_kind, via, project_code, reference)'
    const select = `select id from decisions where ${texts} is not null`
    expect(connection.prepare(select).pluck().all()).toEqual([aDecision(1).id])
    const indexes = "select name from sqlite_schema where type = 'index' and sql is not null"
    expect(connection.prepare(indexes).pluck().all()).toEqual([
      'decisions_by_id',
      'erasures_in_progress',
    ])
    connection.exec(`update decisions set byte_offset = 0 where id = '${aDecision(2).id}'`)
    connection.close()
    expect(compareIndex(indexPath(), folder()).different).toEqual([aDecision(2).id])
    await expect(find()).rejects.toThrow(/index\.sqlite is of another version/)
  })

  it('that only says where records are is made again to be searched', async () => {
    index.close()
    index = new DecisionIndex(indexPath(), folder(), 'places')
    await record(aDecision(1), aDecision(2))
    index.close()
    index = new DecisionIndex(indexPath(), folder(), 'searched')
    index.claim(origin)
    expect(await find()).toMatchObject({ decisions: [], completeUntil: 0 })
    bringUpToDate()
    expect(numbersOf(await find({ number: '2125550100' }))).toEqual([2, 1])
  })

  it('that was deleted while it was open is opened again', async () => {
    await record(aDecision(1))
    expect(numbersOf(await find())).toEqual([1])
    index.close()
    for (const end of ['', '-wal', '-shm']) rmSync(indexPath() + end, { force: true })
    await expect(find()).rejects.toMatchObject({ kind: 'not-available' })
    index = new DecisionIndex(indexPath(), folder())
    index.claim(origin)
    expect(numbersOf(await find())).toEqual([])
    bringUpToDate()
    expect(numbersOf(await find())).toEqual([1])
  })

  it('shows nothing of a row that was forged', async () => {
    await record(aDecision(1), aDecision(2, { accountId: 'other', number: '2125550102' }))
    const connection = new Sqlite(indexPath())
    connection.exec("update decisions set number = '2125550199' where account_id = 'main'")
    connection.exec("update decisions set account_id = 'main' where account_id = 'other'")
    connection.close()
    expect(numbersOf(await find({ number: '2125550199' }))).toEqual([])
    expect(numbersOf(await find())).toEqual([1])
  })

  it('says where a record is damaged', async () => {
    await record(aDecision(1), aDecision(2))
    const connection = new Sqlite(indexPath())
    connection.exec('update decisions set byte_offset = byte_offset + 8')
    connection.close()
    await expect(find()).rejects.toThrow(/\.seg: there is no record at byte \d+/)
  })

  it('has no removed decisions, and says since when', async () => {
    await record(...Array.from({ length: 12 }, (_, n) => aDecision(n)))
    const [oldest = 0, next = 0] = listSegments(folder()).map(({ firstSeq }) => firstSeq)
    rmSync(join(folder(), `${String(oldest).padStart(20, '0')}.seg`))
    const left = numbersOf(await find())
    expect(left).toEqual(Array.from({ length: 13 - next }, (_, n) => 11 - n))
    index.setBeginning({ firstSeq: next, removedBefore: noon })
    index.remove(
      Array.from({ length: 12 }, (_, n) => aDecision(n).id),
      next,
    )
    const page = await find()
    expect([numbersOf(page), page.removedBefore]).toEqual([left, noon])
  })
})

describe('an erased number', () => {
  const number = '3035550123'
  const erase = () => {
    const eraser = new NumberEraser({ number, accountId: undefined, includesAllowed: true })
    for (const segment of listSegments(folder())) {
      eraseFromSegment({ ...segment, endSeq: seq }, eraser, (_, left) => left && index.erase(left))
    }
    index.flush()
  }

  it('is not found, and its decision is, as it is without it', async () => {
    await record(
      aDecision(1, { number, reference: 'secret-lead' }),
      aDecision(2, { reference: `call of ${number}` }),
      aDecision(3),
    )
    expect(numbersOf(await find({ number }))).toEqual([1])
    erase()
    expect(numbersOf(await find({ number }))).toEqual([])
    expect(numbersOf(await find({ reference: 'secret-lead' }))).toEqual([])
    const [, second, first] = (await find()).decisions
    expect(first).toMatchObject({ number: '', erased: true })
    expect(second?.reference).toBe('call of xxxxxxxxxx')
    expect(numbersOf(await find({ reference: second?.reference }))).toEqual([2])
  })

  it('is not found where the row still has it', async () => {
    await record(aDecision(1, { number }))
    erase()
    const connection = new Sqlite(indexPath())
    connection.exec(`update decisions set number = '${number}'`)
    connection.close()
    expect(numbersOf(await find({ number }))).toEqual([])
  })

  it('is in no file of the index anymore', async () => {
    await record(
      ...Array.from({ length: 300 }, (_, n) =>
        aDecision(n, { number, reference: `${number}-${n}` }),
      ),
    )
    const files = () => [indexPath(), `${indexPath()}-wal`].filter((path) => existsSync(path))
    const hasNumber = () => files().some((path) => readFileSync(path).includes(number))
    expect(hasNumber()).toBe(true)
    erase()
    expect(hasNumber()).toBe(false)
  })
})

describe('a cursor', () => {
  const request = { caller, filter: { number: '2125550101', from: noon } }

  it('goes on where a page has ended', () => {
    const next = idAt(noon, 1)
    const cursor = encodeCursor(next, request)
    expect(decodeCursor(cursor, request)).toBe(next)
    const same = { caller, filter: { from: noon, number: '2125550101', reason: undefined } }
    expect(decodeCursor(cursor, same)).toBe(next)
  })

  it('of another search is refused, and so is what is none', () => {
    const cursor = encodeCursor(idAt(noon, 1), request)
    for (const filter of [{}, { number: '2125550101' }, { ...request.filter, reason: 'x' }]) {
      expect(() => decodeCursor(cursor, { caller, filter })).toThrow(
        `cursor '${cursor}': is of a search with other filters; leave it out to begin anew`,
      )
    }
    const other = { ...request, caller: { ...caller, accountId: 'other' } }
    expect(() => decodeCursor(cursor, other)).toThrow('other filters')
    for (const none of ['', 'x', cursor.slice(0, 12), `${cursor}€`.slice(3), 'é'.repeat(90)]) {
      expect(() => decodeCursor(none, request)).toThrow(
        /must be the nextCursor of a page|other filters/,
      )
    }
  })
})

describe('the fields of a row', () => {
  const pick = (document: DecisionDocument) => {
    const { id, accountId, whatIf, number, decision, reason, callKind, via } = document
    const { projectId, campaignId, keyId, reference } = document
    const required = { id, accountId, whatIf, number, decision, reason, callKind, via }
    return { ...required, projectId, campaignId, keyId, reference }
  }
  const hostile =
    '","number":"9","via":"x","reference":"y","accountId":"z","projectId":"P","whatIf":true'
  const documents = [
    aDecision(1),
    aDecision(2, {
      keyId: 'k1',
      projectId: 'P1',
      campaignId: '7',
      reference: 'lead 7',
      dial: '2125550100',
    }),
    aDecision(3, { says: quoted(hostile), reference: hostile, keyId: hostile }),
    aDecision(4, { reference: 'é', projectId: 'ſ', number: '' }),
    aDecision(5, {
      mandate: { version: 3, counted: 2 } as unknown as DecisionDocument['mandate'],
      channel: { server: 'pbx', id: hostile },
      trunk: '"',
      personId: hostile,
    }),
    aDecision(6, {
      findings: [
        {
          check: 'c',
          verdict: 'pass',
          reason: 'r',
          says: quoted(hostile),
          source: 's',
          ageMs: 1,
        },
      ],
      facts: { accountId: 'z', via: 'x', number: 9 } as DecisionDocument['facts'],
    }),
  ]

  /** Longer than the parts that are looked at first, and as long as they are. */
  const longOnes = [...Array.from({ length: 40 }, (_, n) => 60 + n * 12), 5_000].flatMap((size) => [
    aDecision(7, {
      disclosures: [{ key: 'identity', rules: ['m'.repeat(size)] }],
      projectId: 'P1',
    }),
    aDecision(8, { subject: 's'.repeat(size), accountId: 'other', reference: 'r' }),
    aDecision(9, { subject: `${'"'.repeat(size)},"accountId":"x","via":"y"`, keyId: 'k' }),
  ])

  it('are those of the decision, whatever its texts hold', () => {
    for (const document of [...documents, ...longOnes]) {
      const head = readHead(Buffer.from(bodyOf(document)))
      expect(pick(head as DecisionDocument)).toEqual(pick(document))
    }
  })
})
