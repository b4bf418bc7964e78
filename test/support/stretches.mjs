/**
 * Measures how long the thread that loads this is held: the processor time of each stretch, which is what
 * runs from one event to the next before the thread turns to another.
 *
 * The time is that of this thread alone, from /proc, so other programs, other threads and the disk do not
 * count. The pauses of the garbage collector are subtracted.
 */
import { createHook } from 'node:async_hooks'
import fs from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'

// As they are before a test replaces them.
const { openSync, readSync } = fs

/** Shorter ones are not kept. */
const longStretchMs = 1

/** What the event loop calls. A type that is missing here counts as part of the stretch before it. */
const events = new Set([
  'FSREQCALLBACK',
  'FSREQPROMISE',
  'HTTPCLIENTREQUEST',
  'HTTPINCOMINGMESSAGE',
  'Immediate',
  'MESSAGEPORT',
  'TCPCONNECTWRAP',
  'TCPSERVERWRAP',
  'TCPWRAP',
  'Timeout',
  'WRITEWRAP',
])

/** Starts to measure the thread that calls it; what happens before the first round does not count. */
export function measureStretches() {
  /** Of each round, the long stretches. */
  const rounds = []
  const collections = []
  const ids = new Set()
  let isMeasuring = false
  let depth = 0
  let current
  const beginStretch = () => {
    const next = { at: performance.now(), cpuMs: readCpuMs() }
    const cpuMs = next.cpuMs - current.cpuMs
    if (cpuMs >= longStretchMs) rounds.at(-1).push({ from: current.at, until: next.at, cpuMs })
    current = next
  }
  createHook({
    init: (id, type) => events.has(type) && ids.add(id),
    before: (id) => {
      if (!isMeasuring || !ids.has(id)) return
      depth += 1
      if (depth === 1) beginStretch()
    },
    after: (id) => {
      if (isMeasuring && ids.has(id)) depth = Math.max(0, depth - 1)
    },
    destroy: (id) => ids.delete(id),
  }).enable()
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({
    entryTypes: ['gc'],
  })
  const collectedMs = ({ from, until }) => {
    const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
    return own.reduce((sum, { duration }) => sum + duration, 0)
  }
  return {
    beginRound() {
      rounds.push([])
      current = { at: performance.now(), cpuMs: Number.POSITIVE_INFINITY }
      depth = 0
      isMeasuring = true
    },
    stop() {
      isMeasuring = false
    },
    /** The longest of each round, in milliseconds. A pause of the collector is known a few turns after it. */
    longestOfRounds: () =>
      rounds.map((stretches) =>
        Math.max(0, ...stretches.map((stretch) => stretch.cpuMs - collectedMs(stretch))),
      ),
  }
}

const statisticsText = Buffer.alloc(64)
let schedulerStatistics

function readCpuMs() {
  schedulerStatistics ??= openSync('/proc/thread-self/schedstat')
  // Linux brings the statistics up to date when it is asked for the usage of the process.
  process.cpuUsage()
  readSync(schedulerStatistics, statisticsText, 0, statisticsText.length, 0)
  return Number(statisticsText.toString('latin1', 0, statisticsText.indexOf(' '))) / 1e6
}
