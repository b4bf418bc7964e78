/** `callgate doctor`: what blocks calls or soon will, and what to do about it. Changes nothing. */
import type { Command } from 'commander'
import { SettingsError } from '../../config/load.js'
import { msPerHour } from '../../domain/time/dates.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { parseDuration, resolveServerUrl } from '../option-values.js'
import { describeGoingLive } from '../serve/call-readiness.js'
import { findingLevels, type HealthFinding } from './finding.js'
import { findPolicyFindings } from './policy-findings.js'
import { findShortDialTimes } from './ring-time.js'
import { runDataProbes } from './run-probes.js'
import { findServerFindings, withoutRepeated } from './server-findings.js'

interface DoctorOptions {
  readonly json?: boolean
  readonly timeout: string
  readonly url?: string
}

const exitCodes = { now: 2, soon: 1, note: 0 } as const

export const registerDoctor: RegisterCommand = (program, terminal) => {
  program
    .command('doctor')
    .description('show what blocks calls or soon will, and what to do; changes nothing')
    .option('--json', 'as JSON')
    .option('--url <url>', 'the running server (default: http.host and http.port of the settings)')
    .option('--timeout <time>', 'how long reading any one part of the data may take', '30s')
    .addHelpText(
      'after',
      '\nExit codes: 0 nothing to do; 1 something must be done soon; 2 calls are blocked or not decided.\n',
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const found = await findAll(options, command)
      const findings = findingLevels.flatMap((level) =>
        found.filter((each) => each.level === level),
      )
      const worst = findings[0]?.level ?? 'note'
      const json = { exitCode: exitCodes[worst], findings }
      terminal.out(options.json ? `${JSON.stringify(json, null, 2)}\n` : describe(findings))
      if (exitCodes[worst] !== 0) throw new CommandFailure('', exitCodes[worst])
    })
}

function parseTimeout(text: string): number {
  const ms = parseDuration(text, ['s', 'm'])
  if (ms !== undefined && ms > 0 && ms <= msPerHour) return ms
  throw new CommandFailure(`--timeout '${text}': must be a time such as 30s or 5m, at most 60m`, 2)
}

/** With wrong settings there is a finding for each problem, and nothing else can be looked at. */
async function findAll(
  options: DoctorOptions,
  command: Command,
): Promise<readonly HealthFinding[]> {
  const maxProbeMs = parseTimeout(options.timeout)
  try {
    const settings = loadCommandSettings(command)
    const url = resolveServerUrl(options, settings)
    // First, since reading large lists would use up the time that the server has to answer.
    const server = await findServerFindings(settings, url)
    const data = await runDataProbes(settings, maxProbeMs)
    const dialTimes = await findShortDialTimes(settings)
    const own = [...dialTimes, ...data, ...findPolicyFindings(settings, nodeRuntime.clock)]
    return [...withoutRepeated(server, own), ...own]
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause
    const fix = 'correct the settings file or the variable (docs/settings.md)'
    return cause.problems.map((problem) => ({ level: 'now', subject: 'settings', problem, fix }))
  }
}

const titles = { now: 'NOW ', soon: 'SOON', note: 'note' } as const

function describe(findings: readonly HealthFinding[]): string {
  const lines = findings.map(
    ({ level, subject, problem, fix }) =>
      `[${titles[level]}] ${subject}: ${problem}\n       -> ${fix}`,
  )
  const goingLive = describeGoingLive(findings.filter(({ subject }) => subject === 'calls'))
  if (goingLive !== undefined) lines.push(goingLive)
  return lines.length === 0 ? 'nothing to do\n' : `${lines.join('\n')}\n`
}
