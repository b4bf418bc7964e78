/** `/openapi.json` and `/docs`: what the API is, for programs and for people. Neither asks for a key. */
import type { Page } from '../api/endpoint.js'
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
export function descriptionAnswers(options: DescribedOptions): ReadonlyMap<string, () => Page> {
  let made: { readonly json: Page; readonly page: Page } | undefined
  const make = () => {
    const document = openApiDocument(options)
    const contentType = 'text/html; charset=utf-8'
    // As bytes, since anybody may ask: each answer then costs neither time nor memory for them.
    const page = { bytes: Buffer.from(docsPage(document)), contentType, headers: pageHeaders }
    const bytes = Buffer.from(JSON.stringify(document))
    const json = { bytes, contentType: 'application/json; charset=utf-8' }
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
