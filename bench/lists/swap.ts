/** Pre-dial answers of a running server: without load, and while a new version is imported and loaded. */
import { setTimeout as sleep } from 'node:timers/promises'
import { predialsOf } from '../http.js'
import { type LoadResult, latenciesOf, quantileOf, startLoad } from '../load.js'
import { figure, printTable, spreadOf } from '../rounds.js'
import { serveCallgate } from '../serving.js'
import { type Bench, environmentOf } from './lists.js'
import { measuredCommand } from './measured-command.js'

const perSecond = 200
const full = { seconds: 3, quietRounds: 5 }
const quick = { seconds: 1, quietRounds: 2 }
/** A running server checks for new lists every second, and reads the largest in about one more. */
const takenUpWithinMs = 4_000

export async function benchSwap(bench: Bench): Promise<void> {
  const { seconds, quietRounds } = bench.small ? quick : full
  const serving = await serveCallgate({
    ...environmentOf(bench),
    CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z',
  })
  const load = startLoad()
  try {
    const shape = { connections: 4, seconds, perSecond }
    const order = { ...predialsOf(serving.url, serving.sandboxKey, 'allow:'), ...shape }
    await load.run(order)
    const quiet: LoadResult[] = []
    for (let round = 0; round < quietRounds; round += 1) quiet.push(await load.run(order))
    const during: LoadResult[] = []
    let importing = true
    const args = ['import', 'us-dnc', '--as-of', '2026-11-19', ...bench.files]
    const done = measuredCommand(args, environmentOf(bench))
      .then(() => sleep(takenUpWithinMs))
      .finally(() => {
        importing = false
      })
    while (importing) during.push(await load.run(order))
    await done
    print(quiet, during, seconds)
  } finally {
    load.end()
    await serving.end()
  }
}

const p99Of = (result: LoadResult) => quantileOf(latenciesOf([result]), 0.99)

function print(quiet: readonly LoadResult[], during: readonly LoadResult[], seconds: number): void {
  const [before, meanwhile] = [quiet, during].map((rounds) => spreadOf(rounds.map(p99Of)))
  const row = (name: string, rounds: readonly LoadResult[]) => {
    const p99 = spreadOf(rounds.map(p99Of))
    const p50 = spreadOf(rounds.map((result) => quantileOf(latenciesOf([result]), 0.5)))
    const longest = quantileOf(latenciesOf(rounds), 1)
    const withheld = latenciesOf(rounds, 'withheld').length
    const other = rounds.reduce((sum, { wrong, cut }) => sum + wrong + cut, withheld)
    const figures = [p50.median, p99.median, p99.max, longest, other].map(figure)
    return [name, ...figures, String(rounds.length)]
  }
  printTable(
    [
      `pre-dial at ${perSecond}/s`,
      'p50 ms',
      'p99 ms',
      'worst p99',
      'longest',
      'not allowed',
      `rounds of ${seconds} s`,
    ],
    [row('quiet', quiet), row('while a version is imported and taken up', during)],
  )
  printTable(
    ['ratio to quiet', 'p99', 'aim'],
    [
      [
        'median of the rounds',
        figure((meanwhile?.median ?? Number.NaN) / (before?.median ?? 0)),
        '3',
      ],
    ],
  )
}
