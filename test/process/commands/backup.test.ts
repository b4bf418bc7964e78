/** A backup that is made under load brings back everything that was acknowledged before it began. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { killChildren } from '../../../scripts/children.mjs'
import type { BackupManifest } from '../../../src/commands/backup/manifest.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { damageByte, recordsIn } from '../../support/journal.js'
import { shortOrLong } from '../../support/long.js'
import { callgate, type FirstKeys, type Serving, serve } from '../../support/program.js'

const clients = 6
/** Of opt-outs, and as many decisions on each side of the backup. */
const enough = shortOrLong(60, 600)

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'callgate-backup-'))
  acknowledged.optOuts.length = 0
  acknowledged.decisions.length = 0
})

afterEach(() => {
  // After a failure, its clients would go on in the next attempt.
  killChildren()
  rmSync(root, { recursive: true, force: true })
})

const environmentFor = (dataDir: string) => ({
  CALLGATE_DATA_DIR: dataDir,
  // What is tested is what is stored; how long a slow machine takes to decide is no matter here.
  CALLGATE_GATE_DEADLINE_MS: '10000',
})

const acknowledged = {
  /** Numbers. */
  optOuts: [] as string[],
  /** Ids of decisions on a number that had been opted out. */
  decisions: [] as string[],
}

async function request(url: string, loginId: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    headers: { loginId, 'content-type': 'application/json', connection: 'close' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return await response.text()
}

let lastLine = 0

/** Opts a number out, and then asks whether it may be called, until the server is gone. */
async function useUntilGone({ url, keys }: Serving): Promise<void> {
  for (;;) {
    lastLine += 1
    const number = String(2_125_560_000 + lastLine)
    await request(url, keys.main, `/app/main/rpc/pdnc?phoneList=${number}&actionType=add`)
    acknowledged.optOuts.push(number)
    const call = { number, callKind: 'manual' }
    const answer = await request(url, keys.main, '/v1/decisions', call)
    acknowledged.decisions.push((JSON.parse(answer) as DecisionDocument).id)
  }
}

const grown = (counts: { optOuts: number; decisions: number }) =>
  expect
    .poll(
      () =>
        Math.min(
          acknowledged.optOuts.length - counts.optOuts,
          acknowledged.decisions.length - counts.decisions,
        ),
      { interval: 5, timeout: 120_000 },
    )
    .toBeGreaterThan(enough)

const countAcknowledged = () => ({
  optOuts: acknowledged.optOuts.length,
  decisions: acknowledged.decisions.length,
})

/** Number -> that of the change that stored its opt-out. */
function readOptOuts(dataDir: string): ReadonlyMap<string, number> {
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { readonly: true })
  const rows = database
    .prepare<[], { number: string; seq: number }>(
      "select number, opted_out_seq as seq from internal_dnc where account_id = 'main'",
    )
    .all()
  database.close()
  return new Map(rows.map(({ number, seq }) => [number, seq]))
}

/** Id -> its document and the number of its record. */
function readDecisions(dataDir: string) {
  const decisions = new Map<string, { readonly document: DecisionDocument; readonly seq: number }>()
  for (const { kind, seq, body } of recordsIn(dataDir)) {
    if (kind !== 'decision') continue
    const document = readRecord('decision', { body })
    decisions.set(document.id, { document, seq })
  }
  return decisions
}

const isMissingIn = (known: { has(key: string): boolean }) => (key: string) => !known.has(key)

