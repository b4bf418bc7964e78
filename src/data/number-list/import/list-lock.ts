/**
 * Ensures that only one import of a list runs at a time, even if several machines share the folder.
 * Readers never lock. The lock is a file that names its holder. If the holder was a process on this
 * host that has ended, the lock is taken over; a lock of another host must be removed by an operator.
 */
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../../domain/time/dates.js'
import { DataFileError, getErrorCode } from '../../../errors.js'
import { ensureFolder } from '../../../runtime/folders.js'
import { hasProcessEnded } from '../../files/leftover-files.js'
import { splitListName } from '../list-names.js'
import { resolveListFolder, resolveListPath } from '../list-paths.js'

/** The path of a list's lock file. */
export function resolveListLockPath(folder: string, name: string): string {
  return join(resolveListFolder(folder, name), `.${splitListName(name).list}.lock`)
}

/**
 * Runs `work` while holding the lock. Throws {@link DataFileError} naming the holder and the time if
 * another import has the lock.
 */
export async function withListLock<Result>(
  folder: string,
  name: string,
  clock: Clock,
  work: () => Promise<Result>,
): Promise<Result> {
  ensureFolder(resolveListFolder(folder, name))
  const lock = new ListLock(folder, name)
  lock.take(clock.now())
  try {
    return await work()
  } finally {
    lock.release()
  }
}

/** Locks held by this thread, since a lock file with the id of its process may also be left from an earlier process. */
const heldLocks = new Set<string>()

/** An empty lock file is one that is being written, unless it is older than this. */
const maxUnwrittenMs = 60_000

class ListLock {
  readonly #name: string
  readonly #path: string
  /** Temporary path for writing a lock or taking one over; removed like other leftover files. */
  readonly #aside: string
  #content = ''

  constructor(folder: string, name: string) {
    this.#name = name
    this.#path = resolveListLockPath(folder, name)
    const own = `${hostname()}.${threadId}.${process.pid}`
    const list = resolveListPath(folder, name)
    this.#aside = join(dirname(list), `.${basename(list)}.lock.${own}.part`)
  }

  take(now: Instant): void {
    const since = formatInstant(now)
    this.#content = JSON.stringify({ pid: process.pid, host: hostname(), since })
    if (!this.#create() && !(this.#removeStale(now) && this.#create())) throw this.#refusal()
    heldLocks.add(resolve(this.#path))
  }

  release(): void {
    heldLocks.delete(resolve(this.#path))
    if (this.#read() === this.#content) rmSync(this.#path, { force: true })
  }

  /**
   * Creates the lock; returns false if one exists. The file is written first and then linked to its
   * name, so that a crash leaves no empty lock. On file systems without links, it is briefly empty.
   */
  #create(): boolean {
    try {
      writeFileSync(this.#aside, this.#content)
      return this.#link(this.#content)
    } finally {
      rmSync(this.#aside, { force: true })
    }
  }

  #link(content: string): boolean {
    try {
      linkSync(this.#aside, this.#path)
      return true
    } catch (cause) {
      return getErrorCode(cause) !== 'EEXIST' && this.#createInPlace(content)
    }
  }

  #createInPlace(content: string): boolean {
    let file: number
    try {
      file = openSync(this.#path, 'wx')
    } catch (cause) {
      if (getErrorCode(cause) === 'EEXIST') return false
      throw cause
    }
    try {
      writeFileSync(file, content)
      return true
    } catch (cause) {
      rmSync(this.#path, { force: true })
      throw cause
    } finally {
      closeSync(file)
    }
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (cause) {
      if (getErrorCode(cause) === 'ENOENT') return undefined
      throw cause
    }
  }

  /**
   * Removes a stale lock; returns whether the lock can now be created. The file is first renamed and
   * checked again: if another process has taken it over in between, it is restored.
   */
  #removeStale(now: Instant): boolean {
    const found = this.#read()
    if (found === undefined) return true
    if (!this.#isStale(found, now)) return false
    try {
      renameSync(this.#path, this.#aside)
    } catch (cause) {
      if (getErrorCode(cause) === 'ENOENT') return true
      throw cause
    }
    try {
      const moved = readFileSync(this.#aside, 'utf8')
      if (moved !== found) this.#link(moved)
      return moved === found
    } finally {
      rmSync(this.#aside, { force: true })
    }
  }

  #isStale(content: string, now: Instant): boolean {
    const holder = parseHolder(content)
    if (!holder) {
      const found = statSync(this.#path, { throwIfNoEntry: false })
      return found === undefined || now - found.mtimeMs > maxUnwrittenMs
    }
    if (holder.host !== hostname()) return false
    if (holder.pid === process.pid) {
      return !heldLocks.has(resolve(this.#path)) && !isOfThisProcess(holder, now)
    }
    return hasProcessEnded(holder.pid)
  }

  #refusal(): DataFileError {
    const holder = parseHolder(this.#read() ?? '')
    const who = holder
      ? `since ${holder.since} (process ${holder.pid} on ${holder.host})`
      : 'or has just ended'
    const advice = 'if it is not running, remove this file'
    return new DataFileError(
      this.#path,
      `another import of '${this.#name}' is running ${who}; ${advice}`,
    )
  }
}

/** Another thread may have it, which is as old as the process at most. */
function isOfThisProcess({ since }: LockHolder, now: Instant): boolean {
  const processStart = now - process.uptime() * 1_000
  return (parseInstant(since) ?? 0) >= processStart
}

interface LockHolder {
  readonly pid: number
  readonly host: string
  readonly since: string
}

/** `undefined` for a lock that is empty or damaged. */
function parseHolder(content: string): LockHolder | undefined {
  try {
    const { pid, host, since } = JSON.parse(content) as Record<string, unknown>
    const isWhole = typeof host === 'string' && typeof since === 'string'
    return typeof pid === 'number' && isWhole ? { pid, host, since } : undefined
  } catch {
    return undefined
  }
}
