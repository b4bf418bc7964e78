/** A progress bar for long imports, where a person watches. The one door to cli-progress. */
import { SingleBar } from 'cli-progress'
import { monotonicSeconds } from '../domain/clock.js'
import type { Terminal } from './command.js'

export interface Progress {
  /**
   * Any number of calls; `done` and `total` in bytes, `rows` read so far where known. Where `done`
   * falls, the next file has begun, and its rate and time are its own.
   */
  update(done: number, total: number, rows?: number): void
  /** Takes the bar off the line. May be called again. */
  stop(): void
}

/** How far an import has come. */
export interface Standing {
  readonly label: string
  /** Bytes. */
  readonly done: number
  readonly total: number
  /** Absent where the feed does not count them while it reads. */
  readonly rows?: number | undefined
  /** Since the start. */
  readonly seconds: number
}

const silent: Progress = { update: () => undefined, stop: () => undefined }

/** Says nothing unless a person watches the terminal; draws on standard error. */
export function showProgress(
  label: string,
  terminal: Pick<Terminal, 'interactive'>,
  stream: NodeJS.WritableStream = process.stderr,
): Progress {
  return terminal.interactive ? new Bar(label, stream) : silent
}

class Bar implements Progress {
  readonly #label: string
  readonly #bar: SingleBar
  #startedAt = monotonicSeconds()
  #running = false
  #done = 0
  #total = 0
  #rows: number | undefined

  constructor(label: string, stream: NodeJS.WritableStream) {
    this.#label = label
    const format = () => progressLine(this.#standing())
    this.#bar = new SingleBar({ format, hideCursor: true, clearOnComplete: true, stream })
  }

  update(done: number, total: number, rows?: number): void {
    if (done < this.#done) this.#startedAt = monotonicSeconds()
    this.#done = done
    this.#total = total
    this.#rows = rows
    if (this.#running) this.#bar.update(done)
    else this.#bar.start(total, done)
    this.#running = true
  }

  stop(): void {
    if (this.#running) this.#bar.stop()
    this.#running = false
  }

  #standing(): Standing {
    const seconds = monotonicSeconds() - this.#startedAt
    const [label, done, total] = [this.#label, this.#done, this.#total]
    return { label, done, total, rows: this.#rows, seconds }
  }
}

const barWidth = 30

/** `us-dnc ███░░░ 50% | 1,200,000 rows | 400,000 rows/s | 0:03 left`. */
export function progressLine({ label, done, total, rows, seconds }: Standing): string {
  const share = total > 0 ? Math.min(1, done / total) : 1
  const filled = Math.round(share * barWidth)
  const left = share > 0 ? (seconds / share) * (1 - share) : undefined
  const rate = seconds > 0 ? Math.round((rows ?? 0) / seconds) : 0
  return [
    `${label} ${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${Math.floor(share * 100)}%`,
    ...(rows === undefined ? [] : [`${grouped(rows)} rows`, `${grouped(rate)} rows/s`]),
    share === 1 ? 'checking and writing' : `${left === undefined ? '?' : clockTime(left)} left`,
  ].join(' | ')
}

function grouped(value: number): string {
  return value.toLocaleString('en-US')
}

/** `0:03`, `12:00`, `1:02:03`. */
function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor(whole / 60) % 60
  const two = (value: number) => String(value).padStart(2, '0')
  const start = hours > 0 ? `${hours}:${two(minutes)}` : String(minutes)
  return `${start}:${two(whole % 60)}`
}
