/**
 * Promise P5, searched at random: files of the database and of lists are removed, replaced, cut off,
 * locked and filled under a running server while it is asked. What was acknowledged is in the
 * database that a restart opens, and while readiness is green a call that should be allowed is.
 *
 * `CALLGATE_FAULT_RUNS` makes it longer, `CALLGATE_FAULT_SEED` begins elsewhere.
 */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { listDataReadinessChecks, refreshData } from '../../../src/commands/serve/data-watch.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { DataFileError } from '../../../src/errors.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const runs = Number(process.env.CALLGATE_FAULT_RUNS ?? 8)
const firstSeed = Number(process.env.CALLGATE_FAULT_SEED ?? 20_261_123)
const stepsOfRun = 25

/** Mulberry32: small, and the same everywhere. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

interface Acknowledged {
  readonly kind: 'allow' | 'opt-out' | 'consent'
  /** Id of a decision, or a number. */
  readonly what: string
}

const tally = { steps: 0, acknowledged: 0, refused: 0, green: 0, red: 0, reopened: 0, lost: 0 }

class Run {
  readonly #random: (below: number) => number
  readonly #dataDir: string
  #running: TestCallgate
  #elsewhere: Sqlite.Database | undefined
  /** Must be found after a restart. */
  #acknowledged: Acknowledged[] = []
  /** The file that the server writes is not the one a restart opens. */
  #isLost = false
  #isAway = false
  readonly #trail: string[] = []

  constructor(running: TestCallgate, random: (below: number) => number) {
    this.#running = running
    this.#dataDir = running.dataDir
    this.#random = random
  }

  async go(): Promise<void> {
    await this.#importLists()
    for (let step = 0; step < stepsOfRun; step += 1) {
      tally.steps += 1
      if (this.#random(4) === 0) await this.#fault()
      else await this.#ask()
    }
    this.#putBack()
    this.#elsewhere?.close()
    await this.#restart()
  }

  get trail(): string {
    return this.#trail.join(' ')
  }

  async #importLists(): Promise<void> {
    const file = join(this.#dataDir, 'numbers.txt')
    writeFileSync(file, '2127360001\n')
    const { settings, runtime } = this.#running.callgate
    for (const name of ['us-dnc', 'litigators']) {
      const made = { name, files: [file], folder: getListsFolder(settings), asOf: mondayNoon }
      await importList({ ...made, areaCodes: 'all', clock: runtime.clock })
    }
    await refreshData(this.#running.callgate)
  }

  #path(ending = ''): string {
    return join(this.#dataDir, `callgate.sqlite${ending}`)
  }

  #putBack(): void {
    if (this.#isAway) renameSync(`${this.#dataDir}-away`, this.#dataDir)
    this.#isAway = false
  }

  #pragma(text: string): Promise<unknown> {
    return this.#running.callgate.storage.db
      .executeQuery(CompiledQuery.raw(`pragma ${text}`))
      .catch(() => undefined)
  }

  /** What was acknowledged before is lost with the file, and nothing may be from now on. */
  #lose(): void {
    this.#acknowledged = []
    this.#isLost = true
  }

