/**
 * Loaded before the program: the file that `CLOCK_FILE` names has by how many milliseconds its clock is ahead of the
 * machine's, and may change at any time. Clocks of performance and timers are not touched.
 */
import { readFileSync } from 'node:fs'

const machineNow = Date.now
let aheadMs = 0

function readFile() {
  try {
    aheadMs = Number(readFileSync(process.env.CLOCK_FILE, 'utf8'))
  } catch {
    aheadMs = 0
  }
}

readFile()
setInterval(readFile, 20).unref()
Date.now = () => machineNow() + aheadMs
globalThis.Date = new Proxy(Date, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [Date.now()] : values, newTarget),
})
