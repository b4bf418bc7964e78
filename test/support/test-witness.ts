/** A witness of the tests, over HTTP. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeadStore } from '../../src/evidence/witness/head-store.js'
import { TrustedLogs } from '../../src/evidence/witness/trusted-logs.js'
import { Witness } from '../../src/evidence/witness/witness.js'
import { openWitnessServer } from '../../src/evidence/witness/witness-server.js'
import type { Logger } from '../../src/observability/log.js'
import type { Listener } from '../../src/runtime/listen.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import {
  formatNote,
  parseNote,
  parseVerifierKey,
  signNote,
} from '../../src/transparency/signed-note.js'
import { seededKey } from './seeded-key.js'
import { testClock } from './test-clock.js'

export const witnessKey = seededKey('witness.example.com/w1', 'cosigner', 2)

/** The newest head of a journal, as the witness has seen it then. */
export function cosignHead(journal: string, at: number): string {
  const { text, signatures } = parseNote(readFileSync(join(journal, 'tree/checkpoint'), 'utf8'))
  const cosignature = signNote(text, witnessKey, Math.floor(at / 1_000))
  return formatNote({ text, signatures: [...signatures, cosignature] })
}

interface TestWitnessOptions {
  readonly folder: string
  readonly logs?: readonly string[]
  readonly logsFile?: string
  readonly port?: number
  readonly requestTimeoutMs?: number
  readonly onError?: (cause: unknown) => void
  readonly log?: Logger
}

export function openTestWitness(options: TestWitnessOptions): Promise<Listener> {
  const { folder, logs = [], logsFile: file, port = 0, onError = () => undefined } = options
  const { requestTimeoutMs = 10_000 } = options
  const witness = new Witness({
    key: witnessKey,
    store: new HeadStore(folder),
    logs: new TrustedLogs({ keys: logs.map(parseVerifierKey), file, onError }),
    clock: testClock('2026-11-26T12:00:00Z'),
  })
  return openWitnessServer({
    witness,
    host: '127.0.0.1',
    port,
    requestTimeoutMs,
    log: options.log ?? silentLogger,
  })
}
