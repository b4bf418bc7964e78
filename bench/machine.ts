/** The machine and time of a measurement. */
import { cpus, loadavg, totalmem } from 'node:os'
import { version } from '../src/config/version.js'

export function machineFacts(): string {
  const processors = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const load = loadavg()[0]?.toFixed(1) ?? '?'
  return (
    `callgate ${version}, node ${process.version}, ${processors.length} cores of ` +
    `${processors[0]?.model.trim() ?? 'unknown'}, ${memory} GB, load at start ${load}\n`
  )
}
