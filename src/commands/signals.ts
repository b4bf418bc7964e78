/** The signals that end a command which runs until it is told to stop. */

const signals = ['SIGINT', 'SIGTERM'] as const

/** Keeps SIGHUP from ending the process, as it does when the terminal of a server is closed. */
export function onHangup(run: () => void): void {
  process.on('SIGHUP', run)
}

/** The first signal drains; a second one ends the process at once, as signals do by themselves. */
export function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    const first = (signal: NodeJS.Signals) => {
      for (const one of signals) process.removeListener(one, first)
      resolve(signal)
    }
    for (const one of signals) process.on(one, first)
  })
}
