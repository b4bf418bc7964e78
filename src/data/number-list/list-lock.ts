/**
 * One import of a list at a time, also when several machines share the folder. Readers never lock.
 * The lock is a file that says who holds it; that of a process of this host that has ended is taken
 * over, one of another host only its operator can remove.
 */
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { type Clock, formatInstant, type Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import { makeFolder } from '../../folders.js'
import { codeOf, hasEnded } from './leftover-files.js'
import { numberListExtension } from './number-list-format.js'

/** Where the lock of a list is. */
export function listLockPath(folder: string, name: string): string {
  return join(folder, `.${name}.lock`)
}

/**
 * Runs `work` while no other import of the list does. Throws {@link DataFileError} that says who is
 * at it and since when.
 */
export async function withListLock<Result>(
  folder: string,
  name: string,
  clock: Clock,
  work: () => Promise<Result>,
): Promise<Result> {
  makeFolder(folder)
  const lock = new ListLock(folder, name)
  lock.take(clock.now())
  try {
    return await work()
  } finally {
    lock.release()
  }
}

/** Locks of this very process: that its id is in one of them does not tell whether it is held. */
const held = new Set<string>()

/** A lock that says nothing is one that is being written, unless it is older than this. */
const unwrittenForMs = 60_000

class ListLock {
  readonly #name: string
  readonly #path: string
  /** Where a lock is written, or moved to be taken over; removed like other left-over files. */
  readonly #aside: string
  #content = ''

  constructor(folder: string, name: string) {
    this.#name = name
    this.#path = listLockPath(folder, name)
    const own = `${hostname()}.${process.pid}`
    this.#aside = join(folder, `.${name}${numberListExtension}.lock.${own}.part`)
  }

  take(now: Instant): void {
    const since = formatInstant(now)
    this.#content = JSON.stringify({ pid: process.pid, host: hostname(), since })
    if (!this.#create() && !(this.#removeEnded(now) && this.#create())) throw this.#refusal()
    held.add(resolve(this.#path))
  }

  release(): void {
    held.delete(resolve(this.#path))
    if (this.#read() === this.#content) rmSync(this.#path, { force: true })
  }

  /**
   * False when there is one already. Given its name only when it is written, so that a crash leaves
   * no lock that says nothing; where the file system has no second names, that takes a moment.
   */
  #create(): boolean {
    try {
      writeFileSync(this.#aside, this.#content)
      linkSync(this.#aside, this.#path)
      return true
    } catch (cause) {
      const code = codeOf(cause)
      if (typeof code !== 'string') throw cause
      return code !== 'EEXIST' && this.#createInPlace()
    } finally {
      rmSync(this.#aside, { force: true })
    }
  }

  #createInPlace(): boolean {
    try {
      writeFileSync(this.#path, this.#content, { flag: 'wx' })
      return true
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') return false
      throw cause
    }
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined
      throw cause
    }
  }

  /**
   * True when the way is free. Moved away and looked at before it is removed: another process may
   * have taken it over in between, and then it gets it back.
   */
  #removeEnded(now: Instant): boolean {
    const found = this.#read()
    if (found === undefined) return true
    if (!this.#isLeftOver(found, now)) return false
    try {
      renameSync(this.#path, this.#aside)
      const moved = readFileSync(this.#aside, 'utf8')
      rmSync(this.#aside)
      if (moved !== found) writeFileSync(this.#path, moved, { flag: 'wx' })
      return moved === found
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') return false
      if (codeOf(cause) === 'ENOENT') return true
      throw cause
    }
  }

  #isLeftOver(content: string, now: Instant): boolean {
    const holder = holderIn(content)
    if (!holder) {
      const found = statSync(this.#path, { throwIfNoEntry: false })
      return found === undefined || now - found.mtimeMs > unwrittenForMs
    }
    if (holder.host !== hostname()) return false
    if (holder.pid === process.pid) return !held.has(resolve(this.#path))
    return hasEnded(holder.pid)
  }

  #refusal(): DataFileError {
    const holder = holderIn(this.#read() ?? '')
    const who = holder
      ? `since ${holder.since} (process ${holder.pid} on ${holder.host})`
      : 'or ended a moment ago'
    const advice = 'if that one has ended, remove this file'
    return new DataFileError(
      this.#path,
      `another import of '${this.#name}' is running ${who}; ${advice}`,
    )
  }
}

interface Holder {
  readonly pid: number
  readonly host: string
  readonly since: string
}

/** `undefined` for a lock that is empty or damaged. */
function holderIn(content: string): Holder | undefined {
  try {
    const { pid, host, since } = JSON.parse(content) as Record<string, unknown>
    const isWhole = typeof host === 'string' && typeof since === 'string'
    return typeof pid === 'number' && isWhole ? { pid, host, since } : undefined
  } catch {
    return undefined
  }
}
