/** callgate as an operator runs it beside an Asterisk: a process of its own, seen from outside. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallOutcome } from '../../../../src/domain/call-outcome.js'
import { mergeOutcome } from '../../../../src/gate/journal/merge-outcome.js'
import type {
  DecisionDocument,
  DecisionReply,
} from '../../../../src/gate/record/decision-document.js'
import { toReply } from '../../../../src/gate/record/describe-decision.js'
import { readRecord } from '../../../../src/gate/record/read-record.js'
import { withOutcome } from '../../../../src/gate/record/with-outcome.js'
import { fetchMetrics } from '../../../support/fresh-metrics.js'
import { recordsIn } from '../../../support/journal.js'
import { type FirstKeys, firstKeysIn } from '../../../support/program.js'
import type { AsteriskServer } from './asterisk-server.js'
import { type Ended, type LabProcess, startProcess } from './lab-process.js'
import { projectRoot } from './project-root.js'
import { until } from './until.js'

export interface CallgateOptions {
  /** The Asterisk to attach to; without it none is attached. */
  readonly server?: AsteriskServer
  /** More settings, by variable; they win. */
  readonly environment?: Readonly<Record<string, string>>
  /** `ready` waits for /readyz with its Asterisk check, `listening` for HTTP only. */
  readonly until?: 'ready' | 'listening'
  /** An existing data folder to go on with; otherwise it makes one and `close` removes it. */
  readonly dataDir?: string
  /** Compiled program; `dist/main.js` of the project unless given. */
  readonly program?: string
}

/** Metrics by the text before their value: name and labels. */
export interface Samples {
  /** The sum over all label sets that have these labels; 0 when there are none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number
}

/** The answer of /readyz. */
interface Readiness {
  readonly status: number
  readonly checks: readonly {
    readonly name: string
    readonly ready: boolean
    readonly detail?: string
  }[]
}

export interface CallgateProcess {
  readonly url: string
  readonly dataDir: string
  readonly pid: number
  /** Of the first start over its data folder. */
  readonly keys: FirstKeys
  isReady(): Promise<boolean>
  readiness(): Promise<Readiness>
  /** Every decision on disk, oldest first, with what became of its call. */
  decisions(): readonly DecisionReply[]
  /** Its log lines so far. */
  log(): readonly Readonly<Record<string, unknown>>[]
  metrics(): Promise<Samples>
  freeze(): void
  thaw(): void
  /** SIGKILL. */
  killHard(): Promise<Ended>
  /** SIGTERM; gives the exit code. */
  stop(): Promise<Ended>
  cpuSeconds(): number
  /** Ends it, if it still runs, and removes the data folder it made. */
  close(): Promise<void>
}

/** Sandbox numbers at noon of a working day in New York, where the 212 numbers are. */
const defaults: Readonly<Record<string, string>> = {
  CALLGATE_HTTP_PORT: '0',
  CALLGATE_GATE_ACCOUNT: 'sandbox',
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  // These tests are not about the deadline, so a slow machine must not miss it.
  CALLGATE_GATE_DEADLINE_MS: '2500',
}

function attachedTo(server: AsteriskServer): Readonly<Record<string, string>> {
  const trunks = server.trunkNames.map((name) => `{ name: ${name}, channel: PJSIP/${name} }`)
  return {
    CALLGATE_ASTERISK_URL: server.url,
    CALLGATE_ASTERISK_USERNAME: 'callgate',
    CALLGATE_ASTERISK_PASSWORD: 'secret',
    CALLGATE_ASTERISK_TRUNKS: `[${trunks.join(', ')}]`,
  }
}

/** Settings come from here alone, not from the shell that runs the tests. */
function environmentOf(options: CallgateOptions, dataDir: string): Record<string, string> {
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || name.startsWith('CALLGATE_') ? [] : [[name, value] as const],
  )
  return {
    ...Object.fromEntries(inherited),
    ...defaults,
    ...(options.server && attachedTo(options.server)),
    CALLGATE_DATA_DIR: dataDir,
    ...options.environment,
  }
}

