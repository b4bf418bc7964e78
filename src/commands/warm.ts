/** `callgate warm`: has a running server ask about the numbers of the next hour before they are called. */
import type { Command } from 'commander'
import type { WarmBody, WarmStartedBody } from '../api/warm.js'
import type { Settings } from '../config.js'
import type { BadLine } from '../data/feeds/bad-lines.js'
import { systemTimers } from '../domain/clock.js'
import { DataFileError } from '../errors.js'
import { loginIdFromEnvironment } from '../load-settings.js'
import { isKey, keyIn, keyRule } from '../secret-file.js'
import { type AddCommand, CommandFailure, settingsFor, type Terminal } from './command.js'
import { describeRefused, type ListedNumber, readNumbersFile } from './numbers-file.js'
import { showProgress } from './progress.js'
import { inRequests, WarmClient, type WarmJobRequest } from './warm-client.js'

interface WarmOptions {
  readonly url?: string
  readonly loginIdFile?: string
  readonly project?: string
  readonly campaign?: string
  readonly keepFor: string
  readonly wait: boolean
}

export const addWarm: AddCommand = (program, terminal) => {
  program
    .command('warm')
    .description('ask a running server about numbers before they are called')
    .argument('<file>', 'text, .gz or .zip: a number a line, or CSV with number and postal columns')
    .option('--url <url>', 'the running server (default: http.host and http.port of the settings)')
    .option('--login-id-file <file>', 'file with the API key on its first line')
    .option('--project <id>', 'project')
    .option('--campaign <id>', 'campaign')
    .option('--keep-for <time>', 'how long answers are kept fresh: 90s, 30m, 8h', '1h')
    .option('--no-wait', 'do not wait until all numbers have been asked about')
    .addHelpText(
      'after',
      '\nThe key is in --login-id-file, else in the variable CALLGATE_LOGIN_ID.\n' +
        'Ends with 1 when a number stayed unanswered, or when there is no number to ask about.\n' +
        '\nExample:\n' +
        '  callgate warm next-hour.csv --login-id-file /etc/callgate/key --keep-for 1h\n',
    )
    .action(async (file: string, options: WarmOptions, command: Command) => {
      const settings = settingsFor(command)
      const client = new WarmClient({
        url: urlOf(options, settings),
        loginId: loginIdOf(options),
        timers: systemTimers,
      })
      const request = {
        projectId: options.project,
        campaignId: options.campaign,
        keepForMs: keepForMs(options.keepFor),
      }
      const serviceCodes = new Set(settings.gate.serviceCodes)
      const { numbers, refused } = await readNumbersFile(file, serviceCodes)
      const mostBytes = Math.min(usualRequestBytes, settings.http.maxBodyBytes) - frameBytes
      const parts = inRequests(numbers, mostBytes)
      const warming = { client, parts, request, terminal }
      const { jobs, refusedThere, refusedCount } = await startAll(warming, file)
      const ended = options.wait ? await followed(jobs, warming) : jobs
      const left = {
        lines: [...refused, ...refusedThere],
        count: refused.length + refusedCount,
      }
      terminal.out(describe(ended, left, options.wait))
      if (sum(ended, 'numbers') === 0) throw new CommandFailure('there is no number to ask about')
      if (options.wait) failIfUnanswered(ended)
    })
}

/** Some 160,000 numbers: reading them does not keep a server from its decisions for long. */
const usualRequestBytes = 2 * 1024 * 1024
/** For what is in a request beside the numbers. */
const frameBytes = 512

interface Warming {
  readonly client: WarmClient
  readonly parts: readonly (readonly ListedNumber[])[]
  readonly request: WarmJobRequest
  readonly terminal: Terminal
}

/** Numbers that only the server knows to be service codes are refused there. */
async function startAll({ client, parts, request }: Warming, file: string) {
  const jobs: WarmBody[] = []
  const refusedThere: BadLine[] = []
  let refusedCount = 0
  for (const part of parts) {
    const started = await client.start(part, request).catch((cause: unknown) => {
      throw startedInPart(cause, jobs)
    })
    jobs.push(started)
    refusedThere.push(...refusedLines(started, part, file))
    refusedCount += started.refusedCount
  }
  return { jobs, refusedThere, refusedCount }
}

