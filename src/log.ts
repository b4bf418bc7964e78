/**
 * JSON lines on standard output. Whatever a line holds, telephone numbers leave it masked: the
 * masking works on the finished line, so no caller can forget it. The one door to pino.
 */
import { type DestinationStream, destination, pino } from 'pino'

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'
export type LogFields = Readonly<Record<string, unknown>>

/**
 * error: someone must act; warn: healed or degraded; info: life cycle and one line per decision;
 * debug: the rest. Keys and other secrets are never handed in.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
}

/**
 * Ten digits, with or without `1` before them and the usual punctuation between them. Ten digits, a
 * point and a digit are the id of an Asterisk channel.
 */
const numberInText =
  /(?<![\dA-Za-z.])(\+?1?[ .-]?\(?\d{3}\)?[ .-]?\d{3}[ .-]?)\d{4}(?![\dA-Za-z]|\.\d)/g

export function maskNumbers(text: string): string {
  return text.replace(numberInText, '$1****')
}

const longestGathered = 65_536

/**
 * Writes the lines of one turn of the event loop at once: with many decisions in a turn, a write
 * each would cost more than judging them. What is left is written when the process exits.
 */
export function gatherLines(sink: DestinationStream): DestinationStream {
  let gathered = ''
  const flush = () => {
    const lines = gathered
    gathered = ''
    if (lines !== '') sink.write(lines)
  }
  process.once('exit', flush)
  return {
    write(line) {
      if (gathered === '') setImmediate(flush)
      gathered += line
      if (gathered.length >= longestGathered) flush()
    },
  }
}

export function createLogger(
  level: LogLevel,
  sink: DestinationStream = gatherLines(destination({ dest: 1, sync: true })),
): Logger {
  const lines = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'message' },
    { write: (line: string) => void sink.write(maskNumbers(line)) },
  )
  const at =
    (severity: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      lines[severity](fields, message)
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
}

/** For tools and tests that have no use for log lines. */
export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}
