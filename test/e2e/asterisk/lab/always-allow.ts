/** `always-allow-app.mjs` as a process of its own. */
import { join } from 'node:path'
import type { AsteriskServer } from './asterisk-server.js'
import { type LabProcess, startProcess } from './lab-process.js'
import { projectRoot } from './project-root.js'
import { until } from './until.js'

const program = join(projectRoot, 'test/e2e/asterisk/lab/always-allow-app.mjs')

export interface AlwaysAllowOptions {
  readonly server: AsteriskServer
  /** Name of the Stasis application; `callgate` unless given. */
  readonly app?: string
}

/** Resolves when calls reach it. End it with `end()`. */
export async function startAlwaysAllow({
  server,
  app = 'callgate',
}: AlwaysAllowOptions): Promise<LabProcess> {
  const { url } = server
  const started = startProcess({
    command: process.execPath,
    args: [program, url, 'callgate', 'secret', app],
    output: join(server.folder, `always-allow-${process.hrtime.bigint()}`),
  })
  const isReady = () => /^ready$/m.test(started.output())
  await until('the always-allow application is ready', () => !started.isRunning() || isReady())
  if (!started.isRunning()) throw new Error(`always-allow ended:\n${started.output()}`)
  return started
}
