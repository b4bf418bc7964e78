/** Keeps what is known of each evidence bundle beside its zip file, without making the thread that decides wait for a disk. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { getErrorCode } from '../../errors.js'
import type { LeftOut } from '../../evidence/bundle/question.js'
import type { PackedBundle } from './pack-thread.js'

/** How long a bundle is known, from when it was asked for. */
export const keepMs = 3 * msPerDay

export interface BundleJob {
  readonly id: string
  readonly accountId: string
  readonly number: string | undefined
  readonly from: Instant | undefined
  readonly to: Instant | undefined
  readonly without: LeftOut | undefined
  readonly reason: string
  /** As in the audit table. */
  readonly askedBy: string
  readonly askedAt: Instant
  readonly state: 'waiting' | 'packing' | 'done' | 'failed' | 'interrupted'
  readonly startedAt?: Instant | undefined
  /** How many erasures about the account were done then; with another one, what was packed must go. */
  readonly erasures?: number | undefined
  readonly endedAt?: Instant | undefined
  readonly problem?: string | undefined
  readonly packed?: PackedBundle | undefined
}

export class JobFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  zipOf({ id }: Pick<BundleJob, 'id'>): string {
    return join(this.#folder, `${id}.zip`)
  }

  /** The jobs of a server that has ended, oldest first. Removes all that belongs to none of them, or was not finished. */
  async load(): Promise<readonly BundleJob[]> {
    const names = await readdir(this.#folder).catch((cause: unknown): string[] => {
      if (getErrorCode(cause) === 'ENOENT') return []
      throw cause
    })
    const jobs: BundleJob[] = []
    for (const name of names.filter((one) => one.endsWith('.json'))) {
      const job = parseJob(await readFile(join(this.#folder, name), 'utf8'))
      if (job === undefined || `${job.id}.json` !== name) continue
      if (job.state !== 'done' || names.includes(`${job.id}.zip`)) jobs.push(job)
    }
    const kept = new Set(
      jobs.flatMap(({ id, state }) => [`${id}.json`, ...(state === 'done' ? [`${id}.zip`] : [])]),
    )
    for (const name of names) if (!kept.has(name)) await this.#remove(name)
    return jobs.sort((one, other) => one.askedAt - other.askedAt)
  }

  async write(job: BundleJob): Promise<void> {
    const path = join(this.#folder, `${job.id}.json`)
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await writeFile(`${path}.part`, JSON.stringify(job), { mode: 0o600 })
    await rename(`${path}.part`, path)
  }

  /** Removes the zip file first, so that no zip file is left without its state. */
  async remove({ id }: Pick<BundleJob, 'id'>): Promise<void> {
    await this.removeZip({ id })
    await this.#remove(`${id}.json`)
  }

  async removeZip({ id }: Pick<BundleJob, 'id'>): Promise<void> {
    await this.#remove(`${id}.zip.tmp`)
    await this.#remove(`${id}.zip`)
  }

  async #remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true })
  }
}

/** `undefined` for what a crash has cut off. */
function parseJob(text: string): BundleJob | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
