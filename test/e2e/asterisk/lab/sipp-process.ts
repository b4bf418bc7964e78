/** One SIPp: started with a scenario, read by what the scenario logs, ended with its statistics. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppendedLines } from './appended-lines.js'
import { type LabProcess, startProcess } from './lab-process.js'

/** SIPp's own counts. A call is successful when it went as scripted, whatever the answer was. */
export interface SippStatistics {
  readonly created: number
  readonly successful: number
  readonly failed: number
  readonly retransmissions: number
  /** Everything it counts, by its own names. */
  readonly counters: Readonly<Record<string, string>>
}

export interface SippOptions {
  /** Path of the program. */
  readonly sipp: string
  /** Below it a folder for this SIPp is made. */
  readonly folder: string
  readonly name: string
  readonly scenario: string
  readonly args: readonly string[]
}

/** A line that a scenario has logged: what happened, when (ms since the epoch), and more fields. */
export interface LoggedEvent {
  readonly what: string
  readonly at: number
  readonly fields: readonly string[]
}

export interface Sipp {
  readonly process: LabProcess
  readonly folder: string
  /** What has been logged since the last call. */
  events(): readonly LoggedEvent[]
  /** No more calls; ends by itself after those under way, or at the second signal at once. */
  finish(): void
  statistics(): SippStatistics
  /** Errors that SIPp has noted, empty when there are none. */
  errors(): string
}

/**
 * A step that logs an event with SIPp keywords as fields; one that may hold a `|` itself goes last.
 * SIPp writes each line out at once, with the time to the microsecond.
 */
export function logEvent(what: string, ...fields: readonly string[]): string {
  return `<nop><action><log message="${[what, '[timestamp]', ...fields].join('|')}"/></action></nop>`
}

export function startSipp({ sipp, folder, name, scenario, args }: SippOptions): Sipp {
  mkdirSync(join(folder, 'sipp'), { recursive: true })
  const own = mkdtempSync(join(folder, 'sipp', `${name}-`))
  const file = (suffix: string) => join(own, suffix)
  writeFileSync(file('scenario.xml'), scenario)
  const process = startProcess({
    command: sipp,
    folder: own,
    output: file('output'),
    environment: { PATH: '/usr/bin:/bin', TERM: 'dumb' },
    args: [
      '-sf',
      file('scenario.xml'),
      '-i',
      '127.0.0.1',
      '-nostdin',
      '-default_behaviors',
      'all',
      '-trace_logs',
      '-log_file',
      file('log'),
      '-trace_err',
      '-error_file',
      file('errors'),
      '-trace_stat',
      '-stf',
      file('statistics.csv'),
      '-fd',
      '1',
      '-f',
      '60',
      ...args,
    ],
  })
  const log = new AppendedLines(file('log'))
  return {
    process,
    folder: own,
    events: () => log.read().map(eventOf),
    finish: () => process.signal('SIGUSR1'),
    statistics: () => statisticsIn(readFileSync(file('statistics.csv'), 'latin1')),
    errors: () => {
      try {
        return readFileSync(file('errors'), 'latin1')
      } catch {
        return ''
      }
    },
  }
}

function eventOf(line: string): LoggedEvent {
  const [what = '', time = '', ...fields] = line.split('|')
  return { what, at: Number(time.split('\t').at(-1)) * 1000, fields }
}

function statisticsIn(text: string): SippStatistics {
  const [head = '', ...rows] = text.trim().split('\n')
  const names = head.split(';')
  const values = (rows.at(-1) ?? '').split(';')
  const counters = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
  const count = (name: string) => {
    const value = counters[name]
    if (value === undefined || value === '') throw new Error(`SIPp counts no ${name}`)
    return Number(value)
  }
  return {
    created: count('IncomingCall(C)') + count('OutgoingCall(C)'),
    successful: count('SuccessfulCall(C)'),
    failed: count('FailedCall(C)'),
    retransmissions: count('Retransmissions(C)'),
    counters,
  }
}
