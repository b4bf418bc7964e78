/** Random opt-outs, consents, scans and decisions on several servers and an edge, a fault meanwhile, and what the callers saw. */
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../e2e/asterisk/lab/until.js'
import type { Cluster, ClusterNode } from './cluster.js'
import { findForbidden, type SeenChange, type SeenDecision } from './opt-out-history.js'
import { startStandby } from './postgres-server.js'
import { callgate } from './program.js'
import type { ScanReceiver } from './scan-receiver.js'

type History = (SeenChange | SeenDecision)[]

const areaCodes =
  '212 718 646 917 347 516 914 201 973 908 732 609 215 267 610 717 412 724 302 410 301 443 202 703 804 757 540 919 ' +
  '704 336 910 803 843 864 404 770 678 706 912 305 786 954 561 813 727 407 321 850 904 614 216 513 937 313 248'
/** Lines of the sandbox that nothing blocks; only some of them at a time, so that changes meet. */
const lines = areaCodes.split(' ').flatMap((code) => [`${code}5550100`, `${code}5550102`])
const linesPerRound = 24
/** Of those, how many are put on the list once at most, so that no second opt-out hides the loss of the first. */
const linesOptedOutOnce = 12
/** Of codes whose states let wireless numbers be called with a consent. */
const consentLines = ['212', '404', '313', '503', '615', '317'].map((code) => `${code}5550101`)
const callers = 6

/** Numbers from 0 to 1, the same for the same start. */
export function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

export class Checker {
  /** Of the latest round. */
  history: History = []
  readonly faults: string[] = []
  #onlyOnce: ReadonlySet<string | undefined> = new Set()
  /** Those that have not been opted out in this round. */
  #once = new Set<string | undefined>()
  /** The scans that were acknowledged in the latest round. */
  scans: string[] = []
  readonly #cluster: Cluster
  readonly #receiver: ScanReceiver
  readonly #random: () => number

  constructor(cluster: Cluster, receiver: ScanReceiver, random: () => number) {
    this.#cluster = cluster
    this.#receiver = receiver
    this.#random = random
  }

