/** `callgate warm`: has a running server look up numbers before they are called. */

import type { Command } from 'commander'
import type { WarmupProgressBody, WarmupStartedBody } from '../../api/gate/warmup.js'
import { readLoginIdFromEnvironment } from '../../config/load.js'
import { apiKeyRule, isApiKey, readKeyFile } from '../../config/secret-file.js'
import type { BadLine } from '../../data/feeds/bad-lines.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
import { msPerDay } from '../../domain/time/dates.js'
import { DataFileError } from '../../errors.js'
import { systemTimers } from '../../runtime/runtime.js'
import {
  CommandFailure,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { formatNumber } from '../format.js'
import { columnOption, readTableOptions } from '../import/table-options.js'
import {
  describeRefused,
  type ListedNumber,
  numbersFileColumns,
  readNumbersFile,
} from '../numbers-file.js'
import { parseDuration, resolveServerUrl } from '../option-values.js'
import { startProgress } from '../progress.js'
import { splitIntoRequests, WarmupClient, type WarmupJobRequest } from './warmup-client.js'

interface WarmOptions extends TableArguments {
  readonly url?: string
  readonly loginIdFile?: string
  readonly project?: string
  readonly campaign?: string
  readonly keepFor: string
  readonly wait: boolean
}

export const registerWarm: RegisterCommand = (program, terminal) => {
  program
    .command('warm')
    .description('have a running server look up numbers before they are called')
    .argument(
      '<file>',
      'text, .gz or .zip: one number per line, or CSV with number and postal columns',
    )
    .addOption(columnOption(numbersFileColumns))
    .option('--url <url>', 'the running server (default: http.host and http.port of the settings)')
    .option('--login-id-file <file>', 'file with the API key on its first line')
    .option('--project <id>', 'project')
    .option('--campaign <id>', 'campaign')
    .option('--keep-for <time>', 'how long answers are kept fresh, such as 90s, 30m or 8h', '1h')
    .option('--no-wait', 'do not wait until all numbers are looked up')
    .addHelpText(
      'after',
      '\nThe API key comes from --login-id-file, or else from the variable CALLGATE_LOGIN_ID.\n' +
        'Exits with 1 when a number was not answered, or when there is no number to look up.\n' +
        '\nExample:\n' +
        '  callgate warm next-hour.csv --login-id-file /etc/callgate/key --keep-for 1h\n',
    )
    .action(async (file: string, options: WarmOptions, command: Command) => {
      const settings = loadCommandSettings(command)
      const client = new WarmupClient({
        url: resolveServerUrl(options, settings),
        loginId: readLoginId(options),
        timers: systemTimers,
      })
      const request = {
        projectId: options.project,
        campaignId: options.campaign,
        keepForMs: parseKeepFor(options.keepFor),
      }
      const serviceCodes = new Set(settings.gate.serviceCodes)
      const table = readTableOptions(options, numbersFileColumns)
      const { numbers, refused } = await readNumbersFile(file, { serviceCodes, table })
      const maxBytes = Math.min(defaultRequestBytes, settings.http.maxBodyBytes) - frameBytes
      const parts = splitIntoRequests(numbers, maxBytes)
      const run = { client, parts, request, terminal }
      const { jobs, refusedByServer, refusedCount } = await startJobs(run, file)
      const ended = options.wait ? await followJobs(jobs, run) : jobs
      const skipped = {
        lines: [...refused, ...refusedByServer],
        count: refused.length + refusedCount,
      }
      terminal.out(describeJobs(ended, skipped, options.wait))
      if (sumJobs(ended, 'numbers') === 0) throw new CommandFailure('there is no number to look up')
      if (options.wait) requireAnswers(ended)
    })
}

/** About 160,000 numbers, few enough that parsing them does not delay a server's decisions noticeably. */
const defaultRequestBytes = 2 * 1024 * 1024
/** Reserved for the fields of a request other than the numbers. */
const frameBytes = 512

interface WarmupRun {
  readonly client: WarmupClient
  readonly parts: readonly (readonly ListedNumber[])[]
  readonly request: WarmupJobRequest
  readonly terminal: Terminal
}

/** The server may refuse more numbers, since it may have other service codes. */
async function startJobs({ client, parts, request }: WarmupRun, file: string) {
  const jobs: WarmupProgressBody[] = []
  const refusedByServer: BadLine[] = []
  let refusedCount = 0
  for (const part of parts) {
    const started = await client.start(part, request).catch((cause: unknown) => {
      throw explainPartialStart(cause, jobs)
    })
    jobs.push(started)
    refusedByServer.push(...refusedLines(started, part, file))
    refusedCount += started.refusedCount
  }
  return { jobs, refusedByServer, refusedCount }
}

function explainPartialStart(cause: unknown, jobs: readonly WarmupProgressBody[]): unknown {
  if (!(cause instanceof CommandFailure) || jobs.length === 0) return cause
  const before = `${formatNumber(sumJobs(jobs, 'numbers'))} numbers were accepted, the others were not`
  return new CommandFailure(`${cause.message}; ${before}`, cause.exitCode)
}

function refusedLines(
  { refused }: WarmupStartedBody,
  part: readonly ListedNumber[],
  file: string,
): readonly BadLine[] {
  return refused.map(({ index, value, rule }) => ({
    file,
    line: part[index]?.line ?? 0,
    value,
    rule,
  }))
}

async function followJobs(
  jobs: readonly WarmupProgressBody[],
  { client, terminal }: WarmupRun,
): Promise<readonly WarmupProgressBody[]> {
  const progress = startProgress('numbers', terminal)
  try {
    return await client.follow(jobs, (now) => {
      const done = sumJobs(now, 'done')
      progress.update(done, sumJobs(now, 'numbers'), done)
    })
  } finally {
    progress.stop()
  }
}

/** Skipped lines. A server lists only the first ones but counts them all. */
interface SkippedLines {
  readonly lines: readonly BadLine[]
  readonly count: number
}

function describeJobs(
  jobs: readonly WarmupProgressBody[],
  skipped: SkippedLines,
  waited: boolean,
): string {
  const lines = [
    `${formatNumber(sumJobs(jobs, 'numbers'))} numbers, ${formatNumber(skipped.count)} lines refused`,
  ]
  if (waited) {
    const count = (name: 'answered' | 'fresh' | 'unanswered') =>
      `${formatNumber(sumJobs(jobs, name))} ${name}`
    lines.push(`  ${count('answered')}, ${count('fresh')} already, ${count('unanswered')}`)
  }
  for (const { id, state, keptUntil } of jobs) {
    lines.push(`  job ${id}: ${state}, kept fresh until ${keptUntil}`)
  }
  lines.push(...describeRefused(skipped.lines, skipped.count).map((line) => `  ${line}`))
  return `${lines.join('\n')}\n`
}

function requireAnswers(jobs: readonly WarmupProgressBody[]): void {
  const stopped = jobs.find(({ state, done, numbers }) => state === 'stopped' && done < numbers)
  if (stopped) throw new CommandFailure(`job ${stopped.id} was stopped before it finished`)
  const unanswered = sumJobs(jobs, 'unanswered')
  if (unanswered > 0)
    throw new CommandFailure(`${formatNumber(unanswered)} numbers were not answered`)
}

function sumJobs(
  jobs: readonly WarmupProgressBody[],
  name: 'numbers' | 'done' | 'answered' | 'fresh' | 'unanswered',
): number {
  return jobs.reduce((total, job) => total + job[name], 0)
}

function readLoginId({ loginIdFile }: WarmOptions): string {
  if (loginIdFile !== undefined) return readLoginIdFile(loginIdFile)
  const key = readLoginIdFromEnvironment()
  if (key === undefined) {
    throw new CommandFailure('an API key is required: set --login-id-file or CALLGATE_LOGIN_ID', 2)
  }
  if (isApiKey(key)) return key
  throw new CommandFailure(`CALLGATE_LOGIN_ID: must be ${apiKeyRule}`, 2)
}

/** Reports a bad key file like any other invalid option. */
function readLoginIdFile(file: string): string {
  try {
    return readKeyFile(file, '--login-id-file')
  } catch (error) {
    if (error instanceof DataFileError) throw new CommandFailure(error.message, 2)
    throw error
  }
}

const maxKeepForMs = msPerDay

function parseKeepFor(text: string): number {
  const ms = parseDuration(text, ['s', 'm', 'h'])
  if (ms !== undefined && ms <= maxKeepForMs) return ms
  throw new CommandFailure(`--keep-for '${text}': must be a time such as 90s, 30m or 8h, to 24h`, 2)
}
