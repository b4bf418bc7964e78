/** `callgate fake-vendor`: the compliance provider for tests, until a signal ends it. */
import type { Command } from 'commander'
import { type Instant, parseInstant } from '../domain/clock.js'
import { AppError } from '../errors.js'
import {
  type FakeVendor,
  type FakeVendorOptions,
  openFakeVendor,
} from '../fake-vendor/fake-vendor.js'
import { type Fault, faultTable, longestWaitMs } from '../fake-vendor/fault.js'
import { parseFaultText } from '../fake-vendor/read-fault.js'
import type { FaultTarget } from '../fake-vendor/target.js'
import { openLog } from '../log.js'
import { type AddCommand, CommandFailure } from './command.js'
import { firstSignal } from './signals.js'

interface Options {
  readonly host: string
  readonly port: string
  readonly loginId?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly tokenSeconds?: string
  readonly latency?: string
  readonly requestsPerMinute?: string
  readonly at?: string
  readonly project: readonly string[]
  readonly fault: readonly string[]
}

const gather = (text: string, gathered: readonly string[]) => [...gathered, text]

export const addFakeVendor: AddCommand = (program, terminal) => {
  program
    .command('fake-vendor')
    .description('run a compliance provider for tests, with fictional answers and faults on demand')
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--port <n>', 'port; 0 takes a free one', '8490')
    .option('--login-id <key>', 'API key it takes (default: made up)')
    .option('--client-id <id>', 'account id it takes for OAuth (default: fake-vendor)')
    .option('--client-secret <key>', 'key it takes for OAuth (default: made up)')
    .option('--token-seconds <n>', 'how long its tokens hold (default: 3600)')
    .option('--latency <ms>', 'how long every answer takes, at least')
    .option('--requests-per-minute <n>', 'answers 429 beyond so many of a question in any minute')
    .option('--at <instant>', 'answer as at this instant, such as 2026-11-23T17:00:00Z')
    .option('--project <code>', 'a project it knows; may be repeated', gather, [])
    .option('--fault <target=fault>', 'a fault from the start; may be repeated', gather, [])
    .addHelpText('after', helpText())
    .action(async (_options, command: Command) => {
      const options = command.opts<Options>()
      const wanted = vendorOptions(options)
      const faults = options.fault.map(faultOf)
      const ended = firstSignal()
      const vendor = await open(wanted)
      try {
        for (const [target, fault] of faults) vendor.setFault(target, fault)
        terminal.out(greeting(vendor))
        await ended
      } finally {
        await vendor.close()
      }
    })
}

async function open(options: FakeVendorOptions): Promise<FakeVendor> {
  try {
    return await openFakeVendor({ ...options, log: openLog('error').log })
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause
    throw new CommandFailure(
      `--host '${options.host}', --port ${options.port}: cannot listen: ${cause.message}`,
    )
  }
}

function vendorOptions(options: Options): FakeVendorOptions {
  const { host, loginId, clientId, clientSecret, project: projects } = options
  for (const [name, key] of Object.entries({ loginId, clientId, clientSecret })) {
    if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) continue
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new CommandFailure(`--${option}: must be 1 to 200 visible ASCII characters`, 2)
  }
  return {
    ...{ host, loginId, clientId, clientSecret, projects },
    port: numberOf('--port', options.port, [0, 65_535]),
    tokenSeconds: numberOf('--token-seconds', options.tokenSeconds, [1, 86_400]),
    latencyMs: numberOf('--latency', options.latency, [0, longestWaitMs]),
    requestsPerMinute: numberOf('--requests-per-minute', options.requestsPerMinute, [1, 1_000_000]),
    at: instantOf(options.at),
  }
}

function numberOf(
  option: string,
  text: string | undefined,
  [min, max]: readonly [number, number],
): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new CommandFailure(`${option} '${text}': must be a whole number from ${min} to ${max}`, 2)
}

function instantOf(text: string | undefined): Instant | undefined {
  const at = text === undefined ? undefined : parseInstant(text)
  if (text === undefined || at !== undefined) return at
  throw new CommandFailure(`--at '${text}': must be an instant such as 2026-11-23T17:00:00Z`, 2)
}

function faultOf(text: string): readonly [FaultTarget, Fault | undefined] {
  try {
    return parseFaultText(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new CommandFailure(`--fault '${text}': ${error.message}`, 2)
  }
}

function helpText(): string {
  const kinds = Object.entries(faultTable).map(([kind, { about, parameter }]) => {
    const shape = parameter ? `${kind}:<${parameter.name}>` : kind
    return `  ${shape.padEnd(34)}${about.replaceAll('`', '')}\n`
  })
  return (
    '\nExamples:\n' +
    '  callgate fake-vendor --latency 600 --requests-per-minute 100\n' +
    '  callgate fake-vendor --fault scrub=silent --fault all=slow:2000,chance=0.1\n' +
    '\nTargets: scrub, internal-dnc, litigator, legal-time, token, all.\n' +
    'Faults; each may end with ,times=<n> and ,chance=<0..1>:\n' +
    kinds.join('')
  )
}

function greeting({ url, authUrl, loginId, clientId, clientSecret }: FakeVendor): string {
  return `callgate fake-vendor listens on ${url}; what it answers is true of nobody

key:    ${loginId}
OAuth:  client id ${clientId}, client secret ${clientSecret}, tokens at ${authUrl}

For a callgate that asks it, in its settings file:
  source:
    kind: remote
    provider:
      baseUrl: ${url}
      loginId: ${loginId}

or in its environment:
  CALLGATE_SOURCE_KIND=remote
  CALLGATE_SOURCE_PROVIDER_BASE_URL=${url}
  CALLGATE_SOURCE_PROVIDER_LOGIN_ID=${loginId}

A fault, the end of all faults, and what was asked so far:
  curl -s -X PUT ${url}/fake-vendor/faults -d '{"scrub": {"kind": "slow", "ms": 2000}}'
  curl -s -X POST ${url}/fake-vendor/reset
  curl -s ${url}/fake-vendor
`
}
