/** An unpacked Asterisk and SIPp to run, made by `provide.sh` when they are not there yet. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
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

const suites: Readonly<Record<AsteriskVersion, string>> = { 22: 'sid', 16: 'bullseye' }
const script = join(projectRoot, 'test/e2e/asterisk/provide.sh')

/** Named after the script's text, so that another version of the script takes another folder. */
function folderOf(version: AsteriskVersion): string {
  const recipe = createHash('sha256').update(readFileSync(script)).digest('hex').slice(0, 8)
  const cache = process.env.CALLGATE_E2E_CACHE ?? join(homedir(), '.cache/callgate/e2e')
  return join(cache, `asterisk-${version}-${recipe}`)
}

/** Takes some 10 s and the network the first time; rejects with the words of the script. */
export async function provideAsterisk(version: AsteriskVersion): Promise<ProvidedAsterisk> {
  const folder = folderOf(version)
  await new Promise<void>((resolve, reject) => {
    execFile(script, [folder, suites[version]], (error, _out, err) => {
      if (error) reject(new Error(`Asterisk ${version} cannot be had:\n${err || error.message}`))
      else resolve()
    })
  })
  return {
    asterisk: join(folder, 'bin/asterisk'),
    modules: join(folder, 'modules'),
    data: join(folder, 'root/usr/share/asterisk'),
  }
}

/** One SIPp for all: the older one cannot be told to end while calls are under way. */
export async function provideSipp(): Promise<string> {
  await provideAsterisk(22)
  return join(folderOf(22), 'bin/sipp')
}
