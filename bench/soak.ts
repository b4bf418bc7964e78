/**
 * 200 decisions a second over 100,000 numbers with the settings of a new installation: calls that are blocked
 * because the server is busy in its first minute, in which an operator runs commands beside it, and its memory.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { listAreaCodes } from '../src/law/area-codes.js'
import { type LoadResult, latenciesOf, quantileOf, startLoad } from './load.js'
import { readMemoryMb } from './machine.js'
import { seededRandom } from './random.js'
import { figure, printTable } from './rounds.js'
import { serveCallgate } from './serving.js'

const perSecond = 200
const manyNumbers = 100_000
/** As `npm start` has them. */
const nodeOptions = '--max-semi-space-size=32 --max-old-space-size=400'
const program = join(import.meta.dirname, '../src/main.js')
const run = promisify(execFile)

interface Reading {
  readonly minute: number
  readonly memoryMb: number
  readonly result: LoadResult
}

export async function benchSoak({
  small,
  full,
}: {
  readonly small: boolean
  readonly full: boolean
}) {
  const minutes = full ? 120 : small ? 1 : 15
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const environment = {
    CALLGATE_DATA_DIR: join(folder, 'data'),
    // At night nearly every call would be blocked, also by the hours of its scrub.
    CALLGATE_POLICY_CALLING_HOURS_MODE: 'shadow',
    CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
    NODE_OPTIONS: nodeOptions,
  }
  const command = (...words: readonly string[]) =>
    run(process.execPath, [program, ...words], { env: { ...process.env, ...environment } })
  const numbers = randomNumbers()
  const list = join(folder, 'list.txt')
  writeFileSync(list, numbers.filter((_, index) => index % 10 === 0).join('\n'))
  mkdirSync(environment.CALLGATE_DATA_DIR)
  const importOf = (name: string) => command('import', name, list, '--area-codes', 'all')
  await importOf('us-dnc')
  await importOf('canada-dnc')
  await command('import', 'litigators', list)
  const serving = await serveCallgate(environment)
  const load = startLoad()
  try {
    const keys = readFileSync(join(environment.CALLGATE_DATA_DIR, 'first-keys.txt'), 'utf8')
    const loginId = /^main: (\S{44})$/m.exec(keys)?.[1] ?? ''
    const below = seededRandom(58)
    const runFor = (seconds: number) =>
      load.run({
        url: serving.url,
        requests: Array.from({ length: seconds * perSecond }, () => ({
          method: 'POST',
          path: '/v1/decisions',
          body: JSON.stringify({ number: numbers[below(numbers.length)], callKind: 'manual' }),
        })),
        headers: { loginId },
        connections: 16,
        seconds,
        perSecond,
        expected: {
          'not-recorded': { text: '"reason":"not-recorded"' },
          overloaded: { text: '"reason":"overloaded"' },
          'check-unanswered': { text: '"reason":"check-unanswered"' },
          allow: { text: '"decision":"allow"' },
          block: { text: '"decision":"block"' },
        },
      })
    const isOver = { value: false }
    const commands = repeatCommands(isOver, [
      () => command('backup', mkdtempSync(join(folder, 'backup-'))),
      () => command('doctor', '--url', serving.url),
      () => command('evidence', 'verify'),
      () => importOf('us-dnc'),
    ])
    const first = await runFor(60)
    isOver.value = true
    const commandRuns = await commands
    const readings: Reading[] = [{ minute: 1, memoryMb: readMemoryMb(serving.pid), result: first }]
    for (let minute = 2; minute <= minutes; minute += 1) {
      readings.push({ minute, result: await runFor(60), memoryMb: readMemoryMb(serving.pid) })
      if (full && minute % 5 === 0)
        process.stdout.write(`${minute} min: ${figure(readings.at(-1)?.memoryMb ?? 0)} MB\n`)
    }
    print(readings, commandRuns)
  } finally {
    await serving.end()
    load.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

function randomNumbers(): readonly string[] {
  const areaCodes = listAreaCodes()
  const below = seededRandom(100)
  const numbers = new Set<string>()
  while (numbers.size < manyNumbers) {
    numbers.add(`${areaCodes[below(areaCodes.length)]}${2_000_000 + below(3_550_000)}`)
  }
  return [...numbers]
}

/** One after the other until it is over, each at least once; how many were run. A finding of doctor is no failure of it. */
async function repeatCommands(
  isOver: { readonly value: boolean },
  commands: readonly (() => Promise<unknown>)[],
): Promise<number> {
  let runs = 0
  for (; !isOver.value || runs < commands.length; runs += 1) {
    await commands[runs % commands.length]?.().catch((cause: { code?: number }) => {
      if (cause.code !== 1 && cause.code !== 2) throw cause
    })
  }
  return runs
}

const lateAnswers = ['not-recorded', 'overloaded', 'check-unanswered'] as const

function print(readings: readonly Reading[], commandRuns: number): void {
  const at = readings.filter(({ minute }) => minute <= 2 || minute % 15 === 0)
  printTable(
    ['minute', 'allows', 'p99 ms', ...lateAnswers, 'other, none', 'memory, MB'],
    at.map(({ minute, result, memoryMb }) => [
      String(minute),
      String(latenciesOf([result], 'allow').length),
      figure(quantileOf(latenciesOf([result]), 0.99)),
      ...lateAnswers.map((name) => String(latenciesOf([result], name).length)),
      `${result.wrong}, ${result.cut}`,
      figure(memoryMb),
    ]),
  )
  const all = readings.map(({ result }) => result)
  const late = lateAnswers.map((name) => latenciesOf(all, name).length)
  const firstWrong = all.find((result) => result.wrong > 0)?.firstWrong
  printTable(
    ['', '', 'aim'],
    [
      ['commands beside the first minute', String(commandRuns), ''],
      [
        'calls blocked because the server was busy, first minute',
        String(
          lateAnswers.reduce((sum, name) => sum + latenciesOf(all.slice(0, 1), name).length, 0),
        ),
        '0',
      ],
      ['the same, in all minutes', String(late.reduce((sum, one) => sum + one, 0)), ''],
      [
        'most memory, MB',
        figure(Math.max(...readings.map(({ memoryMb }) => memoryMb))),
        'at most 768',
      ],
      ['another answer', firstWrong ?? 'none', 'none'],
    ],
  )
}
