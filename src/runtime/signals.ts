/** The signals that stop a command. */

const signals = ['SIGINT', 'SIGTERM'] as const

/** Runs at each SIGHUP, which then does not end the process, not even when its terminal is closed. */
export function onHangup(run: () => void): void {
  process.on('SIGHUP', run)
}

/** Resolves with the first signal, so that the command can drain; a second one ends the process immediately. */
export function waitForSignal(): Promise<string> {
  return new Promise((resolve) => {
    const first = (signal: NodeJS.Signals) => {
      for (const name of signals) process.removeListener(name, first)
      resolve(signal)
    }
    for (const name of signals) process.on(name, first)
  })
}

/**
 * Does the work. If a signal ends the process meanwhile, `cleanUp` runs before that. The work must let the
 * event loop turn, or a signal has no effect until its end.
 */
export async function cleanUpOnSignal<Result>(
  cleanUp: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const ignore = () => {
    for (const name of signals) process.removeListener(name, end)
  }
  const end = (signal: NodeJS.Signals) => {
    ignore()
    try {
      cleanUp()
    } finally {
      process.kill(process.pid, signal)
    }
  }
  for (const name of signals) process.on(name, end)
  try {
    return await work()
  } finally {
    ignore()
  }
}
