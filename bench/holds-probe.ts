/**
 * Measures how long the event loop of its process is held at the longest: loaded into a server, or run by
 * itself as an idle process to compare with.
 */
import { readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'

export interface HoldReading {
  readonly longestMs: number
  /** The longest hold, not counting the garbage collection in each. */
  readonly longestBesideGcMs: number
}

interface Hold {
  readonly from: number
  readonly until: number
  readonly ms: number
}

const tickMs = 1
/** Shorter ones are those of any timer. */
const leastMs = 1

let holds: Hold[] = []
let collections: { readonly startTime: number; readonly duration: number }[] = []
let timer: NodeJS.Timeout | undefined
let last = { at: 0, waitedMs: 0 }

const collector = new PerformanceObserver((list) => collections.push(...list.getEntries()))
collector.observe({ entryTypes: ['gc'] })

/** Of the thread that runs the event loop: milliseconds it was ready to run while others had the processor. */
function waitedForProcessorMs(): number {
  try {
    const [, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}

/** A hold is the time by which a timer is late, except for waiting for the processor. */
function tick(): void {
  const at = performance.now()
  const waitedMs = waitedForProcessorMs()
  const ms = at - last.at - tickMs - (waitedMs - last.waitedMs)
  if (ms > leastMs) holds.push({ from: last.at, until: at, ms })
  last = { at, waitedMs }
}

function longest(): HoldReading {
  const besideGc = holds.map(({ from, until, ms }) => {
    const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
    return ms - own.reduce((sum, { duration }) => sum + duration, 0)
  })
  return {
    longestMs: holds.reduce((most, { ms }) => Math.max(most, ms), 0),
    longestBesideGcMs: besideGc.reduce((most, ms) => Math.max(most, ms), 0),
  }
}

process.on('message', (message) => {
  if (message === 'read') {
    clearInterval(timer)
    // Garbage collections are reported in a later turn than the one they happened in.
    setTimeout(() => process.send?.(longest()), 50)
    return
  }
  holds = []
  collections = []
  last = { at: performance.now(), waitedMs: waitedForProcessorMs() }
  clearInterval(timer)
  timer = setInterval(tick, tickMs).unref()
  process.send?.('measuring')
})
// The server ends by itself; as an idle process, this one ends with its parent.
if (process.argv[1] === import.meta.filename) process.on('disconnect', () => process.exit())
else process.channel?.unref()
