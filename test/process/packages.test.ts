/** The ways to install callgate: the npm package, systemd, Docker, Compose, Kubernetes. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { validate } from 'dockerfile-utils'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { runChild, startChild } from '../../scripts/children.mjs'
import { listSettingLeaves } from '../../src/config/load.js'
import { serve } from '../support/program.js'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

async function run(command: string, args: readonly string[]): Promise<string> {
  const { code, out, err } = await runChild(command, [...args], { cwd: root, timeout: 120_000 })
  expect(code, `${command} ${args.join(' ')}\n${out}${err}`).toBe(0)
  return out
}

interface PackedFiles {
  readonly files: readonly { readonly path: string }[]
}

describe('the npm package', () => {
  test('has the program, its data, its pages, and nothing else', async () => {
    const text = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'])
    const [packed]: PackedFiles[] = JSON.parse(text)
    const paths = packed?.files.map(({ path }) => path) ?? []
    for (const needed of [
      'dist/main.js',
      'config/calling-rules.yaml',
      'config/sandbox.yaml',
      'config/systemd/callgate.service',
      'docs/install.md',
    ]) {
      expect(paths).toContain(needed)
    }
    const allowed = /^(dist|config|docs)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/
    const others = paths.filter((path) => !allowed.test(path))
    expect(others).toEqual(['scripts/build-if-needed.mjs'])
    expect(
      paths.filter((path) => /\.(sqlite|key|pem|env|log|tgz)$|first-keys\.txt/.test(path)),
    ).toEqual([])
  })

  test('ships the versions of its lock file, which npm leaves out by itself', () => {
    const { files, scripts } = JSON.parse(read('package.json'))
    expect(files).toContain('npm-shrinkwrap.json')
    expect(scripts.prepack).toContain('cp package-lock.json npm-shrinkwrap.json')
  })

  test('its bill of materials names every package that the program runs with', async () => {
    const bill: { components: { name: string; version: string }[] } = JSON.parse(
      await run(process.execPath, ['scripts/sbom.mjs']),
    )
    const named = bill.components.map(({ name, version }) => `${name}@${version}`).sort()
    expect(named).toEqual(listLockedPackages())
  })
})

interface LockedPackage {
  readonly name?: string
  readonly version: string
  readonly dev?: boolean
  readonly optional?: boolean
}

/** Packages of the lock file that are installed with `--omit=dev`, each once. */
function listLockedPackages(): readonly string[] {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    read('package-lock.json'),
  )
  const installed = Object.entries(packages).filter(
    ([path, { dev }]) => path !== '' && !dev && existsSync(join(root, path)),
  )
  const names = installed.map(
    ([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`,
  )
  return [...new Set(names)].sort()
}

test('each way to start a server gives Node.js the same memory', () => {
  const options = ['--max-semi-space-size=32', '--max-old-space-size=400']
  const option = options.join(' ')
  const { scripts } = JSON.parse(read('package.json'))
  expect(scripts.start).toBe(`node ${option} dist/main.js serve`)
  expect(read('Dockerfile')).toContain(
    `ENTRYPOINT ["node", "${options.join('", "')}", "dist/main.js"]`,
  )
  expect(read('config/systemd/callgate.service')).toContain(`ExecStart=/usr/bin/node ${option} /`)
  for (const one of options) expect(read('docs/install.md')).toContain(one)
})

describe('the systemd unit', () => {
  const unit = 'config/systemd/callgate.service'

  test('is exposed as little as the page says', async () => {
    const report = await run('systemd-analyze', ['security', '--offline=true', join(root, unit)])
    const figure = /Overall exposure level for callgate\.service: ([\d.]+) OK/.exec(report)?.[1]
    expect(read('docs/install.md')).toContain(`exposure level of ${figure}`)
    expect(Number(figure)).toBeLessThanOrEqual(1.5)
  })

  test('is understood by systemd', async () => {
    const { err } = await runChild('systemd-analyze', ['verify', join(root, unit)], { cwd: root })
    const about = err.split('\n').filter((line) => line.includes('callgate.service'))
    // The program is not installed where the unit expects it.
    expect(about.filter((line) => !line.includes('is not executable'))).toEqual([])
  })

  test('is told when the program is ready and when it stops', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'callgate-notify-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const socket = join(folder, 'notify')
    const { messages, isListening, next } = listenForNotifications(socket)
    await isListening
    const environment = { CALLGATE_DATA_DIR: join(folder, 'var'), NOTIFY_SOCKET: socket }
    const server = await serve(environment)
    await next('READY=1')
    expect(messages).not.toContain('STOPPING=1')
    expect(await server.end('SIGTERM')).toBe(0)
    await next('STOPPING=1')
  })

  test('does not restart a program whose settings are wrong', () => {
    expect(read(unit)).toContain('RestartPreventExitStatus=2')
  })
})

/** Node.js cannot open a datagram socket of the UNIX family; Python can. */
function listenForNotifications(socket: string) {
  const code =
    'import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\n' +
    'print("listening",flush=True)\nwhile True: print(s.recv(4096).decode(),flush=True)'
  const child = startChild('python3', ['-c', code, socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const messages: string[] = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => void messages.push(line))
  const next = async (message: string) => {
    while (!messages.includes(message)) await once(lines, 'line')
  }
  return { messages, isListening: next('listening'), next }
}

describe('the Dockerfile', () => {
  const text = read('Dockerfile')

  test('has no fault that a linter finds', () => {
    expect(validate(text, {})).toEqual([])
  })

  test('pins its base image by digest and runs as a user with a number other than 0', () => {
    const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
    expect(new Set(bases)).toEqual(new Set([`\${NODE_IMAGE}`]))
    expect(text).toMatch(/^ARG NODE_IMAGE=node:22-bookworm-slim@sha256:[0-9a-f]{64}$/m)
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
  })

  test('copies only what exists and is not ignored', () => {
    const ignored = read('.dockerignore').split('\n')
    const sources = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, list]) => list?.split(' ') ?? [],
    )
    expect(sources.length).toBeGreaterThan(4)
    for (const source of sources) {
      expect(existsSync(join(root, source)), source).toBe(true)
      expect(ignored).not.toContain(source.replace('./', ''))
    }
  })
})

interface ComposeService {
  readonly image?: string
  readonly build?: string
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

describe('the Compose file', () => {
  const { services }: { services: Record<string, ComposeService> } = parse(
    read('config/compose/compose.yaml'),
  )

  test('mounts what exists, pins images by digest and opens ports on loopback only', () => {
    expect(Object.keys(services)).toEqual(['callgate', 'prometheus', 'grafana'])
    for (const [name, { image, build, ports = [], volumes = [] }] of Object.entries(services)) {
      if (build === undefined) expect(image, name).toMatch(/:[\w.]+@sha256:[0-9a-f]{64}$/)
      else expect(existsSync(resolve(root, 'config/compose', build, 'Dockerfile'))).toBe(true)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      for (const source of volumes.map((volume) => volume.split(':')[0] ?? '')) {
        if (!source.startsWith('.')) continue
        expect(existsSync(resolve(root, 'config/compose', source)), source).toBe(true)
      }
    }
  })

  /** The file of the project that a container finds at the path. */
  const findMounted = (service: string, path: string): string => {
    const mounts = (services[service]?.volumes ?? []).map((volume) => volume.split(':'))
    const [source, target] =
      mounts.find(([, to = '']) => path === to || path.startsWith(`${to}/`)) ?? []
    expect(source, `${service} ${path}`).toBeDefined()
    return join('config/compose', source ?? '', path.slice((target ?? '').length))
  }

  test('lets Prometheus scrape callgate and load its alerts', () => {
    const config = parse(read(findMounted('prometheus', '/etc/prometheus/prometheus.yml')))
    expect(config.scrape_configs).toEqual([
      { job_name: 'callgate', static_configs: [{ targets: ['callgate:8480'] }] },
    ])
    expect(services.callgate?.ports).toEqual(['127.0.0.1:8480:8480'])
    const rules = config.rule_files.map((file: string) =>
      findMounted('prometheus', resolve('/etc/prometheus', file)),
    )
    expect(rules).toEqual(['config/prometheus/alerts.yml'])
  })

  test('gives Grafana the dashboards in a folder, and Prometheus as their data source', () => {
    const provisioning = (file: string) =>
      parse(read(findMounted('grafana', `/etc/grafana/provisioning/${file}`)))
    const { providers } = provisioning('dashboards/callgate.yaml')
    expect(providers).toMatchObject([{ folder: 'callgate', type: 'file' }])
    const { path } = providers[0].options
    expect(findMounted('grafana', path)).toBe('config/grafana/dashboards')
    expect(provisioning('datasources/prometheus.yaml').datasources).toMatchObject([
      { type: 'prometheus', url: 'http://prometheus:9090', isDefault: true },
    ])
    expect(services.prometheus?.ports).toEqual(['127.0.0.1:9090:9090'])
  })
})

describe('the Compose file of a cluster', () => {
  const file = parse(read('config/compose/cluster.yaml'), { merge: true })
  const cluster: Readonly<Record<string, ClusterService>> = file.services

  test('uses only settings that exist, and opens ports on loopback only', () => {
    const variables = new Set(listSettingLeaves().map(({ variable }) => variable))
    for (const [name, { environment, ports }] of Object.entries(cluster)) {
      const unknown = Object.keys(environment).filter((variable) => !variables.has(variable))
      expect(unknown, name).toEqual([])
      expect(ports, name).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+:8480$/)])
    }
  })

  test('gives each server a folder of its own, and the secrets that its settings name', () => {
    const folders = Object.values(cluster).flatMap(({ volumes }) => volumes)
    expect(new Set(folders).size).toBe(Object.keys(cluster).length)
    expect(Object.keys(file.volumes).sort()).toEqual(
      folders.map((folder) => folder.split(':')[0]).sort(),
    )
    for (const [name, { environment, secrets }] of Object.entries(cluster)) {
      const paths = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'))
      expect(paths, name).toEqual(secrets.map((secret) => `/run/secrets/${secret}`))
      for (const secret of secrets) expect(Object.keys(file.secrets), name).toContain(secret)
    }
  })

  test('names servers of its own as the centers of its edge', () => {
    const centers: string[] = parse(cluster.edge?.environment.CALLGATE_EDGE_CENTERS ?? '[]')
    const names = centers.map((center) => new URL(center).hostname)
    expect(names).toEqual(['callgate-1', 'callgate-2'])
    for (const name of names) expect(Object.keys(cluster)).toContain(name)
  })
})

interface ClusterService {
  readonly environment: Readonly<Record<string, string>>
  readonly ports: readonly string[]
  readonly secrets: readonly string[]
  readonly volumes: readonly string[]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly template?: { readonly spec: { readonly enableServiceLinks?: boolean } }
  }
}

describe('the Kubernetes manifests', () => {
  const manifests = ['service', 'sidecar', 'cluster', 'edge'].flatMap((name) =>
    parseAllDocuments(read(`config/kubernetes/${name}.yaml`)).map(
      (document): Manifest => document.toJS(),
    ),
  )

  test('have the fields and values that the API of Kubernetes has', async () => {
    const findings = await compileManifests(manifests)
    expect(findings).toBe('')
  })

  test('give no pod the variables of Services, which look like settings', () => {
    const pods = manifests.flatMap(({ spec }) => spec?.template?.spec ?? [])
    expect(pods.map(({ enableServiceLinks }) => enableServiceLinks)).toEqual(Array(4).fill(false))
  })

  test('a field that does not exist is found', async () => {
    const faulty = { apiVersion: 'v1', kind: 'Service', spec: { port: [] } }
    expect(await compileManifests([faulty])).toContain(`'"port"' does not exist in type`)
  })

  test('use only settings that exist', () => {
    const variables = new Set(listSettingLeaves().map(({ variable }) => variable))
    const used = JSON.stringify(manifests).match(/CALLGATE_[A-Z_]+/g) ?? []
    expect(used.length).toBeGreaterThan(3)
    expect(used.filter((name) => name !== 'CALLGATE_CONFIG' && !variables.has(name))).toEqual([])
  })
})

/** What the compiler says about manifests written as values of the API's types. */
async function compileManifests(manifests: readonly Manifest[]): Promise<string> {
  const folder = mkdtempSync(join(root, 'node_modules/.manifests-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const lines = manifests.map(({ apiVersion, kind, ...rest }, index) => {
    const type = `import('kubernetes-models/${apiVersion}/${kind}').I${kind}`
    return `export const manifest${index}: ${type} = ${JSON.stringify({ apiVersion, kind, ...rest })}`
  })
  const file = join(folder, 'manifests.ts')
  writeFileSync(file, lines.join('\n'))
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig']
  const tsc = join(root, 'node_modules/.bin/tsc')
  const { out, err } = await runChild(tsc, [...options, '--module', 'nodenext', file], {
    cwd: root,
  })
  return out + err
}
