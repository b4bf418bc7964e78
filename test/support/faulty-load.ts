/** Calls and opt-outs that a server meets all the time, and what must hold of them after its next start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { verifyJournal } from '../../src/evidence/verify/verify-journal.js'
import { readBeginning } from '../../src/gate/journal/journal-beginning.js'
import { listSegments } from '../../src/gate/journal/journal-reader.js'
import { isCompressed } from '../../src/gate/journal/segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeSeal,
  headerBytes,
} from '../../src/gate/journal/segment-format.js'
import { until } from '../e2e/asterisk/lab/until.js'
import { recordsIn } from './journal.js'
import { type Serving, serve } from './program.js'

const callers = 8
/** Longer than that, a server that allows nothing must not be ready. */
const maxSilentMs = 5_000

export class FaultyLoad {
  readonly dataDir: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #faultyEnvironment: Readonly<Record<string, string>>
  #serving: Serving
  #isEnding = false
  readonly #running: Promise<unknown>[]
  /** Ids of the calls that were allowed. */
  readonly #allowed: string[] = []
  readonly #optedOut: string[] = []
  readonly #wrong: string[] = []
  #nextOptOut = 7_185_550_100
  /** Since when the server is ready and allows nothing, by the monotonic clock; `undefined` while it is not ready. */
  #silentSinceMs: number | undefined
  /** The longest such time. */
  #silentMs = 0

  static async start(
    dataDir: string,
    environment: Readonly<Record<string, string>>,
  ): Promise<FaultyLoad> {
    const own = {
      CALLGATE_DATA_DIR: dataDir,
      CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
      // How long a slow machine takes is tested elsewhere.
      CALLGATE_GATE_DEADLINE_MS: '3000',
    }
    const faulty = { ...own, ...environment }
    return new FaultyLoad(dataDir, { sound: own, faulty }, await serve(faulty))
  }

  private constructor(
    dataDir: string,
    environment: Record<'sound' | 'faulty', Readonly<Record<string, string>>>,
    serving: Serving,
  ) {
    this.dataDir = dataDir
    this.#environment = environment.sound
    this.#faultyEnvironment = environment.faulty
    this.#serving = serving
    this.#running = [
      ...Array.from({ length: callers }, () => this.#repeat(() => this.#call('2125550100'))),
      this.#repeat(() => this.#optOut()),
      this.#repeat(() => this.#callOptedOut()),
      this.#repeat(() => this.#watchReadiness()),
    ]
  }

  /** Of the server under load, and of commands beside it. */
  get environment(): Readonly<Record<string, string>> {
    return this.#faultyEnvironment
  }

  /** Rejects if the server has ended by itself. */
  async requireRunning(): Promise<void> {
    const code = await Promise.race([this.#serving.ended(), pause(1)])
    expect(code, 'how the server ended by itself').toBeUndefined()
  }

  /** After a fault: waits until a call is allowed, or the server says that it is not ready. */
  async requireAllowOrUnready(): Promise<void> {
    const allowed = this.#allowed.length
    await until('a call is allowed, or it is not ready', async () => {
      return this.#allowed.length > allowed || !(await fetch(`${this.#serving.url}/readyz`)).ok
    })
  }

  get serving(): Serving {
    return this.#serving
  }

  /** How many calls were allowed. */
  get allowed(): number {
    return this.#allowed.length
  }

  /** Until the load ends. An answer that does not come says nothing. */
  async #repeat(ask: () => Promise<unknown>): Promise<void> {
    while (!this.#isEnding) await ask().catch(() => pause(20))
  }

  async #call(number: string): Promise<boolean> {
    await pause(10)
    const response = await this.#post('/v1/decisions', { number, callKind: 'manual' })
    const { id, decision } = (await response.json()) as { id: string; decision: string }
    if (decision === 'allow') {
      this.#allowed.push(id)
      this.#silentSinceMs = undefined
    }
    return decision === 'allow'
  }

  async #watchReadiness(): Promise<void> {
    await pause(100)
    const allowed = this.#allowed.length
    const isReady = (await fetch(`${this.#serving.url}/readyz`)).ok
    if (!isReady || this.#allowed.length > allowed) this.#silentSinceMs = undefined
    else this.#silentSinceMs ??= performance.now()
    const silentMs = performance.now() - (this.#silentSinceMs ?? performance.now())
    this.#silentMs = Math.max(this.#silentMs, silentMs)
  }

  async #optOut(): Promise<void> {
    await pause(10)
    const number = String(this.#nextOptOut++)
    const response = await this.#post('/app/main/rpc/pdnc', {
      phoneList: number,
      actionType: 'add',
    })
    await response.arrayBuffer()
    if (response.ok) this.#optedOut.push(number)
  }