  /** A second or two of calls with one fault, and a look at every server once all is well again. */
  async runRound(round: number, fault = () => this.#breakSomething()): Promise<undefined> {
    this.history = []
    const from = (round * linesPerRound) % lines.length
    const numbers = Array.from(
      { length: linesPerRound },
      (_, i) => lines[(from + i) % lines.length],
    )
    for (const number of numbers) await this.#change(this.#pickCenter(), 'permit', number ?? '')
    for (const number of consentLines) await this.#change(this.#pickCenter(), 'forbid', number)
    this.scans = []
    this.#onlyOnce = new Set(numbers.slice(0, linesOptedOutOnce))
    this.#once = new Set(this.#onlyOnce)
    let isOver = false
    const call = async () => {
      while (!isOver) await this.#act(this.#pick([...numbers, ...consentLines]) ?? '')
    }
    const calling = [...Array.from({ length: callers }, call), this.#scan()]
    await pause(300)
    await fault()
    await pause(700)
    isOver = true
    await Promise.all(calling)
    await this.#verifyLists()
    await this.#verifyJobs()
    return undefined
  }

  /** An edge takes opt-outs alone. */
  #pickCenter(): ClusterNode {
    return this.#pick(this.#cluster.nodes.filter(({ isEdge }) => !isEdge))
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)] as Value
  }

  async #act(number: string): Promise<void> {
    const node = this.#pick(this.#cluster.nodes)
    const chance = this.#random()
    if (chance < 0.7) return await this.#decide(node, number)
    if (needsConsent(number)) {
      return await this.#change(this.#pickCenter(), chance < 0.85 ? 'permit' : 'forbid', number)
    }
    if (this.#onlyOnce.has(number)) {
      if (this.#once.delete(number)) await this.#change(node, 'forbid', number)
    } else if (chance < 0.94) await this.#change(node, 'forbid', number)
    else await this.#change(this.#pickCenter(), 'permit', number)
  }

  async #decide({ name, serving }: ClusterNode, number: string): Promise<void> {
    const sentAt = Date.now()
    try {
      const response = await this.#send(serving.url, '/v1/decisions', {
        number,
        callKind: needsConsent(number) ? 'ai' : 'manual',
      })
      const { decision, decidedAt } = (await response.json()) as Record<string, string>
      const receivedAt = Date.now()
      const at = Date.parse(decidedAt ?? '') || 0
      // Another instant is that of a clock that was set.
      const notBefore = at > sentAt && at <= receivedAt ? at : sentAt
      const isAllowed = decision === 'allow'
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

  /** By an opt-out or the end of a consent, or by the opposite. */
  async #change(node: ClusterNode, kind: 'forbid' | 'permit', number: string) {
    const { name, serving, isEdge: isAtEdge } = node
    const [path, body] = needsConsent(number)
      ? buildConsentRequest(kind, number)
      : ['pdnc', { phoneList: number, actionType: kind === 'forbid' ? 'add' : 'remove' }]
    const sentAt = Date.now()
    let isAcknowledged = false
    try {
      isAcknowledged = (await this.#send(serving.url, `/app/main/rpc/${path}`, body)).ok
    } catch {
      // It may be stored or not.
    }
    const endedAt = Date.now()
    const answer = { sentAt, endedAt, isAcknowledged }
    this.history.push({ kind, number, server: name, isAtEdge, ...answer })
  }

  async #scan(): Promise<void> {
    try {
      const scan = {
        PhoneNumbers: ['2125550100'],
        NotificationURL: this.#receiver.url,
        ScanType: 'carrierandapps',
      }
      const path = '/v1.5/Reputation/OneTimeScan'
      const response = await this.#send(this.#pickCenter().serving.url, path, scan)
      const { JobId } = (await response.json()) as { JobId?: string }
      if (response.ok && JobId) this.scans.push(JobId)
    } catch {
      // It may be done or not, but not twice.
    }
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
      'primary killed, its synchronous standby promoted': async () => {
        const standby = await startStandby(postgres)
        await standby.confirmCommits()
        await this.#cluster.failOver(standby)
      },
      'answers of PostgreSQL lost': async () => {
        node.line.swallow('server')
        await pause(forMs)
        node.line.resume()
      },
      'questions to PostgreSQL lost': async () => {
        node.line.swallow('client')
        await pause(forMs)
        node.line.resume()
      },
      'clock set an hour back': async () => {
        node.setClock(-3_600_000)
        await pause(forMs)
        node.setClock(0)
      },
      // All others block until an operator accepts the clock.
      'clock set an hour ahead': async () => {
        node.setClock(3_600_000)
        await pause(forMs)
        node.setClock(0)
        const { code, err } = await callgate(['clock', 'accept'], this.#cluster.environment)
        if (code !== 0) throw new Error(err)
      },
      nothing: () => pause(forMs),
    }
    const what = this.#pick(Object.keys(faults))
    this.faults.push(`${what} ${node.name}`)
    await faults[what]?.()
  }

  async #verifyJobs(): Promise<void> {
    for (const job of this.scans) {
      await until(`the results of scan ${job} arrive`, () => this.#receiver.has(job))
    }
    const twice = this.#receiver.findDoneTwice()
    if (twice !== undefined) throw new Error(`scan ${twice} was done twice`)
  }

  /** An acknowledged opt-out that nobody took back is enforced by each server once it is ready again. */
  async #verifyLists(): Promise<void> {
    for (const node of this.#cluster.nodes) {
      await until(
        `${node.name} is ready`,
        async () => (await fetch(`${node.serving.url}/readyz`)).ok,
      )
    }
    for (const number of findForbidden(this.history)) {
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

/** The others are called by persons. */
export const needsConsent = (number: string) => number.endsWith('0101')

function buildConsentRequest(kind: 'forbid' | 'permit', number: string): readonly [string, object] {
  if (kind === 'forbid') return ['ebr/remove', { phoneList: number }]
  const record = { phoneNumber: number, type: 'P', dateOfLastContact: '11/23/2026' }
  return ['ebr', { ebrList: [record] }]
}
