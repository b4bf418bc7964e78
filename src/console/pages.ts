/** What a page of the console is: it asks the API, and shows the answer. */
import type { Endpoint } from '../api/endpoint.js'
import type { Caller } from '../domain/caller.js'
import type { Clock } from '../domain/time/clock.js'
import type { AppError } from '../errors.js'
import type { FormValues } from './forms.js'
import type { PageContent } from './layout.js'
import type { OwnApi, OwnReply } from './own-api.js'
import type { SealedAddresses } from './sealed-address.js'

export interface PageRequest {
  readonly caller: Caller
  readonly api: OwnApi
  readonly addresses: SealedAddresses
  readonly clock: Clock
  /** The address the page was asked at, such as `http://localhost:8480`. */
  readonly origin: string
  /** What the lines of the sandbox are, by their last four digits. */
  readonly sandboxLines: ReadonlyMap<string, string>
  /** Of the path, such as `id`. */
  readonly parameters: FormValues
  /** Of the address. */
  readonly query: FormValues
  /** What a form has sent; empty with GET. */
  readonly form: FormValues
  /** To be put into each form. */
  readonly formToken: string
  /** Why the form was refused that the page shows again; the page says so by itself at its top. */
  readonly refusal?: AppError | undefined
}

/** A page, a file, or another page to go to, which says at its top what was done. */
export type PageAnswer =
  | PageContent
  | { readonly file: OwnReply }
  | { readonly goTo: string; readonly done?: string }

type NeededEndpoint = Pick<Endpoint<never, unknown>, 'name'>

export interface Page {
  /** Below `/console`; `:id` is a parameter. */
  readonly path: string
  /** Under which it is in the navigation of those who may use the endpoint; absent if it is not there. */
  readonly entry?: {
    readonly name: string
    readonly needs: NeededEndpoint
    /** Whom the endpoint lets in of those who have its rights; all if absent. */
    readonly isFor?: (caller: Caller) => boolean
  }
  /** Who may not use the endpoint is refused before anything is shown; that of the entry if absent. */
  readonly needs?: NeededEndpoint
  readonly get?: (request: PageRequest) => Promise<PageAnswer>
  /** After a refusal of the API, `get` shows the page again. */
  readonly post?: (request: PageRequest) => Promise<PageAnswer>
}
