/**
 * Random sequences of opt-outs, removals, consents, clocks that jump, restarts and switches, against a
 * model that knows no date: an opt-out in force is never overridden by a consent stored before it, and
 * one that was taken off the list revives none. By hand for longer:
 * `CALLGATE_SEARCH_STEPS=200000 CALLGATE_SEARCH_SEED=7 npx vitest run test/service/opt-out-search.test.ts`
 */
import { expect, test } from 'vitest'
import { createOptOuts } from '../../src/app/service.js'
import { type Caller, noLimits, type Role } from '../../src/domain/caller.js'
import { formatDay, formatInstant } from '../../src/domain/time/dates.js'
import { AppError } from '../../src/errors.js'
import { shortOrLong } from '../support/long.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { openTwoAccounts, shareLists } from '../support/two-accounts.js'

const steps = Number(process.env.CALLGATE_SEARCH_STEPS ?? shortOrLong(500, 1_500))
const seed = Number(process.env.CALLGATE_SEARCH_SEED ?? 20_261_123)
const stepsPerSequence = 50
const monday = Date.UTC(2026, 10, 23, 17)
const dayMs = 86_400_000
const numbers = ['2127361000', '2127361001', '2127361002']

type Project = 'master' | 'SALES'
const projects: readonly Project[] = ['master', 'SALES']

/** What was acknowledged, in order; dates and clocks do not occur in it. */
class Model {
  #step = 0
  /** Opt-outs by list and number: the step of the latest, and whether the number is on the list. */
  readonly #optOuts = new Map<string, { step: number; onList: boolean }>()
  /** The permission in force by project and number. */
  readonly #permissions = new Map<string, { step: number; lifts: boolean }>()
  inheritsList = false
  inheritsRecords = false
  agentsMayRemove = false
  ignoresRepeatedAdd = false

  listOf(project: Project): Project {
    return this.inheritsList ? 'master' : project
  }

  recordsOf(project: Project): Project {
    return this.inheritsRecords ? 'master' : project
  }

