/** Fetches the versions of lists that are in force and that this server does not have. */
import type { Callgate } from '../../app/callgate.js'
import { getListsFolder } from '../../app/data-folders.js'
import { openListFiles } from '../../app/lists/list-files.js'
import type { ListFiles } from '../../data/number-list/exchange/list-files.js'
import { obtainList } from '../../data/number-list/exchange/obtain-list.js'
import { readListsInForce } from '../../storage/list-versions.js'

export class ListFetcher {
  readonly #callgate: Callgate
  readonly #files: ListFiles | undefined
  #fetching: Promise<void> | undefined

  constructor(callgate: Callgate) {
    this.#callgate = callgate
    this.#files = openListFiles(callgate.settings)
  }

  /** Begins in the background; what could not be fetched is tried again by the next call. */
  check(): void {
    const { data } = this.#callgate
    const inForce = [...data.lists.findInForce()]
    const names = new Set(inForce.flatMap(([name, isLoaded]) => (isLoaded ? [] : name)))
    if (names.size === 0 || this.#fetching) return
    this.#fetching = this.#fetch(names).finally(() => {
      this.#fetching = undefined
    })
  }

  async #fetch(names: ReadonlySet<string>): Promise<void> {
    const { settings, runtime, storage } = this.#callgate
    const { clock, log } = runtime
    const files = this.#files
    if (!files) return
    const folder = getListsFolder(settings)
    const { keepVersions } = settings.lists
    try {
      for (const list of await readListsInForce(storage.reads)) {
        if (!names.has(list.name)) continue
        const { name: of, version } = list
        try {
          await obtainList(list, { folder, files, keepVersions, clock })
          log.info('a list was fetched', { list: of, version, from: files.place })
        } catch (err) {
          log.warn('a list could not be fetched; trying again', { list: of, version, err })
        }
      }
    } catch (err) {
      log.warn('the lists in force could not be read; trying again', { err })
    }
  }
}
