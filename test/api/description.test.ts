import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  approveChangeEndpoint,
  changeEndpoint,
  changesEndpoint,
  refuseChangeEndpoint,
} from '../../src/api/accounts/changes.js'
import { projectHoursEndpoint, projectsEndpoint } from '../../src/api/accounts/project-hours.js'
import { statusEndpoint } from '../../src/api/accounts/status.js'
import { rulesEndpoint } from '../../src/api/calling-hours/rules.js'
import { attemptLimitsEndpoint } from '../../src/api/gate/attempts.js'
import {
  duePlatformCallsEndpoint,
  listUnclearOptOutsEndpoint,
  platformCallsEndpoint,
  platformEventEndpoint,
  platformReportEndpoint,
  resolveUnclearOptOutEndpoint,
} from '../../src/api/gate/platform-events.js'
import { previewEndpoint } from '../../src/api/gate/preview.js'
import { listFileEndpoint } from '../../src/api/lists/list-file.js'
import { listsEndpoint, rollbackEndpoint } from '../../src/api/lists/lists.js'
import type { OpenApiDocument, Operation } from '../../src/api/openapi.js'
import { numberEndpoint } from '../../src/api/records/number.js'
import { openBundles } from '../../src/app/evidence/open-bundles.js'
import { openEvidenceRoutes } from '../../src/app/journal/open-evidence.js'
import { createOptOuts } from '../../src/app/service.js'
import { createLiveRoute } from '../../src/app/status/live-route.js'
import { Center } from '../../src/edge/center.js'
import { createEdgeDecisionsRoute } from '../../src/edge/edge-decisions-route.js'
import { edgeRoutes } from '../../src/edge/edge-routes.js'
import { journalRoutes } from '../../src/gate/journal/journal-routes.js'
import { createSearchRoute } from '../../src/gate/journal/search/search-route.js'
import { createStreamRoute } from '../../src/gate/journal/search/stream-route.js'
import { createApiDocsPages } from '../../src/http/api-docs.js'
import { decisionEndpoints } from '../../src/http/decision-routes.js'
import { permitRoutes } from '../../src/permits/permit-routes.js'
import { systemClock, systemTimers } from '../../src/runtime/runtime.js'
import { AttemptOutcomes } from '../../src/service/accounts/attempt-outcomes.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { warmupRoutes } from '../../src/sources/warming/warmup-routes.js'
import { turnsDuring } from '../support/event-loop-turns.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let document: OpenApiDocument
let page: string
let operations: readonly (readonly [path: string, method: string, Operation])[]

beforeAll(async () => {
  running = await openTestCallgate()
  document = (await (await fetch(`${running.url}/openapi.json`)).json()) as OpenApiDocument
  page = await (await fetch(`${running.url}/docs`)).text()
  operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, one]) => [path, method, one] as const),
  )
})
afterAll(() => running.end())

function everyEndpoint() {
  const { service, journal, storage, permits, warmup, abandonment, data } = running.callgate
  return [
    ...decisionEndpoints,
    previewEndpoint,
    listFileEndpoint,
    projectHoursEndpoint,
    projectsEndpoint,
    statusEndpoint,
    changesEndpoint,
    changeEndpoint,
    approveChangeEndpoint,
    refuseChangeEndpoint,
    listsEndpoint,
    rollbackEndpoint,
    rulesEndpoint,
    numberEndpoint,
    attemptLimitsEndpoint,
    duePlatformCallsEndpoint,
    listUnclearOptOutsEndpoint,
    platformCallsEndpoint,
    platformEventEndpoint,
    platformReportEndpoint,
    resolveUnclearOptOutEndpoint,
    ...[
      ...createServiceRoutes(service, { wrappedRows: false }),
      ...journalRoutes({
        journal,
        counters: {
          attempts: new AttemptOutcomes(storage),
          abandonment,
          identities: service.ebrRecordList,
          getCallingRules: () => data.rules,
        },
        recordRead: async () => undefined,
        importedAttempts: { add: async () => undefined },
        clock: systemClock,
        optOuts: createOptOuts(running.callgate),
      }),
      ...edgeRoutes(
        new Center({
          storage,
          timers: systemTimers,
          readListAccess: async () => () => 'use',
        }),
        running.callgate,
      ),
      createEdgeDecisionsRoute(storage, ''),
      createLiveRoute({
        read: async () => ({ ungatedLegs: 0, steps: [] }),
      }),
      createStreamRoute({
        search: { search: async () => ({ decisions: [], completeUntil: 0 }) },
        recordRead: async () => undefined,
        clock: systemClock,
      }),
      createSearchRoute({ search: async () => ({ decisions: [], completeUntil: 0 }) }),
      ...openEvidenceRoutes({ settings: running.callgate.settings, storage, clock: systemClock }),
      ...openBundles(running.callgate).routes,
      ...permitRoutes(permits),
      ...warmupRoutes(warmup, { serviceCodes: new Set() }),
    ].map(({ endpoint }) => endpoint),
  ]
}

