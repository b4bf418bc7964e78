/** Loaded into the measured server: records the longest time that one turn of its event loop takes. */
import { PerformanceObserver } from 'node:perf_hooks'

export interface HoldReading {
  readonly longestMs: number
  /** The longest turn, not counting the garbage collection in each turn. */
  readonly longestBesideGcMs: number
}

interface Turn {
  readonly from: number
  readonly until: number
  readonly ms: number
}

let turns: Turn[] = []
let collections: { readonly startTime: number; readonly duration: number }[] = []
let isMeasuring = false
let last = { at: 0, cpuMs: 0 }

const collector = new PerformanceObserver((list) => collections.push(...list.getEntries()))
collector.observe({ entryTypes: ['gc'] })

function now() {
  const { user, system } = process.cpuUsage()
  return { at: performance.now(), cpuMs: (user + system) / 1000 }
}

/** Processor time includes all threads; wall time includes waiting for the processor. */
function turn(): void {
  const { at, cpuMs } = now()
  const ms = Math.min(at - last.at, cpuMs - last.cpuMs)
  if (ms > 1) turns.push({ from: last.at, until: at, ms })
  last = now()
  if (isMeasuring) setImmediate(turn)
}

function longest(): HoldReading {
  const besideGc = turns.map(({ from, until, ms }) => {
    const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
    return ms - own.reduce((sum, { duration }) => sum + duration, 0)
  })
  return {
    longestMs: Math.max(0, ...turns.map(({ ms }) => ms)),
    longestBesideGcMs: Math.max(0, ...besideGc),
  }
}

process.on('message', (message) => {
  if (message === 'read') {
    isMeasuring = false
    // Garbage collections are reported in a later turn than the one they happened in.
    setTimeout(() => process.send?.(longest()), 50)
    return
  }
  turns = []
  collections = []
  last = now()
  isMeasuring = true
  setImmediate(turn)
  process.send?.('measuring')
})
process.channel?.unref()
