/** What a page of the console is: it asks the API, and shows the answer. */
import type { Endpoint } from '../api/endpoint.js'
import type { Caller } from '../domain/caller.js'
import type { Clock } from '../domain/time/clock.js'
import type { FormValues } from './forms.js'
import type { PageContent } from './layout.js'
import type { OwnApi, OwnReply } from './own-api.js'
import type { SealedAddresses } from './sealed-address.js'

export interface PageRequest {
  readonly caller: Caller
  readonly api: OwnApi
  readonly addresses: SealedAddresses
  readonly clock: Clock
  /** Of the path, such as `id`. */
  readonly parameters: FormValues
  /** Of the address. */
  readonly query: FormValues
  /** What a form has sent; empty with GET. */
  readonly form: FormValues
  /** To be put into each form. */
  readonly formToken: string
}

/** A page, another one to go to, or a file. */
export type PageAnswer = PageContent | { readonly goTo: string } | { readonly file: OwnReply }

export interface Page {
  /** Below `/console`; `:id` is a parameter. */
  readonly path: string
  /** Under which it is in the navigation of those who may use the endpoint; absent if it is not there. */
  readonly entry?: { readonly name: string; readonly needs: Pick<Endpoint<never, unknown>, 'name'> }
  readonly get?: (request: PageRequest) => Promise<PageAnswer>
  /** Rejects with refusals, which are shown on a page of their own. */
  readonly post?: (request: PageRequest) => Promise<PageAnswer>
}
