/**
 * Fetches the versions of lists and numbering files that are in force, or will be soon, and that this server does not
 * have.
 */
import type { Callgate } from '../../app/callgate.js'
import { openListFiles } from '../../app/lists/list-files.js'
import { locateFile } from '../../app/lists/local-files.js'
import type { ListFile, ListFiles } from '../../data/number-list/exchange/list-files.js'
import { fetchList, obtainList } from '../../data/number-list/exchange/obtain-list.js'
import { hasVersion } from '../../data/number-list/exchange/read-piece.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import {
  type PublishedList,
  readListsInForce,
  readStagedLists,
} from '../../storage/cluster/list-versions.js'

const maxPauseSeconds = 60

/** Of a file that could not be fetched. */
interface Retry {
  readonly failures: number
  /** Monotonic. */
  readonly notBefore: number
}

export class ListFetcher {
  readonly #callgate: Callgate
  readonly #files: ListFiles | undefined
  readonly #stopping = new AbortController()
  /** By checksum. */
  readonly #retries = new Map<string, Retry>()
  #announced = ''
  #fetching: Promise<void> | undefined

  constructor(callgate: Callgate) {
    this.#callgate = callgate
    this.#files = openListFiles(callgate.settings)
  }

  /** Begins in the background; what could not be fetched is tried again by a later call. */
  check(): void {
    if (!this.#files || this.#fetching || this.#stopping.signal.aborted) return
    this.#fetching = this.#fetchAll(this.#files).finally(() => {
      this.#fetching = undefined
    })
  }

  /** Ends a fetch, which goes on at the next start. */
  stop(): void {
    this.#stopping.abort()
  }

  async #fetchAll(files: ListFiles): Promise<void> {
    const { data, settings, runtime, storage } = this.#callgate
    const { signal } = this.#stopping
    const optionsFor = (list: PublishedList) => ({
      local: locateFile(list, settings),
      files,
      signal,
    })
    try {
      const inForce = await readListsInForce(storage.reads)
      const staged = await readStagedLists(storage.reads)
      this.#noteAnnounced([...inForce, ...staged])
      const areLoaded = new Map([...data.lists.findInForce(), ...data.plan.findInForce()])
      for (const list of inForce) {
        const options = optionsFor(list)
        const isLoaded = areLoaded.get(list.name) ?? areLoaded.get(options.local.inUse)
        if (isLoaded === false) await this.#try(list, () => obtainList(list, options))
      }
      for (const list of staged) {
        const options = optionsFor(list)
        if (await hasVersion(options.local.kept, list)) continue
        if (await hasVersion(options.local.inUse, list)) continue
        await this.#try(list, () => fetchList(list, options))
      }
    } catch (err) {
      runtime.log.debug('the published lists could not be read; trying again', { err })
    }
  }

  /** A new version may mean that the place works again. */
  #noteAnnounced(lists: readonly ListFile[]): void {
    const announced = lists
      .map(({ sha256 }) => sha256)
      .sort()
      .join()
    if (announced !== this.#announced) this.#retries.clear()
    this.#announced = announced
  }

  async #try({ name, version, sha256 }: ListFile, work: () => Promise<void>): Promise<void> {
    const { log, random } = this.#callgate.runtime
    const { failures = 0, notBefore = 0 } = this.#retries.get(sha256) ?? {}
    if (monotonicSeconds() < notBefore) return
    try {
      await work()
      this.#retries.delete(sha256)
      log.info('a list was fetched', { list: name, version, from: this.#files?.place })
    } catch (err) {
      if (this.#stopping.signal.aborted) return
      const pause = computePauseSeconds(failures, random)
      this.#retries.set(sha256, {
        failures: failures + 1,
        notBefore: monotonicSeconds() + pause,
      })
      const retryInSeconds = Math.round(pause)
      log.warn('a list could not be fetched; trying again', {
        list: name,
        version,
        retryInSeconds,
        err,
      })
    }
  }
}

/** Twice as long after each failure, and not at the same moment on all servers. */
function computePauseSeconds(failures: number, random: () => number): number {
  return Math.min(maxPauseSeconds, 2 ** failures) * (0.5 + random() / 2)
}
