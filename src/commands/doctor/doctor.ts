/** `callgate doctor`: what blocks calls or soon will, and what to do about it. Changes nothing. */
import type { Command } from 'commander'
import { SettingsError } from '../../config/load.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { resolveServerUrl } from '../option-values.js'
import { describeGoingLive } from '../serve/call-readiness.js'
import { findDataFindings, findSettingsFindings } from './data-findings.js'
import { findingLevels, type HealthFinding } from './finding.js'
import { findServerFindings } from './server-findings.js'

interface DoctorOptions {
  readonly json?: boolean
  readonly url?: string
}

const exitCodes = { now: 2, soon: 1, note: 0 } as const

export const registerDoctor: RegisterCommand = (program, terminal) => {
  program
    .command('doctor')
    .description('show what blocks calls or soon will, and what to do; changes nothing')
    .option('--json', 'as JSON')
    .option('--url <url>', 'the running server (default: http.host and http.port of the settings)')
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

/** With wrong settings there is a finding for each problem, and nothing else can be looked at. */
async function findAll(
  options: DoctorOptions,
  command: Command,
): Promise<readonly HealthFinding[]> {
  try {
    const settings = loadCommandSettings(command)
    // First, since reading large lists would use up the time that the server has to answer.
    const server = await findServerFindings(settings, resolveServerUrl(options, settings))
    const data = await findDataFindings(settings)
    return [...server, ...data, ...findSettingsFindings(settings)]
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
