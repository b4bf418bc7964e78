/**
 * Runs the probes of the data in a process of its own, since a read from a disk that hangs never returns, and
 * neither a thread in it nor its process can be ended from inside.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Settings } from '../../config/settings.js'
import { getErrorMessage } from '../../errors.js'
import { cleanUpOnSignal } from '../../runtime/signals.js'
import type { DataProbe } from './data-findings.js'
import { diskFix, type HealthFinding } from './finding.js'

/** The first message to the process. */
export interface ProbeRequest {
  readonly settings: Settings
  readonly temporaryFolder: string
}

/** That a probe begins, or what it found. */
export type ProbeMessage = Pick<DataProbe, 'subject' | 'place'> | readonly HealthFinding[]

/** A slow machine may take as long as that to start the process. */
const maxStartMs = 30_000

/** A probe that fails, or takes longer than `maxProbeMs`, is reported, and those after it are skipped. */
export async function runDataProbes(
  settings: Settings,
  maxProbeMs: number,
): Promise<readonly HealthFinding[]> {
  let folder: string | undefined
  let child: ChildProcess | undefined
  const remove = () => {
    // The process may still be writing there when a signal ends both.
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const end = () => {
    child?.kill('SIGKILL')
    remove()
  }
  return await cleanUpOnSignal(end, async () => {
    // What a probe leaves behind when it is killed, such as a copy of the database, is in this folder.
    try {
      folder = mkdtempSync(join(tmpdir(), 'callgate-doctor-'))
    } catch (cause) {
      const problem = `the data cannot be checked without a temporary folder: ${getErrorMessage(cause)}`
      const fix = `free space in ${tmpdir()}, or set TMPDIR`
      return [{ level: 'now', subject: 'disk', problem, fix }]
    }
    try {
      child = fork(fileURLToPath(new URL('./probe-process.js', import.meta.url)), {
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      })
      return await runIn(child, { settings, temporaryFolder: folder }, maxProbeMs)
    } finally {
      remove()
    }
  })
}

async function runIn(
  child: ChildProcess,
  request: ProbeRequest,
  maxProbeMs: number,
): Promise<readonly HealthFinding[]> {
  const failure = child.stderr ? text(child.stderr).catch(() => '') : Promise.resolve('')
  const found: HealthFinding[] = []
  let current: Pick<DataProbe, 'subject' | 'place'> = {
    subject: 'disk',
    place: request.settings.dataDir,
  }
  return await new Promise((resolve) => {
    const giveUp = () => {
      // In a read that hangs it does not end even by this, so nobody waits for it.
      child.kill('SIGKILL')
      child.disconnect()
      child.stderr?.destroy()
      child.unref()
      resolve([...found, describeHang(current, maxProbeMs)])
    }
    let timer = setTimeout(giveUp, maxStartMs + maxProbeMs)
    const fail = (why: string) => {
      clearTimeout(timer)
      const problem = `the check of ${current.place} failed; the remaining checks were skipped: ${why}`
      resolve([...found, { level: 'now', subject: current.subject, problem, fix: diskFix }])
    }
    child.on('message', (message: ProbeMessage) => {
      if ('place' in message) current = message
      else found.push(...message)
      clearTimeout(timer)
      timer = setTimeout(giveUp, maxProbeMs)
    })
    child.once('error', (cause) => fail(getErrorMessage(cause)))
    child.once('close', async (code) => {
      clearTimeout(timer)
      if (code === 0) resolve(found)
      else fail((await failure).trim())
    })
    child.send(request)
  })
}

function describeHang(
  { subject, place }: Pick<DataProbe, 'subject' | 'place'>,
  maxProbeMs: number,
): HealthFinding {
  const problem = `no answer within ${maxProbeMs / 1000} s: ${place}; the remaining checks were skipped`
  const fix = `${diskFix}. If it is only slow, allow more time with --timeout`
  return { level: 'now', subject, problem, fix }
}
