/**
 * Writes JSON lines to standard output. Telephone numbers are masked in the finished line, so that no
 * caller can forget it. The only file that uses pino.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { pino } from 'pino'

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'
export type LogFields = Readonly<Record<string, unknown>>

/**
 * error: someone must act; warn: recovered or degraded; info: life cycle and one line per decision;
 * debug: the rest. Keys and other secrets must never be passed.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
}

/**
 * Ten digits, optionally with a leading `1` and the usual punctuation. Ten digits, a period and a digit
 * are the id of an Asterisk channel.
 */
const numberInText =
  /(?<![\dA-Za-z.])(\+?1?[ .-]?\(?\d{3}\)?[ .-]?\d{3}[ .-]?)\d{4}(?![\dA-Za-z]|\.\d)/g

export function maskNumbers(text: string): string {
  return text.replace(numberInText, '$1****')
}

/** Receives finished lines, each ending with a newline. */
export interface LineSink {
  write(line: string): void
}

/** Enough for about three thousand decisions. */
const maxPendingChars = 1_048_576
const retryAfterMs = 10
const maxRetriesAtExit = 100

/**
 * Writes lines to a file descriptor without waiting for its reader, as long as the descriptor is
 * non-blocking ({@link openStdout}). Lines that cannot be written yet are buffered, up to
 * {@link maxPendingChars}; further lines are dropped and counted. The lines of one turn of the event
 * loop are written together, since a write per decision would cost more than the decision itself. At
 * exit, even after a fatal error, the reader gets one more second.
 */
export class LineWriter implements LineSink {
  /** Called for each line that is dropped. */
  onDropped: () => void = () => undefined
  /** Called with the number of dropped lines once all buffered lines are written. */
  onResumed: (dropped: number) => void = () => undefined
  /** Whether the output is a terminal. */
  readonly isTerminal: boolean
  readonly #descriptor: number
  #lines = ''
  #unwritten: Buffer = Buffer.alloc(0)
  #dropped = 0
  #isScheduled = false

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.isTerminal = isatty(descriptor)
    process.once('exit', () => this.#writeAtExit())
  }

  write(line: string): void {
    if (this.#lines.length + this.#unwritten.length + line.length > maxPendingChars) {
      this.#dropped += 1
      this.onDropped()
      return
    }
    this.#lines += line
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#writeOrRetry())
  }

  #writeOrRetry(): void {
    this.#isScheduled = this.#writePending() !== undefined
    if (this.#isScheduled) {
      setTimeout(() => this.#writeOrRetry(), retryAfterMs).unref()
    } else if (this.#dropped > 0) {
      const dropped = this.#dropped
      this.#dropped = 0
      this.onResumed(dropped)
    }
  }

  /**
   * Returns the code of the error that stopped it. On any error, such as a full disk, the lines are
   * kept and retried, since the reader may recover.
   */
  #writePending(): string | undefined {
    try {
      while (this.#unwritten.length > 0 || this.#lines !== '') {
        if (this.#unwritten.length === 0) {
          this.#unwritten = Buffer.from(this.#lines)
          this.#lines = ''
        }
        const written = writeSync(this.#descriptor, this.#unwritten)
        this.#unwritten = this.#unwritten.subarray(written)
      }
      return undefined
    } catch (cause) {
      return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    }
  }

  #writeAtExit(): void {
    for (let retries = 0; this.#writePending() === 'EAGAIN'; retries += 1) {
      if (retries === maxRetriesAtExit) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryAfterMs)
    }
  }
}

/**
 * A descriptor of standard output that a stalled reader cannot block. A pipe or terminal is reopened,
 * since the original descriptor must stay blocking for the shell that shares it. When that is
 * impossible, as with a socket, Node.js makes the descriptor non-blocking when it opens
 * `process.stdout`. Writes to a file always wait for the file system.
 */
function openStdout(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  const stats = fstatSync(1)
  if (stats.isFile()) return 1
  try {
    if (stats.isFIFO() || isatty(1))
      return openSync('/dev/stdout', O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    // Handled below like a socket.
  }
  void process.stdout
  return 1
}

/**
 * The log on standard output, and its writer, through which other text for standard output stays in
 * order with the log lines.
 */
export function openLog(level: LogLevel): {
  readonly log: AdjustableLogger
  readonly output: LineWriter
} {
  const output = new LineWriter(openStdout())
  const log = createLogger(level, output)
  output.onResumed = (count) =>
    log.warn('log lines were dropped because standard output was not read', { count })
  return { log, output }
}

export interface AdjustableLogger extends Logger {
  setLevel(level: LogLevel): void
}

export function createLogger(level: LogLevel, sink: LineSink): AdjustableLogger {
  const lines = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'message' },
    { write: (line: string) => void sink.write(maskNumbers(line)) },
  )
  const at =
    (severity: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      lines[severity](fields, message)
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    setLevel: (next) => {
      lines.level = next
    },
  }
}

const periodMs = { second: 1_000, minute: 60_000 } as const

interface SampledLine<Event> {
  readonly level: LogLevel
  readonly message: string
  /** Called only for a line that is written. */
  readonly fields: (event: Event) => LogFields
  /** How many lines of one period are written. */
  readonly max: number
  readonly per: keyof typeof periodMs
}

/**
 * For a line that may be due very often: the first `max` of a period are written, and at its end one line
 * with the number of omitted ones.
 */
export function createSampledLine<Event>(
  log: Logger,
  { level, message, fields, max, per }: SampledLine<Event>,
): (event: Event) => void {
  let written = 0
  let omitted = 0
  const endPeriod = () => {
    if (omitted > 0) log[level](`${message}: more in the last ${per}`, { count: omitted })
    written = 0
    omitted = 0
  }
  return (event) => {
    if (written === 0) setTimeout(endPeriod, periodMs[per]).unref()
    if (written === max) {
      omitted += 1
      return
    }
    written += 1
    log[level](message, fields(event))
  }
}
