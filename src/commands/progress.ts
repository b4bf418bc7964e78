/** A progress bar for long imports, where a person watches. The one door to cli-progress. */
import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './command.js'

export interface Progress {
  /** Any number of calls; `done` and `total` in bytes, `rows` read so far where known. */
  update(done: number, total: number, rows?: number): void
  /** Takes the bar off the line. May be called again. */
  stop(): void
}

const silent: Progress = { update: () => undefined, stop: () => undefined }

export function showProgress(label: string, terminal: Terminal): Progress {
  if (!terminal.interactive) return silent
  const bar = new SingleBar(
    {
      format: `${label} {bar} {percentage}% | {rows} rows | {duration_formatted} | {eta_formatted} left`,
      hideCursor: true,
      clearOnComplete: true,
      stream: process.stderr,
    },
    Presets.shades_classic,
  )
  let running = false
  return {
    update(done, total, rows) {
      const shown = { rows: rows === undefined ? '?' : rows.toLocaleString('en-US') }
      if (running) bar.update(done, shown)
      else bar.start(total, done, shown)
      running = true
    },
    stop() {
      if (running) bar.stop()
      running = false
    },
  }
}
