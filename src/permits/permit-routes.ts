/** The routes of permits, and their public keys; `http/decision-routes.ts` has the one that decides. */
import type { Page, Reply } from '../api/endpoint.js'
import {
  readPermitEndpoint,
  releasePermitEndpoint,
  usePermitByIdEndpoint,
  usePermitEndpoint,
} from '../api/gate/permits.js'
import { createRoute, type Route } from '../api/route.js'
import { AppError } from '../errors.js'
import { keyMaxAgeSeconds } from './permit-keys.js'
import type { Permits } from './permits.js'

export function permitRoutes(permits: Permits): readonly Route[] {
  return [
    // Its path would otherwise be that of a permit with the id 'use'.
    createRoute(usePermitEndpoint, (caller, request) => permits.use(caller, request)),
    createRoute(usePermitByIdEndpoint, (caller, request) => permits.useById(caller, request)),
    createRoute(releasePermitEndpoint, (caller, request) => permits.release(caller, request)),
    createRoute(readPermitEndpoint, (caller, request) => permits.read(caller, request)),
  ]
}

const headers = { 'Cache-Control': `public, max-age=${keyMaxAgeSeconds}` }

/** Public keys need no API key, by path. */
export function createPermitKeyPages({
  keys,
  edges,
}: Pick<Permits, 'keys' | 'edges'>): ReadonlyMap<string, Page> {
  const toPem = (text: string): Reply => ({ text, contentType: 'application/x-pem-file', headers })
  const ofEdge = (edge: string) =>
    [
      [`/permits/${edge}.pem`, { make: async () => toPem((await keys.getSigning(edge)).pem) }],
      [
        `/permits/${edge}.next.pem`,
        {
          make: async () => {
            const next = await keys.findNext(edge)
            if (next) return toPem(next.pem)
            throw new AppError('not-found', `No new key of edge '${edge}' waits to sign`)
          },
        },
      ],
    ] as const
  const keySet = async (): Promise<Reply> => {
    const published = await Promise.all(edges.map((edge) => keys.listPublished(edge)))
    return { json: { keys: published.flat().map(({ jwk }) => jwk) }, headers }
  }
  return new Map<string, Page>([
    ['/.well-known/jwks.json', { make: keySet }],
    ...edges.flatMap(ofEdge),
  ])
}
