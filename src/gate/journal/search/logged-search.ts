/** A search that records who has read which decisions, before they leave. */
import type { DecisionSearch, SearchPage, SearchRequest } from './decision-search.js'

/** Rejects if it cannot be recorded; then nothing may leave. */
export type RecordSearch = (
  caller: SearchRequest['caller'],
  read: {
    readonly path?: string | undefined
    readonly what: string
    readonly subject: { readonly kind: string; readonly id: string }
    readonly rows: number
  },
) => Promise<void>

export class LoggedSearch implements DecisionSearch {
  readonly #search: DecisionSearch
  readonly #recordRead: RecordSearch
  readonly #path: string | undefined

  /** `path` is that of the endpoint, if the log cannot tell. */
  constructor(search: DecisionSearch, recordRead: RecordSearch, path?: string) {
    this.#search = search
    this.#recordRead = recordRead
    this.#path = path
  }

  /** Records each page with decisions, and the first one in any case: that there are none says something as well. */
  async search(request: SearchRequest): Promise<SearchPage> {
    const page = await this.#search.search(request)
    const { filter, caller, before } = request
    const rows = page.decisions.length
    if (rows === 0 && before !== undefined) return page
    const { number = '' } = filter
    const isNumber = /^\d{10}$/.test(number)
    await this.#recordRead(caller, {
      path: this.#path,
      what: 'decisions.searched',
      subject: isNumber ? { kind: 'number', id: number } : { kind: 'decisions', id: '' },
      rows,
    })
    return page
  }
}
