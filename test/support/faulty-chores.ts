/** Commands and requests that have a server and its operator use the files that calls do not, and what must hold of them later. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { until } from '../e2e/asterisk/lab/until.js'
import { callgate, type Serving } from './program.js'

export type Chore = 'list' | 'facts' | 'backup' | 'erasure' | 'bundle' | 'reload'

/** Of the sandbox: it may be called, and was before the last start. */
const calledNumber = '2125550100'
/** Of the sandbox: it is on the internal list. */
const blockedNumber = '2125550104'

interface Bundle {
  readonly state: string
  readonly problem: string | null
}

interface Place {
  readonly dataDir: string
  /** For everything that must not be in the data folder. */
  readonly folder: string
  /** Of the commands. */
  readonly environment: Readonly<Record<string, string>>
}

export class FaultyChores {
  readonly #place: Place
  #serving: Serving
  #count = 0
  /** How many numbers the list and the facts have at least, once a command said so. */
  readonly #imported = { list: 0, facts: 0 }
  readonly #backups: string[] = []
  /** What must not be in the journal. */
  readonly #erased: string[] = []
  readonly #bundles: string[] = []

  constructor(place: Place, serving: Serving) {
    this.#place = place
    this.#serving = serving
  }

  /** Rejects if it failed, as it may while files fail. */
  async run(chore: Chore): Promise<void> {
    this.#count += 1
    await this.#chores[chore]()
  }

  readonly #chores: Readonly<Record<Chore, () => Promise<void>>> = {
    list: () => this.#import('list', ['import', 'litigators'], ''),
    facts: () => this.#import('facts', ['import', 'res-or-business'], ',R'),
    backup: async () => {
      const path = join(this.#place.folder, `backup-${this.#count}`)
      await this.#command(['backup', path])
      this.#backups.push(path)
    },
    erasure: async () => {
      const reference = `lead ${this.#count} of Jane Doe`
      const call = { number: blockedNumber, callKind: 'manual', reference }
      await this.#send('/v1/decisions', call)
      await this.#command(['erase', '--number', blockedNumber, '--yes', '--reason', 'a request'])
      this.#erased.push(reference)
    },
    bundle: async () => {
      const asked = { number: calledNumber, reason: 'a claim' }
      const { id } = await this.#send<{ id: string }>('/v1/evidence', asked)
      this.#bundles.push(id)
      const { state, problem } = await this.#endOf(id)
      if (state !== 'done') throw new Error(`a bundle has ${state}: ${problem}`)
    },
    reload: async () => {
      this.#serving.signal('SIGHUP')
    },
  }

  async #import(kind: 'list' | 'facts', command: readonly string[], cells: string): Promise<void> {
    const file = join(this.#place.folder, `${kind}.csv`)
    const numbers = Array.from({ length: this.#count }, (_, nth) => 2_125_551_000 + nth)
    writeFileSync(file, numbers.map((number) => `${number}${cells}\n`).join(''))
    await this.#command([...command, file])
    this.#imported[kind] = numbers.length
  }

  async #command(args: readonly string[]): Promise<void> {
    const { code, err } = await callgate(args, this.#place.environment)
    expect([code, err], args.join(' ')).toEqual([0, expect.anything()])
  }

  async #endOf(id: string): Promise<Bundle> {
    const ask = async () => {
      const bundle = await this.#send<Bundle>(`/v1/evidence/${id}`)
      if (!['waiting', 'packing'].includes(bundle.state)) return bundle
      throw new Error(JSON.stringify(bundle))
    }
    // It is packed at the lowest priority, after what else the machine does.
    return await until('the bundle has ended', ask, { withinMs: 180_000 })
  }

  async #send<Body>(
    path: string,
    body?: object,
    account: 'main' | 'sandbox' = 'sandbox',
  ): Promise<Body> {
    const response = await fetch(`${this.#serving.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { loginId: this.#serving.keys[account], 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Body
  }

  /** After a start on files that are sound: nothing that was said to be done is undone, and the chore can be done again. */
  async judge(serving: Serving, chore: Chore | undefined): Promise<void> {
    this.#serving = serving
    if (this.#imported.list > 0) {
      const { lists } = await this.#send<{
        readonly lists: readonly { readonly name: string; readonly entries: number }[]
      }>('/v1/lists', undefined, 'main')
      const entries = lists.find(({ name }) => name === 'litigators')?.entries
      expect(entries, 'numbers of the list').toBeGreaterThanOrEqual(this.#imported.list)
    }
    for (const reference of this.#erased) {
      await until(`no file has '${reference}'`, () => !isInJournal(this.#place.dataDir, reference))
    }
    for (const id of this.#bundles) await this.#endOf(id)
    for (const path of this.#backups) {
      await this.#command(['backup', 'verify', path])
      rmSync(path, { recursive: true })
    }
    if (chore) await this.run(chore)
  }
}

function isInJournal(dataDir: string, text: string): boolean {
  const folder = join(dataDir, 'journal')
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    if (!entry.isFile() || !entry.name.includes('.seg')) return false
    const bytes = readIfPresent(join(folder, entry.name))
    return (entry.name.endsWith('.gz') ? gunzipSync(bytes) : bytes).includes(text)
  })
}

/** Empty for a file that was removed meanwhile, and as gzip. */
function readIfPresent(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}