it('loses what was stored after the backup began, exactly, and nothing else', async () => {
  const dataDir = join(root, 'var')
  const first = await serve(environmentFor(dataDir))
  const keys: FirstKeys = first.keys
  const clientsDone = Promise.allSettled(Array.from({ length: clients }, () => useUntilGone(first)))
  await grown({ optOuts: 0, decisions: 0 })

  const before = countAcknowledged()
  const backup = join(root, 'backup')
  const made = await callgate(['backup', backup], environmentFor(dataDir))
  expect(made).toMatchObject({ code: 0, err: '' })
  const after = countAcknowledged()
  await expect
    .poll(() => request(first.url, keys.main, '/metrics'))
    .toMatch(/^callgate_backup_last_success_timestamp_seconds \d/m)
  await grown(after)
  expect(await first.end('SIGKILL')).toBe('SIGKILL')
  await clientsDone
  const original = { optOuts: readOptOuts(dataDir), decisions: readDecisions(dataDir) }
  const readRules = (version = '') => readFileSync(join(dataDir, `journal/rules/${version}.json`))
  const [version] = [...original.decisions.values()].map(({ document }) => document.rules)
  const rules = readRules(version)
  const counted = await callgate(['backup', 'loss', backup], environmentFor(dataDir))
  for (const ending of ['-wal', '-shm']) rmSync(join(dataDir, `callgate.sqlite${ending}`))
  damageByte(join(dataDir, 'callgate.sqlite'), 0)
  const countedByJournal = await callgate(['backup', 'loss', backup], environmentFor(dataDir))
  rmSync(dataDir, { recursive: true })

  expect(await callgate(['backup', 'verify', backup], {})).toMatchObject({ code: 0, err: '' })
  expect(await callgate(['restore', backup], environmentFor(dataDir))).toMatchObject({ code: 0 })
  const second = await serve(environmentFor(dataDir))
  const isIndexed = async (id: string) => {
    const headers = { loginId: keys.main, connection: 'close' }
    return (await fetch(`${second.url}/v1/decisions/${id}`, { headers })).status === 200
  }
  const optOuts = readOptOuts(dataDir)
  const decisions = readDecisions(dataDir)
  expect(acknowledged.optOuts.slice(0, before.optOuts).filter(isMissingIn(optOuts))).toEqual([])
  expect(acknowledged.decisions.slice(0, before.decisions).filter(isMissingIn(decisions))).toEqual(
    [],
  )

  // What its decisions were judged by is there too.
  expect(readRules(version).equals(rules)).toBe(true)
  expect(new Set([...decisions.values()].map(({ document }) => document.rules))).toEqual(
    new Set([version]),
  )

  // The cut of each part is in the manifest: before it everything is there, and nothing behind it.
  const text = readFileSync(join(backup, 'manifest.json'), 'utf8')
  const manifest = JSON.parse(text) as BackupManifest
  const lostOptOuts = [...original.optOuts].filter(([, seq]) => seq > manifest.database.changeSeq)
  const lostDecisions = [...original.decisions].filter(
    ([, { seq }]) => seq > manifest.journal.lastSeq,
  )
  expect([...original.optOuts.keys()].filter(isMissingIn(optOuts))).toEqual(
    lostOptOuts.map(([number]) => number),
  )
  expect([...original.decisions.keys()].filter(isMissingIn(decisions))).toEqual(
    lostDecisions.map(([id]) => id),
  )
  const counts =
    `  ${lostOptOuts.length} opt-outs\n  0 consents and relationships\n  ${lostDecisions.length} decisions\n` +
    '  0 other changes\n'
  expect(counted).toMatchObject({ code: 0, out: expect.stringMatching(`since:\n${counts}$`) })
  // The journal may lack changes that the database has but that were not acknowledged.
  const recordedOptOuts = Number(/(\d+) opt-outs/.exec(countedByJournal.out)?.[1])
  expect(recordedOptOuts).toBeGreaterThanOrEqual(lostOptOuts.length - clients)
  expect(countedByJournal).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /There may be more: the database cannot be read: file is not a database\n$/,
    ),
  })
  expect(lostOptOuts.length).toBeGreaterThan(enough)
  expect(lostDecisions.length).toBeGreaterThan(enough)
  // What was acknowledged once the backup had ended cannot be in it.
  expect(
    acknowledged.optOuts.slice(after.optOuts + clients).filter((number) => optOuts.has(number)),
  ).toEqual([])

  // No decision rests on an opt-out that the database does not have.
  const rests = [...decisions.values()].filter(({ document }) =>
    document.findings.some(({ check, verdict }) => check === 'internal-dnc' && verdict === 'deny'),
  )
  expect(rests.length).toBeGreaterThanOrEqual(before.decisions)
  expect(rests.map(({ document }) => String(document.number)).filter(isMissingIn(optOuts))).toEqual(
    [],
  )

  const [newest] = acknowledged.decisions.slice(before.decisions - 1)
  await expect.poll(() => isIndexed(newest ?? '')).toBe(true)
  for (const id of acknowledged.decisions.slice(0, before.decisions))
    expect(await isIndexed(id)).toBe(true)
  expect(await isIndexed(acknowledged.decisions.at(-1) ?? '')).toBe(false)
  expect(await second.end('SIGTERM')).toBe(0)
  process.stdout.write(
    `backup: ${before.optOuts} opt-outs and ${before.decisions} decisions were acknowledged before it; all are back. ` +
      `Lost: ${lostOptOuts.length} opt-outs and ${lostDecisions.length} decisions after it\n`,
  )
}, 300_000)
