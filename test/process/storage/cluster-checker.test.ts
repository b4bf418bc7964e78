/**
 * Three servers over one PostgreSQL, random opt-outs, removals and decisions, and faults meanwhile: a line that is
 * held up or cut, a server that is killed or frozen, PostgreSQL paused, all its connections ended, or only the
 * news of changes held up. Then what the callers saw is compared with the promise. The long form does a thousand rounds, and
 * must find each of five bugs that are planted on purpose.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'
import { shortOrLong } from '../../support/long.js'
import {
  findForbiddenAllows,
  findOptedOut,
  type ListChange,
  type SeenDecision,
} from '../../support/opt-out-history.js'

type History = (ListChange | SeenDecision)[]

const areaCodes =
  '212 718 646 917 347 516 914 201 973 908 732 609 215 267 610 717 412 724 302 410 301 443 202 703 804 757 540 919 ' +
  '704 336 910 803 843 864 404 770 678 706 912 305 786 954 561 813 727 407 321 850 904 614 216 513 937 313 248'
/** Lines of the sandbox that nothing blocks; only some of them at a time, so that changes meet. */
const lines = areaCodes.split(' ').flatMap((code) => [`${code}5550100`, `${code}5550102`])
const linesPerRound = 24
/** Of those, how many are put on the list once at most, so that no second opt-out hides the loss of the first. */
const linesOptedOutOnce = 12
const callers = 6

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

class Checker {
  /** Of the latest round. */
  history: History = []
  readonly faults: string[] = []
  #onlyOnce: ReadonlySet<string | undefined> = new Set()
  /** Those that have not been opted out in this round. */
  #once = new Set<string | undefined>()
  readonly #cluster: Cluster
  readonly #random: () => number

  constructor(cluster: Cluster, random: () => number) {
    this.#cluster = cluster
    this.#random = random
  }

  /** A second or two of calls with one fault, and a look at every server once all is well again. */
  async runRound(round: number): Promise<undefined> {
    this.history = []
    const from = (round * linesPerRound) % lines.length
    const numbers = Array.from(
      { length: linesPerRound },
      (_, i) => lines[(from + i) % lines.length],
    )
    for (const number of numbers)
      await this.#change(this.#pick(this.#cluster.nodes), 'remove', number ?? '')
    this.#onlyOnce = new Set(numbers.slice(0, linesOptedOutOnce))
    this.#once = new Set(this.#onlyOnce)
    let isOver = false
    const call = async () => {
      while (!isOver) await this.#act(this.#pick(numbers) ?? '')
    }
    const calling = Array.from({ length: callers }, call)
    await pause(300)
    await this.#breakSomething()
    await pause(700)
    isOver = true
    await Promise.all(calling)
    await this.#verifyLists()
    return undefined
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)] as Value
  }

  async #act(number: string): Promise<void> {
    const node = this.#pick(this.#cluster.nodes)
    const chance = this.#random()
    if (chance < 0.7) return await this.#decide(node, number)
    const isOnce = this.#onlyOnce.has(number)
    if (!isOnce) return await this.#change(node, chance < 0.94 ? 'add' : 'remove', number)
    if (this.#once.delete(number)) await this.#change(node, 'add', number)
  }

  async #decide({ name, serving }: ClusterNode, number: string): Promise<void> {
    const sentAt = Date.now()
    try {
      const response = await this.#send(serving.url, '/v1/decisions', {
        number,
        callKind: 'manual',
      })
      const { decision, decidedAt } = (await response.json()) as Record<string, string>
      const notBefore = Math.max(sentAt, Date.parse(decidedAt ?? '') || 0)
      const isAllowed = decision === 'allow'
      const receivedAt = Date.now()
      this.history.push({
        kind: 'decision',
        number,
        server: name,
        notBefore,
        receivedAt,
        isAllowed,
      })
    } catch {
      // No answer is no allow.
      await pause(20)
    }
  }

  async #change({ name, serving }: ClusterNode, kind: 'add' | 'remove', number: string) {
    const sentAt = Date.now()
    let acknowledgedAt = Number.POSITIVE_INFINITY
    try {
      const change = { phoneList: number, actionType: kind }
      const { ok } = await this.#send(serving.url, '/app/main/rpc/pdnc', change)
      if (ok) acknowledgedAt = Date.now()
    } catch {
      // It may be stored or not.
    }
    this.history.push({ kind, number, server: name, sentAt, acknowledgedAt })
  }

  #send(url: string, path: string, body: object): Promise<Response> {
    return fetch(`${url}${path}`, {
      method: 'POST',
      headers: { loginId: this.#cluster.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
  }

  async #breakSomething(): Promise<void> {
    const { nodes, query, postgres } = this.#cluster
    const node = this.#pick(nodes)
    const forMs = 200 + this.#random() * 2_300
    const faults: Readonly<Record<string, () => Promise<void>>> = {
      'line held up': async () => {
        node.line.pause()
        await pause(forMs)
        node.line.resume()
      },
      'line cut': async () => {
        node.line.cut()
        await pause(forMs / 2)
        node.line.cut()
      },
      killed: async () => {
        await node.serving.end('SIGKILL')
        await node.restart()
      },
      frozen: async () => {
        node.serving.signal('SIGSTOP')
        await pause(forMs)
        node.serving.signal('SIGCONT')
      },
      'PostgreSQL paused': async () => {
        postgres.signal('SIGSTOP')
        await pause(forMs / 2)
        postgres.signal('SIGCONT')
      },
      // All else goes on, so only the age of what the server knows shows that it is missing something.
      'news of changes held up': async () => {
        node.line.pause('callgate changes')
        await pause(1_200 + forMs / 2)
        node.line.resume()
      },
      'all connections ended': async () => {
        await query(
          "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name like 'callgate%'",
        )
      },
      nothing: () => pause(forMs),
    }
    const what = this.#pick(Object.keys(faults))
    this.faults.push(`${what} ${node.name}`)
    await faults[what]?.()
  }

  /** An acknowledged opt-out that nobody took back is enforced by each server once it is ready again. */
  async #verifyLists(): Promise<void> {
    for (const node of this.#cluster.nodes) {
      await until(
        `${node.name} is ready`,
        async () => (await fetch(`${node.serving.url}/readyz`)).ok,
      )
    }
    for (const number of findOptedOut(this.history)) {
      for (const node of this.#cluster.nodes) {
        await until(`${number} is blocked by ${node.name}`, async () => {
          await this.#decide(node, number)
          const last = this.history.at(-1)
          return last?.kind === 'decision' && last.number === number && !last.isAllowed
        })
      }
    }
  }
}

