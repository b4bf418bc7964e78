/** Unpacked programs to run: Asterisk, SIPp, Kamailio and Prometheus, made by `provide.sh` when they are not there yet. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { runChild } from '../../../../scripts/children.mjs'
import { projectRoot } from './project-root.js'

/** 16 is the old end of what is supported, 22 the current one. */
export const asteriskVersions = [22, 16] as const
export type AsteriskVersion = (typeof asteriskVersions)[number]

export interface ProvidedAsterisk {
  readonly asterisk: string
  readonly modules: string
  /** With the documentation without which some modules do not load. */
  readonly data: string
}

const script = join(projectRoot, 'test/e2e/asterisk/provide.sh')

/** Named after the script's text, so that another version of the script takes another folder. */
function folderOf(program: string): string {
  const recipe = createHash('sha256').update(readFileSync(script)).digest('hex').slice(0, 8)
  const cache = process.env.CALLGATE_E2E_CACHE ?? join(homedir(), '.cache/callgate/e2e')
  return join(cache, `${program}-${recipe}`)
}

/** Takes some 10 s and the network the first time; rejects with the words of the script. */
async function provide(program: string): Promise<string> {
  const folder = folderOf(program)
  const { code, err } = await runChild(script, [folder, program])
  if (code !== 0) throw new Error(`${program} cannot be had:\n${err || `exit code ${code}`}`)
  return folder
}

export async function provideAsterisk(version: AsteriskVersion): Promise<ProvidedAsterisk> {
  const folder = await provide(`asterisk-${version}`)
  return {
    asterisk: join(folder, 'bin/asterisk'),
    modules: join(folder, 'modules'),
    data: join(folder, 'root/usr/share/asterisk'),
  }
}

/** One SIPp for all: the older one cannot be told to end while calls are under way. */
export async function provideSipp(): Promise<string> {
  const { asterisk } = await provideAsterisk(22)
  return join(dirname(asterisk), 'sipp')
}

export interface ProvidedKamailio {
  readonly kamailio: string
  readonly modules: string
}

/** Kamailio 5.6, that of Debian 12. */
export async function provideKamailio(): Promise<ProvidedKamailio> {
  const folder = await provide('kamailio-5')
  return { kamailio: join(folder, 'bin/kamailio'), modules: join(folder, 'modules') }
}

export interface ProvidedPrometheus {
  readonly prometheus: string
  readonly promtool: string
}

/** Prometheus 2.42, that of Debian 12. */
export async function providePrometheus(): Promise<ProvidedPrometheus> {
  const folder = await provide('prometheus-2')
  return { prometheus: join(folder, 'bin/prometheus'), promtool: join(folder, 'bin/promtool') }
}