  add(project: Project, number: string): void {
    this.#step += 1
    const key = `${this.listOf(project)} ${number}`
    if (this.ignoresRepeatedAdd && this.#optOuts.get(key)?.onList) return
    this.#optOuts.set(key, { step: this.#step, onList: true })
  }

  /** Somebody has said it, so it counts also where repeated adds are ignored. */
  report(number: string): void {
    this.#step += 1
    for (const list of this.inheritsList ? (['master'] as const) : projects) {
      this.#optOuts.set(`${list} ${number}`, { step: this.#step, onList: true })
    }
  }

  remove(project: Project, number: string): void {
    const entry = this.#optOuts.get(`${this.listOf(project)} ${number}`)
    if (entry) entry.onList = false
  }

  /** A permission outlasts every other record and is replaced by another one. */
  record(
    project: Project,
    number: string,
    told: { type: string; keep: boolean; role: Role },
  ): void {
    this.#step += 1
    const key = `${this.recordsOf(project)} ${number}`
    const lifts = told.role !== 'Agent' || this.agentsMayRemove
    if (told.type === 'P') this.#permissions.set(key, { step: this.#step, lifts })
    else if (!told.keep) this.#permissions.delete(key)
  }

  removeRecord(project: Project, number: string): void {
    this.#permissions.delete(`${this.recordsOf(project)} ${number}`)
  }

  /** What is on the list a project leaves is put on the one it is judged by from then on. */
  inheritList(inherits: boolean): void {
    if (inherits === this.inheritsList) return
    const [from, to] = inherits ? ['SALES', 'master'] : ['master', 'SALES']
    for (const number of numbers) {
      const [left, kept] = [
        this.#optOuts.get(`${from} ${number}`),
        this.#optOuts.get(`${to} ${number}`),
      ]
      if (!left) continue
      const step = Math.max(left.step, kept?.step ?? 0)
      this.#optOuts.set(`${to} ${number}`, { step, onList: left.onList || kept?.onList === true })
    }
    this.inheritsList = inherits
  }

  /** Whether a permission may act for the number: whatever the dates, it must be the later of the two. */
  permissionMayAct(project: Project, number: string): boolean {
    const optOut = this.#optOuts.get(`${this.listOf(project)} ${number}`)
    const permission = this.#permissions.get(`${this.recordsOf(project)} ${number}`)
    if (!permission) return false
    if (!optOut) return true
    return permission.step > optOut.step && (permission.lifts || !optOut.onList)
  }

  isOnList(project: Project, number: string): boolean {
    return this.#optOuts.get(`${this.listOf(project)} ${number}`)?.onList === true
  }
}

/** Mulberry32: from 0 up to, not including, 1. */
function randomOf(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

class Search {
  running: TestCallgate
  readonly #random = randomOf(seed)
  #model = new Model()
  #account = ''
  #trace: string[] = []
  readonly counts = { checks: 0, overrides: 0, blocked: 0, allows: 0, restarts: 0 }

  constructor(running: TestCallgate) {
    this.running = running
  }

  async begin(index: number): Promise<void> {
    this.#account = `account-${index}`
    this.#model = new Model()
    this.#trace = []
    const { accounts, projects: subject } = this.running.callgate
    await accounts.ensure({ id: this.#account, kind: 'real', name: 'Search' })
    await shareLists(this.running.callgate, this.#account)
    await subject.create({ accountId: this.#account, code: 'SALES', name: 'Sales' })
    await this.running.setBack(monday)
  }

  async step(): Promise<void> {
    await this.#pickAct()()
    for (const project of projects) await this.#check(project)
  }

  #pickAct(): () => Promise<void> {
    let left = this.#random() * this.#acts.reduce((sum, [share]) => sum + share, 0)
    for (const [share, act] of this.#acts) {
      left -= share
      if (left < 0) return act
    }
    throw new RangeError('no act was picked')
  }

  /** What may be done, by how often. */
  readonly #acts: readonly (readonly [number, () => Promise<void>])[] = [
    [30, () => this.#record()],
    [18, () => this.#add()],
    [4, () => this.#report()],
    [8, () => this.#remove()],
    [3, () => this.#removeRecord()],
    [20, () => this.#moveClock()],
    [4, () => this.#acceptClock()],
    [8, () => this.#switch()],
    [0.4, () => this.#restart()],
  ]

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)] as Value
  }

  #someone(): Caller {
    const role = this.#pick<Role>(['Administrator', 'Administrator', 'Supervisor', 'Agent'])
    return { accountId: this.#account, role, keyId: `key-${role}`, limits: noLimits }
  }

  #about() {
    const project = this.#pick(projects)
    const number = this.#pick(numbers)
    return { project, number, projectId: project === 'master' ? undefined : project }
  }

  async #add(): Promise<void> {
    const { project, number, projectId } = this.#about()
    const request = { numbers: [number], projectId, ignoreInvalid: false }
    await this.running.callgate.service.internalDnc.add(this.#someone(), request)
    this.#model.add(project, number)
    this.#note(`add ${number} ${project}`)
  }

  async #report(): Promise<void> {
    const { project, number, projectId } = this.#about()
    await createOptOuts(this.running.callgate).record(this.#someone(), {
      number,
      projectId,
      scope: 'everything',
      channel: 'agent',
      source: 'search',
    })
    this.#model.report(number)
    this.#note(`report ${number} ${project}`)
  }

  async #remove(): Promise<void> {
    const { project, number, projectId } = this.#about()
    const caller = this.#someone()
    const refused = caller.role === 'Agent' && !this.#model.agentsMayRemove
    try {
      await this.running.callgate.service.internalDnc.remove(caller, {
        numbers: [number],
        projectId,
      })
      expect(refused).toBe(false)
    } catch (error) {
      if (!(error instanceof AppError) || !refused) throw error
      return
    }
    this.#model.remove(project, number)
    this.#note(`remove ${number} ${project}`)
  }

  async #record(): Promise<void> {
    const { project, number, projectId } = this.#about()
    const caller = this.#someone()
    const type = this.#pick(['P', 'P', 'P', 'S', 'I'])
    const keep = this.#random() < 0.3
    const latest = Math.floor(this.running.clock.at / dayMs) + 1
    const day = latest - Math.floor(this.#random() * this.#random() * 6)
    const at = Math.min(day * dayMs + Math.floor(this.#random() * dayMs), latest * dayMs)
    const dateOfLastContact = this.#random() < 0.5 ? formatDay(day) : formatInstant(at)
    const records = [{ phoneNumber: number, type, dateOfLastContact }]
    await this.running.callgate.service.ebrRecords.record(caller, {
      records,
      projectId,
      keepBetterEbr: keep,
    })
    this.#model.record(project, number, { type, keep, role: caller.role })
    this.#note(
      `record ${type} of ${dateOfLastContact} keep ${keep} ${caller.role} ${number} ${project}`,
    )
  }

  async #removeRecord(): Promise<void> {
    const { project, number, projectId } = this.#about()
    const request = { numbers: [number], projectId }
    await this.running.callgate.service.ebrRecordList.remove(this.#someone(), request)
    this.#model.removeRecord(project, number)
    this.#note(`remove record ${number} ${project}`)
  }

  /** Mostly around noon of some day, so that calling hours seldom hide an allow. */
  async #moveClock(): Promise<void> {
    const days = Math.floor(this.#random() * 5) - 2
    const to =
      this.running.clock.at + days * dayMs + Math.floor((this.#random() - 0.45) * 7_200_000)
    this.running.clock.at = Math.abs(to - monday) > 12 * dayMs ? monday : to
    this.#note(`clock ${formatInstant(this.running.clock.at)}`)
  }

  async #acceptClock(): Promise<void> {
    await this.running.setBack(this.running.clock.at)
    this.#note('accept the clock')
  }

  async #switch(): Promise<void> {
    const { projects: subject, accounts } = this.running.callgate
    const ref = { accountId: this.#account, code: 'SALES' }
    const to = this.#random() < 0.5
    switch (this.#pick(['list', 'records', 'agents', 'repeated'] as const)) {
      case 'list':
        await subject.set(ref, { inheritsInternalDnc: to })
        this.#model.inheritList(to)
        return this.#note(`inherits the list ${to}`)
      case 'records':
        await subject.set(ref, { inheritsEbr: to })
        this.#model.inheritsRecords = to
        return this.#note(`inherits the records ${to}`)
      case 'agents':
        await accounts.set(this.#account, { agentsMayRemove: to })
        this.#model.agentsMayRemove = to
        return this.#note(`agents may remove ${to}`)
      case 'repeated':
        await accounts.set(this.#account, { repeatedAdd: to ? 'ignored' : 'ends-consent' })
        this.#model.ignoresRepeatedAdd = to
        return this.#note(`repeated add is ignored ${to}`)
    }
  }

  async #restart(): Promise<void> {
    const { dataDir, clock } = this.running
    await this.running.stop()
    this.running = await openTestCallgate({ dataDir, at: clock.at })
    this.counts.restarts += 1
    this.#note('restart')
  }

  async #check(project: Project): Promise<void> {
    const projectId = project === 'master' ? undefined : project
    const { service, gate } = this.running.callgate
    const items = numbers.map((phone) => ({ phone }))
    const query = { items, version: 8, projectId } as const
    const { value: rows } = await service.scrub.streamRows(this.#account, query).next()
    for (const { phone, letter, ebrType } of rows ?? []) {
      this.counts.checks += 1
      const onList = this.#model.isOnList(project, phone)
      const acts = ['H', 'O', 'G', 'E'].includes(letter) && ebrType === 'P'
      const why = `seed ${seed}: ${phone} ${project} has letter ${letter}\n${this.#trace.join('\n')}`
      expect(['P', 'H', 'W', 'G'], why).toContain(letter)
      if (acts) expect(this.#model.permissionMayAct(project, phone), why).toBe(true)
      if (onList) expect(letter === 'P' || acts, why).toBe(true)
      else expect(letter, why).not.toBe('P')
      if (onList && acts) this.counts.overrides += 1
      if (letter === 'P') this.counts.blocked += 1
    }
    const dialed = this.#pick(numbers)
    const { decision, reason } = await gate.preview({
      accountId: this.#account,
      dialed,
      callKind: 'ai',
      via: 'check',
      projectId,
    })
    if (decision === 'block') return
    this.counts.allows += 1
    const why = `seed ${seed}: ${dialed} ${project} ${reason}\n${this.#trace.join('\n')}`
    expect(this.#model.permissionMayAct(project, dialed), why).toBe(true)
    expect(this.running.callgate.changeHead.getLagMs(), why).toBe(0)
  }

  #note(line: string): void {
    this.#trace.push(line)
  }
}

test('no opt-out in force is overridden by a consent stored before it', {
  timeout: 0,
}, async () => {
  const search = new Search((await openTwoAccounts()).running)
  try {
    for (let step = 0; step < steps; step += 1) {
      if (step % stepsPerSequence === 0) await search.begin(step / stepsPerSequence)
      await search.step()
    }
  } finally {
    await search.running.end()
  }
  const { checks, overrides, blocked, allows } = search.counts
  process.stdout.write(`seed ${seed}, ${steps} steps: ${JSON.stringify(search.counts)}\n`)
  // A search that never sees an override, a block or an allow would prove nothing.
  expect([overrides, blocked, allows].every((count) => count > checks / 100)).toBe(true)
})