export async function startCallgate(options: CallgateOptions = {}): Promise<CallgateProcess> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'callgate-e2e-'))
  const output = join(dataDir, `output-${process.hrtime.bigint()}`)
  const started = startProcess({
    command: process.execPath,
    args: [options.program ?? join(projectRoot, 'dist/main.js'), 'serve'],
    environment: environmentOf(options, dataDir),
    folder: projectRoot,
    output,
  })
  const close = async () => {
    if (started.isRunning()) await started.end()
    if (options.dataDir === undefined && process.env.CALLGATE_E2E_KEEP !== '1')
      rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    await untilOrEnd('callgate listens', started, () => addressIn(started) !== '')
    const url = addressIn(started)
    const callgate = callgateProcess(started, { url, dataDir, close })
    const wanted = options.until ?? (options.server ? 'ready' : 'listening')
    if (wanted === 'ready') await untilOrEnd('callgate is ready', started, callgate.isReady)
    return callgate
  } catch (cause) {
    const text = started.output()
    await close()
    throw new Error(`callgate does not start:\n${text}`, { cause })
  }
}

/** Does not wait for what a process that has ended will never say. */
async function untilOrEnd(
  what: string,
  started: LabProcess,
  ask: () => boolean | Promise<boolean>,
): Promise<void> {
  await until(what, () => !started.isRunning() || ask(), { withinMs: 30_000 })
  if (!started.isRunning()) throw new Error(`not ${what}: it has ended`)
}

/** All that it prints first is there when the line after the address is. */
function addressIn(started: LabProcess): string {
  return /listens on (\S+)\n[\s\S]*\n/.exec(started.output())?.[1] ?? ''
}

interface Running {
  readonly url: string
  readonly dataDir: string
  readonly close: () => Promise<void>
}

function callgateProcess(started: LabProcess, { url, dataDir, close }: Running): CallgateProcess {
  return {
    url,
    dataDir,
    close,
    pid: started.pid,
    keys: firstKeysIn(dataDir),
    isReady: () => isReady(url),
    readiness: () => readinessAt(url),
    decisions: () => decisionsIn(dataDir),
    log: () => started.output().split('\n').filter(isLogLine).map(fieldsOf),
    metrics: async () => samplesIn(await fetchMetrics(url, briefly())),
    freeze: started.freeze,
    thaw: started.thaw,
    killHard: () => started.end('SIGKILL'),
    stop: () => started.end('SIGTERM'),
    cpuSeconds: started.cpuSeconds,
  }
}

/** No connection is kept, so none is found dead after a freeze. */
const briefly = () => ({ headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) })

/** Without a check of the Asterisk it is not ready for calls, whatever it says. */
async function isReady(url: string): Promise<boolean> {
  const { status, checks } = await readinessAt(url)
  return status === 200 && checks.some(({ name }) => name.startsWith('asterisk'))
}

async function readinessAt(url: string): Promise<Readiness> {
  const reply = await fetch(`${url}/readyz`, briefly())
  const { checks } = (await reply.json()) as Pick<Readiness, 'checks'>
  return { status: reply.status, checks }
}

/** From the journal itself, since the index of decisions is a moment behind it. */
function decisionsIn(dataDir: string): readonly DecisionReply[] {
  const documents = new Map<string, DecisionDocument>()
  const outcomes = new Map<string, Partial<CallOutcome>>()
  for (const { kind, body } of recordsIn(dataDir)) {
    if (kind === 'decision' || kind === 'amendment') {
      const document = readRecord(kind, { body })
      documents.set(document.id, document)
    } else if (kind === 'outcome') {
      const { id, outcome } = readRecord(kind, { body })
      outcomes.set(id, mergeOutcome(outcomes.get(id) ?? {}, outcome))
    }
  }
  return [...documents.values()].map((document) =>
    toReply(withOutcome(document, outcomes.get(document.id) ?? {})),
  )
}

const isLogLine = (line: string) => line.startsWith('{') && line.endsWith('}')
const fieldsOf = (line: string) => JSON.parse(line) as Readonly<Record<string, unknown>>

function samplesIn(text: string): Samples {
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name, labels = '', value]) => ({ name, labels: `,${labels},`, value: Number(value) }),
  )
  return {
    sum(name, labels = {}) {
      const wanted = Object.entries(labels).map(([label, value]) => `,${label}="${value}",`)
      return samples
        .filter((sample) => sample.name === name && wanted.every((w) => sample.labels.includes(w)))
        .reduce((total, { value }) => total + value, 0)
    },
  }
}