interface Checked {
  /** What breaks the promise; `undefined` if nothing did. */
  readonly broken: string | undefined
  readonly allows: number
}

async function check(rounds: number, program?: string): Promise<Checked> {
  const cluster = await openCluster({ count: 3, ...(program !== undefined && { program }) })
  const checker = new Checker(cluster, randomFrom(seed))
  const counts = { decisions: 0, allows: 0, optOuts: 0, removals: 0 }
  let broken: string | undefined
  let round = 0
  try {
    while (round < rounds && broken === undefined) {
      broken = await checker.runRound(round).catch(String)
      const [forbidden] = findForbiddenAllows(checker.history)
      if (forbidden) broken ??= JSON.stringify(forbidden)
      for (const one of checker.history) {
        if (one.kind === 'decision') counts.decisions += 1
        if (one.kind === 'decision' && one.isAllowed) counts.allows += 1
        if (one.kind === 'add') counts.optOuts += 1
        if (one.kind === 'remove') counts.removals += 1
      }
      round += 1
      if (broken !== undefined) process.stdout.write(`checker: round ${round}: ${broken}\n`)
    }
  } finally {
    await cluster.close()
  }
  const lastFaults = checker.faults.slice(-2).join(', ')
  process.stdout.write(
    `checker: seed ${seed}, ${round} rounds, ${JSON.stringify(counts)}, last: ${lastFaults}; ${broken ?? 'nothing broken'}\n`,
  )
  return { broken, allows: counts.allows }
}

it('no server gives an allow that an opt-out acknowledged by another a second ago forbids, and none is lost', {
  timeout: shortOrLong(240_000, 7_200_000),
}, async () => {
  const { broken, allows } = await check(shortOrLong(20, 1_000))
  expect(broken).toBeUndefined()
  expect(allows).toBeGreaterThan(100)
})

/** Each of them would break the promise. */
const plantedBugs: Readonly<
  Record<string, readonly [file: string, text: string, instead: string]>
> = {
  'changes are not passed on': [
    'storage/postgres/postgres-feed.js',
    'await observer.numbersChanged(',
    'await Promise.resolve(',
  ],
  'a change does not name all of its numbers': [
    'storage/change-head.js',
    "numbers.join(',')",
    "numbers.slice(1).join(',')",
  ],
  'what is cached is kept over a reconnection': [
    'storage/postgres/postgres-feed.js',
    'observer.everythingChanged();\n            return {',
    'return {',
  ],
  'an allow leaves however old the knowledge is': [
    'gate/gate.js',
    'return ageMs <= this.#deps.settings.maxStalenessMs;',
    'return true;',
  ],
  'a write that failed is acknowledged': [
    'service/sql/account-transaction.js',
    'return await retryWhileLocked(once);',
    'return await retryWhileLocked(once).catch(() => ({}));',
  ],
}

/** A copy of the built program with the bug, beside it, where it finds what it needs. */
function plant(bug: keyof typeof plantedBugs): string {
  const [file, text, instead] = plantedBugs[bug] ?? ['', '', '']
  const root = join(import.meta.dirname, '../../..')
  const folder = mkdtempSync(join(root, 'dist-planted-'))
  cpSync(join(root, 'dist'), folder, { recursive: true })
  const source = readFileSync(join(folder, file), 'utf8')
  expect(source, `${file} has the place for: ${bug}`).toContain(text)
  writeFileSync(join(folder, file), source.replace(text, instead))
  return folder
}

const planted = shortOrLong(0, 1) === 1 ? Object.keys(plantedBugs) : []
it.each(planted)('finds the planted bug: %s', { timeout: 3_600_000 }, async (bug) => {
  const folder = plant(bug)
  try {
    expect((await check(100, join(folder, 'main.js'))).broken).toBeDefined()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
