/** Fetches the versions of lists that are in force, or will be soon, and that this server does not have. */
import type { Callgate } from '../../app/callgate.js'
import { getListsFolder } from '../../app/data-folders.js'
import { openListFiles } from '../../app/lists/list-files.js'
import type { ListFile, ListFiles } from '../../data/number-list/exchange/list-files.js'
import { fetchList, obtainList } from '../../data/number-list/exchange/obtain-list.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { readListsInForce, readStagedLists } from '../../storage/cluster/list-versions.js'

export class ListFetcher {
  readonly #callgate: Callgate
  readonly #files: ListFiles | undefined
  readonly #stopping = new AbortController()
  #fetching: Promise<void> | undefined

  constructor(callgate: Callgate) {
    this.#callgate = callgate
    this.#files = openListFiles(callgate.settings)
  }

  /** Begins in the background; what could not be fetched is tried again by the next call. */
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
    const folder = getListsFolder(settings)
    const { keepVersions } = settings.lists
    const { signal } = this.#stopping
    const options = { folder, files, keepVersions, clock: runtime.clock, signal }
    try {
      const inForce = data.lists.findInForce()
      for (const list of await readListsInForce(storage.reads)) {
        if (inForce.get(list.name) === false) await this.#try(list, () => obtainList(list, options))
      }
      for (const list of await readStagedLists(storage.reads)) {
        const isKept = findVersions(folder, list.name).some(
          ({ version }) => version === list.version,
        )
        if (!isKept) await this.#try(list, () => fetchList(list, options))
      }
    } catch (err) {
      runtime.log.debug('the published lists could not be read; trying again', { err })
    }
  }

  async #try({ name, version }: ListFile, work: () => Promise<void>): Promise<void> {
    const { log } = this.#callgate.runtime
    try {
      await work()
      log.info('a list was fetched', { list: name, version, from: this.#files?.place })
    } catch (err) {
      if (this.#stopping.signal.aborted) return
      log.warn('a list could not be fetched; trying again', { list: name, version, err })
    }
  }
}