  async #callOptedOut(): Promise<void> {
    const number = this.#optedOut.at(-1)
    if (number === undefined) await pause(10)
    else if (await this.#call(number)) this.#wrong.push(number)
  }

  #post(path: string, body: object): Promise<Response> {
    return fetch(`${this.#serving.url}${path}`, {
      method: 'POST',
      headers: { loginId: this.#serving.keys.sandbox, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    })
  }

  /** Ends the server, if it has not ended, and the load. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#isEnding = true
    await this.#serving.end(signal)
    await Promise.all(this.#running)
  }

  /**
   * Ends both, starts the server again on files that are sound, and compares. `look` is given that server and may compare
   * more.
   */
  async judge(look: (serving: Serving) => Promise<void> = async () => undefined): Promise<void> {
    await this.end('SIGTERM')
    expect(this.#wrong, 'allowed after an opt-out').toEqual([])
    expect(this.#silentMs, 'ms ready without an allow').toBeLessThan(maxSilentMs)
    expect(listWritten(this.dataDir), 'records as they are on disk').toEqual(
      recordsIn(this.dataDir).map(({ seq }) => seq),
    )
    this.#serving = await serve(this.#environment)
    const folder = join(this.dataDir, 'journal')
    const { findings } = verifyJournal({ folder, now: Date.now() })
    expect(findings.filter(({ level }) => level === 'false')).toEqual([])
    const recorded = new Set(
      recordsIn(this.dataDir).map(({ body }) => /^\{"id":"(\w+)"/.exec(body)?.[1]),
    )
    expect(
      this.#allowed.filter((id) => !recorded.has(id)),
      'allowed, not on record',
    ).toEqual([])
    await this.#requireOptOuts()
    const last = this.#allowed.at(-1)
    if (last)
      await until('the index has the last call', async () => {
        const headers = { loginId: this.#serving.keys.sandbox }
        return (await fetch(`${this.#serving.url}/v1/decisions/${last}`, { headers })).ok
      })
    await until('calls are allowed', () => this.#call('2125550100'))
    await until('it is ready', async () => {
      const response = await fetch(`${this.#serving.url}/readyz`)
      if (!response.ok) throw new Error(await response.text())
      return true
    })
    await look(this.#serving)
    expect(await this.#serving.end('SIGTERM'), 'how it ended').toBe(0)
  }

  async #requireOptOuts(): Promise<void> {
    const missing: string[] = []
    for (let first = 0; first < this.#optedOut.length; first += 500) {
      const phoneList = this.#optedOut.slice(first, first + 500).join(',')
      const response = await this.#post('/app/main/rpc/pdnc', { phoneList, actionType: 'status' })
      const statuses = (await response.json()) as { phone: string; onList: boolean }[]
      missing.push(...statuses.flatMap(({ phone, onList }) => (onList ? [] : phone)))
    }
    expect(missing, 'acknowledged opt-outs that are gone').toEqual([])
  }
}

/** The numbers of the records in the segments, each as often as it is there, and not void. */
function listWritten(dataDir: string): readonly number[] {
  const folder = join(dataDir, 'journal')
  const { firstSeq: beginsAt } = readBeginning(folder)
  const segments = listSegments(folder).filter(({ firstSeq }) => firstSeq >= beginsAt)
  return segments.flatMap(({ path, firstSeq }, index) => {
    const endSeq = segments[index + 1]?.firstSeq ?? Number.MAX_SAFE_INTEGER
    const stored = readFileSync(path)
    const bytes = isCompressed(path) ? gunzipSync(stored) : stored
    const seed = checksumSeedOf(firstSeq)
    const seqs: number[] = []
    for (let offset = headerBytes; ; ) {
      const seal = decodeSeal(bytes, offset, seed)
      const frame = seal ? undefined : decodeFrame(bytes, offset, seed)
      if (frame && frame.record.seq < endSeq) seqs.push(frame.record.seq)
      const end = seal?.end ?? frame?.end
      if (end === undefined) return seqs
      offset = end
    }
  })
}
