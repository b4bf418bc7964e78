/** Calls and opt-outs that a server meets all the time, and what must hold of them after its next start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { verifyJournal } from '../../src/evidence/verify/verify-journal.js'
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

export class FaultyLoad {
  readonly dataDir: string
  readonly #environment: Readonly<Record<string, string>>
  #serving: Serving
  #isEnding = false
  readonly #running: Promise<unknown>[]
  /** Ids of the calls that were allowed. */
  readonly #allowed: string[] = []
  readonly #optedOut: string[] = []
  readonly #wrong: string[] = []
  #nextOptOut = 7_185_550_100

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
    return new FaultyLoad(dataDir, own, await serve({ ...own, ...environment }))
  }

  private constructor(
    dataDir: string,
    environment: Readonly<Record<string, string>>,
    serving: Serving,
  ) {
    this.dataDir = dataDir
    this.#environment = environment
    this.#serving = serving
    this.#running = [
      ...Array.from({ length: callers }, () => this.#repeat(() => this.#call('2125550100'))),
      this.#repeat(() => this.#optOut()),
      this.#repeat(() => this.#callOptedOut()),
    ]
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
    const response = await this.#post('/v1/decisions', { number, callKind: 'manual' })
    const { id, decision } = (await response.json()) as { id: string; decision: string }
    if (decision === 'allow') this.#allowed.push(id)
    return decision === 'allow'
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
    await pause(10)
    const number = this.#optedOut.at(-1)
    if (number !== undefined && (await this.#call(number))) this.#wrong.push(number)
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

  /** Ends both, starts the server again on files that are sound, and compares. */
  async judge(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.end(signal)
    expect(this.#wrong, 'allowed after an opt-out').toEqual([])
    expect(listWritten(this.dataDir), 'records as they are on disk').toEqual(
      recordsIn(this.dataDir).map(({ seq }) => seq),
    )
    this.#serving = await serve(this.#environment)
    const folder = join(this.dataDir, 'journal')
    const { findings } = verifyJournal({ folder, now: Date.now() })
    expect(findings.filter(({ level }) => level === 'false')).toEqual([])
    const recorded = new Set(recordsIn(this.dataDir).map(({ body }) => JSON.parse(body).id))
    expect(
      this.#allowed.filter((id) => !recorded.has(id)),
      'allowed, not on record',
    ).toEqual([])
    await this.#requireOptOuts()
    const last = this.#allowed.at(-1)
    await until('the index has the last call', async () => {
      const headers = { loginId: this.#serving.keys.sandbox }
      return (await fetch(`${this.#serving.url}/v1/decisions/${last}`, { headers })).ok
    })
    await this.#serving.end('SIGTERM')
  }

  async #requireOptOuts(): Promise<void> {
    if (this.#optedOut.length === 0) return
    const body = { phoneList: this.#optedOut.join(','), actionType: 'status' }
    const statuses = (await (await this.#post('/app/main/rpc/pdnc', body)).json()) as {
      readonly phone: string
      readonly onList: boolean
    }[]
    const missing = statuses.filter(({ onList }) => !onList)
    expect(missing, 'acknowledged opt-outs that are gone').toEqual([])
  }
}

/** The numbers of the records in the segments, each as often as it is there, and not void. */
function listWritten(dataDir: string): readonly number[] {
  const segments = listSegments(join(dataDir, 'journal'))
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
