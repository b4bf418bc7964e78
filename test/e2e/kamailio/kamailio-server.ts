/** A real Kamailio of one's own with the shipped recipe, on free ports of the loopback address. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LabProcess, startProcess } from '../asterisk/lab/lab-process.js'
import { freeUdpPort, hasBoundUdpPort } from '../asterisk/lab/ports.js'
import { projectRoot } from '../asterisk/lab/project-root.js'
import { provideKamailio, provideSipp } from '../asterisk/lab/provided-asterisk.js'
import { until } from '../asterisk/lab/until.js'

export interface KamailioOptions {
  /** Address that it asks. */
  readonly url: string
  readonly key: string
}

/** Takes calls of `startCalls` and has a trunk for `startTrunk`. */
export interface KamailioServer {
  readonly folder: string
  readonly sipp: string
  readonly ports: { readonly sip: number }
  trunkPort(): number
  /** What it has logged so far. */
  log(): string
  close(): Promise<void>
}

/** Resolves when it takes SIP messages. */
export async function startKamailio({ url, key }: KamailioOptions): Promise<KamailioServer> {
  const sipp = await provideSipp()
  const trunk = await freeUdpPort()
  const run = await runKamailio('kamailio.cfg', (sip) => ({
    'callgate-site.cfg': siteOf({ url, key, sip, trunk }),
  }))
  return { ...run, sipp, trunkPort: () => trunk }
}

export type RunningKamailio = Pick<KamailioServer, 'folder' | 'ports' | 'log' | 'close'>

/** Runs a file of the recipes; `filesOf` gives the files to be replaced, by name. */
export async function runKamailio(
  config: string,
  filesOf: (sipPort: number, folder: string) => Readonly<Record<string, string>>,
): Promise<RunningKamailio> {
  const { kamailio, modules } = await provideKamailio()
  const folder = mkdtempSync(join(tmpdir(), 'callgate-kamailio-'))
  const sip = await freeUdpPort()
  const recipe = join(projectRoot, 'config/kamailio')
  for (const name of readdirSync(recipe)) copyFileSync(join(recipe, name), join(folder, name))
  for (const [name, text] of Object.entries(filesOf(sip, folder))) {
    writeFileSync(join(folder, name), text)
  }
  const started = startProcess({
    command: kamailio,
    args: ['-DD', '-E', '-f', join(folder, config), '-L', modules, '-Y', folder],
    output: join(folder, 'output'),
    folder,
  })
  const close = async () => {
    await started.end()
    if (process.env.CALLGATE_E2E_KEEP !== '1') rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('Kamailio listens', () => isUp(started, sip))
  } catch (cause) {
    const text = started.output()
    await close()
    throw new Error(`Kamailio does not start:\n${text}`, { cause })
  }
  return { folder, ports: { sip }, close, log: () => started.output() }
}

/** Its sockets are open in the first process before the others take messages from them. */
function isUp(started: LabProcess, port: number): boolean {
  return hasBoundUdpPort(started.pid, port)
}

interface Site extends KamailioOptions {
  readonly sip: number
  readonly trunk: number
}

function siteOf({ url, key, sip, trunk }: Site): string {
  return [
    `#!define SITE_LISTEN udp:127.0.0.1:${sip}`,
    `#!define SITE_TRUNK "sip:127.0.0.1:${trunk}"`,
    `#!define CALLGATE_URL "${url}"`,
    `#!define CALLGATE_KEY "${key}"`,
    '#!define CALLGATE_KIND "ai"',
    '#!define CALLGATE_PROJECT ""',
    '#!define CALLGATE_WAIT 1',
    '',
  ].join('\n')
}
