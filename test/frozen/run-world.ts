/** Lets a world happen: its acts in order, and of each call what is compared. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getFactsFolder, getListsFolder } from '../../src/app/data-folders.js'
import { refreshData } from '../../src/commands/serve/data-watch.js'
import { type FactFeedName, factFeeds } from '../../src/data/facts/fact-feeds.js'
import { importFacts } from '../../src/data/facts/fact-import.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import type { RecordedSaid } from '../../src/domain/words/words.js'
import { withTimeout } from '../../src/runtime/runtime.js'
import { DoNotOriginate } from '../../src/service/accounts/do-not-originate.js'
import type { FakeRequest } from '../support/fake-asterisk.js'
import { instant } from '../support/test-clock.js'
import type { Answer, Client, Request } from './client.js'
import { type OpenWorld, openWorld } from './open-world.js'
import type {
  Call,
  Door,
  List,
  Result,
  Sent,
  Step,
  Tuple,
  VendorFault,
  VendorQuestion,
  World,
} from './script.js'
import { listSaid, readTuple } from './tuple.js'

/** `said` is what the decisions said. */
export async function runWorld(
  world: World,
): Promise<Result & { readonly said: readonly RecordedSaid[] }> {
  const open = await openWorld(world)
  try {
    const run = new Run(open)
    for (const step of world.steps) await run.take(step)
    return { tuples: run.tuples, acts: run.acts, said: run.said }
  } catch (cause) {
    throw new Error(`world ${world.name}`, { cause })
  } finally {
    await open.close()
  }
}

const questions: readonly VendorQuestion[] = ['scrub', 'internal-dnc', 'litigator', 'legal-time']

class Run {
  readonly tuples: Tuple[] = []
  readonly acts: number[] = []
  readonly said: RecordedSaid[] = []
  readonly #open: OpenWorld
  /** Answers by name, and keys as answers with the member `key`. */
  readonly #named = new Map<string, unknown>()
  #channels = 0

  constructor(open: OpenWorld) {
    this.#open = open
    for (const [name, key] of Object.entries(open.keys)) this.#named.set(name, { key })
  }

  async take(step: Step): Promise<void> {
    switch (step[0]) {
      case 'pass':
        return await this.#open.time.pass(step[1])
      case 'wall':
        return this.#open.time.setWall(instant(step[1]))
      case 'list':
        return await this.#importList(step[1])
      case 'damage':
        return await this.#damage(step[1])
      case 'facts':
        return await this.#importFacts(step[1] as FactFeedName, step[2], step[3])
      case 'settings':
        return await this.#open.reload(step[1])
      case 'rows':
        this.#vendor(step[1]).rows = step[2]
        return
      case 'fault':
        return this.#setFault(step[1], step[2], step[3])
      case 'send':
        return await this.#send(step[1])
      case 'project':
        return await this.#createProjects(step[1], step[2])
      case 'do-not-originate':
        return await this.#replaceDoNotOriginate(step[1])
      case 'approve':
        return await this.#approve(step[1])
      case 'report': {
        const path = `/v1/decisions/{${step[1]}.id}/outcome`
        const key = step[3] ?? 'sandbox'
        return await this.#send({ method: 'POST', path, key, body: step[2] })
      }
      case 'call':
        this.tuples.push(await this.#call(step[1], this.#open.client))
        return
      case 'pair':
        return await this.#callBoth(step[1], step[2])
    }
  }

  async #importList({ name, numbers, asOf, areaCodes }: List): Promise<void> {
    const { callgate, dataDir, time } = this.#open
    const file = join(dataDir, `${name}.txt`)
    writeFileSync(file, numbers.map((number) => `${number}\n`).join(''))
    const folder = getListsFolder(callgate.settings)
    const { clock } = time.runtime
    const any = { allowShrink: true, allowOlder: true, keepVersions: 0 }
    await importList({ name, files: [file], folder, asOf: instant(asOf), areaCodes, clock, ...any })
    await refreshData(callgate)
  }

