/**
 * Child processes that never outlive this one. Each leads a process group, and remaining groups are
 * killed when this process ends, however it ends. Since a process killed with SIGKILL cannot clean up,
 * a watchdog process does: it gets every start and end through a pipe, and the end of the pipe means
 * that this process has ended.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(import.meta.url)
const living = new Set()
let reaper

function tell(line) {
  if (reaper === undefined) {
    reaper = spawn(process.execPath, [script], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    reaper.unref()
    reaper.stdin.unref()
    reaper.stdin.on('error', () => undefined)
    reaper.on('error', () => undefined)
    // If the runner of a worker was killed, nothing else would end the worker.
    if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  }
  reaper.stdin.write(`${line}\n`)
}

/** As `spawn` of `node:child_process`; the child leads a process group. */
export function startChild(command, args, options = {}) {
  const child = spawn(command, args, { ...options, detached: true })
  const { pid } = child
  if (pid === undefined) return child
  living.add(pid)
  tell(`+${pid}`)
  child.once('exit', () => {
    living.delete(pid)
    // Also kills the processes that it started.
    killGroup(pid)
    tell(`-${pid}`)
  })
  return child
}

/**
 * Runs a program to its end; returns its exit code (-1 if a signal ended it) and its output.
 * `timeout`, in milliseconds, kills it.
 */
export function runChild(command, args, { timeout, ...options } = {}) {
  const child = startChild(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const written = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    written.err += text
  })
  const timer = timeout && setTimeout(() => killGroup(child.pid), timeout)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ code: code ?? -1, ...written })
    })
  })
}

/** The process ids of the started processes that still run. */
export function livingChildren() {
  return new Set(living)
}

/**
 * Kills all started processes that still run, except `spared`, with their own children; returns how many there were.
 */
export function killChildren(spared = new Set()) {
  const left = [...living].filter((pid) => !spared.has(pid))
  for (const pid of left) killGroup(pid)
  return left.length
}

function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group is empty.
  }
}

if (process.argv[1] === script) {
  const groups = new Set()
  // Ctrl-C in a terminal is meant for the other processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const pid = Number(line.slice(1))
      if (line.startsWith('+')) groups.add(pid)
      else groups.delete(pid)
    })
    .on('close', () => {
      for (const pid of groups) killGroup(pid)
      process.exit()
    })
}