function endpointOf(path: string, method: string) {
  const bound = path.replace(/\{(\w+)\}/g, ':$1')
  return everyEndpoint().find(
    (one) => one.method === method.toUpperCase() && one.paths.includes(bound),
  )
}

describe('/openapi.json', () => {
  it('is built once, since anonymous clients may request it often', async () => {
    const written = vi.spyOn(JSON, 'stringify')
    await (await fetch(`${running.url}/openapi.json`)).text()
    expect(written).not.toHaveBeenCalled()
    written.mockRestore()
  })

  it('is built in slices, so that calls are decided meanwhile', async () => {
    const pages = createApiDocsPages({ version: '1', endpoints: everyEndpoint(), home: '/docs' })
    const { turns } = await turnsDuring(async () => await pages.get('/docs')?.make())
    // Once for three endpoints in each of its steps: described, named, rendered.
    expect(turns).toBeGreaterThan(everyEndpoint().length * 0.8)
  })

  it('needs no key and is OpenAPI 3.1', async () => {
    const response = await fetch(`${running.url}/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(document.openapi).toBe('3.1.0')
  })

  it('is valid', async () => {
    const { valid, errors } = await new Validator().validate({ ...structuredClone(document) })
    expect(errors ?? []).toEqual([])
    expect(valid).toBe(true)
  })

  it('describes every path and method of every endpoint, and nothing else', () => {
    const described = operations.map(([path, method]) => `${method.toUpperCase()} ${path}`)
    const bound = everyEndpoint().flatMap(({ method, paths }) =>
      paths.map((path) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    )
    expect([...described].sort()).toEqual([...bound].sort())
  })

  it('names each operation once', () => {
    const ids = operations.flatMap(([, , { operationId }]) => operationId ?? [])
    expect(ids.toSorted()).toEqual(
      everyEndpoint()
        .map(({ name }) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase()))
        .toSorted(),
    )
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]*$/)
  })

  it('has path parameters exactly where the path has them', () => {
    for (const [path, , { parameters = [] }] of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const described = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
      expect(described, path).toEqual(inPath)
    }
  })

  it('gives fields, a body or parameters, to every call that takes some', () => {
    for (const [path, method, { parameters = [], requestBody }] of operations) {
      if (method === 'get') expect(requestBody, path).toBeUndefined()
      else expect(Object.keys(requestBody?.content ?? {}).length, path).toBeGreaterThan(0)
      expect(new Set(parameters.map(({ name }) => name)).size, path).toBe(parameters.length)
    }
  })

  it('describes the items of a list', () => {
    const { requestBody } = document.paths['/v1.5/GeoScrub/IsTimeLegalToCall']?.post ?? {}
    expect(requestBody?.content['application/json']?.schema).toMatchObject({
      properties: {
        IsTimeLegalToCall: {
          type: 'array',
          maxItems: 1000,
          items: { properties: { PhoneNumber: {}, DNCProjId: {} } },
        },
      },
    })
  })

  it('has 401 on every call that needs a key, and 429 where there is a limit', () => {
    const limited = new Set(
      everyEndpoint().flatMap(({ rateClass, name }) => (rateClass ? [name] : [])),
    )
    for (const [path, method, { responses, security }] of operations) {
      if (!security) expect(Object.keys(responses), path).toContain('401')
      if (limited.has(endpointOf(path, method)?.name ?? ''))
        expect(Object.keys(responses), path).toContain('429')
    }
  })

  it('names the rights of every call that needs some, with the 403 of a key that lacks them', () => {
    for (const [path, method, { responses, description = '', security }] of operations) {
      const rights = endpointOf(path, method)?.rights ?? []
      for (const one of rights) {
        const wanted =
          typeof one === 'string' ? `\`${one}\`` : `\`${one.right}\` (if ${one.condition})`
        expect(description, path).toContain(wanted)
      }
      expect(description.includes('The key needs'), path).toBe(rights.length > 0)
      if (!security) expect(responses['403']?.description, path).toMatch(/the key lacks/i)
    }
  })

  it('keeps what a call has to say of its own 403', () => {
    const { responses } = document.paths['/v1.5/projects']?.post ?? {}
    expect(responses?.['403']?.description).toMatch(/^The project is inactive; or the key /)
  })

  it('refers to nothing outside itself', () => {
    const text = JSON.stringify(document)
    expect(text).not.toMatch(/https?:\/\/|\$defs|canonicalType/)
    const named = Object.keys(document.components.schemas)
    const used = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, target]) => target)
    expect([...new Set(used)].sort()).toEqual(
      named.map((name) => `#/components/schemas/${name}`).sort(),
    )
  })
})