  /** The file of a list becomes unreadable. */
  async #damage(name: string): Promise<void> {
    const { callgate } = this.#open
    const folder = getListsFolder(callgate.settings)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${name}.cglist`), 'damaged')
    await refreshData(callgate)
  }

  async #importFacts(feed: FactFeedName, name: string, text: string): Promise<void> {
    const { callgate, dataDir, time } = this.#open
    const folder = getFactsFolder(callgate.settings)
    if (text === '') {
      rmSync(join(folder, `${feed}.sqlite`))
    } else {
      const path = join(dataDir, name)
      writeFileSync(path, text)
      const files = { files: [path], folder, allowShrink: true }
      await importFacts({ feed: factFeeds[feed], ...files, clock: time.runtime.clock })
    }
    await refreshData(callgate)
  }

  async #createProjects(code: string, flags: object): Promise<void> {
    const { projects } = this.#open.callgate
    for (const accountId of ['main', 'sandbox']) {
      await projects.create({ accountId, code, name: code, ...flags })
    }
  }

  async #replaceDoNotOriginate(prefixes: readonly string[]): Promise<void> {
    const { callgate, time } = this.#open
    const lists = new DoNotOriginate({ storage: callgate.storage, clock: time.runtime.clock })
    await lists.replace('registry', prefixes, 'operator')
  }

  #vendor(which: number) {
    const vendor = this.#open.vendors[which]
    if (!vendor) throw new TypeError(`there is no vendor ${which}`)
    return vendor
  }

  #setFault(which: number, question: VendorQuestion | 'all', fault: VendorFault | 'none'): void {
    const { faults } = this.#vendor(which)
    for (const one of question === 'all' ? questions : [question]) {
      if (fault === 'none') faults.delete(one)
      else faults.set(one, fault)
    }
  }

  async #send({ method, path, key, body, as }: Sent): Promise<void> {
    const request = {
      method,
      path: this.#fill(path),
      key: this.#keyOf(key),
      body: this.#fill(body),
    }
    const answer = await this.#answerOf(this.#open.client, request)
    this.acts.push(answer.status)
    if (as !== undefined) this.#named.set(as, readJson(answer.text))
  }

  /** The first call that waits, if there is one. */
  async #approve(verdict: string): Promise<void> {
    const key = 'second-sandbox'
    const path = '/v1/approvals'
    await this.#send({ method: 'GET', path: `${path}?state=waiting`, key, as: 'waiting' })
    const first = '{waiting.approvals.0'
    const body = { verdict, subjectHash: `${first}.subjectHash}` }
    await this.#send({ method: 'POST', path: `${path}/${first}.id}`, key, body })
  }

  /** The other one comes over a connection of its own. */
  async #callBoth(one: Call, other: Call): Promise<void> {
    const { client, connect } = this.#open
    const second = await connect()
    try {
      const calls = [this.#call(one, client), this.#call(other, second)]
      this.tuples.push(...(await Promise.all(calls)))
    } finally {
      second.close()
    }
  }

  async #call(call: Call, client: Client): Promise<Tuple> {
    const { door, as } = call
    if (door === 'ari') return await this.#enter(call)
    const answer = await this.#answerOf(client, this.#toRequest(door, call))
    if (as !== undefined) this.#named.set(as, readJson(answer.text))
    if (door === 'decide' && answer.status === 200) {
      this.said.push(...listSaid(JSON.parse(answer.text)))
    }
    return readTuple(door, answer)
  }

  #toRequest(door: Exclude<Door, 'ari'>, { key = '', fields, idempotencyKey }: Call): Request {
    const filled = this.#fill(fields)
    const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }
    const common = { key: key === '' ? '' : this.#keyOf(key), headers }
    if (door === 'predial') {
      const query = new URLSearchParams(filled as Record<string, string>)
      return { ...common, method: 'GET', path: `/v1/predial?${query}` }
    }
    return { ...common, method: 'POST', path: paths[door], body: filled }
  }

  /** Waits for the answer, letting time pass only while a vendor is silent and nothing else goes on. */
  async #answerOf(client: Client, request: Request): Promise<Answer> {
    const { vendors, time } = this.#open
    let answer: Answer | undefined
    const answering = client.send(request).then((came) => {
      answer = came
      return came
    })
    answering.catch(() => undefined)
    if (vendors.some((vendor) => vendor.mayBeSilent)) {
      while (!(await quiet(() => answer !== undefined))) {
        if (vendors.some(({ silent }) => silent > 0)) await time.passToNext()
      }
    }
    return await soon(answering, request)
  }

  /** A channel enters the application; what it is told is the answer. */
  async #enter({ fields }: Call): Promise<Tuple> {
    const { asterisk } = this.#open
    if (!asterisk) throw new TypeError('the world has no Asterisk')
    this.#channels += 1
    const id = `channel-${this.#channels}`
    const { number = '', from = '', ...facts } = this.#fill(fields) as Record<string, string>
    const args = [number, ...Object.entries(facts).map(([name, value]) => `${name}=${value}`)]
    const channel = {
      id,
      name: `PJSIP/phones-${this.#channels}`,
      caller: { number: from },
      dialplan: { app_name: 'Stasis', app_data: ['callgate', ...args].join(',') },
    }
    const told = new Promise<Readonly<Record<string, string>>>((resolve) => {
      asterisk.changed = () => {
        const left = asterisk.requests.find(
          ({ operation, path }) =>
            (operation === 'channels.continueInDialplan' || operation === 'channels.hangup') &&
            path.includes(id),
        )
        if (left) resolve(variablesOf(asterisk.requests, id))
      }
    })
    asterisk.send({ type: 'StasisStart', channel, args })
    const variables = await told
    asterisk.requests.length = 0
    asterisk.send({ type: 'StasisEnd', channel })
    return readTuple('ari', { status: 0, text: JSON.stringify(variables) })
  }

  #keyOf(name: string): string {
    const named = this.#named.get(name) as { readonly key?: string } | undefined
    if (named?.key === undefined) throw new TypeError(`there is no key '${name}'`)
    return named.key
  }

  /** With the members of named answers in place of `{name.member}`. */
  #fill<T>(value: T): T {
    if (value === undefined) return value
    const text = JSON.stringify(value)
    if (!text.includes('{')) return value
    const filled = text.replace(/\{([a-z0-9-]+)\.([\w.]+)\}/g, (_, name: string, path: string) => {
      const found = path
        .split('.')
        .reduce<unknown>(
          (one, member) => (one as Record<string, unknown>)?.[member],
          this.#named.get(name),
        )
      if (typeof found !== 'string' && typeof found !== 'number') return `no-${path}`
      return String(found)
    })
    return JSON.parse(filled) as T
  }
}

