/**
 * HTTP decisions of callgate, and of the policy decision point cerbos (https://cerbos.dev) that is asked an
 * equivalent question: may this principal dial this number, given consent, calling hours and do-not-call
 * flags. The request tells cerbos these facts, which callgate looks up. Both record: cerbos in its audit
 * log, a file that it does not flush, callgate in its journal on disk. The two take turns.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { listAreaCodes } from '../src/law/area-codes.js'
import { decisionsOf, measureInTurns, printMeasured, printRatios, type Target } from './http.js'
import { type LoadOrder, startLoad } from './load.js'
import { figure } from './rounds.js'
import { serveCallgate } from './serving.js'

const cerbosVersion = '0.51.0'
const full = { rounds: 7, seconds: 3 }
const quick = { rounds: 2, seconds: 2 }
const aim = 4

const policy = `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  version: default
  resource: call
  rules:
    - name: litigator
      actions: [dial]
      effect: EFFECT_DENY
      roles: ['*']
      condition: { match: { expr: R.attr.litigator } }
    - name: opted-out
      actions: [dial]
      effect: EFFECT_DENY
      roles: ['*']
      condition: { match: { expr: R.attr.optedOutDay > R.attr.consentDay } }
    - name: clean-or-permitted
      actions: [dial]
      effect: EFFECT_ALLOW
      roles: [dialer]
      condition:
        match:
          all:
            of:
              - expr: R.attr.minute >= R.attr.opensAtMinute && R.attr.minute < R.attr.closesAtMinute
              - expr: '!R.attr.onNationalList || R.attr.consent in ["P", "S"]'
              - expr: P.attr.callKind == "manual" || R.attr.lineType == "L" || R.attr.consent == "P"
`

export async function benchCerbos({ small }: { readonly small: boolean }): Promise<void> {
  const { rounds, seconds } = small ? quick : full
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  try {
    const program = await install(folder)
    if (program === undefined) return
    const load = startLoad()
    const cerbos = await startCerbos(program, folder)
    const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' })
    try {
      for (const connections of [32, 128]) {
        const allow = decisionsOf(serving.url, serving.sandboxKey, '"decision":"allow"')
        const ours = { ...allow, connections }
        const targets: readonly Target[] = [
          {
            name: `cerbos ${cerbosVersion}`,
            pid: cerbos.pid,
            hasEventLoop: false,
            order: orderFor(cerbos.url, ours, seconds),
          },
          { name: 'callgate', pid: serving.pid, order: { ...ours, seconds } },
        ]
        const measured = await measureInTurns(load, targets, rounds)
        printMeasured(`decisions, ${connections} connections`, targets, measured)
        printRatios(targets, measured, [aim])
      }
      const logged = statSync(cerbos.auditLog).size / 2 ** 20
      process.stdout.write(`  audit log of cerbos: ${figure(logged)} MB\n`)
    } finally {
      await cerbos.end()
      await serving.end()
      load.end()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Gives the program, or `undefined` if the registry does not have it for this machine. */
async function install(folder: string): Promise<string | undefined> {
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund']
  const command = [...args, `cerbos@${cerbosVersion}`]
  process.stdout.write(`  npm ${command.join(' ')}\n`)
  try {
    await promisify(execFile)('npm', command, { timeout: 120_000 })
    const name = `cerbos-${process.platform}-${process.arch}`
    const program = join(folder, 'node_modules/@cerbos', name, name)
    statSync(program)
    return program
  } catch (cause) {
    process.stdout.write(`  not measured: cerbos could not be installed: ${String(cause)}\n`)
    return undefined
  }
}

interface Cerbos {
  readonly url: string
  readonly pid: number
  readonly auditLog: string
  end(): Promise<void>
}

async function startCerbos(program: string, folder: string): Promise<Cerbos> {
  const policies = join(folder, 'policies')
  mkdirSync(policies)
  writeFileSync(join(policies, 'call.yaml'), policy)
  const auditLog = join(folder, 'audit.log')
  const address = `127.0.0.1:${await findFreePort()}`
  const config = join(folder, 'cerbos.json')
  writeFileSync(
    config,
    JSON.stringify({
      server: { httpListenAddr: address, grpcListenAddr: `unix:${join(folder, 'grpc')}` },
      storage: { driver: 'disk', disk: { directory: policies, watchForChanges: false } },
      audit: {
        enabled: true,
        accessLogsEnabled: false,
        decisionLogsEnabled: true,
        backend: 'file',
        file: { path: auditLog },
      },
      telemetry: { disabled: true },
    }),
  )
  const child = spawn(program, ['server', `--config=${config}`, '--log-level=error'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const end = async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  const url = `http://${address}`
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 50) {
    const reply = await fetch(`${url}/_cerbos/health`).catch(() => undefined)
    if (reply?.ok) return { url, pid: child.pid ?? 0, auditLog, end }
    if (child.exitCode !== null) break
    await sleep(50)
  }
  await end()
  throw new Error('cerbos did not start')
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** About as many numbers as callgate is asked about. */
function orderFor(url: string, { requests, connections }: LoadOrder, seconds: number): LoadOrder {
  const checks = listAreaCodes()
    .slice(0, requests.length)
    .map((areaCode) => ({
      principal: { id: 'key-1', roles: ['dialer'], attr: { callKind: 'manual' } },
      resources: [
        {
          actions: ['dial'],
          resource: {
            kind: 'call',
            id: `${areaCode}5550100`,
            attr: {
              lineType: 'L',
              consent: '',
              consentDay: 0,
              optedOutDay: 0,
              litigator: false,
              onNationalList: false,
              minute: 780,
              opensAtMinute: 480,
              closesAtMinute: 1_260,
            },
          },
        },
      ],
    }))
  return {
    url,
    requests: checks.map((check) => ({
      method: 'POST',
      path: '/api/check/resources',
      body: JSON.stringify(check),
    })),
    headers: {},
    connections,
    seconds,
    expected: { allow: { text: 'EFFECT_ALLOW' } },
  }
}