function startedInPart(cause: unknown, jobs: readonly WarmBody[]): unknown {
  if (!(cause instanceof CommandFailure) || jobs.length === 0) return cause
  const before = `${count(sum(jobs, 'numbers'))} numbers are being warmed, the others are not`
  return new CommandFailure(`${cause.message}; ${before}`, cause.exitCode)
}

function refusedLines(
  { refused }: WarmStartedBody,
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

async function followed(
  jobs: readonly WarmBody[],
  { client, terminal }: Warming,
): Promise<readonly WarmBody[]> {
  const progress = showProgress('numbers', terminal)
  try {
    return await client.follow(jobs, (now) => {
      const done = sum(now, 'done')
      progress.update(done, sum(now, 'numbers'), done)
    })
  } finally {
    progress.stop()
  }
}

/** Lines that were left out. A server lists the first ones and counts all. */
interface LeftOut {
  readonly lines: readonly BadLine[]
  readonly count: number
}

function describe(jobs: readonly WarmBody[], left: LeftOut, waited: boolean): string {
  const lines = [`${count(sum(jobs, 'numbers'))} numbers, ${count(left.count)} lines refused`]
  if (waited) {
    const of = (name: 'answered' | 'fresh' | 'unanswered') => `${count(sum(jobs, name))} ${name}`
    lines.push(`  ${of('answered')}, ${of('fresh')} already, ${of('unanswered')}`)
  }
  for (const { id, state, keptUntil } of jobs) {
    lines.push(`  job ${id}: ${state}, kept fresh until ${keptUntil}`)
  }
  lines.push(...describeRefused(left.lines, left.count).map((line) => `  ${line}`))
  return `${lines.join('\n')}\n`
}

function failIfUnanswered(jobs: readonly WarmBody[]): void {
  const stopped = jobs.find(({ state, done, numbers }) => state === 'stopped' && done < numbers)
  if (stopped) throw new CommandFailure(`job ${stopped.id} was stopped before it was done`)
  const unanswered = sum(jobs, 'unanswered')
  if (unanswered > 0) throw new CommandFailure(`${count(unanswered)} numbers stayed unanswered`)
}

function sum(
  jobs: readonly WarmBody[],
  name: 'numbers' | 'done' | 'answered' | 'fresh' | 'unanswered',
): number {
  return jobs.reduce((total, job) => total + job[name], 0)
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** A server that listens on every address is asked on this machine. */
function urlOf({ url }: WarmOptions, { http }: Settings): string {
  if (url !== undefined) {
    if (/^https?:\/\/[^\s?#@]+$/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
    throw new CommandFailure(`--url '${url}': must be http://host:port or https://host:port`, 2)
  }
  if (http.port === 0) throw new CommandFailure('--url is needed, as http.port is 0', 2)
  const host = http.host === '0.0.0.0' || http.host === '::' ? '127.0.0.1' : http.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`
}

function loginIdOf({ loginIdFile }: WarmOptions): string {
  if (loginIdFile !== undefined) return keyInFile(loginIdFile)
  const key = loginIdFromEnvironment()
  if (key === undefined) {
    throw new CommandFailure('an API key is needed: --login-id-file, or CALLGATE_LOGIN_ID', 2)
  }
  if (isKey(key)) return key
  throw new CommandFailure(`CALLGATE_LOGIN_ID: must be ${keyRule}`, 2)
}

/** A wrong option ends like any other. */
function keyInFile(file: string): string {
  try {
    return keyIn(file, '--login-id-file')
  } catch (error) {
    if (error instanceof DataFileError) throw new CommandFailure(error.message, 2)
    throw error
  }
}

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }
const longestMs = 86_400_000

function keepForMs(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(text) ?? []
  const ms = Number(amount) * (unitsMs[unit] ?? Number.NaN)
  if (ms <= longestMs) return ms
  throw new CommandFailure(`--keep-for '${text}': must be a time such as 90s, 30m or 8h, to 24h`, 2)
}