const paths = {
  decide: '/v1/decisions',
  preview: '/v1/decisions/preview',
  permit: '/v1/permits',
  use: '/v1/permits/use',
} as const

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** As `ARRAY(A,B)` in one request. */
function variablesOf(
  requests: readonly FakeRequest[],
  id: string,
): Readonly<Record<string, string>> {
  const told = requests.filter(
    ({ operation, path }) => operation === 'channels.setChannelVar' && path.includes(id),
  )
  return Object.fromEntries(
    told.flatMap(({ query: { variable = '', value = '' } }) => {
      const names = variable.replace(/^ARRAY\(|\)$/g, '').split(',')
      const values = value.split(',')
      return names.map((name, index) => [name, values[index] ?? ''])
    }),
  )
}

/** Of real time: longer than anything takes that ends at all. */
const patienceMs = 60_000

/** An answer that never comes is an error of its own. */
async function soon(answering: Promise<Answer>, request: Request): Promise<Answer> {
  const late = () => Promise.reject(new Error(`no answer to ${JSON.stringify(request)}`))
  return await withTimeout(answering, patienceMs, late)
}

const quietTurns = 40

/** True when it is done; false when for many turns of the event loop no file was written and nothing came. */
async function quiet(isDone: () => boolean): Promise<boolean> {
  for (let turns = 0; turns < quietTurns && !isDone(); turns += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) turns = 0
  }
  return isDone()
}
