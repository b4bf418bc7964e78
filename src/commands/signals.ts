/** Handles the signals that stop a long-running command. */

const signals = ['SIGINT', 'SIGTERM'] as const

/** Keeps SIGHUP from ending the process, as it does when the terminal of a server is closed. */
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
