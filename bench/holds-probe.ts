/** Loaded into a server that is measured: the longest time one turn of its event loop takes. */
export interface HoldReading {
  readonly longestMs: number
}

let longestMs = 0
let isMeasuring = false
let last = { at: 0, cpuMs: 0 }

function now() {
  const { user, system } = process.cpuUsage()
  return { at: performance.now(), cpuMs: (user + system) / 1000 }
}

/** Processor time is that of all threads, and the clock runs on while others have the processor. */
function turn(): void {
  const { at, cpuMs } = now()
  longestMs = Math.max(longestMs, Math.min(at - last.at, cpuMs - last.cpuMs))
  last = now()
  if (isMeasuring) setImmediate(turn)
}

process.on('message', (message) => {
  if (message === 'read') {
    isMeasuring = false
    process.send?.({ longestMs } satisfies HoldReading)
    return
  }
  longestMs = 0
  last = now()
  isMeasuring = true
  setImmediate(turn)
  process.send?.('measuring')
})
process.channel?.unref()
