/** `/openapi.json` and `/docs`: what the API is, for programs and for people. Neither asks for a key. */
import type { Reply } from '../api/endpoint.js'
import { openApiDocument } from '../api/openapi.js'
import type { EndpointDescription } from '../api/route.js'
import { docsPage } from './docs-page.js'

export interface DescribedOptions {
  readonly version: string
  readonly endpoints: readonly EndpointDescription[]
}

/** The page loads nothing and runs nothing. */
const pageHeaders = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" }

/** The answers by path; made when first asked for. */
export function descriptionAnswers(options: DescribedOptions): ReadonlyMap<string, () => Reply> {
  let made: { readonly json: Reply; readonly page: Reply } | undefined
  const make = () => {
    const document = openApiDocument(options)
    const contentType = 'text/html; charset=utf-8'
    const page = { text: docsPage(document), contentType, headers: pageHeaders }
    // Written once: `JSON.stringify` of the document takes milliseconds, and strangers may ask.
    const json = { text: JSON.stringify(document), contentType: 'application/json; charset=utf-8' }
    return { json, page }
  }
  const all = () => {
    made ??= make()
    return made
  }
  return new Map([
    ['/openapi.json', () => all().json],
    ['/docs', () => all().page],
  ])
}
