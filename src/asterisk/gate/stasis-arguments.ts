/** Parses the arguments of a waiting Stasis() from the text in Asterisk's channel list. */
import type { AsteriskChannel } from '../asterisk-port.js'

/**
 * The arguments of `Stasis(app,...)` after the name; `undefined` when the channel executes anything
 * else, including StasisBroadcast(), whose text does not say which application has the channel.
 */
export function parseStasisArguments(
  app: string,
  application: AsteriskChannel['application'],
): readonly string[] | undefined {
  if (application?.name !== 'Stasis') return undefined
  const { data } = application
  if (data === app) return []
  return data.startsWith(`${app},`) ? splitArguments(data.slice(app.length + 1)) : undefined
}

/**
 * Splits like Asterisk: commas within quotes or brackets do not separate, a backslash escapes the next
 * character, and quotes and backslashes are removed.
 */
function splitArguments(text: string): readonly string[] {
  const parts: string[] = []
  const open = { '(': 0, '[': 0 }
  let quoted = false
  let part = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '"') quoted = !quoted
    else if (character === ',' && !quoted && open['('] === 0 && open['['] === 0) {
      parts.push(part)
      part = ''
    } else {
      countBrackets(open, character)
      if (character === '\\') at += 1
      part += text.charAt(at)
    }
  }
  return [...parts, part]
}

function countBrackets(open: { '(': number; '[': number }, character: string): void {
  if (character === '(' || character === '[') open[character] += 1
  else if (character === ')') open['('] = Math.max(0, open['('] - 1)
  else if (character === ']') open['['] = Math.max(0, open['['] - 1)
}