describe('/docs', () => {
  it('is where a browser at the root is redirected, if there is no console', async () => {
    const without = await openTestCallgate({ environment: { CALLGATE_CONSOLE_ENABLED: 'false' } })
    const response = await fetch(`${without.url}/`)
    expect([response.redirected, response.url]).toEqual([true, `${without.url}/docs`])
    expect(response.headers.get('content-type')).toMatch(/^text\/html/)
    for (const path of ['/console', '/console/', '/console/sign-in']) {
      const answer = await fetch(without.url + path)
      expect(answer.status).toBe(404)
      expect(await answer.text()).toContain('the setting console.enabled is false')
    }
    await without.end()
  })

  it('needs no key, no script and nothing from anywhere', async () => {
    const response = await fetch(`${running.url}/docs`)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.match(/<link[^>]*>/g)).toEqual(['<link rel="stylesheet" href="/docs/style.css">'])
    const style = await (await fetch(`${running.url}/docs/style.css`)).text()
    expect(page + style).not.toMatch(/<script|<img|https?:\/\/|@import|url\(|style=/)
  })

  it('shows every call', () => {
    const ids = [...page.matchAll(/<article id="([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(operations.length)
    for (const [path, , { operationId }] of operations) {
      if (operationId) expect(ids).toContain(operationId)
      expect(page).toContain(path)
    }
    for (const [, target] of page.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(target)
  })

  it('closes what it opens', () => {
    const open: string[] = []
    for (const [, slash, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (name === 'meta' || name === 'link') continue
      if (slash === '') open.push(name)
      else expect(open.pop()).toBe(name)
    }
    expect(open).toEqual([])
  })
})

describe('docs/api.http', () => {
  it('has a request of every endpoint', () => {
    const tour = readFileSync(join(import.meta.dirname, '../../docs/api.http'), 'utf8')
    const requests = [...tour.matchAll(/^(GET|POST|PUT) \{\{host\}\}([^\s?]*)/gm)].map(
      ([, method, path = '']) => `${method} ${path.toLowerCase()}`,
    )
    const missing = everyEndpoint().filter(
      ({ method, paths }) =>
        !paths.some((path) => {
          const pattern = path.toLowerCase().replace(/:\w+/g, '[^/]+')
          return requests.some((one) => new RegExp(`^${method} ${pattern}$`).test(one))
        }),
    )
    expect(missing.map(({ name }) => name)).toEqual([])
  })
})
