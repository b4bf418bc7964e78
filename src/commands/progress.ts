/** A progress bar for long imports on a terminal. The only file that uses cli-progress. */
import { SingleBar } from 'cli-progress'
import { monotonicSeconds } from '../runtime/runtime.js'
import type { Terminal } from './command.js'
import { formatNumber } from './format.js'

export interface ProgressBar {
  /**
   * May be called any number of times; `done` and `total` in bytes, `rows` read so far if known. When
   * `done` decreases, the next file has begun, and rate and time start over.
   */
  update(done: number, total: number, rows?: number): void
  /** Removes the bar. May be called more than once. */
  stop(): void
}

/** The state that the progress bar shows. */
export interface ProgressState {
  readonly label: string
  /** Bytes. */
  readonly done: number
  readonly total: number
  /** Absent when the feed does not count rows while reading. */
  readonly rows?: number | undefined
  /** Seconds since the start. */
  readonly seconds: number
}

const silentProgress: ProgressBar = { update: () => undefined, stop: () => undefined }

/** Shows a bar on standard error if it is a terminal; otherwise does nothing. */
export function startProgress(
  label: string,
  terminal: Pick<Terminal, 'interactive'>,
  stream: NodeJS.WritableStream = process.stderr,
): ProgressBar {
  if (!terminal.interactive) return silentProgress
  let startedAt = monotonicSeconds()
  let isRunning = false
  let shown: Omit<ProgressState, 'label' | 'seconds'> = { done: 0, total: 0 }
  const format = () => formatProgress({ label, ...shown, seconds: monotonicSeconds() - startedAt })
  const bar = new SingleBar({ format, clearOnComplete: true, stream })
  return {
    update(done, total, rows) {
      if (done < shown.done) startedAt = monotonicSeconds()
      shown = { done, total, rows }
      if (isRunning) bar.update(done)
      else bar.start(total, done)
      isRunning = true
    },
    stop() {
      if (isRunning) bar.stop()
      isRunning = false
    },
  }
}

const barWidth = 30

/** `us-dnc ███░░░ 50% | 1,200,000 rows | 400,000 rows/s | 0:03 left`. */
export function formatProgress({ label, done, total, rows, seconds }: ProgressState): string {
  const share = total > 0 ? Math.min(1, done / total) : 1
  const filled = Math.round(share * barWidth)
  const left = share > 0 ? (seconds / share) * (1 - share) : undefined
  const rate = seconds > 0 ? Math.round((rows ?? 0) / seconds) : 0
  return [
    `${label} ${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${Math.floor(share * 100)}%`,
    ...(rows === undefined ? [] : [`${formatNumber(rows)} rows`, `${formatNumber(rate)} rows/s`]),
    share === 1
      ? 'checking and writing'
      : `${left === undefined ? '?' : formatClockTime(left)} left`,
  ].join(' | ')
}

/** `0:03`, `12:00`, `1:02:03`. */
function formatClockTime(seconds: number): string {
  const whole = Math.ceil(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor(whole / 60) % 60
  const twoDigits = (value: number) => String(value).padStart(2, '0')
  const start = hours > 0 ? `${hours}:${twoDigits(minutes)}` : String(minutes)
  return `${start}:${twoDigits(whole % 60)}`
}