  async #fault(): Promise<void> {
    const faults: Readonly<Record<string, () => unknown>> = {
      lock: () => {
        if (this.#isLost || this.#isAway) return
        this.#elsewhere ??= new Sqlite(this.#path(), { fileMustExist: true })
        if (this.#elsewhere.inTransaction) this.#elsewhere.exec('rollback')
        else this.#elsewhere.exec('begin immediate')
      },
      unlock: () => this.#elsewhere?.inTransaction && this.#elsewhere.exec('rollback'),
      readOnly: () => this.#pragma('query_only = on'),
      writable: () => this.#pragma('query_only = off'),
      full: () => this.#pragma('max_page_count = 1'),
      roomy: () => this.#pragma('max_page_count = 1000000'),
      away: () => {
        if (!this.#isAway) renameSync(this.#dataDir, `${this.#dataDir}-away`)
        this.#isAway = true
      },
      back: () => this.#putBack(),
      removeList: () => this.#onList((path) => rmSync(path, { force: true })),
      cutList: () =>
        this.#onList((path) => truncateSync(path, Math.floor(statSync(path).size / 2))),
      importLists: () => (this.#isAway ? undefined : this.#importLists()),
      removeIndex: () => this.#onFile(() => rmSync(this.#path('-shm'))),
      remove: () => this.#onFile(() => this.#removeFiles()),
      removeLog: () => this.#onFile(() => rmSync(this.#path('-wal'))),
      empty: () => this.#onFile(() => truncateSync(this.#path(), 0)),
      replace: () =>
        this.#onFile(() => {
          copyFileSync(this.#path(), `${this.#path()}.copy`)
          renameSync(`${this.#path()}.copy`, this.#path())
        }),
    }
    const names = Object.keys(faults)
    // What cannot be undone comes seldom, or nothing else would be tried.
    const reversible = names.indexOf('removeIndex')
    const name = names[this.#random(this.#random(3) === 0 ? names.length : reversible)] ?? ''
    this.#trail.push(name)
    await faults[name]?.()
  }

  #onFile(change: () => void): void {
    if (this.#isAway || this.#isLost) return
    change()
    this.#lose()
  }

  #removeFiles(): void {
    for (const ending of ['', '-wal', '-shm']) rmSync(this.#path(ending), { force: true })
  }

  #onList(change: (path: string) => void): Promise<void> | undefined {
    if (this.#isAway) return undefined
    const name = this.#random(2) === 0 ? 'us-dnc' : 'litigators'
    const path = join(getListsFolder(this.#running.callgate.settings), `${name}.cglist`)
    if (!existsSync(path)) return undefined
    // A list is never written in place: another file is put there.
    const aside = `${path}.changed`
    copyFileSync(path, aside)
    rmSync(path)
    change(aside)
    if (existsSync(aside)) renameSync(aside, path)
    return refreshData(this.#running.callgate)
  }

  async #ask(): Promise<void> {
    const asks = [
      () => this.#decide(this.#running.keys.sandbox, '2125550100'),
      () => this.#decide(this.#running.keys.main, '2127360002'),
      () => this.#optOut(),
      () => this.#consent(),
      () => this.#emergency(),
    ]
    await asks[this.#random(asks.length)]?.()
  }

  /** Each time anew, so that nothing that was found a second ago is taken for now. */
  async #isReady(): Promise<boolean> {
    for (const { check } of listDataReadinessChecks(this.#running.callgate)) {
      const isReady = await Promise.resolve(check()).then(
        ({ ready }) => ready,
        () => false,
      )
      if (!isReady) return false
    }
    return true
  }

  async #decide(key: string, number: string): Promise<void> {
    const before = await this.#isReady()
    const response = await this.#running.postJson(
      '/v1/decisions',
      { number, callKind: 'manual' },
      key,
    )
    const { decision, id, reason } = (await response.json()) as DecisionDocument
    this.#trail.push(`${number.slice(-2)}:${decision ?? response.status}`)
    const isGreen = before && (await this.#isReady())
    tally[isGreen ? 'green' : 'red'] += 1
    if (isGreen) expect(`${decision} ${reason}`).toBe('allow permitted')
    if (decision === 'allow') this.#acknowledge({ kind: 'allow', what: id })
    else tally.refused += 1
  }

  #newNumber(): string {
    return `212555${String(100 + this.#random(20)).padStart(4, '0')}`
  }

  async #optOut(): Promise<void> {
    const number = this.#newNumber()
    const path = `/app/main/rpc/pdnc?phoneList=${number}&actionType=add`
    const { status } = await this.#running.get(path, this.#running.keys.main)
    this.#written(status, { kind: 'opt-out', what: number })
  }

  async #consent(): Promise<void> {
    const phoneNumber = this.#newNumber()
    const ebrList = [{ phoneNumber, type: 'P', dateOfLastContact: '11/20/2026' }]
    const path = '/app/main/rpc/ebr'
    const { status } = await this.#running.postJson(path, { ebrList }, this.#running.keys.main)
    this.#written(status, { kind: 'consent', what: phoneNumber })
  }

  #written(status: number, one: Acknowledged): void {
    this.#trail.push(`${one.kind}:${status}`)
    if (status === 200) this.#acknowledge(one)
    else tally.refused += 1
  }

  #acknowledge(one: Acknowledged): void {
    expect({ ...one, isLost: this.#isLost, isAway: this.#isAway }).toEqual({
      ...one,
      isLost: false,
      isAway: false,
    })
    tally.acknowledged += 1
    this.#acknowledged.push(one)
  }

  async #emergency(): Promise<void> {
    const response = await this.#running.get('/v1/predial?number=911', 'no key')
    expect(await response.text()).toBe('allow:911:-:end\n')
  }

  async #restart(): Promise<void> {
    await this.#running.stop()
    // The stop itself may have brought an emptied file back from its log.
    const isGone = !existsSync(this.#path()) || statSync(this.#path()).size === 0
    const opening = openTestCallgate({ dataDir: this.#dataDir })
    if (isGone) {
      await expect(opening).rejects.toThrow('callgate serve --init')
      tally.lost += 1
      return
    }
    const opened = await opening.catch((cause: unknown) => cause)
    if (opened instanceof DataFileError && this.#isLost) return
    if (opened instanceof Error) throw opened
    this.#running = opened as TestCallgate
    tally.reopened += 1
    try {
      for (const one of this.#acknowledged) {
        expect([one, await this.#isStored(one)]).toEqual([one, true])
      }
    } finally {
      await this.#running.stop()
    }
  }

  async #isStored({ kind, what }: Acknowledged): Promise<boolean> {
    const { db } = this.#running.callgate.storage
    if (kind === 'allow') {
      const { journal } = this.#running.callgate
      const found = journal.find('sandbox', what) ?? journal.find('main', what)
      return found?.decision === 'allow'
    }
    const table = kind === 'opt-out' ? 'internal_dnc' : 'ebr_records'
    const rows = await db
      .selectFrom(table)
      .select('number')
      .where('account_id', '=', 'main')
      .where('number', '=', what)
      .execute()
    return rows.length > 0
  }
}

it(
  `acknowledges nothing that a restart does not find: ${runs} runs from seed ${firstSeed}`,
  async () => {
    for (let index = 0; index < runs; index += 1) {
      const seed = firstSeed + index
      const dataDir = mkdtempSync(join(tmpdir(), 'callgate-faults-'))
      const run = new Run(await openTestCallgate({ dataDir }), randomOf(seed))
      try {
        await run.go()
      } catch (cause) {
        throw new Error(`seed ${seed}: ${run.trail}`, { cause })
      } finally {
        for (const folder of [dataDir, `${dataDir}-away`]) {
          rmSync(folder, { recursive: true, force: true })
        }
      }
    }
    const { steps, acknowledged, refused, green, red, reopened, lost } = tally
    process.stdout.write(
      `storage faults: seed ${firstSeed}, ${runs} runs, ${steps} steps, ${acknowledged} ` +
        `acknowledged, ${refused} refused, ${green} decisions while ready, ${red} while not, ` +
        `${reopened} databases reopened, ${lost} refused as lost\n`,
    )
    // The search is worth something only while it meets both.
    expect(Math.min(acknowledged, refused, green, red)).toBeGreaterThan(runs / 4)
  },
  60_000 + runs * 20_000,
)
