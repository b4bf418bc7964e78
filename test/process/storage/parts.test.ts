/** Data folder, database and journal belong together: what starts without a question, and what keeps a server shut. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { damageByte, recordsIn } from '../../support/journal.js'
import { callgate, type Serving, serve } from '../../support/program.js'

const root = mkdtempSync(join(tmpdir(), 'callgate-parts-'))
const numbers = Array.from(
  { length: 20 },
  (_, index) => `21255501${String(index).padStart(2, '0')}`,
)
const last = numbers.at(-1) ?? ''
let keys: Serving['keys']
/** As a server left it that was killed: `early` before the last opt-outs. */
const early = join(root, 'early')
const late = join(root, 'late')
let count = 0
let serving: Serving | undefined

const settingsOf = (dataDir: string) => ({
  CALLGATE_DATA_DIR: dataDir,
  CALLGATE_GATE_DEADLINE_MS: '5000',
})

const post = async (path: string, body: object) => {
  const response = await fetch(`${serving?.url}${path}`, {
    method: 'POST',
    headers: { loginId: keys.main, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const optOut = async (number: string) =>
  expect((await post('/v1/opt-outs', { number })).status).toBeLessThan(300)
const decide = async (number: string) =>
  (await post('/v1/decisions', { number, callKind: 'manual' })).body

const readReadiness = async () => {
  const response = await fetch(`${serving?.url}/readyz`)
  const { checks } = (await response.json()) as {
    checks: { name: string; ready: boolean; detail?: string }[]
  }
  return { status: response.status, parts: checks.find(({ name }) => name === 'parts') }
}

async function untilPositionIsKnown(dataDir: string): Promise<void> {
  await until('the database knows the journal', async () => {
    const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { readonly: true })
    const known = database.prepare('select seq from journal_positions').pluck().get()
    database.close()
    return Number(known) > 0
  })
}

beforeAll(async () => {
  const dataDir = join(root, 'first')
  serving = await serve(settingsOf(dataDir))
  keys = serving.keys
  await optOut(numbers[0] ?? '')
  await decide('2125550150')
  await untilPositionIsKnown(dataDir)
  await serving.end('SIGTERM')
  copyFolder(dataDir, early)
  serving = await serve(settingsOf(dataDir))
  for (const number of numbers.slice(1, -2)) await optOut(number)
  const phoneList = numbers.slice(-2).join(',')
  expect((await post('/app/main/rpc/pdnc', { phoneList, actionType: 'add' })).status).toBe(200)
  await serving.end('SIGKILL')
  copyFolder(dataDir, late)
  serving = undefined
}, 120_000)

afterAll(async () => {
  await serving?.end('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

/** Without what a killed server listened on. */
const copyFolder = (from: string, to: string) =>
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.sock') })

const clone = (from: string): string => {
  count += 1
  const dataDir = join(root, `case-${count}`)
  copyFolder(from, dataDir)
  return dataDir
}

/** Starts over a folder, expects that no question is asked, and that all opt-outs are in force. */
async function expectOpen(dataDir: string, inForce = numbers): Promise<void> {
  serving = await serve(settingsOf(dataDir))
  expect((await readReadiness()).parts).toEqual({ name: 'parts', ready: true })
  for (const number of [inForce[0] ?? '', inForce.at(-1) ?? '']) {
    expect(await decide(number)).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  }
  await optOut('2125550190')
  expect(await serving.end('SIGTERM')).toBe(0)
  serving = undefined
}

/** Starts, is shut, changes nothing, is accepted, and has all opt-outs in force then. */
async function expectShut(dataDir: string, why: RegExp, inForce = numbers): Promise<void> {
  const before = recordsIn(dataDir).length
  serving = await serve(settingsOf(dataDir))
  const { status, parts } = await readReadiness()
  expect({ status, ready: parts?.ready }).toEqual({ status: 503, ready: false })
  expect(parts?.detail).toMatch(why)
  expect(parts?.detail).toContain('callgate storage accept --because')
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200)
  for (const number of [...inForce, '2125550150']) {
    const decision = await post('/v1/decisions', { number, callKind: 'manual' })
    if (decision.status === 401) continue
    expect(decision.body).toMatchObject({ decision: 'block', reason: 'not-recorded' })
    expect(decision.body.message).toContain('this server is shut')
  }
  expect((await post('/v1/opt-outs', { number: '2125550191' })).status).not.toBe(200)
  expect(recordsIn(dataDir)).toHaveLength(before)
  await expectAccepted(dataDir, inForce)
}

async function expectAccepted(dataDir: string, inForce: readonly string[]): Promise<void> {
  const because = ['--because', 'the right part is lost']
  const accepted = await callgate(['storage', 'accept', ...because], settingsOf(dataDir))
  expect(accepted).toMatchObject({ code: 0 })
  await until('the server is open', async () => (await readReadiness()).parts?.ready)
  for (const number of inForce) {
    expect(await decide(number)).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  }
  const actions = recordsIn(dataDir)
    .filter(({ kind }) => kind === 'audit')
    .map(({ body }) => JSON.parse(body).action)
  expect(actions).toContain('storage.accepted')
  await untilPositionIsKnown(dataDir)
  await serving?.end('SIGTERM')
  // Accepted once and for all.
  serving = await serve(settingsOf(dataDir))
  expect((await readReadiness()).parts).toEqual({ name: 'parts', ready: true })
  await serving.end('SIGTERM')
  serving = undefined
}

const removeDatabase = (dataDir: string) => {
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(join(dataDir, `callgate.sqlite${suffix}`), { force: true })
}
const moveDatabase = (from: string, to: string) => {
  removeDatabase(to)
  for (const suffix of ['', '-wal', '-shm']) {
    const path = join(from, `callgate.sqlite${suffix}`)
    if (existsSync(path)) cpSync(path, join(to, `callgate.sqlite${suffix}`))
  }
}
const removeJournal = (dataDir: string) => {
  for (const name of ['journal', 'journal.key']) rmSync(join(dataDir, name), { recursive: true })
}
const removeIndex = (dataDir: string) => {
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(join(dataDir, `index.sqlite${suffix}`), { force: true })
}
const segmentsOf = (dataDir: string) =>
  readdirSync(join(dataDir, 'journal'))
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => join(dataDir, 'journal', name))

it('has an opt-out in the journal when it is acknowledged', () => {
  const inJournal = recordsIn(late)
    .filter(({ kind }) => kind === 'audit')
    .map(({ body }) => JSON.parse(body).subject.id)
  for (const number of numbers) expect(inJournal).toContain(number)
})

it('starts after a kill', () => expectOpen(clone(late)))

it('starts after kills while it writes', async () => {
  const dataDir = clone(late)
  for (let round = 0; round < 3; round += 1) {
    serving = await serve(settingsOf(dataDir))
    expect((await readReadiness()).parts).toEqual({ name: 'parts', ready: true })
    const asked = Array.from({ length: 20 }, (_, index) =>
      post('/v1/opt-outs', { number: `21255502${String(index).padStart(2, '0')}` }),
    )
    await Promise.race(asked)
    await serving.end('SIGKILL')
    await Promise.allSettled(asked)
  }
  await expectOpen(dataDir)
}, 60_000)

it('starts after a power cut in the middle of a record', async () => {
  const dataDir = clone(late)
  const segment = segmentsOf(dataDir).at(-1) ?? ''
  // What is not flushed may be there in part, and nobody was told of it.
  truncateSync(segment, statSync(segment).size + 40)
  removeIndex(dataDir)
  await expectOpen(dataDir)
})

it('starts when the journal is behind the audit table, as after a power cut between both flushes', async () => {
  const dataDir = clone(late)
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database.exec(`update change_head set audit_seq = audit_seq + 1;
    insert into audit select audit_seq, at, account_id, who, door, action, subject_kind, '2125550199', before, after, reason, 'm'
      from audit, change_head where audit.seq = audit_seq - 1`)
  database.close()
  await expectOpen(dataDir)
  expect(recordsIn(dataDir).some(({ body }) => body.includes('2125550199'))).toBe(true)
})

it('starts after retention has removed all rows of the audit table', async () => {
  const dataDir = clone(late)
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database.exec(
    'update change_head set audit_open = 1; delete from audit; update change_head set audit_open = 0',
  )
  database.close()
  await expectOpen(dataDir)
})

it('starts in a folder that was moved', async () => {
  const dataDir = clone(late)
  const moved = `${dataDir}-moved`
  renameSync(dataDir, moved)
  await expectOpen(moved)
})

it('starts with a journal on a disk of its own', async () => {
  const dataDir = clone(late)
  const disk = join(root, `disk-${count}`)
  renameSync(join(dataDir, 'journal'), disk)
  symlinkSync(disk, join(dataDir, 'journal'))
  await expectOpen(dataDir)
})

it('starts without its index, without its tiles, and without its lists', async () => {
  const dataDir = clone(late)
  removeIndex(dataDir)
  mkdirSync(join(dataDir, 'lists'), { recursive: true })
  rmSync(join(dataDir, 'lists'), { recursive: true })
  await expectOpen(dataDir)
  rmSync(join(dataDir, 'journal', 'tree', 'tile'), { recursive: true })
  await expectOpen(dataDir)
})

it('starts from a backup, in its place and elsewhere, also while the server runs on', async () => {
  const dataDir = clone(late)
  serving = await serve(settingsOf(dataDir))
  const backup = join(root, `backup-${count}`)
  expect(await callgate(['backup', backup], settingsOf(dataDir))).toMatchObject({ code: 0 })
  await optOut('2125550192')
  await serving.end('SIGKILL')
  const elsewhere = join(root, `elsewhere-${count}`)
  expect(await callgate(['restore', backup], settingsOf(elsewhere))).toMatchObject({ code: 0 })
  await expectOpen(elsewhere)
  rmSync(dataDir, { recursive: true })
  expect(await callgate(['restore', backup], settingsOf(dataDir))).toMatchObject({ code: 0 })
  await expectOpen(dataDir)
}, 60_000)

it('knows in a backup the end of the journal that is in it', async () => {
  const backup = join(root, 'backup-position')
  const dataDir = clone(late)
  expect(await callgate(['backup', backup], settingsOf(dataDir))).toMatchObject({ code: 0 })
  const database = new Sqlite(join(backup, 'callgate.sqlite'), { readonly: true })
  const known = database.prepare('select seq from journal_positions').pluck().all()
  database.close()
  expect(known).toEqual([recordsIn(backup).length])
})

it('is shut without the log of the database, whose opt-outs are lost', async () => {
  const dataDir = clone(late)
  rmSync(join(dataDir, 'callgate.sqlite-wal'))
  rmSync(join(dataDir, 'callgate.sqlite-shm'), { force: true })
  await expectShut(
    dataDir,
    /the journal has row \d+ of the audit table, but the database ends with row \d+/,
  )
}, 60_000)

it('is shut with an older database', async () => {
  const dataDir = clone(late)
  moveDatabase(early, dataDir)
  await expectShut(
    dataDir,
    /the journal has row \d+ of the audit table, but the database ends with row \d+/,
  )
  expect(last).not.toBe('')
}, 60_000)

it('is shut with an older journal', async () => {
  const dataDir = clone(late)
  removeJournal(dataDir)
  removeIndex(dataDir)
  for (const name of ['journal', 'journal.key', 'index.sqlite'])
    cpSync(join(early, name), join(dataDir, name), { recursive: true })
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database.exec('update journal_positions set seq = seq + 1000')
  database.close()
  await expectShut(dataDir, /the journal ends with record \d+, but the database knows record \d+/)
}, 60_000)

it('is shut with another record at the place that the database knows', async () => {
  const dataDir = clone(late)
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database.exec("update journal_positions set leaf = replace(leaf, '0', '1')")
  database.close()
  await expectShut(dataDir, /record \d+ of the journal is not the one that the database knows/)
}, 60_000)

it('is shut with the journal of another folder', async () => {
  const other = join(root, 'other')
  serving = await serve(settingsOf(other))
  await untilPositionIsKnown(other)
  await serving.end('SIGTERM')
  for (const withIndex of [false, true]) {
    const dataDir = clone(late)
    removeJournal(dataDir)
    if (withIndex) removeIndex(dataDir)
    for (const name of ['journal', 'journal.key', ...(withIndex ? ['index.sqlite'] : [])])
      cpSync(join(other, name), join(dataDir, name), { recursive: true })
    await expectShut(dataDir, /the journal is of installation \w+, not \w+/)
  }
}, 90_000)

it('is shut without journal and key', async () => {
  const dataDir = clone(late)
  removeJournal(dataDir)
  removeIndex(dataDir)
  await expectShut(dataDir, /the database knows record \d+ of journal \w+, but there is none/)
}, 60_000)

it('does not start with a damaged journal, and writes nothing then', async () => {
  const dataDir = clone(late)
  removeIndex(dataDir)
  const [segment = ''] = segmentsOf(dataDir).slice(-1)
  damageByte(segment, 150)
  const listJournal = () => readdirSync(join(dataDir, 'journal'), { recursive: true }).sort()
  const before = listJournal()
  await expect(serve(settingsOf(dataDir))).rejects.toThrow(/the journal is damaged: record \d+/)
  expect(listJournal()).toEqual(before)
})

it('is shut with the database of another folder', async () => {
  const dataDir = clone(late)
  moveDatabase(join(root, 'other'), dataDir)
  serving = await serve(settingsOf(dataDir))
  const { status, parts } = await readReadiness()
  expect(status).toBe(503)
  expect(parts?.detail).toMatch(/the data folder is of installation \w+, not \w+/)
  await serving.end('SIGTERM')
  serving = undefined
}, 60_000)
