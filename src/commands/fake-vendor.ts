/** `callgate fake-vendor`: runs the compliance provider for tests until a signal arrives. */
import type { Command } from 'commander'
import { AppError } from '../errors.js'
import {
  type FakeVendor,
  type FakeVendorOptions,
  openFakeVendor,
} from '../fake-vendor/fake-vendor.js'
import { type Fault, faultDescriptions, maxWaitMs } from '../fake-vendor/fault.js'
import { parseFaultText } from '../fake-vendor/parse-fault.js'
import type { FaultTarget } from '../fake-vendor/request-target.js'
import { openLog } from '../observability/log.js'
import { waitForSignal } from '../runtime/signals.js'
import { CommandFailure, type RegisterCommand } from './command.js'
import { parseInstantOption } from './option-values.js'

interface FakeVendorCommandOptions {
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

const collectOption = (text: string, previous: readonly string[]) => [...previous, text]

export const registerFakeVendor: RegisterCommand = (program, terminal) => {
  program
    .command('fake-vendor')
    .description('run a compliance provider for tests, with made-up answers and faults on demand')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port; 0 for any free port', '8490')
    .option('--login-id <key>', 'API key it accepts (default: random)')
    .option('--client-id <id>', 'account id it accepts for OAuth (default: fake-vendor)')
    .option('--client-secret <key>', 'key it accepts for OAuth (default: random)')
    .option('--token-seconds <n>', 'how long its tokens are valid (default: 3600)')
    .option('--latency <ms>', 'minimum time of every answer')
    .option(
      '--requests-per-minute <n>',
      'answer 429 above this many requests per question in any minute',
    )
    .option('--at <instant>', 'answer as at this instant, such as 2026-11-23T17:00:00Z')
    .option('--project <code>', 'a project that exists there; may be repeated', collectOption, [])
    .option('--fault <target=fault>', 'a fault from the start; may be repeated', collectOption, [])
    .addHelpText('after', helpText())
    .action(async (_options, command: Command) => {
      const options = command.opts<FakeVendorCommandOptions>()
      const vendorOptions = parseVendorOptions(options)
      const faults = options.fault.map(parseFault)
      const ended = waitForSignal()
      const vendor = await open(vendorOptions)
      try {
        for (const [target, fault] of faults) vendor.setFault(target, fault)
        terminal.out(describeVendor(vendor))
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

function parseVendorOptions(options: FakeVendorCommandOptions): FakeVendorOptions {
  const { host, loginId, clientId, clientSecret, project: projects } = options
  for (const [name, key] of Object.entries({ loginId, clientId, clientSecret })) {
    if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) continue
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw new CommandFailure(`--${option}: must be 1 to 200 visible ASCII characters`, 2)
  }
  return {
    host,
    loginId,
    clientId,
    clientSecret,
    projects,
    port: parseNumberOption('--port', options.port, [0, 65_535]),
    tokenSeconds: parseNumberOption('--token-seconds', options.tokenSeconds, [1, 86_400]),
    latencyMs: parseNumberOption('--latency', options.latency, [0, maxWaitMs]),
    requestsPerMinute: parseNumberOption(
      '--requests-per-minute',
      options.requestsPerMinute,
      [1, 1_000_000],
    ),
    at: parseInstantOption('--at', options.at),
  }
}

function parseNumberOption(
  option: string,
  text: string | undefined,
  [min, max]: readonly [number, number],
): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new CommandFailure(`${option} '${text}': must be a whole number from ${min} to ${max}`, 2)
}

function parseFault(text: string): readonly [FaultTarget, Fault | undefined] {
  try {
    return parseFaultText(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new CommandFailure(`--fault '${text}': ${error.message}`, 2)
  }
}

function helpText(): string {
  const kinds = Object.entries(faultDescriptions).map(([kind, { description, parameter }]) => {
    const shape = parameter ? `${kind}:<${parameter.name}>` : kind
    return `  ${shape.padEnd(34)}${description.replaceAll('`', '')}\n`
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

function describeVendor({ url, authUrl, loginId, clientId, clientSecret }: FakeVendor): string {
  return `callgate fake-vendor listens on ${url}; its answers are made up

key:    ${loginId}
OAuth:  client id ${clientId}, client secret ${clientSecret}, tokens at ${authUrl}

To use it as a provider, in the settings file of callgate:
  source:
    kind: remote
    provider:
      baseUrl: ${url}
      loginId: ${loginId}

or in the environment:
  CALLGATE_SOURCE_KIND=remote
  CALLGATE_SOURCE_PROVIDER_BASE_URL=${url}
  CALLGATE_SOURCE_PROVIDER_LOGIN_ID=${loginId}

To set a fault, clear all faults, and list the requests so far:
  curl -s -X PUT ${url}/fake-vendor/faults -d '{"scrub": {"kind": "slow", "ms": 2000}}'
  curl -s -X POST ${url}/fake-vendor/reset
  curl -s ${url}/fake-vendor
`
}
